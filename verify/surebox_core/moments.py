"""First and second moments of records, unweighted or weighted.

Notation
--------
x : (N, n), record p in row p, column i in the column's unit.
w : (N,), weight of each record, any positive total (default 1 each); divided by the total below.
E : (n,), sum w x.                      (XK slide 4; XF slide 13)
C : (n, n), sum w (x - E)(x - E)^T, divisor N: the population form (science.md section 1, "Statistics and influences").
f : N / (N - ddof), by which variances and covariances of the sample form (ddof 1) exceed C.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from surebox_core.errors import InvalidColumnError
from surebox_core.extremes import extremes
from surebox_core.types import BoolArray, FloatArray

_BLOCK = 8192
#: Largest size of a number: sums of fourth powers must stay finite, for the variance of a variance has them.
LARGEST: Final = 1e70


@dataclass(frozen=True)
class Moments:
    """E, C (population form) and extremes of weighted records; `inflation` is f."""

    mean: FloatArray
    covariance: FloatArray
    low: FloatArray
    high: FloatArray
    inflation: float = 1.0

    @property
    def constant(self) -> BoolArray:
        """(n,), columns with one value only; their variance is 0 exactly."""
        return np.asarray(self.low == self.high)

    @property
    def deviation(self) -> FloatArray:
        """(n,), standard deviations sigma."""
        return np.sqrt(np.diag(self.covariance))


def check_records(x: FloatArray) -> None:
    """Refuse what no computation survives.

    Raises
    ------
    ValueError
        Not a float64 matrix with at least one record and one column.
    InvalidColumnError
        A column contains NaN, infinities, or magnitudes above 1e70.
    """
    if x.ndim != 2 or x.dtype != np.float64 or 0 in x.shape:
        msg = f"records must be a float64 matrix (N >= 1, n >= 1), got shape {x.shape} of {x.dtype}"
        raise ValueError(msg)
    low, high = extremes(x)
    for column in range(x.shape[1]):
        if not (np.isfinite(low[column]) and np.isfinite(high[column])):
            raise InvalidColumnError(column, "missing or infinite values")
        if max(abs(low[column]), abs(high[column])) > LARGEST:
            raise InvalidColumnError(column, "magnitudes above 1e70; give the column in a larger unit")


def inflation(records: int, ddof: int) -> float:
    """Return f = N / (N - ddof); infinite where no more than `ddof` records leave the sample form undefined."""
    return records / (records - ddof) if records > ddof else float("inf")


def moments(x: FloatArray, weight: FloatArray | None = None, ddof: int = 0) -> Moments:
    """Mean and covariance in two passes, the second about the first's mean.

    Parameters
    ----------
    x : (N, n) records, finite.
    weight : (N,) positive weights, or None for equal ones.
    ddof : 1 for statistics of the sample form, N being the number of records.

    Returns
    -------
    Moments

    Notes
    -----
    XK slide 4, XF slide 13. O(N n^2) in blocks, O(n^2) memory beyond them.
    """
    sums = begin(x, weight)
    while not sums.complete:
        sums = add(sums, x, len(x))
    return sums.moments(ddof)


@dataclass(frozen=True)
class Sums:
    """The second pass, up to `row`; `shift` and `second` grow in place."""

    share: FloatArray | float
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    shift: FloatArray
    second: FloatArray
    row: int
    records: int

    @property
    def complete(self) -> bool:
        """Whether all records are counted."""
        return self.row >= self.records

    def moments(self, ddof: int = 0) -> Moments:
        """The moments of all records, once they are counted; `ddof` 1 for statistics of the sample form."""
        low, high = self.low, self.high
        covariance = self.second - np.outer(self.shift, self.shift)
        covariance = 0.5 * (covariance + covariance.T)
        covariance[low == high, :] = 0.0
        covariance[:, low == high] = 0.0
        mean = np.where(low == high, low, self.mean + self.shift)
        return Moments(mean, covariance, low, high, inflation(self.records, ddof))


def begin(x: FloatArray, weight: FloatArray | None = None) -> Sums:
    """The first pass: means and extremes. O(N n)."""
    n = x.shape[1]
    share = 1.0 / len(x) if weight is None else weight / weight.sum()
    mean = x.mean(axis=0) if weight is None else np.asarray(share @ x)
    return Sums(share, *extremes(x), mean, np.zeros(n), np.zeros((n, n)), 0, len(x))


def add(sums: Sums, x: FloatArray, rows: int) -> Sums:
    """Count the next records, at most so many. O(rows n^2)."""
    last = min(sums.row + rows, len(x))
    for start in range(sums.row, last, _BLOCK):
        u = x[start : min(start + _BLOCK, last)] - sums.mean
        share = sums.share[start : start + len(u), None] if isinstance(sums.share, np.ndarray) else sums.share
        wu = u * share
        sums.shift[:] += wu.sum(axis=0)
        sums.second[:] += wu.T @ u
    return replace(sums, row=last)
