"""Cuts chosen by what they gain: predicted uncertainty of both sides of every candidate (kernels).

Notation as in partition.kernels, and
--------
s_i : (n,), mean(a_i) w_i of one side, w_i the width of its records: what its axis i costs uncut.
L : floor(count / k), boxes that a side has room for.
d_i : widths of its boxes as predicted: min(w_i, t/a_i), prod d_i = prod w_i / L over the axes with s_i > 0. That is XK
    slide 9 for the uniform density in the side, clamped because no box is wider than its records (l-diversity's
    solution upside down).
axes : how many axes are searched, those of largest s_i; further ones only where these cannot be cut.
block : a node's records sorted along every axis; [s, e) is a node's run in every row of `sorted` (or `trial`), where
    they are counted from `base`.  span : (base, s, e).
side : (6, n), lowest and highest value, sum of a_i and s_i of the side that is being measured; lower and upper bounds
    of the cell of the node at hand. A side is as wide as its cell, or as its records where there are no cells.
top : (3, breadth), cost, axis and place of the best candidates so far.
lines : (2, m + 1), cost of every place; sums of a_i, where they are needed.
same : whether a_i is the same for all records.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, SingleArray, whole
from workers.algorithms.boxes.partition.diversity import restrict
from workers.algorithms.boxes.partition.kernels import widest
from workers.algorithms.boxes.partition.line import LESS, best_on_line
from workers.algorithms.boxes.partition.selection import is_open, middle
from workers.algorithms.boxes.partition.tree import Block, NumericRecords, Rules

_PLACES = 128  # candidates of a node, per axis and direction


@inner_kernel
def clear(side: FloatArray) -> None:
    """No records yet."""
    for i in range(side.shape[1]):
        side[0, i] = side[4, i]
        side[1, i] = side[5, i]
        side[2, i] = 0.0


@inner_kernel
def extend(rows: FloatArray, worth: SingleArray, row: int, side: FloatArray) -> None:
    """One more record."""
    for i in range(rows.shape[1]):
        value = rows[row, i]
        side[0, i] = min(side[0, i], value)
        side[1, i] = max(side[1, i], value)
    if len(worth) > 0:
        for i in range(rows.shape[1]):
            side[2, i] += worth[row, i]


@inner_kernel
def sizes(price: FloatArray, same: bool, count: int, side: FloatArray) -> float:
    """s_i of a side into its last row; their sum."""
    total = 0.0
    for i in range(price.shape[1]):
        a = price[0, i] if same else side[2, i] / count
        side[3, i] = a * price[1, i] * (side[1, i] - side[0, i])
        total += side[3, i]
    return total


@inner_kernel
def _root(value: float, r: int) -> float:
    if r == 1:
        return value
    if r == 2:
        return float(np.sqrt(value))
    if r == 4:
        return float(np.sqrt(np.sqrt(value)))
    return float(value ** (1.0 / r))


@inner_kernel
def predicted(price: FloatArray, same: bool, count: int, k: int, side: FloatArray) -> float:
    """Cost of a side, count sum_i a_i d_i; exact where it has room for one box only.

    Axes are cut in order of falling s_i: with the r largest cut, t^r = prod_{i <= r} s_i / L, and r is the first with t
    at or above the next s. `product` holds prod_{i <= r} s_i / s_r. Extremes of m uniform values span
    (m - 1)/(m + 1) of their interval: boxes of k are narrower than volume alone tells, the side itself too.
    """
    rest = sizes(price, same, count, side)
    room = count // k
    if room < 2 or rest <= 0.0:
        return count * rest
    n = side.shape[1]
    shrink = (k - 1.0) / (k + 1.0) * (count + 1.0) / (count - 1.0) if k > 1 else 1.0
    product = 1.0
    last = 0.0
    r = whole(0)
    while True:
        axis = -1
        largest = 0.0
        for i in range(n):
            if side[3, i] > largest:
                largest = side[3, i]
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
        side[3, axis] = 0.0
        last = largest
        r += 1


@inner_kernel
def _mark(
    rows: FloatArray,
    index: IndexArray,
    span: tuple[int, int, int],
    axis: int,
    k: int,
    allowed: ByteArray,
    cost: FloatArray,
) -> None:
    """cost_p = 0 at candidates, else -1: the first allowed open gap at or after multiples of k, from either end."""
    base, s, e = span
    m = e - s
    step = k * max(1, m // (k * _PLACES))
    for p in range(k, m - k + 1):
        cost[p] = -1.0
    last = -1
    for p in range(k, m - k + 1):
        if p // step == last or allowed[p] == 0:
            continue
        if is_open(rows[base + index[axis, s + p - 1], axis], rows[base + index[axis, s + p], axis]):
            cost[p] = 0.0
            last = p // step
    last = -1
    for p in range(m - k, k - 1, -1):
        if (m - p) // step == last or allowed[p] == 0:
            continue
        if is_open(rows[base + index[axis, s + p - 1], axis], rows[base + index[axis, s + p], axis]):
            cost[p] = 0.0
            last = (m - p) // step


@inner_kernel
def _insert(top: FloatArray, count: int, most: int, cost: float, axis: int, place: int) -> int:
    """Keep the `most` cheapest candidates in order; how many there are now."""
    if count == most and cost >= top[0, count - 1] * LESS:
        return count
    z = count if count < most else most - 1
    while z > 0 and cost < top[0, z - 1] * LESS:
        for i in range(3):
            top[i, z] = top[i, z - 1]
        z -= 1
    top[0, z] = cost
    top[1, z] = axis
    top[2, z] = place
    return min(count + 1, most)


@inner_kernel
def _along(
    rows: FloatArray,
    worth: SingleArray,
    price: FloatArray,
    index: IndexArray,
    span: tuple[int, int, int],
    axis: int,
    k: int,
    cost: FloatArray,
    side: FloatArray,
    top: FloatArray,
    count: int,
    most: int,
) -> int:
    """Predicted cost of all places marked on one axis, the best kept."""
    base, s, e = span
    m = e - s
    same = len(worth) == 0
    celled = side[4, axis] <= side[5, axis]
    clear(side)
    side[1, axis] = -np.inf
    for p in range(1, m - k + 1):
        if not (celled and same):
            extend(rows, worth, base + index[axis, s + p - 1], side)
        if p >= k and cost[p] == 0.0:
            if celled:
                side[1, axis] = middle(rows[base + index[axis, s + p - 1], axis], rows[base + index[axis, s + p], axis])
            cost[p] = predicted(price, same, p, k, side)
    clear(side)
    side[0, axis] = np.inf
    for c in range(1, m - k + 1):
        if not (celled and same):
            extend(rows, worth, base + index[axis, e - c], side)
        if c < k or cost[m - c] < 0.0:
            continue
        if count < most or cost[m - c] < top[0, count - 1] * LESS:
            if celled:
                below = rows[base + index[axis, e - c - 1], axis]
                side[0, axis] = middle(below, rows[base + index[axis, e - c], axis])
            count = _insert(top, count, most, cost[m - c] + predicted(price, same, c, k, side), axis, m - c)
    return count


@inner_kernel
def sizes_uncut(
    rows: FloatArray,
    worth: SingleArray,
    price: FloatArray,
    index: IndexArray,
    span: tuple[int, int, int],
    side: FloatArray,
) -> None:
    """s_i of a node whose records are sorted along every axis."""
    base, s, e = span
    clear(side)
    if len(worth) > 0:
        for p in range(s, e):
            for i in range(rows.shape[1]):
                side[2, i] += worth[base + index[0, p], i]
    for i in range(rows.shape[1]):
        side[0, i] = min(side[0, i], rows[base + index[i, s], i])
        side[1, i] = max(side[1, i], rows[base + index[i, e - 1], i])
    sizes(price, len(worth) == 0, e - s, side)


@inner_kernel
def candidates(
    records: NumericRecords,
    block: Block,
    rules: Rules,
    index: IndexArray,
    s: int,
    e: int,
    k: int,
    axes: int,
    most: int,
) -> tuple[int, bool]:
    """The best cuts of a node, cheapest first, into the block's `top`: rows of cost, axis and place.

    Returns
    -------
    count : how many, at most `most`; 0 where nothing can be cut.
    exact : whether the first cost is what the node will cost, not a prediction.
    """
    rows, worth, price = records.rows, records.worth, records.price
    side, lines, top = block.side, block.lines, block.top
    n = rows.shape[1]
    base = block.span[0]
    span = (base, s, e)
    ruled = len(rules.labels) + len(rules.values) > 0
    sizes_uncut(rows, worth, price, index, span, side)
    score = np.empty(n)
    active = 0
    axis = whole(0)
    for i in range(n):
        cuttable = rows[base + index[i, s], i] < rows[base + index[i, e - 1], i]
        score[i] = side[3, i] if cuttable else 0.0
        if score[i] > 0.0:
            active += 1
            axis = whole(i)
    if active == 1 and not ruled:
        others = 0.0
        for i in range(n):
            others += 0.0 if i == axis else side[3, i]
        low, high = side[4, axis], side[5, axis]
        place = best_on_line(rows, worth, price, index, span, axis, k, low, high, others, lines, block.back, top)
        return (1 if place > 0 else 0), True
    count = whole(0)
    for searched in range(active):
        if searched >= axes and count > 0:
            break
        axis = widest(score)
        score[axis] = 0.0
        if ruled:
            restrict(records.order, index, span, axis, rules)
        _mark(rows, index, span, axis, k, rules.allowed, lines[0])
        count = _along(rows, worth, price, index, span, axis, k, lines[0], side, top, count, most)
    p = top[2, 0]
    return count, count > 0 and p < 2 * k and e - s - p < 2 * k
