"""Classes, diversity and closeness against the definitions, record by record."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.algorithms.tables.slow import Table, measures, tables
from tests.drawing import examples
from workers.algorithms.tables.classes import classes, histogram, keys
from workers.algorithms.tables.closeness import Closeness, certain, closeness, recursive_c
from workers.algorithms.tables.matching import Histograms, histograms, neighbourhood_histograms, neighbours


def parts_of(table: Table, *, anything: bool) -> list[Histograms]:
    grouping = classes(table.codes)
    if anything:
        return list(neighbourhood_histograms(table.codes, grouping, table.values))
    return [histograms(grouping, table.values)]


def measured(table: Table, *, anything: bool) -> Closeness:
    shares = np.bincount(table.values) / len(table.rows)
    return closeness(parts_of(table, anything=anything), shares, len(classes(table.codes).size))


@settings(deadline=None, max_examples=examples(60))
@given(table=tables(), anything=st.booleans())
def test_every_measure_of_every_class_is_that_of_its_definition(table: Table, anything: bool) -> None:
    grouping, fast = classes(table.codes), measured(table, anything=anything)
    size = neighbours(table.codes, grouping) if anything else grouping.size
    values = sorted(set(table.sensitive))
    for at in range(len(table.rows)):
        rows, g = table.neighbourhood(at, anything=anything), grouping.of_record[at]
        assert size[g] == len(rows)
        for name, expected in measures(table, rows, values).items():
            assert getattr(fast, name)[g] == pytest.approx(expected, rel=1e-9, abs=1e-12), name


@settings(deadline=None, max_examples=examples(60))
@example(table=Table(((0, 0), (1, 0), (-1, 0)), (0, 0, 1)), anything=True, beta=Fraction(1, 2))  # its beta is 1/2
@given(table=tables(), anything=st.booleans(), beta=st.fractions(0, 4))
def test_enhanced_likeness_holds_where_no_value_exceeds_its_own_logarithm(
    table: Table, anything: bool, beta: Fraction
) -> None:
    fast, overall = measured(table, anything=anything), table.shares()
    holds = True
    for at in range(len(table.rows)):
        for v, p in table.shares(table.neighbourhood(at, anything=anything)).items():
            likeness = (p - overall[v]) / overall[v]
            holds &= likeness <= 0 or (likeness <= beta and likeness <= -float(np.log(float(overall[v]))))
    rounded_up = float(beta) * (1.0 + 1e-12)
    assert holds == bool((fast.beta <= rounded_up).all() and (fast.excess <= 0.0).all())


@settings(deadline=None, max_examples=examples(50))
@given(table=tables(), anything=st.booleans())
def test_every_c_above_the_recursive_one_makes_the_table_diverse_and_none_below(table: Table, anything: bool) -> None:
    every = [table.neighbourhood(at, anything=anything) for at in range(len(table.rows))]
    counts = [sorted((table.shares(rows)[v] * len(rows) for v in table.shares(rows)), reverse=True) for rows in every]
    least = min(len(one) for one in counts)
    c = recursive_c(parts_of(table, anything=anything), least)
    assert c == pytest.approx(max(float(one[0] / sum(one[least - 1 :])) for one in counts))


def test_shares_of_records_that_a_class_gives_away() -> None:
    table = Table(((0,),) * 4 + ((1,),) * 10 + ((2,),) * 2, (0, 0, 0, 0, *[1] * 9, 0, 0, 1))
    fast = measured(table, anything=False)
    size = classes(table.codes).size
    assert certain(fast, size) == 4 / 16
    assert certain(fast, size, 0.9) == 14 / 16


def test_keys_that_no_number_holds_are_numbered_anew() -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2**31 - 2, (5, 50)).astype(np.int32)[:, rng.integers(0, 50, 400)]
    expected = np.unique(codes.T, axis=0, return_inverse=True)[1].ravel()
    key = keys(codes)
    assert len(np.unique(key)) == len(np.unique(expected)) == len(np.unique(np.column_stack([key, expected]), axis=0))


def test_sizes_of_classes_are_counted() -> None:
    groups = classes(np.array([[0, 0, 1, 1, 2, -1]], dtype=np.int32))
    assert groups.first.tolist() == [0, 2, 4, 5]
    assert [one.tolist() for one in histogram(groups.size)] == [[1, 2], [2, 2]]
