"""What housekeeping asks of jobs: which ids the broker may have lost, which attempts are silent.

Time is the database's: clocks of workers and of housekeeping never meet.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select, update

from app.contracts.jobs import JobState
from app.db.repositories import parts
from app.db.repositories.claims import AttemptOutcome, QueuedJob, end_attempt, record_end
from app.db.repositories.ingests import CANCELLED_INGEST, INGEST, fail_ingest
from app.db.repositories.job_history import notify
from app.db.repositories.jobs import record_event
from app.db.tables.jobs import change, is_queued, job, job_progress
from app.errors import AttemptsExhaustedError

#: Rows of one round, so that a round is a short transaction.
BATCH = 500


def count_queued(connection: Connection) -> dict[str, int]:
    """Queued jobs by queue."""
    statement = select(job.c.queue, func.count()).where(is_queued).group_by(job.c.queue)
    return {row[0]: row[1] for row in connection.execute(statement)}


def any_unfinished(connection: Connection) -> bool:
    """Whether a job of anyone waits or runs."""
    unfinished = job.c.state.in_((JobState.QUEUED, JobState.RUNNING))
    return connection.execute(select(job.c.id).where(unfinished).limit(1)).first() is not None


def take_unsent(connection: Connection, *, queue: str, older_than: timedelta) -> list[QueuedJob]:
    """Queued jobs whose id was last sent long ago (or never), marked as sent now, oldest first."""
    due = (
        select(job.c.id, job.c.method)
        .where(is_queued, job.c.queue == queue)
        .where(func.coalesce(job.c.enqueued_at, job.c.queued_at) < func.clock_timestamp() - older_than)
        .where(func.coalesce(job.c.not_before, job.c.queued_at) <= func.clock_timestamp())
        .order_by(job.c.queued_at)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    unsent = [QueuedJob(id=row.id, method=row.method, queue=queue) for row in connection.execute(due)]
    if unsent:
        ids = [each.id for each in unsent]
        connection.execute(update(job).where(job.c.id.in_(ids)).values(enqueued_at=func.clock_timestamp()))
    return unsent


def mark_unsent(connection: Connection, *, job_ids: list[str]) -> None:
    """The broker could not be reached: these ids are due at once."""
    never = func.to_timestamp(0)
    connection.execute(update(job).where(job.c.id.in_(job_ids), is_queued).values(enqueued_at=never))


def reap(connection: Connection, *, silent_for: timedelta, max_attempts: int) -> list[QueuedJob]:
    """End the attempts whose heartbeat has stopped; the jobs that wait for another attempt, to be sent.

    While the database was down no one could beat, so silence is counted from its start at the earliest.
    """
    heard = func.greatest(job_progress.c.beat_at, func.pg_postmaster_start_time())
    statement = (
        _running()
        .where(heard < func.clock_timestamp() - silent_for)
        .limit(BATCH)
        .with_for_update(of=job, skip_locked=True)
    )
    lost = [_record_loss(connection, row, max_attempts=max_attempts) for row in connection.execute(statement).all()]
    return [waiting for waiting in lost if waiting is not None]


def locked(connection: Connection, *, silent_for: timedelta) -> list[str]:
    """Running jobs that are silent for so long and were not reaped: whoever is silent holds their rows."""
    heard = func.greatest(job_progress.c.beat_at, func.pg_postmaster_start_time())
    silent = _running().where(heard < func.clock_timestamp() - silent_for).limit(BATCH)
    return [row.id for row in connection.execute(silent)]


def record_lost_attempt(connection: Connection, *, job_id: str, attempt: int, max_attempts: int) -> QueuedJob | None:
    """End one attempt that cannot go on for a reason outside the job (the storage cannot be reached)."""
    mine: ColumnElement[bool] = (job.c.id == job_id) & (job.c.attempt == attempt)
    row = connection.execute(_running().where(mine).with_for_update(of=job)).first()
    return None if row is None else _record_loss(connection, row, max_attempts=max_attempts)


def _running() -> Any:
    """Jobs that someone should be at work on: all that run, but for wholes whose parts are at work."""
    columns = (
        job.c.id, job.c.method, job.c.queue, job.c.kind, job.c.attempt, job.c.given_back, job.c.cancel_requested_at,
    )  # fmt: skip
    joined = select(*columns, job.c.parent_id.label("parent_id")).join(job_progress, job_progress.c.job_id == job.c.id)
    at_work = (job.c.state == JobState.RUNNING, job.c.finished_at.is_(None), func.coalesce(job.c.parts_left, 0) == 0)
    return joined.where(*at_work)


def _record_loss(connection: Connection, row: Row[Any], *, max_attempts: int) -> QueuedJob | None:
    used = row.attempt - row.given_back
    if row.cancel_requested_at is not None:
        _end(connection, row, AttemptOutcome(state=JobState.CANCELLED, outcome="lost"), problem=CANCELLED_INGEST)
        return None
    if used >= max_attempts:
        problem = AttemptsExhaustedError(
            f"the job lost its worker on each of {used} attempts; it may need more memory than a worker has"
        ).problem()
        _end(connection, row, AttemptOutcome(state=JobState.FAILED, outcome="lost", error=problem), problem=problem)
        return None
    connection.execute(
        update(job)
        .where(job.c.id == row.id)
        .values(state=JobState.QUEUED, queued_at=func.clock_timestamp(), enqueued_at=func.clock_timestamp())
    )
    end_attempt(connection, job_id=row.id, attempt=row.attempt, outcome="lost")
    connection.execute(
        update(job_progress).where(job_progress.c.job_id == row.id).values(stage="queued", version=change.next_value())
    )
    record_event(connection, job_id=row.id, state=JobState.QUEUED, attempt=row.attempt, reason="lost")
    notify(connection, job_id=row.id)
    return QueuedJob(id=row.id, method=row.method, queue=row.queue)


def _end(connection: Connection, row: Row[Any], ending: AttemptOutcome, *, problem: Mapping[str, Any]) -> None:
    connection.execute(
        update(job)
        .where(job.c.id == row.id)
        .values(
            state=ending.state,
            finished_at=func.clock_timestamp(),
            error=None if ending.error is None else dict(ending.error),
        )
    )
    record_end(connection, job_id=row.id, attempt=row.attempt, ending=ending)
    if row.parent_id is not None:
        parts.settle(connection, parent_id=row.parent_id, ending=ending)
    if row.kind == INGEST:
        fail_ingest(connection, job_id=row.id, problem=problem)
