"""First and second moments of records, unweighted or weighted.

Notation
--------
x : (N, n), record p in row p, column i in the column's unit.
w : (N,), weight of each record, any positive total (default 1 each); divided by the total below.
E : (n,), sum w x.                      (XK slide 4; XF slide 13)
C : (n, n), sum w (x - E)(x - E)^T, divisor N: the population form (science.md section 1).
"""

from dataclasses import dataclass

import numpy as np

from workers.algorithms.core.errors import InvalidColumnError
from workers.algorithms.core.types import BoolArray, FloatArray

_BLOCK = 8192
_LARGEST = 1e150  # products of two values must stay finite


@dataclass(frozen=True)
class Moments:
    """E, C and extremes of weighted records."""

    mean: FloatArray
    covariance: FloatArray
    low: FloatArray
    high: FloatArray

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
        A column holds NaN, infinities, or magnitudes above 1e150.
    """
    if x.ndim != 2 or x.dtype != np.float64 or 0 in x.shape:
        msg = f"records must be a float64 matrix (N >= 1, n >= 1), got shape {x.shape} of {x.dtype}"
        raise ValueError(msg)
    low, high = x.min(axis=0), x.max(axis=0)
    for column in range(x.shape[1]):
        if not (np.isfinite(low[column]) and np.isfinite(high[column])):
            raise InvalidColumnError(column, "missing or infinite values")
        if max(abs(low[column]), abs(high[column])) > _LARGEST:
            raise InvalidColumnError(column, "magnitudes above 1e150; give the column in a larger unit")


def moments(x: FloatArray, weight: FloatArray | None = None) -> Moments:
    """Mean and covariance in two passes, the second about the first's mean.

    Parameters
    ----------
    x : (N, n) records, finite.
    weight : (N,) positive weights, or None for equal ones.

    Returns
    -------
    Moments

    Notes
    -----
    XK slide 4, XF slide 13. O(N n^2) in blocks, O(n^2) memory beyond them.
    """
    share = np.full(len(x), 1.0 / len(x)) if weight is None else weight / weight.sum()
    low, high = x.min(axis=0), x.max(axis=0)
    mean = np.asarray(share @ x)
    shift = np.zeros(x.shape[1])
    second = np.zeros((x.shape[1], x.shape[1]))
    for start in range(0, len(x), _BLOCK):
        u = x[start : start + _BLOCK] - mean
        wu = u * share[start : start + _BLOCK, None]
        shift += wu.sum(axis=0)
        second += wu.T @ u
    mean = np.where(low == high, low, mean + shift)
    covariance = second - np.outer(shift, shift)
    covariance = 0.5 * (covariance + covariance.T)
    covariance[low == high, :] = 0.0
    covariance[:, low == high] = 0.0
    return Moments(mean=mean, covariance=covariance, low=low, high=high)
