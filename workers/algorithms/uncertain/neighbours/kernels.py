"""Kernels of the tree of neighbours: building it, nearest records, distances to boxes.

Notation
--------
y : (N, n), records in scaled units; `rows` the same in leaf order.
order : (N,), place in y of each row in leaf order.
start : (nodes + 1 levels) first row of each node, `end` one past its last; node i has the children 2 i + 1 and 2 i + 2.
box : (nodes, 2, n), least and largest values of a node's records: the smallest box about them.
T : the metric of a record, v = T (y' - y). shape (S, n): diagonals of T; shape (S, n n): whole matrices; S = 1 for all
    records alike, else one for each row.
blocked : (N n,), the rows once more, leaf by leaf, inside a leaf column by column: what a vector unit reads in a row.
"""

import math

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray


@inner_kernel
def largest_leaf(start: IntArray, end: IntArray) -> int:
    """Most records of a leaf."""
    most = 0
    for node in range(len(start) // 2, len(start)):
        most = max(most, end[node] - start[node])
    return most


@kernel
def build(  # noqa: C901
    y: FloatArray, order: IntArray, start: IntArray, end: IntArray, box: FloatArray, first: int, last: int
) -> None:
    """Bound nodes first .. last - 1 and halve those that have children, by count, across their widest side.

    Nodes must come in order, parents first. O(n m + m) expected for a node of m records (quickselect, Hoare).
    """
    n = y.shape[1]
    nodes = len(start)
    for node in range(first, last):
        s = start[node]
        e = end[node]
        for c in range(n):
            box[node, 0, c] = np.inf
            box[node, 1, c] = -np.inf
        for p in range(s, e):
            row = order[p]
            for c in range(n):
                v = y[row, c]
                box[node, 0, c] = min(box[node, 0, c], v)
                box[node, 1, c] = max(box[node, 1, c], v)
        if 2 * node + 2 >= nodes:
            continue
        axis = 0
        for c in range(1, n):
            if box[node, 1, c] - box[node, 0, c] > box[node, 1, axis] - box[node, 0, axis]:
                axis = c
        middle = end[2 * node + 1]
        low = s
        high = e - 1
        while low < high:
            a = y[order[low], axis]
            b = y[order[(low + high) // 2], axis]
            c2 = y[order[high], axis]
            pivot = max(min(a, b), min(max(a, b), c2))
            i = low
            j = high
            while i <= j:
                while y[order[i], axis] < pivot:
                    i += 1
                while y[order[j], axis] > pivot:
                    j -= 1
                if i <= j:
                    held = order[i]
                    order[i] = order[j]
                    order[j] = held
                    i += 1
                    j -= 1
            if middle <= j:
                high = j
            elif middle >= i:
                low = i
            else:
                break


@kernel
def lay_out(
    y: FloatArray, order: IntArray, start: IntArray, end: IntArray, rows: FloatArray, blocked: FloatArray
) -> None:
    """Write rows and blocked."""
    n = y.shape[1]
    for leaf in range(len(start) // 2, len(start)):
        s = start[leaf]
        m = end[leaf] - s
        for j in range(m):
            for c in range(n):
                v = y[order[s + j], c]
                rows[s + j, c] = v
                blocked[s * n + c * m + j] = v


@kernel
def nearest(  # noqa: C901
    rows: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    first: int,
    last: int,
    count: int,
    neighbours: IntArray,
    seen: IntArray,
) -> None:
    """The `count` nearest other rows of rows first .. last - 1, into found (last - first, count); visits into seen[0].

    Depth first, the nearer child first; insertion into a sorted list. Of several at the same distance any may be taken.
    """
    n = rows.shape[1]
    nodes = len(start)
    inner = nodes // 2
    stack = np.empty(128, np.int64)
    away = np.empty(128)
    distance = np.empty(count)
    gap = np.empty(2)
    for p in range(first, last):
        distance[:] = np.inf
        mine = neighbours[p - first]
        stack[0] = 0
        away[0] = 0.0
        top = 1
        while top > 0:
            top -= 1
            if away[top] >= distance[count - 1]:
                continue
            node = stack[top]
            if node >= inner:
                seen[0] += end[node] - start[node]
                for j in range(start[node], end[node]):
                    if j == p:
                        continue
                    q = 0.0
                    for c in range(n):
                        w = rows[j, c] - rows[p, c]
                        q += w * w
                    if q < distance[count - 1]:
                        place = count - 1
                        while place > 0 and distance[place - 1] > q:
                            distance[place] = distance[place - 1]
                            mine[place] = mine[place - 1]
                            place -= 1
                        distance[place] = q
                        mine[place] = j
                continue
            for side in range(2):
                q = 0.0
                child = 2 * node + 1 + side
                for c in range(n):
                    w = max(box[child, 0, c] - rows[p, c], rows[p, c] - box[child, 1, c], 0.0)
                    q += w * w
                gap[side] = q
            nearer = 0 if gap[0] <= gap[1] else 1
            for side in (1 - nearer, nearer):
                stack[top] = 2 * node + 1 + side
                away[top] = gap[side]
                top += 1


@inner_kernel
def gap_to(
    box: FloatArray, node: int, centre: FloatArray, shape: FloatArray, mine: int, full: bool, largest: bool
) -> float:
    """Least |v| (or largest component of v) over a node's box, or a little less."""
    n = len(centre)
    total = 0.0
    for a in range(n):
        if full:
            middle = 0.0
            half = 0.0
            for c in range(n):
                weight = shape[mine, a * n + c]
                middle += weight * (0.5 * box[node, 0, c] + 0.5 * box[node, 1, c] - centre[c])
                half += abs(weight) * (0.5 * box[node, 1, c] - 0.5 * box[node, 0, c])
            w = max(abs(middle) * (1.0 - 1e-13) - half * (1.0 + 1e-13), 0.0)
        else:
            w = max(box[node, 0, a] - centre[a], centre[a] - box[node, 1, a], 0.0) * shape[mine, a]
        total = max(total, w) if largest else total + w * w
    return total if largest else math.sqrt(total)
