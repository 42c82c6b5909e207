"""The partition's invariants, on ties and at the edges, and its steps."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surebox_core.compiling.kernels import kernel
from surebox_core.errors import InvalidColumnError
from tests.algorithms.boxes.cases import groups, left_whole, parts, tables
from tests.drawing import examples
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.selection import cut_at_median, cut_at_multiple, is_open, select
from workers.algorithms.core.errors import InfeasibleKError


@kernel
def median_cut(v: np.ndarray, m: int, k: int) -> tuple[int, float, float]:
    return cut_at_median(v, m, k, 0.0, np.nan)


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
@settings(deadline=None, max_examples=examples(150))
@given(table=tables())
def test_groups_hold_k_and_every_record_once_and_are_separated(
    method: partition.Method, table: tuple[np.ndarray, int]
) -> None:
    x, k = table
    partitioning = parts(x, k, method)
    assert partitioning.counts.min() >= k
    assert sorted(partitioning.order.tolist()) == list(range(len(x)))
    low, high = [], []
    for g in np.split(partitioning.order, partitioning.starts[1:-1]):
        low.append(x[g].min(axis=0))
        high.append(x[g].max(axis=0))
    for a, b in itertools.combinations(range(len(low)), 2):
        assert any(high[a][i] < low[b][i] or high[b][i] < low[a][i] for i in range(x.shape[1]))


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
@settings(deadline=None, max_examples=examples(80))
@given(table=tables())
def test_no_group_that_could_be_cut_is_left_whole(method: partition.Method, table: tuple[np.ndarray, int]) -> None:
    x, k = table
    assert not left_whole(x, k, method, parts(x, k, method))


def _order_and_cuts(partitioning: partition.Partition) -> tuple[np.ndarray, np.ndarray]:
    return partitioning.order, partitioning.starts[1:-1]


@pytest.mark.parametrize(("records", "k"), [(1000, 5), (1003, 5), (512, 8), (37, 10), (999, 1)])
def test_distinct_values_leave_k_in_all_boxes_but_one(records: int, k: int) -> None:
    counts = parts(np.random.default_rng(1).normal(size=(records, 3)), k).counts
    assert len(counts) == records // k
    assert sorted(counts.tolist()) == [k] * (len(counts) - 1) + [k + records % k]


def test_mondrian_halves() -> None:
    counts = parts(np.random.default_rng(1).normal(size=(1000, 3)), 5, "mondrian").counts
    assert set(counts.tolist()) == {7, 8}


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
def test_edges(method: partition.Method) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(50, 50))
    assert parts(x, 50, method).counts.tolist() == [50]
    assert parts(x, 1, method).counts.tolist() == [1] * 50
    assert parts(x, 5, method).counts.min() >= 5
    assert parts(x[:1], 1, method).counts.tolist() == [1]
    assert parts(np.full((20, 2), 3.0), 2, method).counts.tolist() == [20]
    one = np.column_stack([np.full(20, 7.0), np.arange(20.0)])
    assert len(parts(one, 2, method).counts) in (8, 10)


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
def test_values_all_but_equal_do_no_harm(method: partition.Method) -> None:
    tiny = 5e-324
    assert parts(np.array([[0.0], [2e-310]]), 1, method).counts.tolist() == [2]
    assert parts(np.array([[0.0, 0.0], [2e-310, 1.0]]), 1, method).counts.tolist() == [1, 1]
    together = np.array([[0.0], [2 * tiny], [1e6], [2e6]])
    assert len(parts(together, 1, method).counts) >= 3


def test_k_above_the_records_is_refused_with_the_largest() -> None:
    with pytest.raises(InfeasibleKError, match="k = 50 required, 31 records: the largest k is 31") as caught:
        partition.init(np.zeros((31, 2)), k=50, worth=np.ones(2), method="fast")
    assert (caught.value.required, caught.value.largest) == (50, 31)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_values_nothing_can_be_computed_with_are_refused(bad: float) -> None:
    x = np.zeros((5, 3))
    x[3, 2] = bad
    with pytest.raises(InvalidColumnError) as caught:
        partition.init(x, k=2, worth=np.ones(3), method="fast")
    assert caught.value.column == 2


def test_free_axes_are_never_cut() -> None:
    x = np.random.default_rng(4).normal(size=(400, 3))
    partitioning = parts(x, 5, worth=np.array([1.0, 0.0, 1.0]))
    assert 1 not in partitioning.axis
    assert {0, 2} <= set(partitioning.axis.tolist())


def test_the_axis_is_where_mean_influence_times_width_is_largest() -> None:
    x = np.random.default_rng(4).uniform(size=(400, 2))
    assert parts(x, 100, worth=np.array([1.0, 9.0])).axis[0] == 1
    per_record = np.ones((400, 2), dtype=np.float32)
    per_record[:, 0] = np.where(x[:, 0] > 0.9, 100.0, 0.0)
    assert parts(x, 100, worth=per_record).axis[0] == 0


def test_influences_per_record_travel_with_their_records() -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform(size=(600, 2))
    right = x[:, 0] > 0.5  # left of 0.5 only column 0 matters, right of it only column 1
    worth = np.column_stack([~right, right]).astype(np.float32) + np.float32(1e-3)
    partitioning = parts(x, 20, worth=worth)
    wide = [np.ptp(x[g], axis=0) for g in np.split(*_order_and_cuts(partitioning)) if right[g].all()]
    narrow = [np.ptp(x[g], axis=0) for g in np.split(*_order_and_cuts(partitioning)) if not right[g].any()]
    assert np.mean(wide, axis=0)[0] > 3 * np.mean(wide, axis=0)[1]
    assert np.mean(narrow, axis=0)[1] > 3 * np.mean(narrow, axis=0)[0]


def test_ties_are_cut_at_the_side_that_leaves_more_boxes() -> None:
    v = np.array([0.0] * 7 + [1.0] * 9 + [2.0] * 4)
    assert cut_at_multiple(v.copy(), 20, 4, 0.0, np.nan) == (16, 1.0, 2.0)
    assert cut_at_multiple(v.copy(), 20, 5, 0.0, np.nan) == (7, 0.0, 1.0)
    assert median_cut(v.copy(), 20, 4) == (16, 1.0, 2.0)
    narrow = np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0])
    assert cut_at_multiple(narrow.copy(), 8, 3, 0.0, np.nan)[0] == 0
    assert median_cut(v.copy(), 20, 5)[0] == 0


def test_a_cut_moves_to_the_nearest_place_that_leaves_both_sides_their_width() -> None:
    """Against all places: the middle multiple of k, else what lies nearest on either side of it."""
    rng = np.random.default_rng(8)
    for _ in range(examples(300)):
        m, k = int(rng.integers(2, 60)), int(rng.integers(1, 6))
        v = np.round(rng.exponential(3.0, m), int(rng.integers(0, 2)))
        width, s = float(rng.choice([0.0, 1.0, 2.5])), np.sort(v)
        allowed = [p for p in range(k, m - k + 1) if s[p - 1] < s[p] and min(s[p - 1] - s[0], s[-1] - s[p]) >= width]
        place, below, above = cut_at_multiple(v.copy(), m, k, width, np.nan)
        if not allowed:
            assert place == 0
            continue
        middle = m // k // 2 * k
        assert place in (
            max((p for p in allowed if p <= middle), default=0),
            min((p for p in allowed if p >= middle), default=0),
        )
        assert (below, above) == (s[place - 1], s[place])


def test_neighbours_without_a_float_between_count_as_equal() -> None:
    dense = 2.0**53 + 2.0 * np.arange(40)
    assert not is_open(dense[0], dense[1])
    assert is_open(dense[0], dense[2])
    assert parts(dense[:, None], 2).counts.tolist() == [40]
    gapped = np.where(np.arange(40) < 3, dense, dense + 64.0)
    assert sorted(parts(gapped[:, None], 2).counts.tolist()) == [3, 37]
    assert not is_open(0.0, 5e-324)
    assert is_open(-5e-324, 5e-324)


@settings(deadline=None, max_examples=examples(150))
@given(
    values=st.lists(st.one_of(st.integers(0, 4), st.floats(-10, 10)), min_size=1, max_size=200),
    share=st.floats(0, 1, exclude_max=True),
)
def test_selection_is_what_sorting_gives(values: list[float], share: float) -> None:
    v = np.array(values, dtype=np.float64)
    r = int(share * len(v))
    assert select(v.copy(), len(v), r) == np.sort(v)[r]


def test_selection_in_many_ties_and_large() -> None:
    rng = np.random.default_rng(5)
    for v in (rng.integers(0, 3, 20_000).astype(float), np.zeros(20_000), rng.normal(size=20_000), np.arange(20_000.0)):
        for r in (0, 1, 9_999, 19_998, 19_999):
            assert select(v.copy(), len(v), r) == np.sort(v)[r]


def least_width(v: np.ndarray, k: int) -> float:
    """Smallest sum of count times width over all partitions of sorted values into runs of at least k."""
    best = [0.0] + [np.inf] * len(v)
    for end in range(k, len(v) + 1):
        best[end] = min(
            best[start] + (end - start) * (v[end - 1] - v[start])
            for start in range(end - k + 1)
            if start == 0 or v[start - 1] < v[start]
        )
    return float(best[-1])


@settings(deadline=None, max_examples=examples(60))
@given(
    v=st.lists(st.integers(0, 1000), min_size=4, max_size=14, unique=True),
    k=st.integers(1, 4),
)
def test_one_column_is_never_below_the_best_partition_and_meets_it_where_there_is_no_choice(
    v: list[int], k: int
) -> None:
    x = np.sort(np.array(v, dtype=np.float64))
    partitioning = parts(x[:, None], k)
    width = sum(len(g) * np.ptp(x[g]) for g in np.split(*_order_and_cuts(partitioning)))
    assert width >= least_width(x, k)
    if len(x) == 2 * k or len(x) < 2 * k or k == 1:
        assert width == least_width(x, k)


def test_small_steps_give_the_same_cuts_and_rising_progress() -> None:
    x = np.random.default_rng(7).normal(size=(5000, 3))
    whole = groups(parts(x, 5))
    state = partition.init(x, k=5, worth=np.ones(3), method="fast")
    shares = [partition.fraction(state)]
    with pytest.raises(ValueError, match="not finished"):
        partition.result(state)
    while not partition.done(state):
        state = partition.step(state, values=1)
        shares.append(partition.fraction(state))
    assert len(shares) > 1000
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert groups(partition.result(state)) == whole


def test_the_callers_records_stay_as_they_are() -> None:
    x = np.random.default_rng(7).normal(size=(100, 3))
    before = x.copy()
    parts(x, 5)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
def test_cuts_follow_the_records_under_permutation_scale_and_shift(method: partition.Method) -> None:
    rng = np.random.default_rng(9)
    x = rng.normal(size=(700, 3))
    worth = np.array([1.0, 1.5, 0.7])
    plain = groups(parts(x, 6, method, worth))
    order = rng.permutation(700)
    assert {frozenset(order[list(g)].tolist()) for g in groups(parts(x[order], 6, method, worth))} == plain
    assert groups(parts(x * 3.7 + 11.0, 6, method, worth)) == plain
    assert groups(parts(x * np.array([0.5, 30.0, 1024.0]), 6, method, worth)) == plain


def test_cuts_do_not_depend_on_the_order_of_columns() -> None:
    x = np.random.default_rng(9).normal(size=(700, 3))
    worth, turned = np.array([1.0, 1.5, 0.7]), [2, 0, 1]
    assert groups(parts(x[:, turned], 6, "fast", worth[turned])) == groups(parts(x, 6, "fast", worth))
