"""Printed equations, with random numbers in them: does what they come to agree with what the code computes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tests.meta.printed_arithmetic import equations, key, numbered, relations, sides
from tests.meta.project import ROOT

PAGE: Final = (ROOT / "docs/explanation/science").with_suffix(".md").read_text()
#: Printed phrases that stand for a name.
PHRASES: Final = {
    "dC/dx_i": "slope",
    "InfM(r, r*)": "InfM",
    "r*": "r_other",
    "w_ij^m": "w_ij",
    "C(all centres)": "C_all",
    "C(kept centres)": "C_kept",
    "1(S within A)": "within",
    "1(S meets A)": "meets",
}


@dataclass(frozen=True)
class Drawn:
    """Random input of an equation: names, with what the code computes of it under the name of the left side."""

    names: Mapping[str, Any]
    computed: Any = None  # where the equation has one side only
    close: float = 1e-9
    zero: float = 1e-12
    attained: bool = True  # an inequality is an equality here, at the nearest of several numbers


#: What draws the input of an equation, by its left side and relation, or by all of it.
Evaluated = Mapping[str, Callable[[np.random.Generator], Drawn]]


def printed(start: str) -> str:
    """The equation whose left side and relation these are, the one with a number where there are two; else itself."""
    these = [each for each in equations(PAGE) if key(each) == start]
    numbers = [each for each in these if numbered(each)]
    equation = next(iter(numbers if len(these) > 1 else these), start)
    for phrase, name in PHRASES.items():
        equation = equation.replace(phrase, name)
    return equation


def right_side(start: str) -> str:
    """Return the part of an equation behind its first equals sign."""
    return re.split(r" = ", printed(start), maxsplit=1)[1]


def check(start: str, drawn: Drawn, where: str = "") -> None:
    """Compare what each side comes to; `where` is said of a difference."""
    equation = printed(start)
    values = sides(equation, drawn.names)
    if len(values) == 1:
        np.testing.assert_allclose(values[0], drawn.computed, rtol=drawn.close, atol=drawn.zero, err_msg=where)
    for relation, left, right in zip(relations(equation), values[:-1], values[1:], strict=True):
        if relation == "=":
            np.testing.assert_allclose(left, right, rtol=drawn.close, atol=drawn.zero, err_msg=where)
            continue
        small, large = (left, right) if relation == "<=" else (right, left)
        assert (small <= large + drawn.close * np.abs(large) + drawn.zero).all(), where
        if drawn.attained:
            scale = drawn.zero + drawn.close * np.max(np.abs(large))
            assert np.min(large - small) <= scale, where
