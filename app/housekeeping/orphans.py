"""Objects that no row points to: an attempt stored them and died, or the database is not the one they belong to.

The two look alike, so nothing is removed at once. Orphans go to a trash and stay there for days, from which they come
back by themselves when a row points to them again; and where they are more than a few per cent of the stored amount, or
the database has no rows at all, they are left where they are until an operator has looked. Only what a row states was
deleted is removed: a deletion that was interrupted ends here.
"""

import threading
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Final

import structlog

from app.datasets.staging import STAGING
from app.db.repositories import datasets, expiry, installation, stored_objects
from app.db.session import Database
from app.installation.check import check as check_installation
from app.settings import Settings
from app.storage.digested import is_digested
from app.storage.protocol import TRASH, Storage, StoredObject

#: Prefixes whose objects belong to rows.
OWNED: Final = ("releases/", "jobs/", "datasets/", "ledger/")
_KEYS: Final = 500
#: So many batches of keys are judged in one round: 20,000 objects, a second of the database.
_BATCHES: Final = 40
#: So many are moved in a round, the others in the next.
_AT_ONCE: Final = 100_000

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Census:
    """The objects that are old enough to be judged, and those of them that no row points to."""

    objects: int = 0
    orphans: int = 0
    keys: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def add(self, keys: list[str], used: set[str], deleted: AbstractSet[str] = frozenset()) -> None:
        """Count some objects."""
        self.deleted += [key for key in keys if key in deleted - used]
        alone = [key for key in keys if key not in used | deleted]
        self.objects += len(keys)
        self.orphans += len(alone)
        self.keys += alone[: _AT_ONCE - len(self.keys)]


class Orphans:
    """What housekeeping does about them; `tidy` is one round."""

    def __init__(self, settings: Settings, *, database: Database, storage: Storage) -> None:
        self._settings, self._database, self._storage = settings, database, storage
        self._pass: tuple[threading.Event, Iterator[None]] | None = None

    def tidy(self, stop: threading.Event) -> None:
        """Go on with a pass through the storage, for so many objects that the next round is soon.

        A pass brings back the needed objects, counts all, moves the others to the trash and empties that of the old
        files; in a small storage it takes one round.

        Raises
        ------
        CannotStartError
            Database and storage belong to different installations: nothing is touched.
        """
        check_installation(database=self._database, storage=self._storage)
        ended_by, batches = self._pass or (stop, self._whole(stop))
        if ended_by is not stop:  # of a former term of leading
            batches = self._whole(stop)
        self._pass = None  # a pass that fails begins anew
        if sum(1 for _ in islice(batches, _BATCHES)) == _BATCHES:
            self._pass = stop, batches

    def _whole(self, stop: threading.Event) -> Iterator[None]:
        """One pass, in batches."""
        yield from self._bring_back(stop)
        census = Census()
        yield from self._count(census, stop)
        if stop.is_set():
            return
        self._remove_deleted(census.deleted)
        held = self._is_suspicious(census)
        self._note(census, held=held)
        if held:
            return
        self.discard(census, stop)
        self._empty(stop)

    def look(self, stop: threading.Event, *, discard: bool) -> tuple[Census, bool]:
        """What an operator sees of them, who may confirm that the database is right; whether they are held back."""
        check_installation(database=self._database, storage=self._storage)
        census = self.census(stop)
        if discard:
            self.discard(census, stop)
            self._note(census, held=False)
        return census, self._is_suspicious(census)

    def census(self, stop: threading.Event) -> Census:
        """Count; `stop` ends it early."""
        census = Census()
        for _ in self._count(census, stop):
            pass
        return census

    def _count(self, census: Census, stop: threading.Event) -> Iterator[None]:
        with self._database.read() as connection:
            before = expiry.instant_before(connection, age=timedelta(hours=self._settings.orphan_hours))
            abandoned = expiry.instant_before(connection, age=timedelta(hours=self._settings.staging_hours))
        for prefix in OWNED:
            for keys in _batches(self._storage.list(prefix), before=before, stop=stop):
                with self._database.read() as connection:
                    deleted = expiry.of_deleted(connection, keys=keys)
                    used = expiry.referenced(connection, keys=keys)
                    unknown = stored_objects.unknown(connection, keys=sorted(filter(is_digested, used)))
                census.add(keys, used, deleted)
                if unknown:
                    with self._database.unit_of_work() as unit:
                        stored_objects.notice(unit.connection, keys=unknown)
                yield
        for keys in _batches(self._storage.list(STAGING), before=abandoned, stop=stop):
            with self._database.read() as connection:
                census.add(keys, datasets.referenced(connection, staged_keys=keys))
            yield

    def discard(self, census: Census, stop: threading.Event) -> None:
        """Move orphans to the trash."""
        with self._database.read() as connection:
            today = expiry.instant_before(connection, age=timedelta()).astimezone(UTC).date()
        keys = iter(census.keys)
        while batch := list(islice(keys, _KEYS)):
            with self._database.read() as connection:  # it is long since they were counted
                used = expiry.referenced(connection, keys=batch)
            for key in (key for key in batch if key not in used and not stop.is_set()):
                self._storage.move(key, f"{TRASH}{key}/{today.isoformat()}")
                log.info("housekeeping.orphan_discarded", key=key)

    def _is_suspicious(self, census: Census) -> bool:
        if not census.orphans:
            return False
        with self._database.read() as connection:
            has_rows = installation.has_rows(connection)
        return not has_rows or census.orphans > self._settings.orphan_share * census.objects

    def _remove_deleted(self, keys: list[str]) -> None:
        for key in keys:
            self._storage.delete(key)
            log.info("housekeeping.leftover_removed", key=key)

    def _note(self, census: Census, *, held: bool) -> None:
        count = census.orphans if held else 0
        with self._database.unit_of_work() as unit:
            news = installation.note_orphans_held(unit.connection, count=count)
        if held and news:
            log.error("housekeeping.orphans_held", orphans=census.orphans, objects=census.objects)

    def _bring_back(self, stop: threading.Event) -> Iterator[None]:
        """What rows point to again leaves the trash: the database was the wrong one, or an older one."""
        there = (each for each in self._storage.list(TRASH) if not stop.is_set())
        while batch := list(islice(there, _KEYS)):
            origins = {original(each.key): each.key for each in batch}
            with self._database.read() as connection:
                deleted = expiry.of_deleted(connection, keys=list(origins))
                used = expiry.referenced(connection, keys=list(origins))
                used |= datasets.referenced(connection, staged_keys=list(origins))
            self._remove_deleted([origins[key] for key in deleted - used])
            for key in used:
                self._storage.move(origins[key], key)
                log.warning("housekeeping.brought_back", key=key)
            yield

    def _empty(self, stop: threading.Event) -> None:
        with self._database.read() as connection:
            before = expiry.instant_before(connection, age=timedelta(days=self._settings.trash_days))
        for each in list(self._storage.list(TRASH)):
            if stop.is_set():
                return
            if _discarded_on(each.key) < before.astimezone(UTC).date() or not self._settings.trash_days:
                self._storage.delete(each.key)
                log.info("housekeeping.orphan_removed", key=original(each.key))


def original(key: str) -> str:
    """The key that an object of the trash had."""
    return key.removeprefix(TRASH).rpartition("/")[0]


def _discarded_on(key: str) -> date:
    return date.fromisoformat(key.rpartition("/")[2])


def _batches(objects: Iterator[StoredObject], *, before: datetime, stop: threading.Event) -> Iterator[list[str]]:
    old = (each.key for each in objects if each.modified_at < before and not stop.is_set())
    while keys := list(islice(old, _KEYS)):
        yield keys
