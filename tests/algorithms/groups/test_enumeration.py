"""The exhaustive search against all rules tried one by one, and against figures found by another program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.groups import rules_oracle as oracle
from tests.algorithms.groups.searches import acs, fuzzy, planted, walk_through
from tests.drawing import examples
from workers.algorithms.groups.enumeration import search as enumeration
from workers.algorithms.groups.enumeration.search import EnumerationRequest, NotFeasibleError
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.generality import GeneralityFinished, SearchOutcome
from workers.algorithms.groups.rules.membership import grades

__all__ = ["acs"]  # a fixture


def same(one: SearchOutcome, other: SearchOutcome) -> bool:
    return (
        np.array_equal(one.rules, other.rules)
        and np.array_equal(one.metrics.fitness, other.metrics.fitness)
        and (one.evaluations, one.over_thresholds) == (other.evaluations, other.over_thresholds)
    )


@settings(deadline=None, max_examples=examples(60))
@given(
    case=oracle.cases(),
    gamma=st.sampled_from([0.0, 0.3217, 0.7512, 2.013]),
    kappa=st.sampled_from([0.0, 0.0513, 0.2217]),
)
def test_every_rule_over_the_thresholds_is_found_and_no_other(case: oracle.Case, gamma: float, kappa: float) -> None:
    state = enumeration.init(case.data(), case.flags(), EnumerationRequest(case.alpha, gamma, kappa))
    while not isinstance(state, GeneralityFinished):
        state = enumeration.step(state)
    kept = set(oracle.as_tuples(state.kept.rules))
    rules = list(case.rules())
    assert {rule for rule in rules if case.over(rule, gamma, kappa, -1e-9)} <= kept
    assert kept <= {rule for rule in rules if case.over(rule, gamma, kappa, 1e-9)}
    outcome = enumeration.result(state)
    assert set(oracle.as_tuples(outcome.rules)) == oracle.most_general(list(kept))
    assert outcome.over_thresholds == len(kept)


def test_threads_do_not_change_the_outcome() -> None:
    data, vital = fuzzy()
    one = walk_through(enumeration.init(data, vital, EnumerationRequest(min_relative_confidence=0.4)))
    assert len(one.rules) > 5
    assert same(
        one, walk_through(enumeration.init(data, vital, EnumerationRequest(min_relative_confidence=0.4), threads=2))
    )


def test_an_interrupted_search_goes_on() -> None:
    data, vital = fuzzy()
    request = EnumerationRequest(min_relative_confidence=0.4)
    whole = walk_through(enumeration.init(data, vital, request))
    state = enumeration.init(data, vital, request)
    finished = []
    while not enumeration.done(state):
        arrays = enumeration.pack(state)
        finished.append(len(arrays["tasks"]))
        assert same(whole, walk_through(enumeration.unpack(data, vital, request, arrays)))
        for _ in range(6):
            state = enumeration.step(state, slots=4_000)
    assert same(whole, enumeration.result(state))
    assert 0 < finished[-1] < 18
    with pytest.raises(ValueError, match="finished search"):
        enumeration.pack(state)


def test_progress_rises_to_one() -> None:
    data, vital = fuzzy()
    state = enumeration.init(data, vital, EnumerationRequest(min_relative_confidence=0.4))
    with pytest.raises(ValueError, match="not finished"):
        enumeration.result(state)
    seen = [enumeration.progress(state)]
    while not enumeration.done(state):
        state = enumeration.step(state)
        seen.append(enumeration.progress(state))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert seen[0] == ("patterns", 0.0)
    assert seen[-1] == ("done", 1.0)


def test_the_planted_group_is_found() -> None:
    data, vital = planted()
    outcome = walk_through(
        enumeration.init(data, vital, EnumerationRequest(min_relative_confidence=2.0, min_support=0.1))
    )
    assert oracle.as_tuples(outcome.rules) == [(1, 2, 3, 0, 0)]


@settings(deadline=None, max_examples=examples(30))
@given(case=oracle.cases())
def test_size_counts_the_rules_that_each_record_fits(case: oracle.Case) -> None:
    pairs = 0
    for at in range(len(case.vital)):
        ways = 1
        for column, terms in zip(case.columns, case.terms, strict=True):
            values = [grades(term, np.array([column[at]]))[0] for term in terms]
            ways *= 1 + sum(value >= case.alpha and value > 0.0 for value in values)
        pairs += ways
    assert enumeration.size(case.data(), case.alpha) == pairs


def test_a_search_that_is_too_large_is_refused_with_what_would_fit() -> None:
    data, vital = fuzzy()
    size = enumeration.size(data, 0.5)
    with pytest.raises(NotFeasibleError, match="would fit") as error:
        enumeration.init(data, vital, EnumerationRequest(largest=size / 3.5))
    assert error.value.rules == 4**6
    assert error.value.records == 1500
    assert error.value.fitting_records == int(1500 / 3.5)
    smaller = Fuzzified(data.variables[: error.value.fitting_variables])
    assert 1 <= len(smaller.variables) < 6
    assert walk_through(enumeration.init(smaller, vital, EnumerationRequest(largest=size / 3.5))).evaluations > 0


def test_thresholds_that_are_none_are_refused() -> None:
    data, vital = planted()
    for wrong in (
        EnumerationRequest(min_relative_confidence=-1.0),
        EnumerationRequest(min_support=1.0),
        EnumerationRequest(denominator_floor=np.inf),
        EnumerationRequest(min_membership=2.0),
    ):
        with pytest.raises(ValueError, match="must"):
            enumeration.init(data, vital, wrong)


def test_the_group_of_the_reference_data_has_as_many_rules_as_others_found(acs: tuple[Fuzzified, np.ndarray]) -> None:
    outcome = walk_through(enumeration.init(*acs, EnumerationRequest(), threads=2))
    assert (outcome.over_thresholds, len(outcome.rules)) == (3065, 121)  # as counted beforehand by another program
