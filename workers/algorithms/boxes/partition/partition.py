"""Partition of records into groups of at least k by axis-parallel cuts: init, step, done, result.

Notation
--------
x : (N, n), records, in the columns' units.
k : least records per box.
a_i(x) range_i : (n,) or (N, n), what column i's whole range is worth to the statistics at a record, up to one common
    factor; 0 on a free axis. Only ratios between columns matter.

Sources: science.md section 1, "From half-widths to a real subdivision"; LeFevre et al. 2006 for `mondrian`.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from surebox_core.extremes import extremes
from surebox_core.moments import check_records
from surebox_core.types import FloatArray, IndexArray, IntArray, SingleArray
from workers.algorithms.boxes.partition.demanding import grow_within_demands
from workers.algorithms.boxes.partition.diversity import BoxConstraints, check_demands, rules
from workers.algorithms.boxes.partition.kernels import grow
from workers.algorithms.boxes.partition.optimal import grow_by_gain
from workers.algorithms.boxes.partition.tree import Block, Effort, NumericRecords, Rules, Tree, inverse_ranges
from workers.algorithms.core.errors import InfeasibleKError

Method = Literal["optimal", "fast", "mondrian"]

STEP_VALUES: Final = 40_000_000  # of rows, looked at in a step: about 0.2 s
_WAITING = 128


@dataclass(frozen=True)
class Search:
    """How far `optimal` looks.

    Attributes
    ----------
    block : records that it keeps sorted along every axis at a time.
    efforts : up to how many records it searches how many axes and tries how many cuts, in nodes of how many boxes.
    """

    block: int = 4_096
    efforts: tuple[tuple[int, int, int, int], ...] = ((30_000, 8, 12, 32), (300_000, 4, 4, 32), (2**31, 2, 1, 1))

    def effort(self, records: int, k: int) -> Effort:
        """What it is for so many records."""
        axes, breadth, boxes = next(effort[1:] for effort in self.efforts if records <= effort[0])
        return Effort(axes, breadth, min(boxes * k, self.block // 2))


USUAL: Final = Search()


@dataclass(frozen=True)
class Partition:
    """Groups of records and the cuts that made them.

    Attributes
    ----------
    order : (N,) int32, records, group after group.
    starts : (B + 1,), where each group starts in `order`.
    leaf : (nodes,), group of a leaf, -1 for a cut node. Node 0 is the root, children have larger numbers than parents.
    axis, child : (nodes,), a cut node's axis and lower child (the upper one follows).
    gap : (nodes, 2), the neighbouring values about a cut; an original value each, never to be published.
    """

    order: IndexArray
    starts: IntArray
    leaf: IntArray
    axis: IndexArray
    child: IndexArray
    gap: FloatArray

    @property
    def counts(self) -> IntArray:
        """(B,), records per group."""
        return np.diff(self.starts)


@dataclass(frozen=True)
class PartitionState:
    """A partition being made. Its arrays are worked on in place: a state is used up by `step`."""

    method: Method
    k: int
    effort: Effort
    records: NumericRecords
    tree: Tree
    block: Block
    rules: Rules


def _check(x: FloatArray, k: int, worth: FloatArray | SingleArray, demands: BoxConstraints) -> None:
    """Refuse what `init` says it refuses."""
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
    search: Search = USUAL,
    cell: FloatArray | None = None,
) -> PartitionState:
    """Start with one group of all records.

    Parameters
    ----------
    x : (N, n) float64, finite. Values closer than 1e-300 of their column's range may stay together.
    k : at least 1, at most N.
    worth : (n,) or (N, n), a_i(x) range_i up to one factor; per record it is float32 and used up.
    method : `optimal` (cut of least predicted uncertainty, the best few tried out), `fast` (axis of largest
        mean(a_i) width_i, sides of multiples of k) or `mondrian` (widest share of the range, strict median; `worth`
        is ignored).
    demands : what a box must hold beside k records. All records are then one block.
    search : how far `optimal` looks.
    cell : (2, n), outer bounds, where boxes are cells: `optimal` and `fast` then cut by the widths of these. None where
        they have the bounds of their records.

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
    nodes = 2 * (size // k) + 1
    span = np.zeros((nodes, 2), dtype=np.int64)
    span[0] = 0, size
    constant = np.array(worth, dtype=np.float64) if same else np.zeros(columns)
    records = NumericRecords(
        rows=np.array(x, dtype=np.float64, order="C"),
        order=np.arange(size, dtype=np.int32),
        worth=np.empty((0, columns), np.float32) if same else np.ascontiguousarray(worth, dtype=np.float32),
        price=np.array([constant, inverse_ranges(*extremes(x))]),
        scratch=np.empty(size),
    )
    tree = Tree(
        span=span,
        axis=np.full(nodes, -1, dtype=np.int32),
        child=np.zeros(nodes, dtype=np.int32),
        gap=np.zeros((nodes, 2)),
        waiting=np.zeros(_WAITING, dtype=np.int64),
        counters=np.array([1, 1, 0], dtype=np.int64),
        cells=no_cells(_WAITING, columns),
    )
    if cell is not None and method != "mondrian":
        tree.cells[0] = cell
    unruled = min(size, search.block) if method == "optimal" else 0
    room = unruled if demands.none else size
    effort = search.effort(size, k)
    block = _block(room, columns, effort.breadth)
    return PartitionState(method, k, effort, records, tree, block, rules(demands, k, room))


def no_cells(room: int, columns: int) -> FloatArray:
    """(room, 2, columns), cells of nothing: no side is wider than its records."""
    return np.stack([np.full((room, columns), np.inf), np.full((room, columns), -np.inf)], axis=1)


def _block(room: int, columns: int, breadth: int) -> Block:
    return Block(
        span=np.zeros(4, dtype=np.int64),
        sorted=np.empty((columns, room), dtype=np.int32),
        trial=np.empty((columns, room), dtype=np.int32),
        upper=np.empty(room, dtype=np.uint8),
        moved=np.empty(room, dtype=np.int32),
        lines=np.empty((2, room + 1)),
        back=np.empty(room + 1, dtype=np.int32),
        side=np.concatenate([np.empty((4, columns)), *no_cells(1, columns)]),
        top=np.empty((3, breadth)),
        waiting=np.empty(_WAITING, dtype=np.int64),
        cells=np.empty((_WAITING // 2, 2, columns)),
    )


def step(state: PartitionState, *, values: int = STEP_VALUES) -> PartitionState:
    """Cut for about a fifth of a second, by values looked at: the top cuts first, then subtree after subtree."""
    if state.method == "optimal":
        grow_by_gain(state.k, state.effort, state.records, state.tree, state.block, state.rules, values)
    elif state.rules.any:
        median = state.method == "mondrian"
        grow_within_demands(median, state.k, state.records, state.tree, state.block, state.rules, values)
    else:
        grow(state.method == "mondrian", state.k, state.records, state.tree, values)
    return state


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
    return Partition(order, starts, leaf, axis, tree.child[:nodes].copy(), tree.gap[:nodes].copy())
