"""The core of a release: the least sum of uncertainties and shift, against every subset of a small box table."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from surebox_core.influence import Influences, influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic, all_moments
from workers.algorithms.boxes.rare.parts import StatisticGroup
from workers.algorithms.boxes.rare.points import Judged
from workers.algorithms.boxes.rare.shifted import Core, core

STATISTICS = tuple(
    replace(one, weight=0.2)
    for one in (*all_moments(2), Statistic("standard_deviation", (0,)), Statistic("covariance", (0, 1)))
)


def table(seed: int, boxes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, counts and g of boxes, wide far out."""
    rng = np.random.default_rng(seed)
    points = rng.standard_t(2.5, (boxes, 2))
    counts = rng.integers(3, 9, boxes)
    return points, counts, rng.gamma(1.0, 1.0, boxes) + 0.6 * np.abs(points).sum(axis=1)


def values(points: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """What STATISTICS asks, by numpy."""
    means = counts @ points / counts.sum()
    covariance = (counts[:, None] * (points - means)).T @ (points - means) / counts.sum()
    rho = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    variances = np.diag(covariance)
    return np.array([*means, *variances, rho, np.sqrt(variances[0]), covariance[0, 1]])


def objective(
    kept: np.ndarray, points: np.ndarray, counts: np.ndarray, g: np.ndarray, omega: np.ndarray, statistical: float
) -> float:
    records = counts[kept].sum()
    shift = np.abs(values(points, counts) - values(points[kept], counts[kept]))
    return float((g * counts)[kept].sum() / records + statistical / np.sqrt(records) + omega @ shift)


def judged(points: np.ndarray, counts: np.ndarray, g: np.ndarray, statistics: tuple[Statistic, ...]) -> Judged:
    """Boxes that all have both columns, and whose records count alike."""
    at = moments(points, counts.astype(float))
    field = influences(statistics, at)
    there = np.ones(len(g), dtype=np.bool_)
    part = StatisticGroup(there, (0, 1), statistics, field.omega, field.owner, np.zeros(len(field.omega)), at)
    return Judged(points, counts.astype(float), counts, g, (part,))


def core_of(
    points: np.ndarray, counts: np.ndarray, g: np.ndarray, statistical: float, at_most: float = 0.9999
) -> tuple[Influences, Core]:
    at = moments(points, counts.astype(float))
    field = influences(STATISTICS, at)
    return field, core(judged(points, counts, g, STATISTICS), statistical=statistical, at_most=at_most)


def test_the_search_finds_the_least_of_all_subsets_nearly_always() -> None:
    missed, no_threshold = 0, 0
    for seed in range(40):
        points, counts, g = table(seed, 7)
        statistical = float(np.random.default_rng(seed).uniform(0.0, 4.0))
        field, made = core_of(points, counts, g, statistical)
        subsets = (np.array(s) for s in itertools.product([False, True], repeat=7) if sum(s) > 1)
        best = min(subsets, key=lambda s: objective(s, points, counts, g, field.omega, statistical))
        least = objective(best, points, counts, g, field.omega, statistical)
        own = objective(made.kept, points, counts, g, field.omega, statistical)
        assert made.objective == pytest.approx(own, rel=1e-9)
        assert own >= least * (1.0 - 1e-9)
        missed += own > least * (1.0 + 1e-9)
        no_threshold += g[best].max() > g[~best].min() if (~best).any() else 0
    assert missed <= 3
    assert no_threshold > 5, "with the shift the optimum is no threshold on g"


@pytest.mark.parametrize("at_most", [0.0, 0.05, 0.3])
def test_no_more_is_left_aside_than_allowed(at_most: float) -> None:
    points, counts, g = table(3, 300)
    _, made = core_of(points, counts, g, 0.5, at_most)
    assert counts[~made.kept].sum() <= at_most * counts.sum()
    assert made.kept.all() == (at_most == 0.0)
    assert made.objective <= made.of_all


def test_no_single_step_lowers_the_objective_of_a_large_table() -> None:
    points, counts, g = table(4, 120)
    field, made = core_of(points, counts, g, 1.0, 0.4)
    for b in range(120):
        other = made.kept.copy()
        other[b] = not other[b]
        if counts[~other].sum() > 0.4 * counts.sum():
            continue
        assert objective(other, points, counts, g, field.omega, 1.0) >= made.objective * (1.0 - 1e-9)


def test_the_order_of_boxes_does_not_matter() -> None:
    points, counts, g = table(5, 60)
    _, made = core_of(points, counts, g, 0.7, 0.3)
    order = np.random.default_rng(0).permutation(60)
    _, again = core_of(points[order], counts[order], g[order], 0.7, 0.3)
    np.testing.assert_array_equal(again.kept, made.kept[order])


def test_regressions_count_to_first_order() -> None:
    points, counts, g = table(6, 40)
    statistics = (Statistic("regression", (0, 1)),)
    made = core(judged(points, counts, g, statistics), statistical=0.1, at_most=0.5)
    assert 0 < (~made.kept).sum() < 30
    assert made.objective < made.of_all
