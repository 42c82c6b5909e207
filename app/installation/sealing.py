"""Seal what storage has under the present key, while the service runs; or open all of it, while nothing does.

An object is read and written again under its name. What a row points to is rewritten, and removed once more where its
row went meanwhile: a deletion holds. Publications are rewritten by housekeeping, from their rows, as erasing has them
rewritten. The trash is left alone: its content is removed after some days.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from app.db import copying
from app.db.repositories import entries, expiry
from app.db.session import Database
from app.errors import CannotStartError
from app.installation.backup import PREFIXES
from app.installation.check import MARK
from app.releases.entries import PREFIX as PUBLICATIONS
from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.protocol import TRASH, Storage
from app.storage.sealed import Seal, SealedStorage

_MARKS: Final = f"{MARK.rpartition('/')[0]}/"
_AT_ONCE: Final = 500


def sealed_storage(settings: Settings) -> SealedStorage:
    """The storage of a service that seals.

    Raises
    ------
    CannotStartError
        It has no storage key.
    """
    storage = open_storage(settings)
    if not isinstance(storage, SealedStorage):
        raise CannotStartError("files are not sealed here: set SUREBOX_STORAGE_KEY, e.g. to `openssl rand -hex 32`")
    return storage


def census(storage: SealedStorage) -> Counter[Seal]:
    """How many objects storage has, by what they are sealed under."""
    return Counter(seal for _, seal in _seals(storage, (*PREFIXES, TRASH, _MARKS)))


def seal_all(*, database: Database, storage: SealedStorage) -> int:
    """Seal under the present key what is not; how many objects were rewritten here."""
    count = 0
    due = _due(storage, PREFIXES)
    while keys := list(islice(due, _AT_ONCE)):
        if any(key.startswith(PUBLICATIONS) for key in keys):
            with database.unit_of_work() as unit:
                entries.mark_all_stale(unit.connection)
        for key in (key for key in keys if not key.startswith(PUBLICATIONS)):
            count += _seal_one(database, storage, key)
    return count + sum(_rewrite(storage, key=key, to=storage) for key in _due(storage, (_MARKS,)))


def open_all(*, database: Database, storage: SealedStorage) -> int:
    """Write every object as it is, so that the service goes on without a storage key; how many.

    Raises
    ------
    CannotStartError
        A process of the service runs: it would go on sealing.
    """
    with database.unit_of_work() as unit:
        if copying.others_connected(unit.connection):
            raise CannotStartError("processes of the service are connected to the database: stop them first")
    due = [key for key, seal in _seals(storage, (*PREFIXES, TRASH, _MARKS)) if seal is not Seal.NONE]
    return sum(_rewrite(storage, key=key, to=storage.inner) for key in due)


def _seals(storage: SealedStorage, prefixes: tuple[str, ...]) -> Iterator[tuple[str, Seal]]:
    for each in chain.from_iterable(storage.list(prefix) for prefix in prefixes):
        try:
            yield each.key, storage.seal_of(each.key)
        except FileNotFoundError:
            continue


def _due(storage: SealedStorage, prefixes: tuple[str, ...]) -> Iterator[str]:
    return (key for key, seal in _seals(storage, prefixes) if seal not in (Seal.PRESENT, Seal.UNKNOWN))


def _seal_one(database: Database, storage: SealedStorage, key: str) -> bool:
    with database.read() as connection:
        if not expiry.referenced(connection, keys=[key]):
            return False
    if not _rewrite(storage, key=key, to=storage):
        return False
    with database.read() as connection:
        if not expiry.referenced(connection, keys=[key]):
            storage.delete(key)
    return True


def _rewrite(storage: SealedStorage, *, key: str, to: Storage) -> bool:
    try:
        source = storage.chunks(key)
    except FileNotFoundError:
        return False
    with to.writer(key) as writer:
        for data in source:
            writer.write(data)
    return True
