"""Numbers about all owners' jobs, for metrics only: counts and seconds, never a row.

Unfinished jobs are few (limited per owner) and have an index of their own; finished ones are requested by the span of
time in which they ended, so that a scrape never reads the whole history.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Double, and_, cast, func, select, text
from sqlalchemy.dialects.postgresql import ARRAY

from app.db.tables.jobs import job, job_progress


@dataclass(frozen=True, slots=True)
class Unfinished:
    """How many jobs are in an unfinished state."""

    method: str
    spec_version: int
    queue: str
    state: str
    jobs: int


@dataclass(frozen=True, slots=True)
class FinishedJobs:
    """Jobs that ended in a span of time; `bucket` is the number of bounds their seconds reach."""

    method: str
    state: str
    bucket: int
    jobs: int
    seconds: float


def unfinished(connection: Connection) -> list[Unfinished]:
    """Queued and running jobs by method, version of the specification and queue."""
    grouping = (job.c.method, job.c.spec_version, job.c.queue, job.c.state)
    rows = connection.execute(
        select(*grouping, func.count().label("jobs")).where(job.c.finished_at.is_(None)).group_by(*grouping)
    )
    return [Unfinished(**row) for row in rows.mappings()]


def finished(
    connection: Connection, *, after: datetime | None, until: datetime | None, bounds: Sequence[float]
) -> list[FinishedJobs]:
    """Jobs that ended in (after, until], by method, state and bucket of the seconds they ran."""
    span: list[ColumnElement[bool]] = [job.c.finished_at.is_not(None)]
    if after is not None:
        span.append(job.c.finished_at > after)
    if until is not None:
        span.append(job.c.finished_at <= until)
    started = func.coalesce(job.c.started_at, job.c.finished_at)
    seconds = cast(func.greatest(0.0, func.extract("epoch", job.c.finished_at - started)), Double)
    bucket = func.width_bucket(seconds, cast(list(bounds), ARRAY(Double)))
    statement = (
        select(
            job.c.method,
            job.c.state,
            bucket.label("bucket"),
            func.count().label("jobs"),
            func.sum(seconds).label("seconds"),
        )
        .where(and_(*span))
        .group_by(text("1, 2, 3"))
    )
    return [
        FinishedJobs(method=row.method, state=row.state, bucket=row.bucket, jobs=row.jobs, seconds=float(row.seconds))
        for row in connection.execute(statement)
    ]


def longest_silence(connection: Connection) -> float:
    """Seconds since the last heartbeat of the running job that has been silent for longest; 0 where none runs.

    The heartbeat of a frozen worker stops before the reaper can have its job, whose row it may hold.
    """
    heard = func.greatest(job_progress.c.beat_at, func.pg_postmaster_start_time())
    running = (job.c.state == "running", job.c.finished_at.is_(None), func.coalesce(job.c.parts_left, 0) == 0)
    age = func.extract("epoch", func.clock_timestamp() - func.min(heard))
    joined = select(func.coalesce(age, 0)).join(job_progress, job_progress.c.job_id == job.c.id).where(*running)
    return max(0.0, float(connection.execute(joined).scalar_one()))


def now(connection: Connection) -> datetime:
    """The database's clock: that by which jobs end."""
    instant: datetime = connection.execute(select(func.clock_timestamp())).scalar_one()
    return instant
