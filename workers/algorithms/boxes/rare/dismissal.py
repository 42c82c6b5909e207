"""Crisp dismissal of rare records: which whole boxes to keep (science.md section 1, "Dismissing rare records").

Notation
--------
========  =======  ======================================================================
symbol    shape    meaning
========  =======  ======================================================================
g         (B,)     privacy uncertainty a record of the box adds, ``sum_i abar_i D_i`` (= n c)
counts    (B,)     records in the box
A         scalar   statistical uncertainty of one record: that of N records is A / sqrt(N)
#S        scalar   records kept
========  =======  ======================================================================
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Which boxes are kept, and what that costs.

    Attributes
    ----------
    kept
        Shape (B,), True for the boxes that are published.
    records
        Records in kept boxes, #S.
    objective
        ``(1/#S) sum_S g + A / sqrt(#S)``, in the units of g.
    threshold
        The largest g kept, g_0.
    """

    kept: NDArray[np.bool_]
    records: int
    objective: float
    threshold: float


def dismiss(g: FloatArray, counts: IntArray, *, statistical: float) -> Dismissal:
    """Keep the boxes that minimise privacy plus statistical uncertainty.

    For a fixed number of records the smallest sum takes boxes in the order of g; along one box (or several of equal g)
    the objective is concave in ``#S ** -0.5``, so that its least value is at whole boxes, with equal g never split.
    One sort and prefix sums therefore find the optimum over *all* subsets of boxes.

    Parameters
    ----------
    g
        Shape (B,), finite, at least 0.
    counts
        Shape (B,), positive.
    statistical
        A, finite, at least 0.

    Returns
    -------
    Dismissal
        At least one box is kept.

    Raises
    ------
    ValueError
        No boxes, or shapes or values out of range.

    Notes
    -----
    XF slides 9 and 10, over whole boxes; O(B log B).
    """
    validate(g, counts, statistical)
    order = np.argsort(g, kind="stable")
    ordered, sizes = g[order], counts[order]
    records = np.cumsum(sizes)
    total = np.cumsum(ordered * sizes)
    objective = total / records + statistical / np.sqrt(records)  # XF slide 9
    last_of_equals = np.append(ordered[1:] > ordered[:-1], True)
    best = int(np.flatnonzero(last_of_equals)[np.argmin(objective[last_of_equals])])
    threshold = float(ordered[best])
    return Dismissal(g <= threshold, int(records[best]), float(objective[best]), threshold)


def validate(g: FloatArray, counts: IntArray, statistical: float) -> None:
    """Refuse what neither the crisp nor the fuzzy optimum is defined for.

    Raises
    ------
    ValueError
        No boxes, or shapes or values out of range.
    """
    if g.ndim != 1 or g.shape != counts.shape or g.size == 0:
        msg = f"g and counts must be two vectors of the same length, at least 1: shapes {g.shape} and {counts.shape}"
        raise ValueError(msg)
    if not np.all(np.isfinite(g)) or g.min() < 0:
        msg = "every g must be finite and at least 0"
        raise ValueError(msg)
    if counts.min() < 1:
        msg = "every box must contain at least one record"
        raise ValueError(msg)
    if not (np.isfinite(statistical) and statistical >= 0):
        msg = f"the statistical uncertainty must be finite and at least 0, not {statistical}"
        raise ValueError(msg)
