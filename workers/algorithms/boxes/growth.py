"""The kernel that grows a tree of axis-parallel cuts, some work at a time.

Notation
--------
rows : (N, n), the records, reordered in place so that every node is a contiguous run.
order : (N,) int32, original place of each row.
a : (N, n) float32, a_i(x) times the column's range at each row, up to one factor; (0, n) when all rows have the same.
unit : (n,), 1 / range of each column, 0 for a constant one: widths are compared in shares of the range.
node_span : (nodes, 2), first and last + 1 row.  node_axis : (nodes,), axis of its cut, -1 for a leaf (or not yet cut).
node_child : (nodes,), its lower child; the upper one follows.
node_gap : (nodes, 2), neighbouring values about the cut.
counters : [nodes made, nodes waiting, row values visited].

science.md section 1, "From half-widths to a real subdivision": the axis is the one of largest mean(a_i) width_i, which
equalises a_i D_i as XK slide 9 asks; sides hold multiples of k.
"""

import numpy as np
from numba import njit

from workers.algorithms.boxes.selection import cut_at_median, cut_at_multiple
from workers.algorithms.core.types import FloatArray, IndexArray, IntArray, SingleArray

_EQUAL = 1.0 - 1e-12  # rounding must not decide between axes of equal worth


@njit(nogil=True, cache=True)
def _score(
    rows: FloatArray,
    a: SingleArray,
    constant: FloatArray,
    unit: FloatArray,
    median: bool,
    first: int,
    last: int,
    low: FloatArray,
    high: FloatArray,
    score: FloatArray,
) -> None:
    n = len(unit)
    for j in range(n):
        low[j] = rows[first, j]
        high[j] = low[j]
        score[j] = 0.0
    for p in range(first + 1, last):
        for j in range(n):
            value = rows[p, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
    if len(a) > 0 and not median:
        for p in range(first, last):
            for j in range(n):
                score[j] += a[p, j]
        for j in range(n):
            score[j] /= last - first
    else:
        for j in range(n):
            score[j] = 1.0 if median else constant[j]
    for j in range(n):
        score[j] *= (high[j] - low[j]) * unit[j]


@njit(nogil=True, cache=True)
def _split(
    rows: FloatArray, order: IndexArray, a: SingleArray, first: int, last: int, axis: int, threshold: float
) -> None:
    """Bring the rows below the threshold to the front (Hoare)."""
    n = rows.shape[1]
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
            value = rows[i, j]
            rows[i, j] = rows[q, j]
            rows[q, j] = value
        if len(a) > 0:
            for j in range(n):
                size = a[i, j]
                a[i, j] = a[q, j]
                a[q, j] = size
        place = order[i]
        order[i] = order[q]
        order[q] = place
        i += 1
        q -= 1


@njit(nogil=True, cache=True)
def _widest(score: FloatArray) -> int:
    """First axis whose score is the largest but for rounding, -1 when all are 0."""
    largest = 0.0
    for j in range(len(score)):
        largest = max(largest, score[j])
    for j in range(len(score)):
        if score[j] > 0.0 and score[j] >= largest * _EQUAL:
            return j
    return -1


@njit(nogil=True, cache=True)
def grow(
    median: bool,
    k: int,
    rows: FloatArray,
    order: IndexArray,
    a: SingleArray,
    constant: FloatArray,
    unit: FloatArray,
    node_span: IntArray,
    node_axis: IndexArray,
    node_child: IndexArray,
    node_gap: FloatArray,
    waiting: IntArray,
    scratch: FloatArray,
    counters: IntArray,
    budget: int,
) -> None:
    """Cut waiting nodes until none waits or about `budget` row values have been visited.

    The smaller child is taken first, so at most log2 N nodes wait. Axes are tried from the largest score down; one with
    score 0 is never cut. O(n N log(N/k)) in all.
    """
    n = rows.shape[1]
    low = np.empty(n)
    high = np.empty(n)
    score = np.empty(n)
    counters[2] = 0
    while counters[1] > 0 and counters[2] < budget:
        counters[1] -= 1
        node = waiting[counters[1]]
        first = node_span[node, 0]
        last = node_span[node, 1]
        m = last - first
        if m < 2 * k:
            continue
        _score(rows, a, constant, unit, median, first, last, low, high, score)
        counters[2] += m * (n + 4)
        while True:
            axis = _widest(score)
            if axis < 0:
                break
            score[axis] = 0.0
            for p in range(m):
                scratch[p] = rows[first + p, axis]
            p, below, above = cut_at_median(scratch, m, k) if median else cut_at_multiple(scratch, m, k)
            counters[2] += 2 * m
            if p == 0:
                continue
            _split(rows, order, a, first, last, axis, above)
            child = counters[0]
            counters[0] += 2
            node_axis[node] = axis
            node_child[node] = child
            node_gap[node, 0] = below
            node_gap[node, 1] = above
            node_span[child, 0] = first
            node_span[child, 1] = first + p
            node_span[child + 1, 0] = first + p
            node_span[child + 1, 1] = last
            larger = child if 2 * p > m else child + 1
            waiting[counters[1]] = larger
            waiting[counters[1] + 1] = 2 * child + 1 - larger
            counters[1] += 2
            break
