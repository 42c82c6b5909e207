"""Boxes of at least k records as unions of published ones: later releases of a series are made from nothing else.

Notation
--------
B, n, S_j(b) : as in boxes.sides; counts n_b, records of each box.
w_i(U) : side of the hull of a union U in column i, as a share of the side of all boxes; of nominal column j the share
    of the codebook that it leaves, |union of S_j| / m_j.
cost(U) : n_U sum_i w_i(U): what a reader of the union loses.
n_b(v) : rows of box b with kept values v, where k counts both together: then n_U(v) is 0 or at least k for all v.

science.md section 6, "A series is post-processing": a function of what the base publishes, bounds, sets and counts, so
that any number of unions reveals no more than the base. Boxes whose missing values differ are not united.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.extremes import extremes_present
from surebox_core.steps import finished
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import PublishedBoxes
from workers.algorithms.core.errors import InfeasibleKError

#: A cut leaves at least this share of the boxes on either side where it can: the depth stays logarithmic.
_BALANCE = 0.25
#: Boxes that are ordered by all columns in a fraction of a second.
_MANY = 10_000


@dataclass(frozen=True)
class KeptClasses:
    """Kept values in boxes, where k counts box and kept values together; E pairs that occur, ascending by box.

    Attributes
    ----------
    start : (B + 1,), where the pairs of each box begin, and end.
    value, rows : (E,), number of the kept values, and n_b(v).
    """

    start: IntArray
    value: IntArray
    rows: IntArray

    @classmethod
    def of(cls, box: IntArray, value: IntArray, boxes: int) -> "KeptClasses":
        """From the published rows.

        Parameters
        ----------
        box, value : (rows,), box of each row and number of its kept values.
        boxes : B.
        """
        span = int(value.max(initial=0)) + 1
        pairs, rows = np.unique(box * span + value, return_counts=True)
        return cls(np.searchsorted(pairs // span, np.arange(boxes + 1)), pairs % span, rows.astype(np.int64))

    def among(self, boxes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Pairs of some boxes: the place of each one's box among them, its value, its rows."""
        size = self.start[boxes + 1] - self.start[boxes]
        place = np.repeat(np.arange(len(boxes)), size)
        pair = np.repeat(self.start[boxes] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
        return place, self.value[pair], self.rows[pair]

    def smallest(self, boxes: IntArray) -> int:
        """Rows of the rarest kept values in some boxes together."""
        _, value, rows = self.among(boxes)
        counts = np.bincount(value, weights=rows)
        return int(counts[counts > 0].min(initial=np.inf))

    def divided(self, order: IntArray, k: int) -> BoolArray:
        """After which boxes of an order, but the last, a cut leaves kept values with fewer than k rows on a side."""
        place, value, rows = self.among(order)
        by = np.argsort(value, kind="stable")  # in the order of boxes for each of them
        place, value, rows = place[by], value[by], rows[by]
        first = np.r_[True, np.diff(value) != 0]
        begin = np.flatnonzero(first)
        group = np.cumsum(first) - 1
        total = np.cumsum(rows)
        until = total - np.r_[0, total][begin][group]
        rest = np.add.reduceat(rows, begin)[group] - until
        short = ((until < k) | (rest < k)) & (rest > 0)  # from its box on, up to the next box with this value
        following = np.r_[place[1:], 0]
        change = np.bincount(place[short], minlength=len(order)) - np.bincount(following[short], minlength=len(order))
        return np.asarray(np.cumsum(change)[:-1] > 0)


@dataclass(frozen=True)
class Units:
    """Sides of boxes in shares of their columns; (B, n) bounds and (B, m_j) sets."""

    lower: FloatArray
    upper: FloatArray
    sets: tuple[BoolArray, ...]
    counts: IntArray


def unions(boxes: PublishedBoxes, k: int, kept: KeptClasses | None = None) -> IntArray:
    """All of `uniting` at once; parameters and errors as there."""
    return finished(uniting(boxes, k, kept))


def uniting(boxes: PublishedBoxes, k: int, kept: KeptClasses | None = None) -> Generator[float, None, IntArray]:
    """Find the union that each box belongs to, every one of at least k records, one cut at a time.

    Yields the share of the boxes that have their union: before each cut, and of many boxes before each column too.

    Parameters
    ----------
    boxes : as published; each box with k records or more may stay alone.
    k : least number of records.
    kept : of which k rows are to be in a union, or none; None: k counts boxes alone.

    Returns
    -------
    (B,) int64, numbered from 0 in the order of their first boxes; 0 to B - 1 where every box has k records.

    Raises
    ------
    InfeasibleKError
        Boxes with the same missing values have fewer than k records together, or of some kept values.

    Notes
    -----
    Greedy: a union is cut in two where the costs of both are least, in whatever column, until no cut leaves k records
    on either side. O(B log^2 B (n + sum_j m_j)) time.
    """
    if int((boxes.counts if kept is None else kept.rows).min(initial=k)) >= k:
        return np.arange(len(boxes.counts), dtype=np.int64)
    units = _units(boxes)
    waiting, together, settled = _patterns(boxes), [], 0
    for members in waiting:
        records = int(boxes.counts[members].sum()) if kept is None else kept.smallest(members)
        if records < k:
            raise InfeasibleKError(k, records)
    while waiting:
        members = waiting.pop()
        yield settled / len(boxes.counts)
        cut = yield from _best_cut(units, members, k, settled / len(boxes.counts), kept)
        if cut is None:
            together.append(members)
            settled += len(members)
        else:
            waiting.extend(cut)
    group = np.empty(len(boxes.counts), dtype=np.int64)
    for number, members in enumerate(sorted(together, key=lambda one: int(one.min()))):
        group[members] = number
    return group


def united(boxes: PublishedBoxes, group: IntArray) -> PublishedBoxes:
    """The hulls of unions, with their sets and counts.

    Parameters
    ----------
    boxes : as published.
    group : (B,), union of each box.
    """
    number = int(group.max(initial=-1)) + 1
    lower, upper = np.full((number, boxes.lower.shape[1]), np.inf), np.full((number, boxes.lower.shape[1]), -np.inf)
    np.minimum.at(lower, group, boxes.lower)
    np.maximum.at(upper, group, boxes.upper)
    sets = []
    for one in boxes.sets:
        whole = np.zeros((number, one.shape[1]), dtype=np.bool_)
        np.logical_or.at(whole, group, one)
        sets.append(whole)
    counts = np.bincount(group, weights=boxes.counts, minlength=number).astype(np.int64)
    return PublishedBoxes(lower, upper, counts, sets=tuple(sets))


def _patterns(boxes: PublishedBoxes) -> list[IntArray]:
    """Boxes that lack the same values."""
    absent = np.column_stack([np.isnan(boxes.lower), *(~one.any(axis=1) for one in boxes.sets)])
    _, which = np.unique(absent, axis=0, return_inverse=True)
    which = which.reshape(-1)
    return [np.flatnonzero(which == one) for one in range(int(which.max()) + 1)]


def _units(boxes: PublishedBoxes) -> Units:
    """Bounds in shares of their columns; those of columns that a box has no values of are 0."""
    lower, upper = np.nan_to_num(boxes.lower), np.nan_to_num(boxes.upper)
    if not len(lower) or not lower.shape[1]:
        return Units(lower, upper, boxes.sets, boxes.counts)
    (least, _), (_, most) = extremes_present(boxes.lower), extremes_present(boxes.upper)
    extent = np.where(most > least, most - least, 1.0)
    return Units(lower / extent, upper / extent, boxes.sets, boxes.counts)


def _best_cut(
    units: Units, members: IntArray, k: int, settled: float, kept: KeptClasses | None
) -> Generator[float, None, tuple[IntArray, IntArray] | None]:
    """The cut of least cost over all columns; None where none leaves k records on either side."""
    best: tuple[float, IntArray, int] | None = None
    for position in _positions(units, members):
        if len(members) > _MANY:
            yield settled
        order = members[np.argsort(position, kind="stable")]
        counted = np.cumsum(units.counts[order])
        able = np.flatnonzero((counted >= k) & (counted[-1] - counted >= k))
        able = able if kept is None else able[~kept.divided(order, k)[able]]
        if not len(able):
            continue
        share = (able + 1) / len(order)
        balanced = able[(share >= _BALANCE) & (share <= 1.0 - _BALANCE)]
        able = balanced if len(balanced) else able
        loss = _losses(units, order, counted)[able]
        place = int(np.argmin(loss))
        if best is None or loss[place] < best[0]:
            best = (float(loss[place]), order, int(able[place]) + 1)
    return None if best is None else (best[1][: best[2]], best[1][best[2] :])


def _positions(units: Units, members: IntArray) -> list[FloatArray]:
    """Where boxes are in each column: centres, and of sets the mean place of their values in the codebook."""
    positions = [units.lower[members, i] + units.upper[members, i] for i in range(units.lower.shape[1])]
    for one in units.sets:
        held = one[members]
        positions.append(held @ np.arange(one.shape[1], dtype=np.float64) / np.maximum(held.sum(axis=1), 1))
    return positions


def _losses(units: Units, order: IntArray, counted: IntArray) -> FloatArray:
    """Costs of the first boxes of an order and of the others together, for every cut between two."""
    first = _widths(units, order)
    last = _widths(units, order[::-1])[::-1]
    after = np.append(last[1:], 0.0)
    loss: FloatArray = counted * first + (counted[-1] - counted) * after
    return loss


def _widths(units: Units, order: IntArray) -> FloatArray:
    """Sum of w_i of the union of the first boxes of an order, for each number of them."""
    sides = np.maximum.accumulate(units.upper[order], axis=0) - np.minimum.accumulate(units.lower[order], axis=0)
    total: FloatArray = sides.sum(axis=1)
    for one in units.sets:
        held = np.logical_or.accumulate(one[order], axis=0)
        total = total + held.sum(axis=1) / max(one.shape[1], 1)
    return total
