"""The OpenAPI document as generators of clients read it: they compile, and hold numbers as wide as the service does.

- Whole numbers are of 64 bits and others doubles: Go and Java take 32 bits where no format is named.
- What may be omitted from a union has no default in the document: generators make one of a type that the union lacks.
- Nor has a body that changes something: a client that sends defaults would change what nobody asked it to.
- A text that is described elsewhere is described in place if it has a default, which Java does not quote otherwise.
- Lists and maps that are ways of a union have names, for Java has no class of a list of something.
- A pair of one type is a list of two, not a tuple, of which generators make lists of anything.
- An answer about a statistic is one of two schemas by its kind: of a regression lists, of all others numbers.
- No schema is there that nothing refers to.
- A list whose items may be null names both types of its items: some generators cannot name a union of one with nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.api.open_values import MORE, WORDS
from app.api.schema_names import REFERENCE, reached, referred
from app.contracts.statistics import StatisticKind

_FORMATS: Final = {"integer": "int64", "number": "double"}
_SCALARS: Final = ("string", "integer", "number", "boolean")
_UNIONS: Final = ("anyOf", "oneOf")
#: What holds values, not schemas; what holds schemas by names that others chose.
_VALUES: Final = ("example", "examples", "default", "const", "enum", "mapping")
_NAMED: Final = ("properties", "patternProperties", "responses", "headers", "content")
#: What lists and maps among the ways of a union are called after it.
_WAYS: Final = {"array": "List", "object": "Map"}
#: Types that are a number or, of a regression, a list; what the schemas of both are called after.
_VALUE, _RANGES = "EstimatedValue", "StatisticRanges"
_NUMBER, _REGRESSION = "OfNumber", "OfRegression"
_LISTED: Final = StatisticKind.REGRESSION
_NULL: Final = {"type": "null"}


def portable(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with formats of numbers, and without what generators stumble over.

    Parameters
    ----------
    document
        With all of its schemas and names.
    """
    schemas = _with_named_ways(_by_kind(document["components"]["schemas"]))
    changing = _bodies_that_change(document["paths"])
    made = {
        name: _rewritten(_without_defaults(schema) if name in changing else schema, schemas)
        for name, schema in schemas.items()
    }
    paths = _rewritten(document["paths"], schemas)
    used = reached(paths, made)
    components = {**document["components"], "schemas": {name: made[name] for name in sorted(made) if name in used}}
    return {**document, "paths": paths, "components": components}


def _by_kind(given: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas, with two for each answer about a statistic."""
    schemas = dict(given)
    value, ranges = (schemas.pop(name) for name in (_VALUE, _RANGES))
    answers = {name: schemas.pop(name) for name in list(schemas) if {_VALUE, _RANGES} & set(referred(schemas[name]))}
    either = {_VALUE: value["anyOf"], _RANGES: ranges["anyOf"]}
    for listed, suffix in ((False, _NUMBER), (True, _REGRESSION)):
        put = {name: one[listed] for name, one in either.items()}
        put |= {
            name: {"$ref": f"{REFERENCE}{name}{suffix}"} for name, schema in answers.items() if not _has_kind(schema)
        }
        for name, schema in answers.items():
            schemas[name + suffix] = {**_of_kind(_put(schema, put), listed), "title": name + suffix}
    for name, schema in answers.items():
        if _has_kind(schema):
            schemas[name] = _one_of(name, schema)
    return schemas


def _has_kind(schema: Mapping[str, Any]) -> bool:
    return "kind" in schema["properties"]


def _put(value: Any, put: Mapping[str, Any]) -> Any:
    """A schema with others in the place of references."""
    if isinstance(value, list):
        return [_put(below, put) for below in value]
    if not isinstance(value, Mapping):
        return value
    name = str(value.get("$ref", "")).removeprefix(REFERENCE)
    if name in put:
        return {**put[name], **{key: below for key, below in value.items() if key != "$ref"}}
    return {key: _put(below, put) for key, below in value.items()}


def _of_kind(schema: Mapping[str, Any], listed: bool) -> dict[str, Any]:
    """A schema whose `kind` is that of a regression, or any other."""
    if not _has_kind(schema):
        return dict(schema)
    words = [str(one) for one in StatisticKind if (one is _LISTED) == listed]
    kind = {"type": "string", "enum": words, "description": f"{schema['properties']['kind']['description']} {MORE}"}
    return {**schema, "properties": {**schema["properties"], "kind": kind}}


def _one_of(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    ways = {False: f"{REFERENCE}{name}{_NUMBER}", True: f"{REFERENCE}{name}{_REGRESSION}"}
    return {
        "title": name,
        "description": schema["description"],
        "oneOf": [{"$ref": way} for way in ways.values()],
        "discriminator": {
            "propertyName": "kind",
            "mapping": {str(one): ways[one is _LISTED] for one in StatisticKind},
        },
    }


def _with_named_ways(schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas, with those of lists and maps that are ways of a union under names of their own."""
    made = dict(schemas)
    for union, schema in schemas.items():
        for key in _UNIONS:
            if key not in schema:
                continue
            named = _names(union, schema[key])
            made |= {name: _called(name, way, union) for name, way in zip(named, schema[key], strict=True) if name}
            ways = [{"$ref": REFERENCE + name} if name else way for name, way in zip(named, schema[key], strict=True)]
            made[union] = {**made[union], key: ways}
    return made


def _called(name: str, way: Mapping[str, Any], union: str) -> dict[str, Any]:
    return {"description": f"One way of giving `{union}`: a {_WAYS[way['type']].lower()}.", **way, "title": name}


def _names(union: str, ways: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """A name for each way that is a list or a map: by what is in it, where several are lists."""
    plain = [f"{union}{_WAYS[way['type']]}" if way.get("type") in _WAYS else None for way in ways]
    return [
        f"{name}Of{_within(way).title()}" if name is not None and plain.count(name) > 1 else name
        for name, way in zip(plain, ways, strict=True)
    ]


def _within(way: Mapping[str, Any]) -> str:
    items = way.get("items") or way["prefixItems"][0]
    return str(items.get("format") or items["type"])


def _bodies_that_change(paths: Mapping[str, Any]) -> set[str]:
    """Names of the schemas of bodies of PATCH."""
    bodies = (one["patch"].get("requestBody", {}).get("content", {}) for one in paths.values() if "patch" in one)
    named = (str(media["schema"].get("$ref", "")) for body in bodies for media in body.values())
    return {name.removeprefix(REFERENCE) for name in named}


def _without_defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    fields = schema.get("properties", {}).items()
    plain = {name: {key: value for key, value in field.items() if key != "default"} for name, field in fields}
    return {**schema, "properties": plain}


def _rewritten(value: Any, schemas: Mapping[str, Any]) -> Any:
    """Return a part of the document, schemas in it as the module has them; examples and defaults stay as they are."""
    if isinstance(value, list):
        return [_rewritten(one, schemas) for one in value]
    if not isinstance(value, Mapping):
        return value
    made = {key: below if key in _VALUES else _rewritten_at(key, below, schemas) for key, below in value.items()}
    if isinstance(kind := made.get("type"), str) and kind in _FORMATS and "enum" not in made:
        made.setdefault("format", _FORMATS[kind])
    if "default" in made:
        made = _with_default(made, schemas)
    if "prefixItems" in made and all(one == made["prefixItems"][0] for one in made["prefixItems"]):
        made["items"] = made.pop("prefixItems")[0]
    if "items" in made:
        made["items"] = _both_types(made["items"], schemas)
    return made


def _rewritten_at(key: str, below: Any, schemas: Mapping[str, Any]) -> Any:
    """Rewrite what stands at a key; fields are no schema together, whatever they are called."""
    if key in _NAMED and isinstance(below, Mapping):
        return {name: _rewritten(one, schemas) for name, one in below.items()}
    return _rewritten(below, schemas)


def _with_default(schema: dict[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """A schema that has a default: without it where it is a union, itself where it names a text or a number."""
    if _is_union(schema, schemas):
        return {key: below for key, below in schema.items() if key != "default"}
    named = schemas.get(str(schema.get("$ref", "")).removeprefix(REFERENCE), {})
    if named.get("type") not in _SCALARS or "enum" in named:
        return schema
    made = {
        key: below for key, below in {**_rewritten(named, schemas), **schema}.items() if key not in ("$ref", "title")
    }
    if WORDS in made and "description" in schema:
        made["description"] = f"{schema['description']} {MORE}"
    return made


def _is_union(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> bool:
    """Return whether a schema is of more than one type, null apart."""
    if "$ref" in schema:
        return _is_union(schemas[schema["$ref"].removeprefix(REFERENCE)], schemas)
    ways = [way for key in _UNIONS for way in schema.get(key, ()) if way != _NULL]
    return len(ways) > 1 or any(_is_union(way, schemas) for way in ways)


def _both_types(items: Any, schemas: Mapping[str, Any]) -> Any:
    """Items of one plain type or null, as a schema of two types."""
    ways = items.get("anyOf", ()) if isinstance(items, Mapping) else ()
    plain = [_plain(way, schemas) for way in ways if way != _NULL]
    if len(ways) != 2 or len(plain) != 1 or not isinstance(plain[0].get("type"), str):
        return items
    return {**{key: value for key, value in items.items() if key != "anyOf"}, **plain[0]} | {
        "type": [plain[0]["type"], "null"]
    }


def _plain(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """A schema itself, where it is a reference to an array."""
    named = schemas.get(str(schema.get("$ref", "")).removeprefix(REFERENCE), {})
    if named.get("type") != "array":
        return dict(schema)
    return dict(_rewritten({key: one for key, one in named.items() if key not in ("title", "description")}, schemas))
