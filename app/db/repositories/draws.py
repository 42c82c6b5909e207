"""Draws from the same data that were published. Every publication counts: deleting takes nothing back."""

from sqlalchemy import Connection, func, select

from app.contracts.inputs import DatasetInput
from app.db.repositories import families
from app.db.tables.datasets import dataset
from app.db.tables.releases import release

_PUBLISHING_LOCK = 7_305_003


def count_published(connection: Connection, *, owner: str, method: str, made_from: DatasetInput) -> int:
    """How many releases this method has ever made of data with the checksum of these, deleted ones among them.

    The bytes count, not the dataset's id: deleting a dataset and uploading it again does not make its releases
    forgotten. Drafts, and jobs that are queued, have failed or were cancelled, reported no one anything. Of data that
    no keeper has confirmed nothing was published: whoever uploaded a guess learns from no number whether it is right.
    """
    if not families.is_confirmed(connection, dataset_id=made_from.id):
        return 0
    statement = (
        select(func.count())
        .select_from(release)
        .join(dataset, dataset.c.id == release.c.dataset_id)
        .where(release.c.owner == owner, release.c.method == method)
        .where(dataset.c.owner == owner, dataset.c.sha256 == made_from.sha256, release.c.published_at.is_not(None))
    )
    return connection.execute(statement).scalar_one()


def lock_publishing(connection: Connection, *, owner: str, sha256: str) -> None:
    """Let one job at a time publish of these data until its transaction ends, so that the number stays what it is."""
    connection.execute(select(func.pg_advisory_xact_lock(_PUBLISHING_LOCK, func.hashtext(owner + sha256))))
