"""Stored objects are read again and again, so that one that changed at rest is known before it is needed.

A share of all stored bytes a day, those first whose last comparison is longest ago. A damaged object stays where it is:
it is named in the log and counted in a metric, nobody gets it, and it is read again from time to time, for an operator
may have brought it back from a backup.
"""

import threading
import time
from datetime import timedelta
from typing import Final

import structlog

from app.db.digests import DatabaseDigests
from app.db.repositories import expiry, stored_objects
from app.db.session import Database
from app.errors import StorageDamagedError
from app.settings import Settings
from app.storage.digested import DigestedStorage, is_digested, undigested
from app.storage.protocol import Storage

#: So many objects are asked for at a time.
_AT_ONCE: Final = 100
#: What reading an object costs besides its bytes, in bytes.
_OBJECT_BYTES: Final = 4096
#: Damaged objects are read again after so many seconds, a few at a time.
_AGAIN_SECONDS: Final = 600.0
_AGAIN: Final = 10
_DAY_SECONDS: Final = 86_400.0

log = structlog.get_logger(__name__)


class Scrub:
    """Compares stored objects with their digests, some in each round of housekeeping."""

    def __init__(self, settings: Settings, *, database: Database, storage: Storage) -> None:
        self._settings, self._database = settings, database
        self._storage = DigestedStorage(undigested(storage), DatabaseDigests(database))
        #: Digests are kept before their object appears: it may be in writing as long as an unfinished file is kept.
        self._writing = timedelta(hours=settings.staging_hours)
        self._read_at = time.monotonic()
        self._credit = 0.0

    def read_some(self, stop: threading.Event) -> int:
        """Compare as much as is due since the last round, and at times the damaged ones; how many objects."""
        with self._database.read() as connection:
            stored = stored_objects.amount(connection)
        now = time.monotonic()
        whole = self._settings.scrub_share * (stored.bytes + stored.objects * _OBJECT_BYTES)
        self._credit = min(whole, self._credit + whole * (now - self._read_at) / _DAY_SECONDS)
        self._read_at = now
        count = self._again(stop)
        while self._credit > 0 and not stop.is_set():
            with self._database.read() as connection:
                due = stored_objects.due(connection, limit=_AT_ONCE)
            if not due:
                break
            count += self._read(due, stop)
        return count

    def read_all(self) -> tuple[int, list[str]]:
        """Compare every object, whenever it was last read: how many, and those that are damaged or missing."""
        self._notice_all()
        count, after = 0, ""
        broken: list[str] = []
        while True:
            with self._database.read() as connection:
                keys = stored_objects.keys(connection, after=after, limit=_AT_ONCE)
            if not keys:
                return count, broken
            broken += [key for key in keys if not self._is_whole(key)]
            count, after = count + len(keys), keys[-1]

    def _notice_all(self) -> None:
        with self._database.snapshot() as connection:
            named = [key for key in expiry.all_referenced(connection) if is_digested(key)]
        for start in range(0, len(named), _AT_ONCE):
            with self._database.unit_of_work() as unit:
                stored_objects.notice(unit.connection, keys=named[start : start + _AT_ONCE])

    def _read(self, due: list[tuple[str, int]], stop: threading.Event) -> int:
        """Compare some objects until the round's share is used up; how many."""
        for count, (key, size) in enumerate(due):
            if stop.is_set() or self._credit <= 0:
                return count
            self._credit -= size + _OBJECT_BYTES
            self._is_whole(key)
        return len(due)

    def _again(self, stop: threading.Event) -> int:
        with self._database.read() as connection:
            keys = stored_objects.damaged(connection, older_than_seconds=_AGAIN_SECONDS, limit=_AGAIN)
        for key in keys:
            if not stop.is_set() and self._is_whole(key):
                log.info("storage.mended", key=key)
        return len(keys)

    def _is_whole(self, key: str) -> bool:
        """Compare one object; whether it is as written, is rightly gone, or is still being written."""
        try:
            self._storage.verify(key)
        except StorageDamagedError:
            return False
        except FileNotFoundError:
            return self._is_rightly_gone(key)
        with self._database.unit_of_work() as unit:
            stored_objects.note_compared(unit.connection, key=key)
        return True

    def _is_rightly_gone(self, key: str) -> bool:
        with self._database.unit_of_work() as unit:
            named = bool(expiry.referenced(unit.connection, keys=[key]))
            if named:
                stored_objects.note_damaged(unit.connection, key=key)
            else:
                stored_objects.forget_abandoned(unit.connection, key=key, age=self._writing)
        if named:
            log.error("storage.missing", key=key)
        return not named
