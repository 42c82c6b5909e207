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
from workers.algorithms.boxes.ranges.guaranteed import Range, combine
from workers.algorithms.boxes.ranges.pairs import EFFORT, certain, covariance_range, slope_range
from workers.algorithms.core.rounding import UNIT_ROUNDOFF, Interval
from workers.algorithms.core.types import FloatArray

_INFLATION = 1e-8


def regression_ranges(
    columns: tuple[BoxColumn, ...], inner: tuple[Interval | None, ...], effort: int = EFFORT
) -> tuple[Range, ...]:
    """Certain and reached ranges of the intercept and each coefficient, target's column first.

    Parameters
    ----------
    columns : q + 1 columns of the same boxes.
    inner : q + 1 ranges known to be reached, intercept first (ranges.ascent).
    effort : planes to spend at most, about.

    Returns
    -------
    tuple of Range
        Intercept first; without certain bounds where the boxes prove nothing (they allow collinear predictors, or
        nearly).

    Notes
    -----
    XK slide 3; science.md section 1, "from certain parts". O(B effort + q^3).
    """
    target, *predictors = columns
    if len(predictors) == 1:
        slope = slope_range(target, predictors[0], effort)
        slopes = [slope.outer] if slope.outer else None
        inner = (inner[0], _hull(inner[1], slope.inner))
    else:
        slopes = _several(target, predictors, max(effort * 2 // (len(predictors) * (len(predictors) + 1)), 1))
    if slopes is None:
        return tuple(combine(None, reached) for reached in inner)
    intercept = certain(target.mean.outer)
    for each, predictor in zip(slopes, predictors, strict=True):
        intercept = intercept - each * certain(predictor.mean.outer)
    return tuple(combine(outer, reached) for outer, reached in zip((intercept, *slopes), inner, strict=True))


def _hull(first: Interval | None, second: Interval | None) -> Interval | None:
    if first is None or second is None:
        return first or second
    return Interval(min(first.lower, second.lower), max(first.upper, second.upper))


def _several(target: BoxColumn, predictors: list[BoxColumn], effort: int) -> list[Interval] | None:
    q = len(predictors)
    low, high = np.empty((q, q + 1)), np.empty((q, q + 1))
    for i, a in enumerate(predictors):
        for j, b in enumerate([*predictors, target]):
            if j < i:
                low[i, j], high[i, j] = low[j, i], high[j, i]
                continue
            found = certain(a.variance.outer if i == j else covariance_range(a, b, effort).outer)
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
