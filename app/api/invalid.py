"""From pydantic's errors to fields of a problem: where in the body as it was sent, and what is wrong there.

Pydantic's locations run through its own union tags and validator names, and some of its messages quote the input;
neither may reach a client. A parameter that is not part of the body is named as `?name` (query), `header:name` or
`path:name` in place of a pointer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from app.api.known_fields import no_such
from app.contracts.base import MisplacedError
from app.errors import FieldError, pointer

_SHOULD_BE: Final = "Input should be "
#: Messages of pydantic that quote what was sent or speak of Python, and what is said instead.
_SAID: Final[Mapping[str, str]] = {
    "uuid_parsing": "not a UUID",
    "url_parsing": "not a URL",
    "url_syntax_violation": "not a URL",
    "date_parsing": "not a date",
    "date_from_datetime_parsing": "not a date",
    "datetime_parsing": "not an RFC 3339 instant",
    "datetime_from_date_parsing": "not an RFC 3339 instant",
    "time_parsing": "not a time",
    "time_delta_parsing": "not a duration",
    "string_unicode": "not valid Unicode",
    "bytes_invalid_encoding": "not validly encoded",
    "get_attribute_error": "cannot be read",
    "iteration_error": "cannot be read",
    "mapping_type": "Input should be an object",
    "dict_type": "Input should be an object",
    "model_type": "Input should be an object",
    "model_attributes_type": "Input should be an object",
    "tuple_type": "Input should be an array",
    "list_type": "Input should be an array",
}
_PARAMETERS: Final[Mapping[str, str]] = {"query": "?", "header": "header:", "path": "path:", "cookie": "cookie:"}


def field_errors(
    errors: Iterable[Mapping[str, Any]],
    *,
    body: object,
    known: Callable[[tuple[str | int, ...]], list[str]] = lambda _: [],
) -> list[FieldError]:
    """Pydantic's errors as field errors, one each, without repetition.

    Parameters
    ----------
    errors
        As `RequestValidationError.errors()` gives them.
    body
        The parsed body as it was sent, to tell fields from union tags.
    known
        The fields of the object at a place of the body.
    """
    found: dict[FieldError, bool] = {}
    given = list(errors)
    faulty_inside = {tuple(error["loc"][:depth]) for error in given for depth in range(len(error["loc"]))}
    for error in given:
        # A list is called too short only because pydantic counts none of its wrong elements.
        if error["type"] == "too_short" and tuple(error["loc"]) in faulty_inside:
            continue
        where, *location = error["loc"]
        if where in _PARAMETERS:
            place, detail = _PARAMETERS[where] + ".".join(str(part) for part in location[:1]), _detail(error)
        elif error["type"] == "extra_forbidden":
            kept = parts_of(location, body=body)
            place, detail = pointer(*kept), no_such("field", str(location[-1]), known(kept[:-1]))
        else:
            kept = parts_of(location, body=body, missing=error["type"] == "missing")
            place, detail = pointer(*kept) + _inside(error), _detail(error)
        found[FieldError(pointer=place, detail=detail)] = _is_shape(error)
    return list(_told_once(found))


def _is_shape(error: Mapping[str, Any]) -> bool:
    """Whether a value is not even of the kind that one way to write it asks for."""
    kind: str = error["type"]
    return kind.endswith("_type") or kind == "literal_error"


def _told_once(found: Mapping[FieldError, bool]) -> Iterator[FieldError]:
    """One error a place: where there are several ways to write a value, pydantic tells what is wrong with each.

    A way whose kind the value is not of is left out where another fits better; where none does they are told together.
    """
    ways: dict[str, list[str]] = {}
    told = {error.pointer for error, is_shape in found.items() if not is_shape}
    for error, is_shape in found.items():
        told.update(_around(error.pointer))
        if is_shape:
            ways.setdefault(error.pointer, []).append(error.detail)
    for error, is_shape in found.items():
        if not is_shape:
            yield error
        elif error.pointer not in told:
            told.add(error.pointer)
            first, *others = ways[error.pointer]
            yield FieldError(error.pointer, " or ".join([first, *(way.removeprefix(_SHOULD_BE) for way in others)]))


def _around(place: str) -> Iterator[str]:
    """The pointers of all that a place lies in."""
    while "/" in place:
        place = place.rpartition("/")[0]
        yield place


def parts_of(location: Sequence[str | int], *, body: object, missing: bool = False) -> tuple[str | int, ...]:
    """The parts of a pydantic location that lead into the body as sent.

    A part that the body does not have at that place is a union tag or a validator's name and is left out; of all such
    readings the one that keeps most is taken. The last part of a missing field is kept although it is not there.
    """
    return _longest(tuple(location), body, missing) or ()


def _longest(location: tuple[str | int, ...], value: object, missing: bool) -> tuple[str | int, ...] | None:
    if not location:
        return None if missing else ()
    part, rest = location[0], location[1:]
    if missing and not rest:
        return (part,) if _could_have(value, part) else None
    with_it: tuple[str | int, ...] | None = None
    if _has(value, part):
        below = _longest(rest, value[part], missing)  # type: ignore[index]
        with_it = None if below is None else (part, *below)
    without = _longest(rest, value, missing)
    return max((way for way in (with_it, without) if way is not None), key=len, default=None)


def _could_have(value: object, part: str | int) -> bool:
    """Whether a part that is not there has its place here: a field of an object, an element past the end of a list."""
    if isinstance(value, Mapping):
        return isinstance(part, str) and part not in value
    return isinstance(value, list) and isinstance(part, int) and part >= len(value)


def _has(value: object, part: str | int) -> bool:
    if isinstance(value, Mapping):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value)


def _inside(error: Mapping[str, Any]) -> str:
    """The rest of the way, where what is wrong with a whole model lies in one of its fields."""
    if error["type"] == "value_error" and isinstance(error["ctx"]["error"], MisplacedError):
        return pointer(*error["ctx"]["error"].parts)
    if error["type"] not in {"union_tag_invalid", "union_tag_not_found"}:
        return ""
    return "/" + str(error["ctx"]["discriminator"]).strip("'")


def _detail(error: Mapping[str, Any]) -> str:
    kind = error["type"]
    if kind == "union_tag_invalid":
        return f"not one of {error['ctx']['expected_tags']}"
    if kind in {"union_tag_not_found", "missing"}:
        return "Field required"
    if kind in {"value_error", "assertion_error"}:
        return str(error["ctx"]["error"])
    return _SAID.get(kind, str(error["msg"]))
