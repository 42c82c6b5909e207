"""Guaranteed ranges of shares and of the cells of cross-tables.

Notation
--------
least_b, most_b, c_b : (B,), records of box b in the set, and in all (ranges.members).
w_b : (B,), weight of each record of the box (ranges.mass).  v_r : (N,), weights of single records as published.
share : sum of the weights of the records in the set over the sum of all.

Both ends are reached: records choose independently, and every whole number between least and most can be had. In a
cross-table that holds for each cell, not for all of them together. (science.md section 5, "Shares, cells, means within
a set, quantiles".)
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, dot, down, total, up
from surebox_core.types import BoolArray, FloatArray, IndexArray
from surebox_verify.ranges.guaranteed import Range, combine
from surebox_verify.ranges.mass import Mass
from surebox_verify.ranges.members import Members, ValueSets


@dataclass(frozen=True)
class CrossTable:
    """Counts of two columns' values, each cell's range for itself.

    Attributes
    ----------
    least, most : (m1, m2), records (or their weights) in each cell.
    """

    least: FloatArray
    most: FloatArray


def count_range(members: Members, mass: Mass) -> Range:
    """Range of the number of records in a set, or of the sum of their weights: exact. O(B)."""
    low, high = mass.ends or (mass.of_record, mass.of_record)
    count = Interval(dot(members.least, low).lower, dot(members.most, high).upper)
    return combine(count, count)


def share_range(members: Members, mass: Mass) -> Range:
    """Range of the share of a set: exact.

    Parameters
    ----------
    members : records of each box in the set.
    mass : of the same boxes.

    Notes
    -----
    science.md section 5, "Shares, cells, means within a set, quantiles". O(B).
    """
    if mass.ends is None:
        each = mass.of_record
        least, most = dot(members.least, each) / mass.total, dot(members.most, each) / mass.total
        share = Interval(max(least.lower, 0.0), min(most.upper, 1.0))
    else:  # all that is in the set at one end of its weight, all else at the other
        low, high = mass.ends
        share = Interval(
            _least_part(_weight(members.least, low).lower, _weight(members.counts - members.least, high).upper),
            _largest_part(_weight(members.most, high).upper, _weight(members.counts - members.most, low).lower),
        )
    return combine(share, share)


def _weight(records: FloatArray, weights: FloatArray) -> Interval:
    """Certain bounds of what so many records of each box weigh: of none, and of weights of 0, nothing at all."""
    if not (records * weights > 0.0).any():
        return Interval(0.0, 0.0)
    weight = dot(records, weights)
    return Interval(max(weight.lower, 0.0), weight.upper)


def _least_part(inside: float, outside: float) -> float:
    """Certain lower bound of the share of a weight of at least `inside`; all, if nothing can be outside."""
    return max(down(inside / up(inside + outside)), 0.0) if outside > 0.0 else 1.0


def _largest_part(inside: float, outside: float) -> float:
    """Certain upper bound of the share of a weight of at most `inside`; nothing, if nothing can be inside."""
    whole = down(inside + outside)
    return min(up(inside / whole), 1.0) if whole > 0.0 else float(inside > 0.0)


def share_range_of_rows(members: Members, box: IndexArray, weights: FloatArray) -> Range:
    """The same where every published row has a weight of its own.

    Parameters
    ----------
    members : records of each box in the set.
    box : (N,), box of each row.
    weights : (N,), above 0.

    Notes
    -----
    Which row of a box has which value is not published: the least is had with the smallest weights in the set, the most
    with the smallest outside it (science.md section 5, "Shares, cells, means within a set, quantiles"). O(N log N).
    """
    order = np.lexsort((weights, box))
    starts = np.concatenate([[0], np.cumsum(members.counts.astype(np.int64))[:-1]])
    rank = np.arange(len(box)) - starts[box[order]]
    ordered, owner = weights[order], box[order]
    least = total(ordered[rank < members.least[owner]])
    most = total(ordered[rank >= (members.counts - members.most)[owner]])
    whole = total(weights)
    share = Interval(max((least / whole).lower, 0.0), min((most / whole).upper, 1.0))
    return combine(share, share)


def cross_table(first: ValueSets, second: ValueSets, mass: Mass, counts: FloatArray) -> CrossTable:
    """Range of every cell of two columns.

    Parameters
    ----------
    first, second : values of each box, of m1 and m2.
    mass, counts : of the boxes; a cell counts the weights of its records.

    Returns
    -------
    CrossTable
        Rounded outward where weights are no whole numbers.

    Notes
    -----
    All records of a box are in the cell (u, v) for certain where its sets are {u} and {v}; one of them is, where one
    set is {u} and v is some record's. At most c less the records that have other values for certain are: c - max(|P1
    less u|, |P2 less v|). O(B m1 m2).
    """
    low, each = mass.ends or (mass.of_record, mass.of_record)
    alone = first.alone, second.alone
    among = first.present & ~alone[0], second.present & ~alone[1]
    least = _weighed(alone[0], alone[1], counts * low)
    least += _weighed(alone[0], among[1], low) + _weighed(among[0], alone[1], low)
    most = np.zeros_like(least)
    held = first.present.sum(axis=1), second.present.sum(axis=1)
    for one, others in ((first.present, held[0] - 1), (first.possible & ~first.present, held[0])):
        for two, beside in ((second.present, held[1] - 1), (second.possible & ~second.present, held[1])):
            most += _weighed(one, two, (counts - np.maximum(others, beside)) * each)
    if mass.slack == 0.0:
        return CrossTable(least, most)
    play = 8.0 * (len(counts) + 4) * UNIT_ROUNDOFF
    return CrossTable(least * (1.0 - play), most * (1.0 + play))


def _weighed(first: BoolArray, second: BoolArray, weight: FloatArray) -> FloatArray:
    """Sum over the boxes of weight, for each pair of values that the box holds."""
    return np.asarray((first * weight[:, None]).T @ second.astype(np.float64))
