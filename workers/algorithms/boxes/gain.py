"""Cuts chosen by what they gain: predicted uncertainty of both sides of every candidate (kernels).

Notation as in boxes.kernels, and
--------
s_i : (n,), mean(a_i) w_i of one side, w_i the width of its records: what its axis i costs uncut.
L : floor(count / k), boxes that a side has room for.
d_i : widths of its boxes as predicted: min(w_i, t/a_i), prod d_i = prod w_i / L over the axes with s_i > 0. That is XK
    slide 9 for the uniform density in the side, clamped because no box is wider than its records (l-diversity's
    solution upside down).
axes : how many axes are searched, those of largest s_i; further ones only where these cannot be cut.
block : a node's records sorted along every axis; [s, e) is a node's run in every row of `sorted`.
side : (4, n), lowest and highest value, sum of a_i and s_i of the side that is being measured.
"""

import numpy as np
from numba import njit

from workers.algorithms.boxes.diversity import restrict, ruled
from workers.algorithms.boxes.kernels import is_open
from workers.algorithms.boxes.tree import Block, Records
from workers.algorithms.core.types import ByteArray, FloatArray, IndexArray, SingleArray

_PLACES = 128  # candidates of a node, per axis and direction
LESS = 1.0 - 1e-12  # rounding must not decide between candidates of equal gain


@njit(nogil=True, cache=True)
def clear(side: FloatArray) -> None:
    """No records yet."""
    side[0] = np.inf
    side[1] = -np.inf
    side[2] = 0.0


@njit(nogil=True, cache=True)
def extend(rows: FloatArray, worth: SingleArray, row: int, side: FloatArray) -> None:
    """One more record."""
    for i in range(rows.shape[1]):
        value = rows[row, i]
        side[0, i] = min(side[0, i], value)
        side[1, i] = max(side[1, i], value)
    if len(worth) > 0:
        for i in range(rows.shape[1]):
            side[2, i] += worth[row, i]


@njit(nogil=True, cache=True)
def sizes(records: Records, count: int, side: FloatArray) -> float:
    """s_i of a side into its last row; their sum."""
    total = 0.0
    same = len(records.worth) == 0
    for i in range(records.rows.shape[1]):
        a = records.constant[i] if same else side[2, i] / count
        side[3, i] = a * records.unit[i] * (side[1, i] - side[0, i])
        total += side[3, i]
    return total


@njit(nogil=True, cache=True)
def _root(value: float, r: int) -> float:
    if r == 1:
        return value
    if r == 2:
        return float(np.sqrt(value))
    if r == 4:
        return float(np.sqrt(np.sqrt(value)))
    return float(value ** (1.0 / r))


@njit(nogil=True, cache=True)
def predicted(records: Records, count: int, k: int, side: FloatArray) -> float:
    """Cost of a side, count sum_i a_i d_i; exact where it has room for one box only.

    Axes are cut in order of falling s_i: with the r largest cut, t^r = prod_{i <= r} s_i / L, and r is the first with t
    at or above the next s. `product` holds prod_{i <= r} s_i / s_r. Extremes of m uniform values span
    (m - 1)/(m + 1) of their interval: boxes of k are narrower than volume alone tells, the side itself too.
    """
    rest = sizes(records, count, side)
    room = count // k
    if room < 2 or rest <= 0.0:
        return count * rest
    score = side[3]
    shrink = (k - 1.0) / (k + 1.0) * (count + 1.0) / (count - 1.0) if k > 1 else 1.0
    product = 1.0
    last = 0.0
    r = 0
    while True:
        axis = -1
        largest = 0.0
        for i in range(len(score)):
            if score[i] > largest:
                largest = score[i]
                axis = i
        if r > 0:
            following = product
            if axis >= 0:
                ratio = last / largest
                for _ in range(r):
                    following *= ratio
            if axis < 0 or following >= room:
                t = last * _root(product / room, r)
                return count * (r * t + max(rest, 0.0)) * shrink
            product = following
        rest -= largest
        score[axis] = 0.0
        last = largest
        r += 1


@njit(nogil=True, cache=True)
def _mark(v: FloatArray, x: IndexArray, k: int, allowed: ByteArray, cost: FloatArray) -> None:
    """cost_p = 0 at candidates, else -1: the first allowed open gap at or after multiples of k, from either end."""
    m = len(x)
    step = k * max(1, m // (k * _PLACES))
    cost[k : m - k + 1] = -1.0
    last = -1
    for p in range(k, m - k + 1):
        if p // step != last and allowed[p] == 1 and is_open(v[x[p - 1]], v[x[p]]):
            cost[p] = 0.0
            last = p // step
    last = -1
    for p in range(m - k, k - 1, -1):
        if (m - p) // step != last and allowed[p] == 1 and is_open(v[x[p - 1]], v[x[p]]):
            cost[p] = 0.0
            last = (m - p) // step


@njit(nogil=True, cache=True)
def _insert(block: Block, found: int, most: int, cost: float, axis: int, place: int) -> int:
    """Keep the `most` cheapest candidates in order; how many there are now."""
    if found == most and cost >= block.top_cost[found - 1] * LESS:
        return found
    z = found if found < most else most - 1
    while z > 0 and cost < block.top_cost[z - 1] * LESS:
        block.top_cost[z] = block.top_cost[z - 1]
        block.top_axis[z] = block.top_axis[z - 1]
        block.top_place[z] = block.top_place[z - 1]
        z -= 1
    block.top_cost[z] = cost
    block.top_axis[z] = axis
    block.top_place[z] = place
    return min(found + 1, most)


@njit(nogil=True, cache=True)
def _along(
    records: Records, block: Block, index: IndexArray, s: int, e: int, axis: int, k: int, found: int, most: int
) -> int:
    """Predicted cost of all candidates on one axis, the best kept."""
    m = e - s
    base = block.span[0]
    x = index[axis]
    cost = block.cost
    side = block.side
    rows, worth = records.rows, records.worth
    if ruled(block):
        restrict(records, block, x[s:e])
    _mark(rows[base:, axis], x[s:e], k, block.rules.allowed, cost)
    clear(side)
    for p in range(1, m - k + 1):
        extend(rows, worth, base + x[s + p - 1], side)
        if p >= k and cost[p] == 0.0:
            cost[p] = predicted(records, p, k, side)
    clear(side)
    for c in range(1, m - k + 1):
        extend(rows, worth, base + x[e - c], side)
        if c < k or cost[m - c] < 0.0:
            continue
        if found < most or cost[m - c] < block.top_cost[found - 1] * LESS:
            found = _insert(block, found, most, cost[m - c] + predicted(records, c, k, side), axis, m - c)
    return found


@njit(nogil=True, cache=True)
def _line(records: Records, block: Block, x: IndexArray, s: int, e: int, axis: int, k: int) -> int:
    """Best partition where one axis matters, by dynamic programming: its middle cut, 0 for none; cost into `top_cost`.

    best_end = min over starts of best_start + (sum of a)(width). A start at or below p - k, p the last gap k before the
    end, need not be tried: a cut at p would only gain. O(m k).
    """
    m = e - s
    v = records.rows[block.span[0] :, axis]
    best, prefix, back = block.cost, block.prefix, block.back
    same = len(records.worth) == 0
    best[0] = prefix[0] = 0.0
    last = 0
    for end in range(1, m + 1):
        a = records.constant[axis] if same else records.worth[block.span[0] + x[s + end - 1], axis]
        prefix[end] = prefix[end - 1] + a * records.unit[axis]
        best[end] = np.inf
        if end > k and best[end - k] < np.inf:
            last = end - k
        if end < k or (end < m and not is_open(v[x[s + end - 1]], v[x[s + end]])):
            continue
        for start in range(last, max(last - k, -1), -1):
            if best[start] < np.inf:
                width = v[x[s + end - 1]] - v[x[s + start]]
                cost = best[start] + (prefix[end] - prefix[start]) * width
                if cost < best[end] * LESS:
                    best[end] = cost
                    back[end] = start
    middle = 0
    end = back[m]
    while end > 0:
        if abs(2 * end - m) < abs(2 * middle - m):
            middle = end
        end = back[end]
    block.top_cost[0] = best[m]
    block.top_axis[0] = axis
    block.top_place[0] = middle
    return middle


@njit(nogil=True, cache=True)
def candidates(
    records: Records, block: Block, index: IndexArray, s: int, e: int, k: int, axes: int, most: int
) -> tuple[int, bool]:
    """The best cuts of a node, cheapest first, into the block's `top_` arrays.

    Returns
    -------
    found : how many, at most `most`; 0 where nothing can be cut.
    exact : whether `top_cost[0]` is what the node will cost, not a prediction.
    """
    n = records.rows.shape[1]
    side = block.side
    base = block.span[0]
    clear(side)
    if len(records.worth) > 0:
        for p in range(s, e):
            for i in range(n):
                side[2, i] += records.worth[base + index[0, p], i]
    active = 0
    only = 0
    for i in range(n):
        side[0, i] = records.rows[base + index[i, s], i]
        side[1, i] = records.rows[base + index[i, e - 1], i]
    sizes(records, e - s, side)
    score = side[3].copy()
    for i in range(n):
        if score[i] > 0.0:
            active += 1
            only = i
    if active == 1 and not ruled(block):
        return (1 if _line(records, block, index[only], s, e, only, k) > 0 else 0), True
    found = 0
    for searched in range(active):
        if searched >= axes and found > 0:
            break
        axis = int(np.argmax(score))
        score[axis] = 0.0
        found = _along(records, block, index, s, e, axis, k, found, most)
    p = block.top_place[0]
    return found, found > 0 and p < 2 * k and e - s - p < 2 * k
