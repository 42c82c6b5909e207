"""Equations of uncertain releases."""

from dataclasses import replace
from typing import Final

import numpy as np
import pytest

from tests.meta.equations.drawn import Drawn, Evaluated
from workers.algorithms.uncertain.calibration.calibration import calibrate
from workers.algorithms.uncertain.calibration.expected import anonymity
from workers.algorithms.uncertain.calibration.state import CalibrationRequest, UnreachableKError


def request(k: float, model: str) -> CalibrationRequest:
    return CalibrationRequest(k, model, "per_record", suppress_share=0.0)  # type: ignore[arg-type]


def calibrated(draw: np.random.Generator, model: str) -> tuple[float, float, np.ndarray]:
    """Expected anonymity of a record, its scale, and how far all records are from it, in scaled units."""
    x = draw.normal(size=(60, int(draw.integers(1, 5))))
    made = calibrate(x, request(float(draw.uniform(2, 15)), model))
    place = np.array([int(draw.integers(60))])
    expected = anonymity(x, made, places=place, tolerance=1e-6).least[0]
    scaled = x / made.unit
    return float(expected), float((made.scale / made.unit)[place[0], 0]), scaled - scaled[place]


def gaussian(draw: np.random.Generator) -> Drawn:
    expected, sigma, w = calibrated(draw, "gaussian")
    delta = np.sort(np.sqrt((w * w).sum(axis=1)))[1:]  # without itself
    return Drawn({"A": expected, "delta_ij": delta, "sigma": sigma}, close=1e-4)


def uniform(draw: np.random.Generator) -> Drawn:
    expected, a, w = calibrated(draw, "uniform")
    return Drawn({"A": expected, "a": a, "w_ij": w, "d": w.shape[1]}, close=1e-6)


def supremum(draw: np.random.Generator) -> Drawn:
    """With scales beyond all distances; the k that is refused is not above it, the largest feasible one is."""
    records, d = int(draw.integers(20, 60)), int(draw.integers(0, 5))
    x = draw.normal(size=(records, 2))
    x[: d + 1] = x[0]
    made = calibrate(x, request(float(d) + 2.0, "gaussian"))
    far = replace(made, scale=made.scale * 1e9)
    reached = float(anonymity(x, far, places=np.array([0]), tolerance=1e-9).least[0])
    with pytest.raises(UnreachableKError) as refused:
        calibrate(x[d:], request(1.0 + 0.5 * (records - d - 1), "gaussian"))
    assert refused.value.largest < 1.0 + 0.5 * (records - d - 1)
    calibrate(x[d:], request(refused.value.largest, "gaussian"))
    return Drawn({"N": records, "d": d}, reached, close=1e-6)


EVALUATED: Final[Evaluated] = {
    "A(sigma) =": gaussian,
    "A(a) =": uniform,
    "1 + d + (N - 1 - d)/2": supremum,
}
