"""The parts of ended things that are removed after a time; never what is counted or vouched for for ever.

Nothing goes that another row refers to: a published release keeps its row, its job's and its dataset's although all
three were deleted, for its place in the ledger and in the chain of certificates.
"""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, exists, func, select, tuple_

from app.contracts.jobs import JobState
from app.db.tables.all import metadata
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job, job_event
from app.db.tables.releases import ledger_file, publication, publication_entry, release


def remove_events(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Remove what led to the end of jobs that ended long ago; how they ended stays. How many rows."""
    before = func.clock_timestamp() - older_than
    passing = job_event.c.state.in_([JobState.QUEUED, JobState.RUNNING])
    due = (
        select(job_event.c.id)
        .join(job, job.c.id == job_event.c.job_id)
        .where(passing, job_event.c.at < before, job.c.finished_at < before)
        .order_by(job_event.c.at)
        .limit(limit)
    )
    return connection.execute(delete(job_event).where(job_event.c.id.in_(due))).rowcount


def ended_jobs(
    connection: Connection, *, older_than: timedelta, after: tuple[datetime, str] | None, limit: int
) -> list[tuple[datetime, str, str]]:
    """Listed jobs that ended long ago, the oldest first: when, which, whose; those after a place in that order."""
    statement = select(job.c.finished_at, job.c.id, job.c.owner).where(
        job.c.finished_at < func.clock_timestamp() - older_than, job.c.listed, job.c.erased_at.is_(None)
    )
    if after is not None:
        statement = statement.where(tuple_(job.c.finished_at, job.c.id) > after)
    rows = connection.execute(statement.order_by(job.c.finished_at, job.c.id).limit(limit))
    return [(row.finished_at, row.id, row.owner) for row in rows]


def remove_jobs(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Remove tombstones of jobs that nothing refers to; how many."""
    return _remove(connection, job, job.c.erased_at < func.clock_timestamp() - older_than, limit=limit)


def remove_releases(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Remove tombstones of releases that were never published and that nothing refers to; how many."""
    named = (ledger_file, publication, publication_entry)
    known = (~exists().where(table.c.release_id == release.c.id) for table in named)
    due = (release.c.deleted_at < func.clock_timestamp() - older_than) & release.c.published_at.is_(None)
    return _remove(connection, release, due, *known, limit=limit)


def remove_datasets(connection: Connection, *, older_than: timedelta, limit: int) -> int:
    """Remove tombstones of datasets without bytes or family that nothing refers to; how many."""
    due = dataset.c.deleted_at < func.clock_timestamp() - older_than
    empty = (column.is_(None) for column in (dataset.c.staged_key, dataset.c.data_key, dataset.c.family_id))
    return _remove(connection, dataset, due, *empty, limit=limit)


def _remove(connection: Connection, table: Table, *due: ColumnElement[bool], limit: int) -> int:
    ids = select(table.c.id).where(*due, *_unreferenced(table)).limit(limit).with_for_update(skip_locked=True)
    return connection.execute(delete(table).where(table.c.id.in_(list(connection.execute(ids).scalars())))).rowcount


def _unreferenced(table: Table) -> list[ColumnElement[bool]]:
    """No row refers to it that does not go with it."""
    conditions: list[Any] = []
    for other in metadata.sorted_tables:
        for key in other.foreign_keys:
            if key.column.table is table and key.ondelete is None:
                user = other.alias()
                conditions.append(~exists().where(user.c[key.parent.key] == table.c.id))
    return conditions
