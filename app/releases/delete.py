"""Deleting releases, and removing the bytes of deleted ones."""

from datetime import datetime
from typing import Final

from app.db.repositories import releases
from app.db.session import Database
from app.errors import NotFoundError
from app.storage.protocol import Storage

_BATCH: Final = 100


def delete_release(*, database: Database, storage: Storage, owner: str, release_id: str, now: datetime) -> None:
    """Delete the owner's release; its bytes are gone when this returns.

    Raises
    ------
    NotFoundError
        If there is no such release.
    """
    with database.unit_of_work() as unit:
        known = "\x00" not in release_id
        if not known or not releases.mark_deleted(unit.connection, owner=owner, release_id=release_id, now=now):
            raise NotFoundError("there is no release with this id")
    remove_leftovers(database=database, storage=storage, release_id=release_id)


def remove_leftovers(*, database: Database, storage: Storage, release_id: str | None = None) -> int:
    """Remove the files of deleted releases; housekeeping calls this for all, to end what a crash has interrupted.

    Returns
    -------
    int
        Files removed.
    """
    with database.read() as connection:
        keys = releases.files_of_deleted(connection, limit=_BATCH, release_id=release_id)
    for key in keys:
        storage.delete(key)
    if keys:
        with database.unit_of_work() as unit:
            releases.forget_files(unit.connection, keys=keys)
    return len(keys)
