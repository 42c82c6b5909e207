"""Results of jobs that ended before a field got its present name."""

from typing import Any

import pytest

from app.methods.catalogue import METHODS
from workers.methods.report.former_names import FORMER, with_present_names

PATHS = [(method, path, name) for method, names in FORMER.items() for path, name in names.items()]


def at(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value[0] if step == "*" else value[step]
    return value


def holding(path: tuple[str, ...]) -> Any:
    value: Any = "figure"
    for step in reversed(path):
        value = [value] if step == "*" else {step: value, "other": 1}
    return value


def schemas_at(method: str, path: tuple[str, ...]) -> list[dict[str, Any]]:
    """All schemas that a value at the path may have, `null` aside."""
    document = METHODS[method].result.model_json_schema(mode="serialization")

    def resolved(schema: dict[str, Any]) -> list[dict[str, Any]]:
        if "$ref" in schema:
            return resolved(document["$defs"][schema["$ref"].rpartition("/")[2]])
        ways = [one for way in schema["anyOf"] for one in resolved(way)] if "anyOf" in schema else [schema]
        return [one for one in ways if one.get("type") != "null"]

    reached = resolved(document)
    for step in path:
        inside = [one["items"] if step == "*" else one["properties"][step] for one in reached]
        reached = [one for each in inside for one in resolved(each)]
    return reached


@pytest.mark.parametrize(("method", "path", "name"), PATHS)
def test_a_result_with_a_former_name_is_read_by_the_present_one(method: str, path: tuple[str, ...], name: str) -> None:
    read = with_present_names(method, holding(path))
    assert at(read, (*path[:-1], name)) == "figure"
    assert at(read, path[:-1]) == {name: "figure", "other": 1}
    assert with_present_names(method, read) == read


@pytest.mark.parametrize(("method", "path", "name"), PATHS)
def test_the_present_name_is_the_field_of_the_method(method: str, path: tuple[str, ...], name: str) -> None:
    (holder,) = schemas_at(method, path[:-1])
    assert name in holder["properties"]
    assert path[-1] not in holder["properties"]


def test_what_a_result_lacks_is_no_fault() -> None:
    for method in FORMER:
        assert with_present_names(method, {}) == {}
        assert with_present_names(method, {"records": None}) == {"records": None}
