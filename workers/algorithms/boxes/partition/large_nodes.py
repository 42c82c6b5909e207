"""Cuts of columns of all kinds in nodes too large for a block: borders of parts compared by what they gain.

Of nodes of very many records a sample is measured, evenly spaced; places and gaps of its cuts are those of all records.

`fast`, where nothing but k is demanded, needs no order of a node's records: the middle of a numeric column is selected,
and the values of a nominal one are counted.

Notation as in partition.arrays, partition.candidates and partition.parts.
"""

from typing import Any, NamedTuple

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.partition.arrays import MixedRecords, MixedSide
from workers.algorithms.boxes.partition.fixed import score_axes
from workers.algorithms.boxes.partition.gain import add_value, clear, predicted
from workers.algorithms.boxes.partition.parts import Parts, branches, by_frequency, measured
from workers.algorithms.boxes.partition.selection import LESS, cut_at_multiple, is_open, middle, spans, widest


class Cut(NamedTuple):
    """A candidate: predicted cost, column, records below, ends of the gap, and which parts are above it."""

    cost: float
    axis: int
    place: int
    below: float
    above: float
    upper: tuple[int, ...]


def ways(
    records: MixedRecords,
    side: MixedSide,
    first: int,
    last: int,
    k: int,
    sample: int,
    axes: int,
    *,
    every: bool,
) -> tuple[list[Cut], IntArray]:
    """Candidates of a node, cheapest first.

    Parameters
    ----------
    records : all of them, the node's at `first` to `last` - 1.
    side : space, and the node's cell.
    first, last : the node.
    k : least records of a side.
    sample : about how many of the records are measured at least, evenly spaced, unless `every` is requested.
    axes : how many columns are searched, those of largest s_i, unless `every` is requested.
    every : all candidates; else the cheapest of each order of a column.

    Returns
    -------
    cuts : cheapest first.
    group : (M,), which part a value is in; -1 of values that none of the records measured has.
    """
    n, columns = records.rows.shape[1], records.codes.shape[1]
    stride = 1 if every else max(1, (last - first) // sample)
    some = _spaced(records, first, last, stride)
    looked = list(range(n + columns))
    if axes < n + columns and not every:
        score = costs_of(some, 0, len(some.rows), side.cell)[0]
        looked = sorted(axis for axis in np.argsort(-score, kind="stable")[:axes].tolist() if score[axis] > 0.0)
    parts, group = measured(some, looked, stride)
    cuts: list[Cut] = []
    for axis in looked:
        there = np.flatnonzero(parts.amount[axis])
        if len(there) < 2:
            continue
        for order in _orders(records, parts, axis, there):
            cuts += _along(records, side, parts, axis, order, k, every=every)
    return sorted(cuts), group


def _spaced(records: MixedRecords, first: int, last: int, stride: int) -> MixedRecords:
    """Every `stride`-th of a node's records."""
    taken: dict[str, Any] = {
        name: np.ascontiguousarray(array[first:last:stride])
        for name in ("rows", "codes", "worth", "mass")
        if len(array := getattr(records, name))
    }
    return records._replace(**taken)


def upper_side(records: MixedRecords, first: int, last: int, cut: Cut, group: IntArray) -> BoolArray:
    """Which of a node's records are above a cut."""
    n = records.rows.shape[1]
    if cut.axis < n:
        return np.asarray(records.rows[first:last, cut.axis] >= cut.above)
    above = np.zeros(int(group.max()) + 2, dtype=np.bool_)  # the last one is that of group -1
    above[list(cut.upper)] = True
    return np.asarray(above[group[records.codes[first:last, cut.axis - n]]])


def exact(records: MixedRecords, first: int, last: int, cut: Cut, upper: BoolArray, k: int) -> Cut | None:
    """A cut with its place and gap among all records of the node; None where these do not allow it."""
    place = int(np.count_nonzero(~upper))
    if not k <= place <= len(upper) - k:
        return None
    below = above = 0.0
    if cut.axis < records.rows.shape[1]:
        values = records.rows[first:last, cut.axis]
        below, above = float(values[~upper].max()), float(values[upper].min())
        if not is_open(below, above):
            return None
        width, spike = records.extent[:, cut.axis].tolist()
        if not (spans(values.min(), below, width, spike) and spans(above, values.max(), width, spike)):
            return None
    return cut._replace(place=place, below=below, above=above)


def costs_of(records: MixedRecords, first: int, last: int, cell: FloatArray) -> tuple[FloatArray, list[IntArray]]:
    """s_i of every column of a node, and how many records have each value of each column of codes."""
    n, columns = records.rows.shape[1], records.codes.shape[1]
    extent = np.zeros((3, n))
    if n:
        score_axes(records.rows, records.worth, records.price, first, last, cell, extent)
    score = np.concatenate([np.nan_to_num(extent[2]), np.zeros(columns)])
    each = float(records.mass[first:last].mean(dtype=np.float64)) if len(records.mass) else 1.0
    counts = []
    for j in range(columns):
        start, stop = int(records.start[j]), int(records.start[j + 1])
        codes = records.codes[first:last, j]
        there = codes - start if codes[0] >= 0 else codes[:0]  # a node's records lack the same columns
        counts.append(np.bincount(there, minlength=stop - start).astype(np.int64, copy=False))
        score[n + j] = each * set_cost(records, j, np.flatnonzero(counts[j]) + start)
    return score, counts


def set_cost(records: MixedRecords, j: int, values: IntArray) -> float:
    """What a set of values costs a record in it."""
    if len(values) < 2:
        return 0.0
    scores = records.scores[records.score_start[j] : records.score_start[j + 1], values]
    return float(records.omega[values].sum() + np.ptp(scores, axis=1).sum())


def _orders(records: MixedRecords, parts: Parts, axis: int, there: IntArray) -> list[IntArray]:
    """Orders of the parts of a column: its own, or those of partition.orders."""
    n = records.rows.shape[1]
    if axis < n:
        return [there]
    j = axis - n
    values = slice(int(records.start[j]), int(records.start[j + 1]))
    amount = parts.amount[axis, there]
    share = (parts.seen[axis, there, values] > 0) @ records.omega[values]
    orders = [there[by_frequency(amount, share)]]
    if len(there) == 2:
        return orders
    keys = [parts.sums[axis, there, i] / amount for i in range(n) if np.isfinite(parts.low[axis, there, i]).all()]
    for q in range(int(records.score_start[j]), int(records.score_start[j + 1])):
        key = (parts.seen[axis, there, values] @ records.scores[q, values]) / amount
        keys += [key, np.abs(key - key @ amount / amount.sum())]
    return [*orders, *(there[np.argsort(key, kind="stable")] for key in keys)]


def _along(
    records: MixedRecords, side: MixedSide, parts: Parts, axis: int, order: IntArray, k: int, *, every: bool
) -> list[Cut]:
    """Candidates between the parts of a column in one order: all of them, or the cheapest."""
    n = records.rows.shape[1]
    width, spike = records.extent[:, axis].tolist() if axis < n else (0.0, 0.0)
    cost, ends = np.full((2, len(order)), np.inf), np.zeros((2, len(order)))
    if axis < n:  # largest value up to each part, least from each on
        ends[0] = np.maximum.accumulate(parts.high[axis, order, axis])
        ends[1] = np.minimum.accumulate(parts.low[axis, order[::-1], axis])[::-1]
    held = (parts.amount, parts.low, parts.high, parts.worth, parts.mass, parts.seen)
    _merge(records, side, k, axis, order, cost, ends, *held)
    before = np.cumsum(parts.amount[axis, order])
    totals = cost[0, :-1] + cost[1, 1:]
    cuts = []
    for z in np.argsort(totals, kind="stable")[: np.count_nonzero(np.isfinite(totals))].tolist():
        below, above = (float(ends[0, z]), float(ends[1, z + 1])) if axis < n else (0.0, 0.0)
        wide = axis >= n or (spans(ends[1, 0], below, width, spike) and spans(above, ends[0, -1], width, spike))
        if wide and (axis >= n or is_open(below, above)):
            upper = () if axis < n else tuple(order[z + 1 :].tolist())
            cuts.append(Cut(float(totals[z]), axis, int(before[z]), below, above, upper))
            if not every:
                break
    return cuts


@kernel
def _merge(  # noqa: C901 (a kernel)
    records: MixedRecords,
    side: MixedSide,
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
    """Predicted cost of the parts up to each, and from each on."""
    n = records.rows.shape[1]
    parts = len(order)
    celled = axis < n and side.cell[0, axis] <= side.cell[1, axis]
    for backward in (0, 1):
        clear(side)
        count = 0
        if celled and backward == 0:
            side.high[axis] = -np.inf
        elif celled:
            side.low[axis] = np.inf
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
                    if j == records.classes:
                        side.total[1] += 2.0 * side.tally[v] * there + float(there) * there
                        side.tally[v] += there
            if celled and backward == 0 and z < parts - 1:
                side.high[axis] = middle(ends[0, at], ends[1, at + 1])
            elif celled and z < parts - 1:
                side.low[axis] = middle(ends[0, at - 1], ends[1, at])
            if count >= k:
                cost[backward, at] = predicted(records, count, k, side)


def halves(records: MixedRecords, first: int, last: int, cell: FloatArray, k: int) -> tuple[list[Cut], IntArray]:
    """The cut of `fast`: the column of largest s_i that can be cut; as `ways` returns it, none where none can."""
    n = records.rows.shape[1]
    score, counts = costs_of(records, first, last, cell)
    group = np.full(len(records.omega), -1, dtype=np.int64)
    while (axis := int(widest(score))) >= 0:
        score[axis] = 0.0
        if axis < n:
            values = records.rows[first:last, axis].copy()
            place, below, above = cut_at_multiple(values, last - first, k, *records.extent[:, axis].tolist())
            cut = Cut(0.0, axis, place, below, above, ())
        else:
            cut = _parted_values(records, axis - n, counts[axis - n], k, group)
        if cut.place > 0:
            return [cut], group
    return [], group


def _parted_values(records: MixedRecords, j: int, count: IntArray, k: int, group: IntArray) -> Cut:
    """The prefix of the order by n_v / omega_v after which the column itself costs least; place 0 for none."""
    present, number = branches(records, j, count)
    group[present] = number
    amount = np.bincount(number, weights=count[present - records.start[j]])
    order = by_frequency(amount, np.bincount(number, weights=records.omega[present]).astype(np.float64))
    ends = np.cumsum(amount[order])
    size, least, best = float(ends[-1]), np.inf, 0
    lower = _prefix_costs(records, j, present, number, order)[:-1]
    upper = _prefix_costs(records, j, present, number, order[::-1])[:-1][::-1]
    costs = ends[:-1] * lower + (size - ends[:-1]) * upper
    for z in np.flatnonzero((ends[:-1] >= k) & (ends[:-1] <= size - k)).tolist():
        if costs[z] < least * LESS:
            least, best = costs[z], z + 1
    place = int(ends[best - 1]) if best else 0
    return Cut(0.0, records.rows.shape[1] + j, place, 0.0, 0.0, tuple(order[best:].tolist()))


def _prefix_costs(records: MixedRecords, j: int, present: IntArray, number: IntArray, order: IntArray) -> FloatArray:
    """What the sets of the first 1, 2, ... groups in an order cost a record: `set_cost` of each."""
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    scores = records.scores[records.score_start[j] : records.score_start[j + 1], present]
    low, high = np.full((len(order), len(scores)), np.inf), np.full((len(order), len(scores)), -np.inf)
    np.minimum.at(low, rank[number], scores.T)
    np.maximum.at(high, rank[number], scores.T)
    spread = (np.maximum.accumulate(high) - np.minimum.accumulate(low)).sum(axis=1)
    omega = np.cumsum(np.bincount(rank[number], weights=records.omega[present], minlength=len(order)))
    held = np.cumsum(np.bincount(rank[number], minlength=len(order)))
    return np.asarray(np.where(held > 1, omega + spread, 0.0))
