"""Bounds of boxes with columns of all kinds: tiles of domains and codebooks, or what the records of each box have.

Notation as in boxes.bounds and boxes.sides. Boxes of records that lack a column have no bounds and no values there.

science.md section 5, "Nominal columns" and "Whole numbers and dates".
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.ends import multiples
from surebox_core.extremes import extremes_present
from surebox_core.ordering import lexicographic
from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.bounds import Domain, rounded_outward
from workers.algorithms.boxes.partition.arranging import ancestors
from workers.algorithms.boxes.partition.companions import assign, ring
from workers.algorithms.boxes.partition.partition import Partition
from workers.algorithms.boxes.partition.places import KeyArray, cut_points
from workers.algorithms.boxes.sides import Boxes, NominalColumn, NumericColumn

_ROUNDING = 1e-9  # of a bound, within which it may be a multiple itself


def outer(x: FloatArray, domains: Sequence[Domain | None]) -> tuple[FloatArray, FloatArray]:
    """Corners of the region that cells tile; 0 and 0 of a column without any value."""
    low, high = extremes_present(x)
    pairs = [
        d or (rounded_outward(float(a), float(b)) if a <= b else (0.0, 0.0))
        for d, a, b in zip(domains, low, high, strict=True)
    ]
    return np.array([p[0] for p in pairs], dtype=np.float64), np.array([p[1] for p in pairs], dtype=np.float64)


def mixed_cells(
    x: FloatArray,
    nominal: tuple[NominalColumn, ...],
    partition: Partition,
    domains: Sequence[Domain | None],
    keys: KeyArray,
) -> Boxes:
    """Tiles of domains and codebooks, every cut a random point of its gap, unused values on a random side.

    Parameters
    ----------
    x : (N, n), NaN where missing.
    nominal : d columns.
    partition : groups of these records.
    domains : declared bounds per numeric column, or None.
    keys : (n + d, 8), the secret of each column.

    Returns
    -------
    Boxes
        In the order of the partition's groups. Those of records that lack the same columns and that no cut of kept
        classes divides are disjoint, and cover domains and codebooks.
    """
    n = x.shape[1]
    low, high = outer(x, domains)
    numeric = (partition.axis >= 0) & (partition.axis < n)
    place = np.empty(len(partition.axis))
    place[numeric] = cut_points(partition.gap[numeric], partition.axis[numeric], keys)
    start = np.concatenate([[0], np.cumsum([c.values for c in nominal])]).astype(np.int64)
    rings = [ring(keys[n + j], column.values) for j, column in enumerate(nominal)]
    groups = len(partition.starts) - 1
    lower, upper = np.empty((groups, n)), np.empty((groups, n))
    sets = np.empty((groups, int(start[-1])), dtype=np.bool_)
    codes = np.empty((len(x), len(nominal)), dtype=np.int32)
    for j, column in enumerate(nominal):
        codes[:, j] = np.where(column.codes >= 0, column.codes + start[j], -1)
    _tile(
        partition.axis,
        partition.child,
        partition.leaf,
        partition.span,
        partition.roots,
        partition.order,
        place,
        low,
        high,
        codes,
        start,
        np.concatenate([*rings, np.empty(0, dtype=np.int64)]).astype(np.int64),
        ancestors(nominal, start),
        lower,
        upper,
        sets,
    )
    first = partition.order[partition.starts[:-1]]
    missing = np.isnan(x[first])
    lower[missing] = upper[missing] = np.nan
    for j in range(len(nominal)):
        sets[codes[first, j] < 0, start[j] : start[j + 1]] = False
    free = np.array([d is None for d in domains], dtype=np.bool_)
    return _boxes(partition, lower, upper, _columns(sets, start), free)


def mixed_tight(x: FloatArray, nominal: tuple[NominalColumn, ...], partition: Partition) -> Boxes:
    """Extremes and values of each group's records."""
    groups = partition.starts[:-1]
    ordered = np.take(x, partition.order, axis=0)
    lower = np.minimum.reduceat(ordered, groups, axis=0)
    upper = np.maximum.reduceat(ordered, groups, axis=0)
    return _boxes(partition, lower, upper, present(nominal, partition), np.zeros(x.shape[1], dtype=np.bool_))


def present(nominal: tuple[NominalColumn, ...], partition: Partition) -> tuple[BoolArray, ...]:
    """Values that the records of each group have."""
    box = np.repeat(np.arange(len(partition.counts)), partition.counts)
    presence = []
    for column in nominal:
        sets = np.zeros((len(partition.counts), column.values), dtype=np.bool_)
        codes = column.codes[partition.order]
        sets[box[codes >= 0], codes[codes >= 0]] = True
        presence.append(sets)
    return tuple(presence)


def numbered(boxes: Boxes) -> Boxes:
    """The same, numbered by the published part of them: lower corners, sets, upper corners, counts.

    Numbers then reveal nothing of the order of records or of cuts. Only boxes that a cut of kept classes parted may
    agree in all of it.
    """
    keys = [boxes.counts, *boxes.upper.T[::-1]]
    for sets in boxes.sets[::-1]:
        packed = np.packbits(sets, axis=1)
        keys += list(packed.T[::-1])
    keys += list(boxes.lower.T[::-1])
    position = lexicographic(keys)
    number = np.empty(len(position), dtype=np.int32)
    number[position] = np.arange(len(position), dtype=np.int32)
    return boxes.taking(position, number[boxes.box])


def on_grid(boxes: Boxes, columns: Sequence[NumericColumn], high: FloatArray) -> Boxes:
    """Bounds of columns of whole multiples, and of orders, as the least and greatest value that a cell holds.

    Parameters
    ----------
    boxes : half-open cells.
    columns : the numeric ones.
    high : (n,), upper outer bounds; the cells that reach them are closed.

    Notes
    -----
    Anyone could round the bounds, so it costs nothing (science.md section 5, "Whole numbers and dates").
    """
    lower, upper = boxes.lower.copy(), boxes.upper.copy()
    for i, column in enumerate(columns):
        if column.labels is not None:
            lower[:, i], upper[:, i] = _labels_within(lower[:, i], upper[:, i], column.labels, high[i])
        if (step := column.step) is None:
            continue
        least, most = lower[:, i] / step, upper[:, i] / step
        closed = upper[:, i] >= high[i]
        slack = _ROUNDING * np.maximum(1.0, np.abs(least)) * (step != 1.0)
        least = np.ceil(least - slack)
        most = np.where(closed, np.floor(most + slack), np.ceil(most + slack) - 1.0)
        lower[:, i], upper[:, i] = multiples(least, step) + 0.0, multiples(most, step) + 0.0
    return Boxes(lower, upper, boxes.counts, boxes.box, boxes.outer_from_data, sets=boxes.sets)


def _labels_within(
    lower: FloatArray, upper: FloatArray, labels: Sequence[float], high: float
) -> tuple[FloatArray, FloatArray]:
    """The least and greatest label of each cell; NaN where a box has no value."""
    label, there = np.array(labels), ~np.isnan(lower)
    first = np.searchsorted(label, np.where(there, lower, label[0]))
    up_to = np.where(there, upper, label[-1])
    after = np.where(up_to >= high, np.searchsorted(label, up_to, side="right"), np.searchsorted(label, up_to))
    return np.where(there, label[first], np.nan), np.where(there, label[after - 1], np.nan)


def _boxes(
    partition: Partition, lower: FloatArray, upper: FloatArray, sets: tuple[BoolArray, ...], free: BoolArray
) -> Boxes:
    box = np.empty(len(partition.order), dtype=np.int32)
    box[partition.order] = np.repeat(np.arange(len(partition.counts), dtype=np.int32), partition.counts)
    return Boxes(lower, upper, partition.counts, box, free, sets=sets)


def _columns(sets: BoolArray, start: IntArray) -> tuple[BoolArray, ...]:
    return tuple(np.ascontiguousarray(sets[:, a:b]) for a, b in pairwise(start))


@kernel
def _tile(  # noqa: C901 (a kernel)
    axis: IndexArray,
    child: IndexArray,
    leaf: IntArray,
    span: IntArray,
    roots: int,
    order: IndexArray,
    place: FloatArray,
    low: FloatArray,
    high: FloatArray,
    codes: IndexArray,
    start: IntArray,
    rings: IntArray,
    ancestor: IndexArray,
    lower: FloatArray,
    upper: FloatArray,
    sets: BoolArray,
) -> None:
    """Sides of every leaf from its root's; the child with fewer records first, so that few nodes wait."""
    n, d, values = len(low), codes.shape[1], sets.shape[1]
    room = 128
    waiting = np.zeros(room, dtype=np.int64)
    low_of = np.empty((room, n))
    high_of = np.empty((room, n))
    set_of = np.empty((room, values), dtype=np.bool_)
    side = np.zeros(values, dtype=np.int64)
    for root in range(roots):
        waiting[0] = root
        for i in range(n):
            low_of[0, i] = low[i]
            high_of[0, i] = high[i]
        for v in range(values):
            set_of[0, v] = True
        top = 1
        while top > 0:
            top -= 1
            node = waiting[top]
            cut = axis[node]
            if cut < 0:
                for i in range(n):
                    lower[leaf[node], i] = low_of[top, i]
                    upper[leaf[node], i] = high_of[top, i]
                for v in range(values):
                    sets[leaf[node], v] = set_of[top, v]
                continue
            first = child[node]
            if n <= cut < n + d:
                j = cut - n
                a, b = start[j], start[j + 1]
                for v in range(a, b):
                    side[v] = 0
                for part in range(2):
                    for z in range(span[first + part, 0], span[first + part, 1]):
                        side[codes[order[z], j]] = 1 + part
                assign(rings, ancestor, a, b, side)
            larger = first if span[first, 1] - span[first, 0] > span[first + 1, 1] - span[first + 1, 0] else first + 1
            for i in range(n):
                low_of[top + 1, i] = low_of[top, i]
                high_of[top + 1, i] = high_of[top, i]
            for v in range(values):
                set_of[top + 1, v] = set_of[top, v]
            for at, part in ((top, larger), (top + 1, 2 * first + 1 - larger)):
                waiting[at] = part
                if cut < n and part == first:
                    high_of[at, cut] = place[node]
                elif cut < n:
                    low_of[at, cut] = place[node]
                elif cut < n + d:
                    for v in range(start[cut - n], start[cut - n + 1]):
                        if side[v] != (1 if part == first else 2):
                            set_of[at, v] = False
            top += 2
