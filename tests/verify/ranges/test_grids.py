"""Ranges of means and variances over whole numbers, and with attained ends: against all consistent data."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from surebox_verify.ranges.column import BoxColumn, box_column
from tests.verify.ranges.completions import sums_of_all, tables_of_box


def boxes(seed: int, *, attained: bool, step: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 4, 3).astype(float)
    values = [rng.integers(-4, 12) + rng.integers(0, rng.integers(2, 6), int(c)) for c in counts]
    lower = np.array([v.min() for v in values], dtype=float)
    upper = np.array([v.max() for v in values]) + (0.0 if attained else rng.integers(0, 3, 3))
    return lower * step, upper * step, counts


def variances(
    lower: np.ndarray, upper: np.ndarray, counts: np.ndarray, weights: np.ndarray | None, step: float, *, attained: bool
) -> tuple[list[float], list[float]]:
    """Means and variances of all data on the grid."""
    tables = []
    for low, high, count in zip(lower, upper, counts, strict=True):
        side = np.arange(low, high + 0.5 * step, step).tolist()
        tables.append(tables_of_box([side], int(count), [[low, high]] if attained else ()))
    each = np.ones(len(counts)) if weights is None else weights
    total = float(counts @ each)
    sums = list(sums_of_all(tables, lambda t, b: (float(each[b] * t.sum()), float(each[b] * (t * t).sum()))))
    first = [float(a) / total for a, _ in sums]
    return first, [float(b) / total - m * m for m, (_, b) in zip(first, sums, strict=True)]


def check(column: BoxColumn, means: list[float], values: list[float]) -> None:
    for bounds, oracle in ((column.mean, means), (column.variance, values)):
        assert bounds.outer is not None
        assert bounds.inner is not None
        play = 1e-12 * (1.0 + max(map(abs, oracle)))
        assert bounds.outer.lower <= min(oracle) + play
        assert bounds.outer.upper >= max(oracle) - play
        assert bounds.inner.lower == pytest.approx(min(oracle), rel=1e-12, abs=1e-11)
    assert column.mean.inner is not None
    assert column.mean.inner.upper == pytest.approx(max(means), rel=1e-12, abs=1e-11)
    assert column.variance.outer is not None
    assert column.variance.outer.lower == pytest.approx(min(values), rel=1e-12, abs=1e-11)
    assert column.variance.outer.upper <= max(values) + (np.ptp(column.upper) * 2.0**column.exponent) ** 2


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("attained", [False, True])
@pytest.mark.parametrize("step", [1.0, 100.0])
@pytest.mark.parametrize("seed", range(5))
def test_means_and_variances_of_whole_numbers_are_exact(seed: int, step: float, attained: bool, weighted: bool) -> None:
    lower, upper, counts = boxes(seed, attained=attained, step=step)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(counts)) if weighted else None
    column = box_column(lower, upper, counts, weights, attained=attained, grid=step)
    check(column, *variances(lower, upper, counts, weights, step, attained=attained))


@pytest.mark.parametrize("seed", range(5))
def test_attained_ends_of_numbers_that_need_not_be_whole(seed: int) -> None:
    lower, upper, counts = boxes(seed, attained=True)
    column = box_column(lower, upper, counts, attained=True)
    means, values = variances(lower, upper, counts, None, 0.5, attained=True)  # vertices and places between
    assert column.mean.outer is not None
    assert column.mean.outer.lower == pytest.approx(min(means), abs=1e-12)
    assert column.mean.outer.upper == pytest.approx(max(means), abs=1e-12)
    assert column.variance.inner is not None
    assert column.variance.inner.upper == pytest.approx(max(values), rel=1e-9)
    assert column.variance.outer is not None
    assert column.variance.outer.lower <= min(values) + 1e-12
    assert column.variance.outer.upper >= max(values) - 1e-12


def test_far_boxes_leave_many_whole_numbers_in_question() -> None:
    """One far record among wide boxes: the least variance is found though many z are possible, and never too large."""
    lower, upper = np.array([0.0, 5000.0]), np.array([4000.0, 5001.0])
    for few in (1.0, 40.0):
        counts = np.array([1000.0, few])
        column = box_column(lower, upper, counts, grid=1.0)
        share = few / (1000.0 + few)
        assert column.variance.outer is not None
        assert column.variance.outer.lower == pytest.approx(share * (1.0 - share) * 1000.0**2, rel=1e-9)


@pytest.mark.parametrize("exponent", range(25, 33))
def test_points_that_are_rounded_make_no_least_variance_too_large(exponent: int) -> None:
    """Shifted by a mean that is no whole number, points on both sides of a power of two are rounded differently."""
    rng, whole = np.random.default_rng(exponent), 2.0**exponent
    for _ in range(20):
        counts = rng.integers(1, 50, 3).astype(float)
        fixed, records = counts[0] + counts[1], counts.sum()
        far = float(round((records + fixed) * whole / counts[2])) + float(rng.integers(0, 5))
        lower, upper = np.array([whole, whole + 1.0, -far]), np.array([whole, whole + 1.0, whole + 1.0])
        column = box_column(lower, upper, counts, grid=1.0)
        shares = [Fraction(int(above), int(records)) for above in (counts[1], counts[1] + counts[2])]
        assert column.variance.outer is not None
        assert Fraction(column.variance.outer.lower) <= min(share * (1 - share) for share in shares)


def test_narrower_by_what_is_known_of_the_ends() -> None:
    rng = np.random.default_rng(5)
    x = np.sort(rng.normal(size=3000)).reshape(-1, 5)
    lower, upper, counts = x.min(axis=1), x.max(axis=1), np.full(len(x), 5.0)
    plain, known = box_column(lower, upper, counts), box_column(lower, upper, counts, attained=True)
    for before, after in ((plain.mean, known.mean), (plain.variance, known.variance)):
        assert before.outer is not None
        assert after.outer is not None
        assert after.outer.width < 0.65 * before.outer.width
    assert known.mean.outer is not None
    assert known.mean.outer.lower <= x.mean() <= known.mean.outer.upper


def test_a_single_record_has_one_value() -> None:
    with pytest.raises(ValueError, match="one record"):
        box_column(np.array([0.0]), np.array([1.0]), np.array([1.0]), attained=True)


def test_all_grid_points_of_a_small_case() -> None:
    """Two records in [0, 3] and one at 2: every z is tried by hand."""
    lower, upper, counts = np.array([0.0, 2.0]), np.array([3.0, 2.0]), np.array([2.0, 1.0])
    values = [np.var([a, b, 2.0]) for a, b in itertools.product(range(4), repeat=2)]
    column = box_column(lower, upper, counts, grid=1.0)
    assert column.variance.outer is not None
    assert column.variance.outer.lower == 0.0 == min(values)
    assert column.variance.inner is not None
    assert column.variance.inner.upper == pytest.approx(max(values))
    assert max(values) <= column.variance.outer.upper <= max(values) + (3.0 / (2.0 * 3.0)) ** 2
