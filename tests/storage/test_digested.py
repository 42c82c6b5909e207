"""Bytes that changed at rest are never handed out, whatever changed and whatever part is asked for."""

import hashlib
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import func, update

from app.contracts.digests import PIECE_BYTES, ObjectDigests
from app.db.digests import DatabaseDigests
from app.db.session import Database
from app.db.tables.storage import stored_object
from app.errors import StorageDamagedError
from app.housekeeping.scrub import Scrub
from app.settings import Settings
from app.storage.digested import DigestedStorage, undigested
from app.storage.protocol import Storage
from app.storage.sealed import SealedStorage
from tests.drawing import seeds

KEY = "releases/rel_1/data.csv"

Damage = Callable[[bytearray, np.random.Generator], None]


def flip(content: bytearray, draw: np.random.Generator) -> None:
    content[int(draw.integers(len(content)))] ^= 1 << int(draw.integers(8))


def cut(content: bytearray, draw: np.random.Generator) -> None:
    del content[int(draw.integers(len(content))) :]


def cut_pieces(content: bytearray, draw: np.random.Generator) -> None:
    del content[int(draw.integers(-(-len(content) // PIECE_BYTES))) * PIECE_BYTES :]


def append(content: bytearray, draw: np.random.Generator) -> None:
    content += draw.bytes(int(draw.integers(1, 2 * PIECE_BYTES)))


def zero(content: bytearray, draw: np.random.Generator) -> None:
    start = int(draw.integers(len(content)))
    content[start : start + 4096] = bytes(len(content[start : start + 4096]))


def exchange(content: bytearray, draw: np.random.Generator) -> None:
    content[:] = draw.bytes(len(content))


def turn(content: bytearray, draw: np.random.Generator) -> None:
    by = int(draw.integers(1, len(content))) if len(content) > 1 else 0
    content[:] = content[by:] + content[:by] if by else bytes([content[0] ^ 1])


DAMAGES: tuple[Damage, ...] = (flip, cut, cut_pieces, append, zero, exchange, turn)


def put(storage: Storage, content: bytes, key: str = KEY) -> None:
    with storage.writer(key) as writer:
        for start in range(0, len(content), 700_001):
            writer.write(content[start : start + 700_001])


def got(storage: Storage, start: int = 0, end: int | None = None, key: str = KEY) -> tuple[bytes, bool]:
    """Read an object; return the bytes that arrive, and False if the storage ends them as damaged."""
    come = b""
    try:
        for data in storage.chunks(key, start=start, end=end):
            come += data
    except StorageDamagedError:
        return come, False
    return come, True


def replace(storage: Storage, content: bytes, key: str = KEY) -> None:
    """Change an object behind the back of its digests, and of its seal."""
    inner = undigested(storage)
    put(inner.inner if isinstance(inner, SealedStorage) else inner, content, key)


def as_stored(storage: Storage, key: str = KEY) -> bytes:
    inner = undigested(storage)
    return b"".join((inner.inner if isinstance(inner, SealedStorage) else inner).chunks(key))


@pytest.fixture(params=["local", "s3", "local_sealed"])
def digested(request: pytest.FixtureRequest) -> DigestedStorage:
    storage = request.getfixturevalue(f"{request.param}_digested_storage")
    assert isinstance(storage, DigestedStorage)
    return storage


@pytest.mark.parametrize("seed", seeds(12))
def test_whatever_changed_nothing_is_handed_out_that_was_not_written(
    digested: DigestedStorage, digests: DatabaseDigests, tmp_path: Path, seed: int
) -> None:
    draw = np.random.default_rng([43, seed])
    content = draw.bytes(int(draw.choice([1, 5000, PIECE_BYTES - 1, PIECE_BYTES, 3 * PIECE_BYTES, 3_500_000])))
    put(digested, content)
    stored = as_stored(digested)
    changed = bytearray(stored)
    DAMAGES[seed % len(DAMAGES)](changed, draw)
    if bytes(changed) == stored:  # zeros instead of zeros
        changed[0] ^= 1
    replace(digested, bytes(changed))
    for _ in range(8):
        start, end = sorted(int(one) for one in draw.integers(len(content) + 1, size=2))
        come, whole = got(digested, start, end)
        assert content[start:end].startswith(come)
        assert not whole or come == content[start:end]
    come, whole = got(digested)
    assert not whole
    assert content.startswith(come)
    assert len(come) < len(content) or len(changed) > len(stored)
    with pytest.raises(StorageDamagedError, match=r"damaged|stored object"):
        digested.fetch(KEY, tmp_path / "fetched")
    assert not (tmp_path / "fetched").exists()
    known = digests.get(KEY)
    assert known is not None
    assert known.damaged
    replace(digested, stored)
    assert got(digested) == (content, True), "an operator has brought it back"
    assert got(digested, len(content) // 2) == (content[len(content) // 2 :], True)


def test_what_is_known_as_damaged_is_refused_before_its_first_byte(digested: DigestedStorage) -> None:
    content = os.urandom(3 * PIECE_BYTES)
    put(digested, content)
    stored = as_stored(digested)
    replace(digested, stored[:-1] + bytes([stored[-1] ^ 1]))
    assert not got(digested)[1]
    with pytest.raises(StorageDamagedError):
        digested.chunks(KEY)
    with pytest.raises(StorageDamagedError):
        digested.chunks(KEY, start=0, end=10)


def test_an_object_of_an_older_process_has_digests_once_it_was_read(digested: DigestedStorage, tmp_path: Path) -> None:
    for key, read in (
        ("jobs/job_1/a.json", lambda key: b"".join(digested.chunks(key))),
        ("jobs/job_1/b.json", lambda key: digested.fetch(key, tmp_path / "fetched")),
        ("jobs/job_1/c.json", digested.verify),
    ):
        content = os.urandom(PIECE_BYTES + 5)
        put(undigested(digested), content, key)
        assert got(digested, 5, 9, key) == (content[5:9], True)
        read(key)
        stored = as_stored(digested, key)
        replace(digested, stored[:-1] + bytes([stored[-1] ^ 1]), key)
        assert not got(digested, key=key)[1]


def test_digests_follow_an_object_to_the_trash_and_back(digested: DigestedStorage) -> None:
    content, trash = os.urandom(5000), f"trash/{KEY}/2026-01-31"
    put(digested, content)
    digested.move(KEY, trash)
    assert got(digested, key=trash) == (content, True)
    digested.move(trash, KEY)
    replace(digested, as_stored(digested)[:-1])
    assert not got(digested)[1]


def test_a_deleted_object_leaves_no_digests(digested: DigestedStorage, digests: DatabaseDigests) -> None:
    put(digested, b"content")
    digested.delete(KEY)
    assert digests.get(KEY) is None
    put(undigested(digested), b"another")
    assert got(digested) == (b"another", True)


class ComparedMeanwhile(DatabaseDigests):
    """Digests of an object that housekeeping looks for before it has appeared."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.scrub: Callable[[], object] = list

    def put(self, key: str, digests: ObjectDigests) -> None:
        super().put(key, digests)
        self.scrub()


@pytest.mark.parametrize("seed", seeds(12))
def test_housekeeping_forgets_no_digests_of_an_object_that_is_being_written(
    local_storage: Storage, digests: DatabaseDigests, digests_database: Database, seed: int
) -> None:
    draw, meanwhile = np.random.default_rng([44, seed]), ComparedMeanwhile(digests_database)
    storage = DigestedStorage(local_storage, meanwhile)
    scrub = Scrub(Settings(), database=digests_database, storage=storage)
    meanwhile.scrub = scrub.read_all
    put(storage, draw.bytes(int(draw.integers(1, 3 * PIECE_BYTES))))
    changed = bytearray(as_stored(storage))
    flip(changed, draw)
    replace(storage, bytes(changed))
    assert not got(storage)[1]
    undigested(storage).delete(KEY)
    scrub.read_all()
    assert digests.get(KEY) is not None
    with digests_database.unit_of_work() as unit:
        long_ago = func.clock_timestamp() - timedelta(hours=25)
        unit.connection.execute(update(stored_object).values(checked_at=long_ago))
    scrub.read_all()
    assert digests.get(KEY) is None, "whoever wrote it is gone"


class ComparedAsItMoves:
    """A storage of which everything is compared before and after an object moves."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.scrub: Callable[[], object] = list

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def move(self, key: str, to: str) -> None:
        self.scrub()
        self._inner.move(key, to)
        self.scrub()


@pytest.mark.parametrize("seed", seeds(12))
def test_housekeeping_forgets_no_digests_of_an_object_that_moves(
    local_storage: Storage, digests: DatabaseDigests, digests_database: Database, seed: int
) -> None:
    draw, moving = np.random.default_rng([45, seed]), ComparedAsItMoves(local_storage)
    storage = DigestedStorage(moving, digests)  # type: ignore[arg-type]
    put(storage, draw.bytes(int(draw.integers(1, 3 * PIECE_BYTES))))
    with digests_database.unit_of_work() as unit:
        long_ago = func.clock_timestamp() - timedelta(hours=int(draw.integers(25, 2000)))
        unit.connection.execute(update(stored_object).values(checked_at=long_ago))
    moving.scrub = Scrub(Settings(), database=digests_database, storage=storage).read_all
    trash = f"trash/{KEY}/2026-01-31"
    storage.move(KEY, trash)
    moved = draw.integers(2)
    if moved:
        storage.move(trash, KEY)
    key = KEY if moved else trash
    changed = bytearray(as_stored(storage, key))
    flip(changed, draw)
    replace(storage, bytes(changed), key)
    assert not got(storage, key=key)[1]
    assert (digests.get(trash) is None) == bool(moved)
    assert (digests.get(KEY) is None) != bool(moved)


def test_digests_are_of_the_content_whoever_seals_it(
    local_digested_storage: DigestedStorage, digests: DatabaseDigests
) -> None:
    content = os.urandom(2 * PIECE_BYTES + 1)
    put(local_digested_storage, content)
    known = digests.get(KEY)
    assert known is not None
    assert known.size == len(content)
    starts = range(0, len(content), PIECE_BYTES)
    assert known.pieces == b"".join(hashlib.sha256(content[at : at + PIECE_BYTES]).digest() for at in starts)
