"""The worker's side of a job: claim it, beat, end it or give it back.

`attempt` is the fence: every write of a worker carries the attempt it has claimed and meets only a running job. Zero
rows mean that the job belongs to someone else by now; the caller rolls back and stops.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, tuple_, update

from app.contracts.findings import Finding
from app.contracts.inputs import Inputs
from app.contracts.jobs import JobProgress, JobState
from app.contracts.warnings import JobWarning
from app.db.repositories.ingests import CANCELLED_INGEST, INGEST, fail_ingest
from app.db.repositories.inputs import of_job
from app.db.repositories.job_history import notify
from app.db.repositories.job_results import StoredResult
from app.db.repositories.jobs import record_event
from app.db.tables.jobs import (
    change,
    job,
    job_attempt,
    job_checkpoint,
    job_progress,
    job_result,
    spec_as_sent,
)
from app.errors import FencedError

#: Seconds between two looks of a job at storage that cannot be used: longer each time.
_SHORTEST_HOLD, _LONGEST_HOLD = 5.0, 60.0

_CLAIMED = (
    job.c.id, job.c.owner, job.c.kind, job.c.method, job.c.spec_version, job.c.queue, spec_as_sent, job.c.seed,
    job.c.tags, job.c.requested_by, job.c.draw, job.c.parent_id.label("parent_id"), job.c.part, job.c.parts,
    job.c.attempt, job.c.created_at, job.c.estimated_seconds, job.c.estimated_bytes,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to run one attempt of a job."""

    id: str
    owner: str
    kind: str
    method: str
    spec_version: int
    queue: str
    spec: dict[str, Any]
    seed: int | None
    tags: dict[str, str]
    requested_by: str | None
    draw: int
    parent_id: str | None = None
    part: int | None = None
    parts: int | None = None
    attempt: int
    created_at: datetime
    estimated_seconds: float | None = None
    estimated_bytes: int | None = None
    inputs: Inputs


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A queued job whose id is to be sent."""

    id: str
    method: str
    queue: str


@dataclass(frozen=True, slots=True)
class HeartbeatReply:
    """What a heartbeat finds."""

    cancel_requested: bool = False
    fenced: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptOutcome:
    """How an attempt ends its job."""

    state: JobState
    outcome: str
    result: Mapping[str, Any] | None = None
    warnings: Sequence[JobWarning] = ()
    findings: Sequence[Finding] = ()
    release_id: str | None = None
    error: Mapping[str, Any] | None = None
    result_bytes: int | None = None


_whole = job.alias("whole")
_whole_goes_on = select(_whole.c.id).where(_whole.c.id == job.c.parent_id, _whole.c.finished_at.is_(None)).exists()
_CLAIM = (
    update(job)
    .where(job.c.id == bindparam("job_id"), job.c.state == JobState.QUEUED, job.c.cancel_requested_at.is_(None))
    .where(job.c.parent_id.is_(None) | _whole_goes_on)
    .where(tuple_(job.c.method, job.c.spec_version).in_(bindparam("known", expanding=True)))
    .values(
        state=JobState.RUNNING,
        attempt=job.c.attempt + 1,
        started_at=func.coalesce(job.c.started_at, func.clock_timestamp()),
    )
    .returning(*_CLAIMED)
)


def claim(connection: Connection, *, job_id: str, worker: str, known: Collection[tuple[str, int]]) -> Claim | None:
    """Take the right to run a queued job of one of the known (method, version of its specification).

    None when there is nothing to take: a second delivery, a cancelled job, one that is left to workers who know it.
    """
    row = connection.execute(_CLAIM, {"job_id": job_id, "known": sorted(known)}).mappings().first()
    if row is None:
        return None
    connection.execute(insert(job_attempt).values(job_id=job_id, attempt=row["attempt"], worker=worker))
    connection.execute(
        update(job_progress)
        .where(job_progress.c.job_id == job_id)
        .values(fraction=0.0, stage="starting", version=change.next_value(), beat_at=func.clock_timestamp())
    )
    record_event(connection, job_id=job_id, state=JobState.RUNNING, attempt=row["attempt"], reason="claimed")
    notify(connection, job_id=job_id)
    return Claim(**row, inputs=of_job(connection, job_id=job_id))


#: A part stops when its whole has ended, whatever the reason.
_TO_STOP = select(func.coalesce(job.c.cancel_requested_at, _whole.c.finished_at).label("at")).select_from(
    job.outerjoin(_whole, _whole.c.id == job.c.parent_id)
)


def _mine(job_id: str, attempt: int) -> ColumnElement[bool]:
    return (job.c.id == job_id) & (job.c.state == JobState.RUNNING) & (job.c.attempt == attempt)


def look(connection: Connection, *, job_id: str, attempt: int) -> HeartbeatReply:
    """See, without writing, whether this attempt still runs the job and whether it is to stop."""
    row = connection.execute(_TO_STOP.where(_mine(job_id, attempt))).first()
    return HeartbeatReply(fenced=True) if row is None else HeartbeatReply(cancel_requested=row.at is not None)


def heartbeat(connection: Connection, *, job_id: str, attempt: int, progress: JobProgress | None) -> HeartbeatReply:
    """State that the attempt is alive, and how far it has come when that has changed.

    The share lock makes a reaper wait: progress is never written over that of another attempt.
    """
    statement = _TO_STOP.where(_mine(job_id, attempt)).with_for_update(read=True, of=job)
    row = connection.execute(statement).first()
    if row is None:
        return HeartbeatReply(fenced=True)
    values: dict[str, Any] = {"beat_at": func.clock_timestamp()}
    if progress is not None:
        values |= {"fraction": progress.fraction, "stage": progress.text, "version": change.next_value()}
        notify(connection, job_id=job_id)
    connection.execute(update(job_progress).where(job_progress.c.job_id == job_id).values(**values))
    return HeartbeatReply(cancel_requested=row.at is not None)


def finish(connection: Connection, *, claimed: Claim, ending: AttemptOutcome) -> datetime:
    """End the job, and state when; everything else of the ending is written after this in the same transaction.

    A job whose cancellation was requested does not succeed any more: nothing is published after a cancel.

    Raises
    ------
    FencedError
        When the attempt has lost the job, or may not succeed any more; `look` reveals which.
    """
    mine = _mine(claimed.id, claimed.attempt)
    if ending.state is JobState.SUCCEEDED:
        mine &= job.c.cancel_requested_at.is_(None)
    statement = (
        update(job)
        .where(mine)
        .values(
            state=ending.state,
            finished_at=func.clock_timestamp(),
            result=None if ending.result is None else dict(ending.result),
            result_shown=None if ending.result is None else dict(ending.result),
            warnings=[warning.model_dump(mode="json") for warning in ending.warnings],
            findings=[finding.model_dump(mode="json") for finding in ending.findings],
            release_id=ending.release_id,
            result_bytes=ending.result_bytes,
            error=None if ending.error is None else dict(ending.error),
        )
        .returning(job.c.finished_at)
    )
    row = connection.execute(statement).first()
    if row is None:
        raise FencedError(f"attempt {claimed.attempt} of job {claimed.id} has lost it")
    record_end(connection, job_id=claimed.id, attempt=claimed.attempt, ending=ending)
    if claimed.kind == INGEST and ending.state is not JobState.SUCCEEDED:
        fail_ingest(connection, job_id=claimed.id, problem=ending.error or CANCELLED_INGEST)
    finished_at: datetime = row.finished_at
    return finished_at


def record_end(connection: Connection, *, job_id: str, attempt: int, ending: AttemptOutcome) -> None:
    """What follows the job's own row when it ends: attempt, progress, event, no checkpoint any more, notification."""
    end_attempt(connection, job_id=job_id, attempt=attempt, outcome=ending.outcome)
    values: dict[str, Any] = {"version": change.next_value(), "stage": ending.state.value}
    if ending.state is JobState.SUCCEEDED:
        values["fraction"] = 1.0
    connection.execute(update(job_progress).where(job_progress.c.job_id == job_id).values(**values))
    connection.execute(delete(job_checkpoint).where(job_checkpoint.c.job_id == job_id))
    record_event(connection, job_id=job_id, state=ending.state, attempt=attempt, reason=ending.outcome)
    notify(connection, job_id=job_id)


def end_attempt(connection: Connection, *, job_id: str, attempt: int, outcome: str) -> None:
    """Note how an attempt ended."""
    connection.execute(
        update(job_attempt)
        .where(job_attempt.c.job_id == job_id, job_attempt.c.attempt == attempt)
        .values(ended_at=func.clock_timestamp(), outcome=outcome)
    )


def attempts(connection: Connection, *, job_id: str) -> list[dict[str, Any]]:
    """All attempts of a job, in order."""
    columns = (job_attempt.c.attempt, job_attempt.c.worker, job_attempt.c.started_at, job_attempt.c.ended_at)
    statement = select(*columns, job_attempt.c.outcome).where(job_attempt.c.job_id == job_id)
    return [dict(row) for row in connection.execute(statement.order_by(job_attempt.c.attempt)).mappings()]


def insert_result(connection: Connection, *, job_id: str, result: StoredResult) -> None:
    """The whole result of a job that succeeds."""
    connection.execute(
        insert(job_result).values(
            job_id=job_id, body=result.body, key=result.key, bytes=result.bytes, sha256=result.sha256
        )
    )


def release_claim(connection: Connection, *, job_id: str, attempt: int) -> None:
    """Queue the job again without spending an attempt: its worker is stopping.

    Raises
    ------
    FencedError
        When the attempt has lost the job.
    """
    _give_back(connection, job_id=job_id, attempt=attempt, outcome="given back", stage="queued", pause=0.0)


def hold(connection: Connection, *, job_id: str, attempt: int, why: str, patience: float) -> bool:
    """Queue the job again without spending an attempt, for a while later: storage that it needs cannot be used.

    Parameters
    ----------
    connection
        Of the transaction that ends the attempt.
    job_id, attempt
        Whose.
    why
        The faults of the storage, in a few words; the job's stage states it.
    patience
        Seconds that a job waits for storage in all.

    Returns
    -------
    Whether the job waits; False when its patience is over, with nothing written.

    Raises
    ------
    FencedError
        When the attempt has lost the job.
    """
    held = connection.execute(select(job.c.held_seconds).where(_mine(job_id, attempt))).scalar_one_or_none()
    if held is None:
        raise FencedError(f"attempt {attempt} of job {job_id} has lost it")
    if held >= patience:
        return False
    pause = min(max(_SHORTEST_HOLD, held / 2), _LONGEST_HOLD)
    _give_back(connection, job_id=job_id, attempt=attempt, outcome="held", stage=f"waiting: {why}", pause=pause)
    return True


def move(connection: Connection, *, job_id: str, attempt: int, queue: str, seconds: float) -> None:
    """Queue the job again, without spending an attempt, as one that takes longer than was expected.

    Parameters
    ----------
    connection
        Of the transaction that ends the attempt.
    job_id, attempt
        Whose.
    queue
        Whose processes run it from now on.
    seconds
        Of CPU, that it is expected to take at least.

    Raises
    ------
    FencedError
        When the attempt has lost the job.
    """
    expected = {"queue": queue, "estimated_seconds": func.greatest(job.c.estimated_seconds, seconds)}
    connection.execute(update(job).where(_mine(job_id, attempt)).values(**expected))
    _give_back(connection, job_id=job_id, attempt=attempt, outcome="moved", stage="queued", pause=0.0)


def _give_back(connection: Connection, *, job_id: str, attempt: int, outcome: str, stage: str, pause: float) -> None:
    statement = (
        update(job)
        .where(_mine(job_id, attempt))
        .values(
            state=JobState.QUEUED,
            given_back=job.c.given_back + 1,
            queued_at=func.clock_timestamp(),
            enqueued_at=func.clock_timestamp(),
            not_before=func.clock_timestamp() + timedelta(seconds=pause) if pause else None,
            held_seconds=job.c.held_seconds + pause,
        )
        .returning(job.c.id)
    )
    if connection.execute(statement).first() is None:
        raise FencedError(f"attempt {attempt} of job {job_id} has lost it")
    end_attempt(connection, job_id=job_id, attempt=attempt, outcome=outcome)
    connection.execute(
        update(job_progress).where(job_progress.c.job_id == job_id).values(stage=stage, version=change.next_value())
    )
    record_event(connection, job_id=job_id, state=JobState.QUEUED, attempt=attempt, reason=outcome)
    notify(connection, job_id=job_id)
