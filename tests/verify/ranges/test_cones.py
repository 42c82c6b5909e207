"""Cones cover the half-space they are asked for, however they are divided and raised."""

import numpy as np
import pytest

from surebox_verify.ranges.cones import Cone, HalfSpace, half_space, raised


def moments(q: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    z = np.column_stack([np.ones(50), rng.normal(size=(50, q + 1)) @ rng.normal(size=(q + 1, q + 1))])
    return z.T @ z / 50


def coordinates(space: HalfSpace, residual: np.ndarray, cone: Cone) -> np.ndarray:
    """A residual as a combination of a cone's corners."""
    residuals, _ = space.residuals_of(cone.corners)
    return np.linalg.solve(residuals.T, residual)


def covered(space: HalfSpace, beta: np.ndarray, cones: list[Cone]) -> bool:
    residual = -np.insert(beta, 1, -1.0)
    return any((coordinates(space, residual, cone) > -1e-9).all() for cone in cones)


@pytest.mark.parametrize("q", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("index", [0, 1])
def test_no_coefficients_beyond_are_missed(q: int, sign: float, index: int) -> None:
    rng = np.random.default_rng(q)
    references = rng.normal(size=q)
    space = half_space(moments(q), index, sign, references, 0.7)
    assert space is not None
    assert space.r == pytest.approx(0.7)
    open_cones, steps = list(space.cones()), 0.0
    assert len(open_cones) == (2**q if q < 6 else q + 1)
    for _ in range(60):
        if rng.random() < 0.2:
            steps += space.steps(0.02)
            open_cones = [left for cone in open_cones if (left := raised(cone, steps)) is not None]
        chosen = open_cones.pop(int(rng.integers(len(open_cones))))
        halves = space.halves(chosen, rng.random(q + 2))
        open_cones += [left for cone in halves if (left := raised(cone, steps)) is not None]
    r = space.value(steps)
    for _ in range(300):
        beta = rng.standard_cauchy(q + 1)
        t = sign * (beta[index] - (references @ beta[1:] if index == 0 else 0.0))
        beta[index] += sign * (r + rng.exponential(0.1) - t)
        assert covered(space, beta, open_cones)


def test_a_cone_that_lies_below_is_not_needed() -> None:
    space = half_space(moments(2), 1, 1.0, np.zeros(2), 0.0)
    assert space is not None
    first = next(iter(space.cones()))
    assert raised(first, 1.0) is not None
    below = first.corners.copy()
    below[-1] = below[0]
    below[-1, -1] = 0.5  # a point half a step up takes the place of tau
    assert raised(Cone(below, 1), 0.25) is not None
    assert raised(Cone(below, 1), 0.5) is None


def test_steps_raise_enough_and_little_more() -> None:
    space = half_space(moments(2), 1, -1.0, np.zeros(2), 0.4)
    assert space is not None
    for by in (1e-6, 0.03, 7.0):
        assert 0.4 + by <= space.value(space.steps(by)) <= 0.4 + by + 1e-8


def test_residuals_are_those_of_the_coefficients() -> None:
    second, references = moments(3), np.array([5.0, -1.0, 0.2])
    space = half_space(second, 0, 1.0, references, 0.25)
    assert space is not None
    apex, off = space.residuals_of(np.eye(8)[:1])
    beta = -np.delete(apex[0], 1)
    assert apex[0, 1] == 1.0
    assert beta[0] - references @ beta[1:] == pytest.approx(0.25)  # the intercept where all x are -references
    assert (off < 1e-12).all()
    assert space.lengths(space.residuals[1:]) == pytest.approx(space.lengths(space.residuals[1:])[0])


def test_collinear_predictors_have_no_half_space() -> None:
    z = np.column_stack([np.ones(9), np.arange(9.0) ** 2, np.arange(9.0), 2.0 * np.arange(9.0)])
    assert half_space(z.T @ z / 9, 1, 1.0, np.zeros(2), 0.0) is None
