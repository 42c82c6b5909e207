"""What is drawn has the density it says, and its last digits tell nothing."""

import numpy as np
import pytest

from tests.algorithms.uncertain import oracle
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.drawing import draw
from workers.algorithms.uncertain.calibration.state import Calibrated, CalibrationRequest, Expected


def release(
    model: str, scale: np.ndarray, axes: np.ndarray | None = None, unit: np.ndarray | None = None
) -> Calibrated:
    rows, columns = scale.shape
    return Calibrated(
        model=model,  # type: ignore[arg-type]
        rows=np.arange(rows),
        unit=np.ones(columns) if unit is None else unit,
        scale=scale,
        axes=axes,
        anonymity=np.ones(rows),
        certified_error=0.0,
        expected=Expected(1.0, 1.0, 1.0, rows),
        zero_scale=0,
        cells=None,
    )


@pytest.mark.parametrize(("model", "variance"), [("gaussian", 1.0), ("uniform", 1.0 / 12.0)])
def test_offsets_have_the_density_s_moments_along_its_axes(model: str, variance: float) -> None:
    rows = 40_000
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    unit = np.array([10.0, 0.5])
    scale = np.tile([2.0, 0.25], (rows, 1))
    x = np.tile([3.0, -7.0], (rows, 1))
    calibrated = release(model, scale, np.tile(turn, (rows, 1, 1)), unit)
    e = ((draw(x, calibrated, np.random.default_rng(0)) - x) / unit) @ turn.T / scale
    assert np.abs(e.mean(axis=0)).max() < 5.0 * np.sqrt(variance / rows)
    assert np.cov(e.T) == pytest.approx(variance * np.eye(2), abs=0.03 * variance)
    if model == "uniform":
        assert np.abs(e).max() <= 0.5


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_the_last_digits_do_not_tell_a_record_at_zero_from_one_elsewhere(model: str) -> None:
    x = np.r_[np.zeros(4000), np.full(4000, 39.0), np.full(4000, 1e-3)][:, None]
    z = draw(x, release(model, np.full((12_000, 1), 20.0)), np.random.default_rng(0))[:, 0]
    assert (z == np.round(z, 6)).all()  # all on one grid, whatever the record
    digits = np.round(z * 1e6).astype(np.int64) % 10
    for part in np.split(digits, 3):
        counts = np.bincount(part, minlength=10)
        assert ((counts - 400.0) ** 2 / 400.0).sum() < 35.0  # chi squared, 9 degrees: 1 in 17,000


def test_points_are_themselves_and_constant_offsets_survive() -> None:
    x = np.array([[1e9 + 0.25, 5.0], [1e9 - 3.0, 0.1]])
    z = draw(x, release("gaussian", np.array([[0.0, 0.0], [0.5, 0.0]])), np.random.default_rng(1))
    assert z[0].tolist() == x[0].tolist()
    assert z[1, 1] == 0.1
    assert 0.0 < abs(z[1, 0] - x[1, 0]) < 5.0


def test_two_draws_differ_and_a_seed_repeats_them() -> None:
    x = oracle.mixture(300)
    calibrated = calibrate(x, CalibrationRequest(k=5.0))
    one, two = (draw(x, calibrated, np.random.default_rng(seed)) for seed in (1, 2))
    assert one.shape == (len(calibrated.rows), 3)
    assert (one != two).all()
    assert (one == draw(x, calibrated, np.random.default_rng(1))).all()
