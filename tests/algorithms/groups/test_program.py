"""The integer program, beside all that there is to choose from."""

import itertools

import numpy as np
import pytest

from workers.algorithms.groups.profile.program import Leaving, leaving


def place(seed: int) -> Leaving:
    """Nine records in counts that are not nested in each other."""
    rng = np.random.default_rng(seed)
    weights = np.vstack([np.ones(9), rng.random((3, 9)) < 0.5, rng.random(9).round(2)]).astype(np.float64)
    counts = weights.sum(axis=1) + rng.integers(0, 3, 5)
    target = np.floor(counts * rng.random(5))
    rows = np.vstack([weights, weights[1] - 0.5 * weights[2]])
    least = np.minimum(rows.sum(axis=1), rng.uniform(0.0, 3.0, len(rows)))
    return Leaving(weights, counts, target, rows, least, rng.random(9))


def price(problem: Leaving, goes: np.ndarray, pull: float) -> float:
    left = problem.counts - problem.weights @ goes
    return float(problem.cost @ goes + pull * np.abs(left - problem.target).sum())


@pytest.mark.parametrize("pull", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("seed", range(6))
def test_who_leaves_costs_as_little_as_the_best_of_all_sets(seed: int, pull: float) -> None:
    problem = place(seed)
    every = [np.array(some, dtype=np.float64) for some in itertools.product((0, 1), repeat=9)]
    best = min(price(problem, some, pull) for some in every if np.all(problem.rows @ some >= problem.least - 1e-9))
    goes = leaving(problem, pull)
    assert np.all(problem.rows @ goes >= problem.least - 1e-6)
    assert best - 1e-9 <= price(problem, goes.astype(np.float64), pull) <= best * 1.006 + 1e-9
    np.testing.assert_array_equal(goes, leaving(problem, pull), "the same again")


def test_all_leave_where_nothing_may_stay() -> None:
    problem = place(1)
    empty = Leaving(
        problem.weights, problem.counts, problem.target, problem.weights, problem.weights.sum(axis=1), problem.cost
    )
    assert leaving(empty, 0.0).all()
