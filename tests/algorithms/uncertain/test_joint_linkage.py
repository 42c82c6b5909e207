"""Rows matched to records all at once, against dense matrices scaled by hand."""

import numpy as np
import pytest

from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.linkage import joint


def drawn(rng: np.random.Generator, records: int, scale: float) -> tuple[np.ndarray, Densities, np.ndarray]:
    x = rng.normal(size=(records, 2)) * [1.0, 5.0]
    order = rng.permutation(records)
    s = np.broadcast_to(np.array([1.0, 5.0]) * scale, x.shape).copy()
    return x, Densities("gaussian", x[order] + rng.normal(size=x.shape) * s, s, None, np.ones(2)), order


def run(state: joint.JointState) -> joint.JointState:
    while not joint.done(state):
        state = joint.step(state)
    return state


@pytest.mark.parametrize(("rows", "iterations"), [(1, 1), (7, 7)])
def test_probabilities_do_not_depend_on_how_much_is_done_in_a_step(rows: int, iterations: int) -> None:
    x, densities, order = drawn(np.random.default_rng(4), 30, 0.3)
    usual = run(joint.init(densities, x, order, np.arange(30)))
    state, steps = joint.init(densities, x, order, np.arange(30)), 0
    while not joint.done(state):
        state, steps = joint.step(state, rows=rows, iterations=iterations), steps + 1
    assert steps == -(-30 // rows) + -(-usual.scaled // iterations)
    assert np.array_equal(joint.matching(state), joint.matching(usual))


@pytest.mark.parametrize("known", [40, 70])
def test_all_rows_together_are_the_scaled_matrix_of_all_fits(known: int) -> None:
    rng = np.random.default_rng(3)
    x, densities, order = drawn(rng, 40, 0.3)
    x = np.vstack([x, rng.normal(size=(known - 40, 2)) * [1.0, 5.0]])
    state = run(joint.init(densities, x, order, np.arange(40), nearest=known))
    fits = np.exp(-0.5 * (((x[None] - densities.z[:, None]) / densities.scale[:, None]) ** 2).sum(axis=2))
    column = np.ones(known)
    for _ in range(4000):
        row = 1 / (fits @ column)
        column = 1 / (row @ fits)
        if known > 40:
            column = np.minimum(column, 1)
    expected = fits * column / (fits @ column)[:, None]
    matrix = np.zeros((40, known))
    np.put_along_axis(matrix, state.candidate, joint.matching(state), axis=1)
    assert matrix == pytest.approx(expected, abs=0.02)
    assert matrix.sum(axis=1) == pytest.approx(1.0)
    assert matrix.sum(axis=0).max() <= 1.05
    summary = joint.result(state)
    truth = expected[np.arange(40), order]
    assert summary.mean_posterior == pytest.approx(truth.mean(), abs=0.02)
    above = expected.max(axis=1) > 0.5
    assert summary.share_above_half == pytest.approx(above.mean(), abs=0.05)
    assert summary.share_right == pytest.approx((truth[above] == expected[above].max(axis=1)).mean(), abs=0.1)


def test_who_matches_all_rows_at_once_finds_more_than_row_by_row() -> None:
    rng = np.random.default_rng(4)
    x, densities, order = drawn(rng, 500, 0.05)
    state = run(joint.init(densities, x, order, np.arange(500)))
    assert joint.result(state).mean_posterior > joint.alone(state).mean_posterior + 0.02


def test_bells_and_cubes_of_several_releases_multiply() -> None:
    rng = np.random.default_rng(5)
    z, s = rng.normal(size=(3, 4, 2)), rng.uniform(0.5, 2.0, (3, 4, 2))
    point = rng.normal(size=(4, 2))
    bells = [Densities("gaussian", one, width, None, np.ones(2)) for one, width in zip(z, s, strict=True)]
    whole, other = joint.together(bells), point + 0.3

    def log_fit(densities: Densities, at: np.ndarray) -> np.ndarray:
        return -0.5 * (((at - densities.z) / densities.scale) ** 2).sum(axis=1)

    assert log_fit(whole, point) - log_fit(whole, other) == pytest.approx(
        sum(log_fit(one, point) - log_fit(one, other) for one in bells)
    )
    cubes = joint.together(
        [Densities("uniform", one, width + 3, None, np.ones(2)) for one, width in zip(z, s, strict=True)]
    )
    for row in range(4):
        for at in rng.uniform(-2, 2, (50, 2)):
            inside = all((np.abs(at - one[row]) <= (width[row] + 3) / 2).all() for one, width in zip(z, s, strict=True))
            assert inside == (np.abs(at - cubes.z[row]) <= cubes.scale[row] / 2).all()
    with pytest.raises(ValueError, match="one model"):
        joint.together([bells[0], cubes])
