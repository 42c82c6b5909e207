"""Mean and variance of a column where of each box's weight an interval is known.

Notation
--------
P_b : any probability on the bounds of box b; p_b : its share, m_b / W, of masses within their intervals (ranges.mass).
The law of all records is sum_b p_b P_b. These laws are a convex set: a mixture of two of them is one of them.
V = min_mu E (x - mu)^2, linear in the law and convex in mu.

Upper end: max_law min_mu = min_mu max_law E (x - mu)^2 = min_mu of the largest mean of max((lo - mu)^2, (hi - mu)^2):
exact, and convex in mu. Lower end: min_mu h(mu), h(mu) the least mean of the squared distances d_b of mu from boxes.
For given masses E d^2 is convex in mu, so on [mu - r, mu + r] it is no less than its tangent d^2 + 2 (mu - clip(mu)) t,
|t| <= r: linear in t, so the least of its least means at t = -r and t = r is certain for the interval. Intervals are
halved where that is least, for h itself need not be convex. The reached range is reached with the weights in the middle
of their intervals, by whole records.
"""

from dataclasses import replace

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, down, up
from surebox_core.types import FloatArray
from surebox_verify.ranges.column import BoxColumn, mean_of
from surebox_verify.ranges.guaranteed import combine
from surebox_verify.ranges.mass import Mass

_MARGIN = 16.0 * UNIT_ROUNDOFF
_SEARCH = 60  # thirds of the interval of mu
_HALVINGS = 120
_NEAR = 1e-9


def with_masses(column: BoxColumn, lower: FloatArray, upper: FloatArray, mass: Mass) -> BoxColumn:
    """The column with the certain range of it for all masses; the reached range stays what it is.

    Parameters
    ----------
    column : prepared with the weights in the middle of their intervals, bounds that are not taken as attained.
    lower, upper : (B,), its bounds.
    mass : with the intervals.

    Notes
    -----
    science.md section 5, "Weights of a survey". O(B log B) for each of some 200 values of mu.
    """
    mean = mean_of(lower, upper, mass)
    least = _least_variance(column.lower, column.upper, mass)
    most = _largest_variance(column.lower, column.upper, mass)
    outer = Interval(max(least, 0.0), max(most, 0.0)).scaled(2 * column.exponent)
    return replace(
        column,
        mass=mass,
        scaled_mean=mean_of(column.lower, column.upper, mass),
        mean=combine(mean, mean),
        variance=combine(outer, column.variance.inner),
    )


def _largest_variance(lower: FloatArray, upper: FloatArray, mass: Mass) -> float:
    """Certain upper bound of V: any mu gives one."""

    def at(mu: float) -> float:
        far = np.maximum(np.abs(lower - mu), np.abs(upper - mu))
        return mass.mean(far * far).upper

    left, right = float(lower.min()), float(upper.max())
    for _ in range(_SEARCH):
        one, two = left + (right - left) / 3.0, right - (right - left) / 3.0
        if at(one) < at(two):
            right = two
        else:
            left = one
    return up(at(0.5 * (left + right)) * (1.0 + _MARGIN))


def _least_variance(lower: FloatArray, upper: FloatArray, mass: Mass) -> float:
    """Certain lower bound of V, by halving."""

    def bound(middle: float, reach: float) -> float:
        rise = middle - np.clip(middle, lower, upper)
        square = rise * rise
        error = _MARGIN * (square + 2.0 * reach * np.abs(rise))
        return down(min(mass.mean(square + 2.0 * t * rise - error).lower for t in (-reach, reach)))

    left, right = float(lower.min()), float(upper.max())
    middle, reach = 0.5 * (left + right), 0.5 * (right - left) * (1.0 + _MARGIN) + _MARGIN
    cells = [(bound(middle, reach), middle, reach)]
    reached = np.inf
    for _ in range(_HALVINGS):
        cells.sort()
        lowest, middle, reach = cells[0]
        distance = middle - np.clip(middle, lower, upper)
        reached = min(reached, mass.mean(distance * distance).lower)
        if reached - max(lowest, 0.0) <= _NEAR * reached:
            break
        half = 0.5 * reach * (1.0 + _MARGIN)
        cells[:1] = [(max(bound(each, half), lowest), each, half) for each in (middle - half, middle + half)]
        cells = [each for each in cells if each[0] <= reached] or cells[:1]
    return min(each[0] for each in cells)
