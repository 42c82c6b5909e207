"""Partitions `fast` and `mondrian` where boxes must hold more than k records: cuts that both sides allow.

Notation as in partition.kernels, partition.gain (index, span) and partition.diversity (allowed).

Axes are tried in the same order as without demands, and on each the same cut. Mondrian takes the next axis where it is
not allowed: a strict cut is allowable only if both sides are k-anonymous and l-diverse (LeFevre, DeWitt, Ramakrishnan
2006, sections 2.2 and 4; Machanavajjhala et al. 2007, section 5, for l). `fast` first takes another place on the axis,
the one that leaves room for most boxes and, of those, is nearest to the middle. So a group of `mondrian` is left whole
where no axis allows the median, one of `fast` where no axis that matters allows any cut.

All records are one block, sorted along every axis once (partition.optimal): what the sides of every place on an axis
hold is then counted in one pass.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, whole
from workers.algorithms.boxes.partition.diversity import restrict
from workers.algorithms.boxes.partition.gain import sizes_uncut
from workers.algorithms.boxes.partition.kernels import better, branch, copy_cell, cut_at_median, cut_at_multiple, widest
from workers.algorithms.boxes.partition.optimal import divide, go_on
from workers.algorithms.boxes.partition.selection import is_open
from workers.algorithms.boxes.partition.tree import Block, NumericRecords, Rules, Tree


def grow_within_demands(
    median: bool, k: int, records: NumericRecords, tree: Tree, block: Block, rules: Rules, budget: int
) -> None:
    """Cut waiting nodes until none waits or about `budget` row values have been visited.

    O(n N log(N/k)) where most first places are allowed, n times as much where none is.
    """
    tree.counters[2] = 0
    if block.span[1] == 0:
        block.span[1] = len(records.order)
    sides = (block.sorted, block.side, block.upper, block.moved)
    while tree.counters[1] > 0 and tree.counters[2] < budget:
        go_on(records, tree, block, lambda: grow_ruled(median, k, records, tree, *sides, rules, budget))


@inner_kernel
def _another(
    rows: FloatArray, index: IndexArray, span: tuple[int, int, int], axis: int, k: int, allowed: ByteArray
) -> int:
    """Allowed place with most room for boxes on both sides, then nearest to the middle; 0 where there is none."""
    base, s, e = span
    m = e - s
    best = whole(0)
    for p in range(k, m - k + 1):
        if allowed[p] == 0 or not better(p, best, m, k):
            continue
        if is_open(rows[base + index[axis, s + p - 1], axis], rows[base + index[axis, s + p], axis]):
            best = p
    return best


@kernel
def grow_ruled(
    median: bool,
    k: int,
    records: NumericRecords,
    tree: Tree,
    index: IndexArray,
    side: FloatArray,
    upper: ByteArray,
    moved: IndexArray,
    rules: Rules,
    budget: int,
) -> None:
    """Cut nodes of records sorted along every axis until none waits or the budget is spent."""
    rows, v = records.rows, records.scratch
    n = rows.shape[1]
    score = np.empty(n)
    counters = tree.counters
    while counters[1] > 0 and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        s, e = tree.span[node, 0], tree.span[node, 1]
        m = e - s
        if m < 2 * k:
            continue
        span = (whole(0), s, e)
        copy_cell(tree.cells[counters[1]], side[4:])
        sizes_uncut(rows, records.worth, records.price, index, span, side)
        for i in range(n):
            score[i] = side[3, i]
        counters[2] += m * (n + 4)
        while True:
            axis = widest(score)
            if axis < 0:
                break
            score[axis] = 0.0
            restrict(records.order, index, span, axis, rules)
            for p in range(m):
                v[p] = rows[index[axis, s + p], axis]
            p = cut_at_median(v, m, k)[0] if median else cut_at_multiple(v, m, k)[0]
            if p > 0 and rules.allowed[p] == 0:
                p = whole(0) if median else _another(rows, index, span, axis, k, rules.allowed)
            counters[2] += 8 * m
            if p > 0:
                divide(upper, moved, index, s, e, axis, p)
                below = rows[index[axis, s + p - 1], axis]
                branch(tree, node, axis, p, below, rows[index[axis, s + p], axis])
                break
