"""Certain bounds of regression coefficients and intercept.

Notation
--------
A : (q, q), covariances of the predictors, each in an interval.  r : (q,), covariances of predictors and target.
beta : A beta = r (XK slide 3).  beta_0 = E_0 - sum beta_q E_q.

With R about the inverse of A's middle and beta~ about the solution there, |beta - beta~| <= M |beta - beta~| + d for
M = |I - R A| and d = |R (r - A beta~)|, both taken at their largest. A positive v with M v + d <= v, checked with all
roundings, proves |beta - beta~| <= v (M is then a contraction). Where none is found there is no certain range.
"""

import numpy as np

from workers.algorithms.boxes.ranges.column import BoxColumn
from workers.algorithms.boxes.ranges.pairs import covariance_outer
from workers.algorithms.core.rounding import UNIT_ROUNDOFF, Interval
from workers.algorithms.core.types import FloatArray

_INFLATION = 1e-8


def regression_outer(columns: tuple[BoxColumn, ...]) -> tuple[Interval | None, ...]:
    """Certain bounds of the intercept and each coefficient, target's column first.

    Parameters
    ----------
    columns : q + 1 columns of the same boxes.

    Returns
    -------
    tuple of Interval or None
        Intercept first; all None where the boxes prove nothing (they allow collinear predictors, or nearly).

    Notes
    -----
    XK slide 3; science.md section 1, "from certain parts". O(q^2 B + q^3).
    """
    target, *predictors = columns
    slopes = _single(target, predictors[0]) if len(predictors) == 1 else _several(target, predictors)
    if slopes is None:
        return (None,) * len(columns)
    intercept = _certain(target.mean.outer)
    for slope, predictor in zip(slopes, predictors, strict=True):
        intercept = intercept - slope * _certain(predictor.mean.outer)
    return (intercept, *slopes)


def _certain(interval: Interval | None) -> Interval:
    if interval is None:
        msg = "means and variances always have certain ranges"
        raise TypeError(msg)
    return interval


def _single(target: BoxColumn, predictor: BoxColumn) -> list[Interval] | None:
    variance = _certain(predictor.variance.outer)
    return [covariance_outer(target, predictor) / variance] if variance.lower > 0.0 else None


def _several(target: BoxColumn, predictors: list[BoxColumn]) -> list[Interval] | None:
    q = len(predictors)
    matrix = [
        [covariance_outer(a, b) if i < j else None for j, b in enumerate(predictors)] for i, a in enumerate(predictors)
    ]
    low, high = np.empty((q, q + 1)), np.empty((q, q + 1))
    for i, a in enumerate(predictors):
        for j, b in enumerate([*predictors, target]):
            found = covariance_outer(a, b) if j == q else matrix[min(i, j)][max(i, j)] or _certain(a.variance.outer)
            scaled = found.scaled(-a.exponent - b.exponent)
            low[i, j], high[i, j] = scaled.lower, scaled.upper
    enclosed = _enclose(0.5 * (low + high), np.nextafter(np.nextafter(0.5 * (high - low), np.inf), np.inf))
    if enclosed is None:
        return None
    return [
        Interval(float(lo), float(hi)).scaled(target.exponent - p.exponent)
        for lo, hi, p in zip(*enclosed, predictors, strict=True)
    ]


def _enclose(middle: FloatArray, radius: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Bounds of the solutions of all systems (A | r) within `radius` (rounded up) of `middle`."""
    a, r = middle[:, :-1], middle[:, -1]
    try:
        inverse = np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return None
    start = inverse @ r
    q = len(r)
    rounding = 8.0 * (q + 4) * UNIT_ROUNDOFF
    size = np.abs(inverse)
    radius = radius * (1.0 + rounding) + rounding * np.abs(middle)  # also the rounding of `middle` itself
    residual = np.abs(r - a @ start) + radius[:, -1] + radius[:, :-1] @ np.abs(start)
    residual = residual + rounding * (np.abs(r) + np.abs(a) @ np.abs(start))
    d = (size @ residual) * (1.0 + rounding)
    m = np.abs(np.eye(q) - inverse @ a) + size @ radius[:, :-1] + rounding * (np.eye(q) + size @ np.abs(a))
    m = m * (1.0 + rounding)
    try:
        v = np.linalg.solve(np.eye(q) - m, d)
    except np.linalg.LinAlgError:
        return None
    v = v * (1.0 + _INFLATION) + _INFLATION * float(np.abs(v).max()) + np.finfo(float).tiny
    proven = bool(np.all(v > 0.0)) and bool(np.all((m @ v + d) * (1.0 + rounding) < v))
    return (np.nextafter(start - v, -np.inf), np.nextafter(start + v, np.inf)) if proven else None
