"""What the service refuses before a job is there: bodies by their types and by the rules of their methods, without it.

Places are those that an answer over HTTP would name: errors of types go through the service's own translation.
"""

from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from app.api.invalid import field_errors
from app.api.schemas.jobs import body_of
from app.contracts.jobs import JobKind
from app.contracts.methods import METHODS
from app.errors import FieldError, InvalidError
from tests.methods.in_process import Bench


@cache
def _types(kind: JobKind) -> TypeAdapter[Any]:
    return TypeAdapter(body_of(kind))


def wrong_types(body: dict[str, Any]) -> list[FieldError]:
    """What the types of a body refuse."""
    try:
        _types(METHODS[body["method"]].kind).validate_python(body)
    except ValidationError as error:
        return field_errors([{**one, "loc": ("body", *one["loc"])} for one in error.errors()], body=body)
    return []


def refused(bench: Bench, body: dict[str, Any], pointer: str, says: str) -> None:
    """A body must be refused at a place, and be told why."""
    if not (errors := wrong_types(body)):
        try:
            errors = bench.accepted(body)[1]
        except InvalidError as error:
            errors = list(error.errors)
    assert pointer in {error.pointer for error in errors}, errors
    assert says in " ".join(error.detail for error in errors)
