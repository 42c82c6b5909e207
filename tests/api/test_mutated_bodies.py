"""Every example of every body, changed at every place: what is refused is said in sentences of ours, at that place."""

import copy
import random
import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import httpx
import pytest
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from app.api import invalid
from app.api.known_fields import fields_at
from app.api.openapi import DescribedApi, operations
from app.api.problems import translated
from app.api.surface import include_routes
from app.errors import InvalidError
from tests.documented import the_document

APP = DescribedApi()
include_routes(APP)
ROUTES = {(path, method): route for path, method, route in operations(APP)}
DOCUMENT = the_document()
#: Sentences that pydantic's own messages begin or end with, and the one of ours that says nothing.
THEIRS = re.compile(
    r"Input |should (be|have|match)|Field required|[Vv]alue error|Extra inputs|Unable to|\bvalid (string|integer|number"
    r"|dictionary|list|tuple|boolean)\b|Tuple|Assertion|pydantic|discriminator|type=|for further information|NoneType"
    r"|\bdict\b|\bstr\b|\bint\b|object at 0x|Traceback|unhashable|not iterable|" + re.escape(invalid.OTHER)
)
#: Values of every kind of JSON, and of sizes that nothing has.
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 3.5, -1e308, 1e308, float("inf"), float("nan"), 2**70, "", "x", "1", "x" * 5000,
    "\u0000", "a\nb", "2020-02-30", "2020-01-01T00:00:00", [], [[]], [None], [{}], ["x"], [1, 2, 3], [1] * 2000, {},
    {"x": 1}, {"": None}, {"kind": "x"}, {"method": None}, {"method": []},
)  # fmt: skip
OF_PARAMETERS = ("", "x", "-1", "0", "1e400", "9" * 30, "null", "[]", "x" * 3000, "2020-02-30", "a,b", ";=")
JSON = "application/json"
#: Of the changed bodies of a route, those that are looked at: all of them are 250,000, and take a minute.
SHARE = {"/v1/anonymizations": 0.04, "/v1/audits": 0.04}


def bodies() -> Iterator[tuple[tuple[str, str], str, Any]]:
    """Every example of every body."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            for name, example in (
                operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("examples", {}).items()
            ):
                yield (path, method.upper()), name, example["value"]


def schemas_of(schema: Any, seen: frozenset[str] = frozenset()) -> Iterator[Mapping[str, Any]]:
    """A schema and all that are below it."""
    if isinstance(schema, list):
        for one in schema:
            yield from schemas_of(one, seen)
    elif isinstance(schema, dict):
        yield schema
        for key, below in schema.items():
            if key == "$ref" and below not in seen:
                target = DOCUMENT["components"]["schemas"][below.rpartition("/")[2]]
                yield from schemas_of(target, seen | {below})
            elif key not in {"examples", "example", "default", "const", "enum", "discriminator"}:
                yield from schemas_of(below, seen)


def places(value: Any, *location: str | int) -> Iterator[tuple[str | int, ...]]:
    """Every place of a body."""
    yield location
    for key, below in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(below, *location, key)


def with_at(body: Any, location: tuple[str | int, ...], value: Any) -> Any:
    """The body with another value at a place."""
    if not location:
        return value
    changed = copy.deepcopy(body)
    at = changed
    for part in location[:-1]:
        at = at[part]
    at[location[-1]] = value
    return changed


def value_at(body: Any, location: tuple[str | int, ...]) -> Any:
    for part in location:
        body = body[part]
    return body


def mutated(body: Any, names: list[str]) -> Iterator[Any]:
    """The body changed at one place each time."""
    for location in places(body):
        for other in chain(STRANGE, alike(value_at(body, location), names)):
            yield with_at(body, location, other)


def alike(value: Any, names: list[str]) -> Iterator[Any]:
    """Values near one: an object with a field less, with one of another name, and with each where it may not be."""
    if isinstance(value, dict):
        for key in value:
            yield {name: one for name, one in value.items() if name != key}
            yield {name + "x" if name == key else name: one for name, one in value.items()}
        yield from (value | {name: strange} for name in names for strange in (None, -1, "x", [], {}))
    elif isinstance(value, list):
        yield from (value * 40, [value], [*value, None])
    elif isinstance(value, str):
        yield from (value + "s", value.upper(), [value])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (-value, value + 0.5, value * 1e6, str(value))


def samples(schema: Mapping[str, Any], depth: int = 5) -> list[Any]:
    """Values as a schema wants them: one for each way to write it, objects with all of their fields."""
    if "$ref" in schema:
        return samples(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth)
    ways = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    if ways:
        return [one for way in ways for one in samples(way, depth)]
    if "const" in schema or "enum" in schema:
        return [schema.get("const", *schema.get("enum", ())[:1])]
    if depth == 0:
        return []
    if schema.get("type") == "object":
        return objects(schema, depth)
    if schema.get("type") == "array":
        each = schema.get("prefixItems") or [schema.get("items", {})] * max(1, schema.get("minItems", 1))
        return [[one] * len(each) for one in samples(each[0], depth - 1)] or [[]]
    plain = {"string": "age", "integer": 2, "number": 0.5, "boolean": True, "null": None}
    return [plain.get(schema.get("type", "null"))]


def objects(schema: Mapping[str, Any], depth: int) -> list[Any]:
    """Objects with all fields, each with its first sample, and of one with several samples an object each."""
    if "properties" not in schema:
        below = schema.get("additionalProperties", {})
        return [{"age": one} for one in samples(below if isinstance(below, dict) else {}, depth - 1)] or [{}]
    fields = {name: samples(below, depth - 1) for name, below in schema["properties"].items()}
    whole = {name: several[0] for name, several in fields.items() if several}
    return [whole, *(whole | {name: one} for name, several in fields.items() for one in several[1:])]


def fields_of(body: Any, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that a body may have, as its method has them."""
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "discriminator" in schema:
        return fields_of(
            body, {"$ref": schema["discriminator"]["mapping"][body[schema["discriminator"]["propertyName"]]]}
        )
    properties: Mapping[str, Any] = schema.get("properties", {})
    return properties


def built(body: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    """The body with each of its fields in every way it can be written, and changed there."""
    for name, field in fields_of(body, schema).items():
        for one in samples(field):
            yield body | {name: one}
            for location in places(one):
                for strange in STRANGE[:: 1 if len(location) < 2 else 5]:
                    yield body | {name: with_at(one, location, strange)}
                if location and isinstance(location[-1], str):
                    gone = copy.deepcopy(one)
                    value = value_at(gone, location[:-1]).pop(location[-1])
                    yield body | {name: gone}
                    value_at(gone, location[:-1])[location[-1] + "_"] = value
                    yield body | {name: copy.deepcopy(gone)}


def refused(route: APIRoute, body: Any) -> InvalidError | None:
    """What the service answers to a body that is not valid."""
    assert route.body_field is not None
    try:
        _, errors = route.body_field.validate(body, {}, loc=("body",))
    except InvalidError as problem:  # of a method that there is not
        return problem
    if not errors:
        return None
    problem = translated(RequestValidationError(errors, body=body), route)
    assert isinstance(problem, InvalidError)
    return problem


def exists(body: Any, pointer: str) -> bool:
    """Whether a pointer leads into a body, or to a field that it lacks."""
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    for depth, part in enumerate(parts):
        if isinstance(body, dict) and part in body:
            body = body[part]
        elif isinstance(body, list) and part.isdigit() and int(part) < len(body):
            body = body[int(part)]
        else:
            return depth == len(parts) - 1
    return True


@pytest.mark.parametrize("operation", sorted({operation for operation, _, _ in bodies()}), ids=" ".join)
def test_what_is_wrong_with_a_changed_body_is_said_in_words_of_ours(operation: tuple[str, str]) -> None:
    route, strange, tried, draw = ROUTES[operation], dict[str, Any](), 0, random.Random(str(operation))
    whole = DOCUMENT["paths"][operation[0]][operation[1].lower()]["requestBody"]["content"][JSON]["schema"]
    fields = sorted({name for schema in schemas_of(whole) for name in schema.get("properties", {})})
    for number, body in enumerate(one for at, _, one in bodies() if at == operation):
        for changed in chain(mutated(body, fields if number == 0 else fields[number::7]), built(body, whole)):
            if draw.random() > SHARE.get(operation[0], 1.0):
                continue
            problem = refused(route, changed)
            tried += 1
            for error in () if problem is None else problem.errors:
                said = error.detail
                if not said or THEIRS.search(said) or "\x00" in said or len(said) > 1000:
                    strange.setdefault(said[:150], (error.pointer, changed))
                if not exists(changed, error.pointer):
                    strange.setdefault(f"no such place: {error.pointer}", changed)
    assert strange == {}
    assert tried > 100


def test_a_misspelt_field_of_ours_is_named() -> None:
    """Of every object of every example: a letter too many."""
    named = 0
    for operation, _, body in bodies():
        for location in places(body):
            value = value_at(body, location)
            known = fields_at(ROUTES[operation], body, location) if isinstance(value, dict) else []
            for name in (
                one for one in known if len(one) > 2 and one in value and one not in {"method", "kind", "shape"}
            ):
                changed = with_at(
                    body, location, {name + "e" if key == name else key: one for key, one in value.items()}
                )
                problem = refused(ROUTES[operation], changed)
                assert problem is not None, (operation, location, name)
                assert any(f"did you mean `{name}`?" in error.detail for error in problem.errors), (operation, name)
                named += 1
    assert named > 100


def test_a_misspelt_word_of_ours_is_named() -> None:
    """Every word of every enumeration that a field of a body takes, with a letter too many."""
    named = 0
    for operation, _, body in bodies():
        schema = DOCUMENT["paths"][operation[0]][operation[1].lower()]["requestBody"]["content"][JSON]["schema"]
        for name, field in fields_of(body, schema).items():
            words = [one for way in (field, *field.get("anyOf", ())) for one in resolved(way).get("enum", ())]
            for word in (one for one in words if isinstance(one, str) and len(one) > 2):
                problem = refused(ROUTES[operation], body | {name: word + "e"})
                assert problem is not None, (operation, name)
                assert any(f"did you mean {word!r}?" in error.detail for error in problem.errors), (operation, name)
                named += 1
    assert named > 50


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference stands for."""
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def parameters() -> Iterator[tuple[str, str, str, str]]:
    """Method, path, place and name of every parameter that is no part of a path."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            for one in operation.get("parameters", ()):
                if one["in"] in {"query", "header"}:
                    yield method.upper(), path, one["in"], one["name"]


def test_what_is_wrong_with_a_parameter_is_said_in_words_of_ours(client: httpx.Client) -> None:
    refused_count = 0
    for method, path, where, name in parameters():
        place = re.sub(r"\{\w+\}", "rel_1", path)
        for value in OF_PARAMETERS:
            more: dict[str, Any] = {"params": {name: value}} if where == "query" else {"headers": {name: value}}
            answer = client.request(method, place, **more)
            assert answer.status_code < httpx.codes.INTERNAL_SERVER_ERROR, (method, path, name, value)
            if not answer.is_error or not answer.content:
                continue
            refused_count += 1
            problem = answer.json()
            for said in [problem["detail"], *(error["detail"] for error in problem.get("errors", ()))]:
                assert said, (method, path, name, value)
                assert not THEIRS.search(said), (method, path, name, value, said)
    assert refused_count > 100
