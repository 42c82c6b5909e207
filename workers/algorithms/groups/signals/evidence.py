"""Evidence that found outliers depend on true ones: Bayes factors under intrinsic priors.

Source: science.md section 2, "Adequacy"; TC 21, 22.

Notation
--------
=========  ===========  ===================================================================================
symbol     shape        meaning
=========  ===========  ===================================================================================
tp .. tn   scalars      confusion matrix under the paper's names (rows: true outliers; all others)
a, b, m    scalars      tp + fp, fn + tn, a + b
t_1, t_2   scalars      sizes of the imaginary samples that the prior is made of, t_1 <= a, t_2 <= b
theta      (K,)         nodes of a Gauss-Legendre rule on [0, 1], weights w
F_t        (a + 1, K)   likelihood of one row of the matrix, averaged by the prior around theta
B          (a+1, b+1)   Bayes factor of dependence against independence
=========  ===========  ===================================================================================

TC 21 is a double sum per (t_1, t_2). With ``1/((T + 1) C(T, s)) = int theta^s (1 - theta)^(T - s)`` it falls apart:
``B = (m + 1) C(m, tp + fn) int F_t1(theta; tp, fp) F_t2(theta; fn, tn) dtheta`` with
``F_t = (t + 1)/(a + t + 1) sum_i C(t, i)^2 / C(a + t, tp + i) theta^i (1 - theta)^(t - i)``,
so that the whole grid is one product of two matrices, and its minimum is searched completely. All terms are positive:
nothing cancels. The integrand is a polynomial of degree t_1 + t_2: m/2 + 1 nodes are exact; far fewer suffice, since
its bumps are sqrt(1/m) wide in the angle in which the nodes are equidistant.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, roots_legendre

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IntArray

#: Parameter values up to which all priors are tried; of more, a grid of so many sizes a side is refined.
_COMPLETE, _SIZES = 4_000, 65
#: Terms of a sum below this share of the largest one are left out; at most some thousands of them are.
_NEGLIGIBLE = 1e-22


@dataclass(frozen=True)
class Evidence:
    """The least favourable Bayes factor.

    Attributes
    ----------
    mb : MB, natural logarithm of B at its minimum.
    t1, t2 : where the minimum is (one place of it).
    """

    mb: float
    t1: int
    t2: int


def least_evidence(tp: int, fp: int, fn: int, tn: int) -> Evidence:
    """MB, the minimum of log B over all intrinsic priors.

    Parameters
    ----------
    tp, fp, fn, tn : confusion matrix under the paper's names, rows (tp, fp) and (fn, tn).

    Returns
    -------
    Evidence

    Raises
    ------
    ValueError
        A count is negative, or a row is empty (there is nothing to distinguish).

    Notes
    -----
    TC equation 22 over ``0 <= t1 <= tp + fp``, ``0 <= t2 <= fn + tn`` (science.md section 2, "Adequacy": the printed
    ranges do not give the published figures). About m^2 K operations at most, K = 32 + 4 sqrt(m): some seconds at m =
    4,000. Beyond that the priors of a grid are tried, and again those between the neighbours of the least one, until
    none is between: B is smooth in both sizes, but that nothing lower is elsewhere is not proved there.
    """
    _check(tp, fp, fn, tn)
    sizes = math.inf if tp + fp + fn + tn <= _COMPLETE else _SIZES
    low, high = (0, 0), (tp + fp, fn + tn)
    while True:
        t1, t2 = (_between(a, b, sizes) for a, b in zip(low, high, strict=True))
        grid = _log_factors((tp, fp, fn, tn), t1, t2)
        i, j = (int(place) for place in np.unravel_index(int(np.argmin(grid)), grid.shape))
        if max(np.diff(t1).max(initial=1), np.diff(t2).max(initial=1)) == 1:
            return Evidence(float(grid[i, j]), int(t1[i]), int(t2[j]))
        low = (int(t1[max(i - 1, 0)]), int(t2[max(j - 1, 0)]))
        high = (int(t1[min(i + 1, len(t1) - 1)]), int(t2[min(j + 1, len(t2) - 1)]))


def _between(low: int, high: int, most: float) -> IntArray:
    """All whole numbers of [low, high], or `most` of them, evenly, both ends included."""
    count = int(min(high - low + 1, most))
    return np.unique(np.linspace(low, high, count).round().astype(np.int64))


def log_bayes_factors(tp: int, fp: int, fn: int, tn: int) -> FloatArray:
    """Log B(t1, t2) for all priors.

    Parameters
    ----------
    tp, fp, fn, tn : as for `least_evidence`.

    Returns
    -------
    (tp + fp + 1, fn + tn + 1) float64

    Raises
    ------
    ValueError
        As for `least_evidence`.

    Notes
    -----
    TC equation 21.
    """
    _check(tp, fp, fn, tn)
    return _log_factors((tp, fp, fn, tn), np.arange(tp + fp + 1), np.arange(fn + tn + 1))


def _check(tp: int, fp: int, fn: int, tn: int) -> None:
    if min(tp, fp, fn, tn) < 0:
        raise ValueError("no count of a confusion matrix is negative")
    if tp + fp == 0 or fn + tn == 0:
        raise ValueError(
            "both rows of the confusion matrix need elements: with one class there is no dependence to test"
        )


def _log_factors(counts: tuple[int, int, int, int], t1: IntArray, t2: IntArray) -> FloatArray:
    """Log B (TC 21) at all pairs of some sizes."""
    tp, fp, fn, tn = counts
    m = sum(counts)
    roots, weights = roots_legendre(min(m // 2 + 1, 32 + int(4.0 * math.sqrt(m))))
    theta, w = (roots + 1.0) / 2.0, weights / 2.0
    first = _likelihoods(float(tp), float(fp), theta, t1)
    second = _likelihoods(float(fn), float(tn), theta, t2)
    scale = math.log(m + 1) + log_choose(m, tp + fn)
    return scale + _log_product(first + np.log(w), second)


def log_choose(items: IntArray | int, taken: IntArray | int) -> FloatArray:
    """Return logarithms of the numbers of ways to take some of the items; minus infinity where there are none."""
    return np.asarray(gammaln(items + 1.0) - gammaln(taken + 1.0) - gammaln(items - taken + 1.0))


def _log_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """Log of exp(left) @ exp(right).T, rows scaled; where that underflows, exactly and one by one."""
    top_left, top_right = left.max(axis=1, keepdims=True), right.max(axis=1, keepdims=True)
    product = np.exp(left - top_left) @ np.exp(right - top_right).T
    tiny = product < 1e-250
    product[tiny] = 1.0
    out = np.log(product) + top_left + top_right.T
    for i, j in np.argwhere(tiny):
        out[i, j] = np.logaddexp.reduce(left[i] + right[j])
    return np.asarray(out)


@kernel
def _likelihoods(hits: float, misses: float, theta: FloatArray, sizes: IntArray) -> FloatArray:
    """Log of F_t at all nodes for each of the sizes t: terms u_i are log-concave in i, summed outward from the largest.

    u_(i+1) / u_i = ((t - i)/(i + 1))^2 (hits + i + 1)/(misses + t - i) theta/(1 - theta).
    """
    out = np.empty((len(sizes), len(theta)))
    ratio = np.empty(sizes.max())
    for row in range(len(sizes)):
        t = sizes[row]
        for i in range(t):
            r = (t - i) / (i + 1.0)
            ratio[i] = r * r * (hits + i + 1.0) / (misses + t - i)
        front = (
            math.log(t + 1.0)
            + 2.0 * math.lgamma(t + 1.0)
            - math.lgamma(hits + misses + t + 2.0)  # (a + t + 1) and the binomial's (a + t)!
        )
        for k in range(len(theta)):
            odds = theta[k] / (1.0 - theta[k])
            low, high = 0, t  # the ratio falls with i: the first i whose ratio is at most 1 is the largest term
            while low < high:
                middle = (low + high) // 2
                if ratio[middle] * odds > 1.0:
                    low = middle + 1
                else:
                    high = middle
            total = 1.0
            term = 1.0
            for i in range(low, t):
                term *= ratio[i] * odds
                if term < _NEGLIGIBLE:
                    break
                total += term
            term = 1.0
            for i in range(low - 1, -1, -1):
                term /= ratio[i] * odds
                if term < _NEGLIGIBLE:
                    break
                total += term
            out[row, k] = (
                math.log(total)
                + front
                - 2.0 * (math.lgamma(low + 1.0) + math.lgamma(t - low + 1.0))
                + math.lgamma(hits + low + 1.0)
                + math.lgamma(misses + t - low + 1.0)
                + low * math.log(theta[k])
                + (t - low) * math.log1p(-theta[k])
            )
    return out
