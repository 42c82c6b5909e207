"""Pointers to links: which record each row of a release represents. They go with release, job or original."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, insert, select, union_all

from app.contracts.datasets import DatasetState
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job
from app.db.tables.releases import release, release_link


def insert_link(connection: Connection, *, release_id: str, dataset_id: str, key: str, size: int) -> None:
    """Point to the stored link of a release, in the transaction that publishes it."""
    connection.execute(insert(release_link).values(release_id=release_id, dataset_id=dataset_id, key=key, bytes=size))


def due(
    connection: Connection, *, limit: int, release_id: str | None = None, dataset_id: str | None = None
) -> list[str]:
    """Storage keys of links whose release, job or original was deleted; of all, of one release, of one original."""
    links = select(release_link.c.release_id, release_link.c.dataset_id, release_link.c.key)
    made = links.join(release, release.c.id == release_link.c.release_id)
    gone = union_all(  # each by the index of deleted rows: these are few, links are many
        made.where(release.c.deleted_at.is_not(None)),
        made.join(job, job.c.id == release.c.job_id).where(job.c.erased_at.is_not(None)),
        links.join(dataset, dataset.c.id == release_link.c.dataset_id).where(dataset.c.state == DatasetState.DELETED),
    ).subquery()
    statement = select(gone.c.key).distinct().limit(limit)
    if release_id is not None:
        statement = statement.where(gone.c.release_id == release_id)
    if dataset_id is not None:
        statement = statement.where(gone.c.dataset_id == dataset_id)
    return list(connection.execute(statement).scalars())


def forget(connection: Connection, *, keys: Sequence[str]) -> None:
    """The bytes under these keys are gone."""
    connection.execute(delete(release_link).where(release_link.c.key.in_(keys)))
