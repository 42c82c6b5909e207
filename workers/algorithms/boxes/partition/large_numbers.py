"""Cuts of numbers alone in nodes too large for a block: borders of equal bins compared by what they gain.

Notation as in partition.arrays and partition.gain, and
--------
bins : (64, 6, n), a `side` per bin; its row 3 starts with the number of records.
cell : (2, n), of the node.
"""

from typing import NamedTuple

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray
from workers.algorithms.boxes.partition.arrays import NumericRecords
from workers.algorithms.boxes.partition.fixed import score_axes
from workers.algorithms.boxes.partition.gain import clear, extend, predicted
from workers.algorithms.boxes.partition.selection import LESS, cut_at_multiple, is_open, middle
from workers.algorithms.boxes.partition.tree import copy_cell

_BINS = 64
_ZOOMS = 200


class Cut(NamedTuple):
    """Axis, records below, ends of the gap; `place` 0 for none."""

    axis: int
    place: int
    below: float
    above: float


def coarse(records: NumericRecords, first: int, last: int, cell: FloatArray, k: int, axes: int) -> Cut:
    """Best cut found for a node.

    Parameters
    ----------
    records : all of them.
    first, last : the node's.
    cell : (2, n), its bounds; inf and -inf where there are no cells.
    k : least records of a side.
    axes : how many axes are searched, at least.
    """
    extent = np.empty((3, records.rows.shape[1]))
    score_axes(records.rows, records.worth, records.price, first, last, cell, extent)
    low, high, score = extent
    order = np.argsort(-score)
    least, best = np.inf, Cut(0, 0, 0.0, 0.0)
    for searched, axis in enumerate(order):
        if score[axis] <= 0.0 or (searched >= axes and best.place > 0):
            break
        cost, cut = _binned(records, (first, last), cell, int(axis), k, (low[axis], high[axis]))
        if cost < least * LESS:
            least, best = cost, cut
    for axis in order:  # values so dense that bins did not part them
        if best.place == 0 and score[axis] > 0.0:
            records.scratch[: last - first] = records.rows[first:last, axis]
            best = Cut(int(axis), *cut_at_multiple(records.scratch, last - first, k))
    return best


def _binned(
    records: NumericRecords, node: tuple[int, int], cell: FloatArray, axis: int, k: int, extent: tuple[float, float]
) -> tuple[float, Cut]:
    """Cheapest border on an axis. Where one bin contains nearly all records, its own extent is divided again."""
    low, high = extent
    bins = np.empty((_BINS, 6, records.rows.shape[1]))
    bins[:, 4], bins[:, 5] = np.inf, -np.inf  # a bin is as wide as its records
    for _ in range(_ZOOMS):
        if not is_open(low, high):
            break
        _fill(records, *node, axis, low, high, bins)
        least, place, below, above = _border(records, cell, axis, k, bins)
        if place > 0:
            return least, Cut(axis, place, below, above)
        fullest = int(np.argmax(bins[:, 3, 0]))
        if low == bins[fullest, 0, axis] and high == bins[fullest, 1, axis]:
            break
        low, high = bins[fullest, 0, axis], bins[fullest, 1, axis]
    return np.inf, Cut(axis, 0, 0.0, 0.0)


@kernel
def _fill(records: NumericRecords, first: int, last: int, axis: int, low: float, high: float, bins: FloatArray) -> None:
    """Measure the records in each bin of [low, high] (outside it: in the end bins)."""
    factor = min(_BINS / (high - low), 1e300)
    for b in range(_BINS):
        clear(bins[b])
        bins[b, 3, 0] = 0.0
    for p in range(first, last):
        b = int((records.rows[p, axis] - low) * factor)
        b = min(max(b, 0), _BINS - 1)
        extend(records, p, bins[b])
        bins[b, 3, 0] += 1.0


@inner_kernel
def _merge(side: FloatArray, part: FloatArray) -> int:
    for i in range(side.shape[1]):
        side[0, i] = min(side[0, i], part[0, i])
        side[1, i] = max(side[1, i], part[1, i])
        side[2, i] += part[2, i]
    return int(part[3, 0])


@kernel
def _border(
    records: NumericRecords, cell: FloatArray, axis: int, k: int, bins: FloatArray
) -> tuple[float, int, float, float]:
    """Cheapest border of the bins: predicted cost, records below, ends of the gap; infinite where none leaves k."""
    side = np.empty((6, records.price.shape[1]))
    copy_cell(cell, side[4:])
    celled = cell[0, axis] <= cell[1, axis]
    cost = np.empty(_BINS)
    below = np.full(_BINS + 1, -np.inf)
    above = np.full(_BINS + 1, np.inf)
    for b in range(_BINS):
        below[b + 1] = max(below[b], bins[b, 1, axis])
    for b in range(_BINS - 1, -1, -1):
        above[b] = min(above[b + 1], bins[b, 0, axis])
    clear(side)
    side[1, axis] = -np.inf
    count = 0
    for b in range(1, _BINS):
        count += _merge(side, bins[b - 1])
        if celled:
            side[1, axis] = middle(below[b], above[b])
        cost[b] = predicted(records, count, k, side) if count >= k else np.inf
    size = count + int(bins[_BINS - 1, 3, 0])
    clear(side)
    side[0, axis] = np.inf
    count = 0
    least, place, a, c = np.inf, 0, 0.0, 0.0
    for b in range(_BINS - 1, 0, -1):
        count += _merge(side, bins[b])
        if count < k or cost[b] >= least or not is_open(below[b], above[b]):
            continue
        if celled:
            side[0, axis] = middle(below[b], above[b])
        total = cost[b] + predicted(records, count, k, side)
        if total < least * LESS:
            least, place, a, c = total, size - count, below[b], above[b]
    return least, place, a, c
