"""Sealed objects: without the service's key, the folder or the bucket shows how large objects are and no more.

Each object has a key of its own, derived from the service's storage key and 24 random bytes at its head. Its bytes are
sealed in pieces with AES-256-GCM as in the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizar, 2015, "Online
Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance"; that of `age` and of Tink): the nonce is the number of
the piece and whether it is the last one, and the name of the object is authenticated with each. A piece that is
changed, missing, moved, or taken from another object does not open, nor does an object under another name. What does
open is an *older* object of the same name: names are used once, but for those of publications and of an
installation's id.

Objects that were stored before there was a key stay readable, unless `sealed_only` refuses them.

Notation
--------
header   MAGIC, name of the storage key (8 bytes), salt (24 bytes)
object   header, piece 0, ..., piece n: each PIECE_BYTES (the last one 0 to PIECE_BYTES) and a tag of 16 bytes
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import structlog

from app.errors import CannotStartError, StorageDamagedError
from app.storage.protocol import TRASH, Storage, Writer, checked_key, opened, write_file

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MAGIC: Final = b"SBXSEAL1"
LEAST_KEY: Final = 32
PIECE_BYTES: Final = 1 << 18
_KEY_BYTES, _NAME_BYTES, _SALT_BYTES, _TAG_BYTES, _COUNTER_BYTES = 32, 8, 24, 16, 11
HEADER_BYTES: Final = len(MAGIC) + _NAME_BYTES + _SALT_BYTES
_SEALED_BYTES: Final = PIECE_BYTES + _TAG_BYTES
_PURPOSE: Final = b"surebox: storage key, 1"
_OBJECT: Final = b"surebox: sealed object, 1"

log = structlog.get_logger(__name__)


class Seal(StrEnum):
    """What an object in storage is sealed under."""

    PRESENT = "present"
    PREVIOUS = "previous"
    UNKNOWN = "unknown"
    NONE = "none"


class StorageKeys:
    """The present storage key, under which objects are sealed, and the previous one, whose objects are still opened.

    Parameters
    ----------
    present, previous
        As the operator has set them; each has 32 characters or more.

    Raises
    ------
    CannotStartError
        One is shorter.
    """

    def __init__(self, present: str, previous: str = "") -> None:
        self.present, master = _derived("SUREBOX_STORAGE_KEY", present)
        self._masters = {self.present: master}
        if previous:
            name, master = _derived("SUREBOX_PREVIOUS_STORAGE_KEY", previous)
            self._masters.setdefault(name, master)

    @property
    def names(self) -> tuple[str, ...]:
        """What distinguishes the keys from others, the present one first; it reveals nothing of them."""
        return tuple(name.hex() for name in self._masters)

    def seal_of(self, head: bytes) -> Seal:
        """Under which of the keys an object with this head is sealed."""
        if not head.startswith(MAGIC):
            return Seal.NONE
        name = head[len(MAGIC) : len(MAGIC) + _NAME_BYTES]
        if name == self.present:
            return Seal.PRESENT
        return Seal.PREVIOUS if name in self._masters else Seal.UNKNOWN

    def cipher(self, name: bytes, salt: bytes) -> "AESGCM":
        """The cipher of one object."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(_hkdf(self._masters[name], salt=salt, info=_OBJECT, length=_KEY_BYTES))


class SealedStorage:
    """A storage whose objects are sealed; see :class:`~app.storage.protocol.Storage`.

    Parameters
    ----------
    inner
        Where the sealed objects are. Listings have their sizes there: 40 bytes and 16 for each piece above what they
        contain.
    keys
        What seals and opens them.
    sealed_only
        Whether objects that are not sealed are refused. Without it, who can write to the storage can put an object of
        theirs in the place of a sealed one.
    """

    def __init__(self, inner: Storage, keys: StorageKeys, *, sealed_only: bool = False) -> None:
        self.inner, self.keys, self._sealed_only = inner, keys, sealed_only
        self.delete, self.list, self.sweep, self.check = inner.delete, inner.list, inner.sweep, inner.check

    @contextmanager
    def writer(self, key: str) -> Iterator[Writer]:
        """Write one object."""
        with self.inner.writer(key) as out:
            sealing = _Sealing(out, self.keys, home(key))
            yield sealing
            sealing.finish()

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of the file."""
        write_file(self.writer(key), path)

    def chunks(self, key: str, *, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Bytes of an object, opened.

        Raises
        ------
        StorageDamagedError
            It is not as written, or is sealed under a key that is not known here; at the first piece of which
            that is so.
        """
        if end is not None and end <= start:
            return self.inner.chunks(key, start=start, end=end)
        return opened(self._read(checked_key(key), start, end))

    def fetch(self, key: str, path: Path) -> None:
        """Make the object's bytes readable at `path`: opened there, or linked where it is not sealed."""
        if self.seal_of(key) is Seal.NONE and not self._sealed_only:
            self.inner.fetch(key, path)
            if not _is_sealed(path):
                return  # else it was sealed meanwhile
        path.unlink(missing_ok=True)  # it may be a link to an object
        try:
            with path.open("xb", buffering=0) as file:
                for data in self._read(key, 0, None):
                    file.write(data)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def move(self, key: str, to: str) -> None:
        """Give the object another key: to the trash and back as it is, elsewhere sealed again."""
        if home(key) == home(to):
            self.inner.move(key, to)
            return
        try:
            source = self.chunks(key)
        except FileNotFoundError:
            return
        with self.writer(to) as writer:
            for data in source:
                writer.write(data)
        self.delete(key)

    def seal_of(self, key: str) -> Seal:
        """What the object is sealed under."""
        return self.keys.seal_of(self._head(key))

    def _head(self, key: str) -> bytes:
        return b"".join(self.inner.chunks(key, end=HEADER_BYTES))

    def _read(self, key: str, start: int, end: int | None) -> Iterator[bytes]:
        first = start // PIECE_BYTES
        wanted = None if end is None else (end - 1) // PIECE_BYTES + 1 - first
        # One byte more than the pieces that are wanted shows whether the last of them is the object's last.
        stop = None if wanted is None else HEADER_BYTES + (first + wanted) * _SEALED_BYTES + 1
        if first == 0:
            head, rest = _split(self.inner.chunks(key, end=stop), HEADER_BYTES)
        else:
            head, rest = self._from(key, start, end, stop)
        if self.keys.seal_of(head) is Seal.NONE:
            if self._sealed_only:
                _damaged(key, "is not sealed, and SUREBOX_STORAGE_SEALED_ONLY is set")
            yield from rest if first else _cut(chain([head], rest), start, end)
            return
        cipher = self._cipher(key, head)
        pieces = _Opening(cipher, key).pieces(rest, first=first, wanted=wanted)
        empty = True
        for data in _cut(pieces, start - first * PIECE_BYTES, None if end is None else end - first * PIECE_BYTES):
            empty = False
            yield data
        if empty and first:  # behind the end: the object's, or that of the rest of it
            for _ in self._read(key, 0, None):
                pass

    def _from(self, key: str, start: int, end: int | None, stop: int | None) -> tuple[bytes, Iterator[bytes]]:
        """The head, and the bytes from `start` on or the pieces that have them: both of the same sealing."""
        sealed_at = HEADER_BYTES + start // PIECE_BYTES * _SEALED_BYTES
        head = self._head(key)
        while True:
            is_plain = self.keys.seal_of(head) is Seal.NONE
            rest = self.inner.chunks(key, start=start if is_plain else sealed_at, end=end if is_plain else stop)
            before, head = head, self._head(key)
            if head == before:
                return head, rest

    def _cipher(self, key: str, head: bytes) -> "AESGCM":
        if len(head) < HEADER_BYTES:
            _damaged(key, "is cut off")
        if self.keys.seal_of(head) is Seal.UNKNOWN:
            _damaged(
                key,
                "is sealed under a key that is neither SUREBOX_STORAGE_KEY nor SUREBOX_PREVIOUS_STORAGE_KEY: set one "
                "of the two to it",
            )
        salt_at = len(MAGIC) + _NAME_BYTES
        return self.keys.cipher(head[len(MAGIC) : salt_at], head[salt_at:])


class _Sealing:
    """Seals the bytes of one object piece by piece."""

    def __init__(self, out: Writer, keys: StorageKeys, name: str) -> None:
        import secrets

        salt = secrets.token_bytes(_SALT_BYTES)
        self._out, self._about, self._number = out, name.encode(), 0
        self._cipher = keys.cipher(keys.present, salt)
        self._waiting = bytearray()
        out.write(MAGIC + keys.present + salt)

    def write(self, data: bytes) -> None:
        """Append `data`; what may be the last piece waits."""
        self._waiting += data
        at = 0
        while len(self._waiting) - at > PIECE_BYTES:
            self._piece(bytes(memoryview(self._waiting)[at : at + PIECE_BYTES]), last=False)
            at += PIECE_BYTES
        del self._waiting[:at]

    def finish(self) -> None:
        """Write the last piece."""
        self._piece(bytes(self._waiting), last=True)

    def _piece(self, data: bytes, *, last: bool) -> None:
        self._out.write(self._cipher.encrypt(_nonce(self._number, last=last), data, self._about))
        self._number += 1


class _Opening:
    """Opens the pieces of one object."""

    def __init__(self, cipher: "AESGCM", key: str) -> None:
        self._cipher, self._key, self._about = cipher, key, home(key).encode()

    def pieces(self, source: Iterator[bytes], *, first: int, wanted: int | None) -> Iterator[bytes]:
        """The content of the pieces from `first` on, so many or all; `source` has a byte more if the object has."""
        waiting, number = bytearray(), first
        for data in source:
            waiting += data
            at = 0
            while len(waiting) - at > _SEALED_BYTES:
                yield self._open(number, bytes(memoryview(waiting)[at : at + _SEALED_BYTES]), last=False)
                number, at = number + 1, at + _SEALED_BYTES
            del waiting[:at]
        whole = wanted is not None and number - first == wanted
        if not whole and (waiting or not first):
            yield self._open(number, bytes(waiting), last=True)

    def _open(self, number: int, piece: bytes, *, last: bool) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(_nonce(number, last=last), piece, self._about)
        except InvalidTag:
            _damaged(self._key, "is not as written there")


def _is_sealed(path: Path) -> bool:
    with path.open("rb", buffering=0) as file:
        return file.read(len(MAGIC)) == MAGIC


def home(key: str) -> str:
    """The name that an object is sealed under: in the trash the one that it had before."""
    return key[len(TRASH) :].rpartition("/")[0] if key.startswith(TRASH) else key


def _damaged(key: str, why: str) -> NoReturn:
    log.error("storage.damaged", key=key, why=why)
    raise StorageDamagedError(f"a stored object {why}")


def _nonce(number: int, *, last: bool) -> bytes:
    return number.to_bytes(_COUNTER_BYTES, "big") + (b"\1" if last else b"\0")


def _derived(variable: str, key: str) -> tuple[bytes, bytes]:
    if len(key) < LEAST_KEY:
        raise CannotStartError(
            f"{variable} has {len(key)} characters and needs at least {LEAST_KEY}: set it to a random value that stays "
            "the same, e.g. of `openssl rand -hex 32`"
        )
    out = _hkdf(key.encode(), salt=None, info=_PURPOSE, length=_KEY_BYTES + _NAME_BYTES)
    return out[_KEY_BYTES:], out[:_KEY_BYTES]


def _hkdf(secret: bytes, *, salt: bytes | None, info: bytes, length: int) -> bytes:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def _split(source: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """The first bytes, and the rest."""
    head = b""
    for data in source:
        head += data
        if len(head) >= size:
            return head[:size], chain([head[size:]], source)
    return head, iter(())


def _cut(source: Iterator[bytes], start: int, end: int | None) -> Iterator[bytes]:
    """The bytes from `start` to `end` of what comes; the source is read to its end."""
    at = 0
    for data in source:
        piece = data[max(0, start - at) : None if end is None else max(0, end - at)]
        at += len(data)
        if piece:
            yield piece
