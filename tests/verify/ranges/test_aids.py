"""What makes the search for narrow ranges fast and what it reaches good: facets, and boxes divided in whole records."""

import numpy as np
import pytest

from surebox_core.intervals import Interval
from surebox_verify.ranges.column import box_column
from surebox_verify.ranges.forms import Form, pair_of, places, plane
from surebox_verify.ranges.objectives import Kind, Objective
from surebox_verify.ranges.search import facet
from surebox_verify.ranges.splits import decisive, divided
from tests.verify.ranges.corners import corner_splits, moments_at_corners

ANY = Interval(1e-100, 1e100)


def test_the_highest_of_several_facets_gives_height_and_slopes() -> None:
    corners = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 3.0], [0.0, 1.0, 0.0], [1.0, 1.0, -9.0]])
    top_facet = facet(corners, 0.25, 0.25, (2.0, 0.5))
    assert top_facet is not None
    assert top_facet.height == pytest.approx(1.25)
    assert (top_facet.p, top_facet.q) == pytest.approx((2.0, -1.0))
    assert facet(corners, 1.5, 0.5, (1.0, 1.0)) is None
    assert facet(corners[:2], 0.5, 0.0, (1.0, 1.0)) is None


def test_of_many_points_the_near_ones_are_taken() -> None:
    grid = np.array([(x, y) for x in np.linspace(-1.0, 1.0, 15) for y in np.linspace(-1.0, 1.0, 15)])
    surface = np.column_stack([grid, 1.0 - grid[:, 0] ** 2 - 2.0 * grid[:, 1] ** 2])
    top_facet = facet(surface, 0.3, -0.2, (1.0, 1.0))
    assert top_facet is not None
    assert top_facet.height == pytest.approx(1.0 - 0.09 - 0.08, abs=0.02)
    assert (top_facet.p, top_facet.q) == pytest.approx((-0.6, 0.8), abs=0.3)


def test_a_plane_touches_each_box_where_it_says() -> None:
    rng = np.random.default_rng(4)
    lower = rng.normal(size=(20, 2))
    counts = rng.integers(1, 5, 20).astype(float)
    x, y = (box_column(lower[:, i], lower[:, i] + rng.uniform(size=20), counts) for i in (0, 1))
    pair = pair_of(x, y)
    support = plane(pair, Form(1.0, -0.4, -0.3), 0.1, -0.2)
    at_x, at_y = places(pair, support, np.arange(20, dtype=np.int32))
    share = counts / counts.sum()
    assert share @ at_x == pytest.approx(support.touched.x)
    assert share @ at_y == pytest.approx(support.touched.y)
    assert ((x.lower <= at_x) & (at_x <= x.upper) & (y.lower <= at_y) & (at_y <= y.upper)).all()


@pytest.mark.parametrize("kind", ["covariance", "correlation"])
@pytest.mark.parametrize("s", [1.0, -1.0])
def test_divided_boxes_reach_more_and_nothing_that_whole_records_cannot(kind: Kind, s: float) -> None:
    gained = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        lower = rng.normal(size=(3, 2))
        upper = lower + rng.uniform(0.2, 1.5, lower.shape)
        counts = np.array([4, 3, 4])
        x, y = (box_column(lower[:, i], upper[:, i], counts.astype(float)) for i in (0, 1))
        c, v, u = moments_at_corners(lower, upper, corner_splits(counts))
        exact = {"covariance": c, "correlation": c / np.sqrt(v * u)}[kind]
        unit = {"covariance": x.exponent + y.exponent, "correlation": 0}[kind]
        pair, objective = pair_of(x, y), Objective(kind, s, ANY, ANY)
        support = plane(pair, Form(s, 0.0, 0.0), 0.0, 0.0)  # touches corners only
        whole = objective.value(support.touched)
        reached = divided(pair, objective, support, decisive(pair))
        assert whole <= reached <= float(np.ldexp((s * exact).max(), -unit)) + 1e-9
        gained += reached > whole + 1e-9
    assert gained >= 4


def test_boxes_without_mass_are_not_divided() -> None:
    x, y = (box_column(np.zeros(3), np.array([1.0, 9.0, 2.0]), np.ones(3), np.array([1.0, 0.0, 1.0])) for _ in range(2))
    assert sorted(decisive(pair_of(x, y)).tolist()) == [0, 2]
