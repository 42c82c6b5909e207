"""`surebox restore`: a backup into an empty or replaced database and its storage, before any process starts.

Storage may have lived on: it then contains everything published after the backup, which is written there before it is
answered, and the database learns it again. Where storage comes from the backup as well, there is no telling whether
something was published later, so publishing is held until an operator confirms that nothing was. Storage states it by
itself, from before its first file on: a restore that is interrupted, or done once more, holds as well.
"""

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Final

from app.db import copying
from app.db.migrate import config, knows, upgrade
from app.db.repositories import expiry, installation, unpublished
from app.db.session import Database
from app.errors import CannotStartError
from app.installation.check import UNCONFIRMED, put_mark, read_mark, write_mark
from app.installation.manifest import (
    DATABASE,
    SECRETS,
    STORAGE,
    FileEntry,
    Manifest,
    damaged,
    faults,
    read_files,
    read_manifest,
)
from app.releases.entries import catch_up
from app.settings import Settings
from app.storage.factory import open_storage, storage_keys
from app.storage.protocol import TRASH, Storage

_NAMED: Final = 5


def verified(folder: Path) -> Manifest:
    """The manifest of a backup whose every file is what it was.

    Raises
    ------
    CannotStartError
        A file is missing or was changed; which.
    """
    manifest = read_manifest(folder)
    wrong = faults(folder, manifest)
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        raise CannotStartError(f"{folder} is not as written: {', '.join(wrong[:_NAMED])}{more}")
    unknown = sorted(copying.table_names(manifest.tables))
    if unknown or not knows(manifest.revision, config("")):
        raise CannotStartError(f"{folder} was made by a newer version of Surebox: restore it with that version")
    return manifest


def refuse_damaged(folder: Path, manifest: Manifest) -> None:
    """Refuse a backup of which files were damaged in storage when it was made.

    Raises
    ------
    CannotStartError
        There are such files; which.
    """
    wrong = damaged(folder, manifest)
    if wrong:
        raise CannotStartError(
            f"{folder} holds {len(wrong)} files that were damaged in storage when it was made, the first "
            f"{', '.join(wrong[:_NAMED])}: bring them back from an older backup, or restore with --accept-missing: "
            "they are not served"
        )


def restore(
    settings: Settings,
    folder: Path,
    manifest: Manifest,
    *,
    replace: bool,
    accept_missing: bool,
    say: Callable[[str], None],
) -> None:
    """Bring a verified backup back.

    Parameters
    ----------
    settings
        They name the database and the storage to restore to; no process runs on them.
    folder, manifest
        The backup, verified.
    replace
        Whether what the database contains may be dropped.
    accept_missing
        Whether rows may name files that neither storage nor the backup has, or has as written.
    say
        Receives in one line what a person should know.

    Raises
    ------
    CannotStartError
        Something runs on the database, the storage is another installation's, the secret is
        another one, or files are missing.
    """
    _check_secret(settings, folder)
    if not accept_missing:
        refuse_damaged(folder, manifest)
    database, storage = Database(settings.database_url, pool_size=2), open_storage(settings)
    as_stored = open_storage(settings, as_stored=True)
    try:
        lived_on = check_storage(storage, manifest)
        _empty(database, replace=replace)
        if not lived_on:
            put_mark(storage, UNCONFIRMED, installation_id=manifest.installation)
        say(f"Backup of {manifest.made_at}: {manifest.files} files, {sum(each.rows for each in manifest.tables)} rows.")
        brought = sum(_bring(as_stored, folder, entry) for entry in read_files(folder))
        say(f"{brought} files were missing in storage and are there again.")
        upgrade(settings.database_url, revision=manifest.revision)
        with database.unit_of_work() as unit:
            copying.copy_in(unit.connection, folder / DATABASE, manifest.tables, manifest.sequences)
            if not lived_on:
                installation.hold_publishing(unit.connection, because=_because(manifest))
        upgrade(settings.database_url)
        write_mark(database=database, storage=storage, installation_id=manifest.installation)
        with database.unit_of_work() as unit:
            unpublished.forget(unit.connection)
        learnt = catch_up(database=database, storage=storage)
        say(f"{learnt} publications of after the backup are known again.")
        _check_files(database, storage, manifest, accept_missing=accept_missing)
        if not lived_on:
            say("Publishing is held: once you know that nothing was published after it, `surebox publishing confirm`.")
    finally:
        database.close()


def _because(manifest: Manifest) -> str:
    return (
        f"the service was restored from a backup of {manifest.made_at}, and its files as well: the published data "
        "after it is not known"
    )


def _check_secret(settings: Settings, folder: Path) -> None:
    """Keys are stored under the secret, and secrets of data sealed by it: with another one the database is useless."""
    secrets = json.loads((folder / SECRETS).read_text(encoding="utf-8"))
    kept, sealed_under = secrets["server_secret"], set(secrets.get("storage_keys", ()))
    keys = storage_keys(settings)
    if not sealed_under <= set(() if keys is None else keys.names):
        raise CannotStartError(
            "the files of the backup are sealed under other keys than SUREBOX_STORAGE_KEY and "
            "SUREBOX_PREVIOUS_STORAGE_KEY: set them to what they were when it was made"
        )
    given = [settings.server_secret.get_secret_value(), settings.previous_server_secret.get_secret_value()]
    if kept and kept not in given:
        raise CannotStartError(
            "SUREBOX_SERVER_SECRET is not the secret that the backup was made under: set it to what "
            f"{folder / SECRETS} states, or set SUREBOX_PREVIOUS_SERVER_SECRET to that"
        )


def check_storage(storage: Storage, manifest: Manifest) -> bool:
    """Whether storage is the one that the backup was made of and has lived on; empty storage is filled.

    Raises
    ------
    CannotStartError
        It is another installation's.
    """
    unconfirmed = read_mark(storage, UNCONFIRMED)
    marked = read_mark(storage) or unconfirmed
    if marked == manifest.installation:
        return unconfirmed is None
    if marked is not None:
        raise CannotStartError(
            f"the storage of STORAGE_URL belongs to installation {marked}, the backup to {manifest.installation}: "
            "name the storage of the backup's installation, or an empty one"
        )
    filled = [
        prefix for prefix in ("datasets/", "releases/", "jobs/", "ledger/") if any(islice(storage.list(prefix), 1))
    ]
    if filled:
        raise CannotStartError(
            f"the storage of STORAGE_URL has no id of an installation, but files below {', '.join(filled)}: "
            "name the storage of the backup's installation, or an empty one"
        )
    return False


def _empty(database: Database, *, replace: bool) -> None:
    """Leave a database without tables."""
    with database.unit_of_work() as unit:
        others = copying.others_connected(unit.connection)
        if others:
            raise CannotStartError(f"{others} connections to the database are open: stop every process first")
        if copying.is_empty(unit.connection):
            return
        if not replace:
            raise CannotStartError("the database is not empty: restore to an empty one, or state --replace to drop it")
        copying.drop_everything(unit.connection)


def _bring(storage: Storage, folder: Path, entry: FileEntry) -> bool:
    """Put one object back where storage lacks it; whether it did."""
    try:
        next(storage.chunks(entry.key, end=1), b"")
    except FileNotFoundError:
        if entry.sha256 is None:
            return _from_trash(storage, entry.key)
        storage.put_file(entry.key, folder / STORAGE / entry.key)
        return True
    return False


def _from_trash(storage: Storage, key: str) -> bool:
    there = [each.key for each in storage.list(f"{TRASH}{key}/")]
    if there:
        storage.move(max(there), key)
    return bool(there)


def _check_files(database: Database, storage: Storage, manifest: Manifest, *, accept_missing: bool) -> None:
    """Every row has its file."""
    with database.snapshot() as connection:
        named = set(expiry.all_referenced(connection))
    there = {each.key for prefix in {f"{key.split('/')[0]}/" for key in named} for each in storage.list(prefix)}
    lost = sorted(named - there - set(manifest.missing))
    if lost and not accept_missing:
        raise CannotStartError(
            f"rows name {len(lost)} files that neither storage nor the backup has, the first "
            f"{', '.join(lost[:_NAMED])}: bring them back and restore again, or state --accept-missing"
        )
