"""An order of records that follows from their values alone, whatever order they came in.

Notation
--------
x : (N, n), records.
h : (N,), 64 bits mixed from a record's values (splitmix64's finalizer; public, for it protects nothing).

Sums are rounded in the order of their terms, and ties are broken by place: only records in a canonical order give the
same result bit for bit after they were shuffled.
"""

import numpy as np
from numpy.typing import NDArray

from workers.algorithms.core.types import FloatArray, IntArray

_MIX = ((30, np.uint64(0xBF58476D1CE4E5B9)), (27, np.uint64(0x94D049BB133111EB)))


def canonical_order(x: FloatArray) -> IntArray:
    """Places of the records in their canonical order.

    Parameters
    ----------
    x : (N, n), without NaN; fastest where columns are contiguous.

    Returns
    -------
    (N,) int64
        Equal records stand together, in any order among themselves. By h; where that is the same for different records,
        which happens once in 10^7 sets of a million, by value. O(N n + N log N).
    """
    mixed = np.zeros(len(x), dtype=np.uint64)
    for column in x.T:
        mixed ^= (column + 0.0).view(np.uint64)  # zero has no sign
        _mix(mixed)
    order = np.argsort(mixed)
    ordered = mixed[order]
    ties = np.flatnonzero(ordered[1:] == ordered[:-1])
    if (x[order[ties]] != x[order[ties + 1]]).any():
        return np.lexsort(x.T[::-1])
    return order


def _mix(mixed: NDArray[np.uint64]) -> None:
    mixed += np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in _MIX:
        mixed ^= mixed >> np.uint64(shift)
        mixed *= factor
    mixed ^= mixed >> np.uint64(31)
