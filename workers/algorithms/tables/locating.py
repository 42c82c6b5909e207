"""In which published box a record lies: by geometry, for links to records are not kept.

Source: science.md section 6, "The ledger".

Notation
--------
lower, upper : (B, n), closed bounds; both minus infinity: the value is missing.
x : (N, n), records; minus infinity: missing.
A record on a bound that two boxes share is in the upper one: cells are half-open.

Boxes that come of cuts are divided by cuts again, at lower bounds, so that those that end at a cut stay on one side of
it; a record goes down these on its own, to few boxes. Boxes that overlap stand on both sides, up to a few times as
many places as boxes; what is left then is looked at one after the other.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.tables.descending_kernels import box_of
from workers.algorithms.tables.locating_kernels import WordArray, divided

_LOOKED_AT: Final = 5
_BITS: Final = 15  # of a cell's number, divided among the columns
_DRAWN: Final = 4_096


def locate(
    x: FloatArray, codes: IntArray, lower: FloatArray, upper: FloatArray, sets: tuple[BoolArray, ...]
) -> IntArray:
    """The box of each record; O((N + B) n log B) where boxes come of cuts of columns with two ends.

    Parameters
    ----------
    x : (N, n) numeric values.
    codes : (N, m) nominal values, numbered per column; beyond a set's width: a value that no box has.
    lower, upper : (B, n).
    sets : (B, values) each, which values of a nominal column are in a box.

    Returns
    -------
    (N,), -1 where there is none.
    """
    widths = np.array([one.shape[1] for one in sets], dtype=np.int64)
    parts = [_words(one) for one in sets]
    words = np.hstack([np.zeros((len(lower), 0), np.uint64), *parts])
    start = np.cumsum([0, *(one.shape[1] for one in parts)])
    ends = np.ascontiguousarray(np.hstack([lower, upper]), dtype=np.float64)
    codes = np.ascontiguousarray(np.minimum(codes, widths), dtype=np.int64)
    return box_of(np.ascontiguousarray(x, dtype=np.float64), codes, start, *divided(ends, words, start))


def rehearse() -> IntArray:
    """The boxes of forty made-up records, two in each: what jobs that find boxes need is there afterwards."""
    x, lower = np.arange(40.0)[:, None], np.arange(0.0, 40.0, 2.0)[:, None]
    return locate(x, np.zeros((40, 0), dtype=np.int64), lower, lower + 1.0, ())


def near(columns: Sequence[FloatArray]) -> IntArray:
    """An order of records in which those that lie near each other are near each other; O(N) for each of the first five.

    Parameters
    ----------
    columns : (N,) each, of which the first five count: their quantiles, from some of the records, divide space.
    """
    some = columns[:_LOOKED_AT]
    bits = _BITS // len(some)
    cell = np.zeros(len(some[0]), dtype=np.uint16)
    for one in some if len(cell) else ():
        drawn = np.sort(one[:: max(len(one) // _DRAWN, 1)])
        cuts = drawn[np.arange(1, 1 << bits) * len(drawn) >> bits]
        cell = (cell << np.uint16(bits)) | np.searchsorted(cuts, one, side="right").astype(np.uint16)
    return np.argsort(cell, kind="stable")


def _words(members: BoolArray) -> WordArray:
    """A set's values as bits, with room for one more that no box has."""
    packed = np.packbits(members, axis=1, bitorder="little")
    whole = np.zeros((len(members), 8 * (members.shape[1] // 64 + 1)), dtype=np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view("<u8").astype(np.uint64, copy=False)
