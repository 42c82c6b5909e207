"""One byte range of a representation (RFC 9110, section 14)."""

import re
from dataclasses import dataclass
from typing import Final

from app.api.conditional import etag_of
from app.errors import RangeNotSatisfiableError

_RANGE: Final = re.compile(r"\s*bytes\s*=\s*(?P<first>\d{0,18})\s*-\s*(?P<last>\d{0,18})\s*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Bytes `start` to `end` (exclusive) of `size`."""

    start: int
    end: int
    size: int

    @property
    def content_range(self) -> str:
        """The Content-Range of an answer with these bytes."""
        return f"bytes {self.start}-{self.end - 1}/{self.size}"


def asked_range(header: str | None, if_range: str | None, *, size: int, sha256: str) -> ByteRange | None:
    """The range that is asked for; None when the whole is to be sent.

    The whole is sent too for several ranges, for what cannot be understood, and when `If-Range` names other bytes.

    Raises
    ------
    RangeNotSatisfiableError
        When the range lies behind the end.
    """
    match = None if header is None else _RANGE.fullmatch(header)
    if match is None or (if_range is not None and if_range.strip() != etag_of(sha256)):
        return None
    first, last = match["first"], match["last"]
    if not first and not last:
        return None
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), size if not last else min(size, int(last) + 1)
        if last and int(last) < start:
            return None
    if start >= size:
        raise RangeNotSatisfiableError(f"the representation has {size} bytes; the first of them is byte 0")
    return ByteRange(start, end, size)
