"""The review of a release before its job ends: compared, composed with the publications of the same data, audited.

What computes is imported where it is called: a worker loads it once it has been forked (registry.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from app.contracts.findings import Finding, FindingSeverity, Review
from app.contracts.inputs import ReleaseInput
from app.contracts.jobs import JobStage
from app.contracts.releases import ReleaseColumn, ReleaseFormat
from app.db.repositories import recognition
from app.db.repositories.claims import Claim
from app.db.repositories.families import PersonColumn
from app.releases import permission
from app.releases.people import unanswered
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
from workers.engine.families import family_of, join_by_persons, recognise_older
from workers.engine.resources import WorkerResources
from workers.methods.context import JobContext
from workers.methods.released.earlier import LEDGERED, OPAQUE

STAGE: Final[JobStage] = "gate"
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
    compared
        Datasets with a column each whose persons it was compared with.
    """

    review: Review = field(default_factory=Review)
    candidate: Candidate | None = None
    audited: tuple[Finding, ...] = ()
    ledger: tuple[str, int] | None = None
    persons: tuple[str, int, str] | None = None
    person: PersonColumn | None = None
    compared: frozenset[tuple[str, str]] = frozenset()


def failures(method: str, result: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Findings of high severity in the result of an anonymization; one at least where it is not `valid`.

    Parameters
    ----------
    method
        Its name, by which these findings are accepted.
    result
        The whole result; it has the fields of `ProtectionResult`.
    """
    stated = [Finding.model_validate(one) for one in result["findings"]]
    high = [one.model_copy(update={"audit": method}) for one in stated if one.severity is FindingSeverity.HIGH]
    if high or result["valid"]:
        return tuple(high)
    detail = (
        "the result has `valid: false`: the protection that was requested was not reached. Change the specification, "
        "or accept this finding; the release then states it by a flag"
    )
    return (Finding(audit=method, severity=FindingSeverity.HIGH, detail=detail, measured=None, required=None),)


def review(claimed: Claim, job: JobContext, stored: Stored, *, storage: Storage, at: WorkerResources) -> Reviewed:
    """Find out all that is to be known of a release before it is written."""
    candidate = _candidate(claimed, job, stored)
    if candidate is None:
        return Reviewed()
    job.tick(_SHARE, STAGE)
    reviewed = Reviewed(candidate=candidate, compared=_compare(candidate, at=at))
    if stored.release is not None:
        job.tick(_SHARE, STAGE)
        ledger, persons = _keep(candidate, storage=storage, at=at)
        person = person_column(candidate, at)
        own = failures(claimed.method, stored.outcome.result)
        audited = (*own, *_kept(candidate, at), *unmet(job, candidate, fraction=_SHARE, stage=STAGE))
        reviewed = replace(reviewed, audited=audited, ledger=ledger, persons=persons, person=person)
    return replace(reviewed, review=_composed(claimed, candidate, reviewed.audited, at))


def review_again(claimed: Claim, reviewed: Reviewed, *, at: WorkerResources) -> Reviewed:
    """Something of the same data was published since, or they were confirmed: compose the release with that too."""
    candidate = reviewed.candidate
    if candidate is None:
        return reviewed
    compared = _compare(candidate, at=at)
    return replace(reviewed, review=_composed(claimed, candidate, reviewed.audited, at), compared=compared)


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
            merged_as=row.parameters.get("merged_as"),
        )  # fmt: skip
    else:
        return None
    original = None if claimed.inputs.dataset is None else job.dataset
    return Candidate(
        owner=claimed.owner,
        release=release,
        path=path,
        scratch=job.scratch,
        link=link,
        original=original,
        dataset=None if claimed.inputs.dataset is None else job.dataset_path(),
        history=None if named is not None or made is None else made.draft.history,
    )


def _compare(candidate: Candidate, *, at: WorkerResources) -> frozenset[tuple[str, str]]:
    """Find the family of the data, and others of the same persons, where the release states whose each record is."""
    if candidate.dataset is None:
        return frozenset()
    named = {"dataset_id": candidate.dataset_id, "owner": candidate.owner}
    recognise_older(candidate.scratch, owner=candidate.owner, at=at)
    family_of(candidate.dataset, **named, at=at, counted_by=candidate.counted_by)
    person = candidate.release.made.person_column
    return frozenset() if person is None else join_by_persons(candidate.dataset, person, **named, at=at)


def _composed(claimed: Claim, candidate: Candidate, audited: tuple[Finding, ...], at: WorkerResources) -> Review:
    """The composition, which may have to be computed again, with the findings of the other audits."""
    made = composed(candidate, at=at)
    with at.database.read() as connection:
        why = permission.withheld(
            connection, owner=claimed.owner, key_id=claimed.requested_by, family_id=made.family_id
        )
        questions = [] if made.family_id is None else recognition.questions(connection, family_id=made.family_id)
    findings = tuple(_with_family(one, made.family_id) for one in made.findings)
    standing = () if candidate.dataset is None else unanswered(questions)
    return replace(made, findings=(*findings, *standing, *audited, *permission.as_findings(why)))


def _with_family(finding: Finding, family_id: str | None) -> Finding:
    """Add the family, which shows what a finding about earlier releases follows from."""
    if family_id is None:
        return finding
    shown = f"`GET /v1/families/{family_id}` shows what the data are composed with, and why."
    return finding.model_copy(update={"remedies": (*finding.remedies, shown)})


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
    named = {"dataset_id": candidate.dataset_id, "owner": candidate.owner}
    family_id = family_of(candidate.dataset, **named, at=at, counted_by=candidate.counted_by)
    terms = terms_of(candidate, family_id, at)
    if (persons := own_persons(candidate, path, terms)) is None:
        return kept, None
    key = f"ledger/{candidate.release.id}/{uuid4().hex}-persons.parquet"
    storage.put_file(key, persons)
    return kept, (key, persons.stat().st_size, terms.under)
