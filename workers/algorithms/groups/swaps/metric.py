"""The influential metric InfM between records (science.md section 2, "Influential metric", TC equation 25).

Notation
--------
==========  ==========  ==============================================================================
symbol      shape       meaning
==========  ==========  ==============================================================================
r           (n_ord,)    a record's ordinal attributes, in any units
omega       (n_ord,)    their weights, not negative
k           (n_cat,)    its categorical attributes, as codes
gamma       (n_cat,)    their weights, not negative
x           (A,)        a record as kernels take it: codes first, then ordinal values; A = n_cat + n_ord
w           (A,)        weights in the same order
==========  ==========  ==============================================================================

InfM = sum_p omega_p ((r_p - r*_p)/(|r_p| + |r*_p|))^2 + sum_q gamma_q [k_q != k*_q]

Two departures from the print: absolute values in the denominator, since incomes can be negative, and 0/0 = 0, since two
zeros do not differ. The definition of chi has its two constants exchanged against the paper's own use in equation 28: a
difference costs gamma, agreement nothing. So one ordinal attribute adds at most omega, one categorical at most gamma.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, IntArray


@dataclass(frozen=True)
class Metric:
    """Weights of the influential attributes.

    Attributes
    ----------
    ordinal : omega, one per ordinal attribute.
    categorical : gamma, one per categorical attribute.
    """

    ordinal: tuple[float, ...]
    categorical: tuple[float, ...]

    @property
    def weights(self) -> FloatArray:
        """(A,), as kernels take them."""
        return np.array([*self.categorical, *self.ordinal], dtype=np.float64)

    @property
    def largest(self) -> float:
        """What no pair of records exceeds."""
        return float(np.sum(self.weights))


def check_metric(metric: Metric) -> None:
    """Refuse weights that measure nothing.

    Raises
    ------
    ValueError
        A weight is negative or not finite, or none is positive.
    """
    weights = metric.weights
    if not np.all(np.isfinite(weights)) or np.any(weights < 0.0):
        raise ValueError("every weight of the metric must be finite and at least 0")
    if not np.any(weights > 0.0):
        raise ValueError("at least one weight of the metric must be positive")


def encode(metric: Metric, ordinal: FloatArray, categorical: IntArray) -> FloatArray:
    """Records as kernels take them.

    Parameters
    ----------
    metric : weights.
    ordinal : (N, n_ord) float64, finite.
    categorical : (N, n_cat) int64 codes, below 2^53 in size; a missing value is a code of its own.

    Returns
    -------
    (N, A) float64

    Raises
    ------
    ValueError
        Shapes do not match the metric, or an ordinal value is missing or infinite.
    """
    check_metric(metric)
    if ordinal.ndim != 2 or categorical.ndim != 2 or len(ordinal) != len(categorical):
        raise ValueError("ordinal and categorical attributes must be two matrices with a row per record")
    if ordinal.shape[1] != len(metric.ordinal) or categorical.shape[1] != len(metric.categorical):
        raise ValueError(
            f"{len(metric.ordinal)} ordinal and {len(metric.categorical)} categorical weights, "
            f"but {ordinal.shape[1]} and {categorical.shape[1]} attributes"
        )
    if not np.all(np.isfinite(ordinal)):
        raise ValueError("an ordinal attribute has missing or infinite values: take it as categorical or fill it")
    return np.ascontiguousarray(np.hstack([categorical.astype(np.float64), ordinal.astype(np.float64)]))


def influence(metric: Metric, left: FloatArray, right: FloatArray) -> FloatArray:
    """InfM of all pairs.

    Parameters
    ----------
    metric : weights.
    left : (n, A) from `encode`.
    right : (m, A) from `encode`.

    Returns
    -------
    (n, m) float64

    Notes
    -----
    TC equation 25. O(n m A).
    """
    rows, columns = np.meshgrid(np.arange(len(left)), np.arange(len(right)), indexing="ij")
    return paired_influence(metric, left, right, rows.ravel(), columns.ravel()).reshape(len(left), len(right))


def paired_influence(
    metric: Metric, left: FloatArray, right: FloatArray, rows: IntArray, columns: IntArray
) -> FloatArray:
    """InfM of chosen pairs: of left[rows[i]] and right[columns[i]], (Q,) float64."""
    out = np.empty(len(rows))
    _pairs(left, right, metric.weights, len(metric.categorical), rows.astype(np.int64), columns.astype(np.int64), out)
    return out


def nearest(
    metric: Metric, left: FloatArray, right: FloatArray, start: IntArray, count: int
) -> tuple[FloatArray, IndexArray]:
    """The nearest records of every part of the right side, exactly.

    Parameters
    ----------
    metric : weights.
    left : (n, A) from `encode`.
    right : (m, A) from `encode`, part g at start[g] to start[g + 1].
    start : (G + 1,) int64, ascending.
    count : how many per part, at least 1.

    Returns
    -------
    distance : (n, G, count) float64, ascending, infinite where a part has fewer records.
    index : (n, G, count) int32 into right, -1 there. Of equal distances the lower index comes first.

    Notes
    -----
    O(n m A) at worst; a pair is abandoned as soon as it is farther than the stored ones.
    """
    shape = (len(left), len(start) - 1, count)
    distance, index = np.full(shape, np.inf), np.full(shape, -1, dtype=np.int32)
    nearest_lists(left, right, metric.weights, len(metric.categorical), start.astype(np.int64), distance, index)
    return distance, index


@inner_kernel
def pair_distance(x: FloatArray, y: FloatArray, w: FloatArray, categorical: int, enough: float) -> float:
    """InfM of two records (TC 25), or a smaller number above `enough` once it is clear that it exceeds that."""
    d = 0.0
    for j in range(categorical):
        if x[j] != y[j]:
            d += w[j]
    for j in range(categorical, len(w)):
        if d > enough:
            return d
        size = 0.5 * abs(x[j]) + 0.5 * abs(y[j])  # halves: the sum of two large numbers is none
        if size > 0.0:
            r = (0.5 * x[j] - 0.5 * y[j]) / size
            d += w[j] * r * r
    return d


@kernel
def _pairs(
    left: FloatArray,
    right: FloatArray,
    w: FloatArray,
    categorical: int,
    rows: IntArray,
    columns: IntArray,
    out: FloatArray,
) -> None:
    for i in range(len(rows)):
        out[i] = pair_distance(left[rows[i]], right[columns[i]], w, categorical, np.inf)


@kernel
def nearest_lists(
    left: FloatArray,
    right: FloatArray,
    w: FloatArray,
    categorical: int,
    start: IntArray,
    distance: FloatArray,
    index: IndexArray,
) -> None:
    """Fill sorted lists (n, G, count), given as infinite and -1: insertion from below, equals in order of index."""
    count = distance.shape[2]
    for i in range(left.shape[0]):
        x = left[i]
        for g in range(len(start) - 1):
            kept = distance[i, g]
            place = index[i, g]
            for r in range(start[g], start[g + 1]):
                d = pair_distance(x, right[r], w, categorical, kept[count - 1])
                if d < kept[count - 1]:
                    c = count - 1
                    while c > 0 and kept[c - 1] > d:
                        kept[c] = kept[c - 1]
                        place[c] = place[c - 1]
                        c -= 1
                    kept[c] = d
                    place[c] = r
