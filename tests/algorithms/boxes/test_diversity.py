"""l-diversity and kept classes: every box holds what is demanded, what cannot be is refused with what could."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.algorithms.boxes import partition
from workers.algorithms.boxes.diversity import Demands, spread
from workers.algorithms.core.errors import InfeasibleDiversityError, InfeasibleKError


def made(x: np.ndarray, k: int, demands: Demands) -> partition.Partition:
    state = partition.init(x, k=k, worth=np.ones(x.shape[1]), method="optimal", demands=demands)
    while not partition.done(state):
        state = partition.step(state)
    return partition.result(state)


def most_apart(values: np.ndarray, apart: float) -> int:
    """Size of the largest set of values pairwise so far apart, by trying all of them."""
    for size in range(len(values), 0, -1):
        for some in itertools.combinations(sorted(values), size):
            if all(b - a >= apart for a, b in itertools.pairwise(some)):
                return size
    return 0


def meets(rows: np.ndarray, k: int, demands: Demands) -> bool:
    """By definition, for one group of records."""
    kept = demands.kept[rows] if len(demands.kept) else np.empty(0, dtype=int)
    enough = all(len({c for c in codes[rows].tolist() if c >= 0}) >= demands.diversity for codes in demands.codes.T)
    for values, apart in zip(demands.values.T, demands.apart, strict=True):
        known = values[rows][~np.isnan(values[rows])]
        enough &= spread(np.sort(known), apart, len(known)) >= demands.diversity
    return enough and len(rows) >= k and all(count >= k for count in np.unique(kept, return_counts=True)[1])


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, int, Demands]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(2, 60))
    x = rng.integers(0, draw(st.sampled_from([3, 100])), (size, draw(st.integers(1, 3)))).astype(float)
    values = rng.integers(0, 12, (size, draw(st.integers(0, 2)))).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    demands = Demands(
        diversity=draw(st.integers(1, 4)),
        kept=rng.integers(0, 3, size).astype(np.int32) if draw(st.booleans()) else np.empty(0, dtype=np.int32),
        codes=rng.integers(-1, 5, (size, draw(st.integers(0, 2)))).astype(np.int32),
        values=values,
        apart=rng.integers(1, 4, values.shape[1]).astype(float),
    )
    return x, draw(st.integers(1, 5)), demands


@settings(deadline=None, max_examples=250)
@given(case=cases())
def test_every_group_meets_the_demands_and_none_could_be_cut_further(case: tuple[np.ndarray, int, Demands]) -> None:
    x, k, demands = case
    whole = np.arange(len(x))
    if not meets(whole, k, demands):
        with pytest.raises((InfeasibleKError, InfeasibleDiversityError)) as caught:
            made(x, k, demands)
        if isinstance(caught.value, InfeasibleKError):
            counts = np.unique(demands.kept, return_counts=True)[1]
            assert caught.value.largest == (min(counts) if len(counts) else len(x)) < k
        else:
            assert not meets(whole, 1, replace(demands, kept=demands.kept[:0]))
        return
    found = made(x, k, demands)
    groups = np.split(found.order, found.starts[1:-1])
    assert sorted(found.order.tolist()) == list(range(len(x)))
    for group in groups:
        assert meets(group, k, demands)
        for i in range(x.shape[1]):
            for place in np.unique(x[group, i])[1:]:
                below = x[group, i] < place
                assert not (meets(group[below], k, demands) and meets(group[~below], k, demands))


@settings(deadline=None, max_examples=100)
@given(values=st.lists(st.integers(0, 20), max_size=9), apart=st.integers(1, 7))
def test_taking_the_next_value_far_enough_finds_the_largest_set(values: list[int], apart: int) -> None:
    v = np.sort(np.array(values, dtype=np.float64))
    assert spread(v, float(apart), len(v)) == most_apart(v, apart)


def test_the_column_that_limits_l_is_named_with_the_largest_l() -> None:
    x = np.arange(20.0)[:, None]
    demands = Demands(4, codes=np.arange(20, dtype=np.int32)[:, None] % 5, values=x.copy(), apart=np.array([8.0]))
    with pytest.raises(InfeasibleDiversityError) as caught:
        made(x, 2, demands)
    assert (caught.value.column, caught.value.asked, caught.value.largest) == (1, 4, 3)


def test_a_kept_class_of_fewer_than_k_is_refused_with_its_size() -> None:
    kept = np.array([0] * 17 + [1] * 3, dtype=np.int32)
    with pytest.raises(InfeasibleKError) as caught:
        made(np.arange(20.0)[:, None], 4, Demands(kept=kept))
    assert (caught.value.asked, caught.value.largest) == (4, 3)


def test_other_partitions_refuse_demands() -> None:
    with pytest.raises(ValueError, match="not by `fast`"):
        partition.init(np.arange(20.0)[:, None], k=2, worth=np.ones(1), method="fast",
                       demands=Demands(kept=np.zeros(20, dtype=np.int32)))  # fmt: skip


def test_demands_cost_little_where_every_group_meets_them_anyway() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3000, 3))
    plain = made(x, 10, Demands())
    free = made(x, 10, Demands(1, codes=np.zeros((3000, 1), dtype=np.int32)))
    diverse = made(x, 10, Demands(3, codes=rng.integers(0, 8, (3000, 1)).astype(np.int32)))
    assert len(free.counts) == len(plain.counts)
    assert len(diverse.counts) > 0.9 * len(plain.counts)
