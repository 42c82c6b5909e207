"""Winsorized columns: against a slow definition, and what they are the same for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from workers.algorithms.core.ordering import canonical_order
from workers.algorithms.core.winsorized import ends, winsorized


def slow_end(values: list[float], persons: list[int], m: int) -> float:
    """Going up from the least value, the one at which the m-th person comes, or the middle one of all persons."""
    there = {p for v, p in zip(values, persons, strict=True) if not np.isnan(v)}
    wanted, met = min(m, (len(there) - 1) // 2 + 1), set[int]()
    for value, person in sorted((v, p) for v, p in zip(values, persons, strict=True) if not np.isnan(v)):
        met.add(person)
        if len(met) == wanted:
            return value
    return np.inf


@settings(deadline=None, max_examples=examples(300))
@given(st.data())
def test_ends_are_where_the_mth_person_comes(data: st.DataObject) -> None:
    size, m = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 9))
    value = st.one_of(st.just(np.nan), st.integers(-3, 3).map(float))
    values = data.draw(st.lists(value, min_size=size, max_size=size))
    persons = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    negative = [-v for v in values]
    labels = np.array(persons, dtype=np.int32)
    assert ends(np.array(values), m, labels) == (slow_end(values, persons, m), -slow_end(negative, persons, m))
    own = list(range(size))
    assert ends(np.array(values), m) == (slow_end(values, own, m), -slow_end(negative, own, m))


@settings(deadline=None, max_examples=examples(100))
@given(st.integers(0, 10**6))
def test_it_is_the_same_wherever_the_outermost_persons_lie(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, m = int(rng.integers(5, 40)), int(rng.integers(1, 6))
    values, persons = rng.integers(0, 6, size).astype(float), rng.integers(0, size, size).astype(np.int32)
    seen = winsorized(values[:, None], m, persons)
    low, _ = ends(values, m, persons)
    people = list(dict.fromkeys(persons[np.argsort(values, kind="stable")].tolist()))
    outermost = np.isin(persons, people[: min(m - 1, (len(people) - 1) // 2)]) & (values <= low)
    moved = values - outermost * 10.0 ** rng.uniform(-3, 6, size)
    np.testing.assert_array_equal(winsorized(moved[:, None], m, persons), seen)
    np.testing.assert_array_equal(winsorized(seen, m, persons), seen)


@pytest.mark.parametrize("m", [1, 2, 100])
def test_missing_values_stay_missing_and_columns_without_values_are_left(m: int) -> None:
    x = np.array([[np.nan, 1.0, -0.0], [np.nan, np.nan, 3.0], [np.nan, 5.0, 9.0]])
    seen = winsorized(x, m)
    np.testing.assert_array_equal(np.isnan(seen), np.isnan(x))
    assert not np.signbit(seen[0, 2])
    assert (seen[2, 2] == 3.0) == (m > 1), "of many the median is left"


def test_records_that_are_seen_alike_stand_by_what_follows() -> None:
    rng = np.random.default_rng(3)
    seen, then = rng.integers(0, 3, (60, 2)).astype(float), rng.normal(size=(60, 2))
    order = canonical_order(seen, then=then)
    shuffled = rng.permutation(60)
    again = canonical_order(seen[shuffled], then=then[shuffled])
    np.testing.assert_array_equal(shuffled[again], order)
    np.testing.assert_array_equal(seen[order], seen[canonical_order(seen)])
