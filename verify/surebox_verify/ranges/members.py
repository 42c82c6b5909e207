"""How many records of each box certainly, and possibly, are in a set of values.

Notation
--------
S_b : (B, m), the values that records of box b may have, of a column with m values, nominal or ordinal.
P_b : (B, m), the values that some record of the box certainly has.
A : (m,), a set of values.
c_b : (B,), records.
least_b, most_b : (B,), records of the box in A: every whole number between them is reached, none beyond.

In *cells* records choose independently among S, and P is S where that is one value. In tight boxes every value of a
nominal set, and both ends of a range, are *attained*: P is S, or the ends. A box with S within A has all c records in
A, one with S outside A none; else at least |P and A| and at most c - |P not in A| (science.md section 5, "Shares,
cells, means within a set, quantiles").
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class ValueSets:
    """Values of one column in each box.

    Attributes
    ----------
    possible : (B, m), S; no row empty.
    present : (B, m), P.
    """

    possible: BoolArray
    present: BoolArray

    @cached_property
    def sizes(self) -> tuple[IntArray, IntArray]:
        """(B,) each, how many values are in S and in P."""
        return self.possible.sum(axis=1), self.present.sum(axis=1)

    @property
    def alone(self) -> BoolArray:
        """(B, m), where the box has one value, that value."""
        return np.asarray(self.possible & (self.sizes[0] == 1)[:, None])


def sets_of_values(sets: BoolArray, *, attained: bool) -> ValueSets:
    """Sets of a nominal column.

    Parameters
    ----------
    sets : (B, m), none empty.
    attained : whether every value of a set is some record's (tight boxes).
    """
    every = ValueSets(sets, sets)
    return every if attained else ValueSets(sets, every.alone)


def ranges_of_labels(lower: FloatArray, upper: FloatArray, labels: Sequence[float], *, attained: bool) -> ValueSets:
    """Ranges of an ordinal column, as the sets of the values in them.

    Parameters
    ----------
    lower, upper : (B,), two of the labels, both included.
    labels : (m,), what the values count as, ascending.
    attained : whether both ends are some record's (tight boxes); values between need not be.
    """
    label = np.array(labels)
    at_low, at_high = label == lower[:, None], label == upper[:, None]
    possible = (label >= lower[:, None]) & (label <= upper[:, None])
    return ValueSets(possible, (at_low | at_high) if attained else (at_low & at_high))


@dataclass(frozen=True)
class Members:
    """Records of each box in A, as whole numbers in float64.

    Attributes
    ----------
    least, most : (B,), between 0 and c.
    counts : (B,), c.
    """

    least: FloatArray
    most: FloatArray
    counts: FloatArray

    def both(self, other: "Members") -> "Members":
        """Records that are in A and in another column's set: columns choose independently. Exact."""
        least = np.maximum(self.least + other.least - self.counts, 0.0)
        return Members(least, np.minimum(self.most, other.most), self.counts)


def members_of(column: ValueSets, mask: BoolArray, counts: FloatArray) -> Members:
    """Records in A.

    Parameters
    ----------
    column : values of each box.
    mask : (m,), whether each value is in A.
    counts : (B,) float64 whole numbers.

    Notes
    -----
    O(B |A|), and O(B m) once.
    """
    inside = np.flatnonzero(mask)
    held, sure = (held_in(sets, inside) for sets in (column.possible, column.present))
    within, outside, other = held == column.sizes[0], held == 0, column.sizes[1] - sure
    least = np.where(within, counts, np.where(outside, 0.0, sure))
    most = np.where(outside, 0.0, np.where(within, counts, counts - other))
    return Members(least, most, counts)


def held_in(sets: BoolArray, inside: Iterable[int]) -> IntArray:
    """(B,), how many of some values are in each set. O(B) for each, quickest where sets are by columns."""
    counts = np.zeros(len(sets), dtype=np.int64)
    for value in inside:
        counts += sets[:, value]
    return counts


def members_below(lower: FloatArray, upper: FloatArray, value: float, counts: FloatArray, *, attained: bool) -> Members:
    """Records at or below a value, of a numeric column: what its distribution function counts.

    Parameters
    ----------
    lower, upper : (B,), closed.
    value : x of F(x).
    counts : (B,).
    attained : whether both ends are some record's.
    """
    below, meets = upper <= value, lower <= value
    edge = meets & ~below & attained
    least = np.where(below, counts, np.where(edge, 1.0, 0.0))
    return Members(least, np.where(meets, counts - edge, 0.0), counts)
