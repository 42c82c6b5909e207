"""The kernels of the partition: the place of a cut, and the tree that grows some work at a time.

Notation
--------
rows : (N, n), the records, reordered in place so that every node is a contiguous run.
order : (N,) int32, original place of each row.  scratch : (N,).
worth : (N, n) float32, a_i(x) range_i of each row, up to one factor; (0, n) where it is the same for all rows.
price : (2, n): a_i range_i where it is the same for all rows (1 for Mondrian, else 0); and 1 / range of each column, 0
    for a constant one: widths are compared in shares of the range.
span : (nodes, 2), first and last + 1 row.  axis : (nodes,), axis of the node's cut, -1 for a leaf (or not yet cut).
child : (nodes,), its lower child; the upper one follows.  gap : (nodes, 2), neighbouring values about the cut.
cells : (waiting, 2, n), lower and upper bounds of the cell of each waiting node, its cuts in the middles of their gaps;
    inf and -inf where boxes have the bounds of their records, so that nothing is wider than these.
waiting : nodes to be cut.  counters : [nodes made, nodes waiting, row values visited].
v : (m,), values of one axis in one node (partition.selection), as are r and *open* gaps.

science.md section 1, "From half-widths to a real subdivision": the axis is the one of largest mean(a_i) width_i, which
equalises a_i D_i as XK slide 9 asks; sides hold multiples of k.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, SingleArray, whole
from workers.algorithms.boxes.partition.selection import is_open, middle, select, sort
from workers.algorithms.boxes.partition.tree import NumericRecords, Tree

_EQUAL = 1.0 - 1e-12  # rounding must not decide between axes of equal worth


@inner_kernel
def better(p: int, best: int, m: int, k: int) -> bool:
    """Whether cutting after p values leaves room for more boxes than after `best`, or else more evenly."""
    if best == 0:
        return True
    room = p // k + (m - p) // k
    best_room = best // k + (m - best) // k
    if room != best_room:
        return room > best_room
    return abs(2 * p - m) < abs(2 * best - m)


@inner_kernel
def _scan(v: FloatArray, m: int, k: int) -> tuple[int, float, float]:
    """Best open gap of all, by sorting: for values so dense that neighbours have no float between them."""
    sort(v, m)
    best = whole(0)
    for p in range(k, m - k + 1):
        if is_open(v[p - 1], v[p]) and better(p, best, m, k):
            best = p
    if best == 0:
        return 0, 0.0, 0.0
    return best, v[best - 1], v[best]


@kernel
def cut_at_multiple(v: FloatArray, m: int, k: int) -> tuple[int, float, float]:
    """Open gap at floor(floor(m/k)/2) k values, or the better neighbour of the tie there.

    Returns
    -------
    p : values on the lower side, 0 when no open gap leaves k on both sides.
    a, b : the gap's ends: the largest value below the cut and the smallest above it.
    """
    r = m // k // 2 * k
    t = select(v, m, r)
    a = v[0]
    for i in range(1, r):
        a = max(a, v[i])
    if is_open(a, t):
        return r, a, t
    less = whole(0)
    upto = whole(0)
    before = -np.inf
    after = np.inf
    for i in range(m):
        if v[i] < t:
            less += 1
            before = max(before, v[i])
        elif v[i] > t:
            after = min(after, v[i])
        else:
            upto += 1
    upto += less
    lower = less >= k
    upper = m - upto >= k
    if (lower and not is_open(before, t)) or (upper and not is_open(t, after)):
        return _scan(v, m, k)
    if lower and (not upper or better(less, upto, m, k)):
        return less, before, t
    if upper:
        return upto, t, after
    return 0, 0.0, 0.0


@kernel
def cut_at_median(v: FloatArray, m: int, k: int) -> tuple[int, float, float]:
    """Mondrian's strict cut: values up to the lower median on one side, the rest on the other; result as above.

    LeFevre, DeWitt, Ramakrishnan 2006, section 4: `lhs = {t : t.dim <= splitVal}`. Departure: where no float lies
    between the sides the cut is not allowed, because a cell could not be bounded there.
    """
    t = select(v, m, (m - 1) // 2)
    upto = 0
    after = np.inf
    for i in range(m):
        if v[i] > t:
            after = min(after, v[i])
        else:
            upto += 1
    if upto < k or m - upto < k or not is_open(t, after):
        return 0, 0.0, 0.0
    return upto, t, after


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


@inner_kernel
def copy_cell(source: FloatArray, target: FloatArray) -> None:
    """Copy lower and upper bounds, (2, n) each."""
    for i in range(source.shape[1]):
        target[0, i] = source[0, i]
        target[1, i] = source[1, i]


@inner_kernel
def divide_cell(cells: FloatArray, at: int, axis: int, border: float, lower_first: bool) -> None:
    """Replace the cell at a place by its two parts about a border, at this place and the next.

    The cells of both are whole where the axis is no numeric column.
    """
    copy_cell(cells[at], cells[at + 1])
    if axis >= cells.shape[2]:
        return
    lower, upper = (at, at + 1) if lower_first else (at + 1, at)
    cells[lower, 1, axis] = min(cells[lower, 1, axis], border)
    cells[upper, 0, axis] = max(cells[upper, 0, axis], border)


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


@kernel
def widest(score: FloatArray) -> int:
    """First axis whose score is the largest but for rounding, -1 when all are 0."""
    largest = 0.0
    for j in range(len(score)):
        largest = max(largest, score[j])
    for j in range(len(score)):
        if score[j] > 0.0 and score[j] >= largest * _EQUAL:
            return j
    return -1


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
    counters[2] = 0
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
            for p in range(m):
                scratch[p] = rows[first + p, axis]
            p, below, above = cut_at_median(scratch, m, k) if median else cut_at_multiple(scratch, m, k)
            counters[2] += 2 * m
            if p > 0:
                split_rows(rows, worth, records.order, first, last, axis, above)
                branch(tree, node, axis, p, below, above)
                break
