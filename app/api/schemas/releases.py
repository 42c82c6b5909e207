"""What releases look like on the wire."""

from typing import Final

from app.contracts.base import Contract
from app.contracts.boxes import StatisticResult
from app.contracts.releases import Release, ReleaseFormat


class ReleaseList(Contract):
    """One page of releases, newest first."""

    items: tuple[Release, ...]
    next_cursor: str | None


class ReleaseStatistics(Contract):
    """What a release says of its statistics."""

    statistics: tuple[StatisticResult, ...]


MEDIA_TYPES: Final = {
    ReleaseFormat.CSV: "text/csv; charset=utf-8",
    ReleaseFormat.PARQUET: "application/vnd.apache.parquet",
    ReleaseFormat.NDJSON: "application/x-ndjson",
}
_BINARY: Final = frozenset({MEDIA_TYPES[ReleaseFormat.PARQUET]})

_ETAG: Final = {"schema": {"type": "string"}, "description": "SHA-256 of the bytes; they never change."}
_RANGE: Final = {"schema": {"type": "string"}, "description": "Which bytes these are, and of how many."}
#: Text is declared as text: generated clients decode it, and fail over text that is declared as binary.
_BYTES: Final = {
    name.partition(";")[0]: {"schema": {"type": "string"} | ({"format": "binary"} if name in _BINARY else {})}
    for name in MEDIA_TYPES.values()
}

NOT_MODIFIED: Final = {"description": "Known already.", "headers": {"ETag": _ETAG}}
WHOLE: Final = {"description": "The whole file.", "headers": {"ETag": _ETAG}, "content": _BYTES}
PART: Final = {"description": "The range.", "headers": {"ETag": _ETAG, "Content-Range": _RANGE}, "content": _BYTES}
HEADERS_ONLY: Final = {"description": "The headers of the whole file.", "headers": {"ETag": _ETAG}}
ARTIFACT: Final = {"headers": {"ETag": _ETAG}}
