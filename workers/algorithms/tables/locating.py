"""In which published box a record lies: by geometry, for links to records are not kept (science.md section 6).

Notation
--------
lower, upper : (B, n), closed bounds; both minus infinity: the value is missing.
x : (N, n), records; minus infinity: missing.
A record on a bound that two boxes share is in the upper one: cells are half-open.

Boxes that come of cuts are divided by cuts again, at lower bounds, so that those that end at a cut stay on one side of
it; a record goes down these on its own, to few boxes. Boxes that overlap stand on both sides, up to a few times as
many places as boxes; what is left then is looked at one after the other.
"""

import numpy as np

from surebox_verify.core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.tables.locating_kernels import WordArray, box_of, divided


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


def _words(members: BoolArray) -> WordArray:
    """A set's values as bits, with room for one more that no box has."""
    packed = np.packbits(members, axis=1, bitorder="little")
    whole = np.zeros((len(members), 8 * (members.shape[1] // 64 + 1)), dtype=np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view("<u8").astype(np.uint64, copy=False)
