"""What only sealed storage has: nothing readable beside the key, nothing that can be changed unseen."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from pydantic import SecretStr

from app.errors import CannotStartError, StorageDamagedError
from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.local import LocalStorage
from app.storage.protocol import Storage
from app.storage.sealed import HEADER_BYTES, PIECE_BYTES, Seal, SealedStorage, StorageKeys

FIRST, SECOND = "first storage key, " + "1" * 32, "second storage key, " + "2" * 32
PIECE = PIECE_BYTES + 16
KEY = "datasets/ds_1/data.parquet"


def opened(folder: Path, *, key: str = FIRST, previous: str = "", sealed_only: bool = False) -> SealedStorage:
    storage = open_storage(
        Settings(
            storage_url=f"file:{folder}",
            storage_key=SecretStr(key),
            previous_storage_key=SecretStr(previous),
            storage_sealed_only=sealed_only,
        )
    )
    assert isinstance(storage, SealedStorage)
    return storage


def plain(folder: Path) -> Storage:
    return open_storage(Settings(storage_url=f"file:{folder}"))


def put(storage: Storage, key: str, content: bytes) -> None:
    with storage.writer(key) as writer:
        writer.write(content)


def get(storage: Storage, key: str, start: int = 0, end: int | None = None) -> bytes:
    return b"".join(storage.chunks(key, start=start, end=end))


def test_nothing_of_the_content_lies_in_storage_and_no_two_objects_are_alike(tmp_path: Path) -> None:
    storage, content = opened(tmp_path), b"a wage of 123456.78 " * 50_000
    put(storage, KEY, content)
    put(storage, "datasets/ds_2/data.parquet", content)
    first, second = (tmp_path / KEY).read_bytes(), (tmp_path / "datasets/ds_2/data.parquet").read_bytes()
    assert get(storage, KEY) == content
    assert b"123456.78" not in first
    assert len(first) == HEADER_BYTES + len(content) + 16 * -(-len(content) // PIECE_BYTES)
    assert {first[i : i + 16] for i in range(HEADER_BYTES, len(first) - 16, 16)}.isdisjoint(
        {second[i : i + 16] for i in range(HEADER_BYTES, len(second) - 16, 16)}
    )


def test_an_object_opens_by_what_the_description_says_alone(tmp_path: Path) -> None:
    content = secrets.token_bytes(2 * PIECE_BYTES + 5)
    put(opened(tmp_path), KEY, content)
    sealed = (tmp_path / KEY).read_bytes()
    derived = HKDF(SHA256(), 40, None, b"surebox: storage key, 1").derive(FIRST.encode())
    assert sealed[:16] == b"SBXSEAL1" + derived[32:]
    cipher = AESGCM(HKDF(SHA256(), 32, sealed[16:40], b"surebox: sealed object, 1").derive(derived[:32]))
    pieces = [sealed[at : at + PIECE] for at in range(HEADER_BYTES, len(sealed), PIECE)]
    nonces = [number.to_bytes(11, "big") + bytes([number == len(pieces) - 1]) for number in range(len(pieces))]
    assert b"".join(map(cipher.decrypt, nonces, pieces, [KEY.encode()] * 3)) == content


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES])
def test_every_range_is_that_of_the_content(tmp_path: Path, size: int) -> None:
    storage, content = opened(tmp_path), secrets.token_bytes(size)
    put(storage, KEY, content)
    edges = sorted({0, 1, size - 1, size, size + 9, *(n * PIECE_BYTES + d for n in (1, 2, 3) for d in (-1, 0, 1))})
    for start in (edge for edge in edges if edge >= 0):
        for end in [None, *(edge for edge in edges if edge >= 0)]:
            assert get(storage, KEY, start, end) == content[start:end], (start, end)


def cut(at: int) -> Callable[[bytes], bytes]:
    return lambda sealed: sealed[:at]


def flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda sealed: sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]


def swapped(sealed: bytes) -> bytes:
    first, second = (sealed[HEADER_BYTES + n * PIECE : HEADER_BYTES + (n + 1) * PIECE] for n in (0, 1))
    return sealed[:HEADER_BYTES] + second + first + sealed[HEADER_BYTES + 2 * PIECE :]


DAMAGES = {
    "header only": cut(HEADER_BYTES),
    "in the header": cut(HEADER_BYTES - 1),
    "behind a piece": cut(HEADER_BYTES + PIECE),
    "behind two pieces": cut(HEADER_BYTES + 2 * PIECE),
    "within a piece": cut(HEADER_BYTES + PIECE + 100),
    "one byte": lambda sealed: sealed[:-1],
    "more": lambda sealed: sealed + b"\0",
    "a piece twice": lambda sealed: sealed + sealed[-PIECE:],
    "salt": flipped(20),
    "first piece": flipped(HEADER_BYTES + 3),
    "tag of the last piece": lambda sealed: flipped(len(sealed) - 1)(sealed),
    "reordered": swapped,
    "left out": lambda sealed: sealed[: HEADER_BYTES + PIECE] + sealed[HEADER_BYTES + 2 * PIECE :],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
@pytest.mark.parametrize("size", [3 * PIECE_BYTES, 2 * PIECE_BYTES + 77])
def test_whatever_is_changed_does_not_open(tmp_path: Path, damage: Callable[[bytes], bytes], size: int) -> None:
    storage, content = opened(tmp_path), secrets.token_bytes(size)
    put(storage, KEY, content)
    (tmp_path / KEY).write_bytes(damage((tmp_path / KEY).read_bytes()))
    with pytest.raises(StorageDamagedError):
        get(storage, KEY)
    with pytest.raises(StorageDamagedError):
        storage.fetch(KEY, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    for start, end in [(0, 10), (PIECE_BYTES, PIECE_BYTES + 10), (size - 5, None), (size - 5, size), (0, size)]:
        with contextlib.suppress(StorageDamagedError):  # a range that the change does not reach is what it was
            assert get(storage, KEY, start, end) == content[start:end]


def test_a_range_behind_what_was_cut_off_is_not_empty_but_refused(tmp_path: Path) -> None:
    storage = opened(tmp_path)
    put(storage, KEY, secrets.token_bytes(3 * PIECE_BYTES))
    (tmp_path / KEY).write_bytes((tmp_path / KEY).read_bytes()[: HEADER_BYTES + PIECE])
    for start, end in [(PIECE_BYTES, None), (2 * PIECE_BYTES + 5, 2 * PIECE_BYTES + 9), (0, 10)]:
        with pytest.raises(StorageDamagedError):
            get(storage, KEY, start, end)


def test_an_object_does_not_open_under_another_name(tmp_path: Path) -> None:
    storage, other = opened(tmp_path), "datasets/ds_2/data.parquet"
    put(storage, KEY, b"mine")
    put(storage, other, b"yours")
    mine, yours = (tmp_path / KEY).read_bytes(), (tmp_path / other).read_bytes()
    (tmp_path / KEY).write_bytes(yours)
    (tmp_path / other).write_bytes(mine)
    for key in (KEY, other):
        with pytest.raises(StorageDamagedError):
            get(storage, key)


def test_objects_go_to_the_trash_and_back_as_they_are_and_elsewhere_sealed_anew(tmp_path: Path) -> None:
    storage, trash = opened(tmp_path), f"trash/{KEY}/2026-01-31"
    put(storage, KEY, b"content")
    sealed = (tmp_path / KEY).read_bytes()
    storage.move(KEY, trash)
    assert (tmp_path / trash).read_bytes() == sealed
    assert get(storage, trash) == b"content"
    storage.move(trash, KEY)
    assert get(storage, KEY) == b"content"
    storage.move(KEY, "datasets/ds_2/data.parquet")
    assert get(storage, "datasets/ds_2/data.parquet") == b"content"
    with pytest.raises(FileNotFoundError):
        storage.chunks(KEY)
    storage.move(KEY, "datasets/ds_3/data.parquet")


def test_objects_of_before_stay_readable_unless_they_are_refused(tmp_path: Path) -> None:
    content = secrets.token_bytes(3 * PIECE_BYTES + 9)
    put(plain(tmp_path), KEY, content)
    put(plain(tmp_path), "datasets/ds_2/small", b"")
    storage = opened(tmp_path)
    assert storage.seal_of(KEY) is Seal.NONE
    for start, end in [(0, None), (5, 9), (PIECE_BYTES + 1, None), (2 * PIECE_BYTES, 2 * PIECE_BYTES + 3), (4, 4)]:
        assert get(storage, KEY, start, end) == content[start:end]
    assert get(storage, "datasets/ds_2/small") == b""
    storage.fetch(KEY, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == content
    strict = opened(tmp_path, sealed_only=True)
    for use in (
        lambda: get(strict, KEY),
        lambda: get(strict, KEY, PIECE_BYTES),
        lambda: strict.fetch(KEY, tmp_path / "o"),
    ):
        with pytest.raises(StorageDamagedError, match="SUREBOX_STORAGE_SEALED_ONLY"):
            use()


class Overtaken(LocalStorage):
    """A folder in which something is done once, right after the first read of an object has begun."""

    def __init__(self, root: Path, then: Callable[[], None]) -> None:
        super().__init__(root)
        self._then = [then]

    def chunks(self, key: str, *, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        source = super().chunks(key, start=start, end=end)
        if self._then:
            self._then.pop()()
        return source


@pytest.mark.parametrize("sealed_before", [False, True])
def test_readers_see_nothing_of_an_object_that_is_sealed_while_they_read(tmp_path: Path, sealed_before: bool) -> None:
    content, keys = secrets.token_bytes(3 * PIECE_BYTES + 9), StorageKeys(SECOND, FIRST)

    def overtaken() -> SealedStorage:
        put(opened(tmp_path) if sealed_before else plain(tmp_path), KEY, content)
        return SealedStorage(Overtaken(tmp_path, lambda: put(opened(tmp_path, key=SECOND), KEY, content)), keys)

    for start, end in [(0, None), (5, 9), (PIECE_BYTES + 1, None), (2 * PIECE_BYTES, 2 * PIECE_BYTES + 3)]:
        storage = overtaken()
        assert get(storage, KEY, start, end) == content[start:end], (start, end)
        assert storage.seal_of(KEY) is Seal.PRESENT
    overtaken().fetch(KEY, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == content


def test_a_fetched_file_is_no_door_to_the_object_that_lay_there(tmp_path: Path) -> None:
    put(plain(tmp_path), "datasets/ds_2/plain", b"plain")
    storage = opened(tmp_path)
    put(storage, KEY, b"sealed")
    storage.fetch("datasets/ds_2/plain", tmp_path / "out")
    storage.fetch(KEY, tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"sealed"
    assert get(storage, "datasets/ds_2/plain") == b"plain"


def test_keys_change_with_an_overlap(tmp_path: Path) -> None:
    put(opened(tmp_path), KEY, b"of the first")
    both = opened(tmp_path, key=SECOND, previous=FIRST)
    put(both, "datasets/ds_2/data.parquet", b"of the second")
    assert get(both, KEY) == b"of the first"
    assert (both.seal_of(KEY), both.seal_of("datasets/ds_2/data.parquet")) == (Seal.PREVIOUS, Seal.PRESENT)
    alone = opened(tmp_path, key=SECOND)
    assert get(alone, "datasets/ds_2/data.parquet") == b"of the second"
    assert alone.seal_of(KEY) is Seal.UNKNOWN
    with pytest.raises(StorageDamagedError, match="neither SUREBOX_STORAGE_KEY nor SUREBOX_PREVIOUS_STORAGE_KEY"):
        get(alone, KEY)


def test_a_key_that_is_too_short_or_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="SUREBOX_STORAGE_KEY has 5 characters"):
        opened(tmp_path, key="short")
    with pytest.raises(CannotStartError, match="SUREBOX_PREVIOUS_STORAGE_KEY has 5"):
        opened(tmp_path, previous="short")
    with pytest.raises(CannotStartError, match="need SUREBOX_STORAGE_KEY"):
        open_storage(Settings(storage_url=f"file:{tmp_path}", previous_storage_key=SecretStr(FIRST)))


def test_writes_of_any_size_make_the_same_object(tmp_path: Path) -> None:
    storage, content = opened(tmp_path), os.urandom(2 * PIECE_BYTES)
    for step in (1, 7_777, PIECE_BYTES, 5 * PIECE_BYTES):
        part = content if step > 1 else content[:1_000]
        with storage.writer(KEY) as writer:
            for at in range(0, len(part), step):
                writer.write(part[at : at + step])
        assert get(storage, KEY) == part
