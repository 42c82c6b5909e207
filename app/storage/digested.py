"""Stored bytes are compared with their digests whenever they are read: bytes that changed at rest are never handed out.

A disk, a controller, or a copy by hand may change a byte and say nothing. So the digests of an object are kept in
another place than its bytes (the database), by piece of a mebibyte: a piece is handed out once it is as written,
be it one of a whole download or of a range. A reader that comes to a damaged piece has got less than the whole object,
and the next one gets nothing at all.

Objects without digests (written by an older process) are read as they are, and have digests from then on. Where a row
states the SHA-256 of such an object it is read whole and compared first.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NoReturn, Protocol

import structlog

from app.contracts.digests import PIECE_BYTES, ObjectDigests
from app.errors import StorageDamagedError, UnavailableError
from app.storage.protocol import CHUNK_BYTES, Storage, Writer, checked_key, opened, write_file

#: Objects of these prefixes may be written more than once under their name, and state themselves what they contain.
UNDIGESTED: Final = ("publications/", "installation/")
#: Damaged objects up to this size are read again whenever they are asked for, larger ones by housekeeping alone.
_LARGE_BYTES: Final = 64 << 20
_DIGEST_BYTES: Final = hashlib.sha256().digest_size

log = structlog.get_logger(__name__)


class Digests(Protocol):
    """A store of digests, in another place than the objects."""

    def get(self, key: str, /) -> ObjectDigests | None:
        """The digests of an object, as far as they are known."""
        ...

    def put(self, key: str, digests: ObjectDigests, /) -> None:
        """Keep the digests of an object that is being written, or was read as it was written."""
        ...

    def forget(self, key: str, /) -> None:
        """The object is gone."""
        ...

    def copy(self, key: str, to: str, /) -> None:
        """The object is about to have another key: keep its digests under both."""
        ...

    def move(self, key: str, to: str, /) -> None:
        """The object has another key."""
        ...

    def note_damaged(self, key: str, /) -> None:
        """The object was read and is not as written."""
        ...


class DigestedStorage:
    """A storage whose objects are compared with their digests; see :class:`~app.storage.protocol.Storage`.

    Parameters
    ----------
    inner
        Where the objects are; what it hands out is compared, opened where it is sealed.
    digests
        Where the digests are.
    """

    def __init__(self, inner: Storage, digests: Digests) -> None:
        self.inner, self._digests = inner, digests
        self.list, self.sweep, self.check = inner.list, inner.sweep, inner.check

    @contextmanager
    def writer(self, key: str) -> Iterator[Writer]:
        """Write one object; its digests are kept before it appears."""
        with self.inner.writer(key) as out:
            if not is_digested(key):
                yield out
                return
            digesting = _Digesting(out)
            yield digesting
            self._digests.put(key, digesting.finish())

    def put_file(self, key: str, path: Path) -> None:
        """Store a copy of the file."""
        write_file(self.writer(key), path)

    def chunks(self, key: str, *, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Bytes of an object, each piece as it was written.

        Raises
        ------
        StorageDamagedError
            It is not as written; at the first piece of which that is so, at once where that is known already.
        """
        if not is_digested(key) or (end is not None and end <= start):
            return self.inner.chunks(key, start=start, end=end)
        return opened(self._read(key, start, end))

    def fetch(self, key: str, path: Path) -> None:
        """Make the object's bytes readable at `path`, once all of them are as written."""
        if not is_digested(key):
            self.inner.fetch(key, path)
            return
        known = self._known(key)
        try:
            with self._naming(key):
                self.inner.fetch(key, path)
                with path.open("rb", buffering=0) as file:
                    self._compare_all(key, known, iter(lambda: file.read(CHUNK_BYTES), b""))
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def verify(self, key: str) -> int:
        """Read a whole object and compare it, also one that is known as damaged: it may have been restored.

        Returns
        -------
        int
            Its bytes.

        Raises
        ------
        StorageDamagedError
            It is not as written.
        """
        known = self._digests.get(checked_key(key))
        with self._naming(key):
            return self._compare_all(key, known, self.inner.chunks(key))

    def delete(self, key: str) -> None:
        """Remove the object for good."""
        self.inner.delete(key)
        if is_digested(key):
            self._digests.forget(key)

    def move(self, key: str, to: str) -> None:
        """Give the object another key; while it moves its digests are kept under both."""
        if is_digested(key):
            self._digests.copy(key, to)
        self.inner.move(key, to)
        if is_digested(key):
            self._digests.move(key, to)

    def _known(self, key: str) -> ObjectDigests | None:
        """The digests of an object that is to be read.

        Raises
        ------
        StorageDamagedError
            It is damaged: nothing of it is handed out.
        """
        known = self._digests.get(checked_key(key))
        if known is not None and known.damaged:
            if (known.size or 0) > _LARGE_BYTES:
                _refuse()
            self.verify(key)  # an operator may have brought it back
            return self._digests.get(key)
        return known

    def _read(self, key: str, start: int, end: int | None) -> Iterator[bytes]:
        known = self._known(key)
        if known is not None and known.pieces is None and known.sha256 is not None:
            self.verify(key)  # its digest is of the whole: no part is handed out before that is compared
            known = self._known(key)
        with self._naming(key):
            if known is not None and known.pieces is not None:
                yield from self._pieces(key, known.pieces, known.size or 0, start, end)
            elif start == 0 and end is None:
                digesting = _Digesting()
                for data in self.inner.chunks(key):
                    digesting.write(data)
                    yield data
                self._learn(key, digesting.finish())
            else:
                yield from self.inner.chunks(key, start=start, end=end)

    def _pieces(self, key: str, digests: bytes, size: int, start: int, end: int | None) -> Iterator[bytes]:
        """The bytes from `start` to `end`, of pieces that are compared before they are handed out."""
        first = start // PIECE_BYTES
        last = len(digests) // _DIGEST_BYTES if end is None else -(-end // PIECE_BYTES)
        whole = end is None or end >= size
        stop = None if whole else last * PIECE_BYTES
        at = first
        for piece in _cut(self.inner.chunks(key, start=first * PIECE_BYTES, end=stop)):
            if hashlib.sha256(piece).digest() != digests[at * _DIGEST_BYTES : (at + 1) * _DIGEST_BYTES]:
                _damaged(key, "a piece is not as written")
            begin = at * PIECE_BYTES
            at += 1
            if data := piece[max(0, start - begin) : None if end is None else max(0, end - begin)]:
                yield data
        if at < min(last, len(digests) // _DIGEST_BYTES):
            _damaged(key, "it is cut off")

    def _compare_all(self, key: str, known: ObjectDigests | None, source: Iterator[bytes]) -> int:
        digesting, whole = _Digesting(), hashlib.sha256()
        by_sha256 = known is not None and known.pieces is None and known.sha256 is not None
        for data in source:
            digesting.write(data)
            if by_sha256:
                whole.update(data)
        read = digesting.finish()
        if known is not None and known.pieces is not None and (known.size, known.pieces) != (read.size, read.pieces):
            _damaged(key, "its bytes are not as written")
        if known is not None and by_sha256 and whole.hexdigest() != known.sha256:
            _damaged(key, "its bytes are not what its row states")
        if known is None or known.pieces is None or known.damaged:
            self._learn(key, read)
        return read.size or 0

    @contextmanager
    def _naming(self, key: str) -> Iterator[None]:
        """An object that does not open is as damaged as one whose digest differs."""
        try:
            yield
        except StorageDamagedError:
            with suppress(UnavailableError):  # whoever reads it next finds out again
                self._digests.note_damaged(key)
            raise

    def _learn(self, key: str, read: ObjectDigests) -> None:
        with suppress(UnavailableError):  # whoever reads it next learns them
            self._digests.put(key, read)


class _Digesting:
    """Digests all bytes by piece, and passes them on."""

    def __init__(self, out: Writer | None = None) -> None:
        self._out, self._pieces, self._bytes = out, bytearray(), 0
        self._piece = hashlib.sha256()

    def write(self, data: bytes) -> None:
        """Append `data`."""
        view = memoryview(data)
        while view:
            part = view[: PIECE_BYTES - self._bytes % PIECE_BYTES]
            self._piece.update(part)
            self._bytes += len(part)
            view = view[len(part) :]
            if self._bytes % PIECE_BYTES == 0:
                self._end_piece()
        if self._out is not None:
            self._out.write(data)

    def finish(self) -> ObjectDigests:
        """All that was written."""
        if self._bytes % PIECE_BYTES:
            self._end_piece()
        return ObjectDigests(self._bytes, bytes(self._pieces))

    def _end_piece(self) -> None:
        self._pieces += self._piece.digest()
        self._piece = hashlib.sha256()


def undigested(storage: Storage) -> Storage:
    """Return the storage whose objects this one compares; one that compares nothing as it is."""
    return storage.inner if isinstance(storage, DigestedStorage) else storage


def is_digested(key: str) -> bool:
    """Return whether digests are kept of an object with this key."""
    return not key.startswith(UNDIGESTED)


def _damaged(key: str, why: str) -> NoReturn:
    log.error("storage.damaged", key=key, why=why)
    _refuse()


def _refuse() -> NoReturn:
    raise StorageDamagedError(
        "A stored file that this needs is damaged: its bytes are not as written, and nothing of it is used. "
        "The operator finds its name in the log under `storage.damaged` and restores it from a backup."
    )


def _cut(source: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in pieces; those that come as pieces are not copied."""
    waiting = bytearray()
    for data in source:
        if not waiting and len(data) == PIECE_BYTES:
            yield data
            continue
        waiting += data
        at = 0
        while len(waiting) - at >= PIECE_BYTES:
            yield bytes(memoryview(waiting)[at : at + PIECE_BYTES])
            at += PIECE_BYTES
        del waiting[:at]
    if waiting:
        yield bytes(waiting)
