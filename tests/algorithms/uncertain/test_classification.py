"""Classification by best fits, against all pairs in plain numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from tests.drawing import examples
from workers.algorithms.uncertain.density.densities import Densities, log_density, log_normaliser
from workers.algorithms.uncertain.queries.classification import classify, classify_by_nearest, nearest_index


def rotation(rng: np.random.Generator, columns: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(columns, columns)))[0]


def release(seed: int, rows: int, columns: int, model: str, turned: bool) -> Densities:
    rng = np.random.default_rng(seed)
    axes = np.array([rotation(rng, columns) for _ in range(rows)]) if turned else None
    unit = rng.lognormal(size=columns)
    scale = rng.lognormal(-0.5, 0.7, (rows, columns)) * (1.0 if turned else unit)
    return Densities(model, rng.normal(size=(rows, columns)) * unit, scale, axes, unit)


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
@settings(max_examples=examples(25), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 150),
    columns=st.integers(1, 4),
    neighbours=st.integers(1, 12),
    turned=st.booleans(),
)
def test_classes_are_those_of_the_best_of_all_pairs(
    model: str, seed: int, rows: int, columns: int, neighbours: int, turned: bool
) -> None:
    held = release(seed, rows, columns, model, turned)
    rng = np.random.default_rng(seed + 1)
    labels = rng.integers(0, 3, rows)
    points = rng.normal(0.0, 1.5, (10, columns)) * held.unit
    predictions = classify(held, labels, points, neighbours, threads=2)
    assert predictions.probabilities.sum(axis=1) == pytest.approx(1.0)
    fits = log_density(held, points)
    for q, fit in enumerate(fits):
        away = (((points[q] - held.z) / held.unit) ** 2).sum(axis=1)
        best = np.lexsort((away, -fit))[:neighbours]
        if np.isfinite(fit.max()):
            weight = np.exp(fit[best] - logsumexp(fit[best]))
        else:
            weight = np.isclose(away[best], away.min()) * 1.0
            weight /= weight.sum()
        expected = np.bincount(labels[best], weight, minlength=labels.max() + 1)
        assert predictions.probabilities[q] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_densities_integrate_to_one(model: str, turned: bool) -> None:
    held = release(4, 6, 2, model, turned)
    side = np.linspace(-1.0, 1.0, 801) * (9.0 if model == "gaussian" else 0.8)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for i in range(6):
        axes = held.axes[i : i + 1] if held.axes is not None else None
        one = Densities(model, held.z[i : i + 1], held.scale[i : i + 1], axes, held.unit)
        x = held.z[i] + grid * one.reach
        mass = np.exp(log_density(one, x)).sum() * (side[1] - side[0]) ** 2 * one.reach.prod() / held.unit.prod()
        assert mass == pytest.approx(1.0, abs=0.05 if model == "uniform" else 1e-4)


def test_far_from_everything_the_probabilities_are_still_numbers() -> None:
    held = release(9, 40, 3, "gaussian", False)
    predictions = classify(held, np.arange(40) % 2, np.full((1, 3), 1e8), 5)
    assert np.isfinite(predictions.probabilities).all()
    assert predictions.probabilities.sum() == pytest.approx(1.0)


def test_a_point_mass_decides_where_it_covers_the_point_and_nowhere_else() -> None:
    held = Densities("gaussian", np.array([[0.0], [0.1], [0.2]]), np.array([[0.0], [1.0], [1.0]]), None, np.ones(1))
    predictions = classify(held, np.array([1, 0, 0]), np.array([[0.0], [1e-9]]), 3)
    assert predictions.label.tolist() == [1, 0]
    assert predictions.probabilities[0, 1] == pytest.approx(1.0)
    assert predictions.probabilities[1, 1] == 0.0


def test_where_no_cube_covers_the_point_the_nearest_centre_decides() -> None:
    held = Densities("uniform", np.array([[0.0], [10.0]]), np.array([[8.0], [1.0]]), None, np.ones(1))
    predictions = classify(held, np.array([0, 1]), np.array([[6.0], [3.9], [5.0]]), 2)
    assert predictions.label.tolist() == [1, 0, 0]
    assert predictions.probabilities[2].tolist() == [0.5, 0.5]  # as near to one as to the other


def test_normalisers_have_their_squares() -> None:
    held = Densities("gaussian", np.zeros((1, 3)), np.full((1, 3), 0.5), None, np.ones(3))
    assert log_normaliser(held)[0] == pytest.approx(-1.5 * np.log(2.0 * np.pi * 0.25))


@settings(max_examples=examples(20), deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(1, 200), neighbours=st.integers(1, 7))
def test_nearest_records_vote_once_each(seed: int, rows: int, neighbours: int) -> None:
    rng = np.random.default_rng(seed)
    z, unit = rng.normal(size=(rows, 3)), np.array([1.0, 5.0, 0.2])
    labels, points = rng.integers(0, 3, rows), rng.normal(size=(8, 3))
    predictions = classify_by_nearest(nearest_index(z, unit), labels, points, neighbours)
    for q in range(8):
        best = np.argsort((((z - points[q]) / unit) ** 2).sum(axis=1))[:neighbours]
        expected = np.bincount(labels[best], minlength=labels.max() + 1) / len(best)
        assert predictions.probabilities[q] == pytest.approx(expected)


def test_what_cannot_be_classified_is_refused() -> None:
    held = release(1, 5, 2, "gaussian", False)
    with pytest.raises(ValueError, match="at least 1"):
        classify(held, np.zeros(5, dtype=np.int64), np.zeros((1, 2)), 0)
    with pytest.raises(ValueError, match="class codes"):
        classify(held, np.zeros(4, dtype=np.int64), np.zeros((1, 2)), 1)
    with pytest.raises(ValueError, match="finite coordinates"):
        classify(held, np.zeros(5, dtype=np.int64), np.full((1, 2), np.nan), 1)
