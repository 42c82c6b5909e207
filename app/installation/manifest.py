"""What a backup states about itself: the last file that is written, and the first that is read."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from app.db.copying import TableCopy
from app.errors import CannotStartError
from app.processes.private import write_private
from app.storage.sealed import MAGIC

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
FILES: Final = "files.jsonl"
DATABASE: Final = "database"
STORAGE: Final = "storage"
SECRETS: Final = "secrets.json"
SIGNING: Final = "signing.pem"
#: A digest in the name of an object.
_STATED: Final = re.compile(r"/([0-9a-f]{64})\.")
_READ_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One object of storage; without a digest it is listed only, and its bytes are not in the backup."""

    key: str
    bytes: int
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """A whole backup."""

    format: int
    made_at: str
    version: str
    installation: str
    revision: str
    tables: tuple[TableCopy, ...]
    sequences: dict[str, int]
    files: int
    file_bytes: int
    #: Digests of the files next to the tables: the list of objects, secrets, signing keys.
    sha256: dict[str, str]
    #: Storage keys that rows named and storage did not have when the backup was made.
    missing: tuple[str, ...]
    #: Storage keys of files that were damaged in storage when the backup was made: it holds them as they were there.
    damaged: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write it, readable by its owner only."""
        write_private(folder / MANIFEST, json.dumps(asdict(self), indent=1) + "\n")


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup.

    Raises
    ------
    CannotStartError
        The folder contains no whole backup, or one of a newer version.
    """
    try:
        raw: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if raw["format"] != FORMAT:
            raise CannotStartError(f"{folder} was made by a newer version of Surebox: restore it with that version")
        tables = tuple(TableCopy(**{**each, "columns": tuple(each["columns"])}) for each in raw.pop("tables"))
        keys = {name: tuple(raw.get(name, ())) for name in ("missing", "damaged")}
        return Manifest(**{**raw, "tables": tables, **keys})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotStartError(f"{folder} has no whole backup: {MANIFEST} is not there or cannot be read") from error


def faults(folder: Path, manifest: Manifest) -> list[str]:
    """The faults of the files of a backup; every byte is read."""
    wrong = [
        f"{DATABASE}/{each.name}.copy"
        for each in manifest.tables
        if digest_of(folder / DATABASE / f"{each.name}.copy") != each.sha256
    ]
    wrong += [name for name, digest in manifest.sha256.items() if digest_of(folder / name) != digest]
    if FILES in wrong:
        return wrong
    count = 0
    for entry in read_files(folder):
        count += 1
        if entry.sha256 is not None and digest_of(folder / STORAGE / entry.key) != entry.sha256:
            wrong.append(f"{STORAGE}/{entry.key}")
    return wrong if count == manifest.files else [*wrong, FILES]


def damaged(folder: Path, manifest: Manifest) -> list[str]:
    """Files that were damaged when the backup was made: it says so, or their names state another SHA-256.

    The name of a sealed file states the digest of its content: sealed files were opened when the backup was made.
    """
    named = {entry.key for entry in read_files(folder) if _belies_its_name(folder / STORAGE / entry.key, entry)}
    return sorted(named | set(manifest.damaged))


def _belies_its_name(path: Path, entry: FileEntry) -> bool:
    stated = _STATED.search(entry.key)
    if stated is None or entry.sha256 in {None, stated[1]}:
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) != MAGIC


def read_files(folder: Path) -> Iterator[FileEntry]:
    """The objects that a backup contains or lists."""
    with (folder / FILES).open(encoding="utf-8") as lines:
        for line in lines:
            yield FileEntry(**json.loads(line))


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file; None where there is none."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(_READ_BYTES):
                digest.update(data)
    except OSError:
        return None
    return digest.hexdigest()
