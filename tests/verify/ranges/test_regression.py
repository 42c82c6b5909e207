"""Guaranteed ranges of regressions: certain against all vertices and exact arithmetic, and narrow."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.intervals import Interval
from surebox_verify.ranges.column import BoxColumn, box_column
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.pairs import EFFORT
from surebox_verify.ranges.regression import regression_ranges, regression_work
from surebox_verify.ranges.steps import RangeSteps
from tests.drawing import examples
from tests.verify.ranges.corners import corner_splits, moments_at_corners
from tests.verify.ranges.test_ranges import boxes_of, random_boxes, range_of, vertices
from workers.algorithms.boxes.sides import Boxes


def coefficients(data: np.ndarray) -> np.ndarray:
    """Intercept and coefficients of the first column on the others, (..., records, columns) -> (..., columns)."""
    u = data - data.mean(axis=-2, keepdims=True)
    second = np.einsum("...pq,...pr->...qr", u, u)
    beta = np.linalg.solve(second[..., 1:, 1:], second[..., 1:, :1])[..., 0]
    mean = data.mean(axis=-2)
    return np.concatenate([mean[..., :1] - (beta * mean[..., 1:]).sum(axis=-1, keepdims=True), beta], axis=-1)


def columns_of(boxes: Boxes, weights: np.ndarray | None = None) -> tuple[BoxColumn, ...]:
    counts = boxes.counts.astype(float)
    every = range(boxes.lower.shape[1])
    return tuple(box_column(boxes.lower[:, i], boxes.upper[:, i], counts, weights) for i in every)


def ends(r: Range) -> tuple[Interval, Interval]:
    assert r.outer is not None
    assert r.inner is not None
    assert r.outer.lower <= r.inner.lower <= r.inner.upper <= r.outer.upper
    return r.outer, r.inner


@pytest.mark.parametrize("seed", range(6))
def test_one_predictor_holds_all_of_a_dozen_records_and_is_little_wider(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lower = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]]) + 0.1 * rng.normal(size=(3, 2))
    upper = lower + rng.uniform(0.05, 0.5, lower.shape)
    c, v, _ = moments_at_corners(lower, upper, splits := corner_splits(np.array([4, 4, 4])))
    x = np.stack([lower[:, 0], lower[:, 0], upper[:, 0], upper[:, 0]], axis=1)
    y = np.stack([lower[:, 1], upper[:, 1], lower[:, 1], upper[:, 1]], axis=1)
    share = np.array(splits)
    mean_x, mean_y = (share * x).sum(axis=(1, 2)), (share * y).sum(axis=(1, 2))
    reached = (mean_y - c / v * mean_x, c / v)
    boxes = boxes_of(lower[:, ::-1], upper[:, ::-1], np.full(3, 4000))  # so many that whole records make no difference
    for r, values in zip(regression_ranges(columns_of(boxes)), reached, strict=True):
        outer, _ = ends(r)
        assert outer.lower <= values.min()
        assert values.max() <= outer.upper
        assert outer.width < 1.1 * (values.max() - values.min())
        assert r.gap is not None
        assert r.gap < 0.05


@pytest.mark.parametrize("spread", [0.02, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_two_predictors_hold_every_vertex(seed: int, spread: float) -> None:
    boxes = random_boxes(seed, 5, 3, largest=1, spread=spread)
    reached = coefficients(vertices(boxes, (0, 1, 2)))
    for r, values in zip(range_of("regression", (0, 1, 2), boxes), reached.T, strict=True):
        if r.outer is None:
            assert spread > 0.1  # narrow boxes leave nothing open
            continue
        assert r.outer.lower <= values.min()
        assert values.max() <= r.outer.upper
        ends(r)


def test_a_dozen_records_at_all_corners_of_two_predictors_stay_inside() -> None:
    rng = np.random.default_rng(1)
    lower = np.array([[0.0, 0.0, 0.0], [3.0, 2.0, 0.0], [1.0, 0.0, 2.5], [5.0, 3.0, 4.0]])
    upper = lower + rng.uniform(0.1, 0.4, lower.shape)
    corners = [
        np.array(list(itertools.product(*zip(low, up, strict=True)))) for low, up in zip(lower, upper, strict=True)
    ]
    pairs = list(itertools.combinations_with_replacement(range(8), 3))  # three records of a box, in any corners
    chosen = np.random.default_rng(2).integers(0, len(pairs), (40_000, 4))
    picks = np.array(pairs)[chosen]
    data = np.concatenate([corners[b][picks[:, b]] for b in range(4)], axis=1)
    reached = coefficients(data)
    for r, values in zip(regression_ranges(columns_of(boxes_of(lower, upper, np.full(4, 3)))), reached.T, strict=True):
        outer, _ = ends(r)
        assert outer.lower <= values.min()
        assert values.max() <= outer.upper


@pytest.mark.parametrize(("predictors", "most"), [(1, 0.02), (2, 0.03), (3, 0.12)])
def test_the_gap_is_small(predictors: int, most: float) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(600, predictors + 1)) @ rng.normal(size=(predictors + 1, predictors + 1)) + 10.0
    width = 0.3 * x.std(axis=0)
    boxes = boxes_of(x - width * rng.random(x.shape), x + width * rng.random(x.shape), rng.integers(5, 9, 600))
    for r, value in zip(regression_ranges(columns_of(boxes)), coefficients(x), strict=True):
        outer, inner = ends(r)
        assert outer.lower <= value <= outer.upper
        assert r.gap is not None
        assert r.gap < most
        assert inner.width > 0.1 * abs(value)  # wide boxes: the range is no triviality


def solved(data: list[list[Fraction]], weights: list[Fraction]) -> list[Fraction]:
    """Exact coefficients on one predictor: intercept, slope."""
    total = sum(weights)
    y, x = (sum(w * row[i] for w, row in zip(weights, data, strict=True)) / total for i in (0, 1))
    c = sum(w * (row[0] - y) * (row[1] - x) for w, row in zip(weights, data, strict=True))
    v = sum(w * (row[1] - x) ** 2 for w, row in zip(weights, data, strict=True))
    return [y - c / v * x, c / v]


@settings(deadline=None, max_examples=examples(40))
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 1e4, -1e8]),
    st.sampled_from([1.0, 1e-9, 1e9]),
    st.sampled_from([0.0, 1e-12, 1e-3, 0.3]),
    st.booleans(),
)
def test_exact_values_lie_inside(seed: int, shift: float, unit: float, spread: float, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    lower = (rng.normal(size=(8, 2)) + shift) * np.array([1.0, unit])
    upper = lower + spread * rng.uniform(size=lower.shape) * np.array([1.0, unit])
    counts = rng.integers(1, 4, 8)
    weights = rng.uniform(0.1, 1.0, 8) if weighted else None
    boxes = boxes_of(lower, upper, counts)
    ranges = regression_ranges(columns_of(boxes, weights))
    each = [Fraction(w) for w in np.repeat(np.ones(8) if weights is None else weights, counts).tolist()]
    low, high = np.repeat(lower, counts, axis=0), np.repeat(upper, counts, axis=0)
    for place in (np.zeros(low.shape), np.ones(low.shape), rng.integers(0, 2, low.shape), rng.random(low.shape)):
        data = np.clip(low + place * (high - low), low, high)
        exact = solved([[Fraction(v) for v in row] for row in data.tolist()], each)
        for r, value in zip(ranges, exact, strict=True):
            if r.outer is not None:
                assert Fraction(r.outer.lower) <= value <= Fraction(r.outer.upper)


@settings(deadline=None, max_examples=examples(12))
@given(st.integers(0, 2**32), st.integers(2, 4), st.sampled_from([1e-3, 0.05, 0.2]), st.sampled_from([0.0, 1e4]))
def test_what_data_in_the_boxes_give_lies_inside(seed: int, predictors: int, spread: float, shift: float) -> None:
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.integers(-3, 4, predictors + 1)
    lower = shift + rng.normal(size=(40, predictors + 1))
    lower[:, 0] += lower[:, 1]
    upper = lower + spread * rng.uniform(size=lower.shape)
    boxes: Boxes = boxes_of(lower * unit, upper * unit, rng.integers(1, 4, 40))
    low, high = (np.repeat(each, boxes.counts, axis=0) for each in (boxes.lower, boxes.upper))
    ranges = range_of("regression", tuple(range(predictors + 1)), boxes)
    assert spread > 0.1 or all(r.outer for r in ranges)
    for _ in range(6):
        corner = rng.random(low.shape) < rng.choice([0.0, 0.5, 1.0], size=low.shape[1])
        values = coefficients(np.where(corner, high, low + rng.random(low.shape) * (high - low)))
        for r, value, scale in zip(ranges, values, unit[0] / np.append(1.0, unit[1:]), strict=True):
            if r.outer is not None:
                slack = 1e-9 * (abs(value) + scale * (1.0 + shift))  # the rounding of the value itself
                assert r.outer.lower - slack <= value <= r.outer.upper + slack


def test_points_are_exact() -> None:
    x = np.random.default_rng(7).normal(size=(300, 4)) + 100.0
    for r, value in zip(regression_ranges(columns_of(boxes_of(x, x, np.full(300, 5)))), coefficients(x), strict=True):
        outer, _ = ends(r)
        assert r.exact
        assert outer.width < 1e-8 * max(abs(value), 1.0)
        assert outer.lower - 1e-9 <= value <= outer.upper + 1e-9


def test_narrow_boxes_bound_regressions_on_many_predictors() -> None:
    rng = np.random.default_rng(11)
    x = rng.normal(size=(2000, 9)) @ (np.eye(9) + 0.3 * rng.normal(size=(9, 9)))
    boxes = boxes_of(x - 0.003 * rng.random(x.shape), x + 0.003 * rng.random(x.shape), np.full(2000, 5))
    for r, value in zip(regression_ranges(columns_of(boxes)), coefficients(x), strict=True):
        outer, _ = ends(r)
        assert outer.lower <= value <= outer.upper
        assert r.gap is not None
        assert r.gap < 0.1


def test_a_constant_target_has_no_slope() -> None:
    rng = np.random.default_rng(8)
    x = np.column_stack([np.full(50, 3.0), rng.normal(size=50)])
    intercept, slope = regression_ranges(
        columns_of(boxes_of(x - np.array([0.0, 0.1]), x + np.array([0.0, 0.1]), np.full(50, 2)))
    )
    assert ends(slope)[0].lower <= 0.0 <= ends(slope)[0].upper
    assert ends(slope)[0].width < 1e-6
    assert ends(intercept)[0].lower <= 3.0 <= ends(intercept)[0].upper


def test_weights_count_as_records_do() -> None:
    boxes = random_boxes(3, 80, 3, largest=4, spread=0.1)
    weights = np.random.default_rng(2).integers(1, 4, 80).astype(float)
    twice = boxes_of(boxes.lower, boxes.upper, boxes.counts * weights.astype(int))
    for one, other in zip(
        regression_ranges(columns_of(boxes, 0.125 * weights)), regression_ranges(columns_of(twice)), strict=True
    ):
        assert ends(one)[0].lower == pytest.approx(ends(other)[0].lower, abs=0.02 * ends(one)[0].width)
        assert ends(one)[0].upper == pytest.approx(ends(other)[0].upper, abs=0.02 * ends(one)[0].width)


def test_ranges_move_with_shift_and_scale() -> None:
    boxes = random_boxes(6, 80, 3, largest=4, spread=0.1)
    unit, shift = np.array([1e3, 1e-6, -1.0]), np.array([50.0, 1.0, -7.0])
    low, high = boxes.lower * unit + shift, boxes.upper * unit + shift
    moved = boxes_of(np.minimum(low, high), np.maximum(low, high), boxes.counts)
    before, after = regression_ranges(columns_of(boxes)), regression_ranges(columns_of(moved))
    for k in (1, 2):
        factor = unit[0] / unit[k]
        expected = sorted(factor * end for end in (ends(before[k])[0].lower, ends(before[k])[0].upper))
        tolerance = 0.02 * (expected[1] - expected[0])
        assert ends(after[k])[0].lower == pytest.approx(expected[0], abs=tolerance)
        assert ends(after[k])[0].upper == pytest.approx(expected[1], abs=tolerance)


def test_less_effort_widens_and_never_breaks() -> None:
    boxes = random_boxes(4, 300, 3, largest=4, spread=0.3)
    narrow = regression_ranges(columns_of(boxes))
    for r, best in zip(regression_ranges(columns_of(boxes), effort=40), narrow, strict=True):
        assert r.outer is not None
        assert r.outer.lower <= ends(best)[1].lower
        assert ends(best)[1].upper <= r.outer.upper


def test_steps_come_to_the_same() -> None:
    columns = columns_of(random_boxes(9, 3000, 4, largest=4, spread=0.6))
    search, steps = RangeSteps(regression_work(columns, EFFORT), columns[0].lower.size * len(columns)), 0
    while search.ranges is None:
        search.step()
        steps += 1
    assert steps > 1
    assert search.ranges == regression_ranges(columns)


@pytest.mark.parametrize("weights", [None, np.full(6, 0.5)])
def test_predictors_that_the_boxes_allow_to_be_collinear_have_no_certain_range(weights: np.ndarray | None) -> None:
    line = np.arange(6.0)[:, None] * np.ones(3)
    line[:, 0] = [0.0, 2.0, 1.0, 5.0, 3.0, 4.0]
    boxes = boxes_of(line, line + 0.5, np.full(6, 2))
    assert [r.outer for r in regression_ranges(columns_of(boxes, weights))] == [None] * 3
    assert not any(r.exact for r in regression_ranges(columns_of(boxes, weights)))


@settings(deadline=None, max_examples=examples(25))
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_what_points_reach_is_in_order_and_certain(seed: int, predictors: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (12, predictors + 1)).astype(float)
    x[: predictors + 1, 1:] = 5.0 * np.eye(predictors + 1, predictors)  # no predictors are collinear
    weights = rng.integers(0, 3, 12).astype(float)
    weights[: predictors + 1] += 1.0
    columns = columns_of(boxes_of(x, x, rng.integers(1, 4, 12)), weights)
    for r in regression_ranges(columns, effort=60):
        outer, inner = ends(r)
        assert outer.width < 1e-6
        assert inner.width < 1e-10


def test_points_whose_first_bound_roundings_hide_are_certain_all_the_same() -> None:
    rows = np.array(
        [
            [-3.0, -1.0, 1.0, -1.0],
            [3.0, -2.0, 2.0, -3.0],
            [-1.0, 2.0, 1.0, 3.0],
            [2.0, 3.0, 2.0, -3.0],
            [3.0, 3.0, -2.0, 3.0],
            [2.0, 1.0, -1.0, -3.0],
            [3.0, -2.0, 0.0, 1.0],
        ]
    )
    for r in regression_ranges(columns_of(boxes_of(rows, rows, np.array([4, 1, 3, 6, 6, 1, 1]))), effort=60):
        assert ends(r)[0].width < 1e-6


def test_data_that_are_collinear_at_the_first_ascent_neither_warn_nor_reach_anything() -> None:
    lower = np.array([[1.0, 1.0, -1.0], [0.0, 0.0, 2.0], [1.0, 1.0, 2.0]])
    upper = np.array([[2.0, 2.0, -1.0], [1.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
    for r in regression_ranges(columns_of(boxes_of(lower, upper, np.array([1, 1, 2])))):
        assert r.outer is None
        assert r.inner is not None
        assert r.inner.lower <= r.inner.upper


def test_coefficients_too_large_for_a_number_are_not_known_and_leave_the_others() -> None:
    x = random_boxes(2, 40, 3, largest=3, spread=0.02)
    unit = np.array([1e150, 1e-200, 1e100])
    boxes = boxes_of(x.lower * unit, x.upper * unit, x.counts)
    intercept, huge, other = regression_ranges(columns_of(boxes))
    assert (huge.outer, huge.inner, huge.gap) == (None, None, None)
    plain = regression_ranges(columns_of(x))
    for one, same, scale in ((intercept, plain[0], 1e150), (other, plain[2], 1e50)):
        assert ends(one)[0].lower == pytest.approx(scale * ends(same)[0].lower, abs=0.02 * scale * ends(same)[0].width)
        assert ends(one)[0].upper == pytest.approx(scale * ends(same)[0].upper, abs=0.02 * scale * ends(same)[0].width)
