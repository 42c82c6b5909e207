"""What releases look like on the wire."""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, create_model
from typing_extensions import TypeAliasType

from app.contracts.base import Contract
from app.contracts.jobs import JobKind
from app.contracts.releases import MEDIA_TYPES, Release
from app.methods.catalogue import Method, methods_of


def _statistics_of(method: Method) -> type[Contract]:
    """Make the type of the answer about releases of a method: statistics of its own kind, or none."""
    stated: Any = method.statistic or dict[str, Any]
    listed = Field(description="In the order of the specification.", max_length=None if method.statistic else 0)
    fields: Any = {
        "method": (Literal[method.name], Field(description="Method that made the release.")),
        "statistics": (tuple[stated, ...], listed),
    }
    name = method.spec.__name__.removesuffix("Spec") + "Statistics"
    return create_model(name, __base__=Contract, __doc__=f"Statistics of a release of `{method.name}`.", **fields)


if TYPE_CHECKING:
    ReleaseStatistics = Contract
else:
    _ANY = reduce(or_, map(_statistics_of, methods_of(JobKind.ANONYMIZATION)))
    ReleaseStatistics = TypeAliasType(
        "ReleaseStatistics",
        Annotated[
            _ANY, Discriminator("method"), Field(description="Statistics that a release publishes, by its method.")
        ],
    )


class ReleaseList(Contract):
    """One page of releases, newest first."""

    items: tuple[Release, ...] = Field(description="Objects of this page, newest first.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null: this is the last.")


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
