"""Cells of a table of sums that a contributor could see through: dominance and the p %-rule.

Notation
--------
cell : records that agree in the columns the table is made by; its value is the sum X of a magnitude.
x_1 >= x_2 >= ... : what its contributors give to it, a contributor's records together; in size (|x|).
p %-rule : x_1 can be estimated by the second within p %: X - x_1 - x_2 < p/100 x_1.
dominance (n, k) : x_1 + ... + x_n > k % of X.

Hundepool et al. 2012, section 4.2. Contributions are taken by size; of both signs
together the rules know nothing.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Sensitive:
    """Cells by their number.

    Attributes
    ----------
    contributors : (C,).
    share : (C,) of the n largest in X, 0 where X is.
    remainder : (C,) (X - x_1 - x_2) / x_1; infinite where x_1 is 0.
    """

    contributors: IntArray
    share: FloatArray
    remainder: FloatArray

    def dominated(self, percent: float) -> BoolArray:
        """(C,), cells that fail the rule of dominance; an empty sum dominates no one."""
        return self.share > percent / 100.0

    def estimable(self, percent: float) -> BoolArray:
        """(C,), cells that fail the p %-rule."""
        return self.remainder < percent / 100.0


def sensitive_cells(cell: IntArray, person: IntArray, value: FloatArray, *, largest: int) -> Sensitive:
    """What each cell's largest contributors give.

    Parameters
    ----------
    cell : (N,) numbers of cells from 0 on, each with a record.
    person : (N,) who contributes, from 0 on.
    value : (N,) the magnitude; missing ones (NaN) contribute nothing.
    largest : n of the rule of dominance.

    Returns
    -------
    Sensitive
        O(N log N).
    """
    size = np.abs(np.nan_to_num(value, nan=0.0))
    pair, place = np.unique(cell * (int(person.max(initial=0)) + 1) + person, return_inverse=True)
    given = np.bincount(place, weights=size, minlength=len(pair))
    of_pair = pair // (int(person.max(initial=0)) + 1)
    order = np.lexsort((-given, of_pair))
    given, of_pair = given[order], of_pair[order]
    cells = int(cell.max(initial=-1)) + 1
    start = np.searchsorted(of_pair, np.arange(cells))
    rank = np.arange(len(given)) - start[of_pair]
    total = np.bincount(of_pair, weights=given, minlength=cells)

    def of_largest(count: int) -> FloatArray:
        return np.bincount(of_pair, weights=given * (rank < count), minlength=cells).astype(np.float64)

    first = of_largest(1)
    positive = first > 0.0
    share = np.divide(of_largest(largest), total, out=np.zeros(cells), where=total > 0.0)
    # the others one by one: a difference of sums would leave a rounding where there is no one
    others = np.bincount(of_pair, weights=np.where(rank >= 2, given, 0.0), minlength=cells)
    remainder = np.divide(others, first, out=np.full(cells, np.inf), where=positive)
    return Sensitive(np.bincount(of_pair, minlength=cells).astype(np.int64), share, remainder)
