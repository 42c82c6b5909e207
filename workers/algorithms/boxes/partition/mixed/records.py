"""The arrays that the kernels for columns of all kinds work on, named.

Notation
--------
n : numeric columns.  D : columns of codes: the nominal ones, and one more for classes of kept columns where they count.
rows : (N, n), numeric values, NaN where missing; reordered in place so that every node is a contiguous run.
codes : (N, D) int32, values numbered through all columns: column j's are start_j to start_{j+1} - 1; -1 where missing.
worth : (N, n) float32, a_i(x) range_i of each row; (0, n) where it is the same for all.
mass : (N,) float32, design weight over its mean; (0,) where all weigh the same. `worth` contains it.
price : (2, n), a_i range_i where it is the same for all rows, else 0; and 1 / range of each column.
omega : (M,), cost of each value in a set of more than one (shares); M values in all columns.
scores : (Q, M), scores of values, of which a set costs the range; those of column j are score_start_j to
    score_start_{j+1} - 1.
ancestor : (M, depth) int32, node of the hierarchy above each value at each depth, from the root down to the value
    itself; one depth, the value itself, where there is no hierarchy.
A node's records lack the same columns, for these are divided before all else (mixed.partition).

science.md section 5, "Nominal columns": a record in S costs sum_{v in S} omega_v if |S| > 1, and max_S b - min_S b.
"""

from typing import NamedTuple

import numpy as np

from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray, SingleArray


class MixedRecords(NamedTuple):
    """Records being reordered, and what their columns are worth."""

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


class Side(NamedTuple):
    """What is known of one side of a cut while its records are gone through.

    low, high, worth : (n,), extremes and sums of worth.  weight, size : (D,), sum of omega and number of its values.
    least, most : (Q,), extremes of its scores.  total : [mass, sum of squares of the classes' sizes].
    stamp, tally : (M,), the side that last had a value, and how many records of that side have it (classes only).
    s : (n + D,), cost of each column, of the nodes' records.  turn : [number of this side].
    cell : (2, n), bounds of the cell of the node at hand, inf and -inf where boxes have the bounds of their records; a
        side is as wide as its cell, or as its records where there are no cells.
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


class Room(NamedTuple):
    """Space for one block: its records in order along every numeric axis, last in any order; and what is tried there.

    line : (m,), a node's records in the order of the cut at hand.  rank, sums, held : (M,), of values in a node.
    place : (m + 1,), the cost of each place along a line, -1 where it is no candidate.
    places : candidates of a node, per axis and direction.
    """

    sorted: IndexArray
    trial: IndexArray
    upper: ByteArray
    moved: IndexArray
    line: IndexArray
    rank: IntArray
    values: IntArray
    sums: FloatArray
    held: IntArray
    place: FloatArray
    back: IndexArray
    lines: FloatArray
    top: FloatArray
    waiting: IntArray
    cells: FloatArray
    places: int


class Tree(NamedTuple):
    """Nodes made so far, and those that wait. An axis from n on is a column of codes."""

    span: IntArray
    axis: IndexArray
    child: IndexArray
    gap: FloatArray
    waiting: IntArray
    counters: IntArray
    cells: FloatArray


def new_side(records: MixedRecords) -> Side:
    """No records yet."""
    n, columns, values, scores = (
        records.rows.shape[1],
        records.codes.shape[1],
        len(records.omega),
        len(records.scores),
    )
    return Side(
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
        s=np.empty(n + columns),
        turn=np.zeros(1, dtype=np.int64),
        cell=np.empty((2, n)),
    )


def new_room(records: MixedRecords, size: int, breadth: int, places: int) -> Room:
    """Space for blocks of up to `size` records."""
    n, values = records.rows.shape[1], len(records.omega)
    return Room(
        sorted=np.empty((n + 1, size), dtype=np.int32),
        trial=np.empty((n + 1, size), dtype=np.int32),
        upper=np.empty(size, dtype=np.uint8),
        moved=np.empty(size, dtype=np.int32),
        line=np.empty(size, dtype=np.int32),
        rank=np.zeros(values, dtype=np.int64),
        values=np.zeros(values, dtype=np.int64),
        sums=np.zeros(values),
        held=np.zeros(values, dtype=np.int64),
        place=np.empty(size + 1),
        back=np.empty(size + 1, dtype=np.int32),
        lines=np.empty((2, size + 1)),
        top=np.empty((4, breadth)),
        waiting=np.empty(256, dtype=np.int64),
        cells=np.empty((128, 2, n)),
        places=places,
    )
