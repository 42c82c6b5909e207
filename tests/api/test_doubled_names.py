"""A name that occurs twice in an object of a body is refused, wherever it is, on every route that takes JSON."""

import json
from collections.abc import Mapping
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.routing import APIRoute, iter_route_contexts

from app.api.bodies import JsonRoute, read_json
from app.errors import InvalidError
from tests.api.test_mutated_bodies import APP, bodies, places, value_at
from tests.drawing import seeds

BODIES = list(bodies())


def spelled(draw: np.random.Generator, name: str) -> str:
    """A name in one of the spellings that JSON has for it."""
    return "".join(f"\\u{ord(each):04x}" if draw.random() < 0.2 and ord(each) < 2**16 else each for each in name)


def doubled(draw: np.random.Generator, value: Any, at: tuple[str | int, ...]) -> str:
    """The text of a body in which the object at a place has one of its names once more."""
    if not at:
        return json.dumps(value)
    first, *rest = at
    if isinstance(value, list):
        inner = [
            doubled(draw, one, tuple(rest)) if place == first else json.dumps(one) for place, one in enumerate(value)
        ]
        return f"[{', '.join(inner)}]"
    members = [
        f'"{spelled(draw, name)}": {doubled(draw, one, tuple(rest)) if name == first else json.dumps(one)}'
        for name, one in value.items()
    ]
    if not rest:
        other = draw.choice(["null", "3", "{}", "[1]", '"x"', json.dumps(value[first])])
        members.insert(int(draw.integers(0, len(members) + 1)), f'"{spelled(draw, str(first))}": {other}')
    return f"{{{', '.join(members)}}}"


def names_of(body: Any) -> list[tuple[str | int, ...]]:
    """Places of the members of every object of a body."""
    return [at for at in places(body) if at and isinstance(value_at(body, at[:-1]), Mapping)]


@pytest.mark.parametrize("seed", seeds(12))
def test_a_body_with_a_name_twice_is_refused_at_its_place(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng(seed)
    for (path, method), _, body in BODIES:
        if not (members := names_of(body)):
            continue
        at = members[int(draw.integers(0, len(members)))]
        text = doubled(draw, body, at)
        answer = client.request(
            method, path.replace("{", "").replace("}", ""), content=text, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY, (path, text, answer.text)
        (error,) = answer.json()["errors"]
        where = [part.replace("~1", "/").replace("~0", "~") for part in error["pointer"].split("/")[1:]]
        assert where == [str(part) for part in at], (text, error)
        assert "twice" in error["detail"]


def test_every_route_that_takes_a_body_reads_it_this_way() -> None:
    taking = [
        context.original_route
        for context in iter_route_contexts(APP.routes)
        if isinstance(context.original_route, APIRoute) and context.original_route.body_field is not None
    ]
    assert len(taking) >= 10
    assert all(isinstance(route, JsonRoute) for route in taking)


@pytest.mark.parametrize("seed", seeds(10))
def test_other_bodies_are_read_as_they_are(seed: int) -> None:
    draw = np.random.default_rng(seed)
    for _, _, body in BODIES:
        text = json.dumps(body, ensure_ascii=bool(draw.random() < 0.5))
        assert read_json(text.encode(str(draw.choice(["utf-8", "utf-16", "utf-8-sig"])))) == body


def test_the_outer_of_two_is_named_where_the_inner_one_is_lost() -> None:
    with pytest.raises(InvalidError) as refused:
        read_json(b'{"a": [{"k": {"x": 1, "x": 2}}], "a": 1}')
    assert [error.pointer for error in refused.value.errors] == ["/a"]
    with pytest.raises(InvalidError) as refused:
        read_json(b'[{"a": {"k": 1}}, {"k": {"b/c": 1, "b/c": 2}}]')
    assert [error.pointer for error in refused.value.errors] == ["/1/k/b~1c"]
