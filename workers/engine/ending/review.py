"""The review of a release before its job ends: compared, composed with the publications of the same data, audited.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import uuid4

from app.contracts.findings import Finding, Review
from app.contracts.inputs import ReleaseInput
from app.contracts.releases import ReleaseColumn, ReleaseFormat
from app.db.repositories.claims import Claim
from app.db.repositories.families import PersonColumn
from app.releases import permission
from app.storage.protocol import Storage
from workers.engine.ending.audits import unmet
from workers.engine.ending.composing import (
    Candidate,
    composed,
    digest,
    own_ledger,
    own_persons,
    person_column,
    terms_of,
)
from workers.engine.ending.store import Stored
from workers.engine.families import Released, compare_released, family_of
from workers.engine.resources import WorkerResources
from workers.methods.context import JobContext
from workers.methods.released.earlier import LEDGERED, OPAQUE

STAGE: Final = "gate"
_SHARE: Final = 0.97
#: Methods whose releases are composed.
COMPOSED: Final = LEDGERED | OPAQUE


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The findings about the release that a job has made or publishes; nothing where there is none.

    Attributes
    ----------
    review
        The findings, and what the release was composed with.
    candidate
        The release.
    audited
        Findings of its audits, which stay what they are when it is composed again.
    ledger
        Key and size of what its family keeps of what it states.
    persons
        Key and size of who is where in the release, and the name of the secret that it is keyed by.
    person
        The column by which it counts persons.
    """

    review: Review = field(default_factory=Review)
    candidate: Candidate | None = None
    audited: tuple[Finding, ...] = ()
    ledger: tuple[str, int] | None = None
    persons: tuple[str, int, str] | None = None
    person: PersonColumn | None = None


def review(claimed: Claim, job: JobContext, stored: Stored, *, storage: Storage, at: WorkerResources) -> Reviewed:
    """Find out all that is to be known of a release before it is written."""
    candidate = _candidate(claimed, job, stored)
    if candidate is None:
        return Reviewed()
    _compare(candidate, storage=storage, at=at, tick=lambda: job.tick(_SHARE, STAGE))
    reviewed = Reviewed(candidate=candidate)
    if stored.release is not None:
        job.tick(_SHARE, STAGE)
        ledger, persons = _keep(candidate, storage=storage, at=at)
        person = person_column(candidate, at)
        audited = (*_kept(candidate, at), *unmet(job, candidate, fraction=_SHARE, stage=STAGE))
        reviewed = Reviewed(candidate=candidate, audited=audited, ledger=ledger, persons=persons, person=person)
    return replace(reviewed, review=_composed(claimed, candidate, reviewed.audited, at))


def review_again(claimed: Claim, reviewed: Reviewed, *, storage: Storage, at: WorkerResources) -> Reviewed:
    """Something of the same data was published since, or they were confirmed: compose the release with that too."""
    candidate = reviewed.candidate
    if candidate is None:
        return reviewed
    _compare(candidate, storage=storage, at=at, tick=lambda: None)  # the computing is over: nothing ends this any more
    return replace(reviewed, review=_composed(claimed, candidate, reviewed.audited, at))


def _candidate(claimed: Claim, job: JobContext, stored: Stored) -> Candidate | None:
    """The release that a job has made or publishes; None where there is none, or none that is composed with others."""
    made, named = stored.release, stored.outcome.publishes
    if named is not None:
        draft = job.releases[named]
        release = replace(draft, spec={**draft.spec, "method": draft.method})
        path, link = job.release_path(named), job.link_path(named)
    elif made is not None and claimed.method in COMPOSED:
        row, path, link = made.row, made.draft.files[ReleaseFormat.PARQUET].path, made.draft.link
        columns = tuple(ReleaseColumn.model_validate(one) for one in row.columns)
        release = ReleaseInput(
            id=row.id, method=row.method, dataset_id=row.dataset_id, rows=row.rows, columns=columns,
            flags=tuple(row.flags), spec=claimed.spec, key=row.id, link_key=None if link is None else row.id,
        )  # fmt: skip
    else:
        return None
    original = claimed.inputs.dataset
    return Candidate(
        owner=claimed.owner,
        release=release,
        path=path,
        scratch=job.scratch,
        link=link,
        original=original,
        dataset=None if original is None else job.dataset_path(),
    )


def _compare(candidate: Candidate, *, storage: Storage, at: WorkerResources, tick: Callable[[], None]) -> None:
    """Look for the same rows among all data of the owner, over the data to be published."""
    if candidate.dataset is None:
        return
    made = candidate.release.made
    named = {"dataset_id": candidate.dataset_id, "owner": candidate.owner}
    released = Released(
        path=candidate.dataset, columns=made.quasi_identifiers, keep=made.keep,
        scratch=candidate.scratch, **named,
    )  # fmt: skip
    family_id = family_of(candidate.dataset, **named, at=at)
    compare_released(released, family_id, at=at, storage=storage, tick=tick)


def _composed(claimed: Claim, candidate: Candidate, audited: tuple[Finding, ...], at: WorkerResources) -> Review:
    """The composition, which may have to be computed again, with the findings of the other audits."""
    made = composed(candidate, at=at)
    with at.database.read() as connection:
        why = permission.withheld(
            connection, owner=claimed.owner, key_id=claimed.requested_by, family_id=made.family_id
        )
    findings = tuple(_with_way_out(one, made.family_id) for one in made.findings)
    return replace(made, findings=(*findings, *audited, *permission.as_findings(why)))


def _with_way_out(finding: Finding, family_id: str | None) -> Finding:
    """What stands because of earlier releases may stand because of trials: how to start clean."""
    if family_id is None:
        return finding
    clean = (
        f"`GET /v1/families/{family_id}` shows what the data are composed with, and why. After trials, an "
        f"admin forgets it all with `DELETE /v1/families/{family_id}`, or `surebox families erase {family_id}`"
    )
    return finding.model_copy(update={"detail": f"{finding.detail.rstrip('.')}. {clean}"})


def _kept(candidate: Candidate, at: WorkerResources) -> list[Finding]:
    """What would be published by accident; a series publishes nothing that its base has not."""
    if candidate.dataset is None or not candidate.release.made.keep:
        return []
    from workers.methods.released.kept import Limits, accidents

    limits = Limits(rare=at.settings.kept_rare_share, determined=at.settings.kept_determined_share)
    return accidents(candidate.path, candidate.dataset, candidate.spec, limits)


def _keep(
    candidate: Candidate, *, storage: Storage, at: WorkerResources
) -> tuple[tuple[str, int] | None, tuple[str, int, str] | None]:
    """What its family keeps of a release: what it states, and where everyone is in it, with the name of the key."""
    path = own_ledger(candidate)
    if path is None:
        return None, None
    key = f"ledger/{candidate.release.id}/{uuid4().hex}-{digest(path)}.parquet"
    storage.put_file(key, path)
    kept = key, path.stat().st_size
    if candidate.dataset is None:
        return kept, None
    family_id = family_of(candidate.dataset, dataset_id=candidate.dataset_id, owner=candidate.owner, at=at)
    terms = terms_of(candidate, family_id, at)
    if (persons := own_persons(candidate, path, terms)) is None:
        return kept, None
    key = f"ledger/{candidate.release.id}/{uuid4().hex}-persons.parquet"
    storage.put_file(key, persons)
    return kept, (key, persons.stat().st_size, terms.under)
