"""Certain sums and intervals against exact arithmetic."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surebox_core.intervals import Interval, difference, dot, total

NUMBER = st.floats(-1e150, 1e150)


@given(st.lists(st.tuples(NUMBER, st.integers(0, 10**6)), min_size=1, max_size=60))
def test_a_dot_product_lies_within_its_bounds(pairs: list[tuple[float, int]]) -> None:
    a, b = np.array([p[0] for p in pairs]), np.array([float(p[1]) for p in pairs])
    exact = sum((Fraction(x) * y for x, y in pairs), Fraction(0))
    bounds = dot(a, b)
    assert Fraction(bounds.lower) <= exact <= Fraction(bounds.upper)


def test_bounds_stay_narrow_where_a_plain_sum_is_wrong() -> None:
    a = np.array([1e16, 1.0, -1e16, 1.0] * 1000)
    bounds = total(a)
    assert bounds.lower <= 2000.0 <= bounds.upper
    assert bounds.width < 1e-3
    assert abs(a.sum() - 2000.0) > 100.0


@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_operations_on_intervals_hold_the_exact_results(a: float, b: float, c: float, d: float) -> None:
    x, y = Interval(min(a, b), max(a, b)), Interval(min(c, d), max(c, d))
    for p in (x.lower, x.upper):
        for q in (y.lower, y.upper):
            exact = {"+": Fraction(p) + Fraction(q), "-": Fraction(p) - Fraction(q), "*": Fraction(p) * Fraction(q)}
            for name, got in (("+", x + y), ("-", x - y), ("*", x * y)):
                assert Fraction(got.lower) <= exact[name] <= Fraction(got.upper)
            if not y.lower <= 0.0 <= y.upper and min(abs(y.lower), abs(y.upper)) > 1e-290:
                got = x / y
                assert Fraction(got.lower) <= Fraction(p) / Fraction(q) <= Fraction(got.upper)


@given(st.floats(0, 1e300))
def test_a_square_root_is_bounded(value: float) -> None:
    root = Interval(value, value).square_root()
    assert Fraction(root.lower) ** 2 <= Fraction(value) <= Fraction(root.upper) ** 2


@given(st.floats(-1e9, 1e9), st.floats(-1e-9, 1e9))
def test_a_difference_is_rounded_in_the_direction_asked(a: float, b: float) -> None:
    exact = Fraction(a) - Fraction(b)
    below = float(difference(np.array([a]), b, -math.inf)[0])
    above = float(difference(np.array([a]), b, math.inf)[0])
    assert Fraction(below) <= exact <= Fraction(above)
    assert above <= np.nextafter(below, np.inf)


@given(st.floats(-1e-300, 1e-300), st.integers(-60, 60))
def test_scaling_by_a_power_of_two_is_outward_where_it_underflows(value: float, exponent: int) -> None:
    scaled = Interval(value, value).scaled(exponent)
    exact = Fraction(value) * Fraction(2) ** exponent
    assert Fraction(scaled.lower) <= exact <= Fraction(scaled.upper)


def test_an_interval_around_zero_does_not_divide() -> None:
    with pytest.raises(ZeroDivisionError):
        Interval(1.0, 2.0) / Interval(-1.0, 1.0)
