"""Which jobs work on what: written when they are accepted, requested before anything is deleted."""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, insert, select

from app.contracts.ids import Named, Reference
from app.db.tables.jobs import job, job_input

_COLUMNS = {Named.DATASET: "dataset_id", Named.RELEASE: "release_id", Named.JOB: "source_job_id"}


def insert_inputs(connection: Connection, *, job_id: str, inputs: Iterable[Reference]) -> None:
    """Write what a job works on, in the transaction that accepts it."""
    none = dict.fromkeys(_COLUMNS.values())
    rows = [
        {"job_id": job_id, "role": one.role, "position": position, **none, _COLUMNS[one.kind]: one.id}
        for position, one in enumerate(inputs)
    ]
    if rows:
        connection.execute(insert(job_input), rows)


def users_of_dataset(connection: Connection, *, dataset_id: str, limit: int) -> list[tuple[str, bool]]:
    """Ids of jobs that still need the dataset, in whatever role, and whether each is listed."""
    return _users(connection, job_input.c.dataset_id == dataset_id, limit=limit)


def users_of_release(connection: Connection, *, release_id: str, limit: int) -> list[tuple[str, bool]]:
    """Ids of jobs that still need the release, in whatever role, and whether each is listed."""
    return _users(connection, job_input.c.release_id == release_id, limit=limit)


def users_of_job(connection: Connection, *, job_id: str, limit: int) -> list[tuple[str, bool]]:
    """Ids of jobs that still need the result of an earlier one, and whether each is listed."""
    return _users(connection, job_input.c.source_job_id == job_id, limit=limit)


def _users(connection: Connection, used: ColumnElement[bool], *, limit: int) -> list[tuple[str, bool]]:
    statement = (
        select(job.c.id, job.c.listed)
        .where(job.c.id.in_(select(job_input.c.job_id).where(used)), job.c.finished_at.is_(None))
        .order_by(job.c.created_at)
        .limit(limit)
    )
    return [(row.id, row.listed) for row in connection.execute(statement)]
