"""A local folder as storage: written beside, synced, renamed into place."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from app.errors import StorageFullError, StorageUnavailableError
from app.storage.protocol import CHUNK_BYTES, StoredObject, checked_key, checked_prefix, opened, write_file

#: No key begins with a dot, so unfinished files cannot be mistaken for objects.
_PARTIAL = ".partial"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
#: A rename loses its folder when a delete empties it at the same moment; it is made again.
_PLACING_ATTEMPTS = 20


class LocalStorage:
    """Objects as files under one folder (mode 0700), unfinished ones on the same file system."""

    def __init__(self, root: Path) -> None:
        self._root = root.absolute()
        self._partial = self._root / _PARTIAL
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._partial.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def writer(self, key: str) -> Iterator["_LocalWriter"]:
        """Write one object; see :class:`~app.storage.protocol.Storage`."""
        target = self._path(key)
        partial = self._partial / uuid4().hex
        with _faults(), self._mounted():
            descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            try:
                yield _LocalWriter(descriptor)
                with _faults():
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
            self._place(partial, target)
        except BaseException:
            with suppress(OSError):  # what cannot be removed now is swept later
                partial.unlink(missing_ok=True)
            raise

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of the file."""
        write_file(self.writer(key), path)

    def chunks(self, key: str, *, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Bytes of an object."""
        return opened(self._read(self._path(key), start, end))

    def fetch(self, key: str, path: Path) -> None:
        """Link the object to `path`, or copy it where that is another file system."""
        source = self._path(key)
        path.unlink(missing_ok=True)
        with self._mounted():
            try:
                os.link(source, path)
            except FileNotFoundError:
                raise
            except OSError:
                with _faults():
                    shutil.copyfile(source, path)

    def delete(self, key: str) -> None:
        """Remove the object and the folders that it leaves empty."""
        path = self._path(key)
        try:
            with _faults():
                path.unlink()
        except FileNotFoundError:
            return
        with _faults():
            self._remove_empty(path)

    def move(self, key: str, to: str) -> None:
        """Rename the object; its time stays."""
        source, target = self._path(key), self._path(to)
        if source.exists():
            self._place(source, target)
            self._remove_empty(source)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """Objects below a prefix."""
        for folder, _, names in os.walk(self._root / checked_prefix(prefix)):
            for name in names:
                path = Path(folder, name)
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                key = path.relative_to(self._root).as_posix()
                yield StoredObject(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    def sweep(self, *, before: datetime) -> int:
        """Remove unfinished files not written to since `before`."""
        removed = 0
        for path in self._partial.iterdir():
            try:
                if path.stat().st_mtime < before.timestamp():
                    path.unlink()
                    removed += 1
            except FileNotFoundError:
                continue
        return removed

    def check(self) -> None:
        """Write a byte and remove it."""
        path = self._partial / f"check-{uuid4().hex}"
        try:
            with _faults(), self._mounted():
                path.write_bytes(b"\n")
        finally:
            with suppress(OSError):
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._root / checked_key(key)

    def _remove_empty(self, path: Path) -> None:
        """Remove the folders that an object has left empty."""
        _sync_folder(path.parent)
        for folder in path.parents:
            if folder == self._root:
                break
            try:
                folder.rmdir()
            except OSError:  # not empty, or gone already
                break

    def _place(self, partial: Path, target: Path) -> None:
        for attempt in range(_PLACING_ATTEMPTS):
            try:
                with _faults():
                    made = self._make_folder(target.parent)
                    partial.rename(target)
            except (FileNotFoundError, FileExistsError):
                if attempt + 1 == _PLACING_ATTEMPTS:
                    raise
                continue
            with _faults():
                for folder in (target, *made):
                    _sync_folder(folder.parent)
            return

    def _make_folder(self, folder: Path) -> tuple[Path, ...]:
        missing = [folder, *folder.parents]
        missing = [each for each in missing[: missing.index(self._root)] if not each.exists()]
        for each in reversed(missing):
            each.mkdir(mode=0o700, exist_ok=True)
        return tuple(missing)

    @contextmanager
    def _mounted(self) -> Iterator[None]:
        """What is absent because the whole folder is away (not mounted) cannot be reached: it is not gone."""
        try:
            yield
        except FileNotFoundError as error:
            if self._partial.is_dir():
                raise
            raise _unavailable() from error

    def _read(self, path: Path, start: int, end: int | None) -> Iterator[bytes]:
        with _faults(), self._mounted():
            file = path.open("rb", buffering=0)
        with file:
            file.seek(start)
            left = None if end is None else max(0, end - start)
            while left != 0:
                with _faults():
                    data = file.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left))
                if not data:
                    return
                left = None if left is None else left - len(data)
                yield data


class _LocalWriter:
    """Writes to an open descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes) -> None:
        """Append all of `data`."""
        rest = memoryview(data)
        with _faults():
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


@contextmanager
def _faults() -> Iterator[None]:
    """Errors of the file system as errors of ours; absent objects stay `FileNotFoundError`."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFullError(
                "there is no room left in the storage; delete datasets or releases, or ask the operator for more room"
            ) from error
        raise _unavailable() from error


def _unavailable() -> StorageUnavailableError:
    return StorageUnavailableError(
        "the storage cannot be read or written now; try again in a moment, jobs that were accepted wait for it",
        retry_after=5,
    )


def _sync_folder(folder: Path) -> None:
    """Make names in a folder durable; a folder that is gone has none."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
