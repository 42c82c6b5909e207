"""Cuts of numbers alone in nodes too large for a block: borders of equal bins compared by what they gain.

Of nodes of very many records a sample is measured, evenly spaced, along all axes; places and gaps of its cuts are those
of all records. A node's cut depends on its own records alone: in which order nodes are cut changes nothing.

Notation as in partition.arrays and partition.gain, and
--------
bins : (64, 6, n), a `side` per bin; its row 3 starts with the number of records.
cell : (2, n), of the node.
stride : of how many records each one that is measured stands for.
"""

from typing import NamedTuple

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray
from workers.algorithms.boxes.partition.arrays import EVERY, NumericRecords
from workers.algorithms.boxes.partition.fixed import score_axes
from workers.algorithms.boxes.partition.gain import clear, extend, predicted
from workers.algorithms.boxes.partition.selection import LESS, can_part, cut_at_multiple, is_open, middle, spans
from workers.algorithms.boxes.partition.tree import copy_cell

_BINS = 64
_ZOOMS = 200
_SAMPLED = 32  # records measured of a side, where a sample is


class Cut(NamedTuple):
    """Axis, records below, ends of the gap; `place` 0 for none."""

    axis: int
    place: int
    below: float
    above: float


def coarse(
    records: NumericRecords, first: int, last: int, cell: FloatArray, k: int, axes: int, sample: int = EVERY
) -> Cut:
    """Best cut found for a node.

    Parameters
    ----------
    records : all of them.
    first, last : the node's.
    cell : (2, n), its bounds; inf and -inf where there are no cells.
    k : least records of a side.
    axes : how many axes are searched, at least; of a sample all are.
    sample : about how many of the records are measured at least; all of them where these show no cut.
    """
    stride = max(1, (last - first) // sample)
    if stride > 1:
        some = records._replace(
            rows=np.ascontiguousarray(records.rows[first:last:stride]),
            worth=np.ascontiguousarray(records.worth[first:last:stride]) if len(records.worth) else records.worth,
        )
        cut = _cheapest(some, (0, len(some.rows)), cell, k, EVERY, stride)[0]
        if cut.place > 0 and (cut := _of_all(records, first, last, cut, k)).place > 0:
            return cut
    best, cuttable = _cheapest(records, (first, last), cell, k, axes, 1)
    for axis in cuttable:  # values so dense that bins did not part them
        if best.place == 0:
            records.scratch[: last - first] = records.rows[first:last, axis]
            best = Cut(axis, *cut_at_multiple(records.scratch, last - first, k, *records.extent[:, axis]))
    return best


def _cheapest(
    records: NumericRecords, node: tuple[int, int], cell: FloatArray, k: int, axes: int, stride: int
) -> tuple[Cut, list[int]]:
    """Cheapest border of the axes searched, and all axes that can be cut, that of largest s_i first."""
    extent = np.empty((3, records.rows.shape[1]))
    score_axes(records.rows, records.worth, records.price, *node, cell, extent)
    low, high, score = extent
    width, spike = records.extent
    wide = [can_part(*one) for one in zip(low, high, width, spike, strict=True)]
    cuttable = [int(axis) for axis in np.argsort(-score) if score[axis] > 0.0 and wide[axis]]
    least, best = np.inf, Cut(0, 0, 0.0, 0.0)
    for searched, axis in enumerate(cuttable):
        if searched >= axes and best.place > 0:
            break
        cost, cut = _binned(records, node, cell, axis, k, (low[axis], high[axis]), stride)
        if cost < least * LESS:
            least, best = cost, cut
    return best, cuttable


def _of_all(records: NumericRecords, first: int, last: int, cut: Cut, k: int) -> Cut:
    """A cut of a sample with its place and gap among all records of the node."""
    values = records.rows[first:last, cut.axis]
    lower = values[values < cut.above]
    below = float(lower.max())
    width, spike = records.extent[:, cut.axis]
    wide = spans(lower.min(), below, width, spike) and spans(cut.above, values.max(), width, spike)
    allowed = k <= len(lower) <= len(values) - k and is_open(below, cut.above) and wide
    return cut._replace(place=len(lower) if allowed else 0, below=below)


def _binned(
    records: NumericRecords,
    node: tuple[int, int],
    cell: FloatArray,
    axis: int,
    k: int,
    extent: tuple[float, float],
    stride: int,
) -> tuple[float, Cut]:
    """Cheapest border on an axis. Where one bin contains nearly all records, its own extent is divided again."""
    low, high = extent
    fewest = k if stride == 1 else max(k, _SAMPLED * stride)
    bins = np.empty((_BINS, 6, records.rows.shape[1]))
    bins[:, 4], bins[:, 5] = np.inf, -np.inf  # a bin is as wide as its records
    for _ in range(_ZOOMS):
        if not is_open(low, high):
            break
        _fill(records, *node, axis, low, high, stride, bins)
        least, place, below, above = _border(records, cell, axis, k, fewest, *extent, bins)
        if place > 0:
            return least, Cut(axis, place, below, above)
        fullest = int(np.argmax(bins[:, 3, 0]))
        if low == bins[fullest, 0, axis] and high == bins[fullest, 1, axis]:
            break
        low, high = bins[fullest, 0, axis], bins[fullest, 1, axis]
    return np.inf, Cut(axis, 0, 0.0, 0.0)


@kernel
def _fill(
    records: NumericRecords, first: int, last: int, axis: int, low: float, high: float, stride: int, bins: FloatArray
) -> None:
    """Measure the records in each bin of [low, high] (outside it: in the end bins)."""
    factor = min(_BINS / (high - low), 1e300)
    for b in range(_BINS):
        clear(bins[b])
        bins[b, 3, 0] = 0.0
    for p in range(first, last):
        b = int((records.rows[p, axis] - low) * factor)
        b = min(max(b, 0), _BINS - 1)
        extend(records, p, bins[b])
        bins[b, 3, 0] += stride
    for b in range(_BINS):
        for i in range(bins.shape[2]):
            bins[b, 2, i] *= stride


@inner_kernel
def _merge(side: FloatArray, part: FloatArray) -> int:
    for i in range(side.shape[1]):
        side[0, i] = min(side[0, i], part[0, i])
        side[1, i] = max(side[1, i], part[1, i])
        side[2, i] += part[2, i]
    return int(part[3, 0])


@kernel
def _border(
    records: NumericRecords,
    cell: FloatArray,
    axis: int,
    k: int,
    fewest: int,
    low: float,
    high: float,
    bins: FloatArray,
) -> tuple[float, int, float, float]:
    """Cheapest border of the bins: cost, records below, ends of the gap; infinite where none leaves the fewest.

    `low` and `high` are the extremes of the node's records, of which both sides span what they must.
    """
    width, spike = records.extent[0, axis], records.extent[1, axis]
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
        wide = spans(low, below[b], width, spike) and spans(above[b], high, width, spike)
        cost[b] = predicted(records, count, k, side) if count >= fewest and wide else np.inf
    size = count + int(bins[_BINS - 1, 3, 0])
    clear(side)
    side[0, axis] = np.inf
    count = 0
    least, place, a, c = np.inf, 0, 0.0, 0.0
    for b in range(_BINS - 1, 0, -1):
        count += _merge(side, bins[b])
        if count < fewest or cost[b] >= least or not is_open(below[b], above[b]):
            continue
        if celled:
            side[0, axis] = middle(below[b], above[b])
        total = cost[b] + predicted(records, count, k, side)
        if total < least * LESS:
            least, place, a, c = total, size - count, below[b], above[b]
    return least, place, a, c
