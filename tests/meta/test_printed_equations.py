"""Equations that the pages print, evaluated as they stand there, give what the code computes."""

import re
from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

from tests.drawing import seeds
from tests.meta.equations import boxes, groups, recognition, sides, tables, uncertain
from tests.meta.equations.drawn import PAGE, Drawn, check
from tests.meta.printed_arithmetic import equations, inline, key, numbered, without_code
from tests.meta.project import tracked
from workers.algorithms.groups.signals.adequacy import from_counts
from workers.algorithms.groups.signals.evidence import log_bayes_factors

#: A row of the table of published examples: the confusion matrix, PA, J, and MB with where it is least and at 0, 0.
EXAMPLE: Final = re.compile(
    r"^\| \((\d+), (\d+), (\d+), (\d+)\) \| ([\d.]+) \| ([\d.]+) "
    r"\| ([\d.]+) \(t1 = (\d+), t2 = (\d+); ([\d.]+) at 0, 0\) \|$",
    re.MULTILINE,
)
#: A quotient, a power, a sum or a function of a name and a number.
BARE: Final = re.compile(
    r"[A-Za-z)] ?[/^] ?\d|(?<!\d)\d ?[/^] ?[A-Za-z(]|[\w)] \+ \d|\) - \d|\d - [A-Za-z]\b|\b(?:max|min|sqrt|log2)\("
)
PAGES: Final = [path.read_text() for path in tracked("docs/*.md", "README.md")]
EVALUATED: Final[dict[str, Callable[[np.random.Generator], Drawn]]] = {
    **boxes.EVALUATED, **sides.EVALUATED, **groups.EVALUATED, **uncertain.EVALUATED, **recognition.EVALUATED,
}  # fmt: skip
#: Equations that are one computation together.
TOGETHER: Final[dict[tuple[str, ...], Callable[[np.random.Generator], None]]] = {
    **boxes.TOGETHER, **sides.TOGETHER, **recognition.TOGETHER, **tables.TOGETHER,
}  # fmt: skip


@pytest.mark.parametrize("equation", EVALUATED)
def test_equations_are_as_printed(equation: str) -> None:
    for seed in seeds(10):
        check(equation, EVALUATED[equation](np.random.default_rng(seed)), f"seed {seed}")


@pytest.mark.parametrize("several", TOGETHER.values())
def test_equations_of_one_computation_are_as_printed(several: Callable[[np.random.Generator], None]) -> None:
    for seed in seeds(10):
        several(np.random.default_rng(seed))


def test_every_printed_equation_with_a_number_is_evaluated() -> None:
    """Of the blocks of the page of science, and between the words of all pages."""
    of_blocks, between = equations(PAGE), {each for page in PAGES for each in inline(page)}
    evaluated = {*EVALUATED, *(each for several in TOGETHER for each in several)}
    assert {key(each) for each in of_blocks if numbered(each)} | between <= evaluated
    assert evaluated <= {key(each) for each in of_blocks} | between


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.partition("\n")[0])
def test_no_equation_with_a_number_is_where_it_is_not_read(page: str) -> None:
    """In another notation, or as a word among words."""
    words = without_code(page)
    assert "$" not in words
    assert BARE.findall(words) == []


def test_the_examples_of_the_pages_are_those_of_the_code() -> None:
    rows = EXAMPLE.findall(PAGE)
    assert len(rows) == 2
    for row in rows:
        counts = [int(each) for each in row[:4]]
        judged, grid = from_counts(*counts), log_bayes_factors(*counts)
        figures = judged.prediction_accuracy, judged.markedness, judged.log_bayes_factor
        assert tuple(f"{figure:.3f}" for figure in figures) == row[4:7]
        assert (judged.bayes_t1, judged.bayes_t2) == (int(row[7]), int(row[8]))
        assert f"{grid[0, 0]:.3f}" == row[9]
    conventional = " and ".join(f"{from_counts(*map(int, row[:4])).informedness:.3f}" for row in rows)
    assert f"Youden's J ({conventional} for the two examples below)" in PAGE
