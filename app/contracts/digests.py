"""The digests of stored objects, which are kept beside the objects."""

from dataclasses import dataclass
from typing import Final

#: Bytes that one digest of `ObjectDigests.pieces` is of; the last piece has the rest.
PIECE_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ObjectDigests:
    """The digests of one object, written with it and compared whenever it is read.

    Attributes
    ----------
    size
        Its bytes; None: not known.
    pieces
        SHA-256 of each piece of `PIECE_BYTES`, one behind the other; None: not known yet.
    sha256
        SHA-256 of all its bytes in hexadecimal digits, where a row states it; None: not known.
    damaged
        Whether it was read and was not as written, and has not been read as written since.
    """

    size: int | None
    pieces: bytes | None
    sha256: str | None = None
    damaged: bool = False
