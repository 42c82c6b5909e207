"""Places of a node's records in the order of a cut, scored: the predicted cost of both sides (kernels).

Notation as in mixed.candidates.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray
from workers.algorithms.boxes.partition.line import LESS
from workers.algorithms.boxes.partition.mixed.measure import clear, extend, predicted
from workers.algorithms.boxes.partition.mixed.records import MixedRecords, Room, Side
from workers.algorithms.boxes.partition.selection import middle


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
def along(  # noqa: C901 (a kernel)
    records: MixedRecords,
    room: Room,
    side: Side,
    classes: int,
    base: int,
    m: int,
    axis: int,
    variant: int,
    k: int,
    count: int,
    most: int,
    after: float,
) -> int:
    """Predicted cost of all places marked on a line, the best kept."""
    line, place, top = room.line, room.place, room.top
    final = m - k
    while final >= k and place[final] < 0.0:
        final -= 1
    first = k
    while first <= final and place[first] < 0.0:
        first += 1
    rows = records.rows
    celled = axis < rows.shape[1] and side.cell[0, axis] <= side.cell[1, axis]
    clear(side)
    if celled:
        side.high[axis] = -np.inf
    for p in range(1, final + 1):
        extend(records, classes, base + line[p - 1], side)
        if p >= k and place[p] == 0.0:
            if celled:
                side.high[axis] = middle(rows[base + line[p - 1], axis], rows[base + line[p], axis])
            place[p] = predicted(records, classes, p, k, side)
    clear(side)
    if celled:
        side.low[axis] = np.inf
    for c in range(1, m - first + 1):
        extend(records, classes, base + line[m - c], side)
        if c < k or m - c > final or place[m - c] < 0.0:
            continue
        if count < most or place[m - c] < top[0, count - 1] * LESS:
            if celled:
                side.low[axis] = middle(rows[base + line[m - c - 1], axis], rows[base + line[m - c], axis])
            cost = place[m - c] + predicted(records, classes, c, k, side)
            if cost > after:
                count = _insert(top, count, most, cost, axis, variant, m - c)
    return count
