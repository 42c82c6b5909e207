"""Headers of requests: entity tags and one byte range (RFC 9110), the format by `Accept`, and `Prefer` (RFC 7240).

Artifacts never change, so their checksum is their entity tag. A download has the format that its query names, else what
`Accept` would rather have. `Prefer` gives how long a client waits for an answer, and whether it would rather not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from app.contracts.releases import MEDIA_TYPES, ReleaseFormat
from app.errors import NotAcceptableError, RangeNotSatisfiableError

_RANGE: Final = re.compile(r"\s*bytes\s*=\s*(?P<first>\d{0,18})\s*-\s*(?P<last>\d{0,18})\s*", re.ASCII | re.IGNORECASE)
#: Which of several formats that suit alike is sent.
PREFERENCE: Final = (
    ReleaseFormat.CSV,
    ReleaseFormat.CSV_EXCEL,
    ReleaseFormat.PARQUET,
    ReleaseFormat.NDJSON,
    ReleaseFormat.CSV_GZ,
)
#: Longest time a request waits, in seconds.
LONGEST_WAIT: Final = 30
_PREFERENCE: Final = re.compile(
    r"""\s*(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+)
        (?:\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<token>[!#$%&'*+.^_`|~0-9A-Za-z-]+))?)?
        (?:\s*;(?:[^",]|"(?:[^"\\]|\\.)*")*)?\s*""",
    re.VERBOSE,
)


def etag_of(sha256: str) -> str:
    """The strong entity tag of an artifact."""
    return f'"{sha256}"'


def is_fresh(if_none_match: str | None, sha256: str) -> bool:
    """Whether the client knows these bytes already; tags are compared weakly, as `If-None-Match` demands."""
    if if_none_match is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in if_none_match.split(",")}
    return "*" in tags or etag_of(sha256) in tags


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
    """The requested range; None for the whole.

    The whole is sent too for several ranges, for what cannot be understood, and when `If-Range` names other bytes.

    Raises
    ------
    RangeNotSatisfiableError
        When the range begins after the end.
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


def accepted_format(accept: Sequence[str], available: Sequence[ReleaseFormat]) -> ReleaseFormat:
    """The best of the available formats by the lines of `Accept` (RFC 9110, section 12.5.1); none accepts all.

    Raises
    ------
    NotAcceptableError
        If none of them suits; lists those that exist.
    """
    ranges = _media_ranges(accept)
    offered = [one for one in PREFERENCE if one in available]
    quality = {one: _quality(MEDIA_TYPES[one].partition(";")[0], ranges) for one in offered}
    best = max(offered, key=lambda one: quality[one], default=None)
    if best is None or quality[best] <= 0:
        there = ", ".join(f"{MEDIA_TYPES[one].partition(';')[0]} (format={one})" for one in offered)
        raise NotAcceptableError(f"Accept names no format of this release; there are: {there or 'none'}")
    return best


def prefers_html(accept: Sequence[str]) -> bool:
    """Return whether a page is preferred to JSON by the lines of `Accept`, as it is by browsers."""
    ranges = _media_ranges(accept)
    return _quality("text/html", ranges) > _quality("application/json", ranges)


def _media_ranges(accept: Sequence[str]) -> list[tuple[str, float]]:
    return [_media_range(text) for text in ",".join(accept).split(",") if text.strip()] or [("*/*", 1.0)]


def _media_range(text: str) -> tuple[str, float]:
    media_type, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return media_type, _weight(value.strip())
    return media_type, 1.0


def _weight(text: str) -> float:
    """A weight; other values count as 1, as if it were not there."""
    try:
        weight = float(text)
    except ValueError:
        return 1.0
    return weight if 0 <= weight <= 1 else 1.0


def _quality(media_type: str, ranges: Sequence[tuple[str, float]]) -> float:
    """The weight of the range that fits most closely; 0 where none fits."""
    for wanted in (media_type, media_type.partition("/")[0] + "/*", "*/*"):
        weights = [weight for named, weight in ranges if named == wanted]
        if weights:
            return max(weights)
    return 0.0


def wait_seconds(headers: Iterable[str]) -> int | None:
    """The seconds of `wait`, at most `LONGEST_WAIT`; None when it is not requested or cannot be understood.

    RFC 7240 has a bare number; `30s`, which people write, is read as well.
    """
    value = _preferences(headers).get("wait", "").removesuffix("s")
    if not (value.isascii() and value.isdigit()):
        return None
    return min(int(value[:10]), LONGEST_WAIT)


def respond_async(headers: Iterable[str]) -> bool:
    """Whether the client would rather have an answer at once."""
    return _preferences(headers).get("respond-async") == ""


def _preferences(headers: Iterable[str]) -> dict[str, str]:
    """Preferences by name; of one that occurs twice the first counts (RFC 7240, section 2)."""
    preferences: dict[str, str] = {}
    for header in headers:
        for name, value in _parsed(header):
            preferences.setdefault(name, value)
    return preferences


def _parsed(header: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(header):
        match = _PREFERENCE.match(header, at)
        if match is not None and (match.end() == len(header) or header[match.end()] == ","):
            yield match["name"].lower(), match["quoted"] or match["token"] or ""
            at = match.end() + 1
        else:  # not a preference: skip to the next one
            comma = header.find(",", at)
            at = len(header) if comma < 0 else comma + 1
