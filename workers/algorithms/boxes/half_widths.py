"""Optimal half-widths around a point, l-diverse or not, and the asymptotic uncertainty they promise.

Notation
--------
rho(x) : records per unit volume of the columns that matter; at most f / v.
h_i : resolution of a column: the step of its values, or the least distance of two of them.
f(x), v : records with the values of x in the columns that matter, and prod_i h_i, the volume of the cell they share.
a_i(x) : (n,), influence of column i at x.  n : the columns that are not free.
D_i = c / a_i,  c(x) = 1/2 (k prod_j a_j(x) / rho(x))^(1/n).   (XK slide 9, XF slide 8)
Delta = n sum_p w_p c(x_p), w_p the record's weight, 1/N where not weighed: sum_p w_p sum_i a_i D_i at the optimum.
e_i : l eps_i / 2, the least D_i of a column whose l values are eps_i apart; 0 of all others (XF slide 11).
c_t, Delta(t) : c of the columns that are left, and the sum of a_i D_i, where the t columns of the largest a_i e_i have
    D_i = e_i (XF slide 12).

Delta is a guide, not a bound (science.md section 1, "Half-widths around a point" and "l-diverse half-widths").
"""

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

from surebox_core.extremes import extremes
from surebox_core.influence import Influences, absolute_influences
from surebox_core.types import BoolArray, FloatArray, IntArray

_NEIGHBOURS = 32
_LEAST = 1e-30  # of its mean: an influence that vanishes at all neighbours of a record
_SMALLEST = 1e-300  # a span below is none
_WIDE = 8  # columns beyond which a tree finds neighbours no faster than a scan


def asymptotic_half_widths(
    k: int, log_density: FloatArray, a: FloatArray, least: FloatArray | None = None
) -> FloatArray:
    """D_i that minimise sum a_i D_i while the box has k records, none below its least.

    Parameters
    ----------
    k : records per box.
    log_density : (m,), log rho at each point.
    a : (m, n), positive a_i at each point.
    least : (n,), e; None for none.

    Returns
    -------
    (m, n) float64
        In the columns' units.

    Notes
    -----
    XK slide 9; XF slides 11 and 12 where there is a least. With all columns at their least the box may contain more
    than k records, and is admitted only then: as printed it always is. Logarithms keep products of many columns finite.
    O(m n log n).
    """
    n = a.shape[1]
    log_room = np.log(k) - log_density
    if least is None or not least.any():
        return np.asarray(0.5 * np.exp((log_room + np.log(a).sum(axis=1)) / n)[:, None] / a)
    order = np.argsort(-(a * least), axis=1, kind="stable")
    size = np.take_along_axis(a * least, order, axis=1)
    with np.errstate(divide="ignore"):
        log_a = np.log(np.take_along_axis(a, order, axis=1))
        log_widths = np.log(2.0 * np.take_along_axis(np.broadcast_to(least, a.shape), order, axis=1))
    best, clamped, rest = np.full(len(a), np.inf), np.zeros(len(a), dtype=np.int64), np.zeros(len(a))
    for t in range(n + 1):
        taken = log_widths[:, :t].sum(axis=1)
        if t == n:
            c, admissible = np.zeros(len(a)), log_room <= taken  # the volume has k records and more
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                c = 0.5 * np.exp((log_room + log_a[:, t:].sum(axis=1) - taken) / (n - t))
            admissible = c >= size[:, t]  # 2 c_t / l >= a_(t+1) eps_(t+1)
        total = size[:, :t].sum(axis=1) + (n - t) * c
        better = admissible & (total < best)
        best[better], clamped[better], rest[better] = total[better], t, c[better]
    widths = np.where(np.arange(n) < clamped[:, None], size, rest[:, None])
    half = np.empty_like(a)
    np.put_along_axis(half, order, widths, axis=1)
    return half / a


@dataclass(frozen=True)
class Surroundings:
    """Neighbourhoods of some points, in columns scaled so that influences are of order 1.

    Attributes
    ----------
    used : (n,) the columns that are not free; the others are left out below.
    unit : (u,), scale of each used column.
    largest : the influence that counts as 1.
    a : (m, u), scaled influences, their mean over the neighbours.
    mean_a : (u,), over all.
    distance : (m,), largest of mean_a_i |x_i - y_i| to the last neighbour.
    share : (M / ((m - 1) N))^(1/n), M of N records being the pool in which the m-th neighbour is.
    log_densest : (m,), log of f / v, scaled; None where columns have no resolution.
    """

    used: BoolArray
    unit: FloatArray
    largest: float
    a: FloatArray
    mean_a: FloatArray
    distance: FloatArray
    share: float
    log_densest: FloatArray | None = None

    def c(self, k: int) -> FloatArray:
        """(m,), c of each point, scaled."""
        n, local = len(self.unit), np.log(np.maximum(self.a / self.mean_a, _LEAST)).mean(axis=1)
        by_neighbours = self.distance * float(k) ** (1.0 / n) * self.share * np.exp(local)
        if self.log_densest is None:
            return np.asarray(by_neighbours)
        of_cell = (np.log(k) + np.log(self.mean_a).sum() - self.log_densest) / n + local
        return np.asarray(np.maximum(by_neighbours, 0.5 * np.exp(of_cell)))

    @property
    def log_density(self) -> FloatArray:
        """(m,), log rho in scaled columns; infinite where the neighbours coincide and columns have no resolution."""
        densest = np.inf if self.log_densest is None else self.log_densest
        return np.asarray(np.minimum(self._by_neighbours, densest))

    @property
    def at_resolution(self) -> BoolArray:
        """(m,), whether the neighbours are nearer than the resolution of the columns can show."""
        densest = np.inf if self.log_densest is None else self.log_densest
        return np.asarray(self._by_neighbours > densest)

    @property
    def _by_neighbours(self) -> FloatArray:
        n = len(self.unit)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.mean_a).sum() - n * np.log(2.0 * self.distance * self.share))

    def half_widths(self, k: int, least: FloatArray | None = None) -> FloatArray:
        """(m, u), D, scaled; none below `least` (u,), scaled likewise."""
        return asymptotic_half_widths(k, self.log_density, np.maximum(self.a, _LEAST * self.mean_a), least)


def densest(x: FloatArray, used: BoolArray, resolution: FloatArray) -> FloatArray:
    """Log of f / v of each record, in the columns' units.

    Parameters
    ----------
    x : (N, n) records.
    used : (n,), the columns that matter.
    resolution : (n,), h.

    Returns
    -------
    (N,) float64

    Notes
    -----
    science.md section 1, "Half-widths on whole numbers". O(N log N).
    """
    _, which, counts = np.unique(x[:, used], axis=0, return_inverse=True, return_counts=True)
    return np.asarray(np.log(counts[which.reshape(-1)]) - np.log(resolution[used]).sum())


def surroundings(
    x: FloatArray,
    field: Influences,
    rng: np.random.Generator,
    rows: IntArray | None = None,
    log_densest: FloatArray | None = None,
) -> tuple[Surroundings, IntArray] | None:
    """Influences and distances to neighbours of a sample of records, or of given ones.

    Parameters
    ----------
    x : (N, n) records: those that are kept.
    field : derivatives of the statistics at their (weighted) moments.
    rng : draws samples where there are more than about 4,000 records.
    rows : records to look at; None for a sample.
    log_densest : (N,), from `densest`; None for columns without a resolution.

    Returns
    -------
    tuple or None
        Their neighbourhoods, and the records' places; None when fewer than three records or no column that matters give
        no density.

    Notes
    -----
    Distances are the largest of abar_i |x_i - y_i|; with the m-th of M sampled neighbours at distance r the density is
    ((m - 1) N / M) prod(abar_i) / (2 r)^n. a_i is its mean over the neighbours: it vanishes at single records.
    """
    used = ~field.free
    queries, points = _sample_sizes(int(used.sum()))
    if len(x) < 3 or not used.any():
        return None
    pooled = _drawn(len(x), points, rng)
    pool = x[pooled]
    sample = pooled[_drawn(len(pool), queries, rng)] if rows is None else rows
    at = x[sample]
    low, high = extremes(x)
    span = np.maximum(field.mean - low, high - field.mean)
    unit = np.where(span > _SMALLEST, span, 1.0)
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
    others = np.where(np.isin(sample, pooled), m, m - 1)  # a record of the pool is its own nearest
    share = float((len(pool) / (max(m - 1, 1) * len(x))) ** (1.0 / len(mean_a)))
    last = distance[np.arange(len(sample)), others]
    scaled = None if log_densest is None else log_densest[sample] + np.log(unit[used]).sum()
    return Surroundings(used, unit[used], largest, a[near].mean(axis=1), mean_a, last, share, scaled), sample


def asymptotic_uncertainty(
    x: FloatArray,
    field: Influences,
    k: int,
    rng: np.random.Generator,
    weight: FloatArray | None = None,
    least: FloatArray | None = None,
) -> float | None:
    """Delta = sum_p w_p sum_i a_i D_i, n sum_p w_p c(x_p) without a least: from the neighbours of a sample.

    Parameters
    ----------
    x, field, rng : as of `surroundings`.
    k : records per box.
    weight : (N,) positive, of each record; None for equal ones.
    least : (n,), e of each column of x; None for none.

    Returns
    -------
    float or None
        In the weighted sum's unit; None as of `surroundings`.

    Notes
    -----
    XF slides 8 and 12. Where m records coincide c is 0: Delta takes no resolution of columns into account. Weights
    count half-widths, not how dense records are: a box has k records whatever they weigh. Of a sample Delta is the
    weighted mean.
    """
    near = surroundings(x, field, rng)
    if near is None:
        return None
    around, sample = near
    if least is None or not least[around.used].any():
        of_points = len(around.unit) * around.c(k)
    else:
        of_points = (around.a * around.half_widths(k, least[around.used] / around.unit)).sum(axis=1)
    return float(np.average(of_points, weights=None if weight is None else weight[sample]) * around.largest)


def _drawn(size: int, most: int, rng: np.random.Generator) -> IntArray:
    """Places of at most so many of `size` records, in their order."""
    return np.arange(size) if size <= most else np.sort(rng.choice(size, most, replace=False))


def _sample_sizes(columns: int) -> tuple[int, int]:
    return (4096, 100_000) if columns <= _WIDE else (2048, 2048)
