"""Candidates of a node: places along its numeric columns, and between groups of values, scored alike (kernels).

Notation as in mixed.records and mixed.orders, and
--------
block : a node's records sorted along every numeric axis; [s, e) is a node's run in every row of `index`, where they are
    counted from `base`.
way : an axis and a variant: axis i < n with variant 0 is the order along column i, axis n + j an order of the values
    of column j.
top : (4, breadth), cost, axis, variant and place of the best candidates so far.
after : candidates up to this cost have been seen already.
"""

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray, IndexArray, truth, whole
from workers.algorithms.boxes.partition.line import best_on_line
from workers.algorithms.boxes.partition.mixed.holding import ConstraintArrays, holds
from workers.algorithms.boxes.partition.mixed.measure import clear, extend, measure
from workers.algorithms.boxes.partition.mixed.orders import line_up
from workers.algorithms.boxes.partition.mixed.records import MixedRecords, Room, Side
from workers.algorithms.boxes.partition.mixed.scoring import along
from workers.algorithms.boxes.partition.selection import is_open


@inner_kernel
def _mark(records: MixedRecords, room: Room, base: int, m: int, axis: int, k: int, every: bool) -> int:
    """place_p = 0 at candidates of a line along a numeric axis, else -1; how many there are.

    The first open gap at or after multiples of k, from either end; all open gaps where `every` one is asked for.
    """
    rows, line, place = records.rows, room.line, room.place
    step = 1 if every else k * max(1, m // (k * room.places))
    for p in range(m + 1):
        place[p] = -1.0
    count = 0
    p = whole(k)
    while p <= m - k:
        if is_open(rows[base + line[p - 1], axis], rows[base + line[p], axis]):
            place[p] = 0.0
            count += 1
            p = (p // step + 1) * step
        else:
            p += 1
    c = whole(k)
    while c <= m - k:
        if is_open(rows[base + line[m - c - 1], axis], rows[base + line[m - c], axis]):
            place[m - c] = 0.0
            count += 1
            c = (c // step + 1) * step
        else:
            c += 1
    return count


@inner_kernel
def follow(
    records: MixedRecords,
    room: Room,
    index: IndexArray,
    base: int,
    s: int,
    e: int,
    axis: int,
    variant: int,
    k: int,
    every: bool,
) -> int:
    """Put a node's records in the order of a way into `line`, candidates into `place`; 0 where there is none."""
    n = records.rows.shape[1]
    if axis >= n:
        return line_up(records, room, index, base, s, e, axis - n, variant) - 1
    for z in range(s, e):
        room.line[z - s] = index[axis, z]
    return _mark(records, room, base, e - s, axis, k, every)


@inner_kernel
def variants_of(records: MixedRecords, column: int, thorough: bool) -> int:
    """How many orders of a column's values are tried."""
    scores = records.score_start[column + 1] - records.score_start[column]
    n = records.rows.shape[1]
    return int((n if thorough or scores > 0 else 0) + 1 + 2 * scores)


@inner_kernel
def uncut(records: MixedRecords, classes: int, index: IndexArray, base: int, s: int, e: int, side: Side) -> float:
    """s_i of a node; their sum."""
    clear(side)
    plain = index[len(index) - 1]
    for z in range(s, e):
        extend(records, classes, base + plain[z], side)
    return measure(records, e - s, side)


@inner_kernel
def _search(
    records: MixedRecords,
    room: Room,
    side: Side,
    classes: int,
    index: IndexArray,
    base: int,
    s: int,
    e: int,
    k: int,
    most: int,
    after: float,
    thorough: bool,
    every: bool,
    score: FloatArray,
) -> int:
    """The best `most` candidates on all axes that matter, dearer than `after`."""
    n = records.rows.shape[1]
    count = whole(0)
    for axis in range(len(score)):
        if score[axis] <= 0.0 and axis - n != classes:
            continue
        variants = 1 if axis < n else variants_of(records, axis - n, thorough)
        for variant in range(variants):
            if follow(records, room, index, base, s, e, axis, variant, k, every) > 0:
                count = along(records, room, side, classes, base, e - s, axis, variant, k, count, most, after)
    return count


@inner_kernel
def _sieve(
    records: MixedRecords,
    room: Room,
    demands: ConstraintArrays,
    index: IndexArray,
    base: int,
    s: int,
    e: int,
    k: int,
    count: int,
    most: int,
) -> int:
    """Keep the first `most` candidates both of whose sides hold what is demanded."""
    kept = whole(0)
    top = room.top
    for z in range(count):
        axis, variant, p = whole(top[1, z]), whole(top[2, z]), whole(top[3, z])
        follow(records, room, index, base, s, e, axis, variant, k, truth(True))
        rows, order, line, m = records.rows, records.order, room.line, e - s
        if not holds(demands, rows, order, base, line, whole(0), p, axis, k):
            continue
        if not holds(demands, rows, order, base, line, p, m, axis, k):
            continue
        for i in range(4):
            top[i, kept] = top[i, z]
        kept += 1
        if kept == most:
            break
    return kept


@inner_kernel
def _widest(score: FloatArray, few: FloatArray, axes: int) -> int:
    """Leave the axes of largest score in `few`, and the others in `score`; how many are in `few`."""
    for i in range(len(score)):
        few[i] = 0.0
    taken = whole(0)
    while taken < axes:
        axis = -1
        largest = 0.0
        for i in range(len(score)):
            if score[i] > largest:
                largest = score[i]
                axis = i
        if axis < 0:
            break
        few[axis] = largest
        score[axis] = 0.0
        taken += 1
    return taken


@inner_kernel
def _only_axis(
    records: MixedRecords, room: Room, side: Side, index: IndexArray, span: tuple[int, int, int], axis: int, k: int
) -> int:
    """The best partition along the only axis that can be cut, into the room's `top`: its middle cut, 0 for none."""
    others = 0.0
    for i in range(len(side.s)):
        others += 0.0 if i == axis else side.s[i]
    low, high = side.cell[0, axis], side.cell[1, axis]
    rows, worth, price, top = records.rows, records.worth, records.price, room.top
    place = best_on_line(rows, worth, price, index, span, axis, k, low, high, others, room.lines, room.back, top)
    top[3, 0] = place
    top[2, 0] = 0.0
    return place


@inner_kernel
def candidates(  # noqa: C901 (a kernel)
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
    most: int,
    thorough: bool,
    axes: int,
) -> tuple[int, bool]:
    """The best cuts of a node, cheapest first, into the room's `top`; other axes only where `axes` cannot be cut.

    Returns
    -------
    count : how many, at most `most`; 0 where nothing can be cut.
    exact : whether the first cost is what the node will cost, not a prediction.
    """
    top = room.top
    n = records.rows.shape[1]
    uncut(records, classes, index, base, s, e, side)
    score = side.s.copy()
    active, axis = 0, whole(0)
    for i in range(len(score)):
        if i < n and records.rows[base + index[i, s], i] == records.rows[base + index[i, e - 1], i]:
            score[i] = 0.0  # a cell may be wider than its records, but no cut parts equal ones
        if score[i] > 0.0:
            active += 1
            axis = whole(i)
    if active == 0:
        return whole(0), False
    if active == 1 and axis < n and not ruled:
        place = _only_axis(records, room, side, index, (base, s, e), axis, k)
        return (1 if place > 0 else 0), True
    width = top.shape[1]
    if not ruled:
        count = whole(0)
        while count == 0 and active > 0:
            few = score.copy()
            active -= _widest(score, few, axes)
            count = _search(records, room, side, classes, index, base, s, e, k, most, -1.0, thorough, truth(False), few)
    else:
        count = whole(0)
        for every in (False, True):
            after = -1.0
            while count == 0:
                count = _search(
                    records, room, side, classes, index, base, s, e, k, width, after, thorough, every, score
                )
                if count == 0:
                    break
                full = count == width
                after = top[0, count - 1]
                count = _sieve(records, room, demands, index, base, s, e, k, count, most)
                if not full:
                    break
            if count > 0:
                break
    p = top[3, 0]
    return count, count > 0 and p < 2 * k and e - s - p < 2 * k and classes < 0
