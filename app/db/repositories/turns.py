"""Whose job is next: the id that a worker gets from the broker is a ticket for its queue, and Postgres says for what.

Owners take turns, so that a hundred jobs of one never stand before the first of another. Of an owner the oldest job
comes first; questions to releases come before uploads, which take longer.
"""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, case, func, literal, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from app.contracts.jobs import JobState
from app.db.models.job import job
from app.db.models.queue_turn import queue_turn
from app.db.repositories.ingests import INGEST

_whole = job.alias("whole")


class Chosen(NamedTuple):
    """A job that is next, and whose turn it is."""

    id: str
    owner: str


def next_job(connection: Connection, *, ticket: str, known: Collection[tuple[str, int]]) -> str | None:
    """Lock the job that is next in the queue of a ticket, and note its owner's turn.

    Parameters
    ----------
    connection
        Of the transaction that claims the job.
    ticket
        Id of any job of the queue, as the broker handed it out; whether it still waits does not matter.
    known
        (method, version of its specification) pairs that this worker can run.

    Returns
    -------
    The id of a queued job of the owner with the fewest running jobs of this queue, then of the one whose last turn is
    longest ago; None when nothing waits that this worker may claim.
    """
    queue = connection.execute(select(job.c.queue).where(job.c.id == ticket)).scalar_one_or_none()
    row = None if queue is None else chosen(connection, queue=queue, known=known)
    if row is None:
        return None
    turn = insert(queue_turn).values(queue=queue, owner=row.owner)
    connection.execute(
        turn.on_conflict_do_update(index_elements=["queue", "owner"], set_={"claimed_at": func.clock_timestamp()})
    )
    return row.id


def chosen(connection: Connection, *, queue: str, known: Collection[tuple[str, int]]) -> Chosen | None:
    """Lock the queued job that is next, passing over those that others are about to claim."""
    running = (
        select(job.c.owner, func.count().label("jobs"))
        .where(job.c.state == JobState.RUNNING, job.c.queue == queue)
        .group_by(job.c.owner)
        .subquery("running")
    )
    whole_goes_on = select(_whole.c.id).where(_whole.c.id == job.c.parent_id, _whole.c.finished_at.is_(None)).exists()
    statement = (
        select(job.c.id, job.c.owner)
        .outerjoin(running, running.c.owner == job.c.owner)
        .outerjoin(queue_turn, (queue_turn.c.queue == job.c.queue) & (queue_turn.c.owner == job.c.owner))
        .where(job.c.state == JobState.QUEUED, job.c.queue == queue, job.c.cancel_requested_at.is_(None))
        .where(func.coalesce(job.c.not_before, job.c.queued_at) <= func.clock_timestamp())
        .where(job.c.parent_id.is_(None) | whole_goes_on)
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
    return None if row is None else Chosen(row.id, row.owner)
