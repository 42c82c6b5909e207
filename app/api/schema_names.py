"""Names of schemas in the OpenAPI document: a generated client has a class for each, under that name.

FastAPI gives a model that is in bodies and in answers two schemas, for an answer has every field and a body need not. A
body is called `...Request`; `...Spec` is the specification as it is stored, its defaults filled in. Of the parts of
both the one in bodies keeps its name, and the one in answers is called `...Spec`. Unions in bodies, which FastAPI
writes out in place, become schemas under their titles.

Bodies are closed: a field that the service does not know is refused. Answers are open: a client must expect fields, and
words, that came later. A parameter writes out words that only answers name.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.api.open_values import is_words, opened

REFERENCE: Final = "#/components/schemas/"
_INPUT, _OUTPUT, _SPEC = "-Input", "-Output", "Spec"
#: Of FastAPI's own errors, which no route answers with.
_UNUSED: Final = frozenset({"HTTPValidationError", "ValidationError"})


def renamed(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with better names of schemas, and without those that no one refers to.

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
        if "oneOf" in schema and "discriminator" not in schema:  # what distinguishes them is in no field
            schema["anyOf"] = schema.pop("oneOf")
    return made


def name_bodies(paths: Mapping[str, Any]) -> dict[str, Any]:
    """Put references in place of bodies that are written out; the schemas that they refer to, by name."""
    schemas = {}
    for operations in paths.values():
        for operation in operations.values():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            schema = body.get("schema", {})
            if (only := _only_way(schema)) is not None:  # a body that may be left out is not one that may be null
                schema = body["schema"] = only
            if "oneOf" in schema:
                schemas[schema["title"]] = schema
                body["schema"] = {"$ref": REFERENCE + schema["title"]}
    return schemas


def _only_way(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The way of a body that is this or null; None of all others."""
    ways = [way for way in schema.get("anyOf", ()) if way != {"type": "null"}]
    return dict(ways[0]) if len(ways) == 1 else None


def _name(made: str) -> str:
    made = made.rpartition("__")[2]  # FastAPI puts the module before names that two models have
    if made.endswith(_INPUT):
        name = made.removesuffix(_INPUT)
        return name.removesuffix(_SPEC) + "Request" if name.endswith(_SPEC) else name
    if made.endswith(_OUTPUT):
        name = made.removesuffix(_OUTPUT)
        return name if name.endswith(_SPEC) else name + _SPEC
    return made


def with_open_answers(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with closed bodies and open answers; a schema of both becomes two.

    Raises
    ------
    ValueError
        If two schemas would have the same name.
    """
    schemas = dict(document["components"]["schemas"])
    every = [operation for operations in document["paths"].values() for operation in operations.values()]
    in_bodies = reached([operation.get("requestBody") for operation in every], schemas)
    in_answers = reached([operation["responses"] for operation in every], schemas)
    closed = {name for name in in_answers & in_bodies if any(_closed(schemas[one]) for one in reached(name, schemas))}
    names = {name: name + _SPEC for name in closed}
    if twice := schemas.keys() & names.values():
        msg = f"two schemas would be called {min(twice)}"
        raise ValueError(msg)
    for name in in_answers:
        opened = _with_references(_opened(schemas[name]), names)
        schemas[names.get(name, name)] = {**opened, "title": names.get(name, name)}
    answered = {name: document["components"]["schemas"][name] for name in in_answers - closed}
    words = {REFERENCE + name: schema for name, schema in answered.items() if is_words(schema)}
    paths = {
        path: {
            method: {
                **operation,
                **({"parameters": _written_out(operation["parameters"], words)} if "parameters" in operation else {}),
                "responses": _with_references(operation["responses"], names),
            }
            for method, operation in operations.items()
        }
        for path, operations in document["paths"].items()
    }
    return {**document, "paths": paths, "components": {**document["components"], "schemas": schemas}}


def reached(start: Any, schemas: Mapping[str, Any]) -> set[str]:
    """Names of the schemas that a part of the document refers to, directly or not; from a name, that one too."""
    pending = [start] if isinstance(start, str) else list(referred(start))
    reached: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in reached:
            reached.add(name)
            pending.extend(referred(schemas[name]))
    return reached


def referred(value: Any) -> Iterator[str]:
    """Yield the names of the schemas that a part of the document refers to itself."""
    if isinstance(value, str) and value.startswith(REFERENCE):
        yield value.removeprefix(REFERENCE)
    elif isinstance(value, Mapping | list):
        for below in value.values() if isinstance(value, Mapping) else value:
            yield from referred(below)


def _closed(schema: Any) -> bool:
    if isinstance(schema, Mapping):
        return schema.get("additionalProperties") is False or is_words(schema) or any(map(_closed, schema.values()))
    return isinstance(schema, list) and any(map(_closed, schema))


def _written_out(value: Any, words: Mapping[str, Any]) -> Any:
    """Return a part of the document with enumerations in the place of references to them."""
    if isinstance(value, list):
        return [_written_out(below, words) for below in value]
    if not isinstance(value, Mapping):
        return value
    if (named := words.get(str(value.get("$ref")))) is not None:
        return {"type": "string", "enum": named["enum"], **{key: one for key, one in value.items() if key != "$ref"}}
    return {key: _written_out(below, words) for key, below in value.items()}


def _opened(schema: Any) -> Any:
    """A schema of an answer: fields may be added, and so may words."""
    if isinstance(schema, list):
        return [_opened(below) for below in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {
        key: _opened(below) for key, below in schema.items() if not (key == "additionalProperties" and below is False)
    }
    return opened(made) if is_words(made) else made


def _with_references(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str) and value.startswith(REFERENCE):
        name = value.removeprefix(REFERENCE)
        return REFERENCE + names.get(name, name)
    if isinstance(value, Mapping):
        return {key: _with_references(below, names) for key, below in value.items()}
    if isinstance(value, list):
        return [_with_references(below, names) for below in value]
    return value
