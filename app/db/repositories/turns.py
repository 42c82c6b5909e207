"""Turns of jobs: the id that a worker gets from the broker is a ticket for its queue, and Postgres picks the job.

Owners take turns, so that a hundred jobs of one never are before the first of another. Of an owner the oldest job
comes first; questions to releases come before uploads, which take longer. Long jobs leave one process of their queue to
others: a short job waits for short ones, never for long ones. Of the interactive queue half of the processes at most
work for one owner, so that a question never waits for all that another owner has asked.
"""

from collections.abc import Collection
from datetime import timedelta
from math import inf
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Connection, case, func, literal, select, true, tuple_
from sqlalchemy.dialects.postgresql import insert

from app.contracts.jobs import JobState, Queue
from app.db.repositories import workers
from app.db.repositories.claims import QueuedJob
from app.db.repositories.ingests import INGEST
from app.db.tables.jobs import is_queued, job, queue_turn

#: Processes of a queue from which one is left to short jobs.
_SEVERAL: Final = 2

_whole = job.alias("whole")
#: CPU seconds that a job was expected to take; of a part its share of the whole's.
_expected = func.coalesce(job.c.estimated_seconds, _whole.c.estimated_seconds / func.greatest(_whole.c.parts, 1), 0.0)
#: Bytes that it was expected to take; a part takes no more than its whole.
_expected_bytes = func.coalesce(job.c.estimated_bytes, _whole.c.estimated_bytes, 0)


class Chosen(NamedTuple):
    """A job that is next, whose turn it is, and the CPU seconds and bytes that it is expected to take."""

    id: str
    owner: str
    seconds: float
    bytes: float


class Lane(NamedTuple):
    """The limits by which a process is kept free for short jobs.

    Attributes
    ----------
    long_seconds
        Jobs that are expected to take more CPU seconds, or have run for longer, are long.
    seen_seconds
        Workers seen within this time count.
    long_bytes
        Jobs that are expected to take more memory are long too.
    """

    long_seconds: float
    seen_seconds: float
    long_bytes: float = inf

    def is_long(self, seconds: float, size: float) -> bool:
        """Return whether a job that is expected to take so much is long."""
        return seconds > self.long_seconds or size > self.long_bytes

    @property
    def long(self) -> ColumnElement[bool]:
        """The condition that a job is expected to be long."""
        return (_expected > self.long_seconds) | (_expected_bytes > self.long_bytes)


def next_job(
    connection: Connection,
    *,
    ticket: str,
    known: Collection[tuple[str, int]],
    lane: Lane | None = None,
    queues: Collection[str] = (),
) -> str | None:
    """Lock the job that is next in the queue of a ticket, and note its owner's turn.

    Parameters
    ----------
    connection
        Of the transaction that claims the job.
    ticket
        Id of any job of the queue, as the broker handed it out; whether it still waits does not matter.
    known
        (method, version of its specification) pairs that this worker can run.
    lane
        Where there is more than one process of the queue, long jobs have all but one of them; None: they may have all.
    queues
        Those of this worker, by default any: a job that was moved leaves a ticket in the queue that it was in.

    Returns
    -------
    The id of a queued job of the owner with the fewest running jobs of this queue, then of the one whose last turn is
    longest ago; None when nothing waits that this worker may claim.
    """
    queue = connection.execute(select(job.c.queue).where(job.c.id == ticket)).scalar_one_or_none()
    if queue is None:
        return None
    queue = queue if not queues or queue in queues else min(queues)
    row = _in_turn(connection, queue=queue, known=known, lane=lane)
    if row is not None and lane is not None and lane.is_long(row.seconds, row.bytes) and _full(connection, queue, lane):
        row = _in_turn(connection, queue=queue, known=known, lane=lane, short=True)
    if row is None:
        return None
    turn = insert(queue_turn).values(queue=queue, owner=row.owner)
    connection.execute(
        turn.on_conflict_do_update(index_elements=["queue", "owner"], set_={"claimed_at": func.clock_timestamp()})
    )
    return row.id


def waiting(
    connection: Connection, *, queue: str, long: Lane | None = None, owner: str | None = None
) -> QueuedJob | None:
    """The oldest queued job of a queue, of long jobs or of an owner alone where these are given."""
    statement = (
        select(job.c.id, job.c.method)
        .outerjoin(_whole, _whole.c.id == job.c.parent_id)
        .where(is_queued, job.c.queue == queue)
        .where(true() if long is None else long.long)
        .where(true() if owner is None else job.c.owner == owner)
    )
    row = connection.execute(statement.order_by(job.c.queued_at, job.c.id).limit(1)).first()
    return None if row is None else QueuedJob(row.id, row.method, queue)


def crowded(connection: Connection, *, queue: str, owner: str, lane: Lane) -> bool:
    """Return whether long jobs have every process of a queue, while a short one of another owner waits."""
    many = workers.process_count(connection, queue=queue, within_seconds=lane.seen_seconds)
    if many < _SEVERAL or _long_running(connection, queue, lane) < many:
        return False
    others = (
        select(job.c.id)
        .select_from(job.outerjoin(_whole, _whole.c.id == job.c.parent_id))
        .where(is_queued, job.c.queue == queue, job.c.owner != owner, ~lane.long)
    )
    return connection.execute(others.limit(1)).first() is not None


def _in_turn(
    connection: Connection, *, queue: str, known: Collection[tuple[str, int]], lane: Lane | None, short: bool = False
) -> Chosen | None:
    """The job that is next, of an owner for whom no more processes of the interactive queue work than may."""
    short_of = lane if short else None
    if lane is None or queue != Queue.INTERACTIVE:
        return chosen(connection, queue=queue, known=known, short_of=short_of)
    share = max(1, workers.process_count(connection, queue=queue, within_seconds=lane.seen_seconds) // 2)
    passed_over: list[str] = []
    while True:
        row = chosen(connection, queue=queue, known=known, short_of=short_of, apart_from=passed_over, share=share)
        if row is None or _may_begin(connection, queue=queue, owner=row.owner, share=share):
            return row
        passed_over.append(row.owner)


def _may_begin(connection: Connection, *, queue: str, owner: str, share: int) -> bool:
    """Return whether an owner may have one more running job; until this transaction ends no other process begins one.

    An owner for whom another process begins one right now is passed over, not waited for: a process that stands still
    holds up no other. What is passed over begins when a job of its owner ends (`waiting`).
    """
    lock = func.pg_try_advisory_xact_lock(func.hashtext(f"turn of {owner} in {queue}"))
    running = select(func.count()).where(job.c.state == JobState.RUNNING, job.c.queue == queue, job.c.owner == owner)
    return connection.execute(select(lock)).scalar_one() and connection.execute(running).scalar_one() < share


def _full(connection: Connection, queue: str, lane: Lane) -> bool:
    """Whether long jobs have all processes of a queue but one; until this transaction ends no other takes one."""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"long jobs of {queue}"))))
    many = workers.process_count(connection, queue=queue, within_seconds=lane.seen_seconds)
    return many >= _SEVERAL and _long_running(connection, queue, lane) >= many - 1


def _long_running(connection: Connection, queue: str, lane: Lane) -> int:
    """Count the long jobs of a queue that run: those that were expected to be, and those that have run for long."""
    since = func.clock_timestamp() - timedelta(seconds=lane.long_seconds)
    statement = (
        select(func.count())
        .select_from(job.outerjoin(_whole, _whole.c.id == job.c.parent_id))
        .where(job.c.state == JobState.RUNNING, job.c.queue == queue, func.coalesce(job.c.parts_left, 0) == 0)
        .where(lane.long | (job.c.started_at < since))
    )
    return connection.execute(statement).scalar_one()


def chosen(
    connection: Connection,
    *,
    queue: str,
    known: Collection[tuple[str, int]],
    short_of: Lane | None = None,
    apart_from: Collection[str] = (),
    share: int | None = None,
) -> Chosen | None:
    """Lock the queued job that is next, passing over those that others are about to claim.

    Parameters
    ----------
    connection
        Of the transaction that claims the job.
    queue, known
        Of which queue, and what this worker can run.
    short_of
        By which it may not be long; None: it may.
    apart_from
        Owners of whom it may not be.
    share
        As many running jobs of the queue as its owner may not have yet; None: any number.
    """
    running = (
        select(job.c.owner, func.count().label("jobs"))
        .where(job.c.state == JobState.RUNNING, job.c.queue == queue)
        .group_by(job.c.owner)
        .subquery("running")
    )
    statement = (
        select(job.c.id, job.c.owner, _expected.label("seconds"), _expected_bytes.label("bytes"))
        .outerjoin(_whole, _whole.c.id == job.c.parent_id)
        .outerjoin(running, running.c.owner == job.c.owner)
        .outerjoin(queue_turn, (queue_turn.c.queue == job.c.queue) & (queue_turn.c.owner == job.c.owner))
        .where(is_queued, job.c.queue == queue, job.c.cancel_requested_at.is_(None))
        .where(func.coalesce(job.c.not_before, job.c.queued_at) <= func.clock_timestamp())
        .where(job.c.parent_id.is_(None) | (_whole.c.id.is_not(None) & _whole.c.finished_at.is_(None)))
        .where(true() if short_of is None else ~short_of.long)
        .where(job.c.owner.not_in(sorted(apart_from)))
        .where(true() if share is None else func.coalesce(running.c.jobs, 0) < share)
        .where(tuple_(job.c.method, job.c.spec_version).in_(sorted(known)))
        .order_by(
            case((job.c.kind == INGEST, literal(1)), else_=literal(0)),
            func.coalesce(running.c.jobs, 0),
            queue_turn.c.claimed_at.nulls_first(),
            job.c.queued_at,
            job.c.id,
        )
        .limit(1)
        .with_for_update(of=job, skip_locked=True)
    )
    row = connection.execute(statement).first()
    return None if row is None else Chosen(*row)
