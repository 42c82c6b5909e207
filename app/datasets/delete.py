"""Deleting datasets, and removing the bytes that no dataset needs any more."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from app.contracts.log import LogAction
from app.db.repositories import audit, datasets, families
from app.db.repositories.datasets import Leftover
from app.db.repositories.inputs import users_of_dataset
from app.db.session import Database, UnitOfWork
from app.errors import DatasetInUseError, NotFoundError
from app.jobs.erase import remove_links
from app.storage.protocol import TRASH, Storage

_NAMED_JOBS: Final = 3
_BATCH: Final = 100


def delete_dataset(
    *, database: Database, storage: Storage, owner: str, dataset_id: str, now: datetime, key_id: str | None = None
) -> None:
    """Delete the owner's dataset; its bytes are gone when this returns, its releases remain.

    Raises
    ------
    NotFoundError
        If there is no such dataset.
    DatasetInUseError
        If an unfinished job uses it.
    """
    with database.unit_of_work() as unit:
        families.lock_recognising(unit.connection, owner=owner)
        if not datasets.lock(unit.connection, owner=owner, dataset_id=dataset_id):
            raise NotFoundError("there is no dataset with this id")
        _refuse_in_use(users_of_dataset(unit.connection, dataset_id=dataset_id, limit=_NAMED_JOBS))
        datasets.mark_deleted(unit.connection, dataset_id=dataset_id, now=now)
        families.forget_if_unpublished(unit.connection, dataset_id=dataset_id)
        audit.record(unit.connection, owner=owner, action=LogAction.DELETED, subject=dataset_id, key_id=key_id)
    remove_leftovers(database=database, storage=storage, dataset_id=dataset_id)
    remove_links(database=database, storage=storage, dataset_id=dataset_id)


def withdraw(
    *,
    database: Database,
    storage: Storage,
    owner: str,
    dataset_id: str,
    now: datetime,
    forget: Callable[[UnitOfWork], None] | None = None,
) -> None:
    """Take back a dataset that could not be read while its uploader waits: who learns it finds nothing of it.

    Parameters
    ----------
    database, storage
        Where it is, and where its bytes are.
    owner, dataset_id
        Which one.
    now
        The time.
    forget
        Called in the same transaction: the Idempotency-Key may be used again.
    """
    with database.unit_of_work() as unit:
        if datasets.lock(unit.connection, owner=owner, dataset_id=dataset_id):
            datasets.mark_deleted(unit.connection, dataset_id=dataset_id, now=now)
        if forget is not None:
            forget(unit)
    remove_leftovers(database=database, storage=storage, dataset_id=dataset_id)


def remove_leftovers(*, database: Database, storage: Storage, dataset_id: str | None = None) -> int:
    """Remove uploads that have been read (or could not be) and the bytes of deleted datasets.

    Housekeeping calls this for all datasets: it ends what a crash has interrupted.

    Returns
    -------
    int
        Datasets of which something was removed.
    """
    with database.read() as connection:
        leftovers = datasets.leftovers(connection, limit=_BATCH, dataset_id=dataset_id)
    for leftover in leftovers:
        for key in _keys(storage, leftover):
            storage.delete(key)
        with database.unit_of_work() as unit:
            datasets.forget_bytes(unit.connection, removed=leftover)
    return len(leftovers)


def _keys(storage: Storage, leftover: Leftover) -> Iterator[str]:
    if leftover.staged_key is not None:
        yield leftover.staged_key
    if leftover.deleted:
        # an attempt that had lost its job may have stored a copy of its own
        for prefix in (f"datasets/{leftover.dataset_id}/", f"{TRASH}datasets/{leftover.dataset_id}/"):
            yield from [stored.key for stored in storage.list(prefix)]


def _refuse_in_use(jobs: list[tuple[str, bool]]) -> None:
    if not jobs:
        return
    listed = [job_id for job_id, shown in jobs if shown]
    if not listed:
        raise DatasetInUseError("the upload is still being read; delete it once that has ended", retry_after=2)
    raise DatasetInUseError(
        f"unfinished jobs use this dataset ({', '.join(listed)}): cancel them or wait until they have ended"
    )
