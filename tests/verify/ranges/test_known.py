"""Ranges with exactly known columns: closed forms against all vertices, the convex problem against an optimizer."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from surebox_core.intervals import Interval
from surebox_verify.ranges.column import BoxColumn, box_column
from surebox_verify.ranges.guaranteed import Range
from surebox_verify.ranges.pairs import correlation_range, covariance_range
from surebox_verify.ranges.regression import regression_ranges
from tests.verify.ranges.test_regression import coefficients


def ends(r: Range) -> tuple[Interval, Interval]:
    assert r.outer is not None
    assert r.inner is not None
    return r.outer, r.inner


def boxes(
    seed: int, size: int, known: int, slope: float = 0.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Known columns (size, known), bounds of another, and counts."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, known))
    x[:, 0] = rng.permutation(size) < 0.4 * size
    lower = slope * x.sum(axis=1) + rng.normal(size=size)
    return x, lower, lower + rng.uniform(0.0, 1.0, size), rng.integers(1, 6, size).astype(float)


def columns_of(x: np.ndarray, lower: np.ndarray, upper: np.ndarray, counts: np.ndarray) -> list[BoxColumn]:
    return [box_column(lower, upper, counts), *(box_column(each, each, counts) for each in x.T)]


def at_all_ends(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    chosen = np.array(list(itertools.product([False, True], repeat=len(lower))))
    return np.where(chosen, upper, lower)


@pytest.mark.parametrize("seed", range(6))
def test_the_covariance_is_that_of_the_best_and_the_worst_vertex(seed: int) -> None:
    x, lower, upper, counts = boxes(seed, 9, 1)
    y, known = columns_of(x, lower, upper, counts)
    data, share = at_all_ends(lower, upper), counts / counts.sum()
    c = data @ (share * (x[:, 0] - share @ x[:, 0]))
    for bounds in (covariance_range(known, y), covariance_range(y, known)):
        outer, inner = ends(bounds)
        assert bounds.exact
        assert outer.lower <= c.min() + 1e-15
        assert c.max() - 1e-15 <= outer.upper
        assert (inner.lower, inner.upper) == (pytest.approx(c.min(), rel=1e-12), pytest.approx(c.max(), rel=1e-12))


@pytest.mark.parametrize("predictors", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_regressions_on_known_predictors_are_those_of_all_vertices(seed: int, predictors: int) -> None:
    x, lower, upper, counts = boxes(seed, 8, predictors)
    data = at_all_ends(lower, upper)
    records = np.repeat(np.arange(8), counts.astype(int))
    stacked = np.concatenate(
        [data[:, records, None], np.broadcast_to(x[records], (len(data), len(records), predictors))], 2
    )
    reached = coefficients(stacked)
    for r, values in zip(regression_ranges(tuple(columns_of(x, lower, upper, counts))), reached.T, strict=True):
        outer, inner = ends(r)
        assert r.exact
        assert outer.lower <= values.min() + 1e-14
        assert values.max() - 1e-14 <= outer.upper
        assert inner.lower == pytest.approx(values.min(), abs=1e-11)
        assert inner.upper == pytest.approx(values.max(), abs=1e-11)


def test_a_known_predictor_twice_is_collinear_and_has_no_range() -> None:
    x, lower, upper, counts = boxes(1, 30, 1)
    y, known = columns_of(x, lower, upper, counts)
    assert [r.outer for r in regression_ranges((y, known, known))] == [None, None, None]


def largest_correlation(x: np.ndarray, lower: np.ndarray, upper: np.ndarray, counts: np.ndarray, s: float) -> float:
    """The largest s rho, by a general optimizer from several starts."""
    share = counts / counts.sum()
    u = x - share @ x

    def falls(y: np.ndarray) -> tuple[float, np.ndarray]:
        v = y - share @ y
        c, uu, vv = share @ (u * v), share @ (u * u), share @ (v * v)
        return -s * c / np.sqrt(uu * vv), -s * share * (u - c / vv * v) / np.sqrt(uu * vv)

    rng = np.random.default_rng(0)
    starts = [np.where(s * u > 0, upper, lower), *(lower + rng.random(len(x)) * (upper - lower) for _ in range(5))]
    options = {"ftol": 1e-15, "gtol": 1e-12, "maxiter": 2000}
    sides = list(zip(lower, upper, strict=True))
    return max(-minimize(falls, y, jac=True, bounds=sides, method="L-BFGS-B", options=options).fun for y in starts)


@pytest.mark.parametrize("slope", [0.0, 0.1, 0.6, -4.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_correlation_is_what_an_optimizer_finds(seed: int, slope: float) -> None:
    x, lower, upper, counts = boxes(seed, 60, 1, slope)
    y, known = columns_of(x, lower, upper, counts)
    bounds = correlation_range(known, y)
    outer, inner = ends(bounds)
    most, least = (s * largest_correlation(x[:, 0], lower, upper, counts, s) for s in (1.0, -1.0))
    assert outer.lower - 1e-9 <= least
    assert most <= outer.upper + 1e-9
    assert inner.upper >= most - 2e-3 * outer.width  # an optimizer may stop at a lesser one
    assert inner.lower <= least + 2e-3 * outer.width
    assert bounds.gap is not None
    assert bounds.gap < 0.01
    if inner.lower < -0.01 and inner.upper > 0.01:
        assert bounds.exact


def test_a_correlation_that_may_be_perfect_is_not_promised_below_one() -> None:
    x = np.linspace(-1.0, 1.0, 20)
    y = box_column(2.0 * x - 0.3, 2.0 * x + 0.1, np.full(20, 3.0))
    bounds = correlation_range(box_column(x, x, np.full(20, 3.0)), y)
    outer, inner = ends(bounds)
    assert outer.upper == 1.0
    assert inner.upper == pytest.approx(1.0, abs=1e-9)


def test_points_are_exact_however_far_from_zero_and_in_whatever_unit() -> None:
    rng = np.random.default_rng(5)
    for shift, unit in ((0.0, 1.0), (1e9, 1.0), (0.0, 1e-12), (1e6, 1e9)):
        x = (np.round(rng.normal(size=(50, 3)), 2) + shift) * unit
        y, *known = (box_column(each, each, np.full(50, 2.0)) for each in x.T)
        assert covariance_range(y, known[0]).exact
        assert correlation_range(y, known[0]).exact
        assert all(r.exact for r in regression_ranges((y, *known)))
