"""An order of records that follows from their values alone, whatever order they came in.

Notation
--------
x : (N, n), records.
h : (N,), 64 bits mixed from a record's values (splitmix64's finalizer; public, for it protects nothing).

Sums are rounded in the order of their terms, and ties are broken by place: only records in a canonical order give the
same result bit for bit after they were shuffled.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import FloatArray, IntArray

_Mixed: TypeAlias = NDArray[np.uint64]

_AT_ONCE = 16_384  # records whose mixtures stay in the cache
_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def canonical_order(x: FloatArray, *, then: FloatArray | None = None) -> IntArray:
    """Places of the records in their canonical order.

    Parameters
    ----------
    x : (N, n), without NaN.
    then : (N, q), by which records are that are equal in x.

    Returns
    -------
    (N,) int64
        Equal records are together, in any order among themselves but for `then`. By the leading bits of h; where
        those are the same for different records, by h; where that is too, which happens once in 10^7 sets of a million,
        by value.
        O(N n + N log N).
    """
    order = _by_values(x)
    if then is None or len(x) < 2:
        return order
    equal = (x[order[1:]] == x[order[:-1]]).all(axis=1)
    among = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
    run = np.cumsum(np.append(True, ~equal))[among]
    order[among] = order[among][np.lexsort([*then[order[among]].T[::-1], run])]
    return order


def _by_values(x: FloatArray) -> IntArray:
    mixed = np.zeros(len(x), dtype=np.uint64)
    for row in range(0, len(x), _AT_ONCE):
        part = mixed[row : row + _AT_ONCE]
        for column in x[row : row + _AT_ONCE].T:
            part ^= (column + 0.0).view(np.uint64)  # zero has no sign
            _mix(part)
    for sort in (_by_leading_bits, _by_all_bits):
        order, ties = sort(mixed)
        if not (x[order[ties]] != x[order[ties + 1]]).any():
            return order
    return np.lexsort(x.T[::-1])


def _by_leading_bits(mixed: _Mixed) -> tuple[IntArray, IntArray]:
    """An order, and after whom it ties: numbers whose last bits are places are sorted without asking for places."""
    places = np.uint64((1 << max(len(mixed) - 1, 1).bit_length()) - 1)
    packed = (mixed & ~places) | np.arange(len(mixed), dtype=np.uint64)
    packed.sort()
    ties = np.flatnonzero((packed[1:] ^ packed[:-1]) <= places)
    return (packed & places).view(np.int64), ties


def _by_all_bits(mixed: _Mixed) -> tuple[IntArray, IntArray]:
    order = np.argsort(mixed)
    ordered = mixed[order]
    return order, np.flatnonzero(ordered[1:] == ordered[:-1])


def _mix(mixed: _Mixed) -> None:
    mixed += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in _MIX:
        mixed ^= mixed >> np.uint64(shift)
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
