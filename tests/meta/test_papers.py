"""The table of the papers in the science: each row has a function and a test that exist, or a sentence why not."""

import ast
import importlib
import re

import pytest

from tests.meta.project import ROOT
from tests.meta.test_science import BOOK

SECTION = BOOK.split("\n## The papers, row by row\n")[1].split("\n## ")[0]
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
