"""Kernel of uncertain.condensation: groups of nearest neighbours, taken out of a tree as they are found.

Notation
--------
y : (N, n), records in scaled units, block by block (core.blocks); a record's place changes as others leave its block:
    those still there stand first. record (N,) : which record stands at a place, place (N,) the reverse.
left : (2 L,), records still there, of each node; low, high (2 L, n) : extremes of the node at the beginning.
group : (N,), group of each record, -1 while it has none.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.core.blocks_kernels import DEPTH, gap, keep, open_node


@inner_kernel
def _remove(
    one: int, y: FloatArray, record: IntArray, place: IntArray, start: IntArray, left: IntArray, leaf: IntArray
) -> None:
    """Take a record out of its block and the nodes above."""
    leaves = len(start) - 1
    node = leaves + leaf[one]
    here = place[one]
    last = start[leaf[one]] + left[node] - 1
    other = record[last]
    for j in range(y.shape[1]):
        y[here, j], y[last, j] = y[last, j], y[here, j]
    record[here], record[last] = other, one
    place[other], place[one] = here, last
    while node > 0:
        left[node] -= 1
        node //= 2


@inner_kernel
def _nearest(
    t: FloatArray,
    y: FloatArray,
    record: IntArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    left: IntArray,
    distance: FloatArray,
    nearest: IntArray,
) -> int:
    """Fill `nearest` with the nearest records still there, `distance` with their squared distances; records visited."""
    leaves = len(start) - 1
    last = len(nearest) - 1
    distance[:] = np.inf
    stack = np.empty(DEPTH, np.int64)
    stack[0] = 1
    size = 1
    visited = 0
    while size > 0:
        size -= 1
        node = stack[size]
        if left[node] == 0 or gap(t, low[node], high[node]) >= distance[last]:
            continue
        visited += 1
        if node < leaves:
            size = open_node(t, node, low, high, stack, size)
            continue
        first = start[node - leaves]
        visited += left[node]
        for r in range(first, first + left[node]):
            away = 0.0
            for j in range(len(t)):
                away += (t[j] - y[r, j]) ** 2
            keep(away, record[r], distance, nearest)
    return visited


@kernel
def gather(
    seeds: IntArray,
    least: int,
    groups: int,
    k: int,
    budget: int,
    y: FloatArray,
    record: IntArray,
    place: IntArray,
    leaf: IntArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    left: IntArray,
    group: IntArray,
) -> int:
    """Make groups of k, until fewer than `least` records are left or the budget of visits is spent; groups so far."""
    distance = np.empty(max(k - 1, 1))
    nearest = np.empty(max(k - 1, 1), np.int64)
    t = np.empty(y.shape[1])
    for one in seeds:
        if left[1] < least or budget <= 0:
            break
        if group[one] >= 0:
            continue
        for j in range(len(t)):
            t[j] = y[place[one], j]
        _remove(one, y, record, place, start, left, leaf)
        group[one] = groups
        if k > 1:
            budget -= _nearest(t, y, record, start, low, high, left, distance, nearest)
            for other in nearest:
                _remove(int(other), y, record, place, start, left, leaf)
                group[other] = groups
        groups += 1
        budget -= k
    return groups
