"""The cut of `fast` and of `mondrian` (kernels). Notation as in mixed.candidates.

`fast` cuts the column of largest s_i: a numeric one where both sides hold multiples of k, a nominal one by
n_v / omega_v where the column itself then costs least. `mondrian` cuts the column widest in shares of its range, or of
its codebook, at the strict median; values of a nominal column, in order of frequency, at the place nearest to it. Both
try the next column where no cut is allowed; kept classes are parted where nothing else can be cut.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray, IndexArray, truth, whole
from workers.algorithms.boxes.partition.kernels import better, widest
from workers.algorithms.boxes.partition.line import LESS
from workers.algorithms.boxes.partition.mixed.candidates import follow, uncut
from workers.algorithms.boxes.partition.mixed.holding import ConstraintArrays, holds
from workers.algorithms.boxes.partition.mixed.measure import add_value, clear
from workers.algorithms.boxes.partition.mixed.records import MixedRecords, Room, Side
from workers.algorithms.boxes.partition.selection import is_open


@inner_kernel
def _settled(
    records: MixedRecords,
    room: Room,
    demands: ConstraintArrays,
    ruled: bool,
    base: int,
    m: int,
    axis: int,
    k: int,
    order: IndexArray,
    count: int,
) -> int:
    """The first of some places whose sides hold what is demanded; 0 for none."""
    for z in range(count):
        p = whole(order[z])
        if not ruled:
            return p
        if holds(demands, records.rows, records.order, base, room.line, whole(0), p, axis, k) and holds(
            demands, records.rows, records.order, base, room.line, p, m, axis, k
        ):
            return p
    return whole(0)


@inner_kernel
def _by_room(room: Room, m: int, k: int, order: IndexArray) -> int:
    """Candidate places, those that leave room for most boxes first, then those nearest to the middle."""
    count = 0
    while count < len(order):
        best = whole(0)
        for p in range(k, m - k + 1):
            if room.place[p] == 0.0 and better(p, best, m, k):
                best = whole(p)
        if best == 0:
            break
        room.place[best] = -1.0
        order[count] = best
        count += 1
    return count


@inner_kernel
def _by_cost(
    records: MixedRecords, room: Room, side: Side, base: int, m: int, column: int, k: int, order: IndexArray
) -> int:
    """Candidate places between values, those after which the column itself costs least first."""
    line, place, lines = room.line, room.place, room.lines
    for backward in (False, True):
        clear(side)
        for c in range(1, m):
            v = whole(records.codes[base + line[m - c if backward else c - 1], column])
            if side.stamp[v] != side.turn[0]:
                add_value(records, side, column, v)
            p = m - c if backward else c
            if place[p] < 0.0:
                continue
            cost = side.weight[column] if side.size[column] > 1 else 0.0
            for q in range(records.score_start[column], records.score_start[column + 1]):
                cost += side.most[q] - side.least[q]
            lines[1 if backward else 0, p] = c * cost
    count = 0
    while count < len(order):
        best, least = whole(0), np.inf
        for p in range(k, m - k + 1):
            if place[p] == 0.0 and lines[0, p] + lines[1, p] < least * LESS:
                best, least = whole(p), lines[0, p] + lines[1, p]
        if best == 0:
            break
        place[best] = -1.0
        order[count] = best
        count += 1
    return count


@inner_kernel
def _usual(rows: FloatArray, run: IndexArray, base: int, axis: int, k: int, median: bool) -> int:
    """Place of the median, or the open gap about the middle multiple of k; 0 where it is none.

    `mondrian`: the lower side has all values up to the lower median (LeFevre, DeWitt, Ramakrishnan 2006, section 4).
    """
    m = len(run)
    if median:
        p = whole((m + 1) // 2)
        while p < m and rows[base + run[p - 1], axis] == rows[base + run[p], axis]:
            p += 1
        if k <= p <= m - k and is_open(rows[base + run[p - 1], axis], rows[base + run[p], axis]):
            return p
        return whole(0)
    middle = whole(m // k // 2 * k)
    low = middle
    while low >= k and not is_open(rows[base + run[low - 1], axis], rows[base + run[low], axis]):
        low -= 1
    if low == middle:
        return middle
    high = middle + 1
    while high <= m - k and not is_open(rows[base + run[high - 1], axis], rows[base + run[high], axis]):
        high += 1
    if low < k:
        return high if high <= m - k else whole(0)
    return high if high <= m - k and better(high, low, m, k) else low


@inner_kernel
def _most_frequent(room: Room, m: int, k: int) -> int:
    """The place between values in order of frequency that is nearest to the middle; 0 for none."""
    best = whole(0)
    for p in range(k, m - k + 1):
        if room.place[p] == 0.0 and (best == 0 or abs(2 * p - m) < abs(2 * best - m)):
            best = whole(p)
    return best


@inner_kernel
def _column(
    records: MixedRecords,
    room: Room,
    side: Side,
    classes: int,
    demands: ConstraintArrays,
    ruled: bool,
    index: IndexArray,
    base: int,
    s: int,
    e: int,
    axis: int,
    k: int,
    median: bool,
    order: IndexArray,
) -> int:
    """The place at which a column is cut; its order then stands in `line`. 0 for none."""
    n = records.rows.shape[1]
    m = e - s
    count = 0
    if axis < n:
        order[0] = _usual(records.rows, index[axis, s:e], base, axis, k, median)
        if order[0] == 0:
            return whole(0)
        if not ruled:
            for z in range(s, e):
                room.line[z - s] = index[axis, z]
            return whole(order[0])
        count = 1
    if follow(records, room, index, base, s, e, axis, whole(0), k, truth(True)) <= 0:
        return whole(0)
    if axis >= n and median and axis - n != classes:
        order[0] = _most_frequent(room, m, k)
        count = 1 if order[0] > 0 else 0
    elif axis >= n:
        few = order if ruled else order[:1]
        if axis - n == classes:
            count = _by_room(room, m, k, few)
        else:
            count = _by_cost(records, room, side, base, m, axis - n, k, few)
    p = _settled(records, room, demands, ruled, base, m, axis, k, order, count)
    if p == 0 and ruled and not median and axis < n:
        p = _settled(records, room, demands, ruled, base, m, axis, k, order, _by_room(room, m, k, order))
    return p


@inner_kernel
def by_width(
    records: MixedRecords,
    room: Room,
    side: Side,
    classes: int,
    demands: ConstraintArrays,
    ruled: bool,
    index: IndexArray,
    base: int,
    s: int,
    e: int,
    k: int,
    median: bool,
    order: IndexArray,
) -> bool:
    """The cut of `fast` or `mondrian` into the room's `top`; whether there is one."""
    n = records.rows.shape[1]
    uncut(records, classes, index, base, s, e, side)
    score = side.s.copy()
    last = False
    while True:
        axis = widest(score)
        if axis < 0:  # kept classes are parted where nothing else can be cut
            if last or classes < 0:
                return False
            axis, last = n + classes, True
        score[axis] = 0.0
        p = _column(records, room, side, classes, demands, ruled, index, base, s, e, axis, k, median, order)
        if p > 0:
            room.top[1, 0], room.top[2, 0], room.top[3, 0] = axis, 0.0, p
            return True
