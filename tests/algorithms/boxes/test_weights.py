"""The fuzzy optimum against a convex solver, and its two identities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from workers.algorithms.boxes.rare.balance import weigh
from workers.algorithms.boxes.rare.dismissal import dismiss

boxes = st.lists(
    st.tuples(st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 10)), st.integers(1, 9)), min_size=1, max_size=40
)


def objective(weights: np.ndarray, g: np.ndarray, counts: np.ndarray, statistical: float) -> float:
    return float(counts @ (weights * g) + statistical * np.sqrt(counts @ weights**2))


@given(boxes, st.floats(1e-6, 50))
def test_the_optimal_objective_equals_lambda_and_beats_the_crisp_one(
    parts: list[tuple[float, int]], statistical: float
) -> None:
    g = np.array([value for value, _ in parts])
    counts = np.array([count for _, count in parts])
    solution = weigh(g, counts, statistical=statistical)
    assert counts @ solution.weights == pytest.approx(1.0, rel=1e-12)
    assert solution.weights.min() >= 0
    assert objective(solution.weights, g, counts, statistical) == pytest.approx(solution.optimum, rel=1e-9, abs=1e-9)
    crisp = dismiss(g, counts, statistical=statistical).objective
    assert solution.optimum <= crisp * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("seed", range(20))
def test_a_general_solver_finds_the_same_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g = rng.gamma(1.0, 1.0, 12)
    counts = rng.integers(1, 8, 12)
    statistical = float(rng.uniform(0.3, 6.0))
    solved = minimize(
        lambda w: objective(w, g, counts, statistical),
        np.full(12, 1.0 / counts.sum()),
        jac=lambda w: counts * g + statistical * counts * w / np.sqrt(counts @ w**2),
        bounds=[(0, None)] * 12,
        constraints={"type": "eq", "fun": lambda w: counts @ w - 1, "jac": lambda _: counts.astype(float)},
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    solution = weigh(g, counts, statistical=statistical)
    assert solution.optimum == pytest.approx(solved.fun, rel=1e-9)
    np.testing.assert_allclose(solution.weights, solved.x, atol=1e-5)


def test_without_statistical_uncertainty_the_weights_are_uniform_on_the_smallest() -> None:
    solution = weigh(np.array([2.0, 1.0, 1.0]), np.array([5, 5, 6]), statistical=0.0)
    np.testing.assert_allclose(solution.weights, [0, 1 / 11, 1 / 11])
    assert solution.optimum == 1.0


def test_equal_boxes_have_equal_weights() -> None:
    solution = weigh(np.full(4, 3.0), np.array([5, 6, 7, 8]), statistical=2.0)
    np.testing.assert_allclose(solution.weights, 1 / 26)
    assert solution.optimum == pytest.approx(3.0 + 2.0 / np.sqrt(26))


@given(boxes, st.floats(0.1, 10), st.sampled_from([-700, -300, 300, 700]))
def test_powers_of_two_scale_lambda_and_nothing_else(
    parts: list[tuple[float, int]], statistical: float, power: int
) -> None:
    g = np.array([round(value, 3) for value, _ in parts])
    counts = np.array([count for _, count in parts])
    one = weigh(g, counts, statistical=statistical)
    other = weigh(np.ldexp(g, power), counts, statistical=float(np.ldexp(statistical, power)))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert other.optimum == np.ldexp(one.optimum, power)


def test_boxes_far_above_the_others_change_nothing() -> None:
    rng = np.random.default_rng(6)
    g, counts = rng.gamma(1.0, 1.0, 50), rng.integers(5, 10, 50)
    one = weigh(g, counts, statistical=3.0)
    other = weigh(np.append(g, [1e200, 1e300]), np.append(counts, [5, 10**6]), statistical=3.0)
    np.testing.assert_array_equal(other.weights, np.append(one.weights, [0.0, 0.0]))
    assert other.optimum == one.optimum


def test_scaling_both_uncertainties_scales_lambda_and_leaves_the_weights() -> None:
    rng = np.random.default_rng(5)
    g, counts = rng.gamma(1.0, 1.0, 50), rng.integers(5, 10, 50)
    one, other = weigh(g, counts, statistical=3.0), weigh(1e6 * g, counts, statistical=3e6)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)
    assert other.optimum == pytest.approx(1e6 * one.optimum)
