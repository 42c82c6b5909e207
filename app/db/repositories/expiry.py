"""What housekeeping removes: rows whose time has passed, and objects that no row points to."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Connection,
    String,
    any_,
    bindparam,
    delete,
    func,
    select,
    true,
    union_all,
)

from app.contracts.datasets import DatasetState
from app.db.tables.access import idempotency
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job, job_checkpoint, job_result
from app.db.tables.releases import ledger_file, publication_entry, release, release_file, release_link

_AT_ONCE = 1_000


def forget_keys(connection: Connection, *, older_than: timedelta) -> int:
    """Remove idempotency keys that are no longer remembered; how many."""
    due = idempotency.c.created_at < func.clock_timestamp() - older_than
    return connection.execute(delete(idempotency).where(due)).rowcount


def remove_expired_jobs(connection: Connection) -> int:
    """Remove finished unlisted jobs past their time, with all that hangs on them; how many."""
    due = (job.c.expires_at < func.clock_timestamp(), job.c.finished_at.is_not(None), job.c.listed.is_(False))
    return connection.execute(delete(job).where(*due, job.c.release_id.is_(None))).rowcount


def referenced(connection: Connection, *, keys: Sequence[str]) -> set[str]:
    """Those of the storage keys that some row points to."""
    return set(connection.execute(_REFERENCED, {"keys": list(keys)}).scalars())


def all_referenced(connection: Connection) -> Iterator[str]:
    """Every storage key that some row points to, but for checkpoints, which jobs do without."""
    named = union_all(
        *(
            select(column).where(column.is_not(None), condition)
            for column, condition in _sources()
            if column is not job_checkpoint.c.key
        )
    )
    yield from connection.execution_options(yield_per=_AT_ONCE).execute(named).scalars()


def _sources() -> tuple[tuple[ColumnElement[str], ColumnElement[bool]], ...]:
    """The columns that contain storage keys, and of which rows."""
    kept = dataset.c.state.in_([DatasetState.INGESTING, DatasetState.READY])
    return (
        (release_file.c.key, true()),
        (release_link.c.key, true()),
        (job_result.c.key, true()),
        (job_checkpoint.c.key, true()),
        (ledger_file.c.key, true()),
        (ledger_file.c.persons_key, true()),
        (publication_entry.c.key, true()),
        (dataset.c.data_key, kept),
        (dataset.c.staged_key, dataset.c.state == DatasetState.INGESTING),
    )


def of_deleted(connection: Connection, *, keys: Sequence[str]) -> set[str]:
    """Those of the keys that belong to a dataset, a release or a job of which a row states that it was deleted."""
    named = {prefix: _ids(keys, prefix) for prefix in ("datasets", "releases", "jobs")}
    ids = set(connection.execute(_DELETED, named).scalars())
    return {key for key in keys if key.split("/")[1] in ids}


def _ids(keys: Sequence[str], prefix: str) -> list[str]:
    return [key.split("/")[1] for key in keys if key.startswith(f"{prefix}/")]


def instant_before(connection: Connection, *, age: timedelta) -> datetime:
    """That long ago, by the database's clock."""
    instant: datetime = connection.execute(select(func.clock_timestamp() - age)).scalar_one()
    return instant


def _among(column: ColumnElement[str], name: str) -> ColumnElement[bool]:
    """Whether a column has one of the values of a parameter: one array, not a parameter a value and column."""
    return column == any_(bindparam(name, type_=ARRAY(String)))


_REFERENCED: Final = union_all(
    *(select(column).where(_among(column, "keys"), condition) for column, condition in _sources())
)
_DELETED: Final = union_all(
    select(dataset.c.id).where(_among(dataset.c.id, "datasets"), dataset.c.deleted_at.is_not(None)),
    select(release.c.id).where(_among(release.c.id, "releases"), release.c.deleted_at.is_not(None)),
    select(job.c.id).where(_among(job.c.id, "jobs"), job.c.erased_at.is_not(None)),
)
