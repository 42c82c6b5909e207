import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.groups.swapping import METRIC, problem, slow_influence
from tests.drawing import examples
from workers.algorithms.groups.memetic import search as memetic
from workers.algorithms.groups.memetic.kernels import shaped
from workers.algorithms.groups.memetic.outcome import MemeticOutcome, populations_counts
from workers.algorithms.groups.memetic.state import MemeticRequest, MemeticState
from workers.algorithms.groups.swaps.assignment import cheapest, moves_made
from workers.algorithms.groups.swaps.effect import after, counts_after, met
from workers.algorithms.groups.swaps.metric import encode
from workers.algorithms.groups.swaps.problem import Problem, Swaps, build
from workers.algorithms.groups.swaps.restrictions import Restriction, UnreachableError

SMALL = MemeticRequest(population=12, pairs=5, tournament=3, generations=12, mutations=(0.05,) * 4, roaming=0.3)
LOWER, RAISE = Restriction(0, bound=2, zero=9), Restriction(2, bound=6, zero=0)
PROBLEMS = {
    "lowered": ([14, 9, 20, 11], [11, 2, 3, 1], [LOWER]),
    "two lowered": ([14, 9, 20, 15], [11, 2, 3, 9], [LOWER, Restriction(3, bound=4, zero=8)]),
    "raised": ([14, 9, 20, 11], [11, 2, 3, 1], [RAISE]),
    "lowered and raised": ([14, 9, 20, 11], [11, 2, 3, 1], [LOWER, RAISE]),
    "more raised than lowered": ([14, 9, 20, 11], [5, 2, 0, 1], [Restriction(0, 3, 9), Restriction(2, 5, 0)]),
    "hardly any partner": ([14, 3, 7, 4], [11, 1, 3, 1], [LOWER]),
}


def anything(_swaps: Swaps) -> bool:
    return True


def ended(given: Problem, request: MemeticRequest, seed: int = 0, **budget: int) -> MemeticState:
    state = memetic.init(given, request, np.random.default_rng(seed))
    before = 0.0
    while not memetic.done(state):
        state = memetic.step(state, **budget)
        stage, fraction = memetic.progress(state)
        assert stage in {"nearest_partners", "generations"}
        assert before <= fraction <= 1.0
        before = fraction
    assert before == pytest.approx(1.0)
    return state


def individuals(state: MemeticState) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    return [
        tuple(array[i, : run.rows[i]] for array in (run.source, run.partner, run.influence))  # type: ignore[misc]
        for run in state.runs
        for i in range(state.request.population)
    ]


def slow_shape(x: float, one: float, zero: float) -> float:
    """ZMF of equation 28 as printed, and its mirror image for a raised element."""
    if zero < one:
        return slow_shape(-x, -one, -zero)
    if x <= one:
        return 1.0
    if x >= zero:
        return 0.0
    if x <= (one + zero) / 2:
        return 1.0 - 2.0 * ((x - one) / (zero - one)) ** 2
    return 2.0 * ((x - zero) / (zero - one)) ** 2


def slow_fitness(given: Problem, s: np.ndarray, p: np.ndarray) -> float:
    cost = sum(slow_influence(given.source_values[a], given.partner_values[b]) for a, b in zip(s, p, strict=True))
    most = given.needed * given.metric.largest
    out = max(0.0, (most - cost) / most)
    for one in given.restrictions:
        q = given.crisp[one.element]
        q += sum(given.partner_code[b] == one.element for b in p) - sum(given.source_code[a] == one.element for a in s)
        out *= slow_shape(float(q), one.bound, one.zero)
    return out / (1.0 + math.exp((len(s) - given.needed - 10) / 2))


@given(st.integers(-3, 20), st.integers(0, 9), st.integers(1, 9), st.booleans())
@settings(max_examples=examples(80), deadline=None)
def test_shapes_are_those_printed(x: int, bound: int, width: int, raised: bool) -> None:
    zero = bound - width if raised else bound + width
    assert shaped(float(x), float(bound), float(zero)) == pytest.approx(slow_shape(float(x), bound, zero), abs=1e-15)


@given(st.integers(0, 10**6), st.sampled_from(sorted(PROBLEMS)), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
@settings(max_examples=examples(25), deadline=None)
def test_no_restriction_is_violated_in_any_generation(seed: int, name: str, roaming: float, wild: bool) -> None:
    given = problem(np.random.default_rng(seed), *PROBLEMS[name])
    request = replace(SMALL, generations=6, roaming=roaming, mutations=(0.9 if wild else 0.05,) * 4, runs=2)
    state = ended(given, request, seed)
    own = state.problem
    for s, p, d in individuals(state):
        assert len(s) == len(p) >= 1
        assert len(np.unique(s)) == len(s)  # so a source never occurs more often than it has members
        assert len(np.unique(p)) == len(p)
        pairs = zip(s, p, strict=True)
        np.testing.assert_allclose(
            d, [slow_influence(own.source_values[a], own.partner_values[b]) for a, b in pairs], atol=1e-12
        )
    fitness = np.concatenate([run.fitness[: request.population] for run in state.runs])
    wanted = [slow_fitness(own, s, p) for s, p, _ in individuals(state)]
    np.testing.assert_allclose(fitness, wanted, atol=1e-12)
    signals = populations_counts(own, state, state.runs[0])[:, 0]
    assert np.all(signals >= 0)
    assert np.all(signals.sum(axis=1) == given.crisp.sum())


def promised(given: Problem, outcome: MemeticOutcome) -> None:
    for one in outcome.runs:
        swaps = one.swaps
        rows = np.concatenate([swaps.source_row, swaps.partner_row])
        assert len(np.unique(rows)) == len(rows)
        assert np.isin(swaps.source_row, given.source_rows).all()
        assert np.isin(swaps.partner_row, given.partner_rows).all()
        assert met(given, counts_after(given, swaps))
        bound = cheapest(given, moves_made(given, swaps))
        assert bound.distortion <= swaps.distortion + 1e-9


@given(st.integers(0, 10**6), st.sampled_from(sorted(PROBLEMS)))
@settings(max_examples=examples(20), deadline=None)
def test_the_result_meets_every_bound_and_is_never_cheaper_than_the_assignment(seed: int, name: str) -> None:
    given = problem(np.random.default_rng(seed), *PROBLEMS[name])
    outcome = memetic.result(given, ended(given, replace(SMALL, runs=2), seed), anything)
    promised(given, outcome)
    assert outcome.best.swaps.distortion == min(one.swaps.distortion for one in outcome.runs)


def test_the_mean_distortion_of_valid_individuals_is_that_of_the_population_taken_one_by_one() -> None:
    given = problem(np.random.default_rng(6), *PROBLEMS["two lowered"])
    state = ended(given, SMALL, 4)
    outcome = memetic.result(given, state, lambda swaps: after(given, swaps)[0] <= 1)
    own, costs = state.problem, []
    for s, p, _ in individuals(state):
        if given.crisp[0] - sum(own.source_code[a] == 0 for a in s) <= 1:
            pairs = zip(s, p, strict=True)
            costs.append(sum(slow_influence(own.source_values[a], own.partner_values[b]) for a, b in pairs))
    assert 0 < len(costs) < SMALL.population
    assert outcome.runs[0].valid_distortion == pytest.approx(np.mean(costs))
    assert memetic.result(given, state, lambda _: False).runs[0].valid_distortion is None


@pytest.mark.parametrize("name", sorted(PROBLEMS))
def test_without_a_good_individual_the_fittest_is_completed(name: str) -> None:
    given = problem(np.random.default_rng(3), *PROBLEMS[name])
    state = ended(given, replace(SMALL, generations=0, population=2, pairs=1))
    outcome = memetic.result(given, state, lambda _: False)
    promised(given, outcome)
    assert not outcome.best.valid
    assert outcome.best.valid_share == 0.0
    again = [slow_fitness(given, *indexes(given, one.swaps)) for one in outcome.runs]
    assert [one.fitness for one in outcome.runs] == pytest.approx(again, abs=1e-12)


def indexes(given: Problem, swaps: Swaps) -> tuple[np.ndarray, np.ndarray]:
    ours = {int(row): i for i, row in enumerate(given.source_rows)}
    theirs = {int(row): i for i, row in enumerate(given.partner_rows)}
    return np.array([ours[int(r)] for r in swaps.source_row]), np.array([theirs[int(r)] for r in swaps.partner_row])


def test_what_a_judge_refuses_is_not_reported_as_valid() -> None:
    given = problem(np.random.default_rng(5), *PROBLEMS["lowered"])
    state = ended(given, replace(SMALL, generations=30))
    signals = populations_counts(state.problem, state, state.runs[0])[:, 0]
    cap = int(np.median(signals[:, 1]))

    def judge(swaps: Swaps) -> bool:
        return bool(after(given, swaps)[1] <= cap)

    best = memetic.result(given, state, judge).best
    assert best.valid_share == pytest.approx(np.mean(signals[:, 1] <= cap))
    assert best.valid_share > 0.0
    assert best.valid == judge(best.swaps)
    good = [
        float(d.sum())
        for (s, p, d), signal in zip(individuals(state), signals, strict=True)
        if signal[1] <= cap and met(given, signal[None])
    ]
    if good:
        assert best.added_swaps == 0
        assert best.swaps.distortion == pytest.approx(min(good))


def moderate(seed: int) -> Problem:
    """Records of which hardly two are alike, so that no swap is free."""
    rng = np.random.default_rng(seed)
    parameter = rng.permutation(np.repeat(np.arange(5), [70, 120, 150, 90, 160]))
    member = (parameter == 0) | (rng.random(len(parameter)) < 0.02)
    values = encode(METRIC, rng.lognormal(0.0, 2.0, (len(parameter), 2)), rng.integers(0, 12, (len(parameter), 2)))
    return build(parameter, 5, member, values, METRIC, [Restriction(0, bound=5, zero=15)])


def test_it_comes_within_a_tenth_of_the_cheapest_swaps_which_the_papers_letter_does_not() -> None:
    given = moderate(0)
    ratios = []
    for roaming in (0.3, 0.0):
        best = memetic.result(given, ended(given, MemeticRequest(generations=200, roaming=roaming)), anything).best
        ratios.append(best.swaps.distortion / cheapest(given, moves_made(given, best.swaps)).distortion)
        assert best.valid_share == 1.0
    assert 1.0 - 1e-9 <= ratios[0] < 1.1 < ratios[1]


def test_history_never_gets_worse_and_is_that_of_each_generation() -> None:
    given = problem(np.random.default_rng(1), *PROBLEMS["two lowered"])
    state = ended(given, SMALL)
    assert state.history.shape == (1, SMALL.generations + 1, 3)
    assert np.all(np.diff(state.history[0, :, 0]) >= 0.0)
    assert np.all(state.history[0, :, 0] >= state.history[0, :, 1])
    last = state.runs[0].fitness[: SMALL.population]
    assert state.history[0, -1] == pytest.approx([last.max(), last.mean(), last.std()])


def test_runs_depend_neither_on_threads_nor_on_each_other() -> None:
    given = problem(np.random.default_rng(2), *PROBLEMS["lowered"])
    alone, together = ended(given, replace(SMALL, runs=3)), ended(given, replace(SMALL, runs=3, threads=3))
    for one, other in zip(alone.runs, together.runs, strict=True):
        np.testing.assert_array_equal(one.source[:12], other.source[:12])
        np.testing.assert_array_equal(one.stream, other.stream)
    assert len({run.stream.tobytes() for run in alone.runs}) == 3
    np.testing.assert_array_equal(ended(given, replace(SMALL, runs=1)).history[0], alone.history[0])


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_a_search_resumes_bit_by_bit(steps: int) -> None:
    given = problem(np.random.default_rng(4), *PROBLEMS["lowered and raised"])
    request = replace(SMALL, runs=2)
    state = memetic.init(given, request, np.random.default_rng(8))
    for _ in range(steps):
        state = memetic.step(state, searched=1)  # one generation
    packed = {name: array.copy() for name, array in memetic.pack(state).items()}
    resumed = memetic.unpack(given, request, packed)
    while not memetic.done(state):
        state = memetic.step(state)
    while not memetic.done(resumed):
        resumed = memetic.step(resumed)
    for name, array in memetic.pack(state).items():
        np.testing.assert_array_equal(array, memetic.pack(resumed)[name])
    one, other = memetic.result(given, state, anything), memetic.result(given, resumed, anything)
    np.testing.assert_array_equal(one.best.swaps.source_row, other.best.swaps.source_row)
    with pytest.raises(ValueError, match="another problem"):
        memetic.unpack(given, replace(request, runs=1), packed)


def test_lists_are_made_in_steps_and_of_any_length() -> None:
    given = problem(np.random.default_rng(6), *PROBLEMS["lowered"])
    whole = ended(given, SMALL)
    stepwise = ended(given, SMALL, compared=1)
    np.testing.assert_array_equal(whole.runs[0].source, stepwise.runs[0].source)
    assert whole.board.nearby.near.shape[2] > 1


def test_linear_scaling_keeps_the_mean_and_doubles_the_best() -> None:
    fitness = np.array([0.5, 0.4, 0.3, 0.35, 0.45])
    scaled = memetic.linear_scaling(fitness)
    assert scaled.mean() == pytest.approx(fitness.mean())
    assert scaled.max() == pytest.approx(2 * fitness.mean())
    assert np.array_equal(np.argsort(scaled), np.argsort(fitness))
    low = np.array([0.0, 0.9, 0.9, 0.9])
    assert memetic.linear_scaling(low).min() == pytest.approx(0.0)
    np.testing.assert_array_equal(memetic.linear_scaling(np.full(3, 0.2)), np.full(3, 0.2))


def test_mutation_is_boosted_once_fitness_is_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    rates: list[tuple[float, list[float]]] = []
    fill = memetic.fill

    def watched(board, stream, scaled, odds, places, stamps):  # type: ignore[no-untyped-def]
        if len(scaled) > 0:
            rates.append((float(places.fitness[:12].std()), odds.mutation.tolist()))
        fill(board, stream, scaled, odds, places, stamps)

    monkeypatch.setattr(memetic, "fill", watched)
    own = (0.01, 0.02, 0.05, 0.2)
    ended(problem(np.random.default_rng(1), *PROBLEMS["lowered"]), replace(SMALL, mutations=own))
    for spread, rate in rates:
        assert rate == pytest.approx([min(1.0, 10 * one) for one in own] if spread < 0.03 else own)
    assert len({tuple(rate) for _, rate in rates}) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"population": 1},
        {"pairs": 0},
        {"tournament": 0},
        {"generations": -1},
        {"runs": 0},
        {"mutations": (0.1, 1.5, 0.0, 0.0)},
        {"crossover": -0.1},
    ],
)
def test_parameters_out_of_range_are_refused(change: dict[str, float]) -> None:
    given = problem(np.random.default_rng(0), *PROBLEMS["lowered"])
    with pytest.raises(ValueError, match="must"):
        memetic.init(given, replace(SMALL, **change), np.random.default_rng(0))  # type: ignore[arg-type]


def test_an_unfinished_search_has_no_result_and_an_unreachable_target_is_said_before() -> None:
    given = problem(np.random.default_rng(0), *PROBLEMS["lowered"])
    with pytest.raises(ValueError, match="not done"):
        memetic.result(given, memetic.init(given, SMALL, np.random.default_rng(0)), anything)
    with pytest.raises(UnreachableError, match="9 requested, 4 is as far"):
        problem(np.random.default_rng(0), [14, 5], [11, 1], [LOWER])
