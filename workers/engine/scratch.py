"""Scratch folders of running jobs. They contain microdata, so those that a killed process left are removed.

Each folder is locked by the process that uses it; the lock ends with the process, however it dies.
"""

import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.errors import StorageFullError, StorageUnavailableError, SureboxError

_PREFIX = "surebox-scratch-"
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FAULTY = frozenset({errno.EROFS, errno.EIO, errno.ESTALE})
#: What a job waits for whose worker has no folder to work in.
NO_SCRATCH = StorageUnavailableError("the scratch folder of a worker cannot be used; ask the operator", retry_after=5)
#: A folder younger than this may not be locked yet.
_YOUNG_SECONDS = 60.0


@contextmanager
def scratch_folder(parent: Path | None) -> Iterator[Path]:
    """A folder of one's own below `parent` (default: the system's temporary folder), removed at the end."""
    if parent is not None:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(descriptor)


def room_each(parent: Path | None, *, concurrency: int) -> int | None:
    """Return how many bytes of files each of so many jobs at a time has room for; None: the folder cannot be looked at.

    What jobs have there now is counted as room: it is free again once they have ended.

    Parameters
    ----------
    parent
        Where the folders are made; None for the system's temporary folder.
    concurrency
        Jobs at a time.
    """
    folder = Path(parent or tempfile.gettempdir())
    try:
        free = shutil.disk_usage(_there(folder)).free
    except OSError:
        return None
    return (free + sum(_size(path) for path in folder.glob(f"{_PREFIX}*/**/*"))) // concurrency


def _there(folder: Path) -> Path:
    """A folder, or what it is to be made in: it is made with the first job."""
    return next((path for path in (folder, *folder.absolute().parents) if path.exists()), folder)


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except OSError:  # removed meanwhile
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def scratch_fault(error: BaseException) -> SureboxError | None:
    """Show what a worker's own disk has to do with an error: no room, or nothing can be written; None: nothing."""
    number = error.errno if isinstance(error, OSError) else None
    text = str(error) if number is None else ""
    if number in _FULL or any(f"os error {one}" in text for one in _FULL):  # as readers written in Rust state it
        return StorageFullError("there is no room left for the scratch files of a worker; ask the operator")
    if number in _FAULTY or any(f"os error {one}" in text for one in _FAULTY):
        return NO_SCRATCH
    return None


def sweep(parent: Path | None, *, older_than: float = _YOUNG_SECONDS) -> int:
    """Remove the folders of processes that are gone; how many."""
    removed = 0
    for path in Path(parent or tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        try:
            if time.time() - path.stat().st_mtime < older_than:
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:  # removed meanwhile, or another user's
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
        except BlockingIOError:
            continue
        finally:
            os.close(descriptor)
    return removed
