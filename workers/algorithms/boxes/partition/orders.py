"""Orders of the values of a nominal column in a node, along which its records are cut (kernels).

Notation as in partition.arrays, and
--------
variant : which order: 0 by n_v / omega_v (best for shares, in 300 of 300 cases), 1 + i by the mean of numeric column i,
    n + 1 + 2 q by the q-th of the column's scores and n + 2 + 2 q by its distance from the node's mean score (inner
    against outer values).
group : the part of the column's hierarchy that a value is in, below the lowest node that covers the node's values;
    the value itself where there is no hierarchy. Groups are kept together.

science.md section 5, "Cuts".
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray, IntArray, whole
from workers.algorithms.boxes.partition.arrays import MixedBlock, MixedRecords, Run, ValueOrders


@inner_kernel
def _sort_by(key: FloatArray, values: IntArray, m: int) -> None:
    """Sort the first m values by their keys (Shell); equal keys by value, so that nothing depends on records' order."""
    gap = 1
    while gap < m // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            value = values[i]
            at = i
            while at >= gap:
                other = values[at - gap]
                if key[other] < key[value] or (key[other] == key[value] and other < value):
                    break
                values[at] = other
                at -= gap
            values[at] = value
        gap //= 3


@inner_kernel
def _depth(records: MixedRecords, present: IntArray, c: int) -> int:
    """First depth at which the values' ancestors differ."""
    depth = 0
    while depth < records.ancestor.shape[1] - 1:
        for z in range(1, c):
            if records.ancestor[present[z], depth] != records.ancestor[present[0], depth]:
                return depth
        depth += 1
    return depth


@inner_kernel
def line_up(  # noqa: C901 (a kernel)
    records: MixedRecords, block: MixedBlock, run: Run, column: int, variant: int
) -> int:
    """Put a node's records into `line` in the order of their values; `place` is 0 between groups, else -1.

    Returns
    -------
    int
        Groups: 1 where there is nothing to cut; 0 where the order reveals nothing (a variant for two groups).
    """
    orders = block.orders
    present, rank, sums, count = orders.values, orders.rank, orders.sums, orders.held
    plain = run.by_axis[len(run.by_axis) - 1]
    c = whole(0)
    first, last = records.start[column], records.start[column + 1]
    for v in range(first, last):
        rank[v] = -1
    for z in range(run.s, run.e):
        v = records.codes[run.base + plain[z], column]
        if v < 0:
            return 1
        if rank[v] < 0:
            rank[v] = 0
            present[c] = v
            count[v] = 0
            sums[v] = 0.0
            c += 1
        count[v] += 1
    if c < 2 or (c == 2 and variant > 0):
        return 1 if c < 2 else 0
    depth = _depth(records, present, c)
    for z in range(c):
        rank[present[z]] = present[z]
        above = records.ancestor[present[z], depth]
        if above != present[z]:  # a group is known by its first member
            for y in range(z):
                if records.ancestor[present[y], depth] == above:
                    rank[present[z]] = present[y]
                    break
    if not _keys(records, orders, run, column, variant, c):
        return 0
    groups = whole(0)
    for z in range(c):
        if rank[present[z]] == present[z]:
            present[groups] = present[z]
            groups += 1
    _sort_by(sums, present, groups)
    return _place(records, orders, block.place, run, column, groups)


@inner_kernel
def _keys(  # noqa: C901 (a kernel)
    records: MixedRecords, orders: ValueOrders, run: Run, column: int, variant: int, c: int
) -> bool:
    """Keys of the groups into `sums` at their first members, sizes into `count`; whether the variant differs."""
    present, rank, sums, count = orders.values, orders.rank, orders.sums, orders.held
    plain, base, s, e = run.by_axis[len(run.by_axis) - 1], run.base, run.s, run.e
    n = records.rows.shape[1]
    if variant == 0:
        for z in range(c):
            sums[rank[present[z]]] += records.omega[present[z]]
    elif variant <= n:
        if np.isnan(records.rows[base + plain[s], variant - 1]):
            return False
        for z in range(s, e):
            sums[rank[records.codes[base + plain[z], column]]] += records.rows[base + plain[z], variant - 1]
    else:
        q = records.score_start[column] + (variant - n - 1) // 2
        for z in range(c):
            sums[rank[present[z]]] += records.scores[q, present[z]] * count[present[z]]
    for z in range(c):
        if rank[present[z]] != present[z]:
            count[rank[present[z]]] += count[present[z]]
    total = 0.0
    for z in range(c):
        v = present[z]
        if rank[v] == v:
            total += sums[v]
            if variant == 0:
                sums[v] = count[v] / sums[v] if sums[v] > 0.0 else float(count[v])
            else:
                sums[v] /= count[v]
    if variant > n and (variant - n) % 2 == 0:
        for z in range(c):
            if rank[present[z]] == present[z]:
                sums[present[z]] = abs(sums[present[z]] - total / (e - s))
    return True


@inner_kernel
def _place(records: MixedRecords, orders: ValueOrders, place: FloatArray, run: Run, column: int, groups: int) -> int:
    """Records by the order of their groups."""
    present, rank, count = orders.values, orders.rank, orders.held
    plain, base, s, e = run.by_axis[len(run.by_axis) - 1], run.base, run.s, run.e
    for p in range(e - s + 1):
        place[p] = -1.0
    at = 0
    for z in range(groups):
        size = count[present[z]]
        count[present[z]] = at
        at += size
        if z < groups - 1:
            place[at] = 0.0
    for z in range(s, e):
        v = rank[records.codes[base + plain[z], column]]
        orders.line[count[v]] = plain[z]
        count[v] += 1
    return groups
