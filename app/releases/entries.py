"""Each publication is written to storage before it is answered, once, so that no restore of the database forgets it.

`publications/<owner>/<number>/<release>.json` contains the rows that the publication writes. Numbers of an owner have
no gaps: a database that is about to write a number which storage has already has forgotten something. It learns that
first, and the data to be published is composed once more with what it has learnt.

Erasing reaches these objects as well: a later deletion or withdrawal changes the rows, and housekeeping writes the
entry again as the rows are then.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

import structlog

from app.certificates.issue import issue
from app.contracts.stored import kept_spec
from app.db.repositories import entries, installation
from app.db.repositories.entries import Entry
from app.db.session import Connection, Database, on_rollback
from app.errors import LedgerBehindError
from app.settings import Settings
from app.storage.protocol import Storage

PREFIX: Final = "publications/"
_FORMAT: Final = 1
_AT_ONCE: Final = 100

log = structlog.get_logger(__name__)


def certify_and_write(settings: Settings, storage: Storage) -> Callable[[Connection, str], None]:
    """What ends a publication: its certificate, then its entry."""

    def end(connection: Connection, release_id: str) -> None:
        issue(connection, settings=settings, release_id=release_id)
        write_entry(connection, storage=storage, release_id=release_id)

    return end


def write_entry(connection: Connection, *, storage: Storage, release_id: str) -> None:
    """Write what a publication is to storage: the last thing that its transaction does.

    Raises
    ------
    LedgerBehindError
        Storage has a publication of the owner that the database does not know: learn it, compose again.
    StorageFullError, UnavailableError
        It cannot be written: nothing is published.
    """
    owner = entries.owner_of(connection, release_id=release_id)
    number = entries.lock(connection, owner=owner) + 1
    folder = f"{_folder(owner)}{number:012d}/"
    entry = Entry(owner, number, release_id, f"{folder}{release_id}.json")
    if any(each.key != entry.key for each in storage.list(folder)):
        raise LedgerBehindError("storage has publications that the database has forgotten: they are learnt again")
    entries.add(connection, entry=entry)
    on_rollback(connection, lambda: storage.delete(entry.key))
    _write(connection, storage, entry)


def catch_up(*, database: Database, storage: Storage, owner: str | None = None) -> int:
    """Learn of all publications that storage has and the database does not; how many there were."""
    count = 0
    heads: dict[str, int] = {}
    for key in sorted(each.key for each in storage.list(PREFIX if owner is None else _folder(owner))):
        if _number(key) <= heads.get(_place(key), 0):
            continue
        written = json.loads(b"".join(storage.chunks(key)))
        with database.read() as connection:
            heads[_place(key)] = entries.head(connection, owner=written["owner"])
        if _number(key) > heads[_place(key)]:
            _learn(database, storage, written, key)
            heads[_place(key)] = _number(key)
            count += 1
    return count


def refresh(*, database: Database, storage: Storage) -> int:
    """Write entries again whose rows have changed: withdrawn, deleted, erased; how many."""
    count = 0
    while True:
        with database.unit_of_work() as unit:
            due = entries.stale(unit.connection, limit=_AT_ONCE)
            for entry in due:
                _write(unit.connection, storage, entry)
                entries.note_fresh(unit.connection, entry=entry)
        count += len(due)
        if len(due) < _AT_ONCE:
            return count


def _learn(database: Database, storage: Storage, written: dict[str, Any], key: str) -> None:
    entry = Entry(written["owner"], written["number"], written["release_id"], key)
    rows = {**written["rows"], "dataset": list(_with_bytes(storage, written["rows"].get("dataset", ())))}
    with database.unit_of_work() as unit:
        whole = entries.replay(unit.connection, entry=entry, rows=rows, datasets=written["datasets"])
        if not whole:
            because = f"release {entry.release_id} was published and forgotten, and its place was taken meanwhile"
            installation.hold_publishing(unit.connection, because=because)
    log.warning("publication.learnt_again", release_id=entry.release_id, whole=whole)


def _with_bytes(storage: Storage, rows: Any) -> Iterator[dict[str, Any]]:
    """Datasets as they were, or as deleted ones where their bytes are gone."""
    for row in rows:
        key = row["data_key"]
        there = key is not None and any(each.key == key for each in storage.list(f"{key.rpartition('/')[0]}/"))
        gone = {"state": "deleted", "deleted_at": row["created_at"], "data_key": None, "staged_key": None}
        yield row if there else {**row, **gone, "columns": None, "numeric": None}


def _write(connection: Connection, storage: Storage, entry: Entry) -> None:
    spec = kept_spec(entries.spec_of(connection, release_id=entry.release_id))
    body = {
        "format": _FORMAT,
        "owner": entry.owner,
        "number": entry.number,
        "release_id": entry.release_id,
        "datasets": entries.datasets_of(connection, release_id=entry.release_id),
        "rows": entries.gather(connection, release_id=entry.release_id, spec=spec),
    }
    with storage.writer(entry.key) as writer:
        writer.write(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())


def _folder(owner: str) -> str:
    """Owners may be called anything: keys of storage are plain."""
    return f"{PREFIX}{hashlib.sha256(owner.encode()).hexdigest()[:32]}/"


def _place(key: str) -> str:
    return key.split("/")[1]


def _number(key: str) -> int:
    return int(key.split("/")[2])
