"""Parts of a job: unlisted jobs of their own, with the one mechanism of claim, fence, heartbeat and checkpoint.

A job that is split keeps the state running, with no one at work on it, until its last part has ended; then it is queued
again and joins what its parts found. Locks are taken from the part to its whole and never the other way: ending a whole
touches none of its parts. They look after it themselves, as they look for a cancellation.
"""

from datetime import timedelta

from sqlalchemy import ColumnElement, Connection, delete, func, insert, literal, select, update

from app.contracts.base import new_id
from app.contracts.jobs import JobState
from app.db.repositories import jobs
from app.db.repositories.claims import AttemptOutcome, Claim, QueuedJob, end_attempt, record_end
from app.db.repositories.job_history import notify
from app.db.repositories.job_results import StoredResult, get_result
from app.db.tables.jobs import change, is_queued, job, job_input, job_progress
from app.errors import FencedError

#: Parts are kept so long after the end of their whole: a look at what went wrong finds them.
KEPT = timedelta(hours=1)


def split(connection: Connection, *, claimed: Claim, parts: int) -> list[QueuedJob]:
    """Put queued parts in the place of the attempt; it counts as given back.

    Raises
    ------
    FencedError
        When the attempt has lost the job, or its cancellation was requested.
    """
    mine = (job.c.id == claimed.id) & (job.c.state == JobState.RUNNING) & (job.c.attempt == claimed.attempt)
    statement = (
        update(job)
        .where(mine, job.c.cancel_requested_at.is_(None))
        .values(parts=parts, parts_left=parts, given_back=job.c.given_back + 1)
        .returning(job.c.id)
    )
    if connection.execute(statement).first() is None:
        raise FencedError(f"attempt {claimed.attempt} of job {claimed.id} has lost it")
    end_attempt(connection, job_id=claimed.id, attempt=claimed.attempt, outcome="split")
    _tell(connection, job_id=claimed.id, stage="parts")
    made = [_insert(connection, whole=claimed, part=part, parts=parts) for part in range(parts)]
    return [QueuedJob(part_id, claimed.method, claimed.queue) for part_id in made]


def settle(connection: Connection, *, parent_id: str, ending: AttemptOutcome) -> QueuedJob | None:
    """Report to the whole how a part has ended, in the part's transaction; the whole when it is to be sent.

    The last part queues it. One that fails or is cancelled ends it the same way.
    """
    waits = (job.c.id == parent_id) & (job.c.state == JobState.RUNNING) & (job.c.parts_left > 0)
    if ending.state is not JobState.SUCCEEDED:
        _end(connection, parent_id=parent_id, waits=waits, ending=ending)
        return None
    fewer = update(job).where(waits).values(parts_left=job.c.parts_left - 1)
    row = connection.execute(fewer.returning(job.c.parts_left, job.c.method, job.c.queue, job.c.attempt)).first()
    if row is None or row.parts_left:
        return None
    now = func.clock_timestamp()
    queued = {"state": JobState.QUEUED, "queued_at": now, "enqueued_at": now}
    connection.execute(update(job).where(job.c.id == parent_id).values(**queued))
    _tell(connection, job_id=parent_id, stage="queued")
    jobs.record_event(connection, job_id=parent_id, state=JobState.QUEUED, attempt=row.attempt, reason="parts done")
    notify(connection, job_id=parent_id)
    return QueuedJob(parent_id, row.method, row.queue)


def report(connection: Connection, *, parent_id: str) -> None:
    """Let the whole's progress be the mean of its parts'; a part that has just moved calls this."""
    mean = (
        select(func.avg(job_progress.c.fraction))
        .join(job, job.c.id == job_progress.c.job_id)
        .where(job.c.parent_id == parent_id)
        .scalar_subquery()
    )
    _tell(connection, job_id=parent_id, fraction=mean)
    notify(connection, job_id=parent_id)


def results(connection: Connection, *, parent_id: str) -> list[StoredResult]:
    """The results of the parts, in their order."""
    ids = connection.execute(select(job.c.id).where(job.c.parent_id == parent_id).order_by(job.c.part)).scalars()
    stored = [get_result(connection, job_id=part_id) for part_id in ids]
    return [result for result in stored if result is not None]


def end_orphans(connection: Connection) -> int:
    """Cancel queued parts of wholes that have ended; how many. Running ones see it for themselves."""
    whole = job.alias("whole")
    ended = select(whole.c.id).where(whole.c.finished_at.is_not(None))
    orphans = (
        update(job)
        .where(is_queued, job.c.parent_id.in_(ended))
        .values(state=JobState.CANCELLED, finished_at=func.clock_timestamp())
        .returning(job.c.id, job.c.attempt)
    )
    rows = connection.execute(orphans).all()
    for row in rows:
        jobs.record_event(connection, job_id=row.id, state=JobState.CANCELLED, attempt=row.attempt, reason="orphaned")
    return len(rows)


def remove_old(connection: Connection) -> int:
    """Remove the parts of wholes that ended a while ago; how many."""
    whole = job.alias("whole")
    old = select(whole.c.id).where(whole.c.finished_at < func.clock_timestamp() - KEPT)
    due = delete(job).where(job.c.parent_id.in_(old), job.c.finished_at.is_not(None))
    return connection.execute(due).rowcount


def _insert(connection: Connection, *, whole: Claim, part: int, parts: int) -> str:
    part_id = new_id("job")
    jobs.insert_job(
        connection,
        new=jobs.NewJob(
            id=part_id,
            owner=whole.owner,
            kind=whole.kind,
            method=whole.method,
            spec_version=whole.spec_version,
            queue=whole.queue,
            listed=False,
            tags={},
            spec=whole.spec,
            seed=whole.seed,
            draw=whole.draw,
            requested_by=whole.requested_by,
        ),
    )
    belongs = {"parent_id": whole.id, "part": part, "parts": parts}
    connection.execute(update(job).where(job.c.id == part_id).values(**belongs))
    names = ("role", "position", "dataset_id", "release_id", "source_job_id")
    same = select(literal(part_id), *(job_input.c[name] for name in names)).where(job_input.c.job_id == whole.id)
    connection.execute(insert(job_input).from_select(["job_id", *names], same))
    return part_id


def _end(connection: Connection, *, parent_id: str, waits: ColumnElement[bool], ending: AttemptOutcome) -> None:
    values = {
        "state": ending.state,
        "finished_at": func.clock_timestamp(),
        "error": None if ending.error is None else dict(ending.error),
    }
    row = connection.execute(update(job).where(waits).values(**values).returning(job.c.attempt)).first()
    if row is not None:
        record_end(connection, job_id=parent_id, attempt=row.attempt, ending=ending)


def _tell(connection: Connection, *, job_id: str, **values: object) -> None:
    statement = update(job_progress).where(job_progress.c.job_id == job_id)
    connection.execute(statement.values(version=change.next_value(), **values))
