"""Pointers to checkpoints: one per unfinished job, written under the same fence as everything of a worker."""

from sqlalchemy import Connection, func, insert, select, update

from app.contracts.jobs import JobState
from app.db.tables.jobs import job, job_checkpoint
from app.errors import FencedError


def point(connection: Connection, *, job_id: str, attempt: int, steps: int, key: str) -> str | None:
    """Point to a new checkpoint; the key of the one before it, which may be deleted once this is committed."""
    mine = (job.c.id == job_id) & (job.c.state == JobState.RUNNING) & (job.c.attempt == attempt)
    guard = select(job.c.id).where(mine).with_for_update(read=True)
    if connection.execute(guard).first() is None:
        raise FencedError(f"attempt {attempt} of job {job_id} has lost it")
    pointer = job_checkpoint.c.job_id == job_id
    former = connection.execute(select(job_checkpoint.c.key).where(pointer)).scalar_one_or_none()
    values = {"attempt": attempt, "steps": steps, "key": key, "taken_at": func.clock_timestamp()}
    if former is None:
        connection.execute(insert(job_checkpoint).values(job_id=job_id, **values))
    else:
        connection.execute(update(job_checkpoint).where(pointer).values(**values))
    return former


def last(connection: Connection, *, job_id: str) -> str | None:
    """The key of the checkpoint to go on from."""
    return connection.execute(
        select(job_checkpoint.c.key).where(job_checkpoint.c.job_id == job_id)
    ).scalar_one_or_none()
