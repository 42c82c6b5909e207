"""Guaranteed ranges of covariance and correlation.

Notation
--------
x, y : two columns of the same boxes (ranges.column), shifted and scaled; results are in the columns' own units.
mu, nu : any two numbers.  E_x, E_y : the means.
effort : planes (ranges.forms), each one pass over the boxes, that a range may cost.

(1/W) sum m (x - mu)(y - nu) = C + (E_x - mu)(E_y - nu), so
C <= (1/W) sum_b m_b max over the box's corners of (x - mu)(y - nu)
     + max of -(E_x - mu)(E_y - nu) over the means' rectangle,
for every mu, nu. At the rectangle's centre, and with dot products as if in twofold precision, this serves boxes that
are (all but) points; for wider ones it is the first of many bounds, and ranges.search finds the narrow ones.
"""

import math

import numpy as np

from workers.algorithms.boxes.ranges.column import BoxColumn
from workers.algorithms.boxes.ranges.forms import Moments, Pair, pair_of
from workers.algorithms.boxes.ranges.guaranteed import Range, combine
from workers.algorithms.boxes.ranges.objectives import Kind, Objective
from workers.algorithms.boxes.ranges.search import bound, climb
from workers.algorithms.core.rounding import UNIT_ROUNDOFF, Interval, down, up
from workers.algorithms.core.types import FloatArray

EFFORT = 1000
_CLIMBING = 8  # planes of the effort that the two ascents take, about
_NEAR = 5e-4  # of the reached range: what each end may stay outside it
_POINT = 1e-9  # widths of the means, scaled, below which boxes are all but points
_ONE = Interval(1.0, 1.0)
_ANY = Interval(1e-100, 1e100)
_Ends = tuple[Interval, Interval | None]


def covariance_range(x: BoxColumn, y: BoxColumn, effort: int = EFFORT) -> Range:
    """Certain and reached range of the covariance, in the product of the columns' units.

    Parameters
    ----------
    x, y : two columns of the same boxes.
    effort : planes to spend at most, about.

    Notes
    -----
    science.md section 1, guaranteed ranges; within |C| <= sigma_x sigma_y. O(B effort).
    """
    pair, exponent = pair_of(x, y), x.exponent + y.exponent
    outer, inner = _ends(pair, "covariance", (_ONE, _ONE), effort)
    largest = (_deviation(x) * _deviation(y)).upper
    outer = outer.scaled(exponent).intersect(Interval(-largest, largest))
    return combine(outer, inner and inner.scaled(exponent))


def correlation_range(x: BoxColumn, y: BoxColumn, effort: int = EFFORT) -> Range:
    """Certain and reached range of the correlation; [-1, 1] where a variance may be 0.

    Parameters
    ----------
    x, y : two columns of the same boxes.
    effort : planes to spend at most, about.

    Notes
    -----
    science.md section 1, guaranteed ranges. O(B effort).
    """
    whole = Interval(-1.0, 1.0)
    pair = pair_of(x, y)
    deviations = _deviation(x).scaled(-x.exponent), _deviation(y).scaled(-y.exponent)
    divisor = deviations[0] * deviations[1]
    if not (deviations[0].lower > 0.0 and divisor.lower > 0.0):
        return combine(whole, _reached(pair, "correlation", (_ANY, _ANY)))
    outer, inner = _ends(pair, "correlation", (divisor, deviations[1] / deviations[0]), effort)
    return combine(outer.intersect(whole), inner)


def certain(interval: Interval | None) -> Interval:
    """The outer range of a mean or a variance."""
    if interval is None:
        msg = "means and variances always have certain ranges"
        raise TypeError(msg)
    return interval


def _deviation(column: BoxColumn) -> Interval:
    return certain(column.variance.outer).square_root()


def _reached(pair: Pair, kind: Kind, ranges: tuple[Interval, Interval]) -> Interval | None:
    """What two ascents from the boxes' centres reach."""
    ends = [climb(pair, Objective(kind, s, *ranges), _centres(pair)).value for s in (1.0, -1.0)]
    return Interval(-ends[1], ends[0]) if math.isfinite(ends[0] + ends[1]) else None


def _ends(pair: Pair, kind: Kind, ranges: tuple[Interval, Interval], effort: int) -> _Ends:
    """Certain and reached range, of scaled columns; `ranges` are those of the divisor and of tau (objectives)."""
    start = _centres(pair)
    objectives = [Objective(kind, s, *ranges) for s in (1.0, -1.0)]
    if max(pair.x.scaled_mean.width, pair.y.scaled_mean.width) <= _POINT:
        value = objectives[0].value(start)
        return _simple(pair.x, pair.y) / ranges[0], Interval(value, value)
    found = [climb(pair, each, start) for each in objectives]
    tolerance = _NEAR * (found[0].value + found[1].value)
    planes = max((effort - _CLIMBING) // 2, 1)
    above, below = (bound(pair, o, f, tolerance, planes) for o, f in zip(objectives, found, strict=True))
    return Interval(-below.certain, above.certain), Interval(-below.reached, above.reached)


def _centres(pair: Pair) -> Moments:
    """Moments of the boxes' centres."""
    x, y = 0.5 * (pair.x.lower + pair.x.upper), 0.5 * (pair.y.lower + pair.y.upper)
    share = pair.x.mass.of_box / pair.x.mass.middle
    mean_x, mean_y = float(share @ x), float(share @ y)
    u, v = x - mean_x, y - mean_y
    return Moments(mean_x, mean_y, float(share @ (u * u)), float(share @ (v * v)), float(share @ (u * v)))


def _simple(x: BoxColumn, y: BoxColumn) -> Interval:
    """Certain bounds of the covariance, scaled, from mu and nu at the centre of the means' rectangle."""
    mu = 0.5 * (x.scaled_mean.lower + x.scaled_mean.upper)
    nu = 0.5 * (y.scaled_mean.lower + y.scaled_mean.upper)
    corners = [(px - mu) * (py - nu) for px in (x.lower, x.upper) for py in (y.lower, y.upper)]
    upper = x.mass.mean(np.maximum.reduce([_rounded(c, np.inf) for c in corners])).upper
    lower = x.mass.mean(np.minimum.reduce([_rounded(c, -np.inf) for c in corners])).lower
    product = (x.scaled_mean - Interval(mu, mu)) * (y.scaled_mean - Interval(nu, nu))
    return Interval(down(lower - product.upper), up(upper - product.lower))


def _rounded(product: FloatArray, towards: float) -> FloatArray:
    """Bounds of products of two rounded differences: each is within 4 u of the exact one."""
    margin = np.copysign(8.0 * UNIT_ROUNDOFF * np.abs(product), towards)
    return np.asarray(np.nextafter(product + margin, towards))
