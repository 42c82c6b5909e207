"""Fields of bodies and parameters of queries that a route does not know are refused, with the name that may be meant.

A misspelt filter would let everything through.
"""

from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any, Final, cast

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field, TypeAdapter

from app.errors import FieldError, InvalidError, closest

_MOST_ROUTES: Final = 256
_MOST_NAMED: Final = 20
_LONGEST: Final = 100


def no_such(what: str, name: str, known: list[str]) -> str:
    """State that something is unknown, and what may have been meant.

    Parameters
    ----------
    what
        What kind of thing it is.
    name
        As it was sent; it is not quoted.
    known
        The names that there are.
    """
    close = closest(name, known)
    if close is not None:
        return f"no such {what}; did you mean `{close}`?"
    return f"no such {what}; there are {', '.join(known)}" if known else f"no such {what}"


def fields_at(route: APIRoute, body: object, location: tuple[str | int, ...]) -> list[str]:
    """Names of the fields of the object at a place of a body, in the contract's order; none where it is not known.

    Parameters
    ----------
    route
        Whose body it is.
    body
        As it was sent.
    location
        The parts of the way to the object, as they are in the body.
    """
    if route.body_field is None:
        return []
    about = route.body_field.field_info
    whole = _schema(cast("Hashable", about.annotation), about.discriminator, *about.metadata)
    schemas, value = [whole], body
    for part in (None, *location):
        if part is not None:
            schemas = [below for each in schemas for below in _below(each, part)]
            value = value[part] if isinstance(value, Mapping | list) else None  # type: ignore[index]
        schemas = [one for each in schemas for one in _ways(whole, each, value)]
    if any(each.get("type") == "object" and "properties" not in each for each in schemas):
        return []  # names are the sender's
    return list(dict.fromkeys(name for each in schemas for name in each.get("properties", ())))


@lru_cache(_MOST_ROUTES)
def _schema(kind: Any, discriminator: Any, *more: Any) -> Mapping[str, Any]:
    return TypeAdapter(Annotated[kind, *more, Field(discriminator=discriminator)]).json_schema()


def _ways(whole: Mapping[str, Any], schema: Mapping[str, Any], value: object) -> Iterator[Mapping[str, Any]]:
    """The ways to write a value; the one that its discriminator names where it has one."""
    if "$ref" in schema:
        yield from _ways(whole, whole["$defs"][str(schema["$ref"]).rpartition("/")[2]], value)
        return
    several = [*schema.get("oneOf", ()), *schema.get("anyOf", ())]
    discriminator = schema.get("discriminator")
    if discriminator is not None and isinstance(value, Mapping):
        tag = str(value.get(discriminator["propertyName"]))  # the sent data may be no text
        named = discriminator["mapping"].get(tag)
        several = [] if named is None else [{"$ref": named}]
    if not several:
        yield schema
    for one in several:
        yield from _ways(whole, one, value)


def _below(schema: Mapping[str, Any], part: str | int) -> Iterator[Mapping[str, Any]]:
    """What a part of a value may be."""
    if isinstance(part, int):
        first = schema.get("prefixItems", ())
        below = first[part] if part < len(first) else schema.get("items")
    else:
        below = schema.get("properties", {}).get(part, schema.get("additionalProperties"))
    if isinstance(below, Mapping):
        yield below


async def refuse_unknown_query(request: Request) -> None:
    """Refuse what the route that serves this request has no parameter for.

    Raises
    ------
    InvalidError
        With every such name, and the parameter that may have been meant.
    """
    route: APIRoute = request.scope["route"]
    known = sorted(parameters_of(route.dependant))
    unknown = [name for name in request.query_params if name not in known]
    if unknown:
        errors = [
            FieldError(f"?{name[:_LONGEST]}", no_such("parameter", name, known)) for name in unknown[:_MOST_NAMED]
        ]
        raise InvalidError.of(errors)


def parameters_of(dependant: Dependant) -> Iterator[str]:
    """Names of all query parameters of a route, those of a model one by one."""
    for field in dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (each.alias or name for name, each in kind.model_fields.items())
        else:
            yield field.alias
    for below in dependant.dependencies:
        yield from parameters_of(below)
