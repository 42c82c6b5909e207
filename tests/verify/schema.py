"""The published schema of certificates, as a library of others reads it."""

import json
from collections.abc import Iterator
from typing import Any, Final

from jsonschema import Draft202012Validator

from surebox_verify.members import schema_text

SCHEMA: Final = json.loads(schema_text())


def closed(schema: Any) -> Any:
    """The same schema without room for members that it does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(each) for name, each in schema.items()}
    if isinstance(made.get("properties"), dict) and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


_OPEN: Final = Draft202012Validator(SCHEMA, format_checker=Draft202012Validator.FORMAT_CHECKER)
_CLOSED: Final = Draft202012Validator(closed(SCHEMA), format_checker=Draft202012Validator.FORMAT_CHECKER)


def faults(document: Any, *, room: bool = False) -> Iterator[str]:
    """Yield the members of a certificate that the schema does not allow; with `room` later members are allowed."""
    for error in (_OPEN if room else _CLOSED).iter_errors(document):
        yield f"{error.json_path}: {error.message}"


def place_of(path: str) -> dict[str, Any]:
    """The schema of a member by its path, such as `predicate.statistics[].guaranteed_all`."""
    schema: dict[str, Any] = SCHEMA
    for part in path.split("."):
        schema = schema["properties"][part.removesuffix("[]")]
        schema = schema["items"] if part.endswith("[]") else schema
    return schema
