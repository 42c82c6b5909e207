"""Each publication is written to storage before it is answered, once, so that no restore of the database forgets it.

`publications/<owner>/<number>/<release>.json` contains the rows that the publication writes. Numbers of an owner have
no gaps: a database that is about to write a number which storage has already has forgotten something. It learns that
first, and the data to be published is composed once more with what it has learnt.

Erasing reaches these objects as well: a later deletion or withdrawal changes the rows, and housekeeping writes the
entry again as the rows are then.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import uuid4

import structlog

from app.certificates.issue import issue
from app.contracts.stored import kept_spec
from app.db.repositories import entries, families, installation, unpublished
from app.db.repositories.entries import Entry
from app.db.session import Connection, Database
from app.errors import LedgerBehindError, StorageDamagedError, StorageFullError, UnavailableError
from app.settings import Settings
from app.storage.protocol import Storage

PREFIX: Final = "publications/"
_FORMAT: Final = 1
_AT_ONCE: Final = 100
#: A publication that waits for so long for its entry is given up: no request to storage takes longer.
_OVERDUE: Final = timedelta(minutes=2)
#: One that waits for so long is of a database that was restored since: its entry may be of a publication.
_FORGOTTEN: Final = timedelta(minutes=15)
#: Of an entry that was given up so long ago nothing arrives in storage any more.
_ARRIVED: Final = timedelta(hours=1)
#: The end of an entry: the digest of what it would be without it.
_SEAL: Final = b',"sha256":"%s"}'
_SEALED: Final = re.compile(rb',"sha256":"([0-9a-f]{64})"}$')

Ended = TypeVar("Ended")

log = structlog.get_logger(__name__)


class Publication:
    """One publication: its entry is written to storage, and then the transaction that publishes it is committed.

    `run` tries the transaction first. `end`, which that calls last, gathers the entry and undoes all of it; the entry
    is written while no transaction is open, so that storage that hangs holds nobody up; then the same transaction is
    run again, and committed if the owner's next entry is still this one. Else, and whenever it cannot be committed,
    the entry is given up: exactly one of the two happens, whoever is killed at whatever moment. What the second run
    states differently (times, the hash of the log) is written in place of the entry before `run` returns.

    Parameters
    ----------
    settings
        They name the signing keys.
    database, storage
        Where it is published.
    """

    def __init__(self, settings: Settings, *, database: Database, storage: Storage) -> None:
        self._settings, self._database, self._storage = settings, database, storage
        self._written: Entry | None = None
        self._taken = False

    def run(self, transaction: Callable[[], Ended]) -> Ended:
        """Run a transaction that may publish, until it is committed.

        Raises
        ------
        LedgerBehindError
            Storage has a publication of the owner that the database does not know: learn it, compose again.
        StorageFullError, UnavailableError
            It cannot be written: nothing is published.
        """
        try:
            while True:
                try:
                    ended = transaction()
                except _UnwrittenError as unwritten:
                    self._give_up()
                    self._write(unwritten.entry, unwritten.content)
                else:
                    break
        except BaseException:
            self._give_up()
            raise
        self._settle()
        return ended

    def end(self, connection: Connection, release_id: str) -> None:
        """Certify a release and note its entry: the last thing that the transaction which publishes it does."""
        issue(connection, settings=self._settings, release_id=release_id)
        owner = entries.owner_of(connection, release_id=release_id)
        number, written = entries.lock(connection, owner=owner) + 1, self._written
        if written is not None and (written.owner, written.number, written.release_id) == (owner, number, release_id):
            self._taken = unpublished.take(connection, key=written.key)
            if self._taken:
                entries.add(connection, entry=written, stale=True)
                return
        entry = Entry(owner, number, release_id, f"{_place_of(owner, number)}{release_id}-{uuid4().hex}.json")
        entries.add(connection, entry=entry)
        raise _UnwrittenError(entry, _content(connection, entry))

    def _write(self, entry: Entry, content: bytes) -> None:
        there = [each.key for each in self._storage.list(_place_of(entry.owner, entry.number))]
        with self._database.unit_of_work() as unit:
            if set(there) - unpublished.known(unit.connection, keys=there):
                raise LedgerBehindError(
                    "Storage has publications that the database has forgotten: they are learnt again."
                )
            unpublished.begin(unit.connection, entry=entry)
        self._written = entry
        _put(self._storage, entry.key, content)

    def _give_up(self) -> None:
        """Remove an entry that is not published; what cannot be removed now is housekeeping's."""
        written, self._written, self._taken = self._written, None, False
        if written is not None:
            with suppress(UnavailableError):
                _give_up(self._database, self._storage, written.key)

    def _settle(self) -> None:
        """Write the published entry as its rows are now; what cannot be written now is housekeeping's."""
        if self._written is None or not self._taken:
            self._give_up()
            return
        with suppress(UnavailableError, StorageFullError):
            _refresh_one(self._database, self._storage, self._written)
        self._written, self._taken = None, False


def sweep_unpublished(*, database: Database, storage: Storage) -> None:
    """Give up entries whose publication did not end, and remove what is left of those that were given up."""
    with database.unit_of_work() as unit:
        unpublished.forget(unit.connection, older_than=_FORGOTTEN)
        overdue = unpublished.overdue(unit.connection, older_than=_OVERDUE, limit=_AT_ONCE)
        given_up = unpublished.given_up(unit.connection, older_than=_ARRIVED, limit=_AT_ONCE)
    for key in overdue:
        if _give_up(database, storage, key):
            log.warning("publication.given_up", key=key)
    for key in given_up:
        storage.delete(key)
        with database.unit_of_work() as unit:
            unpublished.remove(unit.connection, key=key)


def _give_up(database: Database, storage: Storage, key: str) -> bool:
    """Give an entry up and remove it; False where it was published."""
    with database.unit_of_work() as unit:
        given_up = unpublished.give_up(unit.connection, key=key)
    if given_up:
        storage.delete(key)
    return given_up


class _UnwrittenError(Exception):
    """A publication whose entry is not in storage: its transaction is undone."""

    def __init__(self, entry: Entry, content: bytes) -> None:
        super().__init__("the entry of a publication is not written yet")
        self.entry, self.content = entry, content


def catch_up(*, database: Database, storage: Storage, owner: str | None = None) -> int:
    """Learn of all publications that storage has and the database does not; how many there were."""
    count = 0
    heads: dict[str, int] = {}
    for key in sorted(each.key for each in storage.list(PREFIX if owner is None else _folder(owner))):
        if _number(key) <= heads.get(_place(key), 0):
            continue
        with database.read() as connection:
            waits = bool(unpublished.known(connection, keys=[key]))
        if waits:
            continue
        written = _read(storage, key)
        with database.read() as connection:
            heads[_place(key)] = entries.head(connection, owner=written["owner"])
        if _number(key) > heads[_place(key)]:
            count += _learn(database, storage, written, key)
            heads[_place(key)] = _number(key)
    return count


def refresh(*, database: Database, storage: Storage) -> int:
    """Write entries again whose rows have changed: withdrawn, deleted, erased; how many.

    Bytes are written outside of transactions: storage that hangs locks no row.
    """
    count = 0
    while True:
        with database.read() as connection:
            due = entries.stale(connection, limit=_AT_ONCE)
        fresh = sum(_refresh_one(database, storage, entry) for entry in due)
        count += fresh
        if len(due) < _AT_ONCE or not fresh:
            return count


def _refresh_one(database: Database, storage: Storage, entry: Entry) -> bool:
    """Write an entry as its rows are now; False where they have changed meanwhile: it is written in the next round."""
    with database.unit_of_work() as unit:
        content = _content(unit.connection, entry)
    _put(storage, entry.key, content)
    with database.unit_of_work() as unit:
        entries.lock_entry(unit.connection, entry=entry)
        if _content(unit.connection, entry) != content:
            return False
        entries.note_fresh(unit.connection, entry=entry)
        return True


def _learn(database: Database, storage: Storage, written: dict[str, Any], key: str) -> bool:
    """Learn of one publication; False where another process did, or is publishing one in its place."""
    entry = Entry(written["owner"], written["number"], written["release_id"], key)
    rows = {**written["rows"], "dataset": list(_with_bytes(storage, written["rows"].get("dataset", ())))}
    others = [each.key for each in storage.list(_place_of(entry.owner, entry.number)) if each.key != key]
    with database.unit_of_work() as unit:
        families.lock_recognising(unit.connection, owner=entry.owner)
        if entries.lock(unit.connection, owner=entry.owner) >= entry.number:
            return False
        whole = entries.replay(unit.connection, entry=entry, rows=rows, datasets=written["datasets"])
        alone = not set(others) - unpublished.known(unit.connection, keys=others)
        if not whole or not alone:
            because = f"release {entry.release_id} was published and forgotten, and its place was taken meanwhile"
            installation.hold_publishing(unit.connection, because=because)
    log.warning("publication.learnt_again", release_id=entry.release_id, whole=whole and alone)
    return True


def _with_bytes(storage: Storage, rows: Any) -> Iterator[dict[str, Any]]:
    """Datasets as they were, or as deleted ones where their bytes are gone."""
    for row in rows:
        key = row["data_key"]
        there = key is not None and any(each.key == key for each in storage.list(f"{key.rpartition('/')[0]}/"))
        gone = {"state": "deleted", "deleted_at": row["created_at"], "data_key": None, "staged_key": None}
        yield row if there else {**row, **gone, "columns": None, "numeric": None}


def _content(connection: Connection, entry: Entry) -> bytes:
    """Return an entry as it is stored, made of the rows that this transaction sees."""
    spec = kept_spec(entries.spec_of(connection, release_id=entry.release_id))
    body = {
        "format": _FORMAT,
        "owner": entry.owner,
        "number": entry.number,
        "release_id": entry.release_id,
        "datasets": entries.datasets_of(connection, release_id=entry.release_id),
        "rows": entries.gather(connection, release_id=entry.release_id, spec=spec),
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _put(storage: Storage, key: str, content: bytes) -> None:
    with storage.writer(key) as writer:
        writer.write(content[:-1] + _SEAL % hashlib.sha256(content).hexdigest().encode())


def _read(storage: Storage, key: str) -> dict[str, Any]:
    """An entry as it was written; entries of before they had a digest are taken as they are.

    Raises
    ------
    StorageDamagedError
        It is not what its digest states, or no entry.
    """
    content = b"".join(storage.chunks(key))
    sealed = _SEALED.search(content)
    if sealed is None or hashlib.sha256(content[: sealed.start()] + b"}").hexdigest().encode() == sealed[1]:
        with suppress(ValueError):
            entry: dict[str, Any] = json.loads(content)
            return entry
    log.error("storage.damaged", key=key, why="it is not the entry that was written")
    raise StorageDamagedError(
        "The entry of a publication is damaged in storage, and nothing is learnt from it. The operator finds its name "
        "in the log under `storage.damaged` and restores it from a backup."
    )


def _folder(owner: str) -> str:
    """Owners may be called anything: keys of storage are plain."""
    return f"{PREFIX}{hashlib.sha256(owner.encode()).hexdigest()[:32]}/"


def _place_of(owner: str, number: int) -> str:
    return f"{_folder(owner)}{number:012d}/"


def _place(key: str) -> str:
    return key.split("/")[1]


def _number(key: str) -> int:
    return int(key.split("/")[2])
