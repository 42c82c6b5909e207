"""The body of an upload as it arrives: decoded, counted, limited and hashed, a piece at a time."""

import hashlib
import zlib
from collections.abc import Iterator
from typing import Final

from app.errors import TooLargeError, UnreadableError

#: The largest piece handed on, however much a compressed one holds.
PIECE_BYTES: Final = 1 << 20
#: Small files may be as compressible as they like.
_RATIO_FROM_BYTES: Final = 4 << 20
_GZIP_WINDOW: Final = 31
#: How every gzip stream begins: its mark, and deflate as the method.
_GZIP_MAGIC: Final = b"\x1f\x8b\x08"


class Decoder:
    """Decodes one body.

    Parameters
    ----------
    gzipped
        Whether the body is said to be compressed; one that begins as gzip does is taken for it anyhow.
    max_bytes
        Limit on the decoded bytes.
    max_ratio
        Limit on decoded over encoded bytes, once some megabytes are decoded.
    """

    def __init__(self, *, gzipped: bool, max_bytes: int, max_ratio: float) -> None:
        self._gzip = _Gzip() if gzipped else None
        self._head: bytes | None = None if gzipped else b""
        self._max_bytes = max_bytes
        self._max_ratio = max_ratio
        self._hash = hashlib.sha256()
        self._encoded = 0
        #: Decoded bytes so far.
        self.bytes = 0

    @property
    def sha256(self) -> str:
        """Of the decoded bytes so far."""
        return self._hash.hexdigest()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode the next bytes of the body.

        Raises
        ------
        UnreadableError
            They are not gzip.
        TooLargeError
            A limit is exceeded.
        """
        self._encoded += len(data)
        for piece in self._decoded(self._recognised(data)):
            self.bytes += len(piece)
            self._check_limits()
            self._hash.update(piece)
            yield piece

    def _recognised(self, data: bytes) -> bytes:
        """Which kind it is known to be: nothing before the first bytes are there. No text begins as gzip does."""
        if self._head is None:
            return data
        self._head += data
        if len(self._head) < len(_GZIP_MAGIC) and _GZIP_MAGIC.startswith(self._head):
            return b""
        whole, self._head = self._head, None
        if whole.startswith(_GZIP_MAGIC):
            self._gzip = _Gzip()
        return whole

    def _decoded(self, data: bytes) -> Iterator[bytes]:
        if self._gzip is not None:
            return self._gzip.feed(data)
        return iter((data,) if data else ())

    def close(self) -> None:
        """The body has ended.

        Raises
        ------
        UnreadableError
            It is empty, or ends before its gzip stream does.
        """
        if self._gzip is not None:
            self._gzip.close()
        if self._head:
            raise UnreadableError("the gzip stream of the body ends too early: the upload was cut off")
        if self.bytes == 0:
            raise UnreadableError("the file is empty: a table has a header and records")

    def _check_limits(self) -> None:
        if self.bytes > self._max_bytes:
            raise TooLargeError(f"the decoded body has more than {self._max_bytes} bytes, which is the limit here")
        if self.bytes > _RATIO_FROM_BYTES and self.bytes > self._max_ratio * self._encoded:
            raise TooLargeError(
                f"the body decodes to more than {self._max_ratio:g} times its size, which is the limit here: "
                "send it uncompressed"
            )


class _Gzip:
    """One or more gzip members, one after the other; zeros behind a member are padding, as tape blocks have."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP_WINDOW)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode, in pieces."""
        rest = data
        while rest:
            if self._member.eof:
                rest = rest.lstrip(b"\0")
                if not rest:
                    return
                self._begin(rest)
            self._begun = True
            try:
                piece = self._member.decompress(rest, PIECE_BYTES)
            except zlib.error as error:
                raise UnreadableError(
                    "the body is not valid gzip, which it is said to be or begins as: it is damaged or not compressed"
                ) from error
            rest = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if piece:
                yield piece
            elif not rest:
                return

    def close(self) -> None:
        """Refuse a stream that ends early."""
        if self._begun and not self._member.eof:
            raise UnreadableError("the gzip stream of the body ends too early: the upload was cut off")

    def _begin(self, rest: bytes) -> None:
        if rest[:1] != b"\x1f":
            raise UnreadableError("other bytes follow the gzip stream of the body: send the file as gzip wrote it")
        self._member = zlib.decompressobj(_GZIP_WINDOW)
