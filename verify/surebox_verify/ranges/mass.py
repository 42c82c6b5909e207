"""What each box counts for: its records, each with the box's weight.

Notation
--------
c_b : (B,), records in box b.  w_b : (B,), weight of each of them, 1 where not weighted.
m_b = c_b w_b : mass.  W : sum of masses, N where not weighted. A weighted mean is (1/W) sum_b m_b x_b.
l_b, u_b : (B,), ends of the interval that contains w_b, where a release of a survey publishes no more of it; w_b is the
    middle then.

Of masses in intervals the largest mean is linear-fractional in each: m_b is c_b u_b where x_b is above it, else
c_b l_b. One sort by x finds it, and for any theta  mean <= theta + max_m (sum m (x - theta)) / sum c l,  whatever
rounding did to theta (as in ranges.domains).
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, difference, dot, down, up
from surebox_core.types import FloatArray


@dataclass(frozen=True)
class Mass:
    """Masses of the boxes.

    Attributes
    ----------
    of_box : (B,), m_b, rounded.
    of_record : (B,), w_b.
    total : certain bounds of W.
    slack : largest relative rounding error of a mass; 0 for counts.
    ends : (B,) each, l_b and u_b; None where weights are known.
    counts : (B,), c_b.
    """

    of_box: FloatArray
    of_record: FloatArray
    total: Interval
    slack: float
    counts: FloatArray
    ends: tuple[FloatArray, FloatArray] | None = None

    @property
    def middle(self) -> float:
        """W, rounded."""
        return 0.5 * self.total.lower + 0.5 * self.total.upper

    def mean(self, values: FloatArray) -> Interval:
        """Certain bounds of the weighted mean of one value per box, (B,) -> interval. O(B), O(B log B) with ends."""
        if self.ends is not None:
            return Interval(-self.largest(-values)[0], self.largest(values)[0])
        weighted_sum = dot(self.of_box, values)
        if self.slack > 0.0:
            error = up(self.slack * up(dot(self.of_box, np.abs(values)).upper))
            weighted_sum = Interval(down(weighted_sum.lower - error), up(weighted_sum.upper + error))
        return weighted_sum / self.total

    def largest(self, values: FloatArray) -> tuple[float, FloatArray]:
        """Certain upper bound of the weighted mean of one value per box, and masses that have it. O(B log B)."""
        if self.ends is None:
            return self.mean(values).upper, self.of_box
        least, most = (self.counts * each for each in self.ends)
        return _largest_mean(values, least, most)


def _largest_mean(values: FloatArray, least: FloatArray, most: FloatArray) -> tuple[float, FloatArray]:
    """Certain upper bound of the mean of values over all masses between `least` and `most`, and those that have it."""
    smallest = down(dot(np.ones_like(least), least).lower * (1.0 - 4.0 * UNIT_ROUNDOFF))
    if not smallest > 0.0:  # perhaps all of the mass is where the value is largest
        return float(values.max()), np.where(values == values.max(), most, least)
    order = np.argsort(-values, kind="stable")
    play, ordered = (most - least)[order], values[order]
    mass = least.sum() + np.concatenate([[0.0], np.cumsum(play)])
    sums = float(least @ values) + np.concatenate([[0.0], np.cumsum(play * ordered)])
    theta = float(np.clip((sums / mass).max(), ordered[-1], ordered[0]))
    rise = difference(values, theta, np.inf)
    chosen = np.where(rise > 0.0, most, least)
    excess = dot(chosen, rise).upper
    excess = up(excess + up(4.0 * UNIT_ROUNDOFF * dot(chosen, np.abs(rise)).upper))
    return min(up(theta + up(max(excess, 0.0) / smallest)), float(ordered[0])), chosen


def mass_of(
    counts: FloatArray, weights: FloatArray | None = None, ends: tuple[FloatArray, FloatArray] | None = None
) -> Mass:
    """Masses from published counts and weights.

    Parameters
    ----------
    counts : (B,) whole numbers, each at least 1, exact in float64.
    weights : (B,), finite, at least 0, of each record of a box; None for 1. Their unit does not matter: a statistic
        is that of the weights divided by their sum over all records.
    ends : (B,) each, of intervals that contain the weights; None where they are known.

    Raises
    ------
    ValueError
        No mass at all, or weights that are no weights.
    """
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    if weights is None:
        records = float(counts.sum())
        return Mass(counts, np.ones_like(counts), Interval(records, records), 0.0, counts)
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and (weights > 0.0).any()):
        msg = "weights must be finite and at least 0, one of them above 0"
        raise ValueError(msg)
    exponent = int(np.frexp(weights.max())[1])
    each = np.ldexp(weights, -exponent)  # a power of two: the shares stay as they are, and nothing over- or underflows
    scaled, total = None, dot(counts, each)
    if ends is not None:
        scaled = np.ldexp(ends[0], -exponent), np.ldexp(ends[1], -exponent)
        total = Interval(dot(counts, scaled[0]).lower, dot(counts, scaled[1]).upper)
    return Mass(counts * each, each, total, 2.0 * UNIT_ROUNDOFF, counts, scaled)
