"""How a computed outcome becomes a succeeded job: bytes are stored first, then one transaction says so.

A process that dies between the two leaves objects that no row points to; housekeeping removes them.
"""

import hashlib
import json
from dataclasses import dataclass, field, replace
from uuid import uuid4

from app.contracts.base import new_id
from app.contracts.datasets import Profile
from app.contracts.findings import Finding, Review
from app.contracts.flags import Flag
from app.contracts.inputs import DatasetInput
from app.contracts.jobs import JobKind, JobState
from app.contracts.owners import LimitedResource, refuse_above
from app.contracts.releases import PublicationMode, PublishRequest, ReleaseState
from app.db.repositories import claims, datasets, draws, families, provenance, quotas, release_links, releases
from app.db.repositories.claims import AttemptOutcome, Claim
from app.db.repositories.families import PersonColumn
from app.db.repositories.job_results import StoredResult
from app.db.repositories.publications import Publishable
from app.db.session import Connection
from app.errors import ConflictError
from app.methods.draws import refuse_repeat
from app.releases import permission
from app.releases.holding import with_held
from app.releases.publishing import Certifier, Decision, decide, publish_reviewed, record_published, standing
from app.settings import Settings
from app.storage.protocol import Storage
from workers.engine.ending.provenance import Published, record
from workers.engine.families import Recognised, join_family
from workers.engine.inferred_types import with_inferred_types
from workers.engine.resources import WorkerResources
from workers.methods.outcome import DatasetDraft, Outcome, ReleaseDraft


@dataclass(frozen=True, slots=True)
class StoredRelease:
    """A release whose files are stored."""

    id: str
    draft: ReleaseDraft
    flags: tuple[str, ...]
    files: tuple[releases.ReleaseFile, ...]
    link: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A typed copy that is stored."""

    id: str
    profile: Profile
    key: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Stored:
    """An outcome with its bytes in place."""

    outcome: Outcome
    result: StoredResult
    release: StoredRelease | None
    dataset: StoredDataset | None = None
    review: Review = field(default_factory=Review)
    ledger: tuple[str, int] | None = None
    #: Key and size of who is where in the release, and the name of the secret that it is keyed by.
    persons: tuple[str, int, str] | None = None
    #: The column by which it counts persons.
    person: PersonColumn | None = None
    recognised: Recognised | None = None


def store(claimed: Claim, outcome: Outcome, *, storage: Storage, settings: Settings) -> Stored:
    """Store what is too large for a row, under its checksum."""
    outcome = with_inferred_types(outcome, claimed.inputs.dataset)
    release = None if outcome.release is None else _store_release(claimed, outcome.release, storage=storage)
    dataset = None if outcome.dataset is None else _store_dataset(claimed, outcome.dataset, storage=storage)
    return Stored(outcome, _store_result(claimed, outcome, storage=storage, settings=settings), release, dataset)


def succeed(connection: Connection, *, claimed: Claim, stored: Stored, settings: Settings, end: Certifier) -> None:
    """Write release, result, provenance and the end of the job, in the caller's transaction.

    Raises
    ------
    app.errors.FencedError
        When the attempt may not end the job; nothing of it is visible then.
    app.errors.PublishedMeanwhileError
        When the release has to be composed once more.
    """
    stored = _noting_held(connection, stored)
    release, new = stored.release, None
    finished_at = claims.finish(connection, claimed=claimed, ending=_ending(claimed, stored))
    claims.insert_result(connection, job_id=claimed.id, result=stored.result)
    if release is not None:
        decision = _decide(connection, claimed, stored, four_eyes=settings.four_eyes)
        release = replace(release, flags=tuple(dict.fromkeys((*release.flags, *decision.flags))))
        new = _insert_release(connection, claimed, release, review=stored.review, state=decision.state)
        _insert_ledger(connection, new, stored)
    _publish_draft(connection, claimed, stored, end)
    if stored.recognised is not None:
        families.lock_recognising(connection, owner=stored.recognised.owner)
    if stored.dataset is not None:
        _set_ready(connection, claimed, stored.dataset, settings=settings)
    if stored.recognised is not None:
        join_family(connection, stored.recognised)
    if claimed.kind in {JobKind.QUERY, JobKind.REPORT}:  # forgotten within the hour, nothing comes of it but an answer
        return
    provenance.write(
        connection,
        record=record(
            claimed=claimed,
            attempts=claims.attempts(connection, job_id=claimed.id),
            finished_at=finished_at,
            published=None if release is None else _published(release),
        ),
    )
    if new is not None and new.state is ReleaseState.PUBLISHED:
        _record_published(connection, new, stored.review, end)


def _ending(claimed: Claim, stored: Stored) -> AttemptOutcome:
    return AttemptOutcome(
        state=JobState.SUCCEEDED,
        outcome="succeeded",
        result={"method": claimed.method, **stored.outcome.summary},
        warnings=stored.outcome.warnings,
        findings=stored.review.findings,
        release_id=None if stored.release is None else stored.release.id,
        result_bytes=stored.result.bytes,
    )


def _noting_held(connection: Connection, stored: Stored) -> Stored:
    """While publishing is held, the release says why it stays a draft."""
    if stored.release is None:
        return stored
    return replace(stored, review=replace(stored.review, findings=with_held(connection, stored.review.findings)))


def _store_release(claimed: Claim, draft: ReleaseDraft, *, storage: Storage) -> StoredRelease:
    release_id = new_id("rel")
    files = []
    for name, file in sorted(draft.files.items()):
        key = f"releases/{release_id}/{file.sha256}.{name}"
        storage.put_file(key, file.path)
        served = name in claimed.spec.get("formats", draft.files)
        files.append(releases.ReleaseFile(format=name, key=key, sha256=file.sha256, bytes=file.bytes, served=served))
    flags = [flag.value for flag in (*draft.flags, *((Flag.REPRODUCIBLE,) if claimed.seed is not None else ()))]
    return StoredRelease(release_id, draft, tuple(flags), tuple(files), _store_link(claimed, draft, storage=storage))


def _store_dataset(claimed: Claim, draft: DatasetDraft, *, storage: Storage) -> StoredDataset:
    dataset = _made_from(claimed)
    key = f"datasets/{dataset.id}/{uuid4().hex}.parquet"  # an attempt's own
    storage.put_file(key, draft.path)
    return StoredDataset(dataset.id, draft.profile, key, draft.path.stat().st_size)


def _set_ready(connection: Connection, claimed: Claim, stored: StoredDataset, *, settings: Settings) -> None:
    """The upload was read; of uploads that are read at once each counts the rows of those before it."""
    quotas.lock_rows(connection, owner=claimed.owner)
    limit = quotas.limits(connection, owner=claimed.owner, settings=settings)[LimitedResource.ROWS]
    used = quotas.datasets(connection, owner=claimed.owner).rows
    refuse_above(LimitedResource.ROWS, used=used, limit=limit, requested=stored.profile.rows, keeper=True)
    ready = datasets.set_ready(
        connection, dataset_id=stored.id, profile=stored.profile, data_key=stored.key, data_bytes=stored.bytes
    )
    if not ready:
        raise ConflictError("the dataset was not waiting to be read any more")


def _made_from(claimed: Claim) -> DatasetInput:
    if claimed.inputs.dataset is None:
        msg = f"job {claimed.id} made something of a dataset without one"
        raise ValueError(msg)
    return claimed.inputs.dataset


def _store_link(claimed: Claim, draft: ReleaseDraft, *, storage: Storage) -> tuple[str, int] | None:
    """Key and size of what says which record each row stands for: among what is the job's, not among what is served."""
    if draft.link is None:
        return None
    key = f"jobs/{claimed.id}/link-{claimed.attempt}.npy"
    storage.put_file(key, draft.link)
    return key, draft.link.stat().st_size


def _store_result(claimed: Claim, outcome: Outcome, *, storage: Storage, settings: Settings) -> StoredResult:
    whole = {"method": claimed.method, **outcome.summary, **outcome.result}
    body = json.dumps(whole, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    sha256 = hashlib.sha256(body).hexdigest()
    if len(body) <= settings.inline_artifact_bytes:
        return StoredResult(body=body, key=None, bytes=len(body), sha256=sha256)
    key = f"jobs/{claimed.id}/result-{claimed.attempt}-{sha256}.json"
    with storage.writer(key) as writer:
        writer.write(body)
    return StoredResult(body=None, key=key, bytes=len(body), sha256=sha256)


def _decide(connection: Connection, claimed: Claim, stored: Stored, *, four_eyes: bool) -> Decision:
    """Whether the release is published now; of two jobs of the same data the second waits here for the first."""
    families.lock_joining(connection, owner=claimed.owner)
    decision = decide(
        connection,
        review=stored.review,
        mode=PublicationMode(claimed.spec.get("publish", PublicationMode.AUTO)),
        accepts_composition=bool(claimed.spec.get("accept_findings")),
        four_eyes=four_eyes,
        may_publish=permission.withheld(
            connection, owner=claimed.owner, key_id=claimed.requested_by, family_id=stored.review.family_id
        )
        is None,
    )
    if decision.state is ReleaseState.PUBLISHED and stored.release is not None:
        _refuse_repeat(connection, claimed, stored.release.draft)
    return replace(decision, flags=(*decision.flags, *_declared(connection, claimed)))


def withheld(claimed: Claim, review: Review, *, at: WorkerResources) -> tuple[Finding, ...]:
    """What keeps the release of a job a draft although nothing is wrong with it."""
    with at.database.read() as connection:
        why = permission.withheld(
            connection, owner=claimed.owner, key_id=claimed.requested_by, family_id=review.family_id
        )
    return permission.as_findings(why)


def _declared(connection: Connection, claimed: Claim) -> tuple[str, ...]:
    """The flag of releases of data of which their keeper has said what they are the same as."""
    made_from = claimed.inputs.dataset
    if made_from is None or not families.declared(connection, dataset_id=made_from.id):
        return ()
    return (Flag.DECLARED_DATA.value,)


def _publish_draft(connection: Connection, claimed: Claim, stored: Stored, end: Certifier) -> None:
    """Publish what the job was asked to publish, now that it was composed again."""
    if stored.outcome.publishes is not None:
        publish_reviewed(
            connection,
            owner=claimed.owner,
            key_id=claimed.requested_by,
            release_id=claimed.inputs.releases[stored.outcome.publishes].id,
            review=stored.review,
            request=_publish_request(claimed),
            certify=end,
        )


def _publish_request(claimed: Claim) -> PublishRequest:
    return PublishRequest(accept_findings=claimed.spec.get("accept_findings", ()), readers=claimed.spec.get("readers"))


def _record_published(connection: Connection, new: releases.NewRelease, review: Review, end: Certifier) -> None:
    stood = {one.audit for one in standing(review.findings, accepted=())}
    release = Publishable(
        id=new.id, owner=new.owner, job_id=new.job_id, dataset_id=new.dataset_id, method=new.method, state=new.state,
        made_by=new.made_by, findings=review.findings, family_id=review.family_id, composed_after=review.composed_after,
        composed=review.composed, accepts_composition=new.accepts_composition, base_release_id=new.base_release_id,
        previous_release_id=new.previous_release_id,
    )  # fmt: skip
    record_published(
        connection, release=release, key_id=new.made_by, accepted=stood, composed=review.composed, by_job=True
    )
    end(connection, new.id)


def _refuse_repeat(connection: Connection, claimed: Claim, draft: ReleaseDraft) -> None:
    """Of jobs that ran at once only one publishes the first draw; the lock is held until the transaction ends."""
    made_from = claimed.inputs.dataset
    if draft.draw is None or made_from is None:
        return
    draws.lock_publishing(connection, owner=claimed.owner, sha256=made_from.sha256)
    published = draws.count_published(connection, owner=claimed.owner, method=claimed.method, made_from=made_from)
    refuse_repeat(published, allowed=bool(claimed.spec.get("accept_findings")), made_as=draft.draw)


def _insert_release(
    connection: Connection, claimed: Claim, release: StoredRelease, *, review: Review, state: ReleaseState
) -> releases.NewRelease:
    named, draft = claimed.inputs.releases, release.draft
    base, previous = named.get("base_release_id"), named.get("previous_release_id")
    dataset_id = _made_from(claimed).id if base is None else base.dataset_id
    new = releases.NewRelease(
        id=release.id,
        owner=claimed.owner,
        job_id=claimed.id,
        dataset_id=dataset_id,
        method=claimed.method,
        rows=draft.rows,
        columns=draft.columns,
        flags=release.flags,
        tags=claimed.tags,
        statistics=draft.statistics,
        warnings=draft.warnings,
        state=state,
        made_by=claimed.requested_by,
        findings=review.findings,
        family_id=review.family_id,
        composed_after=review.composed_after,
        composed=review.composed,
        accepts_composition=bool(claimed.spec.get("accept_findings")),
        base_release_id=None if base is None else base.id,
        previous_release_id=None if previous is None else previous.id,
    )
    releases.insert_release(connection, new=new, files=release.files)
    if release.link is not None:
        key, size = release.link
        release_links.insert_link(connection, release_id=release.id, dataset_id=dataset_id, key=key, size=size)
    return new


def _insert_ledger(connection: Connection, new: releases.NewRelease, stored: Stored) -> None:
    """What composing will need of the release."""
    if stored.ledger is not None:
        key, size = stored.ledger
        families.keep_file(connection, release_id=new.id, owner=new.owner, key=key, size=size)
    if stored.persons is not None:
        key, size, under = stored.persons
        families.keep_persons(connection, release_id=new.id, key=key, size=size, under=under)
    if stored.person is not None and new.family_id is not None:
        families.name_person(
            connection, owner=new.owner, family_id=new.family_id, name=stored.person.name,
            fingerprint=stored.person.fingerprint,
        )  # fmt: skip


def _published(release: StoredRelease) -> Published:
    return Published(
        id=release.id,
        sha256={file.format: file.sha256 for file in release.files if file.served},
        rows=release.draft.rows,
        flags=release.flags,
        parameters=release.draft.parameters,
    )
