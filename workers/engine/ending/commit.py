"""One transaction states that a job has succeeded: its result, its release, provenance, and publication."""

from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta

from app.contracts.findings import Review
from app.contracts.flags import Flag
from app.contracts.jobs import JobKind, JobState
from app.contracts.owners import LimitedResource, refuse_above
from app.contracts.releases import PublicationMode, PublishRequest, ReleaseState
from app.contracts.stored import StoredSpec
from app.db.repositories import (
    claims,
    datasets,
    draws,
    families,
    job_results,
    quotas,
    recognition,
    release_links,
    releases,
)
from app.db.repositories.claims import AttemptOutcome, Claim
from app.db.repositories.releases import ReleaseRow
from app.db.session import Connection
from app.errors import ConflictError, PublishedMeanwhileError
from app.methods.draws import refuse_repeat
from app.methods.publication.spec import PublicationSpec
from app.releases import permission
from app.releases.people import answered_flags
from app.releases.publishing import Certifier, decide, publish_reviewed, record_published, standing
from app.settings import Settings
from workers.engine.ending.provenance import record
from workers.engine.ending.review import Reviewed
from workers.engine.ending.store import Stored, StoredDataset, StoredRelease
from workers.engine.families import join_family


def succeed(
    connection: Connection, *, claimed: Claim, stored: Stored, reviewed: Reviewed, settings: Settings, end: Certifier
) -> None:
    """Write release, result, provenance and the end of the job, in the caller's transaction.

    Raises
    ------
    app.errors.FencedError
        When the attempt may not end the job; nothing of it is visible then.
    app.errors.PublishedMeanwhileError
        When the release has to be composed once more.
    """
    made, review, row = stored.release, reviewed.review, None
    if made is not None:  # while publishing is held, the release states why it stays a draft
        review = replace(review, findings=permission.with_held(connection, review.findings))
    finished_at = claims.finish(connection, claimed=claimed, ending=_ending(claimed, stored, review))
    claims.insert_result(connection, job_id=claimed.id, result=stored.result)
    if made is not None:
        lock_families(
            connection, owner=claimed.owner, person=None if reviewed.person is None else reviewed.person.name,
            family_id=review.family_id, compared=reviewed.compared,
        )  # fmt: skip
        row = _decided(connection, claimed, made, review, four_eyes=settings.four_eyes)
        _insert_release(connection, row, made, reviewed, lifetime=_lifetime(claimed, row, settings))
    _publish_draft(connection, claimed, stored, review, end)
    if stored.dataset is not None:
        families.lock_recognising(connection, owner=claimed.owner)
        _set_ready(connection, claimed, stored.dataset, settings=settings)
        join_family(connection, stored.dataset.signature)
    if claimed.kind in {JobKind.QUERY, JobKind.REPORT}:  # forgotten within the hour, nothing comes of it but an answer
        return
    job_results.write_provenance(
        connection,
        record=record(
            claimed=claimed,
            attempts=claims.attempts(connection, job_id=claimed.id),
            finished_at=finished_at,
            release=row,
            sha256={} if made is None else {file.format: file.sha256 for file in made.files if file.served},
        ),
    )
    if row is not None and row.state is ReleaseState.PUBLISHED:
        stood = {one.audit for one in standing(row.findings, accepted=())}
        record_published(connection, release=row, key_id=row.made_by, accepted=stood, by_job=True)
        end(connection, row.id)


def _ending(claimed: Claim, stored: Stored, review: Review) -> AttemptOutcome:
    return AttemptOutcome(
        state=JobState.SUCCEEDED,
        outcome="succeeded",
        result={"method": claimed.method, **stored.outcome.summary},
        warnings=stored.outcome.warnings,
        findings=review.findings,
        release_id=None if stored.release is None else stored.release.row.id,
        result_bytes=stored.result.bytes,
    )


def _decided(
    connection: Connection, claimed: Claim, made: StoredRelease, review: Review, *, four_eyes: bool
) -> ReleaseRow:
    """The release, published now or a draft; of two jobs of the same data the second waits here for the first."""
    why = permission.withheld(connection, owner=claimed.owner, key_id=claimed.requested_by, family_id=review.family_id)
    decision = decide(
        connection,
        review=review,
        mode=PublicationMode(StoredSpec.of(claimed.spec).publish),
        accepts_composition=made.row.accepts_composition,
        four_eyes=four_eyes,
        may_publish=why is None,
    )
    if decision.state is ReleaseState.PUBLISHED:
        _refuse_repeat(connection, claimed, made.draft.draw)
    flags = tuple(dict.fromkeys((*made.row.flags, *decision.flags, *_declared(connection, claimed))))
    return replace(made.row.reviewed(review), flags=flags, state=decision.state)


def lock_families(
    connection: Connection,
    *,
    owner: str,
    person: str | None,
    family_id: str | None,
    compared: Collection[tuple[str, str]],
) -> None:
    """Have families stay as they are until the end of the transaction.

    Parameters
    ----------
    connection, owner
        Whose.
    person, family_id
        The column by which a release counts persons, and the family of its data.
    compared
        Datasets with a column each whose persons they were compared with.

    Raises
    ------
    PublishedMeanwhileError
        If persons of others became known since the release's were compared: of two that are reviewed at once neither
        knows those of the other.
    """
    if person is None:
        families.lock_joining(connection, owner=owner)
        return
    families.lock_recognising(connection, owner=owner)
    others = recognition.persons_known(connection, owner=owner, besides=family_id or "")
    if not set(compared).issuperset(others):
        raise PublishedMeanwhileError("Persons of other data became known since this release was compared with them.")


def _refuse_repeat(connection: Connection, claimed: Claim, draw: int | None) -> None:
    """Of jobs that ran at once only one publishes the first draw; the lock is held until the transaction ends."""
    made_from = claimed.inputs.dataset
    if draw is None or made_from is None:
        return
    draws.lock_publishing(connection, owner=claimed.owner, sha256=made_from.sha256)
    published = draws.count_published(connection, owner=claimed.owner, method=claimed.method, made_from=made_from)
    refuse_repeat(published, allowed=bool(StoredSpec.of(claimed.spec).accept_findings), made_as=draw)


def _declared(connection: Connection, claimed: Claim) -> tuple[str, ...]:
    """The flag of releases of data of which their keeper has stated what they are the same as, or has answered it."""
    made_from = claimed.inputs.dataset
    if made_from is None:
        return ()
    if families.declared(connection, dataset_id=made_from.id):
        return (Flag.DECLARED_DATA.value,)
    return answered_flags(connection, family_id=families.of_dataset(connection, dataset_id=made_from.id))


def _lifetime(claimed: Claim, row: ReleaseRow, settings: Settings) -> timedelta | None:
    """Return the time for which an unrequested draft is kept; None for all other releases."""
    requested = PublicationMode(StoredSpec.of(claimed.spec).publish) is PublicationMode.AUTO
    return None if requested or row.state is not ReleaseState.DRAFT else timedelta(days=settings.draft_days)


def _insert_release(
    connection: Connection, row: ReleaseRow, made: StoredRelease, reviewed: Reviewed, *, lifetime: timedelta | None
) -> None:
    """The release, which record each of its rows represents, and what composing others with it will need."""
    releases.insert_release(connection, new=row, files=made.files, lifetime=lifetime)
    if made.link is not None:
        key, size = made.link
        release_links.insert_link(connection, release_id=row.id, dataset_id=row.dataset_id, key=key, size=size)
    if reviewed.ledger is not None:
        key, size = reviewed.ledger
        families.keep_file(connection, release_id=row.id, owner=row.owner, key=key, size=size)
    if reviewed.persons is not None:
        key, size, under = reviewed.persons
        families.keep_persons(connection, release_id=row.id, key=key, size=size, under=under)
    if reviewed.person is not None and row.family_id is not None:
        families.name_person(
            connection, owner=row.owner, family_id=row.family_id, name=reviewed.person.name,
            fingerprint=reviewed.person.fingerprint,
        )  # fmt: skip
        if reviewed.person.sketch is not None:
            recognition.remember_persons(
                connection, owner=row.owner, family_id=row.family_id, dataset_id=row.dataset_id,
                name=reviewed.person.name, sealed=reviewed.person.sketch,
            )  # fmt: skip


def _publish_draft(connection: Connection, claimed: Claim, stored: Stored, review: Review, end: Certifier) -> None:
    """Publish what the job was requested to publish, now that it was composed again."""
    if stored.outcome.publishes is not None:
        spec = PublicationSpec.model_validate(claimed.spec)
        publish_reviewed(
            connection,
            owner=claimed.owner,
            key_id=claimed.requested_by,
            release_id=claimed.inputs.releases[stored.outcome.publishes].id,
            review=review,
            request=PublishRequest(accept_findings=spec.accept_findings, readers=spec.readers),
            certify=end,
        )


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
