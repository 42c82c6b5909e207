"""Minimal sample uniques and the scores made of them, against every set of columns compared row by row."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.tables.slow import Table, tables
from tests.drawing import examples
from workers.algorithms.tables.classes import classes
from workers.algorithms.tables.special_uniques import intrusion, record_risks, scored, unscored, weight
from workers.algorithms.tables.uniques import minimal_uniques


@settings(deadline=None, max_examples=examples(50))
@given(table=tables(), depth=st.integers(1, 3), anything=st.booleans())
def test_minimal_uniques_are_alone_on_their_columns_and_on_no_part_of_them(
    table: Table, depth: int, anything: bool
) -> None:
    uniques = {
        one.columns: set(one.records.tolist()) for one in minimal_uniques(table.codes, depth=depth, anything=anything)
    }
    assert uniques == table.minimal_uniques(depth, anything=anything)


def test_values_that_differ_in_every_row_are_told_apart_by_their_numbers() -> None:
    rng = np.random.default_rng(5)
    codes = np.array([rng.permutation(3000) % 1500 for _ in range(3)], dtype=np.int32)
    counted = {one.columns: len(one.records) for one in minimal_uniques(codes, depth=3)}
    rows = [tuple(row) for row in codes.T.tolist()]
    for pair in itertools.combinations(range(3), 2):
        seen = [tuple(row[j] for j in pair) for row in rows]
        assert counted[pair] == sum(number == 1 for number in Counter(seen).values())


def test_scores_are_those_of_the_special_uniques_of_the_papers() -> None:
    assert weight(1, 8, 3) == 7 * 6 * 5
    assert weight(3, 8, 3) == 5
    assert [weight(size, 4, 3) for size in (1, 2, 3)] == [math.factorial(4 - size) for size in (1, 2, 3)]
    table = Table(((0, 0), (1, 1), (1, 1), (1, 2), (1, 2), (2, 1)), (0,) * 6)
    scores = scored(unscored(records=6, columns=2), minimal_uniques(table.codes, depth=3), depth=3)
    assert scores.score.tolist() == [2, 0, 0, 0, 0, 1]  # alone by either column; by the first
    assert scores.contribution.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert scores.counts == {(0,): 2, (1,): 1, (0, 1): 0}


def test_the_chance_that_a_match_is_right_is_spread_by_the_scores() -> None:
    size = np.array([1, 1, 1, 2, 2, 5])
    assert intrusion(size, 0.1) == pytest.approx(0.3 / (0.3 + 4 * 0.9))
    assert intrusion(np.array([2, 3]), 0.1) is None
    even = record_risks(np.array([7.0, 7.0, 7.0, 0.0]), size, 0.1, 8)
    assert even[:3] == pytest.approx(0.3 / (0.3 + 4 * 0.9))  # all scores alike: each has the DIS
    assert even[3] == 0.0
    rising = record_risks(np.array([1.0, 2.0, 4.0]), size, 0.1, 8)
    odds = rising / (1 - rising)
    assert odds / odds[0] == pytest.approx([1, 2, 4])  # of 8 columns the odds grow as the score
    assert record_risks(np.zeros(3), classes(np.zeros((1, 3), np.int32)).size, 0.1, 8).tolist() == [0, 0, 0]
