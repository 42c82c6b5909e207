"""Guaranteed range of the mean of a column within a set of another: the mean of y in A.

Notation
--------
lo_b, hi_b : (B,), bounds of y.  w_b : weight of each record of box b.
least_b, most_b, c_b : (B,), records of the box in A, and in all (ranges.members).
n_b : how many of them are in A; theta : a mean.

The largest mean is (sum w n hi) / (sum w n) over least <= n <= most. It is linear-fractional in each n, so at the
optimum theta  n_b = most_b where hi_b > theta, else least_b: one sort by hi, the ambiguous records in falling order
while they exceed the mean so far. In a box with *attained* ends (tight) one record is at lo: where all c records are
in A the last of them has the value lo, else that record is outside. For any theta
    mean <= theta + max_n (sum w n (hi - theta)) / sum w n,
which is certain whatever rounding did to theta. The least mean is that of -y. (science.md section 5, "Shares, cells,
means within a set, quantiles".)
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, difference, dot, down, up
from surebox_core.types import FloatArray
from surebox_verify.ranges.guaranteed import Range, combine
from surebox_verify.ranges.mass import Mass
from surebox_verify.ranges.members import Members


@dataclass(frozen=True)
class DomainMean:
    """Range of the mean within a set.

    Attributes
    ----------
    range : of the mean, where there is a record in the set at all; without bounds where there is none for certain.
    may_be_empty : whether data consistent with the boxes have no record in the set: the mean is then undefined.
    """

    range: Range
    may_be_empty: bool


@dataclass(frozen=True)
class _Choice:
    """Values that records in the set have: those that are in it for certain, and those that may be."""

    certain: FloatArray
    certain_number: FloatArray
    certain_weight: FloatArray
    extra: FloatArray
    extra_number: FloatArray
    extra_weight: FloatArray


def domain_mean_range(
    lower: FloatArray, upper: FloatArray, members: Members, mass: Mass, *, attained: bool
) -> DomainMean:
    """Range of the mean of y over the records in a set: exact.

    Parameters
    ----------
    lower, upper : (B,), bounds of y.
    members : records of each box in the set.
    mass : of the same boxes.
    attained : whether both bounds of y are some record's (tight boxes), and `members` made so.

    Notes
    -----
    Without a record that is in the set for certain the range is that of any one record. O(B log B).
    """
    some = members.most > 0.0
    if not some.any():
        return DomainMean(Range(None, None, None), may_be_empty=True)
    weights = mass.ends or (mass.of_record, mass.of_record)
    is_empty = not (members.least > 0.0).any()
    if is_empty or not (weights[0][members.least > 0.0] > 0.0).any():  # no weight that is certain: all may be one's
        extremes = Interval(float(lower[some].min()), float(upper[some].max()))
        return DomainMean(combine(extremes, extremes), may_be_empty=is_empty)
    most, reached_most = _largest(_choice(lower, upper, members, weights, attained=attained), mass.slack)
    least, reached_least = _largest(_choice(-upper, -lower, members, weights, attained=attained), mass.slack)
    inner = Interval(*sorted((-reached_least, reached_most)))
    return DomainMean(combine(Interval(-least, most), inner), may_be_empty=False)


def _choice(
    lower: FloatArray,
    upper: FloatArray,
    members: Members,
    weights: tuple[FloatArray, FloatArray],
    *,
    attained: bool,
) -> _Choice:
    """The values at the upper ends; the last of all of a tight box's records at its lower end.

    Weights within an interval are its lower end for certain, and the rest of it perhaps.
    """
    weight, heavy = weights
    least, most, counts = members.least, members.most, members.counts
    last = ((most == counts) & (lower < upper)).astype(np.float64) if attained else np.zeros_like(counts)
    surely_last = last * (least == counts)
    some = least > 0.0
    ends, lasts = surely_last > 0.0, last > surely_last
    more = most - least - (last - surely_last)
    extra = more > 0.0
    if heavy is not weight:
        play = some & (heavy > weight)
        return _Choice(
            upper[some], least[some], weight[some],
            np.concatenate([upper[extra], upper[play]]), np.concatenate([more[extra], least[play]]),
            np.concatenate([heavy[extra], (heavy - weight)[play]]),
        )  # fmt: skip
    return _Choice(
        np.concatenate([upper[some], lower[ends]]),
        np.concatenate([(least - surely_last)[some], np.ones(int(ends.sum()))]),
        np.concatenate([weight[some], weight[ends]]),
        np.concatenate([upper[extra], lower[lasts]]),
        np.concatenate([more[extra], np.ones(int(lasts.sum()))]),
        np.concatenate([weight[extra], weight[lasts]]),
    )


def _largest(choice: _Choice, slack: float) -> tuple[float, float]:
    """Certain upper bound of the mean, and the mean reached; neither is above the largest value."""
    largest = float(np.concatenate([choice.certain, choice.extra]).max())
    order = np.argsort(-choice.extra, kind="stable")
    share = (choice.extra_number * choice.extra_weight)[order]
    base = choice.certain_number * choice.certain_weight
    mass = np.concatenate([[0.0], np.cumsum(share)]) + base.sum()
    sums = np.concatenate([[0.0], np.cumsum(share * choice.extra[order])]) + float(base @ choice.certain)
    theta = min(float((sums / mass).max()), largest)
    above = choice.extra > theta
    values = np.concatenate([choice.certain, choice.extra[above]])
    number = np.concatenate([choice.certain_number, choice.extra_number[above]])
    weight = np.concatenate([choice.certain_weight, choice.extra_weight[above]])
    rise = difference(values, theta, np.inf)
    product = number * weight
    excess = dot(product, rise).upper
    if slack > 0.0:
        excess = up(excess + up(2.0 * (slack + UNIT_ROUNDOFF) * dot(product, np.abs(rise)).upper))
    smallest = dot(choice.certain_number, choice.certain_weight).lower
    return min(up(theta + up(max(excess, 0.0) / down(smallest))), largest), theta
