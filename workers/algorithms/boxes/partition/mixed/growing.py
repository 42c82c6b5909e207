"""Trees of cuts over columns of all kinds, within a block of records (kernels). Notation as in mixed.candidates.

`optimal` takes the cut of least predicted cost, and from `reach` records down carries the best few to the end, as
partition.optimal does; `fast` and `mondrian` take that of mixed.widths.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, truth, whole
from workers.algorithms.boxes.partition.kernels import copy_cell, divide_cell
from workers.algorithms.boxes.partition.line import LESS
from workers.algorithms.boxes.partition.mixed.candidates import candidates, follow, uncut
from workers.algorithms.boxes.partition.mixed.holding import ConstraintArrays
from workers.algorithms.boxes.partition.mixed.records import MixedRecords, Room, Side, Tree
from workers.algorithms.boxes.partition.mixed.widths import by_width
from workers.algorithms.boxes.partition.selection import middle

OPTIMAL, FAST, MONDRIAN = 0, 1, 2
_TRIES = 64  # places of a column that `fast` looks at where demands forbid some


@inner_kernel
def divide(room: Room, index: IndexArray, s: int, e: int, p: int) -> None:
    """Bring the first p records of `line` to the front of every run, which keeps its order."""
    upper, moved, line = room.upper, room.moved, room.line
    for z in range(e - s):
        upper[line[z]] = 1 if z >= p else 0
    for i in range(index.shape[0]):
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
def _border(records: MixedRecords, room: Room, base: int, axis: int, p: int) -> float:
    """Where a cut of the line is reckoned to lie; 0 between values."""
    if axis >= records.rows.shape[1]:
        return 0.0
    return middle(records.rows[base + room.line[p - 1], axis], records.rows[base + room.line[p], axis])


@inner_kernel
def _carried(
    records: MixedRecords,
    room: Room,
    side: Side,
    classes: int,
    demands: ConstraintArrays,
    ruled: bool,
    base: int,
    cell: FloatArray,
    axis: int,
    s: int,
    p: int,
    e: int,
    k: int,
    axes: int,
    bound: float,
) -> tuple[float, int]:
    """Cost of both sides of a cut of the trial when the cheapest cut is always taken; given up at the bound.

    The node's records stand in `line` as the cut orders them.
    """
    trial, waiting, cells = room.trial, room.waiting, room.cells
    copy_cell(cell, cells[0])
    divide_cell(cells, whole(0), axis, _border(records, room, base, axis, p), truth(False))
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
        copy_cell(cells[top // 2], side.cell)
        count, exact = 0, False
        if e - s >= 2 * k:
            count, exact = candidates(
                records, room, side, classes, demands, ruled, trial, base, s, e, k, whole(1), truth(False), axes
            )
            work += e - s
        if count == 0:
            total += (e - s) * uncut(records, classes, trial, base, s, e, side)
            continue
        if exact:
            total += room.top[0, 0]
            continue
        axis, p = whole(room.top[1, 0]), whole(room.top[3, 0])
        follow(records, room, trial, base, s, e, axis, whole(room.top[2, 0]), k, truth(False))
        larger = 0 if 2 * p > e - s else 2
        divide_cell(cells, top // 2, axis, _border(records, room, base, axis, p), larger == 0)
        divide(room, trial, s, e, p)
        waiting[top + larger] = s
        waiting[top + larger + 1] = s + p
        waiting[top + 2 - larger] = s + p
        waiting[top + 3 - larger] = e
        top += 4
    return total, work


@inner_kernel
def _tried(
    records: MixedRecords,
    room: Room,
    side: Side,
    classes: int,
    demands: ConstraintArrays,
    ruled: bool,
    base: int,
    cell: FloatArray,
    s: int,
    e: int,
    k: int,
    axes: int,
    count: int,
) -> tuple[int, int]:
    """The candidate that costs least when carried to the end is put first; row visits."""
    ways = room.top[1:, :count].copy()
    best = 0
    least = np.inf
    work = 0
    for z in range(count):
        for i in range(room.trial.shape[0]):
            for p in range(s, e):
                room.trial[i, p] = room.sorted[i, p]
        axis, variant, p = whole(ways[0, z]), whole(ways[1, z]), whole(ways[2, z])
        follow(records, room, room.trial, base, s, e, axis, variant, k, truth(False))
        divide(room, room.trial, s, e, p)
        cost, visited = _carried(
            records, room, side, classes, demands, ruled, base, cell, axis, s, p, e, k, axes, least
        )
        work += visited
        if cost < least * LESS:
            best = z
            least = cost
    for i in range(3):
        room.top[1 + i, 0] = ways[i, best]
    return best, work


@kernel
def branch(tree: Tree, node: int, axis: int, p: int, below: float, above: float) -> None:
    """Two children, the smaller on top of those that wait; the node's cell lies where the first of them will."""
    span, counters, waiting = tree.span, tree.counters, tree.waiting
    first, last = span[node, 0], span[node, 1]
    child = counters[0]
    counters[0] += 2
    tree.axis[node] = axis
    tree.child[node] = child
    tree.gap[node, 0] = below
    tree.gap[node, 1] = above
    span[child, 0] = first
    span[child, 1] = span[child + 1, 0] = first + p
    span[child + 1, 1] = last
    larger = child if 2 * p > last - first else child + 1
    waiting[counters[1]] = larger
    waiting[counters[1] + 1] = 2 * child + 1 - larger
    divide_cell(tree.cells, counters[1], axis, middle(below, above), larger == child)
    counters[1] += 2


@inner_kernel
def _split(records: MixedRecords, room: Room, tree: Tree, base: int, node: int, s: int, e: int) -> None:
    """Cut a node as the first of `top` says; its records stand in `line`."""
    index = room.sorted
    n = records.rows.shape[1]
    axis, p = whole(room.top[1, 0]), whole(room.top[3, 0])
    line = room.line
    below = above = 0.0
    if axis < n:
        below, above = records.rows[base + line[p - 1], axis], records.rows[base + line[p], axis]
    branch(tree, node, axis, p, below, above)
    divide(room, index, s, e, p)


@kernel
def grow_block(
    method: int,
    k: int,
    breadth: int,
    reach: int,
    axes: int,
    base: int,
    floor: int,
    records: MixedRecords,
    room: Room,
    side: Side,
    classes: int,
    demands: ConstraintArrays,
    ruled: bool,
    tree: Tree,
    budget: int,
) -> None:
    """Cut the nodes of the block that wait above `floor` until none does or the budget is spent."""
    index = room.sorted
    each = records.rows.shape[1] + records.codes.shape[1]
    counters = tree.counters
    order = np.empty(_TRIES, dtype=np.int32)
    while counters[1] > floor and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        s, e = tree.span[node, 0] - base, tree.span[node, 1] - base
        if e - s < 2 * k:
            continue
        copy_cell(tree.cells[counters[1]], side.cell)
        if method != OPTIMAL:
            counters[2] += 3 * (e - s) * each
            if not by_width(
                records, room, side, classes, demands, ruled, index, base, s, e, k, method == MONDRIAN, order
            ):
                continue
            _split(records, room, tree, base, node, s, e)
        else:
            near = 3 * k <= e - s <= reach
            most = breadth if near else whole(1)
            count, exact = candidates(
                records, room, side, classes, demands, ruled, index, base, s, e, k, most, breadth > 1, axes
            )
            counters[2] += (e - s) * each * each
            if count == 0:
                continue
            if count > 1 and not exact:
                _, work = _tried(
                    records, room, side, classes, demands, ruled, base, tree.cells[counters[1]], s, e, k, axes, count
                )
                counters[2] += 2 * work * each * each
            axis, variant = whole(room.top[1, 0]), whole(room.top[2, 0])
            follow(records, room, index, base, s, e, axis, variant, k, truth(False))
            _split(records, room, tree, base, node, s, e)
