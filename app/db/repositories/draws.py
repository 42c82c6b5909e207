"""Draws from the same data that were published. What was ever published counts: deleting takes nothing back."""

from sqlalchemy import Connection, func, select

from app.db.models.dataset import dataset
from app.db.models.release import release

_PUBLISHING_LOCK = 7_305_003


def count_published(connection: Connection, *, owner: str, method: str, sha256: str) -> int:
    """How many releases this method has ever made of data with this checksum, deleted ones among them.

    The bytes count, not the dataset's id: deleting a dataset and uploading it again does not make its releases
    forgotten. Drafts, and jobs that are queued, have failed or were cancelled, told nobody anything.
    """
    statement = (
        select(func.count())
        .select_from(release)
        .join(dataset, dataset.c.id == release.c.dataset_id)
        .where(release.c.owner == owner, release.c.method == method)
        .where(dataset.c.owner == owner, dataset.c.sha256 == sha256, release.c.published_at.is_not(None))
    )
    return connection.execute(statement).scalar_one()


def lock_publishing(connection: Connection, *, owner: str, sha256: str) -> None:
    """Let one job at a time publish of these data until its transaction ends, so that the number stays what it is."""
    connection.execute(select(func.pg_advisory_xact_lock(_PUBLISHING_LOCK, func.hashtext(owner + sha256))))
