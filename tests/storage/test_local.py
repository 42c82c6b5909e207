"""What only a folder has: modes, leftovers of a kill, a full disk."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.errors import CannotStartError, StorageFullError, StorageUnavailableError
from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.local import LocalStorage
from tests.tmpfs import small_file_system


def test_nobody_else_can_read_it(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "deep" / "store")
    with storage.writer("datasets/ds_1/data.parquet") as writer:
        writer.write(b"x")
    for folder, _, names in os.walk(tmp_path / "deep" / "store"):
        assert Path(folder).stat().st_mode & 0o077 == 0
        assert all(Path(folder, name).stat().st_mode & 0o077 == 0 for name in names)


def test_deleting_leaves_no_empty_folders(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    with storage.writer("datasets/ds_1/data.parquet") as writer:
        writer.write(b"x")
    storage.delete("datasets/ds_1/data.parquet")
    assert [path.name for path in tmp_path.iterdir()] == [".partial"]


def test_what_a_killed_writer_leaves_is_swept_once_it_is_old(tmp_path: Path) -> None:
    program = (
        "import sys, pathlib, time; from app.storage.local import LocalStorage\n"
        "with LocalStorage(pathlib.Path(sys.argv[1])).writer('staging/a') as writer:\n"
        "    writer.write(b'secret'); print('written', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        process.send_signal(signal.SIGKILL)
    storage = LocalStorage(tmp_path)
    assert list(storage.list("staging/")) == []
    assert storage.sweep(before=datetime.now(UTC) - timedelta(hours=1)) == 0
    assert storage.sweep(before=datetime.now(UTC) + timedelta(seconds=2)) == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def put(storage: LocalStorage, key: str, *, megabytes: int) -> None:
    with storage.writer(key) as writer:
        for _ in range(megabytes):
            writer.write(bytes(1 << 20))


@pytest.fixture
def full_folder(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path / "small", megabytes=2) as folder:
        yield folder


def test_a_full_disk_is_a_clear_problem_and_leaves_nothing(full_folder: Path) -> None:
    storage = LocalStorage(full_folder)
    with pytest.raises(StorageFullError, match="no room left"):
        put(storage, "staging/a", megabytes=10)
    assert [path for path in full_folder.rglob("*") if path.is_file()] == []
    put(storage, "staging/b", megabytes=1)
    assert [entry.key for entry in storage.list("staging/")] == ["staging/b"]
    storage.check()
    with (full_folder / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(bytes(4096))
    with pytest.raises(StorageFullError):
        storage.check()


def test_a_folder_that_vanished_is_unavailable(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path / "store")
    (tmp_path / "store" / ".partial").rmdir()
    for use in (
        storage.check,
        lambda: put(storage, "staging/a", megabytes=1),
        lambda: list(storage.chunks("staging/b")),
    ):
        with pytest.raises(StorageUnavailableError):
            use()


@pytest.mark.parametrize("url", ["", "/folder", "ftp://host/x", "s3:", "s3:///prefix", "file://otherhost/x"])
def test_an_address_that_names_no_storage_is_refused(url: str) -> None:
    with pytest.raises(CannotStartError, match="STORAGE_URL"):
        open_storage(Settings(storage_url=url))
