"""Optimal half-widths around a point."""

import numpy as np

from workers.algorithms.boxes.half_widths import asymptotic_half_widths


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
