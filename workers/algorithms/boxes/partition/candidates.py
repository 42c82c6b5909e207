"""Candidates of a node: places along its numeric columns, and between groups of values, scored alike (kernels).

Notation as in partition.arrays, partition.gain and partition.orders, and
--------
way : an axis and a variant: axis i < n with variant 0 is the order along column i, axis n + j an order of the values
    of column j.
line : (m,), a node's records in the order of a way, counted from `base`.
top : (4, breadth), cost, axis, variant and place of the best candidates so far.
axes : how many axes are searched, those of largest s_i; further ones only where these cannot be cut.
after : candidates up to this cost have been seen already.
held : what both sides must be (partition.constraints): `marked` where that forbids places of a line at once,
    `sieved` where the sides of each candidate are counted.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, SingleArray, truth, whole
from workers.algorithms.boxes.partition.arrays import (
    EVERY,
    Effort,
    MixedBlock,
    MixedRecords,
    NumericBlock,
    NumericRecords,
    Run,
)
from workers.algorithms.boxes.partition.constraints.holding import ConstraintArrays, holds, restrict
from workers.algorithms.boxes.partition.gain import (
    Records,
    Side,
    cell,
    clear,
    ends,
    extend,
    predicted,
    rests,
    scores,
    uncut,
)
from workers.algorithms.boxes.partition.kinds import by_kind
from workers.algorithms.boxes.partition.orders import line_up
from workers.algorithms.boxes.partition.selection import LESS, can_part, is_open, middle, spans, widest

Block = NumericBlock | MixedBlock


@inner_kernel
def mark(
    rows: FloatArray,
    line: IndexArray,
    allowed: ByteArray,
    place: FloatArray,
    base: int,
    axis: int,
    k: int,
    step: int,
    width: float,
    spike: float,
) -> int:
    """place_p = 0 at candidates of a line along a numeric axis, else -1; how many there are.

    The first allowed open gap at or after multiples of `step`, from either end, both of whose sides span `width`, and
    the one beside a spike at an end of the line.
    """
    m = len(line)
    free = len(allowed) == 0
    least, most = whole(k), m - k
    if width > 0.0:
        low, high = rows[base + line[0], axis], rows[base + line[m - 1], axis]
        while least <= most and rows[base + line[least - 1], axis] - low < width:
            least += 1
        while most >= least and high - rows[base + line[most], axis] < width:
            most -= 1
    for p in range(m + 1):
        place[p] = -1.0
    count = 0
    p = least
    while p <= most:
        if (free or allowed[p] != 0) and is_open(rows[base + line[p - 1], axis], rows[base + line[p], axis]):
            place[p] = 0.0
            count += 1
            p = (p // step + 1) * step
        else:
            p += 1
    c = m - most
    while c <= m - least:
        p = m - c
        if (free or allowed[p] != 0) and is_open(rows[base + line[p - 1], axis], rows[base + line[p], axis]):
            place[p] = 0.0
            count += 1
            c = (c // step + 1) * step
        else:
            c += 1
    p = _beside_spike(rows, line, base, axis, k, width, spike)
    if p > 0 and place[p] != 0.0 and (free or allowed[p] != 0):
        place[p] = 0.0
        count += 1
    return count


@inner_kernel
def _beside_spike(rows: FloatArray, line: IndexArray, base: int, axis: int, k: int, width: float, spike: float) -> int:
    """The place between the spike, where it is at an end of a line, and the others; 0 where that is no place."""
    m = len(line)
    low, high = rows[base + line[0], axis], rows[base + line[m - 1], axis]
    if width <= 0.0 or not (low == spike or high == spike) or low == high:
        return whole(0)
    p = whole(1) if low == spike else whole(m - 1)
    while low == spike and rows[base + line[p], axis] == spike:
        p += 1
    while low != spike and rows[base + line[p - 1], axis] == spike:
        p -= 1
    below, above = rows[base + line[p - 1], axis], rows[base + line[p], axis]
    if p < k or p > m - k or not is_open(below, above):
        return whole(0)
    return whole(p if spans(low, below, width, spike) and spans(above, high, width, spike) else 0)


def _numeric_line(
    records: NumericRecords,  # noqa: ARG001
    block: NumericBlock,  # noqa: ARG001
    run: Run,
    axis: int,
    variant: int,  # noqa: ARG001
) -> tuple[int, IndexArray]:
    return whole(1), run.by_axis[axis, run.s : run.e]


def _mixed_line(records: MixedRecords, block: MixedBlock, run: Run, axis: int, variant: int) -> tuple[int, IndexArray]:
    n = records.rows.shape[1]
    if axis < n:
        return whole(1), run.by_axis[axis, run.s : run.e]
    return whole(line_up(records, block, run, axis - n, variant) - 1), block.orders.line[: run.e - run.s]


#: A node's records in the order of a way, and above 0 where it can be cut; between groups of values candidates are in
#: `place`.
line_of = by_kind(_numeric_line, _mixed_line)


def _one_variant(records: NumericRecords, axis: int, thorough: bool) -> int:  # noqa: ARG001
    return whole(1)


def _mixed_variants(records: MixedRecords, axis: int, thorough: bool) -> int:
    n = records.rows.shape[1]
    if axis < n:
        return whole(1)
    of_scores = records.score_start[axis - n + 1] - records.score_start[axis - n]
    return whole((n if thorough or of_scores > 0 else 0) + 1 + 2 * of_scores)


#: How many orders of an axis are tried.
variants_of = by_kind(_one_variant, _mixed_variants)


@inner_kernel
def _insert(top: FloatArray, count: int, most: int, cost: float, axis: int, variant: int, p: int) -> int:
    """Keep the `most` cheapest candidates in order; how many there are now."""
    if count == most and cost >= top[0, count - 1] * LESS:
        return count
    z = count if count < most else most - 1
    while z > 0 and cost < top[0, z - 1] * LESS:
        for i in range(4):
            top[i, z] = top[i, z - 1]
        z -= 1
    top[0, z] = cost
    top[1, z] = axis
    top[2, z] = variant
    top[3, z] = p
    return min(count + 1, most)


@inner_kernel
def _along(  # noqa: C901 (a kernel)
    records: Records,
    side: Side,
    line: IndexArray,
    place: FloatArray,
    top: FloatArray,
    base: int,
    axis: int,
    variant: int,
    k: int,
    count: int,
    most: int,
    after: float,
) -> int:
    """Predicted cost of both sides of all places marked on a line, the best kept."""
    rows, m = records.rows, len(line)
    final = m - k
    while final >= k and place[final] < 0.0:
        final -= 1
    first = k
    while first <= final and place[first] < 0.0:
        first += 1
    bounds = cell(side)
    low, high = ends(side)
    celled = axis < rows.shape[1] and bounds[0, axis] <= bounds[1, axis]
    still = celled and rests(records, side)
    clear(side)
    if celled:
        high[axis] = -np.inf
    for p in range(1, final + 1):
        if not still:
            extend(records, base + line[p - 1], side)
        if p >= k and place[p] == 0.0:
            if celled:
                high[axis] = middle(rows[base + line[p - 1], axis], rows[base + line[p], axis])
            place[p] = predicted(records, p, k, side)
    clear(side)
    if celled:
        low[axis] = np.inf
    for c in range(1, m - first + 1):
        p = m - c
        if not still:
            extend(records, base + line[p], side)
        if c < k or p > final or place[p] < 0.0:
            continue
        if count < most or place[p] < top[0, count - 1] * LESS:
            if celled:
                low[axis] = middle(rows[base + line[p - 1], axis], rows[base + line[p], axis])
            cost = place[p] + predicted(records, c, k, side)
            if cost > after:
                count = _insert(top, count, most, cost, axis, variant, p)
    return count


def _forbid(records: NumericRecords, held: ConstraintArrays, base: int, line: IndexArray, k: int) -> None:
    if held.marked:
        restrict(held, records.order, base, line, k)


def _forbid_nothing(
    records: MixedRecords,  # noqa: ARG001
    held: ConstraintArrays,  # noqa: ARG001
    base: int,  # noqa: ARG001
    line: IndexArray,  # noqa: ARG001
    k: int,  # noqa: ARG001
) -> None:
    return


#: Forbid places of a line at once; of columns of all kinds candidates are sieved instead.
forbid = by_kind(_forbid, _forbid_nothing)


def _searched(
    records: Records,
    block: Block,
    held: ConstraintArrays,
    run: Run,
    k: int,
    axes: int,
    most: int,
    step: int,
    after: float,
    thorough: bool,
    score: FloatArray,
) -> int:
    """The best `most` candidates dearer than `after`, on the axes of largest `score`, which is used up."""
    n = records.rows.shape[1]
    parted = records.classes >= 0  # kept classes are parted as well, which cost nothing
    count = whole(0)
    searched = 0
    while parted or searched < axes or count == 0:
        if parted:
            axis = whole(n + records.classes)
        else:
            axis = widest(score)
            if axis < 0:
                break
            score[axis] = 0.0
            searched += 1
        parted = truth(False)
        for variant in range(variants_of(records, axis, thorough)):
            some, line = line_of(records, block, run, axis, variant)
            if axis < n:
                forbid(records, held, run.base, line, k)
                width, spike = records.extent[0, axis], records.extent[1, axis]
                some = mark(records.rows, line, held.allowed, block.place, run.base, axis, k, step, width, spike)
            if some > 0:
                count = _along(
                    records, block.side, line, block.place, block.top, run.base, axis, variant, k, count, most, after
                )
    return count


_search = inner_kernel(_searched)


@inner_kernel
def _sieve(
    records: Records,
    block: Block,
    held: ConstraintArrays,
    run: Run,
    k: int,
    count: int,
    most: int,
) -> int:
    """Keep the first `most` candidates both of whose sides contain the demands."""
    kept = whole(0)
    top, rows, order = block.top, records.rows, records.order
    for z in range(count):
        axis, variant, p = whole(top[1, z]), whole(top[2, z]), whole(top[3, z])
        line = line_of(records, block, run, axis, variant)[1]
        if not holds(held, rows, order, run.base, line, whole(0), p, axis, k):
            continue
        if not holds(held, rows, order, run.base, line, p, run.e - run.s, axis, k):
            continue
        for i in range(4):
            top[i, kept] = top[i, z]
        kept += 1
        if kept == most:
            break
    return kept


def _sieved(
    records: MixedRecords,
    block: MixedBlock,
    held: ConstraintArrays,
    run: Run,
    k: int,
    axes: int,
    most: int,
    step: int,
    after: float,
    thorough: bool,
    score: FloatArray,
) -> int:
    if not held.sieved:
        return int(_search(records, block, held, run, k, axes, most, step, after, thorough, score))
    first = after
    width = block.top.shape[1]
    for each in (step, whole(1)):  # all open gaps where the usual places have none
        after = first
        while True:
            count = _search(records, block, held, run, k, whole(EVERY), width, each, after, thorough, score.copy())
            if count == 0:
                break
            full = count == width
            after = block.top[0, count - 1]
            count = _sieve(records, block, held, run, k, count, most)
            if count > 0:
                return int(count)
            if not full:
                break
    return whole(0)


#: The best candidates that are allowed.
_best = by_kind(_searched, _sieved)


@inner_kernel
def best_on_line(  # noqa: C901 (a kernel)
    rows: FloatArray,
    worth: SingleArray,
    price: FloatArray,
    line: IndexArray,
    base: int,
    axis: int,
    k: int,
    low: float,
    high: float,
    others: float,
    lines: FloatArray,
    back: IndexArray,
    top: FloatArray,
) -> int:
    """Best partition of a run of records where one axis matters: its middle cut, 0 for none; cost into `top`.

    `low` and `high` are the cell's bounds, inf and -inf where there are no cells; `others` is what the other axes cost
    a record: those of a cell may be wider than nothing though no cut narrows them.

    best_end = min over starts of best_start + (sum of a)(width). A start at or below p - k, p the last gap k before the
    end, need not be tried: a cut at p would only gain. O(m k).
    """
    m = len(line)
    best, prefix = lines[0], lines[1]
    same = len(worth) == 0
    celled = low <= high
    best[0] = prefix[0] = 0.0
    last = 0
    for end in range(1, m + 1):
        row = base + line[end - 1]
        value = rows[row, axis]
        a = price[0, axis] if same else worth[row, axis]
        prefix[end] = prefix[end - 1] + a * price[1, axis]
        best[end] = np.inf
        if end > k and best[end - k] < np.inf:
            last = end - k
        if end < k or (end < m and not is_open(value, rows[base + line[end], axis])):
            continue
        upper = high
        if end < m:
            upper = middle(value, rows[base + line[end], axis])
        for start in range(last, max(last - k, -1), -1):
            if best[start] < np.inf:
                first = rows[base + line[start], axis]
                if celled:
                    lower = low
                    if start > 0:
                        lower = middle(rows[base + line[start - 1], axis], first)
                    width = upper - lower
                else:
                    width = value - first
                cost = best[start] + (prefix[end] - prefix[start]) * width
                if cost < best[end] * LESS:
                    best[end] = cost
                    back[end] = start
    place = whole(0)
    end = whole(back[m])
    while end > 0:
        if abs(2 * end - m) < abs(2 * place - m):
            place = end
        end = whole(back[end])
    top[0, 0] = best[m] + m * others
    top[1, 0] = axis
    top[2, 0] = 0.0
    top[3, 0] = place
    return place


@inner_kernel
def _only_axis(records: Records, block: Block, run: Run, axis: int, k: int) -> int:
    """The best partition along the only axis that can be cut: its middle cut into `top`, 0 for none."""
    side = block.side
    s_of, bounds = scores(side), cell(side)
    others = 0.0
    for i in range(len(s_of)):
        others += 0.0 if i == axis else s_of[i]
    return best_on_line(
        records.rows,
        records.worth,
        records.price,
        run.by_axis[axis, run.s : run.e],
        run.base,
        axis,
        k,
        bounds[0, axis],
        bounds[1, axis],
        others,
        block.lines,
        block.back,
        block.top,
    )


@inner_kernel
def candidates(
    records: Records,
    block: Block,
    held: ConstraintArrays,
    run: Run,
    k: int,
    effort: Effort,
    most: int,
    thorough: bool,
) -> tuple[int, bool]:
    """The best cuts of a node, cheapest first, into the block's `top`.

    Parameters
    ----------
    effort : on how many axes, and how many places along each.
    most : how many are kept.
    thorough : whether all orders of values are tried, or those that matter most.

    Returns
    -------
    count : how many, at most `most`; 0 where nothing can be cut.
    exact : whether the first cost is what the node will cost, not a prediction.
    """
    n, m, index, base = records.rows.shape[1], run.e - run.s, run.by_axis, run.base
    uncut(records, run, block.side)
    score = scores(block.side).copy()
    active, axis = 0, whole(0)
    for i in range(len(score)):
        if i < n:
            low, high = records.rows[base + index[i, run.s], i], records.rows[base + index[i, run.e - 1], i]
            if not can_part(
                low, high, records.extent[0, i], records.extent[1, i]
            ):  # a cell may be wider, but no cut parts equal records
                score[i] = 0.0
        if score[i] > 0.0:
            active += 1
            axis = whole(i)
    if active == 0:
        return whole(0), False
    if active == 1 and axis < n and not held.sieved and not held.marked and records.extent[0, axis] == 0.0:
        place = _only_axis(records, block, run, axis, k)
        return (1 if place > 0 else 0), True
    step = k * max(1, m // (k * effort.places))
    count = _best(records, block, held, run, k, effort.axes, most, step, -1.0, thorough, score)
    p = block.top[3, 0]
    return count, count > 0 and p < 2 * k and m - p < 2 * k and records.classes < 0
