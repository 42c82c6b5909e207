"""Certain bounds of covariance and correlation.

Notation
--------
x, y : two columns of the boxes (ranges.column), shifted and scaled.
mu, nu : any two numbers.  E_x, E_y : the means, in [L_x, U_x], [L_y, U_y].

(1/N) sum (x - mu)(y - nu) = C + (E_x - mu)(E_y - nu), so
C <= (1/N) sum_b c_b max over the box's corners of (x - mu)(y - nu)
     + max of -(E_x - mu)(E_y - nu) over the means' rectangle,
for every mu, nu; here they are the rectangle's centre.
"""

import numpy as np

from workers.algorithms.boxes.ranges.column import BoxColumn
from workers.algorithms.core.rounding import UNIT_ROUNDOFF, Interval, dot, down, up
from workers.algorithms.core.types import FloatArray


def covariance_outer(x: BoxColumn, y: BoxColumn) -> Interval:
    """Certain bounds of the covariance, in the product of the columns' units.

    Parameters
    ----------
    x, y : two columns of the same boxes.

    Returns
    -------
    Interval

    Notes
    -----
    science.md section 1, guaranteed ranges; within |C| <= sigma_x sigma_y. O(B).
    """
    mu = 0.5 * (x.scaled_mean.lower + x.scaled_mean.upper)
    nu = 0.5 * (y.scaled_mean.lower + y.scaled_mean.upper)
    corners = [(px - mu) * (py - nu) for px in (x.lower, x.upper) for py in (y.lower, y.upper)]
    upper = dot(x.counts, np.maximum.reduce([_rounded(c, np.inf) for c in corners])).upper / x.records
    lower = dot(x.counts, np.minimum.reduce([_rounded(c, -np.inf) for c in corners])).lower / x.records
    point_x, point_y = Interval(mu, mu), Interval(nu, nu)
    product = (x.scaled_mean - point_x) * (y.scaled_mean - point_y)
    bounds = Interval(down(down(lower) - product.upper), up(up(upper) - product.lower))
    bounds = bounds.scaled(x.exponent + y.exponent)
    largest = (_deviation(x) * _deviation(y)).upper
    return bounds.intersect(Interval(-largest, largest))


def correlation_outer(x: BoxColumn, y: BoxColumn) -> Interval:
    """Certain bounds of the correlation from those of its parts; [-1, 1] where a variance may be 0."""
    whole = Interval(-1.0, 1.0)
    product = _deviation(x) * _deviation(y)
    if not product.lower > 0.0:
        return whole
    return (covariance_outer(x, y) / product).intersect(whole)


def _deviation(column: BoxColumn) -> Interval:
    outer = column.variance.outer
    if outer is None:
        msg = "the variance always has a certain range"
        raise TypeError(msg)
    return outer.square_root()


def _rounded(product: FloatArray, towards: float) -> FloatArray:
    """Bounds of products of two rounded differences: each is within 4 u of the exact one."""
    margin = np.copysign(8.0 * UNIT_ROUNDOFF * np.abs(product), towards)
    return np.asarray(np.nextafter(product + margin, towards))
