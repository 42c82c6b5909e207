"""Every membership function, at and around its points."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.groups.rules_oracle import grade, terms
from tests.drawing import examples
from workers.algorithms.groups.rules.membership import SHAPES, Term, check_term, grades


def at(term: Term, *x: float) -> list[float]:
    return grades(term, np.array(x)).tolist()


def test_gaussian() -> None:
    term = Term("gaussian", (2.0, 27.5))
    assert at(term, 27.5) == [1.0]
    assert at(term, 25.5, 29.5, 31.5) == pytest.approx([math.exp(-0.5), math.exp(-0.5), math.exp(-2.0)], rel=1e-15)
    assert at(term, -1e308, 1e308) == [0.0, 0.0]


def test_trapezoid() -> None:
    term = Term("trapezoid", (19.0, 21.0, 24.0, 28.0))
    assert at(term, 18.9, 19.0, 20.0, 20.5, 21.0, 22.0, 24.0, 25.0, 27.0, 28.0, 29.0) == [
        0.0, 0.0, 0.5, 0.75, 1.0, 1.0, 1.0, 0.75, 0.25, 0.0, 0.0
    ]  # fmt: skip


def test_triangle() -> None:
    assert at(Term("triangle", (0.0, 2.0, 6.0)), -1.0, 0.0, 1.0, 2.0, 3.0, 6.0, 7.0) == [
        0.0, 0.0, 0.5, 1.0, 0.75, 0.0, 0.0
    ]  # fmt: skip


def test_pi_is_two_parabolas_a_plateau_and_two_parabolas() -> None:
    term = Term("pi", (0.0, 4.0, 10.0, 12.0))
    assert at(term, 0.0, 1.0, 2.0, 3.0, 4.0, 7.0, 10.0, 10.5, 11.0, 11.5, 12.0) == [
        0.0, 0.125, 0.5, 0.875, 1.0, 1.0, 1.0, 0.875, 0.5, 0.125, 0.0
    ]  # fmt: skip


def test_s_and_z_are_mirror_images() -> None:
    x = np.linspace(-1, 5, 61)
    assert at(Term("s", (0.0, 4.0)), 0.0, 1.0, 2.0, 3.0, 4.0) == [0.0, 0.125, 0.5, 0.875, 1.0]
    assert at(Term("z", (0.0, 4.0)), 0.0, 1.0, 2.0, 3.0, 4.0) == [1.0, 0.875, 0.5, 0.125, 0.0]
    assert np.array_equal(grades(Term("s", (0.0, 4.0)), x), grades(Term("z", (-4.0, 0.0)), -x))
    assert grades(Term("s", (0.0, 4.0)), x) + grades(Term("z", (0.0, 4.0)), x) == pytest.approx(1.0)


def test_range_is_closed() -> None:
    term = Term("range", (2.0, 7.0))
    assert at(term, math.nextafter(2.0, 0.0), 2.0, 5.0, 7.0, math.nextafter(7.0, 9.0)) == [0.0, 1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("shape", ["pi", "trapezoid"])
def test_the_end_of_a_vertical_shoulder_belongs_to_the_set(shape: str) -> None:
    left = Term(shape, (1.0, 1.0, 530.0, 630.0))
    assert at(left, math.nextafter(1.0, 0.0), 1.0, 2.0) == [0.0, 1.0, 1.0]
    right = Term(shape, (40.2, 50.1, 100.0, 100.0))
    assert at(right, 99.0, 100.0, math.nextafter(100.0, 101.0)) == [1.0, 1.0, 0.0]
    point = Term(shape, (3.0, 3.0, 3.0, 3.0))
    assert at(point, 2.0, 3.0, 4.0) == [0.0, 1.0, 0.0]


def test_vertical_s_z_and_triangle() -> None:
    assert at(Term("s", (3.0, 3.0)), 2.9, 3.0, 3.1) == [0.0, 1.0, 1.0]
    assert at(Term("z", (3.0, 3.0)), 2.9, 3.0, 3.1) == [1.0, 1.0, 0.0]
    assert at(Term("triangle", (3.0, 3.0, 5.0)), 2.9, 3.0, 4.0) == [0.0, 1.0, 0.5]


@settings(deadline=None, max_examples=examples(100))
@given(term=terms(), x=st.lists(st.floats(-3, 9), min_size=1, max_size=10))
def test_grades_are_those_of_the_printed_forms(term: Term, x: list[float]) -> None:
    memberships = grades(term, np.array(x))
    assert memberships == pytest.approx([grade(term, value) for value in x], rel=1e-12, abs=1e-15)
    assert ((memberships >= 0.0) & (memberships <= 1.0)).all()


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        (Term("square", (1.0, 2.0)), "unknown shape"),
        (Term("pi", (1.0, 2.0, 3.0)), "takes 4 points, got 3"),
        (Term("trapezoid", (1.0, 3.0, 2.0, 4.0)), "must not fall"),
        (Term("range", (2.0, 1.0)), "must not fall"),
        (Term("s", (1.0, math.nan)), "finite"),
        (Term("z", (-math.inf, 0.0)), "finite"),
        (Term("gaussian", (0.0, 1.0)), "sigma"),
        (Term("gaussian", (-1.0, 1.0)), "sigma"),
    ],
)
def test_what_is_no_term_is_refused(term: Term, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_term(term)
    with pytest.raises(ValueError, match=reason):
        grades(term, np.zeros(1))


def test_every_shape_has_been_drawn_from() -> None:
    assert set(SHAPES) == {"gaussian", "trapezoid", "triangle", "pi", "s", "z", "range"}
