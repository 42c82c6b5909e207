"""Partition `optimal`: a tree of cuts chosen by gain, with the best few candidates of small nodes tried out (kernels).

Notation as in boxes.kernels and boxes.gain.

Large nodes: both sides of the borders of 64 equal bins per axis are compared, in one pass per axis. Nodes that fit a
block are sorted along every axis once; sorted runs stay sorted as cuts divide them. From `reach` records down, the
`breadth` cheapest candidates are each carried to the end by always taking the cheapest cut, and the one whose boxes
cost least is taken: a policy rolled out is never worse than the policy itself (Bertsekas 1997). Where one axis matters
the best partition is found by dynamic programming.

Nothing here depends on the order of records, but for ties in gain.
"""

import numpy as np
from numba import njit

from workers.algorithms.boxes.gain import LESS, candidates, clear, extend, predicted, sizes
from workers.algorithms.boxes.kernels import cut_at_multiple, is_open, score_axes, split_rows
from workers.algorithms.boxes.tree import Block, Effort, Records, Tree
from workers.algorithms.core.types import FloatArray, IndexArray

_BINS = 64
_ZOOMS = 200


@njit(nogil=True, cache=True)
def _divide(block: Block, index: IndexArray, s: int, e: int, axis: int, p: int) -> None:
    """Bring the first p records along an axis to the front of every axis' run, which stays sorted."""
    upper, moved = block.upper, block.moved
    for z in range(s, s + p):
        upper[index[axis, z]] = 0
    for z in range(s + p, e):
        upper[index[axis, z]] = 1
    for i in range(index.shape[0]):
        if i == axis:
            continue
        x = index[i]
        low = s
        high = 0
        for z in range(s, e):
            q = x[z]
            x[low] = q
            moved[high] = q
            low += 1 - upper[q]
            high += upper[q]
        x[low:e] = moved[:high]


@njit(nogil=True, cache=True)
def _cost(records: Records, block: Block, index: IndexArray, s: int, e: int) -> float:
    """Sum over records of a box of sum_i a_i w_i."""
    clear(block.side)
    for p in range(s, e):
        extend(records.rows, records.worth, block.span[0] + index[0, p], block.side)
    return (e - s) * sizes(records, e - s, block.side)


@njit(nogil=True, cache=True)
def _greedy(records: Records, block: Block, s: int, e: int, k: int, axes: int, bound: float) -> tuple[float, int]:
    """Cost of a node of the trial when the cheapest cut is always taken; given up at the bound."""
    waiting = np.empty((64, 2), dtype=np.int64)
    waiting[0, 0] = s
    waiting[0, 1] = e
    top = 1
    work = 0
    total = 0.0
    while top > 0 and total < bound:
        top -= 1
        s, e = waiting[top]
        found, exact = 0, False
        if e - s >= 2 * k:
            found, exact = candidates(records, block, block.trial, s, e, k, axes, 1)
            work += e - s
        if found == 0:
            total += _cost(records, block, block.trial, s, e)
            continue
        if exact:
            total += block.top_cost[0]
            continue
        p = block.top_place[0]
        _divide(block, block.trial, s, e, block.top_axis[0], p)
        larger = 0 if 2 * p > e - s else 1
        waiting[top + larger, 0] = s
        waiting[top + larger, 1] = s + p
        waiting[top + 1 - larger, 0] = s + p
        waiting[top + 1 - larger, 1] = e
        top += 2
    return total, work


@njit(nogil=True, cache=True)
def _tried(records: Records, block: Block, s: int, e: int, k: int, axes: int, found: int) -> tuple[int, int, int]:
    """The candidate that costs least when carried to the end: axis, place; and row visits."""
    tried = block.top_axis[:found].copy()
    places = block.top_place[:found].copy()
    best = 0
    least = np.inf
    work = 0
    for z in range(found):
        for i in range(block.trial.shape[0]):
            block.trial[i, s:e] = block.sorted[i, s:e]
        _divide(block, block.trial, s, e, tried[z], places[z])
        cost, visited = _greedy(records, block, s, s + places[z], k, axes, least)
        work += visited
        if cost < least:
            upper, visited = _greedy(records, block, s + places[z], e, k, axes, least - cost)
            cost += upper
            work += visited
        if cost < least * LESS:
            best = z
            least = cost
    return tried[best], places[best], work


@njit(nogil=True, cache=True)
def _fill(records: Records, block: Block, first: int, last: int) -> None:
    """Take a node's records into the block."""
    block.span[0] = first
    block.span[1] = last
    for i in range(records.rows.shape[1]):
        block.sorted[i, : last - first] = np.argsort(records.rows[first:last, i])


@njit(nogil=True, cache=True)
def _empty(records: Records, block: Block) -> None:
    """Write back the order in which the cuts have left the block's records."""
    first, last = block.span
    for p in range(last - first):
        block.moved[p] = records.order[first + block.sorted[0, p]]
    records.order[first:last] = block.moved[: last - first]
    block.span[:] = 0


@njit(nogil=True, cache=True)
def _bins(records: Records, first: int, last: int, axis: int, low: float, high: float, bins: FloatArray) -> None:
    """Measure the records in each bin of [low, high] (outside it: in the end bins); counts into row 3 of a bin."""
    factor = min(_BINS / (high - low), 1e300)
    for b in range(_BINS):
        clear(bins[b])
        bins[b, 3, 0] = 0.0
    rows, worth = records.rows, records.worth
    for p in range(first, last):
        b = int((rows[p, axis] - low) * factor)
        b = min(max(b, 0), _BINS - 1)
        extend(rows, worth, p, bins[b])
        bins[b, 3, 0] += 1.0


@njit(nogil=True, cache=True)
def _merge(side: FloatArray, part: FloatArray) -> int:
    for i in range(side.shape[1]):
        side[0, i] = min(side[0, i], part[0, i])
        side[1, i] = max(side[1, i], part[1, i])
        side[2, i] += part[2, i]
    return int(part[3, 0])


@njit(nogil=True, cache=True)
def _border(records: Records, axis: int, k: int, bins: FloatArray, side: FloatArray) -> tuple[float, int, float, float]:
    """Cheapest border of the bins: predicted cost, records below, ends of the gap; infinite where none leaves k."""
    cost = np.full(_BINS, np.inf)
    below = np.zeros(_BINS)
    clear(side)
    count = 0
    for b in range(_BINS - 1):
        count += _merge(side, bins[b])
        below[b + 1] = side[1, axis]
        if count >= k:
            cost[b + 1] = predicted(records, count, k, side)
    size = count + int(bins[_BINS - 1, 3, 0])
    clear(side)
    count = 0
    least, place, a, c = np.inf, 0, 0.0, 0.0
    for b in range(_BINS - 1, 0, -1):
        count += _merge(side, bins[b])
        if count < k or cost[b] >= least or not is_open(below[b], side[0, axis]):
            continue
        total = cost[b] + predicted(records, count, k, side)
        if total < least * LESS:
            least, place, a, c = total, size - count, below[b], side[0, axis]
    return least, place, a, c


@njit(nogil=True, cache=True)
def _binned(
    records: Records, first: int, last: int, axis: int, k: int, low: float, high: float
) -> tuple[float, int, float, float]:
    """Cheapest border on an axis. Where one bin holds nearly all records, its own extent is divided again."""
    n = records.rows.shape[1]
    bins = np.empty((_BINS, 4, n))
    side = np.empty((4, n))
    for _ in range(_ZOOMS):
        if not is_open(low, high):
            break
        _bins(records, first, last, axis, low, high, bins)
        least, place, below, above = _border(records, axis, k, bins, side)
        if place > 0:
            return least, place, below, above
        fullest = int(np.argmax(bins[:, 3, 0]))
        if low == bins[fullest, 0, axis] and high == bins[fullest, 1, axis]:
            break
        low, high = bins[fullest, 0, axis], bins[fullest, 1, axis]
    return np.inf, 0, 0.0, 0.0


@njit(nogil=True, cache=True)
def _coarse(records: Records, first: int, last: int, k: int, effort: Effort) -> tuple[int, int, float, float]:
    """Cut of a node too large for a block: axis, records below, ends of the gap."""
    n = records.rows.shape[1]
    low = np.empty(n)
    high = np.empty(n)
    score = np.empty(n)
    score_axes(records, False, first, last, low, high, score)
    order = np.argsort(-score)
    least, best, place, below, above = np.inf, -1, 0, 0.0, 0.0
    for searched in range(n):
        axis = order[searched]
        if score[axis] <= 0.0 or (searched >= effort.axes and place > 0):
            break
        cost, p, a, b = _binned(records, first, last, axis, k, low[axis], high[axis])
        if cost < least * LESS:
            least, best, place, below, above = cost, axis, p, a, b
    for axis in order:  # values so dense that bins did not part them
        if place == 0 and score[axis] > 0.0:
            records.scratch[: last - first] = records.rows[first:last, axis]
            best = axis
            place, below, above = cut_at_multiple(records.scratch, last - first, k)
    return best, place, below, above


@njit(nogil=True, cache=True)
def _fine(
    records: Records, block: Block, first: int, last: int, k: int, effort: Effort
) -> tuple[int, int, float, float, int]:
    """Cut of a node in the block, carried out: axis, records below, ends of the gap; and row visits."""
    s, e = first - block.span[0], last - block.span[0]
    breadth = effort.breadth if 3 * k <= e - s <= effort.reach else 1
    found, exact = candidates(records, block, block.sorted, s, e, k, effort.axes, breadth)
    if found == 0:
        return 0, 0, 0.0, 0.0, e - s
    axis, p, work = block.top_axis[0], block.top_place[0], 0
    if found > 1 and not exact:
        axis, p, work = _tried(records, block, s, e, k, effort.axes, found)
    _divide(block, block.sorted, s, e, axis, p)
    below = records.rows[block.span[0] + block.sorted[axis, s + p - 1], axis]
    above = records.rows[block.span[0] + block.sorted[axis, s + p], axis]
    return axis, p, below, above, 2 * work + e - s


@njit(nogil=True, cache=True)
def grow_by_gain(k: int, effort: Effort, records: Records, tree: Tree, block: Block, budget: int) -> None:
    """Cut waiting nodes until none waits or about `budget` row values have been visited.

    O(n axes N log(N/k)), times `breadth` log(reach/k) on the way from `reach` records down.
    """
    n = records.rows.shape[1]
    each = n * (min(n, effort.axes) + 1)
    counters = tree.counters
    counters[2] = 0
    while counters[1] > 0 and counters[2] < budget:
        counters[1] -= 1
        node = tree.waiting[counters[1]]
        first, last = tree.span[node]
        if last > block.span[1] or first < block.span[0]:
            _empty(records, block)
            if last - first <= block.sorted.shape[1]:
                _fill(records, block, first, last)
        if last - first < 2 * k:
            continue
        if block.span[1] > 0:
            axis, p, below, above, work = _fine(records, block, first, last, k, effort)
            counters[2] += work * each
        else:
            axis, p, below, above = _coarse(records, first, last, k, effort)
            counters[2] += (last - first) * each
            if p > 0:
                split_rows(records, first, last, axis, above)
        if p > 0:
            _branch(tree, node, axis, p, below, above)
    if counters[1] == 0:
        _empty(records, block)


@njit(nogil=True, cache=True)
def _branch(tree: Tree, node: int, axis: int, p: int, below: float, above: float) -> None:
    """Two children, the smaller on top of those that wait."""
    first, last = tree.span[node]
    counters = tree.counters
    child = counters[0]
    counters[0] += 2
    tree.axis[node] = axis
    tree.child[node] = child
    tree.gap[node] = below, above
    tree.span[child] = first, first + p
    tree.span[child + 1] = first + p, last
    larger = child if 2 * p > last - first else child + 1
    tree.waiting[counters[1]] = larger
    tree.waiting[counters[1] + 1] = 2 * child + 1 - larger
    counters[1] += 2
