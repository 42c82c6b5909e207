"""Mean, variance, covariance and correlation of the original records, estimated from their densities alone.

Notation
--------
Z_p = X_p + G_p e_p : centres; e_p standard draws along the axes, G_p (n, n) loadings (densities.loadings).
S_p = c_2 G_p G_p^T : covariance of the noise, c_2 = 1 (gaussian) or 1/12 (uniform on [-1/2, 1/2]).
kappa_4 : fourth cumulant of a standard draw: 0 (gaussian) or -1/120.
w_p = Z_p - Zbar, S = mean of S_p.
E^ = Zbar,  C^ = (1/M) sum w w^T - (1 - 1/M) S,  rho^_jk = C^_jk / sqrt(C^_jj C^_kk).

E^ and C^ are unbiased for the moments (divisor M) of the M released records' originals, whatever these are: they are
fixed, only the noise is random. rho^ is consistent; its bias is of the order of 1/M. Suppressed records are in none of
them.

Standard errors (noise only, terms of order 1/M^2 left out). For a form u^T A u, u = X_p - E + noise, A symmetric:
    Var = 4 m^T A S_p A m + 2 tr(A S_p A S_p) + kappa_4 sum_i (g_i^T A g_i)^2,
m the part without noise, g_i the columns of G_p; m m^T is estimated by w w^T - S_p. Variance and covariance are the
means of such forms, A = e_j e_j^T or (e_j e_k^T + e_k e_j^T) / 2; the correlation by the delta method, with A =
    A_jk / (sigma_j sigma_k) - (rho / 2)(A_jj / sigma_j^2 + A_kk / sigma_k^2).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from surebox_core.statistics import LEAST_VARIANCE
from surebox_core.types import FloatArray
from workers.algorithms.uncertain.density.densities import Densities, check_densities, loadings

_BLOCK = 8192


@dataclass(frozen=True)
class Estimates:
    """Moments of the original with standard errors; NaN where undefined.

    Attributes
    ----------
    mean, mean_error : (n,).
    covariance, covariance_error : (n, n); variances on the diagonal. A variance that the noise drowns may come out
        negative: that is what unbiased means.
    correlation, correlation_error : (n, n); clipped to [-1, 1], NaN next to a variance that is not positive.
    """

    mean: FloatArray
    mean_error: FloatArray
    covariance: FloatArray
    covariance_error: FloatArray
    correlation: FloatArray
    correlation_error: FloatArray


def estimates(densities: Densities) -> Estimates:
    """Estimate the original's moments.

    Parameters
    ----------
    densities : what the release contains.

    Returns
    -------
    Estimates

    Raises
    ------
    ValueError
        Invalid densities.

    Notes
    -----
    science.md section 3, "Use", AG section I (noise of known distribution). O(M n^2) in products of matrices, with axes
    O(M n^3).
    """
    check_densities(densities)
    rows, n = densities.z.shape
    centre = densities.z.mean(axis=0)
    mean = centre + (densities.z - centre).mean(axis=0)
    observed, noise = np.zeros((n, n)), np.zeros((n, n))
    for part in _parts(rows):
        w = densities.z[part] - mean
        observed += w.T @ w / rows
        noise += _noise(densities, part) / rows
    covariance = observed - (1.0 - 1.0 / rows) * noise
    sigma = np.sqrt(np.where(np.diag(covariance) > LEAST_VARIANCE, np.diag(covariance), np.nan))
    correlation = np.clip(covariance / np.outer(sigma, sigma), -1.0, 1.0)
    correlation[np.diag_indices(n)] = np.where(np.isfinite(sigma), 1.0, np.nan)
    errors = _turned_errors if densities.axes is not None else _parallel_errors
    of_covariance, of_correlation = errors(densities, mean, sigma, correlation)
    return Estimates(
        mean,
        np.sqrt(np.diag(noise) / rows),
        covariance,
        of_covariance,
        correlation,
        of_correlation,
    )


def _second(densities: Densities) -> float:
    """c_2."""
    return 1.0 if densities.model == "gaussian" else 1.0 / 12.0


def _fourth(densities: Densities) -> float:
    """kappa_4 of a standard draw: E e^4 - 3 (E e^2)^2 = 1/80 - 3/144 for the uniform one."""
    return 0.0 if densities.model == "gaussian" else -1.0 / 120.0


def _parts(rows: int) -> Iterator[slice]:
    """Yield the records, some at a time."""
    return (slice(first, min(first + _BLOCK, rows)) for first in range(0, rows, _BLOCK))


def _noise(densities: Densities, part: slice) -> FloatArray:
    """Sum of S_p over some records, (n, n)."""
    if densities.axes is None:
        return np.asarray(_second(densities) * np.diag((densities.scale[part] ** 2).sum(axis=0)))
    g = loadings(densities, part.start, part.stop)
    return np.asarray(_second(densities) * (g @ g.transpose(0, 2, 1)).sum(axis=0))


def _parallel_errors(
    densities: Densities, mean: FloatArray, sigma: FloatArray, correlation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Standard errors (n, n) of covariances and of correlations, densities parallel to the axes: S_p is diagonal.

    Every sum over records is then one of sum s_j w_k^2, sum s_j w_j w_k, sum s_j s_k and sum scale_j^4.
    """
    rows, n = densities.z.shape
    far, mixed, both, fourth = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    for part in _parts(rows):
        w, squared = densities.z[part] - mean, densities.scale[part] ** 2
        s = _second(densities) * squared
        far += s.T @ (w * w)
        mixed += (s * w).T @ w
        both += s.T @ s
        fourth += (squared * squared).sum(axis=0)

    def variance(a: FloatArray, b: FloatArray, c: FloatArray) -> FloatArray:
        own, kappa = np.diag(far), _fourth(densities)
        squares = a * a * own[:, None] + b * b * (far + far.T) + c * c * own + 2.0 * b * (a * mixed + c * mixed.T)
        trace = a * a * np.diag(both)[:, None] + 2.0 * b * b * both + c * c * np.diag(both)
        cumulant = kappa * (a * a * fourth[:, None] + c * c * fourth)
        return np.asarray(np.maximum(4.0 * (squares - trace), 0.0) + 2.0 * trace + cumulant)

    same = np.eye(n)
    covariance = variance(same, 0.5 * (1.0 - same), np.zeros((n, n)))
    with np.errstate(invalid="ignore"):
        one, two = np.broadcast_to(sigma[:, None], (n, n)), np.broadcast_to(sigma, (n, n))
        ratio = variance(-0.5 * correlation / one**2, 0.5 / (one * two), -0.5 * correlation / two**2)  # delta method
    ratio[np.diag_indices(n)] = 0.0
    covariance, ratio = (np.sqrt(np.maximum(v, 0.0)) / rows for v in (covariance, ratio))
    return covariance, np.where(np.isfinite(correlation), ratio, np.nan)


def _turned_errors(
    densities: Densities, mean: FloatArray, sigma: FloatArray, correlation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Standard errors (n, n) of covariances and of correlations."""
    rows, n = densities.z.shape
    covariance, ratio = np.zeros((n, n)), np.zeros((n, n))
    for part in _parts(rows):
        w, g = densities.z[part] - mean, loadings(densities, part.start, part.stop)
        s = _second(densities) * (g @ g.transpose(0, 2, 1))
        for j in range(n):
            for k in range(j, n):
                held = _Pair(w[:, j], w[:, k], s[:, j, j], s[:, j, k], s[:, k, k], g[:, j], g[:, k])
                kappa = _fourth(densities)
                covariance[j, k] += _variance(held, (0.0, 0.5, 0.0) if k > j else (1.0, 0.0, 0.0), kappa)
                if k > j and np.isfinite(correlation[j, k]):
                    rho, one, two = correlation[j, k], sigma[j], sigma[k]
                    form = (-0.5 * rho / one**2, 0.5 / (one * two), -0.5 * rho / two**2)  # delta method
                    ratio[j, k] += _variance(held, form, kappa)
    covariance, ratio = (np.sqrt(np.maximum(v + np.triu(v, 1).T, 0.0)) / rows for v in (covariance, ratio))
    return covariance, np.where(np.isfinite(correlation), ratio, np.nan)


class _Pair(NamedTuple):
    """Two columns of some records: w, S and the rows of G."""

    one: FloatArray
    two: FloatArray
    s_one: FloatArray
    s_both: FloatArray
    s_two: FloatArray
    g_one: FloatArray
    g_two: FloatArray


def _variance(held: _Pair, form: tuple[float, float, float], kappa: float) -> float:
    """Sum over records of Var(u^T A u), A = [[form_0, form_1], [form_1, form_2]], written out."""
    a, b, c = form
    as_11, as_12 = a * held.s_one + b * held.s_both, a * held.s_both + b * held.s_two  # A S
    as_21, as_22 = b * held.s_one + c * held.s_both, b * held.s_both + c * held.s_two
    asa_11, asa_12, asa_22 = as_11 * a + as_12 * b, as_11 * b + as_12 * c, as_21 * b + as_22 * c
    squares = asa_11 @ (held.one * held.one) + asa_22 @ (held.two * held.two)
    squares += 2.0 * (asa_12 @ (held.one * held.two))
    trace = float((as_11 * as_11 + 2.0 * as_12 * as_21 + as_22 * as_22).sum())  # tr A S A S
    total = max(4.0 * (float(squares) - trace), 0.0) + 2.0 * trace
    if kappa:
        along = a * held.g_one**2 + 2.0 * b * held.g_one * held.g_two + c * held.g_two**2
        total += kappa * float((along * along).sum())
    return total
