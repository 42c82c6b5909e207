"""Partitions `fast` and `mondrian`: the axis is the widest, the place is fixed (kernels).

Notation as in partition.arrays and partition.candidates, and
--------
order : (tries,), places in the order in which they are tried.

`fast` cuts the column of largest s_i: a numeric one where both sides contain multiples of k, a nominal one by
n_v / omega_v where the column itself then costs least. `mondrian` cuts the column widest in shares of its range, or of
its codebook, at the strict median; values of a nominal column, in order of frequency, at the place nearest to it. Both
try the next column where no cut is allowed; kept classes are parted where nothing else can be cut.

Where boxes must contain more than k records Mondrian takes the next axis where the median is not allowed: a strict cut
is allowable only if both sides are k-anonymous and l-diverse (LeFevre, DeWitt, Ramakrishnan 2006, sections 2.2 and 4;
Machanavajjhala et al. 2007, section 5, for l). `fast` first takes another place on the axis, the one that leaves room
for most boxes and, of those, is nearest to the middle. So a group of `mondrian` is left whole where no axis allows the
median, one of `fast` where no axis that matters allows any cut.

Numbers alone with no such demand are cut in place, without an order (`grow`); all others within a block.

science.md section 1, "From half-widths to a real subdivision": the axis is the one of largest mean(a_i) width_i, which
equalises a_i D_i as XK slide 9 asks; sides contain multiples of k.
"""

from typing import Final

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, SingleArray, whole
from workers.algorithms.boxes.partition.arrays import MixedBlock, MixedRecords, NumericBlock, NumericRecords, Run, Tree
from workers.algorithms.boxes.partition.candidates import Block, forbid, line_of, mark
from workers.algorithms.boxes.partition.constraints.holding import ConstraintArrays, holds
from workers.algorithms.boxes.partition.gain import Records, add_value, cell, clear, scores, uncut
from workers.algorithms.boxes.partition.kinds import by_kind
from workers.algorithms.boxes.partition.search import split
from workers.algorithms.boxes.partition.selection import (
    LESS,
    better,
    can_part,
    cut_at_median,
    cut_at_multiple,
    is_open,
    spans,
    widest,
)
from workers.algorithms.boxes.partition.tree import branch, copy_cell

_TRIES: Final = 64  # places of a column that `fast` looks at where demands forbid some


@kernel
def score_axes(
    rows: FloatArray, worth: SingleArray, price: FloatArray, first: int, last: int, cell: FloatArray, extent: FloatArray
) -> None:
    """Lowest value, highest value and mean(a_j) width_j of a node on every axis, into the rows of `extent`, (3, n).

    The width is that of the node's cell where there are cells; 0 where all records have one value, which no cut parts.
    """
    n = rows.shape[1]
    low, high, score = extent[0], extent[1], extent[2]
    for j in range(n):
        low[j] = high[j] = rows[first, j]
        score[j] = price[0, j]
    for p in range(first + 1, last):
        for j in range(n):
            value = rows[p, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
    if len(worth) > 0:
        for p in range(first, last):
            for j in range(n):
                score[j] += worth[p, j]
        for j in range(n):
            score[j] /= last - first
    for j in range(n):
        width = max(high[j], cell[1, j]) - min(low[j], cell[0, j]) if high[j] > low[j] else 0.0
        score[j] *= width * price[1, j]


@kernel
def split_rows(
    rows: FloatArray, worth: SingleArray, order: IndexArray, first: int, last: int, axis: int, threshold: float
) -> None:
    """Bring the rows below the threshold to the front (Hoare)."""
    n = rows.shape[1]
    weighed = len(worth) > 0
    i = first
    q = last - 1
    while True:
        while i < last and rows[i, axis] < threshold:
            i += 1
        while q >= first and rows[q, axis] >= threshold:
            q -= 1
        if i > q:
            return
        for j in range(n):
            rows[i, j], rows[q, j] = rows[q, j], rows[i, j]
            if weighed:
                worth[i, j], worth[q, j] = worth[q, j], worth[i, j]
        order[i], order[q] = order[q], order[i]
        i += 1
        q -= 1


@kernel
def grow(median: bool, k: int, records: NumericRecords, tree: Tree, budget: int) -> None:
    """Cut waiting nodes until none waits or about `budget` row values have been visited.

    The smaller child is taken first, so at most log2 N nodes wait. Axes are tried from the largest score down; one with
    score 0 is never cut. O(n N log(N/k)) in all.
    """
    rows, worth, scratch = records.rows, records.worth, records.scratch
    span, counters = tree.span, tree.counters
    n = rows.shape[1]
    extent = np.empty((3, n))
    score = extent[2]
    while counters[1] > 0 and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        first = span[node, 0]
        last = span[node, 1]
        m = last - first
        if m < 2 * k:
            continue
        score_axes(rows, worth, records.price, first, last, tree.cells[counters[1]], extent)
        counters[2] += m * (n + 4)
        while True:
            axis = widest(score)
            if axis < 0:
                break
            score[axis] = 0.0
            width, spike = records.extent[0, axis], records.extent[1, axis]
            if not can_part(extent[0, axis], extent[1, axis], width, spike):
                continue
            for p in range(m):
                scratch[p] = rows[first + p, axis]
            if median:
                p, below, above = cut_at_median(scratch, m, k, width, spike)
            else:
                p, below, above = cut_at_multiple(scratch, m, k, width, spike)
            counters[2] += 2 * m
            if p > 0:
                split_rows(rows, worth, records.order, first, last, axis, above)
                branch(tree, node, axis, p, below, above)
                break


def _first(
    records: NumericRecords,  # noqa: ARG001
    held: ConstraintArrays,  # noqa: ARG001
    line: IndexArray,  # noqa: ARG001
    base: int,  # noqa: ARG001
    axis: int,  # noqa: ARG001
    k: int,  # noqa: ARG001
    order: IndexArray,
    count: int,
) -> int:
    return whole(order[0]) if count > 0 else whole(0)


def _first_that_holds(
    records: MixedRecords,
    held: ConstraintArrays,
    line: IndexArray,
    base: int,
    axis: int,
    k: int,
    order: IndexArray,
    count: int,
) -> int:
    rows, own = records.rows, records.order
    for z in range(count):
        p = whole(order[z])
        if not held.sieved:
            return p
        if holds(held, rows, own, base, line, whole(0), p, axis, k) and holds(
            held, rows, own, base, line, p, len(line), axis, k
        ):
            return p
    return whole(0)


#: The first of some places whose sides contain the demands, those of numbers being so already; 0 for none.
_settled = by_kind(_first, _first_that_holds)


@inner_kernel
def _by_room(place: FloatArray, m: int, k: int, order: IndexArray) -> int:
    """Candidate places, those that leave room for most boxes first, then those nearest to the middle."""
    count = whole(0)
    while count < len(order):
        best = whole(0)
        for p in range(k, m - k + 1):
            if place[p] == 0.0 and better(p, best, m, k):
                best = whole(p)
        if best == 0:
            break
        place[best] = -1.0
        order[count] = best
        count += 1
    return count


@inner_kernel
def _by_cost(
    records: MixedRecords, block: MixedBlock, line: IndexArray, base: int, column: int, k: int, order: IndexArray
) -> int:
    """Candidate places between values, those after which the column itself costs least first."""
    side, place, lines, m = block.side, block.place, block.lines, len(line)
    for backward in (False, True):
        clear(side)
        for c in range(1, m):
            v = whole(records.codes[base + line[m - c if backward else c - 1], column])
            if side.stamp[v] != side.turn[0]:
                add_value(records, side, column, v)
            p = m - c if backward else c
            if place[p] < 0.0:
                continue
            cost = side.weight[column] if side.size[column] > 1 else 0.0
            for q in range(records.score_start[column], records.score_start[column + 1]):
                cost += side.most[q] - side.least[q]
            lines[1 if backward else 0, p] = c * cost
    count = whole(0)
    while count < len(order):
        best, least = whole(0), np.inf
        for p in range(k, m - k + 1):
            if place[p] == 0.0 and lines[0, p] + lines[1, p] < least * LESS:
                best, least = whole(p), lines[0, p] + lines[1, p]
        if best == 0:
            break
        place[best] = -1.0
        order[count] = best
        count += 1
    return count


@inner_kernel
def _usual(rows: FloatArray, line: IndexArray, base: int, axis: int, k: int, median: bool) -> int:
    """Place of the median, or the open gap about the middle multiple of k; 0 where it is none.

    `mondrian`: the lower side has all values up to the lower median (LeFevre, DeWitt, Ramakrishnan 2006, section 4).
    """
    m = len(line)
    if median:
        p = whole((m + 1) // 2)
        while p < m and rows[base + line[p - 1], axis] == rows[base + line[p], axis]:
            p += 1
        if k <= p <= m - k and is_open(rows[base + line[p - 1], axis], rows[base + line[p], axis]):
            return p
        return whole(0)
    middle = whole(m // k // 2 * k)
    low = middle
    while low >= k and not is_open(rows[base + line[low - 1], axis], rows[base + line[low], axis]):
        low -= 1
    if low == middle:
        return middle
    high = middle + 1
    while high <= m - k and not is_open(rows[base + line[high - 1], axis], rows[base + line[high], axis]):
        high += 1
    if low < k:
        return high if high <= m - k else whole(0)
    return low if high > m - k or better(low, high, m, k) else high


@inner_kernel
def _are_wide(rows: FloatArray, line: IndexArray, base: int, axis: int, p: int, width: float, spike: float) -> bool:
    """Test that both sides of a cut of a line span the width, where they must."""
    below, above = rows[base + line[p - 1], axis], rows[base + line[p], axis]
    low, high = rows[base + line[0], axis], rows[base + line[len(line) - 1], axis]
    return bool(spans(low, below, width, spike) and spans(above, high, width, spike))


@inner_kernel
def _most_frequent(place: FloatArray, m: int, k: int) -> int:
    """The place between values in order of frequency that is nearest to the middle; 0 for none."""
    best = whole(0)
    for p in range(k, m - k + 1):
        if place[p] == 0.0 and (best == 0 or abs(2 * p - m) < abs(2 * best - m)):
            best = whole(p)
    return best


def _no_values(
    records: NumericRecords,  # noqa: ARG001
    block: NumericBlock,  # noqa: ARG001
    line: IndexArray,  # noqa: ARG001
    base: int,  # noqa: ARG001
    axis: int,  # noqa: ARG001
    k: int,  # noqa: ARG001
    median: bool,  # noqa: ARG001
    order: IndexArray,  # noqa: ARG001
) -> int:
    return whole(0)


def _of_values(
    records: MixedRecords,
    block: MixedBlock,
    line: IndexArray,
    base: int,
    axis: int,
    k: int,
    median: bool,
    order: IndexArray,
) -> int:
    column = axis - records.rows.shape[1]
    if column == records.classes:
        return _by_room(block.place, len(line), k, order)
    if median:
        order[0] = _most_frequent(block.place, len(line), k)
        return whole(1 if order[0] > 0 else 0)
    return _by_cost(records, block, line, base, column, k, order)


#: Places between values into `order`, those to be tried first at the front; how many.
_between_values = by_kind(_no_values, _of_values)


@inner_kernel
def _column(
    records: Records,
    block: Block,
    held: ConstraintArrays,
    run: Run,
    axis: int,
    k: int,
    median: bool,
    order: IndexArray,
) -> tuple[int, IndexArray]:
    """The place at which a column is cut, 0 for none, and its line."""
    base = run.base
    groups, line = line_of(records, block, run, axis, whole(0))
    few = order if held.sieved else order[:1]
    if axis >= records.rows.shape[1]:
        count = _between_values(records, block, line, base, axis, k, median, few) if groups > 0 else whole(0)
        return _settled(records, held, line, base, axis, k, few, count), line
    width, spike = records.extent[0, axis], records.extent[1, axis]
    few[0] = _usual(records.rows, line, base, axis, k, median)
    if few[0] == 0:
        return whole(0), line
    forbid(records, held, base, line, k)
    wide = _are_wide(records.rows, line, base, axis, few[0], width, spike)
    if (held.marked and held.allowed[few[0]] == 0) or not wide:
        p = whole(0)
    else:
        p = _settled(records, held, line, base, axis, k, few, whole(1))
    if p == 0 and not median:
        mark(records.rows, line, held.allowed, block.place, base, axis, k, whole(1), width, spike)
        count = _by_room(block.place, len(line), k, few)
        p = _settled(records, held, line, base, axis, k, few, count)
    return p, line


@kernel
def grow_by_width(
    median: bool,
    k: int,
    base: int,
    floor: int,
    records: Records,
    block: Block,
    held: ConstraintArrays,
    tree: Tree,
    budget: int,
) -> None:
    """Cut the nodes of the block that wait above `floor` until none does or the budget is spent.

    O(n N log(N/k)) where most first places are allowed, n times as much where none is.
    """
    counters, n = tree.counters, records.rows.shape[1]
    order = np.empty(_TRIES, dtype=np.int32)
    while counters[1] > floor and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        s, e = tree.span[node, 0] - base, tree.span[node, 1] - base
        if e - s < 2 * k:
            continue
        copy_cell(tree.cells[counters[1]], cell(block.side))
        run = Run(block.sorted, base, s, e)
        uncut(records, run, block.side)
        score = scores(block.side).copy()
        counters[2] += 3 * (e - s) * len(score)
        last = False
        while True:
            axis = widest(score)
            if axis < 0:  # kept classes are parted where nothing else can be cut
                if last or records.classes < 0:
                    break
                axis, last = n + records.classes, True
            score[axis] = 0.0
            p, line = _column(records, block, held, run, axis, k, median, order)
            if p > 0:
                split(records, block, tree, run, line, node, axis, p)
                break
