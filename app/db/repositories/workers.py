"""Worker processes: seen every few seconds, forgotten at a clean stop or by age."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.jobs import worker


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker process as it last reported itself."""

    id: str
    queue: str
    host: str
    pid: int
    rss_bytes: int
    concurrency: int
    knows: Sequence[Sequence[str | int]] | None
    memory_bytes: int | None
    scratch_bytes: int | None
    started_at: datetime
    seen_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What a worker process states about itself."""

    id: str
    queue: str
    host: str
    pid: int
    rss_bytes: int
    concurrency: int
    #: (method, version of its specification) that it claims; None for anything.
    knows: Sequence[tuple[str, int]] | None = None
    #: That each of its jobs may take; None where there is no limit.
    memory_bytes: int | None = None
    #: Of temporary files that each of its jobs has room for; None where that is not known.
    scratch_bytes: int | None = None


def seen(connection: Connection, *, sighting: Sighting) -> None:
    """Note that a worker process is alive."""
    statement = insert(worker).values(**asdict(sighting))
    connection.execute(
        statement.on_conflict_do_update(
            index_elements=[worker.c.id],
            set_={
                "queue": sighting.queue,
                "rss_bytes": sighting.rss_bytes,
                "knows": statement.excluded.knows,
                "memory_bytes": sighting.memory_bytes,
                "scratch_bytes": sighting.scratch_bytes,
                "seen_at": func.clock_timestamp(),
            },
        )
    )


def recent(connection: Connection, *, within_seconds: float) -> list[WorkerSeen]:
    """The worker processes seen lately, by the database's clock."""
    since = func.clock_timestamp() - timedelta(seconds=within_seconds)
    rows = connection.execute(select(worker).where(worker.c.seen_at >= since).order_by(worker.c.queue, worker.c.id))
    return [WorkerSeen(**row) for row in rows.mappings()]


def process_count(connection: Connection, *, queue: str, within_seconds: float) -> int:
    """How many jobs of a queue can run at a time on the worker processes seen lately."""
    workers = recent(connection, within_seconds=within_seconds)
    return sum(each.concurrency for each in workers if queue in each.queue.split(","))


@dataclass(frozen=True, slots=True)
class Space:
    """Bytes that a job of a queue may take on the largest worker seen lately; None: none is, or one has no limit."""

    memory: int | None
    scratch: int | None


def space(connection: Connection, *, queue: str, within_seconds: float) -> Space:
    """The space for one job of a queue.

    Parameters
    ----------
    connection
        Of a transaction.
    queue, within_seconds
        Of which queue, and how long ago a worker may have been seen last.
    """
    present = [each for each in recent(connection, within_seconds=within_seconds) if queue in each.queue.split(",")]
    return Space(_largest(each.memory_bytes for each in present), _largest(each.scratch_bytes for each in present))


def _largest(limits: Iterable[int | None]) -> int | None:
    known = list(limits)
    return max((one for one in known if one is not None), default=None) if None not in known else None


def strands(present: Iterable[WorkerSeen], *, queue: str, method: str, spec_version: int) -> bool:
    """Whether these worker processes leave such jobs alone, although some of them work on the queue."""
    on_queue = [each for each in present if queue in each.queue.split(",")]
    knowing = (each.knows is None or [method, spec_version] in each.knows for each in on_queue)
    return bool(on_queue) and not any(knowing)


def forget(connection: Connection, *, worker_id: str) -> None:
    """A worker process stops cleanly."""
    connection.execute(delete(worker).where(worker.c.id == worker_id))


def forget_silent(connection: Connection, *, older_than_seconds: float) -> int:
    """Remove rows of processes that died without saying so; returns how many."""
    before = func.clock_timestamp() - timedelta(seconds=older_than_seconds)
    return connection.execute(delete(worker).where(worker.c.seen_at < before)).rowcount
