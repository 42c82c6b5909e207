"""Whose job is next: the id that a worker gets from the broker is a ticket for its queue, and Postgres states for what.

Owners take turns, so that a hundred jobs of one never are before the first of another. Of an owner the oldest job
comes first; questions to releases come before uploads, which take longer. Long jobs leave one process of their queue to
others: a short job waits for short ones, never for long ones.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import Connection, case, func, literal, select, true, tuple_
from sqlalchemy.dialects.postgresql import insert

from app.contracts.jobs import JobState
from app.db.repositories import workers
from app.db.repositories.claims import QueuedJob
from app.db.repositories.ingests import INGEST
from app.db.tables.jobs import job, queue_turn

_whole = job.alias("whole")
#: CPU seconds that a job was expected to take; of a part its share of the whole's.
_expected = func.coalesce(job.c.estimated_seconds, _whole.c.estimated_seconds / func.greatest(_whole.c.parts, 1), 0.0)


class Chosen(NamedTuple):
    """A job that is next, whose turn it is, and the CPU seconds that it is expected to take."""

    id: str
    owner: str
    seconds: float


class Lane(NamedTuple):
    """What keeps a process free for short jobs.

    Attributes
    ----------
    long_seconds
        Jobs that are expected to take more CPU seconds, or have run for longer, are long.
    seen_seconds
        Workers seen within this time count.
    """

    long_seconds: float
    seen_seconds: float


def next_job(
    connection: Connection, *, ticket: str, known: Collection[tuple[str, int]], lane: Lane | None = None
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

    Returns
    -------
    The id of a queued job of the owner with the fewest running jobs of this queue, then of the one whose last turn is
    longest ago; None when nothing waits that this worker may claim.
    """
    queue = connection.execute(select(job.c.queue).where(job.c.id == ticket)).scalar_one_or_none()
    if queue is None:
        return None
    row = chosen(connection, queue=queue, known=known)
    if row is not None and lane is not None and row.seconds > lane.long_seconds and _full(connection, queue, lane):
        row = chosen(connection, queue=queue, known=known, at_most=lane.long_seconds)
    if row is None:
        return None
    turn = insert(queue_turn).values(queue=queue, owner=row.owner)
    connection.execute(
        turn.on_conflict_do_update(index_elements=["queue", "owner"], set_={"claimed_at": func.clock_timestamp()})
    )
    return row.id


def waiting(connection: Connection, *, queue: str, seconds: float) -> QueuedJob | None:
    """The oldest queued job of a queue that is expected to take more than so many CPU seconds."""
    statement = (
        select(job.c.id, job.c.method)
        .outerjoin(_whole, _whole.c.id == job.c.parent_id)
        .where(job.c.state == JobState.QUEUED, job.c.queue == queue, _expected > seconds)
    )
    row = connection.execute(statement.order_by(job.c.queued_at, job.c.id).limit(1)).first()
    return None if row is None else QueuedJob(row.id, row.method)


def _full(connection: Connection, queue: str, lane: Lane) -> bool:
    """Whether long jobs have all processes of a queue but one; until this transaction ends no other takes one."""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(f"long jobs of {queue}"))))
    since = func.clock_timestamp() - timedelta(seconds=lane.long_seconds)
    statement = (
        select(func.count())
        .select_from(job.outerjoin(_whole, _whole.c.id == job.c.parent_id))
        .where(job.c.state == JobState.RUNNING, job.c.queue == queue, func.coalesce(job.c.parts_left, 0) == 0)
        .where((_expected > lane.long_seconds) | (job.c.started_at < since))
    )
    many = workers.process_count(connection, queue=queue, within_seconds=lane.seen_seconds)
    return many > 1 and connection.execute(statement).scalar_one() >= many - 1


def chosen(
    connection: Connection, *, queue: str, known: Collection[tuple[str, int]], at_most: float | None = None
) -> Chosen | None:
    """Lock the queued job that is next, passing over those that others are about to claim.

    Parameters
    ----------
    connection
        Of the transaction that claims the job.
    queue, known
        Of which queue, and what this worker can run.
    at_most
        CPU seconds that it may be expected to take; None: any.
    """
    running = (
        select(job.c.owner, func.count().label("jobs"))
        .where(job.c.state == JobState.RUNNING, job.c.queue == queue)
        .group_by(job.c.owner)
        .subquery("running")
    )
    statement = (
        select(job.c.id, job.c.owner, _expected.label("seconds"))
        .outerjoin(_whole, _whole.c.id == job.c.parent_id)
        .outerjoin(running, running.c.owner == job.c.owner)
        .outerjoin(queue_turn, (queue_turn.c.queue == job.c.queue) & (queue_turn.c.owner == job.c.owner))
        .where(job.c.state == JobState.QUEUED, job.c.queue == queue, job.c.cancel_requested_at.is_(None))
        .where(func.coalesce(job.c.not_before, job.c.queued_at) <= func.clock_timestamp())
        .where(job.c.parent_id.is_(None) | (_whole.c.id.is_not(None) & _whole.c.finished_at.is_(None)))
        .where(true() if at_most is None else _expected <= at_most)
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
