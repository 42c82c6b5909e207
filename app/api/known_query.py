"""Query parameters that a route does not know are refused: a misspelt filter would let everything through."""

from collections.abc import Iterator
from typing import Final

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.api.known_fields import no_such
from app.errors import FieldError, InvalidError

_MOST_NAMED: Final = 20
_LONGEST: Final = 100


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
        raise InvalidError("; ".join(f"{error.pointer[1:]}: {error.detail}" for error in errors[:5]), errors=errors)


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
