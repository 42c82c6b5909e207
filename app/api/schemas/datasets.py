"""What datasets look like on the wire: lists, the body of an upload, and the headers of answers."""

from typing import Any, Final

from app.api.upload_body import BYTES, MEDIA_TYPES
from app.contracts.base import Contract
from app.contracts.datasets import Dataset


class DatasetList(Contract):
    """One page of datasets, newest first."""

    items: tuple[Dataset, ...]
    next_cursor: str | None


_LOCATION: Final = {"schema": {"type": "string"}, "description": "Where the dataset is read."}
_SECONDS: Final = {"schema": {"type": "integer"}, "description": "Seconds after which to ask again."}
_APPLIED: Final = {"schema": {"type": "string"}, "description": "The preference that was honoured."}
_REPLAYED: Final = {"schema": {"type": "string"}, "description": "`true` when an Idempotency-Key was used before."}

CREATED_HEADERS: Final = {"Location": _LOCATION, "Preference-Applied": _APPLIED, "Idempotent-Replayed": _REPLAYED}
READING_HEADERS: Final = CREATED_HEADERS | {"Retry-After": _SECONDS}

#: The body of an upload: the file itself. Generators of clients that see one kind of bytes send the last one they know.
UPLOAD_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The file. Text is UTF-8.",
        "content": {
            name: {"schema": {"type": "string", "format": "binary"}} for name in (BYTES, *reversed(MEDIA_TYPES))
        },
    }
}
