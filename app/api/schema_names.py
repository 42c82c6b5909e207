"""Names of schemas in the OpenAPI document: a generated client has a class for each, under that name.

FastAPI gives a model that stands in bodies and in answers two schemas, for an answer holds every field and a body need
not: here the body keeps the model's name, and what is answered is called `Filled...`, its defaults filled in. Unions in
bodies, which FastAPI writes out where they stand, become schemas under their titles.
"""

from collections.abc import Mapping
from typing import Any, Final

_REFERENCE: Final = "#/components/schemas/"
_INPUT, _OUTPUT = "-Input", "-Output"
#: Of FastAPI's own errors, which no route answers with.
_UNUSED: Final = frozenset({"HTTPValidationError", "ValidationError"})


def renamed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with better names of schemas, and without those that nobody refers to.

    Raises
    ------
    ValueError
        If two schemas would have the same name.
    """
    schemas = {name: schema for name, schema in document["components"]["schemas"].items() if name not in _UNUSED}
    names = {name: _name(name) for name in schemas}
    if len(set(names.values())) < len(names):
        twice = sorted(name for name in names.values() if list(names.values()).count(name) > 1)
        msg = f"two schemas would be called {twice[0]}"
        raise ValueError(msg)
    components = {**document["components"], "schemas": {names[name]: schema for name, schema in schemas.items()}}
    made: dict[str, Any] = _with_references({**document, "components": components}, names)
    for name, schema in made["components"]["schemas"].items():
        schema["title"] = name
        if "oneOf" in schema and "discriminator" not in schema:  # what tells them apart is in no field: say no more
            schema["anyOf"] = schema.pop("oneOf")
    return made


def name_bodies(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Put references in place of bodies that are written out; the schemas that they refer to, by name."""
    found = {}
    for operations in paths.values():
        for operation in operations.values():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = body.get("schema", {})
            if (only := _only_way(schema)) is not None:  # a body that may be left out is not one that may be null
                schema = body["schema"] = only
            if "oneOf" in schema:
                found[schema["title"]] = schema
                body["schema"] = {"$ref": _REFERENCE + schema["title"]}
    return found


def _only_way(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The way of a body that is this or null; None of all others."""
    ways = [way for way in schema.get("anyOf", ()) if way != {"type": "null"}]
    return dict(ways[0]) if len(ways) == 1 else None


def _name(made: str) -> str:
    made = made.rpartition("__")[2]  # FastAPI puts the module before names that two models have
    if made.endswith(_INPUT):
        return made.removesuffix(_INPUT)
    if made.endswith(_OUTPUT):
        return "Filled" + made.removesuffix(_OUTPUT)
    return made


def _with_references(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value.startswith(_REFERENCE):
        name = value.removeprefix(_REFERENCE)
        return _REFERENCE + names.get(name, name)
    if isinstance(value, Mapping):
        return {key: _with_references(below, names) for key, below in value.items()}
    if isinstance(value, list):
        return [_with_references(below, names) for below in value]
    return value
