"""`surebox backup`: database, files and secrets in one folder, of one moment, while the service runs.

The database is read in one snapshot. Files are linked (or copied, or, in a bucket, listed) before and after it: what a
row of the snapshot names is caught by the second pass, or, if it was removed meanwhile, by the first. If a file that
rows still name is missed all the same, it is done once more. Files never change, but for those of publications, which
erasing rewrites: the second pass takes them again. Sealed files are copied as they are in storage; the key that opens
them is not in the backup, only what distinguishes it from others.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from app.certificates.signing import read_file
from app.db import copying
from app.db.digests import DatabaseDigests
from app.db.repositories import expiry
from app.db.session import Connection, Database
from app.errors import CannotStartError, StorageDamagedError
from app.installation.check import check
from app.installation.manifest import (
    DATABASE,
    FILES,
    FORMAT,
    MANIFEST,
    SECRETS,
    SIGNING,
    STORAGE,
    FileEntry,
    Manifest,
    digest_of,
)
from app.processes.private import write_private
from app.releases.entries import PREFIX as PUBLICATIONS
from app.settings import Settings
from app.storage.digested import DigestedStorage
from app.storage.factory import open_storage, storage_keys
from app.storage.protocol import Storage

#: What is in a backup, of all that storage has: neither the trash nor the id, which a restore writes itself.
PREFIXES: Final = (PUBLICATIONS, "ledger/", "staging/", "datasets/", "jobs/", "releases/")
_CHECKPOINT: Final = "/checkpoint-"
_ATTEMPTS: Final = 5
_KEYS: Final = 500


def backup(
    settings: Settings, folder: Path, *, copy: bool | None, say: Callable[[str], None], admin_key: str = ""
) -> Manifest:
    """Write a backup.

    Parameters
    ----------
    settings
        They name the database, the storage and the secrets.
    folder
        Where to: absent or empty.
    copy
        Whether the backup contains the files or lists them; None: a folder's are held (as links where the file system
        has them), a bucket's are listed.
    say
        Receives in one line what a person should know.
    admin_key
        The key of the first start, where one is next to the database.

    Raises
    ------
    CannotStartError
        The folder is not empty, or files go while they are copied again and again.
    """
    _take(folder)
    database = Database(settings.database_url, pool_size=2)
    storage = open_storage(settings)
    copies = settings.storage_url.startswith("file:") if copy is None else copy
    try:
        installation = check(database=database, storage=storage)
        made = _Backup(
            folder,
            database=database,
            storage=open_storage(settings, as_stored=True),
            compared=DigestedStorage(storage, DatabaseDigests(database)),
            copies=copies,
        )
        for _ in range(_ATTEMPTS):
            manifest = made.attempt(settings, installation, admin_key)
            if manifest is not None:
                manifest.write(folder)
                if manifest.damaged:
                    say(
                        f"{len(manifest.damaged)} files are damaged in storage, the first {manifest.damaged[0]}: "
                        f"the backup holds them as they are, {MANIFEST} names them, and `restore --check` refuses it."
                    )
                if manifest.missing:
                    say(f"{len(manifest.missing)} files that rows name are not in storage; {MANIFEST} names them.")
                return manifest
    finally:
        database.close()
    raise CannotStartError("files were deleted faster than they could be copied: try again when less is deleted")


class _Backup:
    """One folder and the files copied into it."""

    def __init__(
        self, folder: Path, *, database: Database, storage: Storage, compared: DigestedStorage, copies: bool
    ) -> None:
        self._folder, self._database, self._storage, self._copies = folder, database, storage, copies
        self._compared = compared
        self._sizes: dict[str, int] = {}

    def attempt(self, settings: Settings, installation: str, admin_key: str) -> Manifest | None:
        """The manifest, unless files went meanwhile that the snapshot's rows name."""
        self._collect()
        for path in (self._folder / DATABASE).glob("*.copy"):
            path.unlink()
        with self._database.snapshot() as connection:
            revision = copying.revision(connection)
            tables = copying.copy_out(connection, self._folder / DATABASE)
            last = copying.sequences(connection)
            there = self._collect()
            named = set(expiry.all_referenced(connection))
        missing = named - self._sizes.keys()
        if missing and self._still_named(missing) != missing:
            return None
        files = self._write_files({key for key in self._sizes if key in named or key in there})
        return Manifest(
            format=FORMAT,
            made_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            version=version("surebox"),
            installation=installation,
            revision=revision,
            tables=tuple(tables),
            sequences=last,
            files=len(files),
            file_bytes=sum(each.bytes for each in files),
            sha256={FILES: digest_of(self._folder / FILES) or ""} | _write_secrets(settings, self._folder, admin_key),
            missing=tuple(sorted(missing)),
            damaged=tuple(each.key for each in files if self._copies and self._is_damaged(each.key)),
        )

    def _collect(self) -> set[str]:
        """Link or list what storage has and the folder does not; the keys that are there now."""
        there = set()
        for prefix in PREFIXES:
            for each in self._storage.list(prefix):
                if _CHECKPOINT not in each.key and self._has(each.key, each.bytes):
                    there.add(each.key)
        return there

    def _has(self, key: str, size: int) -> bool:
        if self._copies and (key not in self._sizes or key.startswith(PUBLICATIONS)):
            target = self._folder / STORAGE / key
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._storage.fetch(key, target)
            except FileNotFoundError:
                return False
        self._sizes[key] = size
        return True

    def _is_damaged(self, key: str) -> bool:
        """Return whether a copied file is not as written."""
        try:
            self._compared.verify(key)
        except StorageDamagedError:
            return True
        except FileNotFoundError:  # deleted since it was copied
            return False
        return False

    def _still_named(self, keys: set[str]) -> set[str]:
        """Those that rows name now: they are missing, and were not removed while the backup was made."""
        ordered = sorted(keys)
        with self._database.read() as connection:
            return _referenced(connection, ordered)

    def _write_files(self, keys: set[str]) -> list[FileEntry]:
        """Write the list; links that belong to nothing any more goes."""
        for key in self._sizes.keys() - keys:
            (self._folder / STORAGE / key).unlink(missing_ok=True)
            del self._sizes[key]
        entries = []
        with (self._folder / FILES).open("w", encoding="utf-8") as lines:
            for key in sorted(keys):
                digest = digest_of(self._folder / STORAGE / key) if self._copies else None
                entries.append(FileEntry(key, self._sizes[key], digest))
                lines.write(json.dumps(asdict(entries[-1])) + "\n")
        return entries


def _take(folder: Path) -> None:
    """Make the folder, or take an empty one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise CannotStartError(f"{folder} is not empty: a backup has a folder of its own")
        for name in (DATABASE, STORAGE):
            (folder / name).mkdir(mode=0o700)
        folder.chmod(0o700)
    except OSError as error:
        raise CannotStartError(f"{folder} cannot be written: {error.strerror}") from error


def _write_secrets(settings: Settings, folder: Path, admin_key: str) -> dict[str, str]:
    """The service's secrets and signing keys; their digests."""
    keys = storage_keys(settings)
    secrets = {
        "storage_keys": [] if keys is None else list(keys.names),
        "server_secret": settings.server_secret.get_secret_value(),
        "previous_server_secret": settings.previous_server_secret.get_secret_value(),
        "admin_key": admin_key,
    }
    write_private(folder / SECRETS, json.dumps(secrets) + "\n")
    pem = settings.signing_key.get_secret_value()
    if not pem and settings.signing_key_file is not None and settings.signing_key_file.exists():
        pem = read_file(settings.signing_key_file)
    if pem:
        write_private(folder / SIGNING, pem)
    return {name: digest_of(folder / name) or "" for name in (SECRETS, SIGNING) if (folder / name).exists()}


def _referenced(connection: Connection, keys: list[str]) -> set[str]:
    named: set[str] = set()
    for start in range(0, len(keys), _KEYS):
        named |= expiry.referenced(connection, keys=keys[start : start + _KEYS])
    return named
