"""The gate of a release: it is composed with all that was published of the same data before its job ends.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import uuid4

from app.contracts.families import FamilyComposition
from app.contracts.findings import Finding, Review
from app.contracts.inputs import ReleaseInput
from app.contracts.releases import ReleaseColumn, ReleaseFormat
from app.db.repositories import families, releases
from app.db.repositories.claims import Claim
from app.db.repositories.families import LedgerEntry
from app.storage.protocol import Storage
from workers.engine.ending.audits import Audited, unmet
from workers.engine.ending.commit import Stored, StoredRelease, store, withheld
from workers.engine.ending.ledgers import Candidate, fetched, own_persons, person_column, terms_of
from workers.engine.families import family_of, recognised
from workers.engine.randomness import new_generator
from workers.engine.released_rows import Released, compare_released
from workers.engine.resources import WorkerResources
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.earlier import LEDGERED, OPAQUE

STAGE: Final = "gate"
_SHARE: Final = 0.97
#: Methods whose releases are composed.
COMPOSED: Final = LEDGERED | OPAQUE


def own_ledger(candidate: Candidate) -> Path | None:
    """What is kept of the release once it is published; None for a method of which its name says all."""
    if candidate.spec["method"] not in LEDGERED:
        return None
    path = candidate.scratch / "ledger.parquet"
    if not path.exists():
        from workers.frames.ledger import write_ledger

        write_ledger(candidate.release, path, method=candidate.spec["method"], spec=candidate.spec)
    return path


def review(candidate: Candidate, *, at: WorkerResources) -> Review:
    """Compose the release with what was published of its family until now; a series adds nothing to its base."""
    if candidate.base is not None:
        return _review_of_series(candidate, at, base=candidate.base)
    if candidate.dataset is None:
        raise ValueError("only a series is made without its data")
    from workers.methods.released.composed import composed_with, standing, with_versions

    family_id = family_of(candidate.dataset, dataset_id=candidate.dataset_id, owner=candidate.owner, at=at)
    with at.database.unit_of_work() as unit:
        published = families.lock(unit.connection, family_id=family_id)
        entries = families.ledger(unit.connection, owner=candidate.owner, family_id=family_id)
    spec, own = candidate.spec, own_ledger(candidate)
    there = {} if own is None else {_digest(own): own}
    versions = _versions_before(candidate, entries)
    others = [one for one in entries if one.release_id not in versions and not _of_series(one, entries)]
    earlier, terms = [fetched(one, candidate, at, there) for one in others], terms_of(candidate, family_id, at)
    composition = composed_with(
        candidate.dataset, spec, own, earlier, rng=new_generator(None), terms=terms, scale=candidate.scale
    )
    if own is not None and (last := versions.get(candidate.previous or "")) is not None:
        before = None if last.composed is None else FamilyComposition.model_validate(last.composed)
        released = fetched(last, candidate, at, there).ledger
        promised = None if spec.get("person_column") is None else int(spec["k"])
        composition = with_versions(composition, own, released, before, alone=not earlier, most=promised)
    return Review(
        findings=standing(composition, spec, own, earlier, terms),
        family_id=family_id,
        composed_after=published,
        composed=composition.model_dump(mode="json"),
    )


def _review_of_series(candidate: Candidate, at: WorkerResources, *, base: str) -> Review:
    """What the family left before is what it leaves after: the release is a function of its base as published."""
    from workers.methods.released.composed import finding_of_series

    with at.database.unit_of_work() as unit:
        family_id = releases.family_of(unit.connection, release_id=base)
        published = None if family_id is None else families.lock(unit.connection, family_id=family_id)
        entries = families.ledger(unit.connection, owner=candidate.owner, family_id=family_id or "")
    last = next((one.composed for one in reversed(entries) if one.composed is not None), None)
    finding = finding_of_series(None if last is None else FamilyComposition.model_validate(last), candidate.spec)
    return Review(
        findings=() if finding is None else (finding,), family_id=family_id, composed_after=published, composed=last
    )


def _with_way_out(finding: Finding, family_id: str | None) -> Finding:
    """What stands because of earlier releases may stand because of trials: how to start clean."""
    if family_id is None:
        return finding
    clean = (
        f"What the data are composed with and why says `GET /v1/families/{family_id}`; to start clean after trials an "
        f"admin forgets it all with `DELETE /v1/families/{family_id}`, or `surebox families erase {family_id}`"
    )
    return finding.model_copy(update={"detail": f"{finding.detail.rstrip('.')}. {clean}"})


def _versions_before(candidate: Candidate, entries: list[LedgerEntry]) -> dict[str, LedgerEntry]:
    """The releases whose boxes a new version has: between them it shows nothing that fewer than k records did."""
    there, versions = {one.release_id: one for one in entries}, dict[str, LedgerEntry]()
    following = candidate.previous
    while following is not None and following in there and following not in versions:
        versions[following] = there[following]
        following = there[following].previous_release_id
    return versions


def _of_series(entry: LedgerEntry, entries: list[LedgerEntry]) -> bool:
    """Whether a release tells no more than its base, which was published too."""
    return entry.base_release_id is not None and any(one.release_id == entry.base_release_id for one in entries)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Gate:
    """What has to be known before a job ends: the family of data that were read, the review of a release."""

    def __init__(self, claimed: Claim, at: WorkerResources, *, storage: Storage) -> None:
        self._claimed, self._at, self._storage = claimed, at, storage
        self._candidate: Candidate | None = None
        self._stored: Stored | None = None
        self._unmet: tuple[Finding, ...] = ()

    @property
    def stored(self) -> Stored:
        """The outcome as it is to be written."""
        if self._stored is None:
            raise ValueError("the outcome has not entered")
        return self._stored

    def enter(self, job: JobContext, outcome: Outcome) -> None:
        """Store an outcome, and find out what is to be known of it."""
        claimed, at = self._claimed, self._at
        stored = store(claimed, outcome, storage=self._storage, settings=at.settings)
        made_from = claimed.inputs.dataset
        if outcome.dataset is not None and made_from is not None:
            signature = recognised(outcome.dataset.path, dataset_id=made_from.id, owner=claimed.owner, at=at)
            stored = replace(stored, recognised=signature)
        self._candidate = _candidate(claimed, job, stored)
        if self._candidate is not None:
            self._compare(self._candidate, tick=lambda: job.tick(_SHARE, STAGE))
        if outcome.publishes is not None and self._candidate is not None:
            stored = replace(stored, review=self._review(self._candidate))
        elif self._candidate is not None and stored.release is not None:
            job.tick(_SHARE, STAGE)
            release = stored.release
            ledger, persons = self._keep(self._candidate, release)
            stored = replace(stored, persons=persons, person=person_column(self._candidate, at))
            self._unmet = self._demanded(job, self._candidate, release)
            stored = replace(stored, review=self._review(self._candidate), ledger=ledger)
        self._stored = stored

    def _compare(self, candidate: Candidate, *, tick: Callable[[], None]) -> None:
        """Look for the same rows among all data of the owner, over what is to be published."""
        if candidate.dataset is None:
            return
        spec = candidate.spec
        named = {"dataset_id": candidate.dataset_id, "owner": candidate.owner}
        released = Released(
            path=candidate.dataset, columns=spec.get("quasi_identifiers") or (), keep=spec.get("keep") or (),
            scratch=candidate.scratch, **named,
        )  # fmt: skip
        family_id = family_of(candidate.dataset, **named, at=self._at)
        compare_released(released, family_id, at=self._at, storage=self._storage, tick=tick)

    def review_again(self) -> None:
        """Something of the same data was published since, or they were confirmed: compose the release with that too."""
        if self._candidate is not None:
            self._compare(self._candidate, tick=lambda: None)  # the computing is over: nothing ends this any more
            self._stored = replace(self.stored, review=self._review(self._candidate))

    def _review(self, candidate: Candidate) -> Review:
        """The composition, which may have to be computed again, and the findings of the other audits."""
        composed = review(candidate, at=self._at)
        held = withheld(self._claimed, composed, at=self._at)
        findings = tuple(_with_way_out(one, composed.family_id) for one in composed.findings)
        return replace(composed, findings=(*findings, *self._unmet, *held))

    def _demanded(self, job: JobContext, candidate: Candidate, release: StoredRelease) -> tuple[Finding, ...]:
        draft = release.draft
        columns = tuple(ReleaseColumn.model_validate(one) for one in draft.columns)
        made = ReleaseInput(
            id=release.id, method=candidate.spec["method"], dataset_id=candidate.dataset_id, rows=draft.rows,
            columns=columns, flags=release.flags, spec=candidate.spec, key=release.id,
            link_key=None if draft.link is None else release.id,
        )  # fmt: skip
        audited = Audited(made, candidate.release, draft.link, self._claimed.inputs.dataset, candidate.dataset)
        return (*self._kept(candidate), *unmet(job, audited, fraction=_SHARE, stage=STAGE))

    def _kept(self, candidate: Candidate) -> list[Finding]:
        """What would be published by accident; a series publishes nothing that its base has not."""
        if candidate.dataset is None or not candidate.spec.get("keep"):
            return []
        from workers.methods.released.kept import Limits, accidents

        settings = self._at.settings
        limits = Limits(rare=settings.kept_rare_share, determined=settings.kept_determined_share)
        return accidents(candidate.release, candidate.dataset, candidate.spec, limits)

    def _keep(
        self, candidate: Candidate, release: StoredRelease
    ) -> tuple[tuple[str, int] | None, tuple[str, int, str] | None]:
        """What its family keeps of a release: what it says, and where everybody is in it, with the name of the key."""
        path = own_ledger(candidate)
        if path is None:
            return None, None
        key = f"ledger/{release.id}/{uuid4().hex}-{_digest(path)}.parquet"
        self._storage.put_file(key, path)
        kept = key, path.stat().st_size
        if candidate.dataset is None:
            return kept, None
        family_id = family_of(candidate.dataset, dataset_id=candidate.dataset_id, owner=candidate.owner, at=self._at)
        terms = terms_of(candidate, family_id, self._at)
        if (persons := own_persons(candidate, path, terms)) is None:
            return kept, None
        key = f"ledger/{release.id}/{uuid4().hex}-persons.parquet"
        self._storage.put_file(key, persons)
        return kept, (key, persons.stat().st_size, terms.under)


def _candidate(claimed: Claim, job: JobContext, stored: Stored) -> Candidate | None:
    """The release that a job has made or publishes; None where there is none, or none that is composed with others."""
    release, named = stored.release, stored.outcome.publishes
    if named is not None:
        draft = job.releases[named]
        spec, path, dataset_id = {**draft.spec, "method": draft.method}, job.release_path(named), draft.dataset_id
        link = job.link_path(named)
    elif release is not None and claimed.method in COMPOSED:
        spec, path, link = claimed.spec, release.draft.files[ReleaseFormat.PARQUET].path, release.draft.link
        base = claimed.inputs.releases.get("base_release_id")
        dataset_id = claimed.spec["dataset_id"] if base is None else base.dataset_id
    else:
        return None
    return Candidate(
        owner=claimed.owner,
        dataset_id=dataset_id,
        dataset=None if claimed.inputs.dataset is None else job.dataset_path(),
        spec=spec,
        release=path,
        scratch=job.scratch,
        link=link,
    )
