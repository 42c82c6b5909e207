"""What all contracts share: frozen models that refuse unknown fields, identifiers, instants."""

import re
import secrets
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer, WithJsonSchema

from app.sentences import sentence

#: A message, which readers get as a full sentence.
Sentence = Annotated[str, AfterValidator(sentence)]

#: Tags of a job with such names are the job's alone: its release, which readers see, does not get them.
JOB_ONLY = "job."

_TAG = re.compile(r"^[^\x00-\x1f\x7f]{1,200}$")


class Contract(BaseModel):
    """Base of everything that crosses a border; what has a default may be left out of a body, never of an answer."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="null",
        json_schema_serialization_defaults_required=True,
    )


def may_lack(*names: str) -> Callable[[dict[str, Any]], None]:
    """A `json_schema_extra` for fields of an answer that may be absent."""

    def amend(schema: dict[str, Any]) -> None:
        schema["required"] = [name for name in schema.get("required", ()) if name not in names]

    return amend


def one_of(values: Iterable[str]) -> WithJsonSchema:
    """Describe a text of an answer by what it may be now; processes that are older or newer write other texts."""
    return WithJsonSchema({"type": "string", "enum": list(values)})


def without_default(schema: dict[str, Any]) -> None:
    """Amend the schema of a field whose default the service chooses: it may become another one."""
    schema.pop("default", None)


class MisplacedError(ValueError):
    """A field that does not fit another one; `parts` lead to it from the model that finds out."""

    def __init__(self, detail: str, *parts: str | int) -> None:
        super().__init__(detail)
        self.parts = parts


def new_id(prefix: str) -> str:
    """An opaque identifier that reveals neither order nor content."""
    return f"{prefix}_{secrets.token_hex(12)}"


def rfc3339(instant: datetime) -> str:
    """UTC, microseconds, `Z`."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


Instant = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]


def in_normal_form(text: str) -> str:
    """Return a text in Unicode's normal form C, in which texts of requests and of data are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _valid_tags(tags: dict[str, str]) -> dict[str, str]:
    if len(tags) > 50:
        msg = "at most 50 tags"
        raise ValueError(msg)
    for key, value in tags.items():
        if not _TAG.match(key) or (value and not _TAG.match(value)):
            msg = "names and values of tags are 1 to 200 characters without control characters"
            raise ValueError(msg)
    return tags


#: With a limit pydantic looks at the text itself: half a surrogate pair, which JSON can spell and neither UTF-8 nor the
#: database can hold, is refused at its place. So every text of a body has one.
Short = Annotated[str, Field(max_length=200)]
#: An identifier as a body names it.
Id = Short

Tags = Annotated[dict[Short, Short], AfterValidator(_valid_tags)]
