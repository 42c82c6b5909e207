"""The arrays that the kernels of the partition work on, named; kernels get most of these tuples by reference.

Notation
--------
N : records.  n : numeric columns.  D : columns of codes: the nominal ones, and one more for classes of kept columns
    where they count; 0 where there are numbers alone.  A *kind* of table is one or the other: kernels are written once,
    and numba compiles them for the kind of records that they get.
rows : (N, n), numeric values, NaN where missing; reordered in place so that every node is a contiguous run.
order : (N,) int32, original place of each row.  scratch : (N,).
codes : (N, D) int32, values numbered through all columns: column j's are start_j to start_{j+1} - 1; -1 where missing.
worth : (N, n) float32, a_i(x) range_i of each row, up to one factor; (0, n) where it is the same for all.
mass : (N,) float32, design weight over its mean; (0,) where all weigh the same. `worth` contains it.
price : (2, n), a_i range_i where it is the same for all rows (1 for Mondrian), else 0; and 1 / range of each column, 0
    for a constant one: widths are compared in shares of the range.
omega : (M,), cost of each value in a set of more than one (shares); M values in all columns.
scores : (Q, M), scores of values, of which a set costs the range; those of column j are score_start_j to
    score_start_{j+1} - 1.
ancestor : (M, depth) int32, node of the hierarchy above each value at each depth, from the root down to the value
    itself; one depth, the value itself, where there is no hierarchy.
least : (n,), width that a box has at least in each column, in the columns' units; (0,) where none is demanded.
    Predictions alone go by it (partition.gain).
extent : (2, n), what the records of both sides of a cut span at least along the column that is cut, 0 for none; and the
    value of which a side may consist all the same, NaN for none.
classes : the column of codes that has classes of kept columns; -1 for none.
block : a node's records sorted along every numeric axis; a node within it is a `Run`.  Of columns of all kinds one more
    row has them in any order.
cell : (2, n), lower and upper bounds of the cell of a node, its cuts in the middles of their gaps; inf and -inf where
    boxes have the bounds of their records, so that nothing is wider than these.
A node's records lack the same columns, for these are divided before all else (partition.partition).

science.md section 5, "Nominal columns": a record in S costs sum_{v in S} omega_v if |S| > 1, and max_S b - min_S b.
"""

from typing import Final, Generic, NamedTuple, TypeVar

import numpy as np

from surebox_core.compiling.references import by_reference
from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray, SingleArray

#: A range below this counts as none: it has no inverse, and shares of it would not be above 0.
NARROWEST: Final = 1e-300
#: More than there are of anything.
EVERY: Final = 2**31
_WAITING: Final = 256


def inverse_ranges(low: FloatArray, high: FloatArray) -> FloatArray:
    """1 / range of each column, (n,); 0 for a column that counts as constant."""
    width = high - low
    return np.divide(1.0, width, out=np.zeros(len(width)), where=width > NARROWEST)


def extents(columns: int, min_width: FloatArray | None = None, spikes: FloatArray | None = None) -> FloatArray:
    """`extent` of so many columns, (2, n): no widths, and no spikes, where there are none."""
    extent = np.array([np.zeros(columns), np.full(columns, np.nan)])
    if min_width is not None:
        extent[0] = min_width
    if spikes is not None:
        extent[1] = spikes
    return extent


@by_reference
class NumericRecords(NamedTuple):
    """Numbers alone, being reordered, and what their columns are worth."""

    rows: FloatArray
    order: IndexArray
    worth: SingleArray
    price: FloatArray
    scratch: FloatArray
    least: FloatArray
    extent: FloatArray
    classes: int


@by_reference
class MixedRecords(NamedTuple):
    """Numbers and codes, being reordered, and what their columns are worth."""

    rows: FloatArray
    codes: IndexArray
    worth: SingleArray
    mass: SingleArray
    order: IndexArray
    price: FloatArray
    omega: FloatArray
    scores: FloatArray
    score_start: IntArray
    start: IntArray
    ancestor: IndexArray
    least: FloatArray
    extent: FloatArray
    classes: int


@by_reference
class MixedSide(NamedTuple):
    """The known facts of one side of a cut while its records are gone through.

    low, high, worth : (n,), extremes and sums of worth.  weight, size : (D,), sum of omega and number of its values.
    least, most : (Q,), extremes of its scores.  total : [mass, sum of squares of the classes' sizes].
    stamp, tally : (M,), the side that last had a value, and how many records of that side have it (classes only).
    s : (1, n + D), cost of each column, of the nodes' records.  turn : [number of this side].
    cell : (2, n), of the node at hand; a side is as wide as its cell, or as its records where there are no cells.

    Of numbers alone a side is an array, (6, n): low, high, worth, s, and the two rows of the cell.
    """

    low: FloatArray
    high: FloatArray
    worth: FloatArray
    weight: FloatArray
    size: IntArray
    least: FloatArray
    most: FloatArray
    total: FloatArray
    stamp: IntArray
    tally: IntArray
    s: FloatArray
    turn: IntArray
    cell: FloatArray


@by_reference
class ValueOrders(NamedTuple):
    """Room for the orders of the values of a column in a node.

    line : (m,), a node's records in the order of their values.  rank, values, sums, held : (M,), of values in a node.
    """

    line: IndexArray
    rank: IntArray
    values: IntArray
    sums: FloatArray
    held: IntArray


OfSide = TypeVar("OfSide")
OfOrders = TypeVar("OfOrders")


@by_reference
class Block(NamedTuple, Generic[OfSide, OfOrders]):
    """Room for one large node's records, sorted along every axis, and for the trials on them.

    place : (m + 1,), the cost of each place along a line, -1 where it is no candidate.
    lines, back : (2, m + 1) and (m + 1,), of a whole line's best partition.
    top : (4, breadth), cost, axis, variant and place of the best candidates so far.
    waiting, cells : nodes of a trial, and their cells.
    side, orders : of numbers alone an array and nothing, else a `MixedSide` and `ValueOrders`.
    """

    sorted: IndexArray
    trial: IndexArray
    upper: ByteArray
    moved: IndexArray
    place: FloatArray
    back: IndexArray
    lines: FloatArray
    top: FloatArray
    waiting: IntArray
    cells: FloatArray
    side: OfSide
    orders: OfOrders


NumericBlock = Block[FloatArray, tuple[()]]
MixedBlock = Block[MixedSide, ValueOrders]


class Run(NamedTuple):
    """A node within a block: its records are [s, e) of every row of `by_axis`, counted from `base`.

    `by_axis` is `sorted`, or `trial` where cuts are tried out.
    """

    by_axis: IndexArray
    base: int
    s: int
    e: int


@by_reference
class Tree(NamedTuple):
    """Nodes made so far, and those that wait. An axis from n on is a column of codes.

    span : (nodes, 2), first and last + 1 row.  axis : (nodes,), axis of the node's cut, -1 for a leaf (or not yet cut).
    child : (nodes,), its lower child; the upper one follows.  gap : (nodes, 2), neighbouring values about the cut.
    waiting : nodes to be cut.  cells : (waiting, 2, n), of these.
    counters : [nodes made, nodes waiting, row values visited].
    """

    span: IntArray
    axis: IndexArray
    child: IndexArray
    gap: FloatArray
    waiting: IntArray
    counters: IntArray
    cells: FloatArray


class Effort(NamedTuple):
    """How much is tried.

    Attributes
    ----------
    breadth : how many cuts `optimal` carries to the end; with one it tries the orders of values that matter most only.
    boxes : in nodes of how many boxes at most it does so.
    axes : on how many axes, those of largest s_i; of numbers alone on all of them where a sample is measured.
    sample : how many records of a node larger than a block are measured at least.
    places : how many places along an axis, in each direction, are compared in a node that is not.
    block : the largest node, in records, whose orders along all axes are kept; of larger ones `fast` finds the middle
        by counting, and `optimal` compares borders of parts. No others are parted so.
    """

    breadth: int
    boxes: int
    axes: int
    sample: int = EVERY
    places: int = 128
    block: int = 4_096

    def reach(self, k: int) -> int:
        """Records of the largest node in which cuts are carried to the end."""
        return min(self.boxes * k, self.block // 2)


#: Up to how many records each holds: of numbers alone, and of columns of all kinds.
_NUMERIC: Final = (
    (30_000, Effort(12, 32, 8)),
    (300_000, Effort(4, 32, 4)),
    (EVERY, Effort(1, 1, 4, 4_096)),
)
_MIXED: Final = (
    (40_000, Effort(8, 16, EVERY)),
    (300_000, Effort(3, 16, EVERY)),
    (EVERY, Effort(1, 1, 3, 4_096, 8)),
)


def usual(records: int, *, mixed: bool) -> Effort:
    """The effort for so many records."""
    return next(effort for most, effort in (_MIXED if mixed else _NUMERIC) if records <= most)


def no_cells(room: int, columns: int) -> FloatArray:
    """(room, 2, columns), cells of nothing: no side is wider than its records."""
    return np.stack([np.full((room, columns), np.inf), np.full((room, columns), -np.inf)], axis=1)


def new_tree(size: int, runs: IntArray, k: int, columns: int) -> Tree:
    """A root for each run of records, all waiting; the first one on top."""
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


def new_side(records: MixedRecords) -> MixedSide:
    """No records yet."""
    n, columns, values, scores = (
        records.rows.shape[1],
        records.codes.shape[1],
        len(records.omega),
        len(records.scores),
    )
    return MixedSide(
        low=np.empty(n),
        high=np.empty(n),
        worth=np.empty(n),
        weight=np.empty(columns),
        size=np.empty(columns, dtype=np.int64),
        least=np.empty(scores),
        most=np.empty(scores),
        total=np.zeros(2),
        stamp=np.zeros(values, dtype=np.int64),
        tally=np.zeros(values, dtype=np.int64),
        s=np.empty((1, n + columns)),
        turn=np.zeros(1, dtype=np.int64),
        cell=np.empty((2, n)),
    )


def numeric_block(columns: int, size: int, breadth: int) -> NumericBlock:
    """Space for blocks of up to `size` records of numbers alone."""
    side = np.concatenate([np.empty((4, columns)), *no_cells(1, columns)])
    return _block(columns, columns, size, breadth, side, ())


def mixed_block(records: MixedRecords, size: int, breadth: int) -> MixedBlock:
    """Space for blocks of up to `size` records of columns of all kinds."""
    n, values = records.rows.shape[1], len(records.omega)
    orders = ValueOrders(
        line=np.empty(size, dtype=np.int32),
        rank=np.zeros(values, dtype=np.int64),
        values=np.zeros(values, dtype=np.int64),
        sums=np.zeros(values),
        held=np.zeros(values, dtype=np.int64),
    )
    return _block(n + 1, n, size, breadth, new_side(records), orders)


def _block(runs: int, columns: int, size: int, breadth: int, side: OfSide, orders: OfOrders) -> Block[OfSide, OfOrders]:
    """Space for so many runs of up to `size` records, and for cells of so many columns."""
    return Block(
        sorted=np.empty((runs, size), dtype=np.int32),
        trial=np.empty((runs, size), dtype=np.int32),
        upper=np.empty(size, dtype=np.uint8),
        moved=np.empty(size, dtype=np.int32),
        place=np.empty(size + 1),
        back=np.empty(size + 1, dtype=np.int32),
        lines=np.empty((2, size + 1)),
        top=np.empty((4, breadth)),
        waiting=np.empty(_WAITING, dtype=np.int64),
        cells=np.empty((_WAITING // 2, 2, columns)),
        side=side,
        orders=orders,
    )
