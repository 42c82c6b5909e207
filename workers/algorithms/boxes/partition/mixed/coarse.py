"""Cuts of nodes too large for a block: borders of parts compared by what they gain.

Notation as in mixed.records and mixed.candidates, and
--------
part : of a numeric column the records between two of at most 63 borders, which are values of a sample of the node; of
    a nominal one the records of a group of values.  A : all columns.
amount, mass : (A, parts), records of each, and their weight.
low, high, worth, sums : (A, parts, n), extremes, sums of a_i and of values (of nominal columns' parts).
seen : (A, parts, M) int32, records with each value.

One pass over a node's records measures the parts of all columns; what follows is over parts only.
"""

from typing import NamedTuple

import numpy as np

from surebox_verify.core.compiled import kernel
from surebox_verify.core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.partition.mixed.measure import add_value, clear, predicted
from workers.algorithms.boxes.partition.mixed.records import Records, Side
from workers.algorithms.boxes.partition.selection import is_open

_PARTS = 64
_SAMPLE = 1024


class Parts(NamedTuple):
    """What the parts of every column hold."""

    amount: IntArray
    low: FloatArray
    high: FloatArray
    worth: FloatArray
    sums: FloatArray
    mass: FloatArray
    seen: IndexArray


class Cut(NamedTuple):
    """A candidate: predicted cost, column, records below, ends of the gap, and which parts are above it."""

    cost: float
    axis: int
    place: int
    below: float
    above: float
    upper: tuple[int, ...]


def ways(
    records: Records, side: Side, classes: int, first: int, last: int, k: int, *, every: bool
) -> tuple[list[Cut], IntArray]:
    """Candidates of a node, cheapest first.

    Parameters
    ----------
    records : all of them, the node's at `first` to `last` - 1.
    side : space.
    classes : column of kept classes, -1 for none.
    first, last : the node.
    k : least records of a side.
    every : all candidates; else the cheapest of each order of a column.

    Returns
    -------
    cuts : cheapest first.
    group : (M,), which part a value stands in.
    """
    n, columns = records.rows.shape[1], records.codes.shape[1]
    borders = np.full((n, _PARTS - 1), np.inf)
    for i in range(n):
        found = _borders(records.rows[first:last, i])
        borders[i, : len(found)] = found
    group = np.full(len(records.omega), -1, dtype=np.int64)
    sizes = np.zeros(columns, dtype=np.int64)
    for j in range(columns):
        sizes[j] = _groups(records, first, last, j, group)
    parts = _empty(records, max(_PARTS, int(sizes.max(initial=0))))
    _gather(records, first, last, borders, group, *parts)
    cuts: list[Cut] = []
    for axis in range(n + columns):
        there = np.flatnonzero(parts.amount[axis])
        if len(there) < 2:
            continue
        for order in _orders(records, parts, axis, there):
            cuts += _along(records, side, classes, parts, axis, order, k, every=every)
    return sorted(cuts), group


def upper_side(records: Records, first: int, last: int, cut: Cut, group: IntArray) -> BoolArray:
    """Which of a node's records lie above a cut."""
    n = records.rows.shape[1]
    if cut.axis < n:
        return np.asarray(records.rows[first:last, cut.axis] >= cut.above)
    above = np.zeros(int(group.max()) + 1, dtype=np.bool_)
    above[list(cut.upper)] = True
    return np.asarray(above[group[records.codes[first:last, cut.axis - n]]])


def _borders(values: FloatArray) -> FloatArray:
    """Values of a sample that divide it into equal shares; after one that repeats also the next larger number."""
    sample = np.sort(values[:: max(len(values) // _SAMPLE, 1)])
    if np.isnan(sample[-1]) or values.max() == values.min():
        return np.empty(0)
    picked = sample[np.linspace(0, len(sample) - 1, _PARTS // 2).astype(np.int64)]
    tied = picked[1:][picked[1:] == picked[:-1]]
    more = sample[np.searchsorted(sample, tied, side="right").clip(max=len(sample) - 1)]
    all_of = np.unique(np.concatenate([picked, more, np.nextafter(tied, np.inf)]))
    return np.asarray(all_of[: _PARTS - 1])


def _groups(records: Records, first: int, last: int, j: int, group: IntArray) -> int:
    """Number the groups of a column's values in a node, those beyond the 64th joined; how many there are."""
    start, stop = records.start[j], records.start[j + 1]
    codes = records.codes[first:last, j]
    if codes[0] < 0:
        return 0
    count = np.bincount(codes - start, minlength=stop - start)
    present = np.flatnonzero(count) + start
    above = records.ancestor[present]
    differs = (above != above[0]).any(axis=0)
    names, number = np.unique(above[:, int(np.argmax(differs))], return_inverse=True)
    if len(names) > _PARTS:
        size = np.bincount(number, weights=count[present - start])
        rank = np.argsort(np.argsort(size, kind="stable"), kind="stable")
        number = (rank * _PARTS // len(names))[number]
    group[present] = number
    return int(number.max()) + 1


def _empty(records: Records, most: int) -> Parts:
    n, columns, values = records.rows.shape[1], records.codes.shape[1], len(records.omega)
    axes = n + columns
    return Parts(
        amount=np.zeros((axes, most), dtype=np.int64),
        low=np.full((axes, most, n), np.inf),
        high=np.full((axes, most, n), -np.inf),
        worth=np.zeros((axes, most, n)),
        sums=np.zeros((axes, most, n)),
        mass=np.zeros((axes, most)),
        seen=np.zeros((axes, most, values), dtype=np.int32),
    )


def _orders(records: Records, parts: Parts, axis: int, there: IntArray) -> list[IntArray]:
    """Orders of the parts of a column: its own, or those of mixed.orders."""
    n = records.rows.shape[1]
    if axis < n:
        return [there]
    j = axis - n
    values = slice(int(records.start[j]), int(records.start[j + 1]))
    amount = parts.amount[axis, there]
    share = (parts.seen[axis, there, values] > 0) @ records.omega[values]
    found = [there[np.argsort(np.where(share > 0.0, amount / np.maximum(share, 1e-300), amount), kind="stable")]]
    if len(there) == 2:
        return found
    keys = [parts.sums[axis, there, i] / amount for i in range(n) if np.isfinite(parts.low[axis, there, i]).all()]
    for q in range(int(records.score_start[j]), int(records.score_start[j + 1])):
        key = (parts.seen[axis, there, values] @ records.scores[q, values]) / amount
        keys += [key, np.abs(key - key @ amount / amount.sum())]
    return [*found, *(there[np.argsort(key, kind="stable")] for key in keys)]


def _along(
    records: Records, side: Side, classes: int, parts: Parts, axis: int, order: IntArray, k: int, *, every: bool
) -> list[Cut]:
    """Candidates between the parts of a column in one order: all of them, or the cheapest."""
    n = records.rows.shape[1]
    cost, ends = np.full((2, len(order)), np.inf), np.zeros((2, len(order)))
    held = (parts.amount, parts.low, parts.high, parts.worth, parts.mass, parts.seen)
    _merge(records, side, classes, k, axis, order, cost, ends, *held)
    before = np.cumsum(parts.amount[axis, order])
    totals = cost[0, :-1] + cost[1, 1:]
    cuts = []
    for z in np.argsort(totals, kind="stable")[: np.count_nonzero(np.isfinite(totals))].tolist():
        below, above = (float(ends[0, z]), float(ends[1, z + 1])) if axis < n else (0.0, 0.0)
        if axis >= n or is_open(below, above):
            upper = () if axis < n else tuple(order[z + 1 :].tolist())
            cuts.append(Cut(float(totals[z]), axis, int(before[z]), below, above, upper))
            if not every:
                break
    return cuts


@kernel
def _gather(  # noqa: C901 (a kernel)
    records: Records,
    first: int,
    last: int,
    borders: FloatArray,
    group: IntArray,
    amount: IntArray,
    low: FloatArray,
    high: FloatArray,
    worth: FloatArray,
    sums: FloatArray,
    mass: FloatArray,
    seen: IndexArray,
) -> None:
    """Measure the records in each part of each column."""
    rows, codes = records.rows, records.codes
    n = rows.shape[1]
    for row in range(first, last):
        for axis in range(n + codes.shape[1]):
            if axis < n:
                value = rows[row, axis]
                if np.isnan(value):
                    continue
                p = 0
                step = 32
                while step > 0:
                    if p + step <= borders.shape[1] and value >= borders[axis, p + step - 1]:
                        p += step
                    step //= 2
            else:
                v = codes[row, axis - n]
                if v < 0:
                    continue
                p = group[v]
            amount[axis, p] += 1
            for i in range(n):
                value = rows[row, i]
                if value < low[axis, p, i]:
                    low[axis, p, i] = value
                if value > high[axis, p, i]:
                    high[axis, p, i] = value
                if axis >= n:
                    sums[axis, p, i] += value
            if len(records.worth) > 0:
                for i in range(n):
                    worth[axis, p, i] += records.worth[row, i]
            if len(records.mass) > 0:
                mass[axis, p] += records.mass[row]
            for j in range(codes.shape[1]):
                if codes[row, j] >= 0:
                    seen[axis, p, codes[row, j]] += 1


@kernel
def _merge(  # noqa: C901 (a kernel)
    records: Records,
    side: Side,
    classes: int,
    k: int,
    axis: int,
    order: IntArray,
    cost: FloatArray,
    ends: FloatArray,
    amount: IntArray,
    low: FloatArray,
    high: FloatArray,
    worth: FloatArray,
    mass: FloatArray,
    seen: IndexArray,
) -> None:
    """Predicted cost of the parts up to each, and from each on; the ends of the column that is cut."""
    n = records.rows.shape[1]
    parts = len(order)
    for backward in (0, 1):
        clear(side)
        count = 0
        for z in range(parts):
            at = parts - 1 - z if backward == 1 else z
            p = order[at]
            count += amount[axis, p]
            for i in range(n):
                side.low[i] = min(side.low[i], low[axis, p, i])
                side.high[i] = max(side.high[i], high[axis, p, i])
                side.worth[i] += worth[axis, p, i]
            side.total[0] += mass[axis, p]
            for j in range(records.codes.shape[1]):
                for v in range(records.start[j], records.start[j + 1]):
                    there = seen[axis, p, v]
                    if there == 0:
                        continue
                    if side.stamp[v] != side.turn[0]:
                        add_value(records, side, j, v)
                    if j == classes:
                        side.total[1] += 2.0 * side.tally[v] * there + float(there) * there
                        side.tally[v] += there
            if axis < n:
                ends[backward, at] = side.low[axis] if backward == 1 else side.high[axis]
            if count >= k:
                cost[backward, at] = predicted(records, classes, count, k, side)
