"""Which format a download has: the one that the query names, else what `Accept` would rather have."""

from collections.abc import Sequence
from typing import Final

from app.contracts.releases import MEDIA_TYPES, ReleaseFormat
from app.errors import NotAcceptableError

#: Which of several formats that suit alike is sent.
PREFERENCE: Final = (
    ReleaseFormat.CSV,
    ReleaseFormat.CSV_EXCEL,
    ReleaseFormat.PARQUET,
    ReleaseFormat.NDJSON,
    ReleaseFormat.CSV_GZ,
)


def accepted_format(accept: Sequence[str], available: Sequence[ReleaseFormat]) -> ReleaseFormat:
    """The best of the available formats by the lines of `Accept` (RFC 9110, section 12.5.1); none accepts all.

    Raises
    ------
    NotAcceptableError
        If none of them suits; says which there are.
    """
    ranges = [_media_range(text) for text in ",".join(accept).split(",") if text.strip()] or [("*/*", 1.0)]
    offered = [one for one in PREFERENCE if one in available]
    quality = {one: _quality(MEDIA_TYPES[one].partition(";")[0], ranges) for one in offered}
    best = max(offered, key=lambda one: quality[one], default=None)
    if best is None or quality[best] <= 0:
        there = ", ".join(f"{MEDIA_TYPES[one].partition(';')[0]} (format={one})" for one in offered)
        raise NotAcceptableError(f"Accept names no format of this release; there are: {there or 'none'}")
    return best


def _media_range(text: str) -> tuple[str, float]:
    media_type, *parameters = (part.strip().lower() for part in text.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return media_type, _weight(value.strip())
    return media_type, 1.0


def _weight(text: str) -> float:
    """A weight; what is none counts as 1, as if it were not there."""
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
