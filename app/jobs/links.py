"""Removing links: what says which record a released row stands for goes with the release, its job or its original."""

from typing import Final

from app.db.repositories import release_links
from app.db.session import Database
from app.storage.protocol import Storage

_BATCH: Final = 100


def remove_links(
    *, database: Database, storage: Storage, release_id: str | None = None, dataset_id: str | None = None
) -> int:
    """Remove the links of deleted releases, of releases of deleted originals, and of those whose job was deleted.

    Deleting one of them calls this for what hangs on it; housekeeping for all, to end what a crash interrupted.

    Returns
    -------
    int
        Links removed.
    """
    removed = 0
    while keys := _due(database, release_id=release_id, dataset_id=dataset_id):
        for key in keys:
            storage.delete(key)
        with database.unit_of_work() as unit:
            release_links.forget(unit.connection, keys=keys)
        removed += len(keys)
    return removed


def _due(database: Database, *, release_id: str | None, dataset_id: str | None) -> list[str]:
    with database.read() as connection:
        return release_links.due(connection, limit=_BATCH, release_id=release_id, dataset_id=dataset_id)
