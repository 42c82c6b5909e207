"""What the certain bounds of pairs are made of, against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from surebox_core.intervals import Interval
from surebox_verify.ranges.column import BoxColumn, box_column
from surebox_verify.ranges.forms import Form, Moments, Plane, pair_of, plane
from surebox_verify.ranges.mass import mass_of
from surebox_verify.ranges.means import OpenCells
from surebox_verify.ranges.objectives import Objective
from tests.drawing import examples

FORMS = [Form(1.0, 0.0, 0.0), Form(-1.0, -0.4, -0.55), Form(1.0, 0.3, 0.8), Form(1.0, -0.7, 0.0)]


def two_columns(rng: np.random.Generator, boxes: int, weighted: bool) -> tuple[BoxColumn, BoxColumn]:
    counts = rng.integers(1, 9, boxes).astype(float)
    weights = rng.uniform(size=boxes) if weighted else None
    sides = []
    for _ in range(2):
        lower = rng.normal(size=boxes)
        sides.append(box_column(lower, lower + rng.uniform(0.0, 0.5, boxes), counts, weights))
    return sides[0], sides[1]


def exact_at(form: Form, x: Fraction, y: Fraction, p: Fraction, q: Fraction) -> Fraction:
    s, a, b = (Fraction(each) for each in (form.s, form.a, form.b))
    return s * x * y + a * x * x + b * y * y - p * x - q * y


def exact_largest(form: Form, ends: tuple[Fraction, ...], p: Fraction, q: Fraction) -> Fraction:
    """Largest value on the rectangle's edges: the ends, and where the derivative along an edge is zero."""
    x0, x1, y0, y1 = ends
    s, a, b = (Fraction(each) for each in (form.s, form.a, form.b))
    places = [(x, y) for x in (x0, x1) for y in (y0, y1)]
    places += [(x, min(max((q - s * x) / (2 * b), y0), y1)) for x in (x0, x1) if b]
    places += [(min(max((p - s * y) / (2 * a), x0), x1), y) for y in (y0, y1) if a]
    return max(exact_at(form, x, y, p, q) for x, y in places)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_plane_is_never_below_the_exact_mean_and_hardly_above(form: Form, weighted: bool) -> None:
    rng = np.random.default_rng(7)
    for _ in range(25):
        counts = rng.integers(1, 9, 12).astype(float)
        weights = rng.uniform(size=12) if weighted else np.ones(12)
        sides = []
        for _ in range(2):
            lower = rng.normal(size=12)
            sides.append(box_column(lower, lower + rng.uniform(0, 0.5, 12), counts, weights if weighted else None))
        x, y = sides
        p, q = rng.normal(size=2)
        support = plane(pair_of(x, y), form, p, q)
        mass = [Fraction(c) * Fraction(w) for c, w in zip(counts, weights, strict=True)]
        ends = zip(*(map(Fraction, each) for each in (x.lower, x.upper, y.lower, y.upper)), strict=True)
        largest = [exact_largest(form, each, Fraction(p), Fraction(q)) for each in ends]
        exact = sum((m * g for m, g in zip(mass, largest, strict=True)), Fraction(0)) / sum(mass)
        assert Fraction(support.phi) >= exact
        assert support.phi - float(exact) < 1e-12


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(0, 2**32), st.sampled_from(FORMS))
def test_a_plane_lies_above_all_data_and_touches_its_own(seed: int, form: Form) -> None:
    rng = np.random.default_rng(seed)
    x, y = two_columns(rng, 9, weighted=False)
    p, q = rng.normal(size=2)
    support = plane(pair_of(x, y), form, p, q)
    share = x.mass.of_box / x.mass.of_box.sum()

    def mean_of_form(at: tuple[np.ndarray, np.ndarray]) -> float:
        return float(share @ (form.s * at[0] * at[1] + form.a * at[0] ** 2 + form.b * at[1] ** 2))

    for _ in range(20):
        at = [c.lower + rng.choice([0.0, 0.5, 1.0], 9) * (c.upper - c.lower) for c in (x, y)]
        means = share @ at[0], share @ at[1]
        assert mean_of_form((at[0], at[1])) <= support.phi + p * means[0] + q * means[1]
    t = support.touched
    touched = form.s * (t.xy + t.x * t.y) + form.a * (t.xx + t.x**2) + form.b * (t.yy + t.y**2)
    assert touched == pytest.approx(support.phi + p * t.x + q * t.y, abs=1e-12)


def made_up(form: Form, phi: float, p: float, q: float) -> Plane:
    return Plane(form, phi, 0.0, p, q, Moments(0.0, 0.0, 1.0, 1.0, 0.0))


@pytest.mark.parametrize("form", FORMS)
def test_over_one_point_of_means_the_bound_is_the_least_plane_and_never_below_it(form: Form) -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        x, y, offset = rng.uniform(-0.3, 0.3, 3)
        planes = [made_up(form, *rng.normal(size=3)) for _ in range(3)]
        cells = OpenCells(Interval(x, x), Interval(y, y), Interval(1.0, 1.0), bend=0.0, offset=offset, most=3)
        for each in planes:
            cells.add(each, 0.0)
        exact = min(
            Fraction(each.phi) - exact_at(form, Fraction(x), Fraction(y), Fraction(each.p), Fraction(each.q))
            for each in planes
        ) - Fraction(offset)
        assert Fraction(cells.bound) >= exact
        assert cells.bound <= max(float(exact), 0.0) + 1e-12


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bend", [0.0, 0.2])
def test_the_bound_over_means_and_ratios_is_the_highest_of_a_fine_grid(form: Form, bend: float) -> None:
    rng = np.random.default_rng(11)
    grid = np.linspace(-0.2, 0.2, 41)
    x, y = np.meshgrid(grid, 1.5 * grid)
    logs = np.linspace(np.log(0.5), np.log(2.0), 41)
    for _ in range(6):
        planes = [made_up(form, 0.3 + 0.1 * rng.uniform(), *(0.5 * rng.normal(size=2))) for _ in range(4)]
        places = rng.uniform(logs[0], logs[-1], 4)
        heights = np.array(
            [
                [
                    each.phi + each.p * x + each.q * y - form.s * x * y - form.a * x**2 - form.b * y**2
                    + bend * (np.cosh(log - place) - 1.0)
                    for log in logs
                ]
                for each, place in zip(planes, places, strict=True)
            ]
        )  # fmt: skip
        highest = heights.min(axis=0).max()
        ranges = Interval(-0.2, 0.2), Interval(-0.3, 0.3), Interval(0.5, 2.0)
        cells = OpenCells(*ranges, bend=bend, offset=highest - 0.01, most=4)
        for each, place in zip(planes, places, strict=True):
            cells.add(each, place)
        whole = cells.bound
        cells.refine()
        assert 0.01 <= cells.bound <= whole
        assert cells.bound <= 0.022  # where half of it is proven to be there, another plane is asked for


@settings(deadline=None, max_examples=examples(200))
@given(st.floats(-0.999, 1.0), st.floats(0.2, 5.0), st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(-1.0, 1.0))
def test_a_correlations_form_and_bend_never_fall_short_of_the_excess(
    r: float, tau: float, deviation_x: float, deviation_y: float, rho: float
) -> None:
    assume(abs(r) > 1e-6)
    product = deviation_x * deviation_y
    objective = Objective("correlation", 1.0, Interval(0.5 * product, 2.0 * product), Interval(0.001, 1000.0))
    form = objective.form(objective.reference(r), tau)
    mean = rho * product + form.a * deviation_x**2 + form.b * deviation_y**2
    bend = objective.bend(r) * (np.cosh(np.log(deviation_y / deviation_x) - np.log(tau)) - 1.0)
    assert (rho - r) * product <= mean + bend + 1e-12


def test_the_tangent_at_the_datas_own_ratio_costs_nothing() -> None:
    at = Moments(0.1, -0.2, 0.04, 0.09, 0.03)
    objective = Objective("correlation", -1.0, Interval(0.01, 1.0), Interval(0.1, 10.0))
    form = objective.form(-0.4, objective.ratio(at))
    assert form.s * at.xy + form.a * at.xx + form.b * at.yy == pytest.approx(-at.xy + 0.4 * 0.06)
    assert objective.value(at) == pytest.approx(-0.5)


def test_masses_are_counts_times_weights_whatever_the_weights_unit() -> None:
    counts, weights = np.array([2.0, 3.0, 1.0]), np.array([0.1, 0.3, 0.0])
    values = np.array([1.0, 2.0, 1e6])
    exact = sum(Fraction(c) * Fraction(w) * Fraction(v) for c, w, v in zip(counts, weights, values, strict=True))
    exact /= sum(Fraction(c) * Fraction(w) for c, w in zip(counts, weights, strict=True))
    for unit in (1.0, 2.0**-1000, 2.0**900):
        mean = mass_of(counts, weights * unit).mean(values)
        assert Fraction(mean.lower) <= exact <= Fraction(mean.upper)
        assert mean.width < 1e-14


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(0, 2**32), st.sampled_from([1, 2, 3, 30]))
def test_weighted_means_hold_the_exact_one(seed: int, boxes: int) -> None:
    rng = np.random.default_rng(seed)
    counts, weights = rng.integers(1, 1000, boxes).astype(float), rng.uniform(size=boxes)
    values = rng.normal(size=boxes) + 1e3
    mass = [Fraction(c) * Fraction(w) for c, w in zip(counts, weights, strict=True)]
    exact = sum((m * Fraction(v) for m, v in zip(mass, values, strict=True)), Fraction(0)) / sum(mass)
    mean = mass_of(counts, weights).mean(values)
    assert Fraction(mean.lower) <= exact <= Fraction(mean.upper)
    assert mean.width < 1e-11


@pytest.mark.parametrize("weights", [[0.0, 0.0], [1.0, -0.5], [1.0, np.nan], [np.inf, 1.0]])
def test_weights_that_are_no_weights_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        mass_of(np.ones(2), np.array(weights))
