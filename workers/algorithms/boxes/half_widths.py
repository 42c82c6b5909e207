"""Optimal half-widths around a point, and the asymptotic uncertainty they promise.

Notation
--------
rho(x) : records per unit volume of the columns that matter.
a_i(x) : (n,), influence of column i at x.  n : the columns that are not free.
D_i = c / a_i,  c(x) = 1/2 (k / rho(x) prod_j a_j(x))^(1/n).   (XK slide 9, XF slide 8)
Delta = n sum_p w_p c(x_p), w_p the record's weight, 1/N where not weighed: sum_p w_p sum_i a_i D_i at the optimum.

Delta is a guide, not a bound (science.md section 1, "Half-widths around a point").
"""

import numpy as np
from scipy.spatial import cKDTree

from surebox_core.extremes import extremes
from surebox_core.influence import Influences, absolute_influences
from surebox_core.types import FloatArray, IntArray

_NEIGHBOURS = 32
_WIDE = 8  # columns beyond which a tree finds neighbours no faster than a scan


def asymptotic_half_widths(k: int, density: FloatArray, a: FloatArray) -> FloatArray:
    """D_i that minimise sum a_i D_i while the box holds k records.

    Parameters
    ----------
    k : records per box.
    density : (m,), rho at each point.
    a : (m, n), positive a_i at each point.

    Returns
    -------
    (m, n) float64
        In the columns' units.

    Notes
    -----
    XK slide 9. Logarithms keep products of many columns finite.
    """
    n = a.shape[1]
    log_c = (np.log(k) - np.log(density) + np.log(a).sum(axis=1)) / n
    return np.asarray(0.5 * np.exp(log_c)[:, None] / a)


def asymptotic_uncertainty(
    x: FloatArray, field: Influences, k: int, rng: np.random.Generator, weight: FloatArray | None = None
) -> float | None:
    """Delta = n sum_p w_p c(x_p), from the distances to the m-th neighbours of a sample.

    Parameters
    ----------
    x : (N, n) records: those that are kept.
    field : derivatives of the statistics at their (weighted) moments.
    k : records per box.
    weight : (N,) positive, of each record; None for equal ones.
    rng : draws the sample where there are more than about 4,000 records.

    Returns
    -------
    float or None
        In the weighted sum's unit; None when fewer than three records or no column that matters give no density.

    Notes
    -----
    Distances are the largest of abar_i |x_i - y_i|; with the m-th of M sampled neighbours at distance r the density is
    ((m - 1) N / M) prod(abar_i) / (2 r)^n, so c = r (k M / ((m - 1) N))^(1/n) (prod a_i / abar_i)^(1/n). a_i is its
    mean over the neighbours (it vanishes at single records). Where m records coincide c is 0. Weights say how much a
    record's half-widths count, not how dense records are: a box holds k records whatever they weigh. Of a sample
    Delta is n sum w c / sum w.
    """
    used = ~field.free
    queries, points = _sample_sizes(int(used.sum()))
    if len(x) < 3 or not used.any():
        return None
    pooled = _drawn(len(x), points, rng)
    pool = x[pooled]
    sample = _drawn(len(pool), queries, rng)
    at = pool[sample]
    low, high = extremes(x)
    span = np.maximum(field.mean - low, high - field.mean)
    unit = np.where(span > 0.0, span, 1.0)
    largest = float((field.bound(span) * unit)[used].max())
    if largest == 0.0:
        return None
    a = absolute_influences(field, pool, unit / largest)[:, used].astype(np.float64)
    mean_a = a.mean(axis=0)
    if not mean_a.all():
        return None
    metric = mean_a / unit[used]
    m = min(_NEIGHBOURS, len(pool) - 1)
    tree = cKDTree(pool[:, used] * metric, balanced_tree=False)
    distance, near = tree.query(at[:, used] * metric, k=m + 1, p=np.inf)
    local = a[near].mean(axis=1) / mean_a
    n = len(mean_a)
    share = (k * len(pool) / (max(m - 1, 1) * len(x))) ** (1.0 / n)
    c = distance[:, -1] * share * np.exp(np.log(np.maximum(local, 1e-300)).mean(axis=1))
    return float(n * np.average(c, weights=None if weight is None else weight[pooled][sample]) * largest)


def _drawn(size: int, most: int, rng: np.random.Generator) -> IntArray | slice:
    """Places of at most so many of `size` records, in their order."""
    return slice(None) if size <= most else np.sort(rng.choice(size, most, replace=False))


def _sample_sizes(columns: int) -> tuple[int, int]:
    return (4096, 100_000) if columns <= _WIDE else (2048, 2048)
