"""Both evolutions: what they promise whatever they draw, and that they find what is there."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.groups import rules_oracle as oracle
from tests.algorithms.groups.searches import SMALL, acs, evolve, fuzzy, planted, walk_through
from tests.drawing import examples, seeds
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.evolution import diverse as evolution_diverse
from workers.algorithms.groups.evolution import paper as evolution_paper
from workers.algorithms.groups.evolution import search as evolution
from workers.algorithms.groups.evolution.diverse import below
from workers.algorithms.groups.evolution.request import EvolutionRequest
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.generality import SearchOutcome, kept_by, merge

__all__ = ["acs"]  # a fixture
BOTH = pytest.mark.parametrize("diversity", [True, False])


def rng() -> np.random.Generator:
    return np.random.default_rng(77)


def same(one: SearchOutcome, other: SearchOutcome) -> bool:
    return (
        np.array_equal(one.rules, other.rules)
        and np.array_equal(one.metrics.inside, other.metrics.inside)
        and np.array_equal(one.metrics.outside, other.metrics.outside)
        and (one.evaluations, one.over_thresholds) == (other.evaluations, other.over_thresholds)
    )


@BOTH
def test_threads_steps_and_parts_do_not_change_the_outcome(diversity: bool) -> None:
    data, vital = fuzzy()
    request = replace(SMALL, diversity=diversity)
    whole = evolve(evolution.init(data, vital, request, rng()))
    assert len(whole.rules) > 5
    assert same(whole, evolve(evolution.init(data, vital, request, rng(), threads=2)))
    parts = [evolution.init(data, vital, request, rng(), runs=runs) for runs in ([2, 0], [1])]
    for at, part in enumerate(parts):
        while not evolution.done(parts[at]):
            parts[at] = evolution.step(parts[at])
        assert evolution.done(parts[at]) and not evolution.done(part)  # noqa: PT018
    assert same(whole, merge([kept_by(part) for part in parts]))
    assert same(whole, evolve(evolution.init(data, vital, request, rng()), costs=1.0))


@BOTH
def test_an_interrupted_search_goes_on_to_the_same_end(diversity: bool) -> None:
    data, vital = fuzzy()
    request = replace(SMALL, diversity=diversity)
    whole = evolve(evolution.init(data, vital, request, rng()))
    state = evolution.init(data, vital, request, rng())
    interrupted = []
    while not evolution.done(state):
        if isinstance(state, evolution.Evolving) and state.answered > 0:
            generation = state.runs[0].generation
            if generation % 3 == 0 and generation not in interrupted:
                interrupted.append(generation)
                arrays = {name: array.copy() for name, array in evolution.pack(state).items()}
                assert all(array.dtype != object for array in arrays.values())
                state = evolution.unpack(data, vital, request, arrays)
        state = evolution.step(state, costs=2e4)  # so that generations take several steps
    assert len(interrupted) >= 3
    assert same(whole, evolution.result(state))
    with pytest.raises(ValueError, match="finished search"):
        evolution.pack(state)


@BOTH
def test_seeds_make_a_difference_and_runs_differ(diversity: bool) -> None:
    data, vital = fuzzy()
    request = replace(SMALL, diversity=diversity)
    archives = []
    for seed in (1, 2):
        state = evolution.init(data, vital, request, np.random.default_rng(seed))
        while not (isinstance(state, evolution.Evolving) and state.runs[0].generation == 2):
            state = evolution.step(state)
        archives += [set(oracle.as_tuples(run.archive.rules)) for run in state.runs]
    assert len({frozenset(archive) for archive in archives}) == 6


@BOTH
@settings(deadline=None, max_examples=examples(15))
@given(case=oracle.cases(), seed=st.integers(0, 99))
def test_all_that_is_kept_is_over_the_thresholds_record_by_record(
    diversity: bool, case: oracle.Case, seed: int
) -> None:
    request = EvolutionRequest(
        population=6,
        replaced=5,
        generations=4,
        runs=2,
        tournament=3,
        diversity=diversity,
        min_membership=case.alpha,
        min_support=0.01,
    )
    state = evolution.init(case.data(), case.flags(), request, np.random.default_rng(seed))
    while not evolution.done(state):
        state = evolution.step(state)
    kept = kept_by(state)
    for at, rule in enumerate(oracle.as_tuples(kept.rules)):
        assert case.over(rule, request.min_relative_confidence, request.min_support, 1e-9)
        expected = case.measures(rule, 1.0)
        assert kept.metrics.inside[at] == pytest.approx(expected["inside"], rel=1e-9)
        assert kept.metrics.fitness[at] == pytest.approx(expected["fitness"], rel=1e-7, abs=1e-12)
    outcome = evolution.result(state)
    assert set(oracle.as_tuples(outcome.rules)) == oracle.most_general(oracle.as_tuples(kept.rules))
    assert outcome.evaluations <= request.evaluations == 2 * (6 + 5 * 4)
    assert diversity or outcome.evaluations == request.evaluations


@BOTH
def test_the_planted_group_is_found(diversity: bool) -> None:
    data, vital = planted()
    request = replace(SMALL, min_relative_confidence=2.0, min_support=0.1, diversity=diversity, generations=30)
    outcome = evolve(evolution.init(data, vital, request, rng()))
    assert oracle.as_tuples(outcome.rules) == [(1, 2, 3, 0, 0)]


def test_with_diversity_all_of_a_small_space_is_found() -> None:
    data, vital = fuzzy()
    request = replace(SMALL, generations=60)
    outcome = evolve(evolution.init(data, vital, request, rng()))
    exhaustive = enumeration.EnumerationRequest(
        min_relative_confidence=request.min_relative_confidence, min_support=request.min_support
    )
    every = walk_through(enumeration.init(data, vital, exhaustive))
    assert set(oracle.as_tuples(outcome.rules)) == set(oracle.as_tuples(every.rules))
    assert outcome.evaluations <= request.evaluations < every.evaluations


def test_with_diversity_no_rule_is_judged_whose_fate_was_known() -> None:
    data, vital = fuzzy()
    request = replace(SMALL, runs=1)
    state = evolution.init(data, vital, request, rng())
    judged: dict[oracle.Rule, tuple[bool, int]] = {}
    while not evolution.done(state):
        before = state
        state = evolution.step(state)
        if not isinstance(before, evolution.Evolving) or not isinstance(state, evolution.Evolving):
            continue
        (run,) = state.runs
        patterns = state.patterns
        new = run.archive.rules[len(judged) :]
        for rule in oracle.as_tuples(new):
            assert rule not in judged
            assert not any(decided and oracle.more_general(other, rule) for other, (decided, _) in judged.items())
        measures = evolution.racing.metrics(run.archive.sums, records=patterns.records, vital=patterns.vital, guard=1.0)
        decided = measures.over(request.min_relative_confidence, request.min_support) | (
            measures.support <= request.min_support
        )
        places = range(len(judged), len(judged) + len(new))
        judged.update((rule, (bool(decided[at]), at)) for at, rule in zip(places, oracle.as_tuples(new), strict=True))
    assert len(judged) > 100


def test_with_diversity_a_space_of_one_rule_is_soon_exhausted() -> None:
    data, vital = planted(variables=3)
    one = Fuzzified(data.variables[:1])
    outcome = evolve(evolution.init(one, vital, replace(SMALL, min_relative_confidence=0.01), rng()))
    assert outcome.evaluations == 3 * 3  # three rules, in each of three runs
    assert oracle.as_tuples(outcome.rules) == [(1,)]


def test_a_generation_of_the_paper_replaces_the_worst() -> None:
    data, vital = fuzzy()
    request = replace(SMALL, diversity=False, runs=1)
    state = evolution.init(data, vital, request, rng())
    seen = 0
    while not evolution.done(state):
        before = state
        state = evolution.step(state)
        if not isinstance(before, evolution.Evolving) or not isinstance(state, evolution.Evolving):
            continue
        (old,), (new,) = before.runs, state.runs
        if old.generation == 0:
            continue
        seen += 1
        assert new.generation == old.generation + 1
        assert len(new.population) == len(new.fitness) == 30
        assert sorted(new.fitness[:20]) == sorted(old.fitness)[10:]
        assert new.fitness.max() >= old.fitness.max()
    assert seen == request.generations - 1


TERMS = np.array([1, 3, 7])


def test_the_initial_population_is_uniform() -> None:
    drawn = evolution_paper.random_rules(40_000, TERMS, rng())
    for variable, terms in enumerate(TERMS):
        shares = np.bincount(drawn[:, variable], minlength=terms + 1) / 40_000
        assert shares == pytest.approx(1 / (terms + 1), abs=0.012)  # five standard deviations


def test_a_tournament_is_won_by_the_best_of_its_size() -> None:
    won = evolution_paper.tournament(np.arange(10.0), 40_000, 3, rng())
    shares = np.bincount(won, minlength=10) / 40_000
    assert shares == pytest.approx([((rank + 1) ** 3 - rank**3) / 1000 for rank in range(10)], abs=0.012)


def test_crossover_exchanges_half_of_the_terms_and_mutation_resets_its_share() -> None:
    ones, twos = np.full((20_000, 3), 1, dtype=np.int8), np.full((20_000, 3), 2, dtype=np.int8)
    left, right = evolution_paper.crossed(ones, twos, 1.0, rng())
    assert ((left + right) == 3).all()
    assert (left == 2).mean(axis=0) == pytest.approx(0.5, abs=0.02)
    left, _ = evolution_paper.crossed(ones, twos, 0.3, rng())
    assert (left != 1).any(axis=1).mean() == pytest.approx(0.3 * 7 / 8, abs=0.02)
    assert np.array_equal(evolution_paper.crossed(ones, twos, 0.0, rng())[0], ones)
    changed = evolution_paper.reset(ones, TERMS, 0.2, rng()) != ones
    assert changed.mean(axis=0) == pytest.approx(0.2 * TERMS / (TERMS + 1), abs=0.02)


@settings(deadline=None, max_examples=examples(50))
@given(seed=st.integers(0, 999), terms=st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_masks_tell_which_rule_is_more_general(seed: int, terms: list[int]) -> None:
    numbers = np.array(terms)
    drawn = np.random.default_rng(seed)
    rules = evolution_paper.random_rules(12, np.minimum(numbers, 2), drawn)
    rules[:, 0] = np.where(rules[:, 0] > 0, numbers[0] - rules[:, 0] % numbers[0], 0)
    first = np.cumsum(numbers) - numbers
    masks = evolution_diverse.masks(rules, first, -(-int(numbers.sum()) // 64))
    for at, rule in enumerate(oracle.as_tuples(rules)):
        for other_at, other in enumerate(oracle.as_tuples(rules)):
            expected = rule == other or oracle.more_general(other, rule)
            assert evolution_diverse.below(masks[at : at + 1], masks[other_at : other_at + 1])[0] == expected


def test_requests_that_cannot_be_met_are_refused() -> None:
    data, vital = planted()
    for wrong in (
        {"population": 1}, {"replaced": 0}, {"replaced": 31}, {"tournament": 0}, {"runs": 0}, {"generations": -1},
        {"crossover": 1.1}, {"mutation": -0.1}, {"min_membership": 2.0}, {"min_relative_confidence": -1.0},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"must|probabilities"):
            evolution.init(data, vital, replace(SMALL, **wrong), rng())
    for runs in ([], [3], [-1]):
        with pytest.raises(ValueError, match="runs must"):
            evolution.init(data, vital, SMALL, rng(), runs=runs)
    with pytest.raises(ValueError, match="not finished"):
        evolution.result(evolution.init(data, vital, SMALL, rng()))


def test_on_the_reference_data_diversity_finds_most_of_the_most_general_rules(
    acs: tuple[Fuzzified, np.ndarray],
) -> None:
    every = set(oracle.as_tuples(walk_through(enumeration.init(*acs, enumeration.EnumerationRequest())).rules))
    outcome = evolve(evolution.init(*acs, EvolutionRequest(runs=3), rng()))
    assert outcome.evaluations <= 3 * 4100  # of the 41,000 that ten runs may spend
    assert len(set(oracle.as_tuples(outcome.rules)) & every) >= 100


@pytest.mark.parametrize("seed", seeds(6))
def test_rules_are_compared_a_part_at_a_time(seed: int) -> None:
    """Those of a large population with all that are known: together they were gigabytes."""
    rng = np.random.default_rng(seed)
    rules = rng.integers(0, 2**10, (6_000, 2), dtype=np.uint64) | rng.integers(0, 2**10, (6_000, 2), dtype=np.uint64)
    general = rng.integers(0, 2**10, (3_000, 2), dtype=np.uint64) & rng.integers(0, 2**10, (3_000, 2), dtype=np.uint64)
    some = rng.permutation(6_000)[:40]
    tracemalloc.start()
    try:
        covered = below(rules, general)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    for place in some:
        terms = [int(word) for word in rules[place]]
        by_hand = any(all(mine & theirs == theirs for mine, theirs in zip(terms, one, strict=True))
                      for one in general.tolist())  # fmt: skip
        assert covered[place] == by_hand
    assert peak < 60e6
