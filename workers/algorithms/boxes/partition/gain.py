"""What one side of a cut costs, and what its boxes will (kernels).

Notation as in partition.arrays, and
--------
s_i : what column i costs each record of a side uncut: mean(a_i) w_i of a numeric one, w_i the width of its records or
    of its cell; of one of codes as science.md section 5, "Nominal columns".
L : boxes that a side has room for, floor(count / k). Of kept classes that each need k records, class c has room for
    n_c / k boxes, so a record of the side has room for sum n_c^2 / (n k) on average.
d_i : widths of its boxes as predicted: min(w_i, t/a_i), prod d_i = prod w_i / L over the axes with s_i > 0. That is XK
    slide 9 for the uniform density in the side, clamped because no box is wider than its records (l-diversity's
    solution upside down).
c_i : a_i min(w_i, least_i), what axis i costs at least where l values of it lie apart: d_i = min(w_i, max(t/a_i,
    least_i)) (XF slides 11 and 12). Where boxes have a least width, half of the prediction is that, and half
    the boxes that k alone allows: with all axes at their least every cut would cost the same.

`clear`, `extend`, `uncut`, `predicted`, `ends`, `scores` and `cell` are each one function to their callers; numba takes
the body for numbers alone or for columns of all kinds by the type of the side.
"""

from typing import Any

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray, whole
from workers.algorithms.boxes.partition.arrays import MixedRecords, MixedSide, NumericRecords, Run
from workers.algorithms.boxes.partition.kinds import by_kind

Records = NumericRecords | MixedRecords
Side = FloatArray | MixedSide


def _clear_numeric(side: FloatArray) -> None:
    for i in range(side.shape[1]):
        side[0, i] = side[4, i]
        side[1, i] = side[5, i]
        side[2, i] = 0.0


def _clear_mixed(side: MixedSide) -> None:
    side.turn[0] += 1
    for i in range(len(side.low)):
        side.low[i] = side.cell[0, i]
        side.high[i] = side.cell[1, i]
        side.worth[i] = 0.0
    for j in range(len(side.weight)):
        side.weight[j] = 0.0
        side.size[j] = 0
    for q in range(len(side.least)):
        side.least[q] = np.inf
        side.most[q] = -np.inf
    side.total[0] = side.total[1] = 0.0


#: No records yet.
clear = by_kind(_clear_numeric, _clear_mixed)


def _extend_numeric(records: NumericRecords, row: int, side: FloatArray) -> None:
    rows, worth = records.rows, records.worth
    for i in range(rows.shape[1]):
        value = rows[row, i]
        side[0, i] = min(side[0, i], value)
        side[1, i] = max(side[1, i], value)
    if len(worth) > 0:
        for i in range(rows.shape[1]):
            side[2, i] += worth[row, i]


@inner_kernel
def add_value(records: MixedRecords, side: MixedSide, j: int, v: int) -> None:
    """A value that the side did not have before."""
    side.stamp[v] = side.turn[0]
    side.tally[v] = 0
    side.size[j] += 1
    side.weight[j] += records.omega[v]
    for q in range(records.score_start[j], records.score_start[j + 1]):
        side.least[q] = min(side.least[q], records.scores[q, v])
        side.most[q] = max(side.most[q], records.scores[q, v])


def _extend_mixed(  # noqa: C901 (a kernel)
    records: MixedRecords, row: int, side: MixedSide
) -> None:
    for i in range(records.rows.shape[1]):
        value = records.rows[row, i]
        if value < side.low[i]:
            side.low[i] = value
        if value > side.high[i]:
            side.high[i] = value
    if len(records.worth) > 0:
        for i in range(records.rows.shape[1]):
            side.worth[i] += records.worth[row, i]
    if len(records.mass) > 0:
        side.total[0] += records.mass[row]
    turn = side.turn[0]
    for j in range(records.codes.shape[1]):
        v = whole(records.codes[row, j])
        if v < 0:
            continue
        if side.stamp[v] != turn:
            add_value(records, side, j, v)
        if j == records.classes:
            side.tally[v] += 1
            side.total[1] += 2.0 * side.tally[v] - 1.0


#: One more record.
extend = by_kind(_extend_numeric, _extend_mixed, forceinline=True)


@inner_kernel
def _numeric_sizes(records: NumericRecords, count: int, side: FloatArray) -> float:
    """s_i of a side of numbers; their sum."""
    price, same = records.price, len(records.worth) == 0
    total = 0.0
    for i in range(price.shape[1]):
        a = price[0, i] if same else side[2, i] / count
        side[3, i] = a * price[1, i] * (side[1, i] - side[0, i])
        total += side[3, i]
    return total


@inner_kernel
def _mixed_sizes(records: MixedRecords, count: int, side: MixedSide) -> float:
    """s_i of a side of columns of all kinds; their sum."""
    n = len(side.low)
    sum_of_all = 0.0
    for i in range(n):
        side.s[0, i] = 0.0
        if side.high[i] > side.low[i]:
            a = side.worth[i] / count if len(records.worth) > 0 else records.price[0, i]
            side.s[0, i] = a * records.price[1, i] * (side.high[i] - side.low[i])
            sum_of_all += side.s[0, i]
    each = side.total[0] / count if len(records.mass) > 0 else 1.0
    for j in range(len(side.weight)):
        cost = side.weight[j] if side.size[j] > 1 else 0.0
        for q in range(records.score_start[j], records.score_start[j + 1]):
            if side.most[q] > side.least[q]:
                cost += side.most[q] - side.least[q]
        side.s[0, n + j] = cost * each
        sum_of_all += side.s[0, n + j]
    return sum_of_all


def _uncut_numeric(records: NumericRecords, run: Run, side: FloatArray) -> float:
    rows, worth = records.rows, records.worth
    index, base, s, e = run.by_axis, run.base, run.s, run.e
    clear(side)
    if len(worth) > 0:
        for p in range(s, e):
            for i in range(rows.shape[1]):
                side[2, i] += worth[base + index[0, p], i]
    for i in range(rows.shape[1]):
        side[0, i] = min(side[0, i], rows[base + index[i, s], i])
        side[1, i] = max(side[1, i], rows[base + index[i, e - 1], i])
    return _numeric_sizes(records, e - s, side)


def _uncut_mixed(records: MixedRecords, run: Run, side: MixedSide) -> float:
    clear(side)
    plain = run.by_axis[len(run.by_axis) - 1]
    for z in range(run.s, run.e):
        extend(records, run.base + plain[z], side)
    return _mixed_sizes(records, run.e - run.s, side)


#: s_i of a node; their sum.
uncut = by_kind(_uncut_numeric, _uncut_mixed)


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
def _of_boxes(s: FloatArray, row: int, rest: float, count: int, room: int, k: int) -> float:
    """Cost of a side with room for several boxes; s_i are in a row of `s`, which is used up, and `rest` is their sum.

    Axes are cut in order of falling s_i: with the r largest cut, t^r = prod_{i <= r} s_i / L, and r is the first with t
    at or above the next s. `product` contains prod_{i <= r} s_i / s_r. Extremes of m uniform values span
    (m - 1)/(m + 1) of their interval: boxes of k are narrower than volume alone reveals, the side itself too.
    """
    columns = s.shape[1]
    shrink = (k - 1.0) / (k + 1.0) * (count + 1.0) / (count - 1.0) if k > 1 else 1.0
    product = 1.0
    last = 0.0
    r = whole(0)
    while True:
        axis = -1
        largest = 0.0
        for i in range(columns):
            if s[row, i] > largest:
                largest = s[row, i]
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
        s[row, axis] = 0.0
        last = largest
        r += 1


@inner_kernel
def _least_cost(s: FloatArray, row: int, i: int, low: FloatArray, high: FloatArray, least: FloatArray) -> float:
    """c_i of an axis."""
    if i >= len(least):
        return 0.0
    width = high[i] - low[i]
    return float(s[row, i] * (least[i] / width) if least[i] < width else s[row, i])


@inner_kernel
def _share(
    t: float, s: FloatArray, row: int, low: FloatArray, high: FloatArray, least: FloatArray
) -> tuple[float, int, int]:
    """Volume of boxes whose axes cost t, within [c_i, s_i], over the side's; axes that grow and that fall with t."""
    share, growing, falling = 1.0, 0, 0
    for i in range(s.shape[1]):
        if s[row, i] > 0.0:
            c = _least_cost(s, row, i, low, high, least)
            share *= min(max(t, c), s[row, i]) / s[row, i]
            growing += c <= t < s[row, i]
            falling += c < t <= s[row, i]
    return share, growing, falling


@inner_kernel
def _of_diverse_boxes(
    s: FloatArray, row: int, low: FloatArray, high: FloatArray, least: FloatArray, count: int, room: int, k: int
) -> float:
    """Cost of a side with room for several boxes, none narrower than its values need.

    Between two neighbours of all c_i and s_i the volume of boxes is a power of t: t lies above the largest of them that
    leaves boxes no larger than 1/L of the side. Where none does only axes without a least are narrower than the
    smallest; where there is none of these either, all axes are at their least and the side has room for fewer boxes.
    """
    start, first = 0.0, np.inf
    for i in range(s.shape[1]):
        for t in (_least_cost(s, row, i, low, high, least), s[row, i]):
            first = t if 0.0 < t < first else first
            if t > start and _share(t, s, row, low, high, least)[0] * room <= 1.0:
                start = t
    t = start if start > 0.0 else first
    share, growing, falling = _share(t, s, row, low, high, least)
    axes = growing if start > 0.0 else falling
    t = t * _root(1.0 / (share * room), axes) if axes > 0 and share > 0.0 else start
    shrink = (k - 1.0) / (k + 1.0) * (count + 1.0) / (count - 1.0) if k > 1 else 1.0
    total = 0.0
    for i in range(s.shape[1]):
        c = _least_cost(s, row, i, low, high, least)
        total += max(c, min(max(t, c), s[row, i]) * shrink)
    return count * total


@inner_kernel
def _wide(extent: FloatArray) -> bool:
    """Test that a least width is demanded of some column."""
    largest = 0.0
    for i in range(extent.shape[1]):
        largest = max(largest, extent[0, i])
    return largest > 0.0


def _predicted_numeric(records: NumericRecords, count: int, k: int, side: FloatArray) -> float:
    rest = _numeric_sizes(records, count, side)
    room = count // k
    if room < 2 or rest <= 0.0:
        return count * rest
    if len(records.least) == 0:
        return _of_boxes(side, whole(3), rest, count, room, k)
    diverse = _of_diverse_boxes(side, whole(3), side[0], side[1], records.least, count, room, k)
    return 0.5 * (diverse + _of_boxes(side, whole(3), rest, count, room, k)) if _wide(records.extent) else diverse


def _predicted_mixed(records: MixedRecords, count: int, k: int, side: MixedSide) -> float:
    rest = _mixed_sizes(records, count, side)
    room = count // k
    if records.classes >= 0 and count > 0:
        room = min(room, int(side.total[1] / (count * k)))
    if room < 2 or rest <= 0.0:
        return count * rest
    if len(records.least) == 0:
        return _of_boxes(side.s, whole(0), rest, count, room, k)
    diverse = _of_diverse_boxes(side.s, whole(0), side.low, side.high, records.least, count, room, k)
    return 0.5 * (diverse + _of_boxes(side.s, whole(0), rest, count, room, k)) if _wide(records.extent) else diverse


#: Cost of a side, count sum_i a_i d_i; exact where it has room for one box only.
predicted = by_kind(_predicted_numeric, _predicted_mixed, forceinline=True)


def _numeric_ends(side: FloatArray) -> tuple[FloatArray, FloatArray]:
    return side[0], side[1]


def _mixed_ends(side: MixedSide) -> tuple[FloatArray, FloatArray]:
    return side.low, side.high


#: Lowest and highest values of a side, (n,) each.
ends = by_kind(_numeric_ends, _mixed_ends)


def _numeric_scores(side: FloatArray) -> Any:
    return side[3]


def _mixed_scores(side: MixedSide) -> Any:
    return side.s[0]


#: s_i of a side, (n + D,).
scores = by_kind(_numeric_scores, _mixed_scores)


def _numeric_cell(side: FloatArray) -> Any:
    return side[4:]


def _mixed_cell(side: MixedSide) -> FloatArray:
    return side.cell


#: Bounds of the cell of the node at hand, (2, n).
cell = by_kind(_numeric_cell, _mixed_cell)


def _numbers_rest(records: NumericRecords, side: FloatArray) -> bool:  # noqa: ARG001
    return len(records.worth) == 0


def _codes_never_rest(records: MixedRecords, side: MixedSide) -> bool:  # noqa: ARG001
    return False


#: Whether what a side costs does not hang on its records where it is as wide as its cell.
rests = by_kind(_numbers_rest, _codes_never_rest)
