"""The partition `optimal`: exact where it can be, never above `fast` by more than chance, well below it on ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.algorithms.boxes.cases import groups, parts
from tests.algorithms.boxes.test_partition import least_width
from tests.drawing import examples
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.arrays import usual
from workers.algorithms.boxes.partition.selection import is_open


def cost(x: np.ndarray, partitioning: partition.Partition, worth: np.ndarray) -> float:
    """Sum over records of sum_i a_i w_i / range_i."""
    a = np.broadcast_to(worth, x.shape)
    ranges = np.where(np.ptp(x, axis=0) > 0, np.ptp(x, axis=0), 1.0)
    return float(sum((a[g].sum(axis=0) * np.ptp(x[g], axis=0) / ranges).sum() for g in members(partitioning)))


def members(partitioning: partition.Partition) -> list[np.ndarray]:
    return np.split(partitioning.order, partitioning.starts[1:-1])


@settings(deadline=None, max_examples=examples(150))
@given(v=st.lists(st.integers(0, 60), min_size=1, max_size=60), k=st.integers(1, 9))
def test_one_column_is_cut_as_well_as_can_be(v: list[int], k: int) -> None:
    x = np.sort(np.array(v, dtype=np.float64))
    k = min(k, len(x))
    width = sum(len(g) * np.ptp(x[g]) for g in members(parts(x[:, None], k, "optimal")))
    assert width == pytest.approx(least_width(x, k), rel=1e-12)


def best_in_line(x: np.ndarray, a: np.ndarray, k: int) -> float:
    """Least sum of (sum of a)(width) over all partitions of sorted values, by trying every start."""
    best = [0.0] + [np.inf] * len(x)
    for end in range(k, len(x) + 1):
        if end == len(x) or x[end - 1] < x[end]:
            best[end] = min(best[s] + a[s:end].sum() * (x[end - 1] - x[s]) for s in range(end - k + 1))
    return float(best[-1])


@settings(deadline=None, max_examples=examples(80))
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 50), k=st.integers(1, 6))
def test_one_column_with_influences_per_record_is_cut_as_well_as_can_be(seed: int, size: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, size)
    x = np.sort(rng.integers(0, 40, size)).astype(np.float64)
    a = rng.integers(0, 5, size).astype(np.float32)
    partitioning = parts(x[:, None], k, "optimal", a[:, None].copy())
    reached = cost(x[:, None], partitioning, a[:, None]) * (np.ptp(x) or 1.0)
    if a.any():
        assert reached == pytest.approx(best_in_line(x, a.astype(float), k), rel=1e-6)


def best_tree(x: np.ndarray, a: np.ndarray, k: int) -> float:
    """Least cost over all trees of cuts, by trying all of them."""
    best = float((a.sum(axis=0) * np.ptp(x, axis=0)).sum())
    for i in range(x.shape[1]):
        order = np.argsort(x[:, i], kind="stable")
        v = x[order, i]
        for p in range(k, len(x) - k + 1):
            if is_open(v[p - 1], v[p]):
                low, high = order[:p], order[p:]
                best = min(best, best_tree(x[low], a[low], k) + best_tree(x[high], a[high], k))
    return best


def test_few_records_in_two_columns_are_cut_nearly_as_well_as_can_be() -> None:
    """Two boxes: exactly; more: within a few per cent of the best of all trees, on average."""
    rng = np.random.default_rng(3)
    excess = []
    for trial in range(60):
        size, k = (int(rng.integers(4, 9)), 4) if trial < 20 else (int(rng.integers(9, 15)), 3)
        x = rng.integers(0, 12, (size, 2)).astype(np.float64)
        x[0], x[1] = 0.0, 12.0
        a = np.ones((size, 2))
        least = best_tree(x / 12.0, a, k) if size >= k else 0.0
        reached = cost(x, parts(x, min(k, size), "optimal"), a)
        assert reached >= least * (1 - 1e-12)
        if size < 3 * k and trial < 20:
            assert reached == pytest.approx(least, rel=1e-9)
        excess.append(reached / least - 1.0 if least else 0.0)
    assert np.mean(excess) < 0.03


def test_it_is_narrower_than_fast_on_a_mixture_and_by_far_on_ties_and_tails() -> None:
    rng = np.random.default_rng(8)
    centres = rng.normal(0, 4, (4, 4))
    mixture = centres[rng.integers(0, 4, 6000)] + rng.normal(size=(6000, 4))
    gain = np.where(rng.random(6000) < 0.08, rng.lognormal(8, 1.2, 6000).round(-2), 0.0)
    skewed = np.column_stack([rng.integers(17, 90, 6000), gain, rng.choice([20, 40, 40, 40, 60], 6000)]).astype(float)
    for x, share in ((mixture, 0.9), (skewed, 0.8)):
        ones = np.ones(x.shape[1])
        assert cost(x, parts(x, 5, "optimal"), ones) < share * cost(x, parts(x, 5, "fast"), ones)


def test_influences_per_record_are_what_is_kept_small() -> None:
    rng = np.random.default_rng(6)
    x = rng.uniform(size=(3000, 2))
    worth = np.abs(x[:, ::-1] - 0.5).astype(np.float32)  # a covariance
    optimal = cost(x, parts(x, 10, "optimal", worth.copy()), worth)
    assert optimal < 0.97 * cost(x, parts(x, 10, "fast", worth.copy()), worth)
    assert optimal < 0.9 * cost(x, parts(x, 10, "optimal"), worth)


@pytest.mark.parametrize("method", ["optimal"])
def test_more_records_than_a_block_holds(method: partition.Method) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 3))
    x[:, 1] = np.round(np.exp(3 * x[:, 1]))
    x[7, 2] = 1e12  # nearly all records in one bin
    whole = cost(x, parts(x, 5, method), np.ones(3))
    small = usual(len(x), mixed=False)._replace(block=200)
    partitioning = parts(x, 5, method, effort=small)
    assert partitioning.counts.min() >= 5
    assert sorted(partitioning.order.tolist()) == list(range(3000))
    assert cost(x, partitioning, np.ones(3)) < 1.1 * whole
    order = rng.permutation(3000)
    assert {frozenset(order[list(g)].tolist()) for g in groups(parts(x[order], 5, method, effort=small))} == groups(
        partitioning
    )


def test_values_too_dense_for_bins_are_cut_where_a_float_lies_between() -> None:
    small = usual(40, mixed=False)._replace(block=10)
    dense = 2.0**53 + 2.0 * np.arange(40)
    assert parts(dense[:, None], 2, "optimal", effort=small).counts.tolist() == [40]
    gapped = np.where(np.arange(40) < 3, dense, dense + 64.0)
    assert sorted(parts(gapped[:, None], 2, "optimal", effort=small).counts.tolist()) == [3, 37]


def test_small_steps_give_the_same_cuts() -> None:
    x = np.random.default_rng(7).normal(size=(2000, 3))
    whole = groups(parts(x, 5, "optimal"))
    assert groups(parts(x, 5, "optimal", values=1)) == whole


@pytest.mark.parametrize("records", [20_000, 40_000, 400_000])
def test_every_effort_keeps_the_invariants(records: int) -> None:
    """The effort falls with the number of records; here it is set, not the records."""
    x = np.random.default_rng(7).normal(size=(1500, 12)).round(1)
    partitioning = parts(x, 7, "optimal", effort=usual(records, mixed=False))
    assert partitioning.counts.min() >= 7
    assert cost(x, partitioning, np.ones(12)) < cost(x, parts(x, 7, "fast"), np.ones(12))
