"""Guaranteed ranges of predictions: certain against brute force and exact arithmetic, and narrow."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.pairs import EFFORT
from surebox_verify.ranges.regression import prediction_work, regression_ranges
from surebox_verify.ranges.steps import RangeSteps
from tests.drawing import examples
from tests.verify.ranges.corners import corner_splits, moments_at_corners
from tests.verify.ranges.test_ranges import boxes_of, random_boxes, vertices
from tests.verify.ranges.test_regression import coefficients, columns_of, ends, solved


def predicted(columns: tuple[BoxColumn, ...], *at: float) -> Range:
    (r,) = RangeSteps(prediction_work(columns, at, EFFORT), len(columns) * len(columns[0].lower)).finish()
    return r


@pytest.mark.parametrize("at", [-3.0, 0.0, 1.7, 40.0])
@pytest.mark.parametrize("seed", range(3))
def test_one_predictor_holds_all_of_a_dozen_records_and_is_little_wider(seed: int, at: float) -> None:
    rng = np.random.default_rng(seed)
    lower = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]]) + 0.1 * rng.normal(size=(3, 2))
    upper = lower + rng.uniform(0.05, 0.5, lower.shape)
    c, v, _ = moments_at_corners(lower, upper, splits := corner_splits(np.array([4, 4, 4])))
    x = np.stack([lower[:, 0], lower[:, 0], upper[:, 0], upper[:, 0]], axis=1)
    y = np.stack([lower[:, 1], upper[:, 1], lower[:, 1], upper[:, 1]], axis=1)
    share = np.array(splits)
    reached = (share * y).sum(axis=(1, 2)) + c / v * (at - (share * x).sum(axis=(1, 2)))
    boxes = boxes_of(lower[:, ::-1], upper[:, ::-1], np.full(3, 4000))  # so many that whole records make no difference
    outer, _ = ends(predicted(columns_of(boxes), at))
    assert outer.lower <= reached.min()
    assert reached.max() <= outer.upper
    assert outer.width < 1.1 * (reached.max() - reached.min())


@pytest.mark.parametrize("seed", range(4))
def test_two_predictors_hold_every_vertex(seed: int) -> None:
    boxes = random_boxes(seed, 5, 3, largest=1, spread=0.02)
    at = np.random.default_rng(seed).normal(size=2)
    reached = coefficients(vertices(boxes, (0, 1, 2))) @ [1.0, *at]
    outer, _ = ends(predicted(columns_of(boxes), *at))
    assert outer.lower <= reached.min()
    assert reached.max() <= outer.upper
    assert outer.width < 1.5 * (reached.max() - reached.min())


@settings(deadline=None, max_examples=examples(40))
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 1e4, -1e8]),
    st.sampled_from([1.0, 1e-9, 1e9]),
    st.sampled_from([0.0, 1e-12, 1e-3, 0.3]),
    st.sampled_from([0.1, 1e-17, 1e12 + 1 / 3]),
)
def test_exact_values_lie_inside(seed: int, shift: float, unit: float, spread: float, at: float) -> None:
    rng = np.random.default_rng(seed)
    lower = (rng.normal(size=(8, 2)) + shift) * np.array([1.0, unit])
    upper = lower + spread * rng.uniform(size=lower.shape) * np.array([1.0, unit])
    counts = rng.integers(1, 4, 8)
    r = predicted(columns_of(boxes_of(lower, upper, counts)), at)
    low, high = np.repeat(lower, counts, axis=0), np.repeat(upper, counts, axis=0)
    for place in (np.zeros(low.shape), np.ones(low.shape), rng.integers(0, 2, low.shape), rng.random(low.shape)):
        data = np.clip(low + place * (high - low), low, high)
        intercept, slope = solved([[Fraction(v) for v in row] for row in data.tolist()], [Fraction(1)] * len(data))
        if r.outer is not None:
            assert Fraction(r.outer.lower) <= intercept + slope * Fraction(at) <= Fraction(r.outer.upper)


def test_at_zero_it_is_the_intercept_and_far_out_the_slope() -> None:
    columns = columns_of(random_boxes(6, 80, 3, largest=4, spread=0.1))
    intercept, slope, _ = regression_ranges(columns)
    assert predicted(columns, 0.0, 0.0) == intercept
    far = ends(predicted(columns, 1e9, 0.0))[0]
    for one, other in ((far.lower, slope.outer), (far.upper, slope.outer)):
        assert other is not None
        assert other.lower - 0.02 * other.width <= one / 1e9 <= other.upper + 0.02 * other.width
    assert far.width == pytest.approx(1e9 * ends(slope)[0].width, rel=0.05)


def test_it_is_nearest_where_the_records_are() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(600, 3)) @ rng.normal(size=(3, 3)) + 10.0
    width = 0.3 * x.std(axis=0)
    columns = columns_of(boxes_of(x - width * rng.random(x.shape), x + width * rng.random(x.shape), np.full(600, 5)))
    widths = [ends(predicted(columns, *(x.mean(axis=0) + d * x.std(axis=0))[1:]))[0].width for d in (0.0, 2.0, 8.0)]
    assert widths[0] < widths[1] < widths[2]


def test_points_are_exact() -> None:
    x = np.random.default_rng(7).normal(size=(300, 4)) + 100.0
    r = predicted(columns_of(boxes_of(x, x, np.full(300, 5))), 99.0, 101.5, 100.1)
    value = coefficients(x) @ [1.0, 99.0, 101.5, 100.1]
    assert r.exact
    assert ends(r)[0].width < 1e-7
    assert ends(r)[0].lower - 1e-9 <= value <= ends(r)[0].upper + 1e-9


def test_there_is_none_where_there_is_no_intercept() -> None:
    line = np.arange(6.0)[:, None] * np.ones(3)
    line[:, 0] = [0.0, 2.0, 1.0, 5.0, 3.0, 4.0]
    columns = columns_of(boxes_of(line, line + 0.5, np.full(6, 2)))
    assert regression_ranges(columns)[0].outer is None
    assert predicted(columns, 2.5, 2.5).outer is None
