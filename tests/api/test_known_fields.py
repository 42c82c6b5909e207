"""The fields that an error names are those of the contract, at every place of every body."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.api.known_fields import fields_at
from app.api.openapi import DescribedApi, operations
from app.api.surface import include_routes
from tests.documented import the_document

APP = DescribedApi()
include_routes(APP)
ROUTES = {(path, method): route for path, method, route in operations(APP) if route.body_field is not None}


def objects(value: Any, *location: str | int) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """All objects of a body, and where they are."""
    if isinstance(value, dict):
        yield location, value
        for key, below in value.items():
            yield from objects(below, *location, key)
    elif isinstance(value, list):
        for place, below in enumerate(value):
            yield from objects(below, *location, place)


def bodies() -> Iterator[tuple[tuple[str, str], Any]]:
    """Every example of every body."""
    for path, methods in the_document()["paths"].items():
        for method, operation in methods.items():
            kinds = operation.get("requestBody", {}).get("content", {})
            for example in kinds.get("application/json", {}).get("examples", {}).values():
                yield (path, method.upper()), example["value"]


def test_every_field_of_every_example_is_known() -> None:
    """An object whose keys are somebody's names has no fields."""
    seen = free = 0
    for operation, body in bodies():
        for location, value in objects(body):
            known = fields_at(ROUTES[operation], body, location)
            assert not known or value.keys() <= set(known), (operation, location)
            seen, free = seen + bool(known), free + (not known)
    assert seen > 100 > free


@pytest.mark.parametrize(
    ("location", "first"), [((), "method"), (("statistics", 0), "kind"), (("gate", 0), "method"), (("nominal",), None)]
)
def test_fields_are_told_in_the_order_of_the_contract(location: tuple[str | int, ...], first: str | None) -> None:
    body = {"method": "boxes", "statistics": [{"kind": "mean"}], "gate": [{"method": "table"}], "nominal": {"a": {}}}
    known = fields_at(ROUTES["/v1/anonymizations", "POST"], body, location)
    assert known[:1] == ([] if first is None else [first])


def test_a_method_has_its_own_fields_and_an_unknown_one_has_none() -> None:
    route = ROUTES["/v1/anonymizations", "POST"]
    assert {"statistics", "rare_records"} <= set(fields_at(route, {"method": "boxes"}, ()))
    assert {"statistics", "rare_records"}.isdisjoint(fields_at(route, {"method": "condensation"}, ()))
    assert fields_at(route, {"method": "none"}, ()) == fields_at(route, [1], (0,)) == []
