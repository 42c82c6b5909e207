"""What the service asks of a place for bytes; one contract, tested over every implementation.

Keys are relative paths of plain segments (`staging/<id>`, `datasets/<id>/<uuid>.parquet`). An object is visible, whole
and durable once its writer has left its block; before that, and after an exception, there is no object. Absent keys
raise `FileNotFoundError`; a full disk raises :class:`~app.errors.StorageFullError`; a service that does not answer
raises :class:`~app.errors.StorageUnavailableError`, as does a folder that cannot be read or written.
"""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

#: Bytes handed over at a time, in both directions.
CHUNK_BYTES = 1 << 20

#: Objects that no row points to, under their former key and the day on which they came here.
TRASH = "trash/"

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")
_MAX_KEY_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of a listing; `bytes` are those that it has in storage, sealed where it is."""

    key: str
    bytes: int
    modified_at: datetime


class Writer(Protocol):
    """Takes the bytes of one object, in order."""

    def write(self, data: bytes, /) -> int | None:
        """Append `data`; memory stays bounded however much is written."""
        ...


class Storage(Protocol):
    """A place for bytes, safe to use from many threads."""

    def writer(self, key: str) -> AbstractContextManager[Writer]:
        """Write one object; it appears when the block ends, and nothing of it remains when the block raises."""
        ...

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of the file at `path`."""
        ...

    def chunks(self, key: str, *, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """The bytes from `start` (within the object) to `end` (exclusive, clipped to the object).

        An absent object raises at the call, not at the first chunk.
        """
        ...

    def fetch(self, key: str, path: Path) -> None:
        """Make the object's bytes readable at `path` (which must not be written to)."""
        ...

    def delete(self, key: str) -> None:
        """Remove the object for good; an absent one is fine."""
        ...

    def move(self, key: str, to: str) -> None:
        """Give the object another key, in the place of whatever is there; an absent one is fine."""
        ...

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects whose key begins with `prefix`, which ends in `/`."""
        ...

    def sweep(self, *, before: datetime) -> int:
        """Remove what writers that were killed before that instant have left; the number of pieces removed."""
        ...

    def check(self) -> None:
        """Raise when objects cannot be stored now."""
        ...


def checked_key(key: str) -> str:
    """The key itself, when no part of it could lead out of the storage.

    Raises
    ------
    ValueError
        For keys that are not plain relative paths; keys are ours, so this is a programming error.
    """
    if len(key) > _MAX_KEY_CHARACTERS or not _KEY.fullmatch(key):
        raise ValueError("a storage key is a relative path of letters, digits, '.', '_' and '-'")
    return key


def checked_prefix(prefix: str) -> str:
    """The prefix itself, when it is a key followed by `/`."""
    if not prefix.endswith("/"):
        raise ValueError("a storage prefix ends in '/'")
    checked_key(prefix[:-1])
    return prefix


def write_file(opening: AbstractContextManager[Writer], path: Path) -> None:
    """Write a copy of the file at `path` by a writer that is about to be opened."""
    with path.open("rb", buffering=0) as file, opening as writer:
        while data := file.read(CHUNK_BYTES):
            writer.write(data)


def opened(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same chunks with the first one read: an absent file is noticed before an answer begins."""
    first = next(chunks, b"")
    return _resumed(first, chunks)


def _resumed(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    if first:
        yield first
    yield from rest
