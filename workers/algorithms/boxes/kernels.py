"""The kernels of the partition: order statistics, the place of a cut, and the tree that grows some work at a time.

They stand in one file because numba's cache watches only the file of the kernel that is called: a callee edited
elsewhere would go unnoticed.

Notation
--------
rows : (N, n), the records, reordered in place so that every node is a contiguous run.
order : (N,) int32, original place of each row.  scratch : (N,).
worth : (N, n) float32, a_i(x) range_i of each row, up to one factor; (0, n) when `constant`, (n,), holds for all rows.
unit : (n,), 1 / range of each column, 0 for a constant one: widths are compared in shares of the range.
span : (nodes, 2), first and last + 1 row.  axis : (nodes,), axis of the node's cut, -1 for a leaf (or not yet cut).
child : (nodes,), its lower child; the upper one follows.  gap : (nodes, 2), neighbouring values about the cut.
waiting : nodes to be cut.  counters : [nodes made, nodes waiting, row values visited].
v : (m,), values of one axis in one node, in any order; worked on in place.
r : rank counted from 0: v_r is the element that sorting would put at place r.
A gap (a, b) between neighbouring values is *open* when a float lies strictly inside it: only there can a cut be placed
that is neither value. Values without one between them count as equal.

science.md section 1, "From half-widths to a real subdivision": the axis is the one of largest mean(a_i) width_i, which
equalises a_i D_i as XK slide 9 asks; sides hold multiples of k.
"""

import numpy as np
from numba import njit

from workers.algorithms.boxes.tree import Records, Tree
from workers.algorithms.core.types import FloatArray

_SMALL = 24
_SAMPLE = 33
_EQUAL = 1.0 - 1e-12  # rounding must not decide between axes of equal worth


@njit(nogil=True, cache=True)
def is_open(a: float, b: float) -> bool:
    """Whether a float lies strictly between a and b, a <= b."""
    middle = 0.5 * a + 0.5 * b
    return a < middle < b


@njit(nogil=True, cache=True)
def _sort(v: FloatArray, low: int, high: int) -> None:
    for i in range(low + 1, high + 1):
        value = v[i]
        j = i
        while j > low and v[j - 1] > value:
            v[j] = v[j - 1]
            j -= 1
        v[j] = value


@njit(nogil=True, cache=True)
def select(v: FloatArray, m: int, r: int) -> float:
    """Return v_r of the first m values and leave v split about place r; O(m) expected.

    Pivots come from an evenly spaced sample, a little beyond the wanted rank on its farther side (Floyd, Rivest 1975),
    so that the second pass is over half the values and the third over few. Partition without branches; a second,
    non-strict pass when the pivot repeats, so that ties cost no more than distinct values.
    """
    low = 0
    high = m - 1
    sample = np.empty(_SAMPLE)
    while high - low >= _SMALL:
        n = high - low + 1
        size = _SAMPLE if n > 1000 else 9
        step = (n - 1) // (size - 1)
        for i in range(size):
            sample[i] = v[low + i * step]
        _sort(sample, 0, size - 1)
        place = (r - low) / n * (size - 1)
        beyond = 1.5 if size == _SAMPLE else 0.5
        place = place + beyond if 2 * (r - low) < n else place - beyond
        pivot = sample[min(max(int(place + 0.5), 0), size - 1)]
        below = low
        for i in range(low, high + 1):
            value = v[i]
            v[i] = v[below]
            v[below] = value
            below += value < pivot
        if r < below:
            high = below - 1
            continue
        if below - low >= n // 8:
            low = below
            continue
        upto = below
        for i in range(below, high + 1):
            value = v[i]
            v[i] = v[upto]
            v[upto] = value
            upto += value <= pivot
        if r < upto:
            return float(pivot)
        low = upto
    _sort(v, low, high)
    return float(v[r])


@njit(nogil=True, cache=True)
def _better(p: int, best: int, m: int, k: int) -> bool:
    """Whether cutting after p values leaves room for more boxes than after `best`, or else more evenly."""
    if best == 0:
        return True
    room = p // k + (m - p) // k
    best_room = best // k + (m - best) // k
    if room != best_room:
        return room > best_room
    return abs(2 * p - m) < abs(2 * best - m)


@njit(nogil=True, cache=True)
def _scan(v: FloatArray, m: int, k: int) -> tuple[int, float, float]:
    """Best open gap of all, by sorting: for values so dense that neighbours have no float between them."""
    ordered = np.sort(v[:m])
    best = 0
    for p in range(k, m - k + 1):
        if is_open(ordered[p - 1], ordered[p]) and _better(p, best, m, k):
            best = p
    if best == 0:
        return 0, 0.0, 0.0
    return best, ordered[best - 1], ordered[best]


@njit(nogil=True, cache=True)
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
    less = 0
    upto = 0
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
    if lower and (not upper or _better(less, upto, m, k)):
        return less, before, t
    if upper:
        return upto, t, after
    return 0, 0.0, 0.0


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def score_axes(
    records: Records, median: bool, first: int, last: int, low: FloatArray, high: FloatArray, score: FloatArray
) -> None:
    """score_j = mean(a_j) width_j of a node; Mondrian's is the width alone."""
    rows = records.rows
    n = rows.shape[1]
    for j in range(n):
        low[j] = high[j] = rows[first, j]
        score[j] = 1.0 if median else records.constant[j]
    for p in range(first + 1, last):
        for j in range(n):
            value = rows[p, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)
    if len(records.worth) > 0 and not median:
        worth = records.worth
        for p in range(first, last):
            for j in range(n):
                score[j] += worth[p, j]
        for j in range(n):
            score[j] /= last - first
    for j in range(n):
        score[j] *= (high[j] - low[j]) * records.unit[j]


@njit(nogil=True, cache=True)
def split_rows(records: Records, first: int, last: int, axis: int, threshold: float) -> None:
    """Bring the rows below the threshold to the front (Hoare)."""
    rows = records.rows
    worth = records.worth
    order = records.order
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
            rows[i, j], rows[q, j] = rows[q, j], rows[i, j]
        if len(worth) > 0:
            for j in range(n):
                worth[i, j], worth[q, j] = worth[q, j], worth[i, j]
        order[i], order[q] = order[q], order[i]
        i += 1
        q -= 1


@njit(nogil=True, cache=True)
def widest(score: FloatArray) -> int:
    """First axis whose score is the largest but for rounding, -1 when all are 0."""
    largest = 0.0
    for j in range(len(score)):
        largest = max(largest, score[j])
    for j in range(len(score)):
        if score[j] > 0.0 and score[j] >= largest * _EQUAL:
            return j
    return -1


@njit(nogil=True, cache=True)
def grow(median: bool, k: int, records: Records, tree: Tree, budget: int) -> None:
    """Cut waiting nodes until none waits or about `budget` row values have been visited.

    The smaller child is taken first, so at most log2 N nodes wait. Axes are tried from the largest score down; one with
    score 0 is never cut. O(n N log(N/k)) in all.
    """
    n = records.rows.shape[1]
    low = np.empty(n)
    high = np.empty(n)
    score = np.empty(n)
    scratch = records.scratch
    counters = tree.counters
    counters[2] = 0
    while counters[1] > 0 and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        first = tree.span[node, 0]
        last = tree.span[node, 1]
        m = last - first
        if m < 2 * k:
            continue
        score_axes(records, median, first, last, low, high, score)
        counters[2] += m * (n + 4)
        while True:
            axis = widest(score)
            if axis < 0:
                break
            score[axis] = 0.0
            for p in range(m):
                scratch[p] = records.rows[first + p, axis]
            p, below, above = cut_at_median(scratch, m, k) if median else cut_at_multiple(scratch, m, k)
            counters[2] += 2 * m
            if p == 0:
                continue
            split_rows(records, first, last, axis, above)
            child = counters[0]
            counters[0] += 2
            tree.axis[node] = axis
            tree.child[node] = child
            tree.gap[node, 0] = below
            tree.gap[node, 1] = above
            tree.span[child, 0] = first
            tree.span[child, 1] = first + p
            tree.span[child + 1, 0] = first + p
            tree.span[child + 1, 1] = last
            larger = child if 2 * p > m else child + 1
            tree.waiting[counters[1]] = larger
            tree.waiting[counters[1] + 1] = 2 * child + 1 - larger
            counters[1] += 2
            break
