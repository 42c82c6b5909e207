"""JSON bodies, read so that every reader sees the same request: a name that occurs twice in an object is refused.

Readers differ in which of two members of one name they take. A gateway that reads the first one would let pass what is
then done by the last.
"""

import json
from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from app.contracts.base import in_normal_form
from app.errors import InvalidError, pointer

#: Characters of a name that a problem quotes.
_LONGEST: Final = 100


class JsonRoute(APIRoute):
    """A route whose JSON body has every name once in an object."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler of FastAPI, with a request that reads its body by `read_json`."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            try:
                return await handle(_StrictRequest(request.scope, request.receive))
            except HTTPException as error:  # as FastAPI hides whatever is wrong with a body
                if isinstance(error.__cause__, InvalidError):
                    raise error.__cause__ from None
                raise

        return handle_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


def read_json(body: bytes) -> Any:
    """Parse a body in which no object has a name twice; its names and texts in the normal form in which they compare.

    Raises
    ------
    json.JSONDecodeError
        It is no JSON.
    InvalidError
        A name occurs twice; its pointer is that of the member.
    """
    doubled: list[tuple[dict[str, Any], str]] = []

    def members(sent: list[tuple[str, Any]]) -> dict[str, Any]:
        pairs = [(in_normal_form(name), _compared(value)) for name, value in sent]
        parsed = dict(pairs)
        if len(parsed) < len(pairs):
            doubled.append((parsed, _repeated(pairs)))
        return parsed

    document = _compared(json.loads(body, object_pairs_hook=members))
    if doubled:  # the last one that ends is in no object that has lost a member
        last, name = doubled[-1]
        detail = f"the name {name[:_LONGEST]!r} occurs twice in one object: send it once"
        raise InvalidError.at(pointer(*_way_to(last, document), name[:_LONGEST]), detail)
    return document


def _compared(value: Any) -> Any:
    """A text, or the texts of an array, in normal form; objects have theirs."""
    if isinstance(value, str):
        return in_normal_form(value)
    return [_compared(each) for each in value] if isinstance(value, list) else value


def _repeated(pairs: list[tuple[str, Any]]) -> str:
    """The first name that occurs again."""
    names: set[str] = set()
    for name, _ in pairs:
        if name in names:
            return name
        names.add(name)
    raise AssertionError  # pragma: no cover - called where there are fewer names than members


def _way_to(wanted: object, document: object) -> tuple[str | int, ...]:
    """The names and places that lead to an object within a document."""
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(document, ())]
    while waiting:
        value, way = waiting.pop()
        if value is wanted:
            return way
        if isinstance(value, dict):
            waiting += [(below, (*way, name)) for name, below in value.items()]
        elif isinstance(value, list):
            waiting += [(below, (*way, place)) for place, below in enumerate(value)]
    return ()
