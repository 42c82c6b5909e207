"""Swaps under nested bounds: the sets, the cheapest choice beside trying all of them, and the search."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.groups.swapping import METRIC, records, slow_influence
from tests.drawing import examples
from workers.algorithms.groups.memetic import search as memetic
from workers.algorithms.groups.memetic.outcome import populations_counts
from workers.algorithms.groups.memetic.state import MemeticRequest
from workers.algorithms.groups.swaps.assignment import cheapest, moves_made, moves_needed
from workers.algorithms.groups.swaps.effect import counts_after, loosened, met
from workers.algorithms.groups.swaps.levels import Levels, bands, least_leaving, level_counts
from workers.algorithms.groups.swaps.problem import Problem, build, paired
from workers.algorithms.groups.swaps.restrictions import Restriction, UnreachableError

ALPHAS = np.array([0.8, 0.5, 0.2])


def nested(
    rng: np.random.Generator,
    sizes: list[int],
    fits: list[list[float]],
    bounds: list[list[int]],
    floors: list[list[int]] | None = None,
) -> Problem:
    """Records with the grades `fits` first in each submicrofile, the rest with none; the members are those of 0.5."""
    parameter, values = records(rng, sizes)
    grades = np.zeros(len(parameter))
    for code, some in enumerate(fits):
        grades[np.flatnonzero(parameter == code)[: len(some)]] = some
    band = bands(grades, ALPHAS)
    limits = np.array(bounds)
    restrictions = [Restriction(e, int(limits[1, e]), int(limits[1, e]) + 9) for e in np.flatnonzero(limits[1] >= 0)]
    levels = Levels(band, limits, np.zeros_like(limits) if floors is None else np.array(floors), at=1)
    return build(parameter, len(sizes), band <= 1, values, METRIC, restrictions, levels=levels)


def by_trying(problem: Problem) -> float:
    """Least distortion over all sets of records whose leaving meets every bound, and all orders of partners."""
    best = np.inf
    sources = range(len(problem.source_rows))
    for quantity in range(1, len(sources) + 1):
        for ours in itertools.combinations(sources, quantity):
            stay = problem.counts.copy()
            for one in ours:
                stay[problem.source_band[one] :, problem.source_code[one]] -= 1
            if np.any((problem.bounds >= 0) & (stay > problem.bounds)) or np.any(stay < problem.floors):
                continue
            for theirs in itertools.permutations(range(len(problem.partner_rows)), quantity):
                pairs = zip(ours, theirs, strict=True)
                cost = sum(slow_influence(problem.source_values[s], problem.partner_values[p]) for s, p in pairs)
                best = min(best, cost)
    return best


def test_sets_are_nested_and_a_grade_on_a_border_belongs_to_the_smaller() -> None:
    grades = np.array([1.0, 0.8, 0.79, 0.5, 0.2, 0.19, 0.0])
    band = bands(grades, ALPHAS)
    assert band.tolist() == [0, 0, 1, 1, 2, 3, 3]
    code = np.array([0, 1, 0, 0, 1, 1, 0])
    counts = level_counts(code, band, 3, 2)
    assert counts.tolist() == [[np.sum(grades[code == p] >= a) for p in (0, 1)] for a in ALPHAS]
    with pytest.raises(ValueError, match="fall"):
        bands(grades, ALPHAS[::-1])


def test_who_leaves_a_smaller_set_leaves_the_larger_ones() -> None:
    counts = np.array([[5, 1], [6, 2], [6, 9]])
    bounds = np.array([[2, -1], [5, 1], [5, 4]])
    assert least_leaving(counts, bounds).tolist() == [[3, 0], [3, 1], [3, 5]]


CASES = [
    ([4, 4], [[0.9, 0.6, 0.3], [0.6]], [[-1, -1], [1, -1], [1, -1]]),
    ([4, 4], [[0.9, 0.6, 0.3, 0.3], []], [[0, -1], [1, -1], [2, -1]]),
    ([4, 3, 4], [[0.9, 0.9, 0.3], [0.6, 0.3], []], [[1, -1, -1], [2, 0, -1], [2, 0, -1]]),
    ([3, 3, 4], [[0.6, 0.6, 0.3], [0.9, 0.3], [0.3]], [[-1, 0, -1], [1, 1, -1], [2, 1, -1]]),
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("sizes", "fits", "bounds"), CASES)
def test_it_is_as_cheap_as_the_cheapest_of_all_ways(
    seed: int, sizes: list[int], fits: list[list[float]], bounds: list[list[int]]
) -> None:
    problem = nested(np.random.default_rng(seed), sizes, fits, bounds)
    swaps = cheapest(problem, moves_needed(problem))
    assert met(problem, counts_after(problem, swaps))
    assert len(swaps.source) == problem.needed
    assert swaps.distortion == pytest.approx(by_trying(problem), abs=1e-12)
    rows = np.concatenate([swaps.source_row, swaps.partner_row])
    assert len(np.unique(rows)) == len(rows)


FLOORS = [
    ([4, 4], [[0.9, 0.9, 0.3, 0.3], []], [[2, -1], [2, -1], [2, -1]], [[1, 0], [1, 0], [1, 0]]),
    (
        [4, 3, 4],
        [[0.9, 0.9, 0.3], [0.6, 0.3], []],
        [[2, -1, -1], [2, 1, -1], [2, 1, -1]],
        [[2, 0, 0], [2, 1, 0], [2, 1, 0]],
    ),
]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("sizes", "fits", "bounds", "floors"), FLOORS)
def test_small_sets_are_not_emptied_for_the_sake_of_large_ones(
    seed: int, sizes: list[int], fits: list[list[float]], bounds: list[list[int]], floors: list[list[int]]
) -> None:
    problem = nested(np.random.default_rng(seed), sizes, fits, bounds, floors)
    swaps = cheapest(problem, moves_needed(problem))
    stay = counts_after(problem, swaps)
    assert met(problem, stay)
    assert np.all(stay >= problem.floors)
    assert swaps.distortion == pytest.approx(by_trying(problem), abs=1e-12)


def test_a_bound_goes_before_a_floor() -> None:
    problem = nested(np.random.default_rng(0), [4, 4], [[0.9, 0.9], []], [[0, -1], [0, -1], [0, -1]], [[2, 0]] * 3)
    assert met(problem, counts_after(problem, cheapest(problem, moves_needed(problem))))


@pytest.mark.parametrize("seed", range(3))
def test_what_was_found_below_a_floor_is_bounded_too(seed: int) -> None:
    """All three leave, where two small ones should have kept one: no flow moves three under that floor."""
    problem = nested(
        np.random.default_rng(seed), [3, 4], [[0.9, 0.9, 0.3]], [[-1, -1], [1, -1], [-1, -1]], [[1, 0], [1, 0], [1, 0]]
    )
    swaps = paired(problem, np.arange(3), np.arange(3))
    with pytest.raises(UnreachableError):
        cheapest(problem, moves_made(problem, swaps))
    cost = [[slow_influence(x, y) for y in problem.partner_values] for x in problem.source_values]
    expected = min(sum(cost[i][j] for i, j in enumerate(order)) for order in itertools.permutations(range(4), 3))
    bound = cheapest(loosened(problem, swaps), moves_made(problem, swaps))
    assert bound.distortion == pytest.approx(expected, abs=1e-12)
    kept = loosened(problem, cheapest(problem, moves_needed(problem)))
    assert kept.floors.tolist() == problem.floors.tolist(), "what is met stays"
    assert kept.bounds.tolist() == problem.bounds.tolist()


def larger(seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    fits = [rng.choice([0.9, 0.6, 0.3], 40).tolist(), rng.choice([0.9, 0.6, 0.3], 25).tolist(), [0.9, 0.6, 0.3]]
    bounds = [[3, 2, -1, -1], [6, 3, -1, -1], [9, 9, -1, -1]]
    return nested(rng, [70, 60, 90, 80], fits, bounds)


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_a_linear_programme_over_all_pairs(seed: int) -> None:
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    problem = larger(seed)
    cost = np.array([[slow_influence(x, y) for y in problem.partner_values] for x in problem.source_values])
    lefts, rights = cost.shape
    pair = np.arange(cost.size)
    left, right = np.divmod(pair, rights)
    rows = [coo_array((np.ones(cost.size), (side, pair)), shape=(count, cost.size)) for side, count in
            ((left, lefts), (right, rights))]  # fmt: skip
    limits = [np.ones(lefts + rights)]
    for k, e in zip(*np.nonzero(problem.bounds >= 0), strict=True):
        inside = (problem.source_code[left] == e) & (problem.source_band[left] <= k)
        rows.append(coo_array(-inside[None].astype(float)))
        limits.append(np.array([min(0, problem.bounds[k, e] - problem.counts[k, e])]))
    expected = linprog(cost.ravel(), vstack(rows), np.concatenate(limits), bounds=(0, 1), method="highs").fun
    swaps = cheapest(problem, moves_needed(problem))
    assert met(problem, counts_after(problem, swaps))
    assert swaps.distortion == pytest.approx(expected, abs=1e-7)


def test_moving_too_few_for_a_nested_bound_is_refused() -> None:
    problem = larger(0)
    with pytest.raises(UnreachableError):
        cheapest(problem, np.array([1, 1, 0, 0]))


@given(st.integers(0, 10**6))
@settings(max_examples=examples(8), deadline=None)
def test_the_search_meets_every_nested_bound_and_is_never_cheaper_than_the_assignment(seed: int) -> None:
    problem = larger(seed)
    request = MemeticRequest(population=12, pairs=5, tournament=3, generations=12)
    state = memetic.init(problem, request, np.random.default_rng(seed))
    while not memetic.done(state):
        state = memetic.step(state)
    best = memetic.result(problem, state, lambda _: True).best
    assert met(problem, counts_after(problem, best.swaps))
    bound = cheapest(problem, moves_made(problem, best.swaps))
    assert bound.distortion <= best.swaps.distortion + 1e-9
    counts = populations_counts(state.problem, state, state.runs[0])
    assert np.all(np.diff(counts, axis=1) >= 0)
    assert np.all(counts.sum(axis=2) == problem.counts.sum(axis=1))


def test_fitness_over_several_sets_is_the_mean_of_what_each_alone_would_give() -> None:
    problem = larger(1)
    state = memetic.init(problem, MemeticRequest(population=4, pairs=1, generations=0), np.random.default_rng(1))
    while not memetic.done(state):
        state = memetic.step(state)
    run, own = state.runs[0], state.problem
    for i in range(4):
        s = run.source[i, : run.rows[i]]
        stay = own.counts - level_counts(own.source_code[s], own.source_band[s], 3, 4)
        shares = []
        for k, e in zip(*np.nonzero(own.bounds >= 0), strict=True):
            one, zero = (
                own.bounds[k, e],
                max(own.bounds[k, e] + (9 if k == 1 else 10), own.counts[k, e] if k != 1 else 0),
            )
            u = (stay[k, e] - one) / (zero - one)
            shares.append(1 if u <= 0 else 1 - 2 * u * u if u <= 0.5 else 2 * (1 - u) ** 2 if u < 1 else 0)
        most = own.needed * own.metric.largest
        cost = run.influence[i, : run.rows[i]].sum()
        fitness = (1 - cost / most) * np.prod(shares) ** (1 / 3) / (1 + np.exp((len(s) - own.needed - 10) / 2))
        assert run.fitness[i] == pytest.approx(max(0.0, fitness), abs=1e-12)
