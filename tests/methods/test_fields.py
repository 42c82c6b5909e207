"""Every field of every body, set to what its schema does not allow, is refused at its own place."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from app.contracts.jobs import JobKind
from app.methods.catalogue import METHODS
from tests.methods.examples import EXAMPLES
from tests.methods.refusing import wrong_types

Path = tuple[str | int, ...]
Schema = dict[str, Any]

SUBMITTED = [name for name, method in METHODS.items() if method.kind in {JobKind.ANONYMIZATION, JobKind.AUDIT}]
#: Values of another type; what merely looks like a number or a truth value is none.
OTHER = {
    "integer": ("7", 2.5, True), "number": ("7", True), "string": (7,), "boolean": ("yes", 1), "array": (7,),
    "object": (7,),
}  # fmt: skip
PYTHON = {"integer": int, "number": (int, float), "string": str, "boolean": bool, "array": list, "object": dict}


def resolved(schema: Schema, whole: Schema) -> Schema:
    while "$ref" in schema:
        schema = {
            **whole["$defs"][schema["$ref"].rpartition("/")[2]],
            **{k: v for k, v in schema.items() if k != "$ref"},
        }
    return schema


def branches(schema: Schema, whole: Schema) -> list[Schema]:
    """The ways to write a value, null left out."""
    schema = resolved(schema, whole)
    ways = schema.get("anyOf") or schema.get("oneOf")
    if ways is None:
        return [] if schema.get("type") == "null" else [schema]
    return [one for way in ways for one in branches(way, whole)]


def out_of(schema: Schema) -> Iterator[Any]:
    """Values that one way to write a value does not allow."""
    if (kind := schema.get("type")) in OTHER:
        yield from OTHER[kind]
    if "enum" in schema:
        yield "no such"
    for limit, step in (("minimum", -1), ("exclusiveMinimum", 0), ("maximum", 1), ("exclusiveMaximum", 0)):
        if limit in schema and abs(schema[limit]) < 2**53:
            yield schema[limit] + step
    if schema.get("minItems", 0) > 0 and "prefixItems" not in schema:  # of a pair either end is missed at its place
        yield []
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1)


def fits(value: Any, schema: Schema) -> bool:
    """Whether a value is written in this way, as far as its fields tell."""
    if not isinstance(value, PYTHON.get(schema.get("type", ""), object)):
        return False
    constants = {name: one["const"] for name, one in schema.get("properties", {}).items() if "const" in one}
    return not isinstance(value, dict) or all(value.get(name, const) == const for name, const in constants.items())


def wrong(value: Any, schema: Schema, whole: Schema, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Places of a body, and what must not stand there."""
    ways = branches(schema, whole)
    if len(ways) == 1 and at:
        yield from ((at, bad) for bad in out_of(ways[0]))
    own = [way for way in ways if fits(value, way)]
    if len(own) != 1:
        return
    properties, more = own[0].get("properties", {}), own[0].get("additionalProperties")
    if isinstance(value, dict):
        if more is False:
            yield (*at, "surprise"), 1
        for name in properties.keys() | value.keys():
            inner = properties.get(name, more)
            if isinstance(inner, dict) and name != "method":
                yield from wrong(value.get(name), inner, whole, (*at, name))
    elif isinstance(value, list) and isinstance(own[0].get("items"), dict):
        for index, each in enumerate(value):
            yield from wrong(each, own[0]["items"], whole, (*at, index))


def replaced(body: Any, at: Path, value: Any) -> Any:
    made = copy.deepcopy(body)
    inner = made
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = value
    return made


@pytest.mark.parametrize("method", SUBMITTED)
def test_a_field_out_of_type_or_range_is_refused_at_its_own_pointer(method: str) -> None:
    schema, tried = METHODS[method].spec.model_json_schema(), 0
    for body in EXAMPLES[method]:
        assert wrong_types(body) == []
        for at, value in wrong(body, schema, schema):
            pointer = "".join(f"/{step}" for step in at)
            pointers = [error.pointer for error in wrong_types(replaced(body, at, value))]
            assert pointers == [pointer], (pointer, value)
            tried += 1
    assert tried >= 2 * len(schema["properties"])
