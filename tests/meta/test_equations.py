"""The table of equations names functions and tests that exist."""

import ast
import importlib
import re

import pytest

from tests.meta.project import ROOT

TEXT = (ROOT / "workers/algorithms/README.md").read_text()
ROWS = re.findall(
    r"^\|(?P<equation>[^|]+)\| `(?P<function>(?:workers|surebox_verify)\.[^`]+)` \| `(?P<test>tests/[^`]+)` \|$",
    TEXT,
    re.MULTILINE,
)


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
