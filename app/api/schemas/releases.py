"""What releases look like on the wire."""

import inspect
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from typing_extensions import TypeAliasType

from app.contracts.base import Contract
from app.contracts.releases import MEDIA_TYPES, Release
from app.methods.catalogue import METHODS

if TYPE_CHECKING:
    ReleaseStatistic = Contract
else:
    _BY_METHOD = {name: method.statistic for name, method in METHODS.items() if method.statistic is not None}
    _OF_EACH = "".join(f" `{name}`: {inspect.getdoc(kind)}" for name, kind in _BY_METHOD.items())
    _ANY = reduce(or_, dict.fromkeys(_BY_METHOD.values()))
    ReleaseStatistic = TypeAliasType(
        "ReleaseStatistic", Annotated[_ANY, Field(description=f"By the release's method.{_OF_EACH}")]
    )


class ReleaseList(Contract):
    """One page of releases, newest first."""

    items: tuple[Release, ...] = Field(description="Objects of this page, newest first.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null: this is the last.")


class ReleaseStatistics(Contract):
    """Statistics that a release publishes."""

    statistics: tuple[ReleaseStatistic, ...] = Field(description="In the order of the specification.")


_ETAG: Final = {"schema": {"type": "string"}, "description": "SHA-256 of the bytes; they never change."}
_RANGE: Final = {"schema": {"type": "string"}, "description": "Which bytes these are, and of how many."}
#: A file is bytes, text as well: a client that decodes it changes what the checksum is of.
_BYTES: Final = {
    name.partition(";")[0]: {"schema": {"type": "string", "format": "binary"}} for name in MEDIA_TYPES.values()
}

NOT_MODIFIED: Final = {"description": "Unchanged since the `ETag` that you sent.", "headers": {"ETag": _ETAG}}
WHOLE: Final = {"description": "The whole file in the requested format.", "headers": {"ETag": _ETAG}, "content": _BYTES}
PART: Final = {
    "description": "The requested range of bytes.",
    "headers": {"ETag": _ETAG, "Content-Range": _RANGE},
    "content": _BYTES,
}
HEADERS_ONLY: Final = {"description": "The headers of the whole file.", "headers": {"ETag": _ETAG}}
ARTIFACT: Final = {"headers": {"ETag": _ETAG}}
