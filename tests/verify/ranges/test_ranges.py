"""Guaranteed ranges against exact arithmetic and the enumeration of all vertices."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.statistics import Kind, Statistic
from surebox_verify.estimates import ranges
from surebox_verify.ranges.column import box_column
from surebox_verify.ranges.guaranteed import Range
from tests.drawing import examples
from workers.algorithms.boxes.sides import Boxes


def boxes_of(lower: np.ndarray, upper: np.ndarray, counts: np.ndarray) -> Boxes:
    box = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return Boxes(lower, upper, np.asarray(counts), box, np.zeros(lower.shape[1], dtype=np.bool_))


def range_of(kind: Kind, of: tuple[int, ...], boxes: Boxes) -> tuple[Range, ...]:
    counts = boxes.counts.astype(float)
    columns = [box_column(boxes.lower[:, i], boxes.upper[:, i], counts) for i in range(boxes.lower.shape[1])]
    return ranges(Statistic(kind, of, 1.0), columns)


def random_boxes(seed: int, groups: int, columns: int, largest: int = 3, spread: float = 1.0) -> Boxes:
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=(groups, columns))
    lower[:, 1:] += 0.7 * lower[:, :1]
    return boxes_of(lower, lower + spread * rng.uniform(size=lower.shape), rng.integers(1, largest + 1, groups))


def vertices(boxes: Boxes, of: tuple[int, ...]) -> np.ndarray:
    """All data with every record at a corner: (assignments, records, columns)."""
    low = np.repeat(boxes.lower[:, of], boxes.counts, axis=0)
    high = np.repeat(boxes.upper[:, of], boxes.counts, axis=0)
    choice = np.array(list(itertools.product([0, 1], repeat=low.size)), dtype=bool).reshape(-1, *low.shape)
    return np.where(choice, high, low)


def exact(kind: str, data: np.ndarray) -> Fraction:
    """Mean, variance or covariance without rounding."""
    columns = [[Fraction(float(v)) for v in column] for column in data.T]
    n = len(columns[0])
    means = [sum(c, Fraction(0)) / n for c in columns]
    if kind == "mean":
        return means[0]
    first, last = columns[0], columns[-1]
    return sum(((a - means[0]) * (b - means[-1]) for a, b in zip(first, last, strict=True)), Fraction(0)) / n


@pytest.mark.parametrize("seed", range(12))
def test_variance_meets_the_enumeration_of_all_vertices(seed: int) -> None:
    boxes = random_boxes(seed, 5, 1)
    data = vertices(boxes, (0,))[:, :, 0]
    most = data.var(axis=1).max()
    (r,) = range_of("variance", (0,), boxes)
    assert r.outer is not None
    assert r.inner is not None
    assert r.outer.upper >= most >= r.inner.upper - 1e-12
    records, width = data.shape[1], (boxes.upper - boxes.lower).max()
    assert r.outer.upper - most <= (width / (2 * records)) ** 2 + 1e-12
    assert r.inner.upper == pytest.approx(most, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_variance_is_exact_below(seed: int) -> None:
    boxes = random_boxes(seed, 6, 1, spread=0.3 + seed)
    low, high = np.repeat(boxes.lower[:, 0], boxes.counts), np.repeat(boxes.upper[:, 0], boxes.counts)
    z = 0.5 * (low + high)
    for _ in range(20_000):  # projected gradient: a second way to the convex minimum
        z = np.clip(z - 0.5 * (z - z.mean()), low, high)
    (r,) = range_of("variance", (0,), boxes)
    assert r.outer is not None
    assert r.inner is not None
    assert r.outer.lower <= z.var() + 1e-13
    assert r.outer.lower == pytest.approx(z.var(), rel=1e-8, abs=1e-12)
    assert r.inner.lower == pytest.approx(r.outer.lower, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("kind", ["covariance", "correlation", "regression"])
@pytest.mark.parametrize("seed", range(6))
def test_pairs_hold_every_vertex_and_nothing_inside_is_invented(kind: Kind, seed: int) -> None:
    boxes = random_boxes(seed, 3, 2, largest=2, spread=0.4)
    data = vertices(boxes, (0, 1))
    x, y = data[:, :, 0], data[:, :, 1]
    c = ((x - x.mean(axis=1, keepdims=True)) * (y - y.mean(axis=1, keepdims=True))).mean(axis=1)
    at = {"covariance": [c], "correlation": [c / (x.std(axis=1) * y.std(axis=1))]}
    slope = c / y.var(axis=1)
    at["regression"] = [x.mean(axis=1) - slope * y.mean(axis=1), slope]
    for r, reached in zip(range_of(kind, (0, 1), boxes), at[kind], strict=True):
        if r.outer is not None:
            assert r.outer.lower <= reached.min()
            assert reached.max() <= r.outer.upper
        if kind == "covariance" and r.inner is not None:
            assert r.inner.lower >= reached.min() - 1e-12
            assert r.inner.upper <= reached.max() + 1e-12


def test_a_regression_that_the_boxes_leave_open_has_no_certain_range() -> None:
    boxes = boxes_of(np.zeros((2, 2)), np.ones((2, 2)), np.array([3, 3]))
    assert [r.outer for r in range_of("regression", (0, 1), boxes)] == [None, None]
    assert not any(r.exact for r in range_of("regression", (0, 1), boxes))


def test_a_correlation_is_never_promised_beyond_one() -> None:
    wide = boxes_of(np.zeros((2, 2)), np.ones((2, 2)), np.array([3, 3]))
    (r,) = range_of("correlation", (0, 1), wide)
    assert r.outer is not None
    assert (r.outer.lower, r.outer.upper) == (-1.0, 1.0)
    line = np.arange(5.0)[:, None] * np.array([[1.0, 2.0]])
    (r,) = range_of("correlation", (0, 1), boxes_of(line, line, np.full(5, 2)))
    assert r.outer is not None
    assert r.outer.upper == 1.0
    assert r.outer.lower > 1.0 - 1e-12


@settings(deadline=None, max_examples=examples(150))
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 1.0, 1e3, 1e9, 1e15, -1e100]),
    st.sampled_from([1.0, 1e-200, 1e-9, 1e9, 1e149]),
    st.sampled_from([0.0, 1e-14, 1e-3, 2.0]),
)
def test_ranges_hold_the_exact_value_whatever_the_rounding(seed: int, shift: float, unit: float, spread: float) -> None:
    rng = np.random.default_rng(seed)
    if abs(shift * unit) > 1e150:
        unit = 1.0
    lower = (shift + rng.normal(size=(6, 2))) * unit
    upper = np.maximum(lower + spread * unit * rng.uniform(size=lower.shape), lower)
    counts = rng.integers(1, 4, 6)
    boxes = boxes_of(lower, upper, counts)
    low, high = np.repeat(lower, counts, axis=0), np.repeat(upper, counts, axis=0)
    datasets = [low, high, np.where(rng.random(low.shape) < 0.5, low, high)]
    datasets.append(np.clip(low + rng.random(low.shape) * (high - low), low, high))
    for kind, of in (("mean", (0,)), ("variance", (1,)), ("covariance", (0, 1))):
        (r,) = range_of(kind, of, boxes)  # type: ignore[arg-type]
        assert r.outer is not None
        for data in datasets:
            assert Fraction(r.outer.lower) <= exact(kind, data[:, of]) <= Fraction(r.outer.upper)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1e6, 1e15]))
def test_degenerate_boxes_give_the_value_itself(seed: int, shift: float) -> None:
    rng = np.random.default_rng(seed)
    x = shift + np.round(rng.normal(size=(8, 2)), 1)
    boxes = boxes_of(x, x, np.full(8, 3))
    for kind, of in (("mean", (0,)), ("variance", (0,)), ("standard_deviation", (1,)), ("covariance", (0, 1))):
        (r,) = range_of(kind, of, boxes)  # type: ignore[arg-type]
        assert r.outer is not None
        scale = max(abs(r.outer.lower), abs(r.outer.upper), x[:, 0].std() * x[:, 1].std())
        assert r.outer.width <= (1e-9 if kind == "covariance" else 1e-12) * scale
        if kind != "covariance":
            assert r.exact


def test_mean_and_standard_deviation_are_reported_exact() -> None:
    boxes = random_boxes(4, 400, 1)
    (mean,) = range_of("mean", (0,), boxes)
    (deviation,) = range_of("standard_deviation", (0,), boxes)
    (variance,) = range_of("variance", (0,), boxes)
    assert mean.exact
    assert mean.outer is not None
    assert mean.outer.lower == pytest.approx(boxes.counts @ boxes.lower[:, 0] / boxes.counts.sum(), rel=1e-13)
    assert deviation.outer is not None
    assert variance.outer is not None
    assert deviation.outer.upper == pytest.approx(np.sqrt(variance.outer.upper), rel=1e-14)
    assert deviation.gap is not None
    assert deviation.gap < 1e-4


@pytest.mark.parametrize("kind", ["covariance", "correlation"])
def test_wider_boxes_never_narrow_a_range(kind: Kind) -> None:
    boxes = random_boxes(5, 40, 2, spread=0.1)
    (narrow,) = range_of(kind, (0, 1), boxes)
    (wide,) = range_of(kind, (0, 1), boxes_of(boxes.lower - 0.1, boxes.upper + 0.1, boxes.counts))
    assert narrow.outer is not None
    assert wide.outer is not None
    assert wide.outer.lower < narrow.outer.lower < narrow.outer.upper < wide.outer.upper


def test_inner_covariance_meets_the_vertices_on_small_cases() -> None:
    met = 0
    for seed in range(20):
        boxes = random_boxes(seed, 6, 2, largest=1, spread=0.5)
        data = vertices(boxes, (0, 1))
        u = data - data.mean(axis=1, keepdims=True)
        c = (u[:, :, 0] * u[:, :, 1]).mean(axis=1)
        (r,) = range_of("covariance", (0, 1), boxes)
        assert r.inner is not None
        met += abs(r.inner.upper - c.max()) < 1e-12
        met += abs(r.inner.lower - c.min()) < 1e-12
    assert met >= 30
