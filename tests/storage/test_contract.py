"""One contract, every storage."""

import os
import threading
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.storage.protocol import CHUNK_BYTES, Storage
from app.storage.sealed import HEADER_BYTES, PIECE_BYTES, SealedStorage

MEGABYTE = 1 << 20


def put(storage: Storage, key: str, *parts: bytes) -> None:
    with storage.writer(key) as writer:
        for part in parts:
            writer.write(part)


def fail(storage: Storage, key: str, *parts: bytes) -> None:
    with storage.writer(key) as writer:
        for part in parts:
            writer.write(part)
        raise ZeroDivisionError


def get(storage: Storage, key: str, start: int = 0, end: int | None = None) -> bytes:
    return b"".join(storage.chunks(key, start=start, end=end))


def keys(storage: Storage, prefix: str) -> set[str]:
    return {entry.key for entry in storage.list(prefix)}


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, 8 * MEGABYTE, 8 * MEGABYTE + 1, 21 * MEGABYTE + 7])
def test_what_was_written_is_read(storage: Storage, size: int) -> None:
    content = os.urandom(size)
    put(storage, "staging/a", *(content[i : i + CHUNK_BYTES] for i in range(0, size, CHUNK_BYTES)))
    assert get(storage, "staging/a") == content
    (entry,) = storage.list("staging/")
    sealing = HEADER_BYTES + 16 * max(1, -(-size // PIECE_BYTES)) if isinstance(storage, SealedStorage) else 0
    assert (entry.key, entry.bytes) == ("staging/a", size + sealing)
    assert abs(entry.modified_at - datetime.now(UTC)) < timedelta(minutes=1)


def test_ranges_are_half_open_and_clipped(storage: Storage) -> None:
    content = os.urandom(3 * CHUNK_BYTES)
    put(storage, "staging/a", content)
    for start, end in [(0, 1), (5, 5), (7, 2 * CHUNK_BYTES + 3), (len(content) - 1, None), (10, 10 * len(content))]:
        assert get(storage, "staging/a", start, end) == content[start:end], (start, end)
    assert all(len(chunk) for chunk in storage.chunks("staging/a"))


def test_an_object_is_not_visible_before_its_writer_has_left(storage: Storage) -> None:
    with storage.writer("staging/a") as writer:
        for _ in range(12):
            writer.write(os.urandom(MEGABYTE))
        assert keys(storage, "staging/") == set()
        with pytest.raises(FileNotFoundError):
            storage.chunks("staging/a")
    assert keys(storage, "staging/") == {"staging/a"}


@pytest.mark.parametrize("megabytes", [0, 1, 30])
def test_nothing_remains_of_a_writer_that_failed(storage: Storage, megabytes: int) -> None:
    with pytest.raises(ZeroDivisionError):
        fail(storage, "staging/a", *[os.urandom(MEGABYTE)] * megabytes)
    assert keys(storage, "staging/") == set()
    assert storage.sweep(before=datetime.now(UTC) + timedelta(hours=1)) == 0


def test_a_failed_writer_leaves_the_object_that_was_there(storage: Storage) -> None:
    put(storage, "staging/a", b"first")
    with pytest.raises(ZeroDivisionError):
        fail(storage, "staging/a", b"second")
    assert get(storage, "staging/a") == b"first"
    put(storage, "staging/a", b"third")
    assert get(storage, "staging/a") == b"third"


def test_files_go_in_and_come_out(storage: Storage, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(os.urandom(3 * MEGABYTE))
    storage.put_file("datasets/ds_1/data.parquet", source)
    source.write_bytes(source.read_bytes()[::-1])
    storage.fetch("datasets/ds_1/data.parquet", target)
    assert target.read_bytes() == source.read_bytes()[::-1]
    with pytest.raises(FileNotFoundError):
        storage.fetch("datasets/ds_2/data.parquet", tmp_path / "absent")
    assert not (tmp_path / "absent").exists()


def test_a_fetched_file_survives_the_object(storage: Storage, tmp_path: Path) -> None:
    put(storage, "staging/a", b"content")
    storage.fetch("staging/a", tmp_path / "a")
    storage.fetch("staging/a", tmp_path / "a")
    storage.delete("staging/a")
    assert (tmp_path / "a").read_bytes() == b"content"


def test_deleted_is_gone_and_deleting_again_is_fine(storage: Storage) -> None:
    put(storage, "datasets/ds_1/data.parquet", b"1")
    put(storage, "datasets/ds_2/data.parquet", b"2")
    storage.delete("datasets/ds_1/data.parquet")
    storage.delete("datasets/ds_1/data.parquet")
    with pytest.raises(FileNotFoundError):
        storage.chunks("datasets/ds_1/data.parquet")
    assert keys(storage, "datasets/") == {"datasets/ds_2/data.parquet"}


def test_a_moved_object_is_at_its_new_key_only(storage: Storage) -> None:
    put(storage, "releases/rel_1/a.csv", b"1")
    put(storage, "trash/releases/rel_1/a.csv/2026-01-01", b"of before")
    storage.move("releases/rel_1/a.csv", "trash/releases/rel_1/a.csv/2026-01-01")
    assert get(storage, "trash/releases/rel_1/a.csv/2026-01-01") == b"1"
    assert keys(storage, "releases/") == set()
    storage.move("releases/rel_1/a.csv", "trash/releases/rel_1/a.csv/2026-01-01")
    assert get(storage, "trash/releases/rel_1/a.csv/2026-01-01") == b"1"


def test_listing_is_by_whole_segments(storage: Storage) -> None:
    for key in ("jobs/job_1/checkpoint-1-1.npz", "jobs/job_1/result-aa.json", "jobs/job_12/result-bb.json"):
        put(storage, key, b"x")
    assert keys(storage, "jobs/job_1/") == {"jobs/job_1/checkpoint-1-1.npz", "jobs/job_1/result-aa.json"}
    assert keys(storage, "nothing/") == set()
    with pytest.raises(ValueError, match="ends in '/'"):
        list(storage.list("jobs"))


@pytest.mark.parametrize(
    "key", ["", "/etc/passwd", "../a", "a/../b", "a//b", "a/", ".hidden", "a/.b", "a\nb", "ä", "a b", "a" * 600]
)
def test_keys_that_could_lead_out_are_refused(storage: Storage, key: str, tmp_path: Path) -> None:
    for use in (
        lambda: storage.delete(key),
        lambda: storage.chunks(key),
        lambda: storage.fetch(key, tmp_path / "out"),
        lambda: put(storage, key, b"x"),
    ):
        with pytest.raises(ValueError, match="storage key"):
            use()


def test_a_healthy_storage_says_so(storage: Storage) -> None:
    storage.check()
    assert keys(storage, "staging/") == set()


def test_memory_stays_bounded_while_writing_and_reading(storage: Storage) -> None:
    block = os.urandom(MEGABYTE)
    tracemalloc.start()
    try:
        with storage.writer("staging/large") as writer:
            for _ in range(64):
                writer.write(bytes(block))
        read = sum(len(chunk) for chunk in storage.chunks("staging/large"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert read == 64 * MEGABYTE
    assert peak < 30 * MEGABYTE


def test_many_threads_write_and_delete_in_one_folder(storage: Storage) -> None:
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for round_number in range(15):
                key = f"datasets/shared/{number}-{round_number}"
                put(storage, key, b"x" * number)
                assert get(storage, key) == b"x" * number
                storage.delete(key)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert keys(storage, "datasets/") == set()
