"""Partition of records into groups of at least k by cuts of single columns: init, step, done, result.

Notation
--------
x : (N, n), records, in the columns' units; NaN where missing, of columns of all kinds.
k : least records per box, or least persons.
a_i(x) range_i : (n,) or (N, n), what column i's whole range is worth to the statistics at a record, up to one common
    factor; 0 on a free axis. Only ratios between columns matter.
groups : (N,), records that are never in one box with those of another group: patterns of missing values.

There is one search, over numbers alone (`init`) and over columns of all kinds (`init_mixed`). They differ in what a
record, a side and a block contain (partition.arrays), which numba compiles the same kernels for; in how a node too
large for a block is cut; and numbers alone are cut in place by `fast` and `mondrian` where k records suffice.

Sources: science.md section 1, "From half-widths to a real subdivision" and section 5, "Nominal columns"; LeFevre et al.
2006 for `mondrian`.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from surebox_core.extremes import extremes
from surebox_core.moments import check_records
from surebox_core.types import FloatArray, IndexArray, IntArray, SingleArray
from workers.algorithms.boxes.partition.arranging import Costs, arranged
from workers.algorithms.boxes.partition.arrays import (
    Effort,
    MixedBlock,
    MixedRecords,
    MixedSide,
    NumericBlock,
    NumericRecords,
    Tree,
    extents,
    inverse_ranges,
    mixed_block,
    new_tree,
    numeric_block,
    usual,
)
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints, check_demands
from workers.algorithms.boxes.partition.constraints.holding import (
    ConstraintArrays,
    constraint_arrays,
    holds,
    marking,
)
from workers.algorithms.boxes.partition.fixed import grow, grow_by_width, split_rows
from workers.algorithms.boxes.partition.large_nodes import Cut, exact, halves, upper_side, ways
from workers.algorithms.boxes.partition.large_numbers import coarse
from workers.algorithms.boxes.partition.search import grow_block
from workers.algorithms.boxes.partition.tree import branch
from workers.algorithms.boxes.sides import NominalColumn
from workers.algorithms.core.errors import InfeasibleKError

Method = Literal["optimal", "fast", "mondrian"]

STEP_VALUES: Final = 40_000_000  # of rows, looked at in a step: about 0.2 s
_SORTING = 16  # row values visited that sorting a value is worth
_CHOICE = 32  # candidates looked at together where demands forbid some


@dataclass(frozen=True)
class Partition:
    """Groups of records and the cuts that made them.

    Attributes
    ----------
    order : (N,) int32, records, group after group.
    starts : (B + 1,), where each group starts in `order`.
    leaf : (nodes,), group of a leaf, -1 for a cut node. Children have larger numbers than parents.
    axis, child : (nodes,), a cut node's axis and lower child (the upper one follows). An axis from n on is a nominal
        column, n + d the kept classes.
    gap : (nodes, 2), the neighbouring values about a cut; an original value each, never to be published.
    span : (nodes, 2), first and last + 1 place in `order` of each node's records.
    roots : nodes that no cut made: 0 to roots - 1.
    """

    order: IndexArray
    starts: IntArray
    leaf: IntArray
    axis: IndexArray
    child: IndexArray
    gap: FloatArray
    span: IntArray
    roots: int

    @property
    def counts(self) -> IntArray:
        """(B,), records per group."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class PartitionState:
    """A partition being made. Its arrays are worked on in place: a state is used up by `step`.

    `span` is that of the block being cut: first and last + 1 row, waiting nodes below it, axes sorted so far.
    """

    method: Method
    k: int
    effort: Effort
    roots: int
    records: NumericRecords | MixedRecords
    held: ConstraintArrays
    tree: Tree
    block: NumericBlock | MixedBlock
    span: IntArray


def _check(x: FloatArray, k: int, worth: FloatArray | SingleArray, demands: BoxConstraints) -> None:
    """Refuse what `init` states it refuses."""
    check_records(x)
    if k < 1:
        msg = f"k must be at least 1, got {k}"
        raise ValueError(msg)
    check_demands(demands, k)
    if k > len(x):
        raise InfeasibleKError(k, len(x))
    if worth.shape not in (x.shape[1:], x.shape) or not worth.min() >= 0.0:
        msg = f"worth must be nonnegative, of shape ({x.shape[1]},) or {x.shape}, got {worth.shape}"
        raise ValueError(msg)


def init(
    x: FloatArray,
    *,
    k: int,
    worth: FloatArray | SingleArray,
    method: Method,
    demands: BoxConstraints | None = None,
    effort: Effort | None = None,
    cell: FloatArray | None = None,
    least: FloatArray | None = None,
    min_width: FloatArray | None = None,
    spikes: FloatArray | None = None,
) -> PartitionState:
    """Start with one group of all records, of numbers alone.

    Parameters
    ----------
    x : (N, n) float64, finite. Values closer than 1e-300 of their column's range may stay together.
    k : at least 1, at most N.
    worth : (n,) or (N, n), a_i(x) range_i up to one factor; per record it is float32 and used up.
    method : `optimal` (cut of least predicted uncertainty, the best few tried out), `fast` (axis of largest
        mean(a_i) width_i, sides of multiples of k) or `mondrian` (widest share of the range, strict median; `worth`
        is ignored).
    demands : l and kept classes that a box must contain besides k records. All records are then one block.
    effort : how much is tried; None for the usual number for so many records.
    cell : (2, n), outer bounds, where boxes are cells: `optimal` and `fast` then cut by the widths of these. None where
        they have the bounds of their records.
    least : (n,), width that a box has at least in each column, by which `optimal` predicts; None for none.
    min_width : (n,), what the records of a box span at least of a column that was cut; None for none.
    spikes : (n,), the value of which all records of a box may have instead, NaN for none; None for none at all.

    Raises
    ------
    InfeasibleKError
        k above N, or above the records of a kept class.
    InfeasibleDiversityError
        l above the values of a column.
    ValueError
        k below 1, worth of another shape or negative.
    """
    demands = demands or BoxConstraints()
    _check(x, k, worth, demands)
    size, columns = x.shape
    if method == "mondrian":
        worth = np.ones(columns)
    same = worth.ndim == 1
    constant = np.array(worth, dtype=np.float64) if same else np.zeros(columns)
    records = NumericRecords(
        rows=np.array(x, dtype=np.float64, order="C"),
        order=np.arange(size, dtype=np.int32),
        worth=np.empty((0, columns), np.float32) if same else np.ascontiguousarray(worth, dtype=np.float32),
        price=np.array([constant, inverse_ranges(*extremes(x))]),
        scratch=np.empty(size),
        least=np.empty(0) if least is None else least,
        extent=extents(columns, min_width, spikes),
        classes=-1,
    )
    effort = effort or usual(size, mixed=False)
    room = size if not demands.none else min(size, effort.block) if method == "optimal" else 0
    tree = new_tree(size, np.array([size]), k, columns)
    if cell is not None and method != "mondrian":
        tree.cells[0] = cell
    return PartitionState(
        method=method,
        k=k,
        effort=effort,
        roots=1,
        records=records,
        held=marking(constraint_arrays(demands, extents(columns), everywhere=False), room),
        tree=tree,
        block=numeric_block(columns, room, effort.breadth),
        span=np.zeros(4, dtype=np.int64),
    )


def init_mixed(
    x: FloatArray,
    nominal: tuple[NominalColumn, ...],
    *,
    k: int,
    costs: Costs,
    method: Method,
    demands: BoxConstraints,
    groups: IntArray | None = None,
    min_width: FloatArray | None = None,
    spikes: FloatArray | None = None,
    everywhere: bool = False,
    effort: Effort | None = None,
    cell: FloatArray | None = None,
    least: FloatArray | None = None,
) -> PartitionState:
    """Start with one group of records for each pattern of missing values, of columns of all kinds.

    Parameters
    ----------
    x : (N, n) float64, NaN where missing.
    nominal : d columns.
    k : at least 1.
    costs : ignored by `mondrian`, which goes by shares of ranges and codebooks.
    method, effort : as of `init`.
    demands : what a box must contain besides k records; every group of records contains it.
    groups : 0 to R - 1 of each record; None for one group.
    min_width, spikes : (n,), least extent of the records of a box, and the value that they may all have instead, as of
        `init`.
    everywhere : whether extents count for all columns at any cut (bounds that follow the records), or each only where
        its own column is cut. Then each candidate is looked at; else places along a column are known beforehand.
    cell : (2, n), outer bounds, where boxes are cells: `optimal` and `fast` then cut numeric columns by the widths of
        these. None where boxes have the bounds of their records.
    least : as of `init`.
    """
    size, n = x.shape
    groups = np.zeros(size, dtype=np.int64) if groups is None else groups
    order = np.argsort(groups, kind="stable").astype(np.int32)
    runs = np.bincount(groups)
    if method == "mondrian":
        costs = Costs(
            np.ones(n), tuple(np.full(c.values, 1.0 / max(c.values, 1)) for c in nominal), (), np.empty(0, np.float32)
        )
    extent = extents(n, min_width, spikes)
    records = arranged(x, nominal, costs, demands, order, np.empty(0) if least is None else least, extent)
    tree = new_tree(size, runs, k, n)
    if cell is not None and method != "mondrian":
        for root, first in enumerate(np.cumsum(runs) - runs):
            tree.cells[len(runs) - 1 - root] = np.where(np.isnan(records.rows[first]), [[np.inf], [-np.inf]], cell)
    held = constraint_arrays(demands, extent, everywhere)
    effort = effort or usual(size, mixed=True)
    in_blocks = method == "optimal" or (method == "fast" and not held.sieved)
    room = min(int(runs.max()), effort.block) if in_blocks else int(runs.max())
    return PartitionState(
        method=method,
        k=k,
        effort=effort,
        roots=len(runs),
        records=records,
        held=held,
        tree=tree,
        block=mixed_block(records, room, max(effort.breadth, _CHOICE)),
        span=np.zeros(4, dtype=np.int64),
    )


def step(state: PartitionState, *, values: int = STEP_VALUES) -> PartitionState:
    """Cut for about a fifth of a second, by values looked at: the top cuts first, then subtree after subtree.

    `optimal` takes O(n axes N log(N/k)), times `breadth` log(reach/k) on the way from `reach` records down.
    """
    tree, records = state.tree, state.records
    room = state.block.sorted.shape[1]
    tree.counters[2] = 0
    while tree.counters[1] > 0 and tree.counters[2] < values:
        if room == 0 and isinstance(records, NumericRecords):
            grow(state.method == "mondrian", state.k, records, tree, values)
            continue
        node = int(tree.waiting[tree.counters[1] - 1])
        first, last = (int(end) for end in tree.span[node])
        if state.span[1] > 0:
            _go_on(state, values)
        elif last - first < 2 * state.k:
            tree.counters[1] -= 1
        elif last - first <= room:
            state.span[:] = first, last, tree.counters[1] - 1, 0
        else:
            tree.counters[1] -= 1
            if isinstance(records, NumericRecords):
                _cut_large_numbers(state, records, node)
            else:
                _cut_large(state, records, node)
    return state


def _go_on(state: PartitionState, values: int) -> None:
    """Sort a block's records along the next axis, or cut them; write back the order in which cuts leave them."""
    first, last, floor, axis = (int(each) for each in state.span)
    records, block, tree, m = state.records, state.block, state.tree, last - first
    n, runs = records.rows.shape[1], len(block.sorted)
    if axis < n:
        block.sorted[axis, :m] = np.argsort(records.rows[first:last, axis])
        state.span[3] += 1
        tree.counters[2] += _SORTING * m
        return
    if axis < runs:
        block.sorted[axis, :m] = np.arange(m, dtype=np.int32)
        state.span[3] += 1
    if state.method == "optimal":
        reach = state.effort.reach(state.k)
        grow_block(state.k, state.effort, reach, first, floor, records, block, state.held, tree, values)
    else:
        median = state.method == "mondrian"
        grow_by_width(median, state.k, first, floor, records, block, state.held, tree, values)
    if tree.counters[1] == floor:
        records.order[first:last] = records.order[first + block.sorted[n if runs > n else 0, :m]]
        state.span[:] = 0


def _cut_large_numbers(state: PartitionState, records: NumericRecords, node: int) -> None:
    """Cut a node of numbers alone that is too large for a block."""
    tree, axes, sample = state.tree, state.effort.axes, state.effort.sample
    first, last = (int(end) for end in tree.span[node])
    n = records.rows.shape[1]
    cut = coarse(records, first, last, tree.cells[tree.counters[1]], state.k, axes, sample)
    tree.counters[2] += min(last - first, 2 * sample) * n * (min(n, axes) + 1) + 2 * (last - first)
    if cut.place > 0:
        split_rows(records.rows, records.worth, records.order, first, last, cut.axis, cut.above)
        branch(tree, node, cut.axis, cut.place, cut.below, cut.above)


def _cut_large(state: PartitionState, records: MixedRecords, node: int) -> None:
    """Cut a node too large for a block by the cheapest candidate allowed; by that of all, where a sample has none."""
    tree, effort, ruled = state.tree, state.effort, state.held.sieved
    first, last = (int(end) for end in tree.span[node])
    side: MixedSide = state.block.side  # type: ignore[assignment]  # as its records are
    side.cell[:] = tree.cells[tree.counters[1]]
    columns = records.rows.shape[1] + records.codes.shape[1]
    if state.method == "fast":
        cuts, group = halves(records, first, last, side.cell, state.k)
        tree.counters[2] += 3 * (last - first) * columns
        _taken(state, records, node, cuts, group)
        return
    narrow, wide = (min(effort.sample, last - first), min(effort.axes, columns)), (last - first, columns)
    for sample, axes in dict.fromkeys((narrow, wide)):
        cuts, group = ways(records, side, first, last, state.k, sample, axes, every=ruled)
        tree.counters[2] += (last - first) * columns**2
        if _taken(state, records, node, cuts, group) or ruled:
            return
    if records.extent[0].any():  # borders of parts may be too near the ends where values between them are not
        _taken(state, records, node, *halves(records, first, last, side.cell, state.k))


def _taken(state: PartitionState, records: MixedRecords, node: int, cuts: list[Cut], group: IntArray) -> bool:
    """Cut a node by the first of some candidates that all of its records allow; whether there is one."""
    tree = state.tree
    first, last = (int(end) for end in tree.span[node])
    for cut in cuts:
        upper = upper_side(records, first, last, cut, group)
        split = exact(records, first, last, cut, upper, state.k)
        if split is None:
            continue
        order = np.concatenate([np.flatnonzero(~upper), np.flatnonzero(upper)]).astype(np.int32)
        if state.held.sieved and not _allowed(state, first, order, split.place, cut.axis):
            continue
        for array in (records.rows, records.codes, records.order, records.worth, records.mass):
            if len(array):
                array[first:last] = np.take(array[first:last], order, axis=0)  # three times as fast as by an index
        branch(tree, node, cut.axis, split.place, split.below, split.above)
        return True
    return False


def _allowed(state: PartitionState, first: int, order: IndexArray, place: int, axis: int) -> bool:
    records, k = state.records, state.k
    ends = ((0, place), (place, len(order)))
    return all(holds(state.held, records.rows, records.order, first, order, s, e, axis, k) for s, e in ends)


def done(state: PartitionState) -> bool:
    """Whether no node waits to be cut."""
    return bool(state.tree.counters[1] == 0)


def fraction(state: PartitionState) -> float:
    """Share of the work done, by m log2(m/k) over the waiting nodes."""
    waiting = state.tree.waiting[: state.tree.counters[1]]
    sizes = state.tree.span[waiting, 1] - state.tree.span[waiting, 0]
    left = float(np.sum(sizes * np.log2(np.maximum(sizes / state.k, 1.0))))
    size = len(state.records.order)
    whole = size * np.log2(max(size / state.k, 1.0))
    return float(1.0 - left / whole) if whole > 0.0 else 1.0


def result(state: PartitionState) -> Partition:
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
    return Partition(order, starts, leaf, axis, child, gap, span, state.roots)
