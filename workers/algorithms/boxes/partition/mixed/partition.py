"""Partition of records with columns of all kinds: init, step, done, result. Notation as in mixed.records.

k : least records of a box, or least persons.
groups : (N,), records that are never in one box with those of another group: patterns of missing values.

Sources: science.md section 1, "From half-widths to a real subdivision" and section 5, "Nominal columns".
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.partition.diversity import BoxConstraints
from workers.algorithms.boxes.partition.mixed.arranging import Costs, arranged
from workers.algorithms.boxes.partition.mixed.coarse import Cut, exact, upper_side, ways
from workers.algorithms.boxes.partition.mixed.effort import MixedEffort, usual
from workers.algorithms.boxes.partition.mixed.growing import FAST, MONDRIAN, OPTIMAL, branch, grow_block
from workers.algorithms.boxes.partition.mixed.halving import halves
from workers.algorithms.boxes.partition.mixed.holding import ConstraintArrays, constraint_arrays, demanding, holds
from workers.algorithms.boxes.partition.mixed.records import MixedRecords, Room, Side, Tree, new_room, new_side
from workers.algorithms.boxes.partition.partition import Method, Partition, no_cells
from workers.algorithms.boxes.sides import NominalColumn

_METHODS: dict[Method, int] = {"optimal": OPTIMAL, "fast": FAST, "mondrian": MONDRIAN}
STEP_VALUES: Final = 30_000_000  # of rows, looked at in a step: about 0.3 s
_SORTING = 16
_WAITING = 192
_CHOICE = 32  # candidates looked at together where demands forbid some


@dataclass(frozen=True)
class MixedPartition(Partition):
    """Groups of records and the cuts that made them; an axis from n on is a nominal column, n + d the kept classes.

    Attributes
    ----------
    span : (nodes, 2), first and last + 1 place in `order` of each node's records.
    roots : nodes that no cut made: 0 to roots - 1.
    """

    span: IntArray
    roots: int


@dataclass(frozen=True)
class MixedState:
    """A partition being made. Its arrays are worked on in place: a state is used up by `step`."""

    method: int
    k: int
    effort: MixedEffort
    classes: int
    roots: int
    ruled: bool
    records: MixedRecords
    demands: ConstraintArrays
    tree: Tree
    room: Room
    side: Side
    span: IntArray


def init(
    x: FloatArray,
    nominal: tuple[NominalColumn, ...],
    *,
    k: int,
    costs: Costs,
    method: Method,
    demands: BoxConstraints,
    groups: IntArray | None = None,
    min_width: FloatArray | None = None,
    everywhere: bool = False,
    effort: MixedEffort | None = None,
    cell: FloatArray | None = None,
) -> MixedState:
    """Start with one group of records for each pattern of missing values.

    Parameters
    ----------
    x : (N, n) float64, NaN where missing.
    nominal : d columns.
    k : at least 1.
    costs : ignored by `mondrian`, which goes by shares of ranges and codebooks.
    method : `optimal`, `fast` or `mondrian`.
    demands : what a box must hold beside k records; every group of records holds it.
    groups : 0 to R - 1 of each record; None for one group.
    min_width : (n,), least extent of the records of a box; None for none.
    everywhere : whether extents count for all columns at any cut (bounds that follow the records), or each only where
        its own column is cut.
    effort : how much is tried; None for what is usual for so many records.
    cell : (2, n), outer bounds, where boxes are cells: `optimal` and `fast` then cut numeric columns by the widths of
        these. None where boxes have the bounds of their records.
    """
    size, n = x.shape
    groups = np.zeros(size, dtype=np.int64) if groups is None else groups
    order = np.argsort(groups, kind="stable").astype(np.int32)
    runs = np.bincount(groups)
    if method == "mondrian":
        costs = Costs(
            np.ones(n), tuple(np.full(c.values, 1.0 / c.values) for c in nominal), (), np.empty(0, np.float32)
        )
    records, classes = arranged(x, nominal, costs, demands, order)
    tree = _tree(size, runs, k, n)
    if cell is not None and method != "mondrian":
        for root, first in enumerate(np.cumsum(runs) - runs):
            tree.cells[len(runs) - 1 - root] = np.where(np.isnan(records.rows[first]), [[np.inf], [-np.inf]], cell)
    held = constraint_arrays(demands, np.zeros(n) if min_width is None else min_width, everywhere)
    effort = effort or usual(size)
    largest = int(runs.max())
    ruled = demanding(held)
    in_blocks = method == "optimal" or (method == "fast" and not ruled)
    block = min(largest, effort.block) if in_blocks else largest
    return MixedState(
        method=_METHODS[method],
        k=k,
        effort=effort,
        classes=classes,
        roots=len(runs),
        ruled=ruled,
        records=records,
        demands=held,
        tree=tree,
        room=new_room(records, block, max(effort.breadth, _CHOICE), effort.places),
        side=new_side(records),
        span=np.zeros(4, dtype=np.int64),
    )


def _tree(size: int, runs: IntArray, k: int, columns: int) -> Tree:
    """A root for each group, all waiting; the first one on top."""
    roots, ends = len(runs), np.cumsum(runs)
    nodes = 2 * (size // k) + roots + 2
    span = np.zeros((nodes, 2), dtype=np.int64)
    span[:roots, 0], span[:roots, 1] = ends - runs, ends
    tree = Tree(
        span=span,
        axis=np.full(nodes, -1, dtype=np.int32),
        child=np.zeros(nodes, dtype=np.int32),
        gap=np.zeros((nodes, 2)),
        waiting=np.zeros(_WAITING + roots, dtype=np.int64),
        counters=np.array([roots, roots, 0], dtype=np.int64),
        cells=no_cells(_WAITING + roots, columns),
    )
    tree.waiting[:roots] = np.arange(roots)[::-1]
    return tree


def step(state: MixedState, *, values: int = STEP_VALUES) -> MixedState:
    """Cut for about a third of a second, by values looked at."""
    tree = state.tree
    tree.counters[2] = 0
    while tree.counters[1] > 0 and tree.counters[2] < values:
        node = int(tree.waiting[tree.counters[1] - 1])
        first, last = (int(end) for end in tree.span[node])
        if state.span[1] > 0:
            _go_on(state, values)
        elif last - first < 2 * state.k:
            tree.counters[1] -= 1
        elif last - first <= state.room.sorted.shape[1]:
            state.span[:] = first, last, tree.counters[1] - 1, 0
        else:
            tree.counters[1] -= 1
            _cut_large(state, node)
    return state


def _go_on(state: MixedState, values: int) -> None:
    """Sort a block's records along the next axis, or cut them; write back the order in which cuts leave them."""
    first, last, floor, axis = (int(each) for each in state.span)
    records, room, tree, m = state.records, state.room, state.tree, int(state.span[1] - state.span[0])
    n = records.rows.shape[1]
    if axis < n:
        room.sorted[axis, :m] = np.argsort(records.rows[first:last, axis])
        state.span[3] += 1
        tree.counters[2] += _SORTING * m
        return
    if axis == n:
        room.sorted[n, :m] = np.arange(m, dtype=np.int32)
        state.span[3] += 1
    effort = state.effort
    grow_block(
        state.method,
        state.k,
        effort.breadth,
        min(effort.boxes * state.k, effort.block // 2),
        effort.axes,
        first,
        floor,
        records,
        room,
        state.side,
        state.classes,
        state.demands,
        state.ruled,
        tree,
        values,
    )
    if tree.counters[1] == floor:
        records.order[first:last] = records.order[first + room.sorted[n, :m]]
        state.span[:] = 0


def _cut_large(state: MixedState, node: int) -> None:
    """Cut a node too large for a block by the cheapest candidate allowed; by that of all, where a sample has none."""
    records, tree = state.records, state.tree
    first, last = (int(end) for end in tree.span[node])
    state.side.cell[:] = tree.cells[tree.counters[1]]
    columns = records.rows.shape[1] + records.codes.shape[1]
    if state.method == FAST:
        cuts, group = halves(records, first, last, state.side.cell, state.k)
        tree.counters[2] += 3 * (last - first) * columns
        _taken(state, node, cuts, group)
        return
    narrow, wide = (min(state.effort.sample, last - first), min(state.effort.axes, columns)), (last - first, columns)
    for sample, axes in dict.fromkeys((narrow, wide)):
        cuts, group = ways(records, state.side, state.classes, first, last, state.k, sample, axes, every=state.ruled)
        tree.counters[2] += (last - first) * columns**2
        if _taken(state, node, cuts, group) or state.ruled:
            return


def _taken(state: MixedState, node: int, cuts: list[Cut], group: IntArray) -> bool:
    """Cut a node by the first of some candidates that all of its records allow; whether there is one."""
    records, tree = state.records, state.tree
    first, last = (int(end) for end in tree.span[node])
    for cut in cuts:
        upper = upper_side(records, first, last, cut, group)
        split = exact(records, first, last, cut, upper, state.k)
        if split is None:
            continue
        order = np.concatenate([np.flatnonzero(~upper), np.flatnonzero(upper)])
        if state.ruled and not _allowed(state, first, order.astype(np.int32), split.place, cut.axis):
            continue
        for array in (records.rows, records.codes, records.order, records.worth, records.mass):
            if len(array):
                array[first:last] = np.take(array[first:last], order, axis=0)  # three times as fast as by an index
        branch(tree, node, cut.axis, split.place, split.below, split.above)
        return True
    return False


def _allowed(state: MixedState, first: int, order: IndexArray, place: int, axis: int) -> bool:
    records, demands, k = state.records, state.demands, state.k
    ends = ((0, place), (place, len(order)))
    return all(holds(demands, records.rows, records.order, first, order, s, e, axis, k) for s, e in ends)


def done(state: MixedState) -> bool:
    """Whether no node waits to be cut."""
    return bool(state.tree.counters[1] == 0)


def fraction(state: MixedState) -> float:
    """Share of the work done, by m log2(m/k) over the waiting nodes."""
    waiting = state.tree.waiting[: state.tree.counters[1]]
    sizes = state.tree.span[waiting, 1] - state.tree.span[waiting, 0]
    left = float(np.sum(sizes * np.log2(np.maximum(sizes / state.k, 1.0))))
    size = len(state.records.order)
    whole = size * np.log2(max(size / state.k, 1.0))
    return float(1.0 - left / whole) if whole > 0.0 else 1.0


def result(state: MixedState) -> MixedPartition:
    """Return the groups, in the order in which cuts left them.

    Raises
    ------
    ValueError
        Nodes still wait.
    """
    if not done(state):
        msg = "the partition is not finished: step until done"
        raise ValueError(msg)
    tree, order = state.tree, state.records.order
    nodes = int(tree.counters[0])
    axis = tree.axis[:nodes].copy()
    leaves = np.flatnonzero(axis < 0)
    leaves = leaves[np.argsort(tree.span[leaves, 0])]
    leaf = np.full(nodes, -1, dtype=np.int64)
    leaf[leaves] = np.arange(len(leaves))
    starts = np.append(tree.span[leaves, 0], len(order))
    child, gap, span = tree.child[:nodes].copy(), tree.gap[:nodes].copy(), tree.span[:nodes].copy()
    return MixedPartition(order, starts, leaf, axis, child, gap, span, state.roots)
