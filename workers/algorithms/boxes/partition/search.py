"""Partition `optimal` within a block: cuts chosen by gain, the best few of small nodes tried out (kernels).

Notation as in partition.candidates.

Nodes that fit a block are sorted along every axis once; sorted runs stay sorted as cuts divide them. From `reach`
records down, the `breadth` cheapest candidates are each carried to the end by always taking the cheapest cut, and the
one whose boxes cost least is taken: a policy rolled out is never worse than the policy itself (Bertsekas 1997). Where
one axis matters the best partition is found by dynamic programming.

Nothing here depends on the order of records, but for ties in gain.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, truth, whole
from workers.algorithms.boxes.partition.arrays import Effort, Run, Tree
from workers.algorithms.boxes.partition.candidates import Block, candidates, line_of
from workers.algorithms.boxes.partition.constraints.holding import ConstraintArrays
from workers.algorithms.boxes.partition.gain import Records, cell, uncut
from workers.algorithms.boxes.partition.selection import LESS, middle
from workers.algorithms.boxes.partition.tree import branch, copy_cell, divide_cell


@inner_kernel
def divide(upper: ByteArray, moved: IndexArray, run: Run, line: IndexArray, axis: int, p: int) -> None:
    """Bring the first p records of a line to the front of every run, which keeps its order.

    The line may be the run of its own axis, which is so already.
    """
    index, s, e = run.by_axis, run.s, run.e
    for z in range(e - s):
        upper[line[z]] = 1 if z >= p else 0
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
def _border(rows: FloatArray, line: IndexArray, base: int, axis: int, p: int) -> float:
    """Where a cut of a line is reckoned to be; 0 between values."""
    if axis >= rows.shape[1]:
        return 0.0
    return middle(rows[base + line[p - 1], axis], rows[base + line[p], axis])


@inner_kernel
def _parted(records: Records, axis: int) -> int:
    """The run that a cut leaves sorted: its axis', or none where it parts values."""
    return axis if axis < records.rows.shape[1] else whole(-1)


@inner_kernel
def _carried(
    records: Records,
    block: Block,
    held: ConstraintArrays,
    run: Run,
    p: int,
    k: int,
    effort: Effort,
    bound: float,
) -> tuple[float, int]:
    """Cost of both sides of a cut of a trial when the cheapest cut is always taken; given up at the bound.

    The cells of both sides are the first two.
    """
    waiting, cells, side = block.waiting, block.cells, block.side
    base, s, e = run.base, run.s, run.e
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
        part = Run(run.by_axis, base, s, e)
        copy_cell(cells[top // 2], cell(side))
        count, exact = 0, False
        if e - s >= 2 * k:
            count, exact = candidates(records, block, held, part, k, effort, whole(1), truth(False))
            work += e - s
        if count == 0:
            total += (e - s) * uncut(records, part, side)
            continue
        if exact:
            total += block.top[0, 0]
            continue
        axis, p = whole(block.top[1, 0]), whole(block.top[3, 0])
        line = line_of(records, block, part, axis, whole(block.top[2, 0]))[1]
        larger = 0 if 2 * p > e - s else 2
        divide_cell(cells, top // 2, axis, _border(records.rows, line, base, axis, p), larger == 0)
        divide(block.upper, block.moved, part, line, _parted(records, axis), p)
        waiting[top + larger] = s
        waiting[top + larger + 1] = s + p
        waiting[top + 2 - larger] = s + p
        waiting[top + 3 - larger] = e
        top += 4
    return total, work


@inner_kernel
def _tried(
    records: Records,
    block: Block,
    held: ConstraintArrays,
    run: Run,
    node: FloatArray,
    k: int,
    effort: Effort,
    count: int,
) -> int:
    """Put the candidate that costs least when carried to the end first, `node` being the node's cell; row visits."""
    ways = block.top[1:, :count].copy()
    trial = Run(block.trial, run.base, run.s, run.e)
    best = 0
    least = np.inf
    work = 0
    for z in range(count):
        for i in range(block.trial.shape[0]):
            for p in range(run.s, run.e):
                block.trial[i, p] = run.by_axis[i, p]
        axis, variant, p = whole(ways[0, z]), whole(ways[1, z]), whole(ways[2, z])
        line = line_of(records, block, trial, axis, variant)[1]
        copy_cell(node, block.cells[0])
        divide_cell(block.cells, whole(0), axis, _border(records.rows, line, run.base, axis, p), truth(False))
        divide(block.upper, block.moved, trial, line, _parted(records, axis), p)
        cost, visited = _carried(records, block, held, trial, p, k, effort, least)
        work += visited
        if cost < least * LESS:
            best = z
            least = cost
    for i in range(3):
        block.top[1 + i, 0] = ways[i, best]
    return work


@inner_kernel
def split(
    records: Records,
    block: Block,
    tree: Tree,
    run: Run,
    line: IndexArray,
    node: int,
    axis: int,
    p: int,
) -> None:
    """Cut a node of a block after p records of a line."""
    below = above = 0.0
    if axis < records.rows.shape[1]:
        below, above = records.rows[run.base + line[p - 1], axis], records.rows[run.base + line[p], axis]
    branch(tree, node, axis, p, below, above)
    divide(block.upper, block.moved, run, line, _parted(records, axis), p)


@kernel
def grow_block(
    k: int,
    effort: Effort,
    reach: int,
    base: int,
    floor: int,
    records: Records,
    block: Block,
    held: ConstraintArrays,
    tree: Tree,
    budget: int,
) -> None:
    """Cut the nodes of the block that wait above `floor` until none does or the budget is spent.

    Cuts are tried out in nodes of up to `reach` records.
    """
    columns = block.sorted.shape[0]
    each = columns * (min(columns, effort.axes) + 1)
    counters = tree.counters
    while counters[1] > floor and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        s, e = tree.span[node, 0] - base, tree.span[node, 1] - base
        if e - s < 2 * k:
            continue
        copy_cell(tree.cells[counters[1]], cell(block.side))
        run = Run(block.sorted, base, s, e)
        most = effort.breadth if 3 * k <= e - s <= reach else whole(1)
        count, exact = candidates(records, block, held, run, k, effort, most, truth(effort.breadth > 1))
        counters[2] += (e - s) * each
        if count == 0:
            continue
        if count > 1 and not exact:
            node_cell = tree.cells[counters[1]]
            work = _tried(records, block, held, run, node_cell, k, effort, count)
            counters[2] += 2 * work * each
        axis, variant, p = whole(block.top[1, 0]), whole(block.top[2, 0]), whole(block.top[3, 0])
        line = line_of(records, block, run, axis, variant)[1]
        split(records, block, tree, run, line, node, axis, p)
