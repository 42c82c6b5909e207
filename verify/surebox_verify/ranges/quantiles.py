"""Guaranteed ranges of quantiles and of the distribution function.

Notation
--------
p : in (0, 1).  W : sum of the records' weights, N where not weighted.
quantile : the least value x with F(x) >= p, F the share (by weight) of the records at or below x. It is some record's
    value, whole where values are whole.
lo_b, hi_b, c_b : (B,), bounds and records of box b.

A quantile is monotone in every value, so its range is from the quantile of the lower bounds to that of the upper ones;
with attained ends (tight boxes) one record of each box is at its other end. Both ends are reached. (science.md
section 5, "Shares, cells, means within a set, quantiles".)
"""

import math
from fractions import Fraction

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval
from surebox_core.types import FloatArray
from surebox_verify.ranges.guaranteed import Range, combine
from surebox_verify.ranges.mass import Mass
from surebox_verify.ranges.members import members_below
from surebox_verify.ranges.shares import share_range


def quantile_range(
    lower: FloatArray, upper: FloatArray, counts: FloatArray, mass: Mass, p: float, *, attained: bool
) -> Range:
    """Range of a quantile: exact, but for weights that rounding leaves in doubt.

    Parameters
    ----------
    lower, upper : (B,), bounds.
    counts, mass : of the boxes.
    p : in (0, 1); what its shortest decimal form states, so that 0.1 of 10 records is the first.
    attained : whether both ends are some record's.

    Notes
    -----
    O(B log B).
    """
    if mass.ends is not None:
        return _of_intervals(lower, upper, counts, mass.ends, p)
    low = _with_one_at(upper, lower, counts, mass.of_record, attained=attained)
    high = _with_one_at(lower, upper, counts, mass.of_record, attained=attained)
    if mass.slack == 0.0:
        rank = max(math.ceil(Fraction(repr(float(p))) * int(counts.sum())), 1)
        quantile = Interval(_of_rank(low[0], low[1], rank), _of_rank(high[0], high[1], rank))
        return combine(quantile, quantile)
    play = 8.0 * (len(low[0]) + 4) * UNIT_ROUNDOFF
    outer = Interval(_of_mass(*low, p, -play), _of_mass(*high, p, play))
    return combine(outer, Interval(_of_mass(*low, p, 0.0), _of_mass(*high, p, 0.0)))


def _of_intervals(
    lower: FloatArray, upper: FloatArray, counts: FloatArray, ends: tuple[FloatArray, FloatArray], p: float
) -> Range:
    """A quantile is least where the records at or below it weigh most and all else least, and the reverse."""
    play = 8.0 * (len(lower) + 4) * UNIT_ROUNDOFF
    low = _crossed(lower, counts * ends[1], counts * ends[0], p - play)
    high = _crossed(upper, counts * ends[0], counts * ends[1], p + play)
    quantile = Interval(low, high)
    return combine(quantile, quantile)


def _crossed(values: FloatArray, below: FloatArray, above: FloatArray, p: float) -> float:
    """The least value such that those up to it weigh the share p of these and of the rest."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    up_to = np.cumsum(below[order])
    beyond = np.concatenate([np.cumsum(above[order][::-1])[::-1][1:], [0.0]])
    last = np.searchsorted(ordered, ordered, side="right") - 1  # equal values are below together
    reached = up_to[last] >= p * (up_to[last] + beyond[last])
    return float(ordered[np.argmax(reached)]) if reached.any() else float(ordered[-1])


def distribution_range(
    lower: FloatArray, upper: FloatArray, counts: FloatArray, mass: Mass, value: float, *, attained: bool
) -> Range:
    """Range of the share of records at or below a value, F(value): exact. O(B)."""
    return share_range(members_below(lower, upper, value, counts, attained=attained), mass)


def _with_one_at(
    other: FloatArray, ends: FloatArray, counts: FloatArray, weights: FloatArray, *, attained: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values, their numbers and weights, in rising order: all records at `ends`, or all but one of each box."""
    one = ((counts > 1.0) & attained).astype(np.float64)
    values, number = np.concatenate([ends, other]), np.concatenate([counts - one, one])
    order = np.argsort(values, kind="stable")
    return values[order], number[order], np.concatenate([weights, weights])[order]


def _of_rank(values: FloatArray, number: FloatArray, rank: int) -> float:
    return float(values[np.searchsorted(np.cumsum(number), rank)])


def _of_mass(values: FloatArray, number: FloatArray, weights: FloatArray, p: float, play: float) -> float:
    mass = np.cumsum(number * weights)
    place = int(np.searchsorted(mass, (p + play) * mass[-1]))
    return float(values[min(place, len(values) - 1)])
