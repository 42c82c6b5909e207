"""Columns as a search may see them: values beyond the k-th from either end count as that one.

Notation
--------
x : (N, n), records, NaN where a value is missing.
m : how many records, or persons, must reach as far as a value that counts as it is.
P : persons (records, where none are named) that have a value of a column.

A record that is far out moves plain moments, extents and counts, and with these the bounds of all other boxes: with
the others' values one computes its value from them (science.md section 4, "The search sees winsorized values"). A
table in which the m - 1 outermost of a column count as the m-th is the same wherever these are beyond it, and so is all
that follows from it. Ties are counted: of five least values alike all are among the first five. Where m is above
(P - 1) / 2 the median is left.
"""

import math

import numpy as np

from surebox_core.types import FloatArray, IndexArray

_TAIL = 0.005  # share of the records at either end whose distance does not count


def tail(k: int, count: int) -> int:
    """The m by which moments are winsorized: the larger of k and 0.5 % of the records, or persons, with a value."""
    return max(k, math.ceil(_TAIL * count))


def winsorized(x: FloatArray, m: int, persons: IndexArray | None = None) -> FloatArray:
    """Records whose values beyond the m-th record or person from either end of a column count as that one.

    Parameters
    ----------
    x : (N, n), NaN where missing.
    m : at least 1; 1 leaves all values as they are where no person has several rows.
    persons : (N,), number of each record's person; None, or empty, where every record is one.

    Returns
    -------
    (N, n) float64, C-contiguous; a copy. Zero has no sign.

    Notes
    -----
    O(N n); O(N n log N) with persons.
    """
    table = np.array(x, dtype=np.float64, order="C")
    table += 0.0
    for i in range(table.shape[1]):
        low, high = ends(table[:, i], m, persons)
        if low <= high:  # there is a value
            np.clip(table[:, i], low, high, out=table[:, i])
    return table


def ends(values: FloatArray, m: int, persons: IndexArray | None = None) -> tuple[float, float]:
    """The m-th value from either end of a column, by records or by persons; inf and -inf where it has none.

    Parameters
    ----------
    values : (N,), NaN where missing.
    m, persons : as in `winsorized`.
    """
    known = ~np.isnan(values)
    if not known.any():
        return np.inf, -np.inf
    least = most = values if known.all() else values[known]
    if persons is not None and len(persons):
        least, most = _of_persons(least, persons if known.all() else persons[known])
    rank = min(m - 1, (len(least) - 1) // 2)
    last = len(most) - 1 - rank
    if least is most:
        ordered = np.partition(least, (rank, last))
        return float(ordered[rank]), float(ordered[last])
    return float(np.partition(least, rank)[rank]), float(np.partition(most, last)[last])


def _of_persons(values: FloatArray, persons: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest value of each person."""
    order = np.argsort(persons, kind="stable")
    starts = np.flatnonzero(np.diff(persons[order], prepend=persons[order[0]] - 1))
    ordered = values[order]
    return np.minimum.reduceat(ordered, starts), np.maximum.reduceat(ordered, starts)
