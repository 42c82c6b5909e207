"""Cuts where boxes are cells: what is kept small is the width of cells, empty space and all."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.algorithms.boxes.cases import groups, left_whole, parts, tables
from tests.drawing import examples
from workers.algorithms.boxes.partition import partition
from workers.algorithms.boxes.partition.arranging import Costs
from workers.algorithms.boxes.partition.arrays import usual
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.selection import is_open


def mixed_parts(
    x: np.ndarray,
    k: int,
    method: partition.Method,
    worth: np.ndarray | None = None,
    *,
    cell: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    block: int = 4096,
) -> partition.Partition:
    """The partition of columns of all kinds, of numbers."""
    worth = np.ones(x.shape[1]) if worth is None else worth
    costs, effort = Costs(worth, (), (), np.empty(0, np.float32)), usual(len(x), mixed=True)._replace(block=block)
    state = partition.init_mixed(
        x, (), k=k, costs=costs, method=method, demands=BoxConstraints(), groups=groups, effort=effort, cell=cell
    )
    while not partition.done(state):
        state = partition.step(state)
    return partition.result(state)


BOTH = pytest.mark.parametrize("cut", [parts, mixed_parts])


def widths(partitioning: partition.Partition, cell: np.ndarray) -> np.ndarray:
    """(N, n), width of each record's cell, cuts in the middles of their gaps."""
    each = np.empty((len(partitioning.order), cell.shape[1]))
    waiting = [(0, *cell)]
    while waiting:
        node, low, high = waiting.pop()
        if partitioning.axis[node] < 0:
            leaf = partitioning.leaf[node]
            each[partitioning.order[partitioning.starts[leaf] : partitioning.starts[leaf + 1]]] = high - low
            continue
        border = partitioning.gap[node].mean()
        below, above = high.copy(), low.copy()
        below[partitioning.axis[node]] = above[partitioning.axis[node]] = border
        waiting += [(partitioning.child[node], low, below), (partitioning.child[node] + 1, above, high)]
    return each


def cost(x: np.ndarray, partitioning: partition.Partition, cell: np.ndarray, worth: np.ndarray) -> float:
    """Sum over records of sum_i a_i w_i / range_i."""
    return float((worth * widths(partitioning, cell) / np.ptp(x, axis=0)).sum())


def best_in_line(x: np.ndarray, a: np.ndarray, k: int, low: float, high: float) -> float:
    """Least sum of (sum of a)(width of the cell) over all partitions of sorted values, by trying every start."""
    border = np.concatenate([[low], (x[:-1] + x[1:]) / 2, [high]])
    best = [0.0] + [np.inf] * len(x)
    for end in range(k, len(x) + 1):
        if end == len(x) or x[end - 1] < x[end]:
            best[end] = min(best[s] + a[s:end].sum() * (border[end] - border[s]) for s in range(end - k + 1))
    return float(best[-1])


@BOTH
@pytest.mark.parametrize("weighed", [False, True])
@settings(deadline=None, max_examples=examples(60))
@given(seed=st.integers(0, 2**32 - 1), size=st.integers(2, 50), k=st.integers(1, 6))
def test_one_column_is_cut_as_well_as_can_be(cut, weighed: bool, seed: int, size: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    k = min(k, size)
    x = np.sort(rng.integers(0, 40, size)).astype(np.float64)
    x[-1] = max(x[-1], x[0] + 1.0)
    a = rng.integers(1, 5, size).astype(np.float32) if weighed else np.ones(size, np.float32)
    cell = np.array([[x[0] - rng.uniform(0, 60)], [x[-1] + rng.uniform(0, 60)]])
    partitioning = cut(x[:, None], k, "optimal", a[:, None].copy() if weighed else np.ones(1), cell=cell)
    reached = cost(x[:, None], partitioning, cell, a[:, None]) * np.ptp(x)
    assert reached == pytest.approx(best_in_line(x, a.astype(float), k, *cell[:, 0]), rel=1e-6)


def best_tree(x: np.ndarray, cell: np.ndarray, k: int) -> float:
    """Least sum over records of the widths of their cells over all trees of cuts, by trying all of them."""
    best = float(len(x) * (cell[1] - cell[0]).sum())
    for i in range(x.shape[1]):
        order = np.argsort(x[:, i], kind="stable")
        v = x[order, i]
        for p in range(k, len(x) - k + 1):
            if is_open(v[p - 1], v[p]):
                below, above = cell.copy(), cell.copy()
                below[1, i] = above[0, i] = (v[p - 1] + v[p]) / 2
                best = min(best, best_tree(x[order[:p]], below, k) + best_tree(x[order[p:]], above, k))
    return best


@BOTH
def test_few_records_in_two_columns_are_cut_nearly_as_well_as_can_be(cut) -> None:
    """Two boxes: exactly; more: within a few per cent of the best of all trees, on average."""
    rng = np.random.default_rng(3)
    excess = []
    for trial in range(60):
        size, k = (int(rng.integers(4, 9)), 4) if trial < 20 else (int(rng.integers(9, 15)), 3)
        x = rng.integers(0, 12, (size, 2)).astype(np.float64)
        x[0], x[1] = 0.0, 12.0
        cell = np.array([[-rng.uniform(0, 9), 0.0], [12.0, 12.0 + rng.uniform(0, 30)]])
        least = best_tree(x, cell, k)
        reached = cost(x, cut(x, min(k, size), "optimal", cell=cell), cell, np.ones(2)) * 12.0
        assert reached >= least * (1 - 1e-12)
        if trial < 20:
            assert reached == pytest.approx(least, rel=1e-9)
        excess.append(reached / least - 1.0)
    assert np.mean(excess) < 0.04


def mixture(rows: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    centres = rng.normal(0, 4, (5, 4))
    return centres[rng.integers(0, 5, rows)] + rng.normal(size=(rows, 4))


def outer(x: np.ndarray) -> np.ndarray:
    return np.array([x.min(axis=0) - 0.1, x.max(axis=0) + 0.1])


@BOTH
@pytest.mark.parametrize(("method", "share"), [("optimal", 0.75), ("fast", 0.9)])
def test_cells_of_a_mixture_are_far_narrower_than_where_records_alone_are_looked_at(
    cut,
    method: partition.Method,
    share: float,
) -> None:
    x = mixture(6000)
    cell, ones = outer(x), np.ones(4)
    assert cost(x, cut(x, 5, method, cell=cell), cell, ones) < share * cost(x, cut(x, 5, method), cell, ones)


@BOTH
def test_nodes_larger_than_a_block_are_cut_nearly_as_well(cut) -> None:
    """And numbers alone whatever the order of the records; others come in one that their values decide."""
    x = mixture(3000)
    cell, ones, small = (
        outer(x),
        np.ones(4),
        {"effort": usual(len(x), mixed=False)._replace(block=200)} if cut is parts else {"block": 200},
    )
    whole, partitioning = cut(x, 5, "optimal", cell=cell), cut(x, 5, "optimal", cell=cell, **small)
    assert cost(x, partitioning, cell, ones) < 1.1 * cost(x, whole, cell, ones)
    if cut is mixed_parts:
        return
    order = np.random.default_rng(1).permutation(len(x))
    again = cut(x[order], 5, "optimal", cell=cell, **small)
    assert {frozenset(order[list(g)].tolist()) for g in groups(again)} == groups(partitioning)


def slowly_fast(x: np.ndarray, cell: np.ndarray, k: int) -> set[frozenset[int]]:
    """`fast` by its words: the widest cell, at the multiple of k about the middle. No two values are equal."""
    range_of, leaves, waiting = np.ptp(x, axis=0), set(), [(np.arange(len(x)), cell)]
    while waiting:
        rows, (low, high) = waiting.pop()
        if len(rows) < 2 * k:
            leaves.add(frozenset(rows.tolist()))
            continue
        i = np.argmax((high - low) / range_of)
        v, p = np.sort(x[rows, i]), len(rows) // k // 2 * k
        border = (v[p - 1] + v[p]) / 2
        below, above = high.copy(), low.copy()
        below[i] = above[i] = border
        waiting += [(rows[x[rows, i] < border], (low, below)), (rows[x[rows, i] > border], (above, high))]
    return leaves


@pytest.mark.parametrize("block", [None, 4096, 40])
def test_fast_cuts_the_widest_cell(block: int | None) -> None:
    """Of numbers alone, and of columns of all kinds in a block and beyond."""
    x = np.random.default_rng(9).exponential(size=(333, 3)) * [1.0, 2.0, 50.0]
    cell = np.array([[-1.0, 0.0, 0.0], [9.0, 30.0, 400.0]])
    partitioning = parts(x, 4, cell=cell) if block is None else mixed_parts(x, 4, "fast", cell=cell, block=block)
    assert groups(partitioning) == slowly_fast(x, cell, 4)


@BOTH
@pytest.mark.parametrize("method", ["optimal", "fast", "mondrian"])
@settings(deadline=None, max_examples=examples(60))
@example(table=(np.array([[3.0], [5e-324], [-1.0], [-5e-324]]), 1), beyond=0.0)  # two that count as one value
@given(table=tables(), beyond=st.floats(0.0, 1e6))
def test_groups_hold_k_and_every_record_once_and_none_is_left_whole(
    cut,
    method: partition.Method,
    table: tuple[np.ndarray, int],
    beyond: float,
) -> None:
    """Constant columns with a wide domain do not hinder the cuts of others."""
    x, k = table
    partitioning = cut(x, k, method, cell=np.array([x.min(axis=0) - beyond, x.max(axis=0) + beyond]))
    assert partitioning.counts.min() >= k
    assert sorted(partitioning.order.tolist()) == list(range(len(x)))
    assert not left_whole(x, k, method, partitioning)


def test_mondrian_goes_by_records_whatever_the_domain() -> None:
    x = mixture(500)
    assert groups(parts(x, 5, "mondrian", cell=outer(x) * 9.0)) == groups(parts(x, 5, "mondrian"))


def test_a_column_that_records_lack_has_no_cell() -> None:
    """Records of each pattern are cut as if there were no others and no columns that they lack."""
    x = mixture(400)
    x[:150, 1] = np.nan
    x[150:250, 2:] = np.nan
    pattern = np.repeat([0, 1, 2], [150, 100, 150])
    cell = np.array([np.nanmin(x, axis=0), np.nanmax(x, axis=0)])
    worth = np.ptp(cell, axis=0)  # a cost of 1 per unit of each column
    all_groups = groups(mixed_parts(x, 5, "optimal", worth, cell=cell, groups=pattern))
    for one in range(3):
        rows = np.flatnonzero(pattern == one)
        has = np.flatnonzero(~np.isnan(x[rows[0]]))
        own = x[np.ix_(rows, has)]
        alone = mixed_parts(own, 5, "optimal", np.ptp(own, axis=0), cell=cell[:, has])
        assert {frozenset(rows[list(g)].tolist()) for g in groups(alone)} <= all_groups
