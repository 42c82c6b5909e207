"""l-diversity and kept classes: every box holds what is demanded, what cannot be is refused with what could."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.boxes.cases import groups, tables
from tests.drawing import examples
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.constraints.l_diversity import spread
from workers.algorithms.core.errors import InfeasibleDiversityError, InfeasibleKError

METHODS: tuple[partition.Method, ...] = ("optimal", "fast", "mondrian")


def made(
    x: np.ndarray,
    k: int,
    demands: BoxConstraints,
    method: partition.Method = "optimal",
    worth: np.ndarray | None = None,
    values: int = partition.STEP_VALUES,
) -> partition.Partition:
    worth = np.ones(x.shape[1]) if worth is None else worth
    state = partition.init(x, k=k, worth=worth, method=method, demands=demands)
    while not partition.done(state):
        state = partition.step(state, values=values)
    return partition.result(state)


def most_apart(values: np.ndarray, apart: float) -> int:
    """Size of the largest set of values pairwise so far apart, by trying all of them."""
    for size in range(len(values), 0, -1):
        for some in itertools.combinations(sorted(values), size):
            if all(b - a >= apart for a, b in itertools.pairwise(some)):
                return size
    return 0


def meets(rows: np.ndarray, k: int, demands: BoxConstraints) -> bool:
    """By definition, for one group of records."""
    kept = demands.kept[rows] if len(demands.kept) else np.empty(0, dtype=int)
    enough = all(len({c for c in codes[rows].tolist() if c >= 0}) >= demands.l for codes in demands.codes.T)
    for values, apart in zip(demands.values.T, demands.apart, strict=True):
        known = values[rows][~np.isnan(values[rows])]
        enough &= spread(np.sort(known), apart, len(known)) >= demands.l
    return enough and len(rows) >= k and all(count >= k for count in np.unique(kept, return_counts=True)[1])


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, int, BoxConstraints]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(2, 60))
    x = rng.integers(0, draw(st.sampled_from([3, 100])), (size, draw(st.integers(1, 3)))).astype(float)
    values = rng.integers(0, 12, (size, draw(st.integers(0, 2)))).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    demands = BoxConstraints(
        l=draw(st.integers(1, 4)),
        kept=rng.integers(0, 3, size).astype(np.int32) if draw(st.booleans()) else np.empty(0, dtype=np.int32),
        codes=rng.integers(-1, 5, (size, draw(st.integers(0, 2)))).astype(np.int32),
        values=values,
        apart=rng.integers(1, 4, values.shape[1]).astype(float),
    )
    return x, draw(st.integers(1, 5)), demands


@pytest.mark.parametrize("method", METHODS)
@settings(deadline=None, max_examples=examples(150))
@given(case=cases())
def test_every_group_meets_the_demands_and_none_could_be_cut_further(
    method: partition.Method, case: tuple[np.ndarray, int, BoxConstraints]
) -> None:
    x, k, demands = case
    whole = np.arange(len(x))
    if not meets(whole, k, demands):
        with pytest.raises((InfeasibleKError, InfeasibleDiversityError)) as caught:
            made(x, k, demands, method)
        if isinstance(caught.value, InfeasibleKError):
            counts = np.unique(demands.kept, return_counts=True)[1]
            assert caught.value.largest == (min(counts) if len(counts) else len(x)) < k
        else:
            assert not meets(whole, 1, replace(demands, kept=demands.kept[:0]))
        return
    partitioning = made(x, k, demands, method)
    groups = np.split(partitioning.order, partitioning.starts[1:-1])
    assert sorted(partitioning.order.tolist()) == list(range(len(x)))
    for group in groups:
        assert meets(group, k, demands)
        for i in range(x.shape[1]):
            values = np.sort(x[group, i])
            places = (
                values[values > values[(len(group) - 1) // 2]][:1] if method == "mondrian" else np.unique(values)[1:]
            )
            for place in places:
                below = x[group, i] < place
                assert not (meets(group[below], k, demands) and meets(group[~below], k, demands))


@settings(deadline=None, max_examples=examples(100))
@given(values=st.lists(st.integers(0, 20), max_size=9), apart=st.integers(1, 7))
def test_taking_the_next_value_far_enough_finds_the_largest_set(values: list[int], apart: int) -> None:
    v = np.sort(np.array(values, dtype=np.float64))
    assert spread(v, float(apart), len(v)) == most_apart(v, apart)


def test_the_column_that_limits_l_is_named_with_the_largest_l() -> None:
    x = np.arange(20.0)[:, None]
    demands = BoxConstraints(
        4, codes=np.arange(20, dtype=np.int32)[:, None] % 5, values=x.copy(), apart=np.array([8.0])
    )
    with pytest.raises(InfeasibleDiversityError) as caught:
        made(x, 2, demands)
    assert (caught.value.column, caught.value.required, caught.value.largest) == (1, 4, 3)


@pytest.mark.parametrize("method", METHODS)
def test_a_kept_class_of_fewer_than_k_is_refused_with_its_size(method: partition.Method) -> None:
    kept = np.array([0] * 17 + [1] * 3, dtype=np.int32)
    with pytest.raises(InfeasibleKError) as caught:
        made(np.arange(20.0)[:, None], 4, BoxConstraints(kept=kept), method)
    assert (caught.value.required, caught.value.largest) == (4, 3)


@pytest.mark.parametrize("method", ["fast", "mondrian"])
@pytest.mark.parametrize("per_record", [False, True])
@settings(deadline=None, max_examples=examples(100))
@given(table=tables())
def test_demands_that_every_group_meets_change_no_cut(
    method: partition.Method, per_record: bool, table: tuple[np.ndarray, int]
) -> None:
    x, k = table
    worth = np.random.default_rng(len(x)).uniform(0.1, 1.0, x.shape).astype(np.float32) if per_record else None
    free = BoxConstraints(1, codes=np.zeros((len(x), 1), dtype=np.int32))
    plain = made(x, k, BoxConstraints(), method, None if worth is None else worth.copy())
    assert groups(made(x, k, free, method, worth)) == groups(plain)


def test_where_both_sides_do_not_allow_the_first_cut_fast_takes_the_next_with_room_for_as_many_boxes() -> None:
    x = np.arange(40.0)[:, None]
    codes = np.where(np.arange(40) < 25, 0, np.arange(40) % 2).astype(np.int32)[:, None]
    partitioning = made(x, 5, BoxConstraints(2, codes=codes), "fast")
    # 20 and 25 leave one value below, 26 to 29 room for 7 boxes, 30 for 8
    assert partitioning.gap[0].tolist() == [29.0, 30.0]
    assert groups(partitioning) == {frozenset(range(30)), frozenset(range(30, 35)), frozenset(range(35, 40))}


@pytest.mark.parametrize(("method", "axis"), [("fast", 0), ("mondrian", 1)])
def test_mondrian_takes_the_next_widest_column_where_the_median_is_not_allowed(
    method: partition.Method, axis: int
) -> None:
    rng = np.random.default_rng(3)
    x = np.column_stack([np.arange(40.0), rng.permutation(40)])
    x[0, 0] -= 1.0
    codes = np.where(np.arange(40) < 25, 0, np.arange(40) % 2).astype(np.int32)[:, None]
    assert made(x, 5, BoxConstraints(2, codes=codes), method, np.array([2.0, 1.0])).axis[0] == axis
    with_one = made(x[:, :1], 5, BoxConstraints(2, codes=codes), method)
    assert len(with_one.counts) == (3 if method == "fast" else 1)


@pytest.mark.parametrize("method", ["fast", "mondrian"])
def test_small_steps_give_the_same_groups(method: partition.Method) -> None:
    rng = np.random.default_rng(4)
    x, codes = rng.normal(size=(2000, 3)), rng.integers(0, 5, (2000, 1)).astype(np.int32)
    whole = groups(made(x, 5, BoxConstraints(3, codes=codes), method))
    assert groups(made(x, 5, BoxConstraints(3, codes=codes), method, values=1)) == whole


@pytest.mark.parametrize("method", ["fast", "mondrian"])
def test_groups_do_not_depend_on_the_order_of_records(method: partition.Method) -> None:
    rng = np.random.default_rng(5)
    x, codes = rng.normal(size=(600, 3)), rng.integers(0, 4, (600, 1)).astype(np.int32)
    values, order = rng.normal(size=(600, 1)), rng.permutation(600)
    apart, kept = np.array([0.25]), rng.integers(0, 2, 600).astype(np.int32)
    plain = groups(made(x, 4, BoxConstraints(3, kept, codes, values, apart), method))
    mixed = made(x[order], 4, BoxConstraints(3, kept[order], codes[order], values[order], apart), method)
    assert {frozenset(order[list(group)].tolist()) for group in groups(mixed)} == plain


@pytest.mark.parametrize("method", METHODS)
def test_demands_cost_little_where_every_group_meets_them_anyway(method: partition.Method) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3000, 3))
    plain = made(x, 10, BoxConstraints(), method)
    free = made(x, 10, BoxConstraints(1, codes=np.zeros((3000, 1), dtype=np.int32)), method)
    diverse = made(x, 10, BoxConstraints(3, codes=rng.integers(0, 8, (3000, 1)).astype(np.int32)), method)
    assert len(free.counts) == len(plain.counts)
    assert len(diverse.counts) > 0.9 * len(plain.counts)
