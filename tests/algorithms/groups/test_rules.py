"""Measures of rules and memberships of records, against plain Python record by record."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.errors import InvalidColumnError
from tests.algorithms.groups.rules_oracle import Case, cases
from tests.drawing import examples
from workers.algorithms.groups.rules import patterns
from workers.algorithms.groups.rules.fuzzified import fuzzify
from workers.algorithms.groups.rules.membership import Term
from workers.algorithms.groups.rules.rules import Metrics, evaluate, judged, memberships, metrics

HALVES = [Term("z", (0.0, 1.0)), Term("s", (0.0, 1.0))]


@settings(deadline=None, max_examples=examples(60))
@given(case=cases(), guard=st.sampled_from([0.0, 1.0, 2.5]))
def test_every_rule_is_judged_as_record_by_record(case: Case, guard: float) -> None:
    rules = list(case.rules())
    guard = guard or 1e-300  # the oracle's fractions cannot divide by 0
    measures = evaluate(case.data(), case.flags(), np.array(rules, dtype=np.int8), case.alpha, guard)
    for at, rule in enumerate(rules):
        expected = case.measures(rule, guard)
        for name, value in vars(measures).items():
            if name != "fitness" or abs(expected["discriminative_factor"]) > 1e-12:
                assert value[at] == pytest.approx(expected[name], rel=1e-9, abs=1e-14), (rule, name)


@settings(deadline=None, max_examples=examples(40))
@given(case=cases(), some=st.integers(0, 6), data=st.data())
def test_membership_is_the_highest_of_all_rules(case: Case, some: int, data: st.DataObject) -> None:
    rules = data.draw(st.lists(st.sampled_from(list(case.rules())), min_size=some, max_size=some))
    given_rules = np.array(rules, dtype=np.int8).reshape(-1, len(case.terms))
    grades = memberships(case.data(), given_rules, case.alpha)
    expected = [max((case.apc(at, rule) for rule in rules), default=0.0) for at in range(len(case.vital))]
    assert grades == pytest.approx(expected, rel=1e-12, abs=1e-300)
    middle = len(expected) // 2
    parts = [
        memberships(case.data(), given_rules, case.alpha, start=a, stop=b) for a, b in ((0, middle), (middle, None))
    ]
    assert np.array_equal(np.concatenate(parts), grades)


def many(rng: np.random.Generator, records: int, variables: int) -> tuple[list[np.ndarray], np.ndarray]:
    columns = [rng.random(records) for _ in range(variables)]
    vital = rng.random(records) < 0.1
    return columns, vital


def naive(columns: list[np.ndarray], vital: np.ndarray, rules: np.ndarray, alpha: float) -> np.ndarray:
    sums = np.empty((len(rules), 2))
    for at, rule in enumerate(rules):
        product = np.ones(len(vital))
        for column, number in zip(columns, rule, strict=True):
            if number:
                x = np.clip(column if number == 2 else 1.0 - column, 0.0, 1.0)
                product *= np.where(x <= 0.5, 2 * x**2, 1 - 2 * (1 - x) ** 2)
        product[product < alpha] = 0.0
        sums[at] = product[vital].sum(), product[~vital].sum()
    return sums


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5])
def test_records_that_all_differ_in_more_ways_than_a_key_can_hold(alpha: float) -> None:
    rng = np.random.default_rng(3)
    columns, vital = many(rng, 1000, 12)  # 1000 grades in each of 12 variables: keys are renumbered
    rules = rng.integers(0, 3, (40, 12)).astype(np.int8) * (rng.random((40, 12)) < 0.3)
    data = fuzzify(columns, [HALVES] * 12)
    collected = patterns.collect(data, vital, alpha)
    assert collected.distinct == 1000 or alpha > 0.0
    assert judged(collected, rules.astype(np.int8)) == pytest.approx(naive(columns, vital, rules, alpha), rel=1e-9)


def test_patterns_count_every_record_once_and_vital_ones_first() -> None:
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 3, 5000).astype(float) / 2 for _ in range(3)]
    vital = rng.random(5000) < 0.05
    collected = patterns.collect(fuzzify(columns, [HALVES] * 3), vital, 0.5)
    rows, sizes = np.unique(np.stack([*columns, vital]), axis=1, return_counts=True)
    slots = 64 * collected.vital_words
    assert collected.distinct == rows.shape[1] <= 54
    assert collected.count[:slots].sum() == vital.sum()
    assert collected.count[slots:].sum() == (~vital).sum()
    assert sorted(collected.count[collected.count > 0]) == sorted(sizes)


def test_measures_do_not_depend_on_order_threads_or_copies() -> None:
    rng = np.random.default_rng(5)
    columns, vital = many(rng, 700, 4)
    rules = np.array(list(itertools.product(range(3), repeat=4)), dtype=np.int8)
    data = fuzzify(columns, [HALVES] * 4)
    one = evaluate(data, vital, rules, 0.5)
    two = evaluate(data, vital, rules, 0.5, threads=3)
    assert all(np.array_equal(a, b) for a, b in zip(vars(one).values(), vars(two).values(), strict=True))
    order = rng.permutation(700)
    moved = evaluate(fuzzify([c[order] for c in columns], [HALVES] * 4), vital[order], rules, 0.5)
    assert moved.fitness == pytest.approx(one.fitness, rel=1e-9)
    twice = evaluate(fuzzify([np.tile(c, 2) for c in columns], [HALVES] * 4), np.tile(vital, 2), rules, 0.5)
    assert twice.inside == pytest.approx(2 * one.inside, rel=1e-12)
    assert twice.outside == pytest.approx(2 * one.outside, rel=1e-12)
    assert twice.support == pytest.approx(one.support, rel=1e-12)


def by_hand(inside: float, outside: float, guard: float) -> Metrics:
    return metrics(np.array([[inside, outside]]), records=100, vital=10, guard=guard)


def test_a_rule_that_no_outsider_fits_has_infinite_factor_and_guarded_fitness() -> None:
    alone = by_hand(2.0, 0.0, 1.0)
    assert alone.relative_confidence_factor[0] == np.inf
    assert alone.discriminative_factor[0] == pytest.approx(0.2 - 0.02)
    assert alone.fitness[0] == pytest.approx(0.18 * 2.0)
    assert by_hand(2.0, 0.0, 4.0).fitness[0] == pytest.approx(0.18 * 0.5)
    assert by_hand(2.0, 0.0, 0.0).fitness[0] == np.inf  # the paper's letter
    assert by_hand(2.0, 8.0, 4.0).fitness[0] == pytest.approx(0.1 * 0.25)  # a guard below the sum changes nothing
    nobody = by_hand(0.0, 0.0, 0.0)
    assert (nobody.relative_confidence_factor[0], nobody.fitness[0], nobody.support[0]) == (0.0, 0.0, 0.0)
    assert by_hand(1.0, 30.0, 1.0).fitness[0] == 0.0


def test_thresholds_are_strict_for_support_and_difference_only() -> None:
    measures = metrics(np.array([[3.0, 4.0], [3.0, 4.1], [1.0, 0.0], [1.0, 9.0]]), records=100, vital=10, guard=1.0)
    assert measures.over(0.75, 0.1).tolist() == [True, False, False, False]
    assert measures.over(0.75, 0.099).tolist() == [True, False, True, False]
    assert measures.over(0.0, 0.0).tolist() == [True, True, True, False]  # the last: as common outside as inside
    assert measures.at(np.array([2])).inside.tolist() == [1.0]


def test_what_cannot_be_judged_is_refused() -> None:
    data = fuzzify([np.array([0.0, 1.0])], [HALVES])
    vital = np.array([True, False])
    rule = np.array([[1]], dtype=np.int8)
    for wrong in ([[3]], [[-1]], [[1, 1]], [1]):
        with pytest.raises(ValueError, match="rule"):
            evaluate(data, vital, np.array(wrong, dtype=np.int8), 0.5)
    with pytest.raises(ValueError, match="alpha"):
        evaluate(data, vital, rule, 1.5)
    for all_or_none in (True, False):
        with pytest.raises(ValueError, match="vital"):
            evaluate(data, np.full(2, all_or_none), rule, 0.5)
    with pytest.raises(ValueError, match="3"):
        evaluate(data, np.zeros(3, dtype=bool), rule, 0.5)


def test_columns_that_cannot_be_seen_through_terms_are_refused_by_place() -> None:
    fine = np.array([0.0, 1.0])
    with pytest.raises(InvalidColumnError, match="finite") as error:
        fuzzify([fine, np.array([0.0, np.nan])], [HALVES, HALVES])
    assert error.value.column == 1
    with pytest.raises(InvalidColumnError, match="must not fall"):
        fuzzify([fine], [[Term("range", (2.0, 1.0))]])
    with pytest.raises(InvalidColumnError, match="127 terms, got 0"):
        fuzzify([fine], [[]])
    with pytest.raises(InvalidColumnError, match="no records"):
        fuzzify([fine[:0]], [HALVES])
    with pytest.raises(ValueError, match="one length"):
        fuzzify([fine, fine[:1]], [HALVES, HALVES])
    with pytest.raises(ValueError, match="terms"):
        fuzzify([fine], [HALVES, HALVES])


def test_reach_tells_which_terms_nobody_has() -> None:
    terms = [Term("range", (0.0, 1.0)), Term("range", (5.0, 6.0)), Term("triangle", (0.0, 2.0, 4.0))]
    (reach,) = fuzzify([np.array([0.0, 1.0, 1.0])], [terms]).reach()
    assert reach.tolist() == [1.0, 0.0, 0.5]


@pytest.mark.parametrize("values", [[3.0, -7.0, 3.0, 1e6], [0.25, 1e300, -1e308, 1.5], [-2.5, -0.5, 1.5, -0.5]])
def test_codes_lead_back_to_the_grades_of_every_record(values: list[float]) -> None:
    x = np.array(values)
    term = Term("gaussian", (2.0, 1.0))
    seen = fuzzify([x], [[term]]).variables[0]
    with np.errstate(over="ignore"):
        assert seen.grades[seen.codes, 1] == pytest.approx(np.exp(-((x - 1.0) ** 2) / 8.0))
    assert (seen.grades[:, 0] == 1.0).all()
