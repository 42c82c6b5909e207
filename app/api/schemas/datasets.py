"""What datasets look like on the wire: lists, the body of an upload, and the headers of answers."""

from typing import Any, Final

from pydantic import Field

from app.api.schemas.examples import UPLOADS
from app.api.upload_body import BYTES, MEDIA_TYPES
from app.contracts.base import Contract
from app.contracts.datasets import Dataset


class DatasetList(Contract):
    """One page of datasets, newest first."""

    items: tuple[Dataset, ...] = Field(description="Objects of this page, newest first.")
    next_cursor: str | None = Field(description="`cursor` of the next page; null: this is the last.")


_LOCATION: Final = {"schema": {"type": "string"}, "description": "Where the dataset is read."}
_SECONDS: Final = {"schema": {"type": "integer"}, "description": "Seconds after which to ask again."}
_APPLIED: Final = {"schema": {"type": "string"}, "description": "The preference that was honoured."}
_REPLAYED: Final = {"schema": {"type": "string"}, "description": "`true` when an Idempotency-Key was used before."}

CREATED_HEADERS: Final = {"Location": _LOCATION, "Preference-Applied": _APPLIED, "Idempotent-Replayed": _REPLAYED}
READING_HEADERS: Final = CREATED_HEADERS | {"Retry-After": _SECONDS}

#: The body of an upload: the file itself. Generators of clients that distinguish kinds of bytes send the first one,
#: others the last, which is any file whose format the query names.
UPLOAD_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The file. Text is UTF-8.",
        "content": {
            name: {"schema": {"type": "string", "format": "binary"}}
            | ({"examples": UPLOADS[name]} if name in UPLOADS else {})
            for name in (*MEDIA_TYPES, BYTES)
        },
    }
}
