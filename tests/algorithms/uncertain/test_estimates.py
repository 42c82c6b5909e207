"""Estimates of the original's moments: Monte Carlo with a known answer, so sized that chance hardly ever fails one."""

import numpy as np
import pytest

from workers.algorithms.uncertain.density.densities import Densities, loadings
from workers.algorithms.uncertain.density.estimates import Estimates, estimates

DRAWS = 400


def original(rows: int = 60) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.gamma(2.0, 1.0, (rows, 3)) @ np.array([[1.0, 0.7, 0.0], [0.0, 1.0, -0.5], [0.0, 0.0, 2.0]])


def rotations(rows: int) -> np.ndarray:
    rng = np.random.default_rng(6)
    return np.array([np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(rows)])


def many(x: np.ndarray, model: str, turned: bool) -> list[Estimates]:
    rng = np.random.default_rng(12)
    scale = np.random.default_rng(1).uniform(0.1, 1.2, x.shape) * (1.0 if model == "gaussian" else 3.0)
    unit = np.array([1.0, 2.0, 0.5])
    axes = rotations(len(x)) if turned else None
    g = loadings(Densities(model, x, scale, axes, unit), 0, len(x))
    runs = []
    for _ in range(DRAWS):
        e = rng.normal(size=x.shape) if model == "gaussian" else rng.random(x.shape) - 0.5
        runs.append(estimates(Densities(model, x + np.einsum("pji,pi->pj", g, e), scale, axes, unit)))
    return runs


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_means_and_covariances_are_unbiased_and_their_errors_are_those_seen(model: str, turned: bool) -> None:
    x = original()
    runs = many(x, model, turned)
    for name, true in (("mean", x.mean(axis=0)), ("covariance", np.cov(x.T, ddof=0))):
        values = np.array([getattr(one, name) for one in runs])
        said = np.array([getattr(one, f"{name}_error") for one in runs])
        seen = values.std(axis=0, ddof=1)
        assert (np.abs(values.mean(axis=0) - true) < 5.5 * seen / np.sqrt(DRAWS)).all()
        # the spread of DRAWS values is known to about 1/sqrt(2 DRAWS); forms with heavier tails to twice that
        assert np.sqrt((said**2).mean(axis=0)) == pytest.approx(seen, rel=5.5 * 2.0 / np.sqrt(2.0 * DRAWS))


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_correlations_meet_the_truth_within_their_errors(model: str) -> None:
    x = original(2000)
    true = np.corrcoef(x.T)
    rng = np.random.default_rng(2)
    scale = np.full(x.shape, 0.8 if model == "gaussian" else 2.5)
    z_scores = []
    for _ in range(60):
        e = rng.normal(size=x.shape) if model == "gaussian" else rng.random(x.shape) - 0.5
        moments = estimates(Densities(model, x + scale * e, scale, None, np.ones(3)))
        z_scores.append(
            ((moments.correlation - true) / np.where(np.eye(3), 1.0, moments.correlation_error))[[0, 0, 1], [1, 2, 2]]
        )
    scores = np.array(z_scores)
    assert (
        np.abs(scores.mean(axis=0)).max() < 5.5 / np.sqrt(60) + 0.1
    )  # a bias of order 1/M against errors of 1/sqrt(M)
    assert scores.std(axis=0) == pytest.approx(1.0, abs=5.5 / np.sqrt(2 * 60))


def test_without_noise_the_moments_are_those_of_the_records() -> None:
    x = original(50)
    moments = estimates(Densities("gaussian", x, np.zeros_like(x), None, np.ones(3)))
    assert moments.mean == pytest.approx(x.mean(axis=0))
    assert moments.covariance == pytest.approx(np.cov(x.T, ddof=0))
    assert moments.correlation == pytest.approx(np.corrcoef(x.T))
    assert (moments.mean_error == 0.0).all()
    assert moments.covariance_error == pytest.approx(0.0, abs=1e-12)


def test_a_column_that_the_noise_drowns_has_no_correlation() -> None:
    x = np.zeros((4, 2))
    x[:, 1] = [0.0, 1.0, 2.0, 3.0]
    moments = estimates(Densities("gaussian", x, np.full((4, 2), 0.5), None, np.ones(2)))
    assert moments.covariance[0, 0] < 0.0
    assert np.isnan(moments.correlation[0]).all()
    assert np.isnan(moments.correlation_error[0, 1])
    assert moments.correlation[1, 1] == 1.0


def test_other_units_scale_every_estimate() -> None:
    x, scale, factor = original(40), np.full((40, 3), 0.3), np.array([1e3, 1.0, 1e-6])
    one = estimates(Densities("uniform", x, scale, None, np.ones(3)))
    two = estimates(Densities("uniform", x * factor + 7.0, scale * factor, None, factor))
    assert two.mean_error == pytest.approx(one.mean_error * factor)
    assert two.covariance == pytest.approx(one.covariance * np.outer(factor, factor), rel=1e-5, abs=1e-12)
    assert two.correlation == pytest.approx(one.correlation, abs=1e-5)
    assert two.correlation_error == pytest.approx(one.correlation_error, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_axes_that_are_those_of_the_columns_change_nothing(model: str) -> None:
    """Densities parallel to the axes have a short cut: it gives what the general way gives."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    x[:, 3] = 7.0
    scale = rng.uniform(0.0, 1.5, x.shape) * (rng.random(x.shape) < 0.9)
    parallel = estimates(Densities(model, x, scale, None, np.ones(4)))
    turned = estimates(Densities(model, x, scale, np.tile(np.eye(4), (300, 1, 1)), np.ones(4)))
    for name in vars(parallel):
        np.testing.assert_allclose(getattr(parallel, name), getattr(turned, name), rtol=1e-9, atol=1e-12)
    assert np.isnan(parallel.correlation[3, 3])
