"""Certain bounds of regression coefficients and intercept.

Notation
--------
x_k : (q) predictors, y : target.  V, rho : variances and correlations of predictors.
s_ki : slope of x_k on x_i alone, Cov(x_i, x_k) / V_i; s_yi that of the target. Each has a narrow certain range of its
    own (ranges.pairs).
beta : the coefficients.  beta_0 = E_y - sum beta_k E_k.

The normal equations (XK slide 3), each divided by the variance of its predictor, are
    beta_i + sum_{k != i} s_ki beta_k = s_yi,                                                                  (1)
and hold for all data consistent with the boxes when every slope runs through its range. Of two predictors
    beta_1 = (s_y1 - s_21 s_y2) / (1 - rho^2),  |beta_1| <= sqrt(V_y / (V_1 (1 - rho^2)))                       (2)
and the other way round. Of more, with R about the inverse of (1)'s middle and beta~ about the solution there,
|beta - beta~| <= M |beta - beta~| + d for M = |I - R S| and d = |R (s - S beta~)|, both taken at their largest. A
positive v with M v + d <= v, checked with all roundings, proves |beta - beta~| <= v (M is then a contraction); (1)
itself narrows that. Where none is found there is no certain range.
"""

import numpy as np

from workers.algorithms.boxes.ranges.column import BoxColumn
from workers.algorithms.boxes.ranges.guaranteed import Range, combine
from workers.algorithms.boxes.ranges.pairs import EFFORT, certain, correlation_range, slope_range
from workers.algorithms.core.rounding import UNIT_ROUNDOFF, Interval
from workers.algorithms.core.types import FloatArray

_INFLATION = 1e-8
_NARROWING = 20
_ONE = Interval(1.0, 1.0)


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
    slopes: list[Interval] | None
    if len(predictors) == 1:
        slope = slope_range(target, predictors[0], effort)
        slopes = [slope.outer] if slope.outer else None
        inner = (inner[0], _hull(inner[1], slope.inner))
    else:
        slopes = _several(target, predictors, effort)
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
    """Ranges of the coefficients, or None."""
    q = len(predictors)
    share = max(effort // (q * q + 1), 2)
    equations = []
    for x in predictors:
        row = [_ONE if z is x else slope_range(z, x, share).outer for z in (*predictors, target)]
        if any(each is None for each in row):
            return None
        units = [x.exponent - z.exponent for z in (*predictors, target)]  # of scaled columns: of one size
        equations.append([each.scaled(unit) for each, unit in zip(row, units, strict=True) if each])
    start = _two(equations, target, predictors, share) if q == 2 else _enclosed(equations)
    if start is None:
        return None
    found = _narrowed(equations, start)
    return [b.scaled(target.exponent - p.exponent) for b, p in zip(found, predictors, strict=True)]


def _two(
    equations: list[list[Interval]], target: BoxColumn, predictors: list[BoxColumn], effort: int
) -> list[Interval] | None:
    """Coefficients on two predictors; None where these may be collinear."""
    rho = certain(correlation_range(predictors[0], predictors[1], effort).outer)
    largest = rho.magnitude
    least = max(rho.lower, -rho.upper, 0.0)
    rest = _ONE - Interval(least, least) * Interval(least, least)
    rest = Interval((_ONE - Interval(largest, largest) * Interval(largest, largest)).lower, rest.upper)
    if not rest.lower > 0.0:
        return None
    variance = certain(target.variance.outer).scaled(-2 * target.exponent)
    found = []
    for i, x in enumerate(predictors):
        own, cross, other = equations[i][2], equations[i][1 - i], equations[1 - i][2]
        slope = (own - cross * other) / rest  # (2)
        size = (variance / (certain(x.variance.outer).scaled(-2 * x.exponent) * rest)).square_root().upper
        found.append(slope.intersect(Interval(-size, size)))
    return found


def _narrowed(equations: list[list[Interval]], found: list[Interval]) -> list[Interval]:
    """What (1), solved for one coefficient after the other, leaves of certain ranges."""
    found = list(found)
    for _ in range(_NARROWING):
        for i, row in enumerate(equations):
            rest = row[-1]
            for k, each in enumerate(found):
                if k != i:
                    rest = rest - row[k] * each
            found[i] = found[i].intersect(rest)
    return found


def _enclosed(equations: list[list[Interval]]) -> list[Interval] | None:
    """Certain ranges of all solutions, or None."""
    low = np.array([[each.lower for each in row] for row in equations])
    high = np.array([[each.upper for each in row] for row in equations])
    found = _enclose(0.5 * (low + high), np.nextafter(np.nextafter(0.5 * (high - low), np.inf), np.inf))
    if found is None:
        return None
    return [Interval(float(low), float(high)) for low, high in zip(*found, strict=True)]


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
