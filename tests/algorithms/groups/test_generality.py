"""The most general rules, against every pair compared."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.groups import rules_oracle as oracle
from tests.drawing import examples
from workers.algorithms.groups.rules.generality import Kept, merge, most_general
from workers.algorithms.groups.rules.rules import Rules, metrics

RULES = st.lists(st.tuples(*[st.integers(0, 2)] * 4), unique=True, max_size=40)


def as_rules(rules: list[oracle.Rule]) -> Rules:
    return np.array(rules, dtype=np.int8).reshape(-1, 4)


@settings(deadline=None, max_examples=examples(150))
@given(rules=RULES)
def test_what_is_left_has_no_more_general_rule_beside_it(rules: list[oracle.Rule]) -> None:
    remaining = {rule for rule, kept in zip(rules, most_general(as_rules(rules)), strict=True) if kept}
    assert remaining == oracle.most_general(rules)


def test_the_paper_s_sense_of_more_specific() -> None:
    rules = as_rules([(1, 0, 3, 0), (1, 2, 3, 0), (1, 0, 2, 0), (2, 2, 3, 1)])
    assert most_general(rules).tolist() == [True, False, True, True]


def kept(rules: list[oracle.Rule], evaluations: int) -> Kept:
    sums = np.array([[10.0 + rule[0], 1.0 + rule[1]] for rule in rules]).reshape(-1, 2)
    return Kept(as_rules(rules), metrics(sums, records=1000, vital=100, guard=1.0), evaluations)


@settings(deadline=None, max_examples=examples(60))
@given(parts=st.lists(RULES, min_size=1, max_size=4))
def test_parts_of_a_search_are_merged_whatever_their_order(parts: list[list[oracle.Rule]]) -> None:
    together = merge([kept(part, 5) for part in parts])
    every = {rule for part in parts for rule in part}
    assert set(oracle.as_tuples(together.rules)) == oracle.most_general(list(every))
    assert together.over_thresholds == len(every)
    assert together.evaluations == 5 * len(parts)
    assert (np.diff(together.metrics.fitness) <= 0.0).all()
    assert together.metrics.inside == pytest.approx(10.0 + together.rules[:, 0])
    turned = merge([kept(part[::-1], 5) for part in parts[::-1]])
    assert np.array_equal(turned.rules, together.rules)
    assert np.array_equal(turned.metrics.fitness, together.metrics.fitness)


def test_nothing_is_merged_from_no_parts() -> None:
    with pytest.raises(ValueError, match="nothing to merge"):
        merge([])
