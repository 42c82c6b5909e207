"""Joint candidates: rows that may be one person's in all releases, by what is kept beside the boxes.

Notation
--------
b_r(i) : place of record i in release r (its box), or ABSENT.
n_r(b, v) : published rows of release r in place b whose kept values, in the columns that all releases keep, are v.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_verify.core.types import IntArray

ABSENT: Final = -1


@dataclass(frozen=True)
class Placed:
    """One release as it places the records of today.

    Attributes
    ----------
    places : (N,), place of each record; ABSENT where it is in none.
    published_place, published_kept, published_rows : (M,) each, M the different pairs of place and kept values: how
        many rows were published with it. None together: unknown.
    """

    places: IntArray
    published_place: IntArray | None = None
    published_kept: IntArray | None = None
    published_rows: IntArray | None = None


def joint_candidates(releases: Sequence[Placed], records: IntArray) -> IntArray | None:
    """Published rows that may be a record's in all releases: sum_v min_r n_r(b_r, v) over those that it is in.

    Parameters
    ----------
    releases : all of them.
    records : the records that are asked about.

    Returns
    -------
    (number of records,), the largest integer for those in none; None where what was published is not known.
    """
    if not releases or any(one.published_rows is None for one in releases):
        return None
    found = np.zeros(len(records), np.int64)
    waiting = np.ones(len(records), bool)
    tables = [_Published.of(one) for one in releases]
    where = [one.places[records] for one in releases]
    for pivot, table in enumerate(tables):
        mine = np.flatnonzero(waiting & (where[pivot] != ABSENT))
        waiting[mine] = False
        owner, kept, least = table.expanded(where[pivot][mine])
        for other in range(pivot + 1, len(tables)):  # before the pivot they are absent from all
            there = where[other][mine][owner]
            looked_up = tables[other].rows_of(there, kept)
            least = np.where(there == ABSENT, least, np.minimum(least, looked_up))
        found[mine] = np.bincount(owner, weights=least, minlength=len(mine)).astype(np.int64)
    found[waiting] = np.iinfo(np.int64).max  # in uncertain releases only
    return found


@dataclass(frozen=True)
class _Published:
    """n_r(b, v), sorted by place, then by kept values."""

    place: IntArray
    kept: IntArray
    rows: IntArray

    @classmethod
    def of(cls, one: Placed) -> "_Published":
        place, kept, rows = one.published_place, one.published_kept, one.published_rows
        if place is None or kept is None or rows is None:
            raise ValueError("what was published is not known")
        order = np.lexsort((kept, place))
        place, kept, rows = place[order], kept[order], rows[order]
        new = np.r_[True, (np.diff(place) != 0) | (np.diff(kept) != 0)][: len(place)]
        starts = np.flatnonzero(new)
        return cls(place[starts], kept[starts], np.add.reduceat(rows, starts) if len(starts) else rows)

    def expanded(self, places: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """All (index into `places`, kept values, rows) of the places asked for."""
        start, end = np.searchsorted(self.place, places), np.searchsorted(self.place, places, side="right")
        lengths = end - start
        owner = np.repeat(np.arange(len(places)), lengths)
        at = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths) + start[owner]
        return owner, self.kept[at], self.rows[at]

    def rows_of(self, places: IntArray, kept: IntArray) -> IntArray:
        """n_r(b, v) of each pair; 0 where there is none."""
        if not len(self.place):
            return np.zeros(len(places), np.int64)
        base = min(int(self.kept.min()), int(kept.min(initial=0)))
        span = max(int(self.kept.max()), int(kept.max(initial=0))) - base + 1
        known, asked = self.place * span + (self.kept - base), places * span + (kept - base)
        at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        return np.where(known[at] == asked, self.rows[at], 0)
