"""Optimal half-widths around a point, and the uncertainty that they promise of the kept records."""

import numpy as np
import pytest

from surebox_core.influence import influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic
from tests.algorithms.boxes.cases import run
from workers.algorithms.boxes.half_widths import asymptotic_half_widths, asymptotic_uncertainty
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.state import BoxesRequest

MEANS = tuple(Statistic("mean", (i,), 1.0) for i in range(2))


def test_half_widths_meet_the_volume_and_beat_other_shapes() -> None:
    rng = np.random.default_rng(2)
    density, a, k = rng.uniform(1, 100, 20), rng.uniform(0.1, 10, (20, 4)), 7
    half = asymptotic_half_widths(k, np.log(density), a)
    np.testing.assert_allclose(density * (2 * half).prod(axis=1), k, rtol=1e-12)
    best = (a * half).sum(axis=1)
    for _ in range(200):
        tilt = np.exp(rng.normal(scale=0.3, size=half.shape))
        other = half * tilt / tilt.prod(axis=1, keepdims=True) ** 0.25
        assert ((a * other).sum(axis=1) >= best * (1 - 1e-12)).all()


def test_many_columns_do_not_overflow() -> None:
    half = asymptotic_half_widths(5, np.log(np.full(1, 1e-200)), np.full((1, 50), 1e20))
    np.testing.assert_allclose(half, 0.5 * (5 / 1e-200) ** 0.02, rtol=1e-9)


def by_conditions(k: float, density: float, a: np.ndarray, least: np.ndarray) -> np.ndarray:
    """The half-widths of the Karush-Kuhn-Tucker conditions: D_i = max(e_i, m / a_i), m by bisection on the volume."""
    if density * (2 * least).prod() >= k:
        return least
    low, high = -200.0, 200.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if density * (2 * np.maximum(least, np.exp(middle) / a)).prod() < k:
            low = middle
        else:
            high = middle
    return np.maximum(least, np.exp(high) / a)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_papers_procedure_solves_the_conditions_of_l_diversity(n: int) -> None:
    rng, overfull = np.random.default_rng(n), 0
    for _ in range(250):
        a, density = rng.lognormal(0.0, 1.5, (8, n)), rng.lognormal(2.0, 2.0, 8)
        k, diversity = int(rng.integers(2, 30)), int(rng.integers(2, 6))
        apart = rng.lognormal(-1.0, 1.5, n) * (rng.random(n) < 0.7)  # a column without has eps = 0
        least = 0.5 * diversity * apart
        half = asymptotic_half_widths(k, np.log(density), a, least)
        for own, rho, of_point in zip(half, density, a, strict=True):
            np.testing.assert_allclose(own, by_conditions(k, rho, of_point, least), rtol=1e-9)
            overfull += bool(rho * (2 * own).prod() > k * (1 + 1e-9))
    assert overfull > 0  # all columns at their least, and more than k records in the box


def test_the_guide_counts_what_l_diversity_costs() -> None:
    x = np.random.default_rng(25).uniform(size=(20_000, 2))
    field = influences(MEANS, moments(x))  # a = 1: at k = 10 half-widths are sqrt(10 / 20,000) / 2 = 0.0112

    def promised(least: tuple[float, float]) -> float:
        uncertainty = asymptotic_uncertainty(x, field, 10, np.random.default_rng(1), None, np.array(least))
        assert uncertainty is not None
        return uncertainty

    assert promised((0.0, 0.0)) == pytest.approx(np.sqrt(10 / 20_000), rel=0.06)
    assert promised((0.05, 0.0)) == pytest.approx(0.05 + 10 / 20_000 / 0.2, rel=0.06)  # 2 e 2 D rho = k
    assert promised((0.05, 0.04)) == pytest.approx(0.09, rel=1e-6)


def test_a_request_hands_on_how_far_apart_values_are() -> None:
    rng = np.random.default_rng(26)
    x = rng.uniform(size=(4000, 2))
    values = BoxConstraints(3, values=np.ascontiguousarray(x[:, :1]), apart=np.array([0.05]))
    plain, diverse = (
        run(x, BoxesRequest(10, MEANS, partition="fast", bounds="tight", demands=demands, separation=separation))
        for demands, separation in ((BoxConstraints(), ()), (values, (0.05, 0.0)))
    )
    assert plain.asymptotic_uncertainty is not None
    assert diverse.asymptotic_uncertainty is not None
    assert diverse.asymptotic_uncertainty > 1.2 * plain.asymptotic_uncertainty
    assert diverse.privacy_uncertainty > 1.2 * plain.privacy_uncertainty


def two_squares(rng: np.random.Generator) -> np.ndarray:
    """20,000 records in a unit square, and as many in one of a hundred times its area far away."""
    return np.vstack([rng.uniform(size=(20_000, 2)), 1000.0 + 10.0 * rng.uniform(size=(20_000, 2))])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_weighed_records_count_by_their_weight_and_are_as_dense_as_they_are(share: float) -> None:
    # a = 1, so c = (k/rho)^(1/2) / 2 and Delta = 2 sum w c; rho is 20,000 and 200 whatever the weights.
    rng = np.random.default_rng(21)
    x = two_squares(rng)
    weight = np.repeat([share, 1.0 - share], 20_000) / 20_000
    uncertainty = asymptotic_uncertainty(x, influences(MEANS, moments(x, weight)), 10, rng, weight)
    wanted = share * np.sqrt(10 / 20_000) + (1.0 - share) * np.sqrt(10 / 200)
    assert uncertainty == pytest.approx(wanted, rel=0.06)


def test_equal_weights_change_nothing() -> None:
    x = two_squares(np.random.default_rng(22))[::7]
    field = influences(MEANS, moments(x))
    plain, weighed = (
        asymptotic_uncertainty(x, field, 10, np.random.default_rng(1), weight)
        for weight in (None, np.full(len(x), 1.0 / len(x)))
    )
    assert weighed == pytest.approx(plain, rel=1e-12)


def test_what_is_dismissed_counts_neither_in_density_nor_in_uncertainty() -> None:
    rng = np.random.default_rng(23)
    x = np.vstack([rng.uniform(size=(6000, 2)), rng.uniform(-50.0, 50.0, size=(300, 2))])
    kept, dismissed = (
        run(x, BoxesRequest(10, MEANS, partition="fast", bounds="tight", rare_records=rare))  # type: ignore[arg-type]
        for rare in ("keep", "suppress")
    )
    rows = dismissed.chosen.rows
    assert rows is not None
    assert (rows < 6000).mean() > 0.99
    assert dismissed.asymptotic_uncertainty == pytest.approx(np.sqrt(10 / len(rows)), rel=0.1)
    assert kept.asymptotic_uncertainty is not None
    assert kept.asymptotic_uncertainty > 3 * np.sqrt(10 / len(rows))
    # the real one of tight boxes is near: both are over the same records
    assert 0.5 < dismissed.privacy_uncertainty / dismissed.asymptotic_uncertainty < 1.1
    assert 0.5 < kept.privacy_uncertainty / kept.asymptotic_uncertainty < 1.3


def test_weighed_boxes_promise_what_their_uncertainty_is_made_of() -> None:
    rng = np.random.default_rng(24)
    x = np.vstack([rng.uniform(size=(5000, 2)), 3.0 * rng.uniform(size=(5000, 2)) - 1.0])
    outcome = run(x, BoxesRequest(10, MEANS, partition="fast", bounds="tight", rare_records="weigh"))
    assert outcome.chosen.weights is not None
    assert outcome.asymptotic_uncertainty is not None
    assert 0.6 < outcome.privacy_uncertainty / outcome.asymptotic_uncertainty < 1.1
