"""Optimal half-widths around a point, and the uncertainty that they promise of the kept records."""

import numpy as np
import pytest

from surebox_core.influence import influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic
from tests.algorithms.boxes.cases import run
from workers.algorithms.boxes.half_widths import asymptotic_half_widths, asymptotic_uncertainty
from workers.algorithms.boxes.state import BoxesRequest

MEANS = tuple(Statistic("mean", (i,), 1.0) for i in range(2))


def test_half_widths_meet_the_volume_and_beat_other_shapes() -> None:
    rng = np.random.default_rng(2)
    density, a, k = rng.uniform(1, 100, 20), rng.uniform(0.1, 10, (20, 4)), 7
    half = asymptotic_half_widths(k, density, a)
    np.testing.assert_allclose(density * (2 * half).prod(axis=1), k, rtol=1e-12)
    best = (a * half).sum(axis=1)
    for _ in range(200):
        tilt = np.exp(rng.normal(scale=0.3, size=half.shape))
        other = half * tilt / tilt.prod(axis=1, keepdims=True) ** 0.25
        assert ((a * other).sum(axis=1) >= best * (1 - 1e-12)).all()


def test_many_columns_do_not_overflow() -> None:
    half = asymptotic_half_widths(5, np.full(1, 1e-200), np.full((1, 50), 1e20))
    np.testing.assert_allclose(half, 0.5 * (5 / 1e-200) ** 0.02, rtol=1e-9)


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
