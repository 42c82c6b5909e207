"""Jobs, as the API asks for them. What workers write is in `claims`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, String, bindparam, delete, func, insert, select, tuple_, update

from app.contracts.jobs import JobState, Queue
from app.contracts.warnings import JobWarning
from app.db.job_record import JobRecord, select_jobs
from app.db.repositories import audit
from app.db.repositories.ingests import CANCELLED_INGEST, INGEST, fail_ingest
from app.db.repositories.job_history import notify
from app.db.tables.jobs import change, job, job_checkpoint, job_event, job_input, job_progress
from app.db.tables.metadata import Id

#: Namespace of the advisory locks that serialise one owner's submissions.
_SUBMISSION_LOCK = 0x6A6F62

_FINAL = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})
_BY_ID = select_jobs().where(job.c.id == bindparam("job_id", type_=Id))
_BY_OWNER = _BY_ID.where(job.c.owner == bindparam("owner", type_=String), job.c.erased_at.is_(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """The entry of a job when it is accepted."""

    id: str
    owner: str
    kind: str
    method: str
    spec_version: int
    queue: str
    listed: bool
    tags: Mapping[str, str]
    spec: Mapping[str, Any]
    seed: int | None
    draw: int
    requested_by: str | None
    expires_at: datetime | None = None
    estimated_seconds: float | None = None
    estimated_bytes: int | None = None
    estimated_release_bytes: int | None = None
    estimated_scratch_bytes: int | None = None
    warnings: Sequence[JobWarning] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which of an owner's jobs a list holds; None and empty mean all."""

    states: Sequence[str] = ()
    method: str | None = None
    kind: str | None = None
    dataset_id: str | None = None
    created_after: datetime | None = None
    tags: Mapping[str, str] | None = None


def lock_submissions(connection: Connection, *, owner: str) -> None:
    """Let one submission of this owner at a time pass until its transaction ends, so that the limit is exact."""
    connection.execute(select(func.pg_advisory_xact_lock(_SUBMISSION_LOCK, func.hashtext(owner))))


def count_unfinished(connection: Connection, *, owner: str, at_most: int) -> int:
    """How many of the owner's jobs (parts of jobs aside) are queued or running; counting stops at `at_most`."""
    wholes = (job.c.owner == owner, job.c.finished_at.is_(None), job.c.parent_id.is_(None))
    unfinished = select(job.c.id).where(*wholes).limit(at_most).subquery()
    return connection.execute(select(func.count()).select_from(unfinished)).scalar_one()


def insert_job(connection: Connection, *, new: NewJob) -> None:
    """Write a queued job, its progress row and its first event.

    `enqueued_at` is set at once: the id is sent right after the commit, and housekeeping sends it again when the job
    is still queued some seconds later.
    """
    connection.execute(
        insert(job).values(
            id=new.id,
            owner=new.owner,
            kind=new.kind,
            method=new.method,
            spec_version=new.spec_version,
            queue=new.queue,
            listed=new.listed,
            state=JobState.QUEUED,
            tags=dict(new.tags),
            spec=dict(new.spec),
            spec_shown=dict(new.spec),
            seed=new.seed,
            draw=new.draw,
            requested_by=new.requested_by,
            expires_at=new.expires_at,
            enqueued_at=func.now(),
            estimated_seconds=new.estimated_seconds,
            estimated_bytes=new.estimated_bytes,
            estimated_release_bytes=new.estimated_release_bytes,
            estimated_scratch_bytes=new.estimated_scratch_bytes,
            warnings=[warning.model_dump(mode="json") for warning in new.warnings],
        )
    )
    connection.execute(insert(job_progress).values(job_id=new.id))
    record_event(connection, job_id=new.id, state=JobState.QUEUED, attempt=0, reason="submitted")


def unfinished_page(connection: Connection, *, owner: str, method: str, release_id: str) -> JobRecord | None:
    """The job that writes a page about a release for someone without a key, if one does."""
    named = select(job_input.c.job_id).where(job_input.c.release_id == release_id, job_input.c.job_id == job.c.id)
    statement = (
        select_jobs()
        .where(job.c.owner == owner, job.c.method == method, job.c.finished_at.is_(None))
        .where(func.coalesce(job.c.requested_by, "") == "", named.exists())
    )
    row = connection.execute(statement.limit(1)).first()
    return None if row is None else JobRecord(*row)


def estimated_since(connection: Connection, *, owner: str, within: timedelta) -> float:
    """CPU seconds that the owner's jobs of late were expected to take, the cancelled and failed ones left out.

    Neither questions that are answered at once are among them (what bounds those is how many are asked a minute), nor
    pages that were asked for without a key.
    """
    counts = job.c.state.not_in([JobState.CANCELLED, JobState.FAILED])
    statement = select(func.coalesce(func.sum(job.c.estimated_seconds), 0.0)).where(
        job.c.owner == owner,
        job.c.estimated_seconds.is_not(None),
        counts,
        job.c.created_at > func.now() - within,
        job.c.queue == Queue.BATCH,
        func.coalesce(job.c.requested_by, "") != "",
    )
    return float(connection.execute(statement).scalar_one())


def record_event(connection: Connection, *, job_id: str, state: str, attempt: int, reason: str = "") -> None:
    """Append to the job's log; after the row itself was written, so that its lock orders the numbers."""
    connection.execute(insert(job_event).values(job_id=job_id, state=state, attempt=attempt, reason=reason))
    if state in _FINAL:
        audit.record_end(connection, job_id=job_id, state=str(state))


def get(connection: Connection, *, owner: str, job_id: str) -> JobRecord | None:
    """The owner's job of this id."""
    row = connection.execute(_BY_OWNER, {"job_id": job_id, "owner": owner}).first()
    return None if row is None else JobRecord(*row)


def list_jobs(
    connection: Connection, *, owner: str, only: JobFilter, before: tuple[datetime, str] | None, limit: int
) -> list[JobRecord]:
    """The owner's listed jobs, newest first, strictly before the (created_at, id) of a cursor."""
    statement = (
        select_jobs()
        .where(job.c.owner == owner, job.c.listed, job.c.erased_at.is_(None))
        .order_by(job.c.created_at.desc(), job.c.id.desc())
        .limit(limit)
    )
    if only.states:
        statement = statement.where(job.c.state.in_(only.states))
    if only.method is not None:
        statement = statement.where(job.c.method == only.method)
    if only.kind is not None:
        statement = statement.where(job.c.kind == only.kind)
    if only.dataset_id is not None:
        users = select(job_input.c.job_id).where(job_input.c.dataset_id == only.dataset_id)
        statement = statement.where(job.c.id.in_(users))
    if only.created_after is not None:
        statement = statement.where(job.c.created_at > only.created_after)
    if only.tags:
        statement = statement.where(job.c.tags.contains(dict(only.tags)))
    if before is not None:
        statement = statement.where(tuple_(job.c.created_at, job.c.id) < before)
    return [JobRecord(*row) for row in connection.execute(statement)]


def request_cancel(connection: Connection, *, owner: str, job_id: str) -> bool:
    """Cancel a job that no one works on at once, ask the worker of another to stop, leave a finished one.

    No one works on a queued job, nor on one whose parts are at work; those notice that their whole has ended.

    Returns
    -------
    bool
        Whether anything was requested: False for a finished job and for one that is not there.
    """
    mine = (job.c.id == job_id) & (job.c.owner == owner)
    row = connection.execute(select(job.c.state, job.c.attempt, job.c.parts_left).where(mine).with_for_update()).first()
    if row is None or row.state not in {JobState.QUEUED, JobState.RUNNING}:
        return False
    requested = {"cancel_requested_at": func.coalesce(job.c.cancel_requested_at, func.now())}
    if row.state == JobState.QUEUED or row.parts_left:
        ended = {"state": JobState.CANCELLED, "finished_at": func.clock_timestamp()}
        row_ended = update(job).where(mine).values(**requested, **ended).returning(job.c.kind)
        if connection.execute(row_ended).scalar_one() == INGEST:
            fail_ingest(connection, job_id=job_id, problem=CANCELLED_INGEST)
        connection.execute(
            update(job_progress)
            .where(job_progress.c.job_id == job_id)
            .values(stage=JobState.CANCELLED, version=change.next_value())
        )
        connection.execute(delete(job_checkpoint).where(job_checkpoint.c.job_id == job_id))
        record_event(connection, job_id=job_id, state=JobState.CANCELLED, attempt=row.attempt, reason="cancelled")
    else:
        connection.execute(update(job).where(mine).values(**requested))
    notify(connection, job_id=job_id)
    return True
