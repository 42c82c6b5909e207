"""Partition `optimal`: a tree of cuts chosen by gain, with the best few candidates of small nodes tried out.

Notation as in partition.kernels and partition.gain.

Large nodes: both sides of the borders of 64 equal bins per axis are compared, in one pass per axis (partition.bins).
Nodes that fit a block are sorted along every axis once; sorted runs stay sorted as cuts divide them. From `reach`
records down, the `breadth` cheapest candidates are each carried to the end by always taking the cheapest cut, and the
one whose boxes cost least is taken: a policy rolled out is never worse than the policy itself (Bertsekas 1997). Where
one axis matters the best partition is found by dynamic programming.

Nothing here depends on the order of records, but for ties in gain.
"""

from collections.abc import Callable

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, SingleArray, truth, whole
from workers.algorithms.boxes.partition.bins import coarse
from workers.algorithms.boxes.partition.gain import candidates, clear, extend, sizes
from workers.algorithms.boxes.partition.kernels import branch, copy_cell, divide_cell, split_rows
from workers.algorithms.boxes.partition.line import LESS
from workers.algorithms.boxes.partition.selection import middle
from workers.algorithms.boxes.partition.tree import Block, Effort, NumericRecords, Rules, Tree

_SORTING = 16  # row values visited that sorting a value is worth


def grow_by_gain(
    k: int, effort: Effort, records: NumericRecords, tree: Tree, block: Block, rules: Rules, budget: int
) -> None:
    """Cut waiting nodes until none waits or about `budget` row values have been visited.

    O(n axes N log(N/k)), times `breadth` log(reach/k) on the way from `reach` records down.
    """
    counters = tree.counters
    counters[2] = 0
    while counters[1] > 0 and counters[2] < budget:
        node = int(tree.waiting[counters[1] - 1])
        first, last = (int(end) for end in tree.span[node])
        if block.span[1] > 0:
            go_on(records, tree, block, lambda: grow_block(k, effort, records, tree, block, rules, budget))
        elif 2 * k <= last - first <= block.sorted.shape[1]:
            block.span[:] = first, last, counters[1] - 1, 0
        else:
            counters[1] -= 1
            if last - first >= 2 * k:
                _cut_large(k, effort, records, tree, node)


def _cut_large(k: int, effort: Effort, records: NumericRecords, tree: Tree, node: int) -> None:
    """Cut a node too large for a block."""
    first, last = (int(end) for end in tree.span[node])
    n = int(records.rows.shape[1])
    cut = coarse(records, first, last, tree.cells[tree.counters[1]], k, effort.axes)
    tree.counters[2] += (last - first) * n * (min(n, effort.axes) + 1)
    if cut.place > 0:
        split_rows(records.rows, records.worth, records.order, first, last, cut.axis, cut.above)
        branch(tree, node, cut.axis, cut.place, cut.below, cut.above)


def go_on(records: NumericRecords, tree: Tree, block: Block, cut: Callable[[], None]) -> None:
    """Sort a block's records along every axis, cut them, and write back the order in which the cuts leave them.

    Parameters
    ----------
    records, tree, block : worked on in place.
    cut : cuts the block's nodes for a while; called once they are sorted.
    """
    first, last, floor, axis = (int(each) for each in block.span)
    m = last - first
    if axis < len(block.sorted):
        block.sorted[axis, :m] = np.argsort(records.rows[first:last, axis])
        block.span[3] += 1
        tree.counters[2] += _SORTING * m
        return
    cut()
    if tree.counters[1] == floor:
        records.order[first:last] = records.order[first + block.sorted[0, :m]]
        block.span[:] = 0


@inner_kernel
def divide(upper: ByteArray, moved: IndexArray, index: IndexArray, s: int, e: int, axis: int, p: int) -> None:
    """Bring the first p records along an axis to the front of every axis' run, which stays sorted."""
    for z in range(s, e):
        upper[index[axis, z]] = 1 if z >= s + p else 0
    for i in range(index.shape[0]):
        if i == axis:
            continue
        low = s
        high = 0
        for z in range(s, e):
            q = index[i, z]
            index[i, low] = q
            moved[high] = q
            low += 1 - upper[q]
            high += upper[q]
        for z in range(high):
            index[i, low + z] = moved[z]


@inner_kernel
def _cost(
    rows: FloatArray,
    worth: SingleArray,
    price: FloatArray,
    index: IndexArray,
    span: tuple[int, int, int],
    side: FloatArray,
) -> float:
    """Sum over records of a box of sum_i a_i w_i."""
    base, s, e = span
    clear(side)
    for p in range(s, e):
        extend(rows, worth, base + index[0, p], side)
    return (e - s) * sizes(price, len(worth) == 0, e - s, side)


@inner_kernel
def _border(records: NumericRecords, block: Block, axis: int, place: int) -> float:
    """Where a cut of the trial before a place along an axis is reckoned to lie."""
    rows, base, run = records.rows, block.span[0], block.trial
    return middle(rows[base + run[axis, place - 1], axis], rows[base + run[axis, place], axis])


@inner_kernel
def _carried(
    records: NumericRecords,
    block: Block,
    rules: Rules,
    cell: FloatArray,
    axis: int,
    s: int,
    p: int,
    e: int,
    k: int,
    axes: int,
    bound: float,
) -> tuple[float, int]:
    """Cost of both sides of a cut of the trial when the cheapest cut is always taken; given up at the bound."""
    trial, waiting, cells, side = block.trial, block.waiting, block.cells, block.side
    copy_cell(cell, cells[0])
    divide_cell(cells, whole(0), axis, _border(records, block, axis, s + p), truth(False))
    waiting[0] = s + p
    waiting[1] = e
    waiting[2] = s
    waiting[3] = s + p
    top = 4
    work = 0
    total = 0.0
    while top > 0 and total < bound:
        top -= 2
        s, e = waiting[top], waiting[top + 1]
        copy_cell(cells[top // 2], side[4:])
        count, exact = 0, False
        if e - s >= 2 * k:
            count, exact = candidates(records, block, rules, trial, s, e, k, axes, whole(1))
            work += e - s
        if count == 0:
            span = (block.span[0], s, e)
            total += _cost(records.rows, records.worth, records.price, trial, span, side)
            continue
        if exact:
            total += block.top[0, 0]
            continue
        axis, p = whole(block.top[1, 0]), whole(block.top[2, 0])
        divide(block.upper, block.moved, trial, s, e, axis, p)
        larger = 0 if 2 * p > e - s else 2
        waiting[top + larger] = s
        waiting[top + larger + 1] = s + p
        waiting[top + 2 - larger] = s + p
        waiting[top + 3 - larger] = e
        divide_cell(cells, top // 2, axis, _border(records, block, axis, s + p), larger == 0)
        top += 4
    return total, work


@inner_kernel
def _tried(
    records: NumericRecords, block: Block, rules: Rules, cell: FloatArray, s: int, e: int, k: int, axes: int, count: int
) -> tuple[int, int, int]:
    """The candidate that costs least when carried to the end: axis, place; and row visits."""
    axis = np.empty(count, np.int64)
    place = np.empty(count, np.int64)
    for z in range(count):
        axis[z] = block.top[1, z]
        place[z] = block.top[2, z]
    best = 0
    least = np.inf
    work = 0
    for z in range(count):
        for i in range(block.trial.shape[0]):
            for p in range(s, e):
                block.trial[i, p] = block.sorted[i, p]
        divide(block.upper, block.moved, block.trial, s, e, axis[z], place[z])
        cost, visited = _carried(records, block, rules, cell, axis[z], s, place[z], e, k, axes, least)
        work += visited
        if cost < least * LESS:
            best = z
            least = cost
    return axis[best], place[best], work


@kernel
def grow_block(
    k: int, effort: Effort, records: NumericRecords, tree: Tree, block: Block, rules: Rules, budget: int
) -> None:
    """Cut the nodes of the block until none waits or the budget is spent."""
    base, floor = block.span[0], block.span[2]
    rows, index = records.rows, block.sorted
    n = rows.shape[1]
    each = n * (min(n, effort.axes) + 1)
    counters = tree.counters
    while counters[1] > floor and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        s, e = tree.span[node, 0] - base, tree.span[node, 1] - base
        if e - s < 2 * k:
            continue
        copy_cell(tree.cells[counters[1]], block.side[4:])
        breadth = effort.breadth if 3 * k <= e - s <= effort.reach else whole(1)
        count, exact = candidates(records, block, rules, index, s, e, k, effort.axes, breadth)
        counters[2] += (e - s) * each
        if count == 0:
            continue
        axis, p = whole(block.top[1, 0]), whole(block.top[2, 0])
        if count > 1 and not exact:
            axis, p, work = _tried(records, block, rules, tree.cells[counters[1]], s, e, k, effort.axes, count)
            counters[2] += 2 * work * each
        divide(block.upper, block.moved, index, s, e, axis, p)
        below = rows[base + index[axis, s + p - 1], axis]
        branch(tree, node, axis, p, below, rows[base + index[axis, s + p], axis])
