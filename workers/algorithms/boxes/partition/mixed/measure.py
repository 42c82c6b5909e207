"""What one side of a cut costs, and what its boxes will (kernels).

Notation as in mixed.records and in partition.gain: s_i what a column costs each record of a side uncut, L boxes that a
side has room for, d_i their predicted widths. Of kept classes that each need k records, class c has room for n_c / k
boxes, so a record of the side has room for sum n_c^2 / (n k) on average.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import whole
from workers.algorithms.boxes.partition.mixed.records import MixedRecords, Side


@inner_kernel
def clear(side: Side) -> None:
    """No records yet."""
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


@inner_kernel
def add_value(records: MixedRecords, side: Side, j: int, v: int) -> None:
    """A value that the side did not have before."""
    side.stamp[v] = side.turn[0]
    side.tally[v] = 0
    side.size[j] += 1
    side.weight[j] += records.omega[v]
    for q in range(records.score_start[j], records.score_start[j + 1]):
        side.least[q] = min(side.least[q], records.scores[q, v])
        side.most[q] = max(side.most[q], records.scores[q, v])


@inner_kernel
def extend(  # noqa: C901 (a kernel)
    records: MixedRecords, classes: int, row: int, side: Side
) -> None:
    """One more record; `classes` is the column of kept classes, or -1."""
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
        if j == classes:
            side.tally[v] += 1
            side.total[1] += 2.0 * side.tally[v] - 1.0


@inner_kernel
def measure(records: MixedRecords, count: int, side: Side) -> float:
    """s_i of a side; their sum."""
    n = len(side.low)
    sum_of_all = 0.0
    for i in range(n):
        side.s[i] = 0.0
        if side.high[i] > side.low[i]:
            a = side.worth[i] / count if len(records.worth) > 0 else records.price[0, i]
            side.s[i] = a * records.price[1, i] * (side.high[i] - side.low[i])
            sum_of_all += side.s[i]
    each = side.total[0] / count if len(records.mass) > 0 else 1.0
    for j in range(len(side.weight)):
        cost = side.weight[j] if side.size[j] > 1 else 0.0
        for q in range(records.score_start[j], records.score_start[j + 1]):
            if side.most[q] > side.least[q]:
                cost += side.most[q] - side.least[q]
        side.s[n + j] = cost * each
        sum_of_all += side.s[n + j]
    return sum_of_all


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
def predicted(records: MixedRecords, classes: int, count: int, k: int, side: Side) -> float:
    """Cost of a side, count sum_i d_i; exact where it has room for one box only (partition.gain.predicted)."""
    rest = measure(records, count, side)
    room = count // k
    if classes >= 0 and count > 0:
        room = min(room, int(side.total[1] / (count * k)))
    if room < 2 or rest <= 0.0:
        return count * rest
    shrink = (k - 1.0) / (k + 1.0) * (count + 1.0) / (count - 1.0) if k > 1 else 1.0
    product = 1.0
    last = 0.0
    r = whole(0)
    s = side.s
    while True:
        axis = -1
        largest = 0.0
        for i in range(len(s)):
            if s[i] > largest:
                largest = s[i]
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
        s[axis] = 0.0
        last = largest
        r += 1
