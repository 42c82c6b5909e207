"""The tables of equations name functions and tests that exist, and so do the examples beside them."""

import ast
import importlib
import re

import pytest

from tests.meta.project import ROOT

TEXT = (ROOT / "workers/algorithms/README.md").read_text()
ROWS = re.findall(
    r"^\|(?P<equation>[^|]+)\| `(?P<function>(?:workers|surebox_(?:core|verify))\.[^`]+)`"
    r" \| `(?P<test>tests/[^`]+)` \|$",
    TEXT,
    re.MULTILINE,
)

EXAMPLES = re.findall(r"^```python\n(.+?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_every_row_of_a_table_of_equations_is_read() -> None:
    tables = re.findall(r"^\| equation \| function \| test \|\n\|[-|]+\|\n((?:\|.*\n?)+)", TEXT, re.MULTILINE)
    assert len(ROWS) == sum(len(table.strip().splitlines()) for table in tables) > 0


@pytest.mark.parametrize(("equation", "function", "test"), ROWS, ids=[row[1].split(":")[1] for row in ROWS])
def test_the_function_and_the_test_of_an_equation_exist(equation: str, function: str, test: str) -> None:
    module, name = function.split(":")
    assert callable(getattr(importlib.import_module(module), name)), equation
    path, wanted = test.split("::")
    defined = {
        node.name for node in ast.walk(ast.parse((ROOT / path).read_text())) if isinstance(node, ast.FunctionDef)
    }
    assert wanted in defined, equation


@pytest.mark.parametrize("example", EXAMPLES, ids=[str(place) for place in range(len(EXAMPLES))])
def test_what_an_example_imports_is_there(example: str) -> None:
    namespace: dict[str, object] = {}
    tree = ast.parse(example)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import):
            exec(compile(ast.Module([node], []), "example", "exec"), namespace)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in namespace:
            assert hasattr(namespace[node.value.id], node.attr), ast.unparse(node)
