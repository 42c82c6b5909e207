"""Decimals of the page of science: measured ones come from results; what is typed is a constant, or the papers'."""

import re
from typing import Final

from tests.meta.equations.drawn import PAGE

#: Decimals that the code or a paper has; each with what it is. A measured figure has a key of `benchmarks/results`.
TYPED: Final = {
    "0.001": "TC's kappa; TC's probability of each mutation", "0.05": "TC's mutation; floor of local scales",
    "0.1": "least grade", "0.2": "grade", "0.3": "grade; `roaming`", "0.4": "grade",
    "0.5": "alpha; grade; half a per cent",
    "0.75": "TC's gamma; probability of local search", "0.37": "shift of a grid", "1.349": "IQR of a normal deviation",
    "1.5": "records of a leaf, in k", "1.6": "the target of a distortion", "2.5": "standard deviations of an AUC",
    "0.03": "TC's threshold of mutation",
    # of the examples of TC: recomputed by `test_the_examples_of_the_pages_are_those_of_the_code`, or as printed
    "0.953": "PA", "0.891": "J", "98.047": "MB", "136.006": "MB", "0.928": "PA", "0.775": "J",
    "55.067": "MB", "75.598": "MB", "0.607": "J", "0.505": "J",
    # definitions and theorems of AG
    "2.1": "definition", "2.4": "definition",
}  # fmt: skip
_FIGURE: Final = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d)")


def typed(page: str) -> set[str]:
    """Decimals between the words of a page: no measured figure, no equation of a block, no bibliography."""
    text = page.split("\n## Bibliography\n", maxsplit=1)[0]
    text = re.sub(r"<!-- table.*?<!-- end -->|<!-- .*?<!-- -->", "", text, flags=re.DOTALL)
    return set(_FIGURE.findall(re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)))


def test_a_typed_decimal_is_noticed_and_a_measured_one_is_not() -> None:
    page = "It is 0.42 wide, <!-- a.b:.2f -->0.17<!-- --> there.\n```text\nx = 0.5\n```\n\n## Bibliography\n\n10.1109/2"
    assert typed(page) == {"0.42"}


def test_the_page_of_science_has_no_measured_figure_that_was_typed() -> None:
    assert typed(PAGE) == set(TYPED)
