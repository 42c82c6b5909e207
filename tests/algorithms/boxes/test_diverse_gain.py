"""What a side costs where its boxes must be wide enough for values that lie apart (XF slides 11 and 12)."""

import numpy as np
import pytest
from scipy.optimize import brentq

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray
from workers.algorithms.boxes.partition.arrays import NumericRecords, extents
from workers.algorithms.boxes.partition.gain import predicted


@kernel
def cost(records: NumericRecords, count: int, k: int, side: FloatArray) -> float:
    return float(predicted(records, count, k, side))


def predicted_cost(
    a: np.ndarray, width: np.ndarray, least: np.ndarray, count: int, k: int, demanded: float = 0.0
) -> float:
    n = len(a)
    records = NumericRecords(
        rows=np.empty((0, n)),
        order=np.empty(0, np.int32),
        worth=np.empty((0, n), np.float32),
        price=np.array([a, np.ones(n)]),
        scratch=np.empty(0),
        least=least,
        extent=extents(n, np.append(np.zeros(n - 1), demanded)),
        classes=-1,
    )
    side = np.array([np.zeros(n), width, *np.zeros((2, n)), np.full(n, np.inf), np.full(n, -np.inf)])
    return cost(records, count, k, side)


def oracle(a: np.ndarray, width: np.ndarray, least: np.ndarray, count: int, k: int) -> float:
    """d_i = min(w_i, max(t/a_i, least_i)), t by the volume: a root in log t; 0 where the least exceed it."""
    matters = (a > 0) & (width > 0)
    a, width, least = a[matters], width[matters], np.minimum(least, width)[matters]
    log_volume = np.log(width).sum() - np.log(count // k)

    def excess(log_t: float) -> float:
        return float(np.log(np.minimum(width, np.maximum(np.exp(log_t) / a, least))).sum() - log_volume)

    low, high = np.log(1e-12), np.log((a * width).max())
    t = 0.0 if (least > 0).all() and excess(low) >= 0.0 else np.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    shrink = (k - 1) / (k + 1) * (count + 1) / (count - 1)
    return float(count * np.maximum(least, shrink * np.minimum(width, np.maximum(t / a, least))) @ a)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_widths_are_those_of_the_volume_within_the_least_and_the_side(n: int) -> None:
    rng = np.random.default_rng(n)
    at_their_least = 0
    for _ in range(500):
        a, width = rng.lognormal(0, 1, n), rng.lognormal(0, 1, n)
        least = width * rng.choice([0.0, 0.01, 0.2, 0.7, 1.5], n)
        k = int(rng.integers(2, 12))
        count = int(k * rng.integers(2, 60) + rng.integers(0, k))
        at_their_least += bool((least > 0).all() and np.minimum(least / width, 1.0).prod() * (count // k) >= 1.0)
        assert predicted_cost(a, width, least, count, k) == pytest.approx(oracle(a, width, least, count, k), rel=1e-9)
    assert at_their_least > 5


def test_no_least_is_as_before() -> None:
    rng = np.random.default_rng(9)
    for _ in range(200):
        a, width = rng.lognormal(0, 1, 4), rng.lognormal(0, 1, 4) * (rng.random(4) < 0.9)
        k, count = 5, int(rng.integers(10, 400))
        without = predicted_cost(a, width, np.empty(0), count, k)
        assert predicted_cost(a, width, np.zeros(4), count, k) == pytest.approx(without, rel=1e-9)


def test_a_least_width_counts_for_half_and_what_k_allows_for_the_other() -> None:
    """Cuts differ by the second half alone where all columns are at their least."""
    rng = np.random.default_rng(10)
    for _ in range(200):
        a, width = rng.lognormal(0, 1, 3), rng.lognormal(0, 1, 3)
        least, k, count = width * rng.choice([0.0, 0.2, 0.7, 1.5], 3), 5, int(rng.integers(10, 400))
        halves = oracle(a, width, least, count, k), oracle(a, width, np.zeros(3), count, k)
        assert predicted_cost(a, width, least, count, k, 1.0) == pytest.approx(0.5 * sum(halves), rel=1e-9)
