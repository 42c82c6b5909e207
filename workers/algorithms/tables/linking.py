"""Which record of one table is which of another: by what both know of them, as multisets, never by a guess.

Notation
--------
x, y : keys of the records of two tables of the same persons: equal where what both tables know of them agrees.
alike : of each record, what else is known of it, here or there; records of one key that are alike are as good as
    each other: whichever of them is paired with whichever of the other table, the same is composed.
A key with a records here and b there pairs min(a, b) of them. The pairs reveal who is who unless records that are not
alike are left to choose from on a side where a choice remains (science.md section 6, "Placing persons"): then no one of
it is placed.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, IntArray
from workers.algorithms.tables.classes import grouped

#: Instead of the other table's record: there is none; or which it is cannot be determined.
NONE: Final = -1
UNTOLD: Final = -2


@dataclass(frozen=True)
class Linked:
    """Pairs of records.

    Attributes
    ----------
    other : (N,), the record of the other table that each record is; NONE, UNTOLD.
    left : records of the other table that are no one's here.
    """

    other: IntArray
    left: IntArray

    @property
    def untold(self) -> int:
        """Records of which it is not known who they were."""
        return int(np.count_nonzero(self.other == UNTOLD))


def link(x: IntArray, y: IntArray, *, x_alike: IntArray, y_alike: IntArray, certain: bool) -> Linked:
    """Pair the records of two tables; O((N + M) log(N + M)).

    Parameters
    ----------
    x, y : (N,) and (M,) keys.
    x_alike, y_alike : (N,) and (M,), equal where records are alike.
    certain : whether the keys are the persons' own. If not, values may have changed: where both tables have records
        without a partner, those here may be those there, and are untold.
    """
    of = grouped(np.concatenate([x, y])).of_record
    mine, theirs = of[: len(x)], of[len(x) :]
    number = int(of.max(initial=-1)) + 1
    here, there = _Sorted.of(mine, x_alike, number), _Sorted.of(theirs, y_alike, number)
    settled = (
        np.where(there.same, (here.size <= there.size) | here.same, here.same & (here.size >= there.size))
        | (here.size == 0)
        | (there.size == 0)
    )
    other = np.full(len(x), NONE, dtype=np.int64)
    place = here.place
    partner = place < there.size[here.key]
    other[here.order[partner]] = there.order[there.start[here.key[partner]] + place[partner]]
    other[~settled[mine]] = UNTOLD
    left = there.order[there.place >= here.size[there.key]]
    if not certain and len(left):
        other[other == NONE] = UNTOLD
    return Linked(other, np.sort(left))


@dataclass(frozen=True)
class _Sorted:
    """Records sorted by key: their order, keys, places within a key; of each key where it starts, size, sameness."""

    order: IntArray
    key: IntArray
    place: IntArray
    start: IntArray
    size: IntArray
    same: BoolArray

    @classmethod
    def of(cls, key: IntArray, alike: IntArray, number: int) -> "_Sorted":
        order = np.argsort(key, kind="stable")
        size = np.bincount(key, minlength=number)
        start = np.cumsum(size) - size
        ordered = key[order]
        place = np.arange(len(key)) - start[ordered]
        same = np.ones(number, dtype=np.bool_)
        first = alike[order[start[ordered]]] if len(order) else alike
        differs = alike[order] != first
        same[ordered[differs]] = False
        return cls(order, ordered, place, start, size, same)


def as_many(x: IntArray, y: IntArray) -> bool:
    """Whether two tables have each key as often."""
    return len(x) == len(y) and bool(np.array_equal(np.sort(x), np.sort(y)))
