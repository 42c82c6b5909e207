"""From pydantic's errors to fields of a problem: where in the body as it was sent, and the fault there.

Pydantic's locations run through its own union tags and validator names, and some of its messages quote the input;
neither may reach a client. A parameter that is not part of the body is named as `?name` (query), `header:name` or
`path:name` in place of a pointer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from app.api.known_fields import no_such
from app.contracts.base import MisplacedError
from app.errors import FieldError, meant, pointer

_MUST_BE: Final = "must be "
#: The statement about each kind of error of pydantic's, with its context: none of its own sentences reaches a client.
_SAID: Final[Mapping[str, str]] = {
    **dict.fromkeys(("missing", "union_tag_not_found"), "this field is required"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    "int_parsing_size": "has too many digits",
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    "finite_number": "must be a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("string_type", "string_sub_type"), "must be text"),
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match {pattern}",
    "too_short": "must have at least {min_length} elements",
    "too_long": "must have at most {max_length} elements",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
    **dict.fromkeys(("literal_error", "enum"), "must be {expected}"),
    "none_required": "must be null",
    "uuid_parsing": "must be a UUID",
    **dict.fromkeys(("url_parsing", "url_syntax_violation"), "must be a URL"),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing"), "must be a date"),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing", "timezone_aware"),
        "must be an RFC 3339 instant",
    ),
    **dict.fromkeys(("time_parsing", "time_delta_parsing"), "must be a time"),
    **dict.fromkeys(("string_unicode", "bytes_invalid_encoding"), "must be valid Unicode"),
    **dict.fromkeys(("mapping_type", "dict_type", "model_type", "model_attributes_type"), "must be an object"),
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), "must be an array"),
    "json_invalid": "is no JSON",
}
_LONGEST: Final = 100
OTHER: Final = "this value is not valid here"
_ONE: Final = re.compile(r"\b(1) (character|element)s\b")
_WHOLE: Final = re.compile(r"(\d)\.0\b")
_QUOTED: Final = re.compile(r"'([^']*)'")
_PARAMETERS: Final[Mapping[str, str]] = {"query": "?", "header": "header:", "path": "path:", "cookie": "cookie:"}


def field_errors(
    errors: Iterable[Mapping[str, Any]],
    *,
    body: object,
    known: Callable[[tuple[str | int, ...]], list[str]] = lambda _: [],
    parameters: Sequence[str] = (),
) -> list[FieldError]:
    """Pydantic's errors as field errors, one each, without repetition.

    Parameters
    ----------
    errors
        As `RequestValidationError.errors()` gives them.
    body
        The parsed body as it was sent, to distinguish fields from union tags.
    known
        The fields of the object at a place of the body.
    parameters
        The query parameters that there are.
    """
    shape_flags: dict[FieldError, bool] = {}
    given = list(errors)
    faulty_inside = {tuple(error["loc"][:depth]) for error in given for depth in range(len(error["loc"]))}
    for error in given:
        # A list is called too short only because pydantic counts none of its wrong elements.
        if error["type"] == "too_short" and tuple(error["loc"]) in faulty_inside:
            continue
        where, *location = error["loc"]
        if where in _PARAMETERS:
            place = _PARAMETERS[where] + ".".join(str(part)[:_LONGEST] for part in location[:1])
            unknown = error["type"] == "extra_forbidden"
            detail = no_such("parameter", str(location[-1]), list(parameters)) if unknown else _detail(error)
        elif error["type"] == "extra_forbidden":
            kept = parts_of(location, body=body)
            place, detail = pointer(*kept), no_such("field", str(location[-1]), known(kept[:-1]))
        else:
            kept = parts_of(location, body=body, missing=error["type"] == "missing")
            place, detail = pointer(*kept) + _inside(error), _detail(error)
        shape_flags[FieldError(pointer=place, detail=detail)] = _is_shape(error)
    return list(_one_per_place(shape_flags))


def _is_shape(error: Mapping[str, Any]) -> bool:
    """Whether a value is not even of the kind that one way to write it asks for."""
    kind: str = error["type"]
    return kind.endswith("_type") or kind == "literal_error"


def _one_per_place(shape_flags: Mapping[FieldError, bool]) -> Iterator[FieldError]:
    """One error a place: where there are several ways to write a value, pydantic names the fault of each.

    A way whose kind the value is not of is left out where another fits better; where none does, their messages are
    joined.
    """
    ways: dict[str, list[str]] = {}
    reported = {error.pointer for error, is_shape in shape_flags.items() if not is_shape}
    for error, is_shape in shape_flags.items():
        reported.update(_around(error.pointer))
        if is_shape:
            ways.setdefault(error.pointer, []).append(error.detail)
    for error, is_shape in shape_flags.items():
        if not is_shape:
            yield error
        elif error.pointer not in reported:
            reported.add(error.pointer)
            first, *others = ways[error.pointer]
            yield FieldError(error.pointer, " or ".join([first, *(way.removeprefix(_MUST_BE) for way in others)]))


def _around(place: str) -> Iterator[str]:
    """The pointers of everything that contains a place."""
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
    """The rest of the way, where the fault of a whole model is in one of its fields."""
    if error["type"] == "value_error" and isinstance(error["ctx"]["error"], MisplacedError):
        return pointer(*error["ctx"]["error"].parts)
    if error["type"] not in {"union_tag_invalid", "union_tag_not_found"}:
        return ""
    return "/" + str(error["ctx"]["discriminator"]).strip("'")


def _detail(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "union_tag_invalid":
        return f"not one of {context['expected_tags']}" + _meant(context["tag"], context["expected_tags"])
    if kind in {"value_error", "assertion_error"}:
        return str(context["error"])
    said = _SAID.get(kind, OTHER).format(**context)
    if kind in {"literal_error", "enum"}:
        return said + _meant(error.get("input"), context["expected"])
    return _ONE.sub(r"\1 \2", _WHOLE.sub(r"\1", said))


def _meant(sent: object, expected: str) -> str:
    """Which of the words that there are was perhaps meant; the sent value is not quoted."""
    return meant(sent, _QUOTED.findall(expected)) if isinstance(sent, str) else ""
