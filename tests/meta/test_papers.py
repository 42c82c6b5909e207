"""The table of the papers in the science: each row has a function and a test that exist, or a sentence why not."""

import ast
import importlib
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.meta.project import ROOT
from tests.meta.test_science import EQUATIONS

SECTION = EQUATIONS.read_text().split("\n## The papers, row by row\n")[1].split("\n## ")[0]
HEAD = "| row | what it is | function | over HTTP | test | figure, or why not |"
ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split(" | "))
    for table in SECTION.split(HEAD)[1:]
    for line in table.split("\n|---|---|---|---|---|---|\n")[1].split("\n\n")[0].splitlines()
]
#: Rows of each paper that the review of all four found missing or partly there.
GROUPS = {
    "TC3b", "TC4", "TC5c", "TC7b", "TC10", "TC19", "TC21", "TC27", "TC28", "TC29", "TC30", "TC31", "TC32", "TC33",
    "TC34", "TC39", "TC40", "TC41", "TC45",
}  # fmt: skip

BOXES = {"XF7a", "XF8a", "XF10c", "XF12", "XK3b", "XK10"}
UNCERTAIN = {"AG14", "AG15", "AG19", "AG31", "AG32", "AG33"}


DOCUMENT: dict[str, Any] = json.loads((ROOT / "openapi" / "openapi.json").read_text())
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]


def methods() -> dict[str, list[Any]]:
    """The body that each method is requested by on its route, and its results."""
    results = DOCUMENT["components"]["schemas"]["JobResult"]["discriminator"]["mapping"]
    bodies: dict[str, list[Any]] = {}
    for operations in DOCUMENT["paths"].values():
        body = operations.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {})
        for name, reference in resolved(body.get("schema", {})).get("discriminator", {}).get("mapping", {}).items():
            bodies[name] = [{"$ref": reference}, *([{"$ref": results[name]}] if name in results else [])]
    return bodies


def resolved(schema: Any) -> Any:
    """A schema, and what it refers to."""
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def parts_of(schema: Any) -> Iterator[Any]:
    """A schema with its alternatives and the elements of its lists and mappings."""
    schema = resolved(schema)
    yield schema
    for one in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        yield from parts_of(one)
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from parts_of(schema[name])


def has(schema: Any, path: list[str], seen: frozenset[int] = frozenset()) -> bool:
    """Whether a field of this path is somewhere in a body or an answer; the last part may be a value of the field."""
    for part in parts_of(schema):
        if id(part) in seen:
            continue
        for name, field in part.get("properties", {}).items():
            if name == path[0] and (len(path) == 1 or is_in(field, path[1:])):
                return True
            if has(field, path, seen | {id(part)}):
                return True
    return False


def is_in(field: Any, path: list[str]) -> bool:
    """Whether a field has a field of this path, or a value of this name."""
    for part in parts_of(field):
        if len(path) == 1 and path[0] in (part.get("const"), *part.get("enum", ())):
            return True
        inner = part.get("properties", {}).get(path[0])
        if inner is not None and (len(path) == 1 or is_in(inner, path[1:])):
            return True
    return False


def not_offered(http: str) -> list[str]:
    """What a cell names that the document has not: routes, and fields that no method that it names takes or answers."""
    tokens = re.findall(r"`([^`]+)`", http)
    offered = methods()
    routes = [token.split() for token in tokens if " /" in token]
    named = [token for token in tokens if token in offered]
    wrong = [f"{verb} {path}" for verb, path in routes if verb.lower() not in DOCUMENT["paths"].get(path, {})]
    wrong += [] if named or routes else ["no route and no method"]
    schemas = [schema for name in named for schema in offered[name]]
    for token in tokens:
        if token not in offered and " /" not in token:
            path = re.split(r"\.|: ", token)
            wrong += [] if any(has(schema, path) for schema in schemas) else [token]
    return wrong


def test_every_row_of_the_review_is_in_the_table_once() -> None:
    names = [row[0] for row in ROWS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"(?:XF|XK|TC|AG)\d+[a-z]?", name) for name in names)
    assert set(names) >= GROUPS | BOXES | UNCERTAIN
    assert SECTION.count("\n| ") == len(ROWS) + SECTION.count(HEAD)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_names_what_is_there_or_says_why_not(row: tuple[str, ...]) -> None:
    name, what, function, http, test, figure = row
    assert what, name
    assert http, name
    assert http == "-" or not_offered(http) == []
    if function == "-":
        assert test == "-"
        assert re.fullmatch(r"[A-Z].{20,}\.", figure), f"{name}: say in a sentence why not"
        return
    module, attribute = re.fullmatch(r"`([\w.]+):(\w+)`", function).groups()  # type: ignore[union-attr]
    assert callable(getattr(importlib.import_module(module), attribute))
    path, wanted = test.strip("`").split("::")
    tree = ast.parse((ROOT / path).read_text())
    assert wanted in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert figure.startswith("[") or figure.endswith("."), f"{name}: a link to figures, or a sentence"


@pytest.mark.parametrize(
    ("http", "wrong"),
    [
        ("`outliers.test` of `group` and `swaps`", []),
        ("`rare_records: suppress` of `boxes`", []),
        ("`statistics.kind: prediction` of `boxes`, `POST /v1/releases/{release_id}/statistics`", []),
        ("`POST /v1/releases/{release_id}/predictions`", ["POST /v1/releases/{release_id}/predictions"]),
        ("`outliers.level` of `group`", ["outliers.level"]),
        ("`rare_records: hide` of `boxes`", ["rare_records: hide"]),
        ("`records` of `boundary`", ["no route and no method", "records", "boundary"]),
        ("over HTTP", ["no route and no method"]),
    ],
)
def test_what_the_document_does_not_offer_is_named(http: str, wrong: list[str]) -> None:
    assert not_offered(http) == wrong
