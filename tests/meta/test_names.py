"""The vocabulary of docs/contributing/names.md: words that are banned, and names that have become others."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meta.project import ROOT, tracked

#: Variables, parameters, fields, functions and modules of these names say nothing of what they are.
EMPTY_WORDS = {"found", "asked", "told"}

#: Names that have become others: not as a word of the code, of its texts, or of the documents.
FORMER = re.compile(
    r"\b(count_keep|k_with_keep|suppress_at_most|dismiss_at_most|snug_records|snug|mean_rounding|rounded_means|minimum_width"
    r"|minimum_scale|split_minimum|with_shift|allow_repeat|share_determined"
    r"|parameter_values|known_90|share_of_these_right|with_scale_matching|original_id"
    r"|expected_anonymity_of_all_draws|same_data_as|version_of|split_by"
    r"|ClassificationSummary|ComputedStatistics|ComputedSummary|StatisticResult"
    r"|median_c|failing_cells|altered_share|letter_distortion|trained_on|of_the_group|youden_j|youden_conventional"
    r"|bayes_mb|charset_found|rows_of_nobody|FindingsStandError)\b"
)


def sources(*folders: str) -> list[Path]:
    return [path for path in tracked("*.py") if path.relative_to(ROOT).parts[0] in folders]


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
            case ast.keyword(arg=str(name)):
                yield node.value.lineno, name


@pytest.mark.parametrize("folder", ["app", "workers", "verify", "tests", "benchmarks", "docs"])
def test_no_name_says_nothing(folder: str) -> None:
    for path in sources(folder):
        assert path.stem not in EMPTY_WORDS, path
        for line, name in identifiers(ast.parse(path.read_text())):
            assert name.strip("_") not in EMPTY_WORDS, f"{path.relative_to(ROOT)}:{line}: {name} says nothing"


def test_no_name_is_a_former_one() -> None:
    tables = (
        "docs/contributing/names.md",
        "docs/project/changed-defaults.md",
        "workers/methods/report/former_names.py",
    )
    own = {Path(__file__), *(ROOT / table for table in tables)}
    for path in [*tracked("*.py"), *tracked("*.md"), ROOT / "openapi/openapi.json"]:
        if path not in own and (former := FORMER.search(path.read_text())):
            pytest.fail(f"{path.relative_to(ROOT)}: {former[0]} is a former name, see docs/contributing/names.md")
