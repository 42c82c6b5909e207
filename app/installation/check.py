"""Whether the database and the storage that the settings name belong together.

Each contains the id of the installation that it was made for. An empty database next to a full bucket, or the database
of one installation next to the files of another, is a wrong address: nothing good comes of running on it.
"""

from collections.abc import Callable
from typing import Final

import structlog

from app.auth.keys import name_of
from app.contracts.log import LogAction
from app.db.repositories import audit, installation
from app.db.repositories.installation import Installation
from app.db.session import Connection, Database
from app.errors import CannotStartError, NotTrustedError, UnavailableError
from app.queue import JobQueue
from app.settings import Settings
from app.storage.digested import undigested
from app.storage.factory import open_storage
from app.storage.protocol import Storage
from app.storage.sealed import MAGIC, Seal, SealedStorage

#: Where in storage the id is.
MARK: Final = "installation/id"
#: There, with the id, while storage was filled from a backup: everything published after that is not known.
UNCONFIRMED: Final = "installation/unconfirmed"
_LONGEST: Final = 200

log = structlog.get_logger(__name__)


def check(*, database: Database, storage: Storage) -> str:
    """Compare the two ids; storage without one gets it, where the database has never marked another storage.

    Returns
    -------
    str
        The id.

    Raises
    ------
    CannotStartError
        They are not of the same installation, or the database is at an older revision.
    """
    with database.read() as connection:
        known = _known(connection)
    marked = read_mark(storage)
    if marked == known.id:
        if isinstance(marks := undigested(storage), SealedStorage) and marks.seal_of(MARK) is not Seal.PRESENT:
            put_mark(storage, MARK, installation_id=known.id)
        return known.id
    if marked is not None or known.storage_marked_at is not None:
        raise CannotStartError(_differ(known, marked))
    write_mark(database=database, storage=storage, installation_id=known.id)
    return known.id


def check_at_start(settings: Settings) -> None:
    """Compare the two ids before a process serves; what cannot be reached yet is not compared.

    Raises
    ------
    CannotStartError
        They are not of the same installation, or a server's certificate is not trusted.
    """
    database = Database(settings.database_url, pool_size=1)
    try:
        check(database=database, storage=open_storage(settings))
        _note_secret(database, settings)
        JobQueue(settings).check()
    except NotTrustedError as error:  # waiting does not mend it
        raise CannotStartError(error.detail) from error
    except UnavailableError as error:
        log.warning("installation.unchecked", why=error.detail)
    finally:
        database.close()


def _note_secret(database: Database, settings: Settings) -> None:
    """The audit log states when processes have begun to start with another secret."""
    if not settings.server_secret.get_secret_value():
        return
    name = name_of(settings.server_secret.get_secret_value().encode())
    with database.unit_of_work() as unit:
        if installation.note_secret(unit.connection, name=name):
            audit.record(
                unit.connection, owner=audit.NO_OWNER, action=LogAction.SECRET_ROTATED, subject="server_secret",
                key_id=None,
            )  # fmt: skip


def adopt(*, database: Database, storage: Storage, say: Callable[[str], None]) -> None:
    """Let the database have the id that storage has: an operator has looked and states that they belong together.

    Storage may have publications that the database lacks, so publishing is held until it is confirmed.

    Raises
    ------
    CannotStartError
        The database is at an older revision.
    """
    marked = read_mark(storage)
    with database.unit_of_work() as unit:
        known = _known(unit.connection)
        if marked not in (None, known.id):
            installation.set_id(unit.connection, installation_id=marked or known.id)
            installation.hold_publishing(unit.connection, because="the database was put next to another storage")
            say("Publishing is held: `surebox publishing confirm` ends that.")
    write_mark(database=database, storage=storage, installation_id=marked or known.id)


def confirm_publishing(*, database: Database, storage: Storage) -> bool:
    """Publish again: an operator states that all that was ever published is known; False where nothing was held."""
    storage.delete(UNCONFIRMED)
    with database.unit_of_work() as unit:
        return installation.resume_publishing(unit.connection)


def read_mark(storage: Storage, key: str = MARK) -> str | None:
    """The id in storage.

    Raises
    ------
    CannotStartError
        It is sealed, and there is no key.
    """
    try:
        mark = b"".join(storage.chunks(key, end=_LONGEST))
    except FileNotFoundError:
        return None
    if mark.startswith(MAGIC):
        raise CannotStartError(
            "the files in the storage of STORAGE_URL are sealed: set SUREBOX_STORAGE_KEY to their key"
        )
    return mark.decode("ascii", "replace").strip()


def put_mark(storage: Storage, key: str, *, installation_id: str) -> None:
    """Write the id to storage."""
    with storage.writer(key) as writer:
        writer.write(installation_id.encode("ascii") + b"\n")


def write_mark(*, database: Database, storage: Storage, installation_id: str) -> None:
    """Write the id to storage, and note that it is there."""
    put_mark(storage, MARK, installation_id=installation_id)
    with database.unit_of_work() as unit:
        installation.note_marked(unit.connection)


def _known(connection: Connection) -> Installation:
    known = installation.read(connection)
    if known is None:
        raise CannotStartError("the database of DATABASE_URL is at an older revision: run `surebox migrate` first")
    return known


def _differ(known: Installation, marked: str | None) -> str:
    there = "has no id at all" if marked is None else f"to installation {marked}"
    return (
        f"the database of DATABASE_URL belongs to installation {known.id}, the storage of STORAGE_URL {there}: one of "
        "the addresses is wrong, or one of the two was replaced. Correct the address; bring both back with `surebox "
        "restore`; or, if you know that they belong together, run `surebox installation adopt`"
    )
