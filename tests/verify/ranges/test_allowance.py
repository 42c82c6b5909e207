"""Every search over ranges ends within an allowance of passes and evaluations, whatever the boxes are."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surebox_core.intervals import Interval
from surebox_core.statistics import Kind, Statistic
from surebox_verify.estimates import range_steps
from surebox_verify.ranges.column import BoxColumn, box_column
from surebox_verify.ranges.forms import Form, Moments, Pair, Plane, pair_of
from surebox_verify.ranges.guaranteed import Ends
from surebox_verify.ranges.means import OpenCells
from surebox_verify.ranges.objectives import Objective
from surebox_verify.ranges.search import bound, climb
from tests.drawing import examples
from tests.verify.ranges.test_search import exact_moments, not_above

FAULT = Path("../shared/data/faults/correlation-known-binary.npz")
SHAPES = ("known", "binary", "constant", "tied", "cells", "wide", "sliver", "rounded")
PER_PLANE = 20_000


def pair_passes(effort: int) -> int:
    return effort + 72


def regression_passes(effort: int, predictors: int) -> int:
    return 60 * effort + (2 * predictors + 60) * (predictors + 1)


def sides(shape: str, boxes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of a column: what partitions, declared codes and ties make of it."""
    x = rng.normal(size=boxes)
    if shape == "known":
        return x, x
    if shape == "binary":
        ones = (x > 0.6).astype(float)
        return ones, ones
    if shape == "constant":
        return np.full(boxes, 0.1), np.full(boxes, 0.1)
    if shape == "tied":
        lower = np.where(rng.random(boxes) < 0.9, 0.0, np.round(x))
        return lower, lower + (rng.random(boxes) < 0.3)
    if shape == "cells":
        return np.floor(2.0 * x), np.floor(2.0 * x) + 1.0
    if shape == "wide":
        return np.full(boxes, -1.0), np.full(boxes, 2.0)
    if shape == "sliver":
        return x, x + 1e-13 * rng.random(boxes)
    return np.round(x, 1) + 1e9, np.round(x, 1) + 1e9


def known_binary(boxes: int = 400) -> tuple[BoxColumn, BoxColumn]:
    """A code of 0 and 1 that the boxes give exactly, and hours a week: the mean of the first is 1e-24 wide, not 0."""
    rng = np.random.default_rng(3)
    counts = rng.integers(5, 10, boxes).astype(float)
    code = (rng.random(boxes) < 0.32).astype(float)
    lower = np.where(rng.random(boxes) < 0.4, 40.0, np.floor(rng.normal(38.0, 12.0, boxes)))
    upper = np.where(rng.random(boxes) < 0.4, lower, lower + np.ceil(rng.exponential(9.0, boxes)))
    return box_column(code, code, counts), box_column(lower, upper, counts)


def searched(pair: Pair, s: float, most: int) -> tuple[int, Ends]:
    """The search itself, without the closed forms, and its planes."""
    divisor, ratio = pair.x.deviation * pair.y.deviation, pair.y.deviation / pair.x.deviation
    objective = Objective("correlation", s, divisor, ratio)
    share = pair.x.mass.of_box / pair.x.mass.middle
    mean_x, mean_y = float(share @ pair.x.centre), float(share @ pair.y.centre)
    u, v = pair.x.centre - mean_x, pair.y.centre - mean_y
    start = Moments(mean_x, mean_y, float(share @ u**2), float(share @ v**2), float(share @ (u * v)))
    climbing = climb(pair, objective, start)
    while True:
        try:
            next(climbing)
        except StopIteration as ended:
            work = bound(pair, objective, ended.value, 1e-4, most)
            break
    planes = 0
    while True:
        try:
            planes += next(work)
        except StopIteration as ended:
            return planes, ended.value


@pytest.mark.parametrize("s", [1.0, -1.0])
def test_a_search_over_the_mean_of_a_known_column_ends_and_is_narrow(s: float) -> None:
    x, y = known_binary()
    assert 0.0 < x.scaled_mean.width < 1e-20  # what it took not to end
    planes, ends = searched(pair_of(x, y), s, 200)
    assert planes <= 200
    assert ends.reached <= ends.certain < ends.reached + 0.02


@pytest.mark.parametrize("effort", [1, 16, 1000])
def test_known_codes_have_exact_covariances_and_narrow_correlations(effort: int) -> None:
    for columns in (known_binary(), known_binary()[::-1]):
        (covariance,) = range_steps(Statistic("covariance", (0, 1), 1.0), columns, effort).finish()
        assert covariance.exact
        steps = range_steps(Statistic("correlation", (0, 1), 1.0), columns, effort)
        (correlation,) = steps.finish()
        assert correlation.exact  # both signs are possible: two convex problems
        assert steps.passes <= pair_passes(effort)


@pytest.mark.skipif(not FAULT.exists(), reason=f"needs {FAULT}")
@pytest.mark.parametrize("effort", [16, 1000])
def test_the_boxes_on_which_a_correlation_did_not_return(effort: int) -> None:
    data = np.load(FAULT)
    counts = data["c"].astype(float)
    columns = [box_column(data[f"{name}l"], data[f"{name}h"], counts) for name in "xy"]
    for kind in ("covariance", "correlation"):
        steps = range_steps(Statistic(kind, (0, 1), 1.0), columns, effort)  # type: ignore[arg-type]
        assert steps.finish()[0].exact
        assert steps.passes <= pair_passes(effort)


@settings(deadline=None, max_examples=examples(30))
# At moments that were met a corner's residual vanishes:
@example(seed=142, shapes=("constant", "cells", "cells"), boxes=2, effort=16, weighted=False)
@example(seed=11, shapes=("known", "cells", "cells"), boxes=2, effort=1, weighted=False)
@given(
    st.integers(0, 2**32),
    st.tuples(st.sampled_from(SHAPES), st.sampled_from(SHAPES), st.sampled_from(SHAPES)),
    st.sampled_from([2, 7, 40]),
    st.sampled_from([1, 2, 16]),
    st.booleans(),
)
def test_passes_are_bounded_the_same_each_time_and_no_data_lie_outside(
    seed: int, shapes: tuple[str, str, str], boxes: int, effort: int, weighted: bool
) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, boxes)
    weights = rng.choice([0.0, 0.5, 1.0], boxes) if weighted else None
    if weights is not None:
        weights[0] = 1.0
    bounds = [sides(shape, boxes, rng) for shape in shapes]
    columns = [box_column(*each, counts.astype(float), weights) for each in bounds]
    kinds: list[tuple[Kind, int, int]] = [
        ("variance", 1, 0),
        ("covariance", 2, pair_passes(effort)),
        ("correlation", 2, pair_passes(effort)),
        ("regression", 2, regression_passes(effort, 1)),
        ("regression", 3, regression_passes(effort, 2)),
    ]
    for kind, size, ceiling in kinds:
        statistic = Statistic(kind, tuple(range(size)), 1.0)
        steps, again = (range_steps(statistic, columns, effort) for _ in range(2))
        ranges = steps.finish()
        assert steps.passes <= ceiling, kind
        assert (again.finish(), again.passes) == (ranges, steps.passes)
        if kind in ("covariance", "correlation") and boxes < 100:
            shares = counts * (np.ones(boxes) if weights is None else weights)
            for _ in range(4):
                place = rng.choice([0.0, 1.0, 0.3], (boxes, 2))
                low, high = (np.column_stack([bounds[0][end], bounds[1][end]]) for end in (0, 1))
                c, v, u = exact_moments(np.clip(low + place * (high - low), low, high), shares)
                outer = ranges[0].outer
                assert outer is not None
                if kind == "covariance":
                    assert Fraction(outer.lower) <= c <= Fraction(outer.upper)
                elif v > 0 and u > 0:
                    assert not_above(c, v, u, outer.upper)
                    assert not_above(-c, v, u, -outer.lower)


@settings(deadline=None, max_examples=examples(60))
@given(
    st.integers(0, 2**32),
    st.sampled_from([0.0, 1.7e-24, 1e-12, 0.3]),
    st.sampled_from([0.0, 5e-324, 1e-9, 0.5]),
    st.sampled_from([0.0, 1e-15, 3.0]),
    st.sampled_from([0.0, 0.4]),
)
def test_between_planes_evaluations_are_bounded_whatever_the_means_ranges(
    seed: int, wide: float, tall: float, long: float, bend: float
) -> None:
    rng = np.random.default_rng(seed)
    x, y, log_tau = rng.uniform(-0.3, 0.3, 3)
    most = int(rng.integers(1, 6))
    tau = Interval(float(np.exp(log_tau)), float(np.exp(log_tau + long)))
    cells = OpenCells(Interval(x, x + wide), Interval(y, y + tall), tau, bend=bend, offset=-1e-9, most=most)
    form = Form(1.0, -0.3, -0.4)
    for _ in range(most):
        p, q = form.slopes(x, y)
        lifted = float(rng.choice([0.0, 1e-16, 1e-3]))
        phi = form.at(x, y) - p * x - q * y + lifted
        cells.add(Plane(form, phi, 0.0, p, q, Moments(x, y, 1.0, 1.0, 0.0)), log_tau)
        if cells.refine() is None:
            break
    assert cells.evaluations <= PER_PLANE * most + 8 * most + 3000
    assert cells.bound >= 0.0
