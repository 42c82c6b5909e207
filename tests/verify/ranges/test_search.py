"""Guaranteed ranges of pairs: narrow, certain, weighted, and with whatever effort is allowed."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.intervals import Interval
from surebox_core.statistics import Statistic, all_moments
from surebox_verify.estimates import affordable
from surebox_verify.ranges.column import BoxColumn, box_column
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.pairs import correlation_range, covariance_range
from surebox_verify.ranges.regression import regression_ranges
from tests.drawing import examples
from tests.verify.ranges.corners import corner_splits, moments_at_corners
from workers.algorithms.boxes.bounds import cells
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.places import new_keys
from workers.algorithms.boxes.sides import Boxes

KINDS = {"covariance": covariance_range, "correlation": correlation_range}


def mixture_boxes(rows: int, k: int) -> Boxes:
    rng = np.random.default_rng(5)
    centres, label = rng.normal(0, 3, (4, 3)), rng.integers(0, 4, rows)
    x = centres[label] + rng.normal(size=(rows, 3)) @ rng.normal(size=(3, 3))
    state = partition.init(x, k=k, worth=np.ones(3), method="fast")
    while not partition.done(state):
        state = partition.step(state)
    return cells(x, partition.result(state), (None,) * 3, new_keys(3, rng))


def columns_of(boxes: Boxes, weights: np.ndarray | None = None) -> list[BoxColumn]:
    counts = boxes.counts.astype(float)
    return [box_column(boxes.lower[:, i], boxes.upper[:, i], counts, weights) for i in range(boxes.lower.shape[1])]


def ends(r: Range) -> tuple[Interval, Interval]:
    assert r.outer is not None
    assert r.inner is not None
    return r.outer, r.inner


BOXES = mixture_boxes(20_000, 5)
COLUMNS = columns_of(BOXES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (1, 2)])
def test_the_gap_is_small(kind: str, pair: tuple[int, int]) -> None:
    bounds = KINDS[kind](COLUMNS[pair[0]], COLUMNS[pair[1]])
    assert bounds.gap is not None
    assert bounds.gap < 0.01
    mirrored = KINDS[kind](COLUMNS[pair[0]], COLUMNS[pair[1]], effort=40)
    assert mirrored.gap is not None
    assert mirrored.gap < 0.08


@pytest.mark.parametrize("kind", KINDS)
def test_less_effort_widens_a_range_and_never_breaks_it(kind: str) -> None:
    widths = []
    _, reached = ends(KINDS[kind](COLUMNS[0], COLUMNS[1]))
    for effort in (1, 16, 60, 300):
        outer, _ = ends(KINDS[kind](COLUMNS[0], COLUMNS[1], effort))
        assert outer.lower <= reached.lower <= reached.upper <= outer.upper
        widths.append(outer.width)
    assert widths[-1] < widths[0]
    assert widths[0] < 1.6 * reached.width


@pytest.mark.parametrize("seed", range(10))
def test_a_dozen_records_in_every_way_at_the_corners_stay_inside(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=(3, 2))
    upper = lower + rng.uniform(0.05, 0.9, lower.shape)
    counts = np.array([5, 4, 3]) if seed % 2 else np.array([2, 6, 4])
    c, v, u = moments_at_corners(lower, upper, corner_splits(counts))
    x, y = (box_column(lower[:, i], upper[:, i], counts.astype(float)) for i in (0, 1))
    values = {"covariance": (covariance_range(x, y), c), "correlation": (correlation_range(x, y), c / np.sqrt(v * u))}
    values["slope"] = (regression_ranges((y, x))[1], c / v)
    for kind, (bounds, reached) in values.items():
        if bounds.outer is None:
            continue
        assert bounds.outer.lower <= reached.min()
        assert reached.max() <= bounds.outer.upper
        if bounds.inner is not None and kind == "covariance":
            assert bounds.inner.upper <= reached.max() + 1e-12
            assert reached.min() - 1e-12 <= bounds.inner.lower


def test_the_certain_covariance_of_many_records_is_the_best_of_all_vertices() -> None:
    """With a thousand records in each box, whole-number splits and the relaxation are all but the same."""
    met = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        lower = rng.normal(size=(3, 2))
        upper = lower + rng.uniform(0.05, 0.9, lower.shape)
        quarters = corner_splits(np.array([4, 4, 4]))
        c, _, _ = moments_at_corners(lower, upper, quarters)
        x, y = (box_column(lower[:, i], upper[:, i], np.full(3, 4000.0)) for i in (0, 1))
        outer, _ = ends(covariance_range(x, y))
        met += outer.upper <= c.max() + 0.02 * (c.max() - c.min())
        met += outer.lower >= c.min() - 0.02 * (c.max() - c.min())
    assert met >= 12


def not_above(c: Fraction, v: Fraction, u: Fraction, bound: float) -> bool:
    """Whether c / sqrt(v u) <= bound, exactly."""
    b = Fraction(bound)
    if c <= 0 <= b:
        return True
    if b < 0 <= c:
        return False
    return c * c <= b * b * v * u if c > 0 else c * c >= b * b * v * u


def exact_moments(data: np.ndarray, weights: np.ndarray) -> tuple[Fraction, Fraction, Fraction]:
    x, y = ([Fraction(float(v)) for v in column] for column in data.T)
    w = [Fraction(float(v)) for v in weights]
    total = sum(w, Fraction(0))

    def mean(values: list[Fraction]) -> Fraction:
        return sum((a * b for a, b in zip(w, values, strict=True)), Fraction(0)) / total

    dx, dy = [a - mean(x) for a in x], [a - mean(y) for a in y]
    products = ((dx, dy), (dx, dx), (dy, dy))
    c, v, u = (mean([a * b for a, b in zip(first, second, strict=True)]) for first, second in products)
    return c, v, u


@settings(deadline=None, max_examples=examples(120))
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 1e9, -1e9]),
    st.sampled_from([1.0, 1e-9, 1e9]),
    st.sampled_from([0.0, 1e-12, 1e-3, 0.3]),
    st.booleans(),
)
def test_all_data_in_the_boxes_stay_inside_exactly(
    seed: int, shift: float, unit: float, spread: float, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    lower = (rng.normal(size=(6, 2)) + shift) * unit
    upper = lower + spread * unit * rng.uniform(size=lower.shape)
    counts = rng.integers(1, 4, 6)
    weights = rng.uniform(0.1, 1.0, 6) if weighted else None
    x, y = (box_column(lower[:, i], upper[:, i], counts.astype(float), weights) for i in (0, 1))
    covariance, correlation, slope = covariance_range(x, y), correlation_range(x, y), regression_ranges((y, x))[1]
    assert covariance.outer is not None
    assert correlation.outer is not None
    each = np.repeat(np.ones(6) if weights is None else weights, counts)
    low, high = np.repeat(lower, counts, axis=0), np.repeat(upper, counts, axis=0)
    for place in (np.zeros(low.shape), np.ones(low.shape), rng.integers(0, 2, low.shape), rng.random(low.shape)):
        c, v, u = exact_moments(np.clip(low + place * (high - low), low, high), each)
        for column, value in ((x, v), (y, u)):
            assert column.variance.outer is not None
            assert Fraction(column.variance.outer.lower) <= value <= Fraction(column.variance.outer.upper)
        assert Fraction(covariance.outer.lower) <= c <= Fraction(covariance.outer.upper)
        assert not_above(c, v, u, correlation.outer.upper)
        assert not_above(-c, v, u, -correlation.outer.lower)
        if slope.outer is not None:
            assert Fraction(slope.outer.lower) * v <= c <= Fraction(slope.outer.upper) * v


@settings(deadline=None, max_examples=examples(40))
@given(st.integers(0, 2**32), st.sampled_from([1e-9, 1e9]), st.sampled_from([0.0, 1e5]), st.booleans())
def test_ranges_move_with_shift_scale_and_sign(seed: int, unit: float, shift: float, mirrored: bool) -> None:
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=(40, 2))
    lower[:, 1] += lower[:, 0]
    upper = lower + 0.3 * rng.uniform(size=lower.shape)
    counts = rng.integers(1, 9, 40).astype(float)
    x, y = (box_column(lower[:, i], upper[:, i], counts) for i in (0, 1))
    ends_of_x = (shift - upper[:, 0], shift - lower[:, 0]) if mirrored else (lower[:, 0] + shift, upper[:, 0] + shift)
    moved = box_column(ends_of_x[0] * unit, ends_of_x[1] * unit, counts)
    for f, factor in ((covariance_range, unit), (correlation_range, 1.0)):
        before, after = ends(f(x, y))[0], ends(f(moved, y))[0]
        expected = Interval(-before.upper, -before.lower) if mirrored else before
        assert after.lower == pytest.approx(factor * expected.lower, abs=0.03 * factor * before.width)
        assert after.upper == pytest.approx(factor * expected.upper, abs=0.03 * factor * before.width)


def test_a_weight_of_two_is_the_record_twice() -> None:
    weights = np.random.default_rng(2).integers(1, 4, len(BOXES.counts)).astype(float)
    twice = Boxes(BOXES.lower, BOXES.upper, BOXES.counts * weights.astype(int), BOXES.box, BOXES.outer_from_data)
    weighted, repeated = columns_of(BOXES, 0.125 * weights), columns_of(twice)
    for one, other in zip(weighted, repeated, strict=True):
        for first, second in ((one.mean, other.mean), (one.variance, other.variance)):
            assert ends(first)[0].lower == pytest.approx(ends(second)[0].lower, rel=1e-12)
            assert ends(first)[0].upper == pytest.approx(ends(second)[0].upper, rel=1e-12)
    for f in KINDS.values():
        first, second = f(weighted[0], weighted[1]), f(repeated[0], repeated[1])
        assert ends(first)[0].lower == pytest.approx(ends(second)[0].lower, rel=1e-9)
        assert ends(first)[0].upper == pytest.approx(ends(second)[0].upper, rel=1e-9)


def test_boxes_without_weight_do_not_count() -> None:
    weights = np.where(np.arange(len(BOXES.counts)) % 3 == 0, 0.0, 2.0)
    kept = weights > 0.0
    part = Boxes(BOXES.lower[kept], BOXES.upper[kept], BOXES.counts[kept], BOXES.box, BOXES.outer_from_data)
    some, all_of_them = columns_of(part), columns_of(BOXES, weights)
    one, other = ends(covariance_range(some[0], some[1]))[0], ends(covariance_range(all_of_them[0], all_of_them[1]))[0]
    assert one.lower == pytest.approx(other.lower, abs=1e-3 * one.width)
    assert one.upper == pytest.approx(other.upper, abs=1e-3 * one.width)


@pytest.mark.parametrize("kind", KINDS)
def test_points_leave_no_gap(kind: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5000, 2)) + 10.0
    columns = [box_column(x[:, i], x[:, i], np.full(5000, 2.0)) for i in (0, 1)]
    bounds = KINDS[kind](columns[0], columns[1])
    outer, inner = ends(bounds)
    assert outer.width < 1e-12
    assert outer.lower <= inner.lower <= inner.upper <= outer.upper


def test_one_box_says_nothing_of_a_correlation_and_all_of_a_covariance() -> None:
    x, y = (box_column(np.array([0.0]), np.array([width]), np.array([4.0])) for width in (1.0, 3.0))
    correlation, covariance = correlation_range(x, y), covariance_range(x, y)
    assert correlation.outer == Interval(-1.0, 1.0)
    assert covariance.outer is not None
    assert covariance.outer.lower == pytest.approx(-0.75, rel=0.01)  # half of the records in either corner
    assert covariance.outer.upper == pytest.approx(0.75, rel=0.01)
    assert [r.outer for r in regression_ranges((y, x))] == [None, None]


def test_many_statistics_share_the_effort() -> None:
    pairs, regression = all_moments(50), Statistic("regression", (0, 1), 1.0)
    covariance = Statistic("covariance", (0, 1), 1.0)
    assert affordable(covariance, pairs, 200_000) < affordable(covariance, all_moments(5), 200_000)
    assert affordable(covariance, pairs, 10_000_000) >= 16
    assert affordable(covariance, (covariance, regression), 10_000_000) >= 256
    assert affordable(regression, (covariance, regression), 10_000_000) >= 16
    assert affordable(covariance, (covariance,), 20_000) == affordable(covariance, (), 100)
