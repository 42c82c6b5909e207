"""Columns whose boxes have intervals for the mean of their records: mean, variance, and what pairs may do within boxes.

Notation
--------
m, M, w : bounds of a box of c records and its width; mu : their mean, within [mu_lo, mu_hi] as published (the box
itself
    where nothing is).
s = c (mu - m), between s_lo and s_hi;  q = floor(s / w), r = s - q w.
A, B, D : sums over a box of (x - mu_x)^2, (y - mu_y)^2 and (x - mu_x)(y - mu_y), over c.

Given s, sum (x - m)^2 is at most q w^2 + r^2, with q records at M, one at m + r, the others at m (sharp; science.md
section 5, "Means inside boxes"). It is convex in s between multiples of w and falls below the chord, so its largest
value less something linear is at s_lo, s_hi or a multiple of w between them. Likewise sum (x - m_x)(y - m_y) is at most
    C(s_x, s_y) = min(q_x, q_y) w_x w_y + (r_x w_y if q_x < q_y, w_x r_y if q_x > q_y, else r_x r_y),
bilinear between multiples, so D has its extremes at those points; its least value is that of (x, -y).
Variance: max_x V <= min_mu of the largest mean of (x - mu)^2, the least is that of the means alone. Pairs: the mean of
a form of (x, y) is that of the boxes' means plus that of A, B, D, which planes take at their largest (ranges.forms):
an outer relaxation, since the extremes of A, B, D need not go with the same means. The rectangle of a box's means is
therefore divided, and both are taken at their largest in each part: the largest of these is no less than any mean with
its own A, B, D.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, difference, down, up
from surebox_core.types import FloatArray
from surebox_verify.ranges.column import BoxColumn, box_column, least_variance, mean_of
from surebox_verify.ranges.forms import ContentBounds, Pair, Within, pair_of
from surebox_verify.ranges.guaranteed import combine
from surebox_verify.ranges.mass import Mass

_MARGIN = 64.0 * UNIT_ROUNDOFF
_SEARCH = 60  # thirds of the interval of mu
_PARTS = 3  # of the interval of a mean: nine of a pair of them
_NARROW = 0.02  # of the boxes: means that are known almost exactly are not parted
_MULTIPLES = 4  # of the width between s_lo and s_hi, of which all are tried


@dataclass(frozen=True)
class ContentColumn:
    """A column of boxes with means.

    Attributes
    ----------
    column : its bounds are those of the means, scaled; its mean and variance those of the records.
    low, width : (B,), m and w, scaled.
    first, last : (B,), s_lo and s_hi, scaled.
    counts : (B,), c.
    """

    column: BoxColumn
    low: FloatArray
    width: FloatArray
    first: FloatArray
    last: FloatArray
    counts: FloatArray


def content_column(
    lower: FloatArray,
    upper: FloatArray,
    means: tuple[FloatArray, FloatArray],
    counts: FloatArray,
    weights: FloatArray | None = None,
) -> ContentColumn:
    """Prepare one column.

    Parameters
    ----------
    lower, upper : (B,), bounds.
    means : ends of the interval of each box's mean, NaN where there is none.
    counts, weights : as in ranges.column.

    Notes
    -----
    O(B), for each of some 60 values of mu.
    """
    whole = box_column(lower, upper, counts, weights)
    mean_low = np.where(np.isnan(means[0]), lower, np.maximum(means[0], lower))
    mean_high = np.where(np.isnan(means[1]), upper, np.minimum(means[1], upper))
    low = np.maximum(np.ldexp(difference(mean_low, whole.reference, -np.inf), -whole.exponent), whole.lower)
    high = np.minimum(np.ldexp(difference(mean_high, whole.reference, np.inf), -whole.exponent), whole.upper)
    width = whole.upper - whole.lower
    first, last = _sums(low, high, whole.lower, width, counts)
    mean = mean_of(mean_low, mean_high, whole.mass)
    least = least_variance(low, high, whole.mass)[0]
    most = _largest_variance(whole, width, first, last, counts)
    outer = Interval(max(least, 0.0), most).scaled(2 * whole.exponent)
    column = replace(
        whole,
        lower=low,
        upper=high,
        scaled_mean=mean_of(low, high, whole.mass),
        mean=combine(mean, mean),
        variance=combine(outer.intersect(_outer(whole)), None),
    )
    return ContentColumn(column, whole.lower, width, first, last, counts)


def _outer(whole: BoxColumn) -> Interval:
    """What the bounds alone state about the variance."""
    outer = whole.variance.outer
    return Interval(0.0, np.inf) if outer is None else outer


def _sums(
    mean_low: FloatArray, mean_high: FloatArray, low: FloatArray, width: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """s_lo and s_hi of means, roundings included."""
    first = np.clip(counts * (mean_low - low) * (1.0 - _MARGIN) - _MARGIN, 0.0, counts * width)
    last = np.clip(counts * (mean_high - low) * (1.0 + _MARGIN) + _MARGIN, 0.0, counts * width)
    return first, last


def content_pair(x: ContentColumn, y: ContentColumn) -> Pair:
    """Two columns of the same boxes, with what A, B and D may be, in each part of the means' rectangles. O(B)."""
    pair = pair_of(x.column, y.column)
    parts = tuple(
        ContentBounds((one.column.lower, one.column.upper, two.column.lower, two.column.upper), _within(one, two, a, b))
        for one, a in [(each, _most_spread(each)) for each in _parted(x)]
        for two, b in [(each, _most_spread(each)) for each in _parted(y)]
    )
    each = [part.within for part in parts]
    within = Within(
        np.maximum.reduce([one.xx for one in each]),
        np.maximum.reduce([one.yy for one in each]),
        np.minimum.reduce([one.least for one in each]),
        np.maximum.reduce([one.most for one in each]),
    )
    mass, (xy, xx, yy, of_x, of_y) = x.column.mass.of_box, pair.sizes
    xy += float(mass @ np.maximum(within.most, -within.least))
    sizes = (xy, xx + float(mass @ within.xx), yy + float(mass @ within.yy), of_x, of_y)
    return replace(pair, sizes=sizes, within=within, parts=parts)


def _parted(column: ContentColumn) -> list[ContentColumn]:
    """The column with its means in one part of their intervals after the other."""
    low, high, mass = column.column.lower, column.column.upper, column.column.mass.of_box
    parts = _PARTS if float(mass @ (high - low)) > _NARROW * float(mass @ column.width) else 1
    ends = [low, *(np.clip(low + (high - low) * (i / parts), low, high) for i in range(1, parts)), high]
    columns = []
    for one, other in pairwise(ends):
        first, last = _sums(one, other, column.low, column.width, column.counts)
        columns.append(replace(column, column=replace(column.column, lower=one, upper=other), first=first, last=last))
    return columns


def _within(x: ContentColumn, y: ContentColumn, a: FloatArray, b: FloatArray) -> Within:
    """The extremes of A, B and D, those of A and B given."""
    limit = np.sqrt(a * b) * (1.0 + _MARGIN)
    mirrored = replace(y, first=y.counts * y.width - y.last, last=y.counts * y.width - y.first)
    most = np.minimum(_most_together(x, y), limit)
    least = -np.minimum(_most_together(x, mirrored), limit)
    return Within(a, b, np.minimum(least, 0.0), np.maximum(most, 0.0))


def _points(column: ContentColumn) -> list[FloatArray]:
    """s_lo, s_hi, and multiples of the width between them: all, or the first and last and those about the middle."""
    width = np.where(column.width > 0.0, column.width, 1.0)
    start, end = np.ceil(column.first / width), np.floor(column.last / width)
    most = int(np.max(end - start, initial=-1.0)) + 1
    among = [(start + i) * width for i in range(min(most, _MULTIPLES))]
    if most > _MULTIPLES:
        among += [end * width]
        among += [half * width for half in (np.floor(0.5 * column.counts), np.ceil(0.5 * column.counts))]
    return [column.first, column.last, *(np.clip(s, column.first, column.last) for s in among)]


def _parts(s: FloatArray, width: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Q and r."""
    q = np.floor(s / np.where(width > 0.0, width, 1.0))
    return q, np.clip(s - q * width, 0.0, width)


def _most_spread(column: ContentColumn) -> FloatArray:
    """Largest A of each box."""
    largest = np.zeros_like(column.width)
    for s in _points(column):
        q, r = _parts(s, column.width)
        largest = np.maximum(largest, (q * column.width**2 + r**2) / column.counts - (s / column.counts) ** 2)
    return largest * (1.0 + _MARGIN) + _MARGIN * column.width**2


def _most_together(x: ContentColumn, y: ContentColumn) -> FloatArray:
    """Largest D of each box; without a bound of its own where many multiples of a width are possible."""
    largest = np.full_like(x.width, -np.inf)
    for sx in _points(x):
        qx, rx = _parts(sx, x.width)
        for sy in _points(y):
            qy, ry = _parts(sy, y.width)
            rest = np.where(qx < qy, rx * y.width, np.where(qx > qy, x.width * ry, rx * ry))
            together = np.minimum(qx, qy) * x.width * y.width + rest
            largest = np.maximum(largest, together / x.counts - sx * sy / x.counts**2)
    largest = largest + _MARGIN * x.width * y.width
    many = ((x.last - x.first) > (_MULTIPLES - 1) * x.width) | ((y.last - y.first) > (_MULTIPLES - 1) * y.width)
    return np.where(many, np.inf, largest)


def _largest_variance(
    whole: BoxColumn, width: FloatArray, first: FloatArray, last: FloatArray, counts: FloatArray
) -> float:
    """Certain upper bound of V: any mu gives one, the mean of (x - mu)^2 at its largest is convex in mu."""
    mass, low = whole.mass, whole.lower
    safe = np.where(width > 0.0, width, 1.0)
    points = (
        first,
        last,
        np.clip(np.ceil(first / safe) * width, first, last),
        np.clip(np.floor(last / safe) * width, first, last),
    )
    squares = []
    for s in points:
        q, r = _parts(s, width)
        squares.append((s, q * width**2 + r**2))

    def at(mu: float) -> FloatArray:
        rise = mu - low
        each = [(square - 2.0 * rise * s) / counts + rise * rise for s, square in squares]
        return np.asarray(np.maximum.reduce(each))

    left, right = whole.scaled_mean.lower, whole.scaled_mean.upper
    for _ in range(_SEARCH):
        one, two = left + (right - left) / 3.0, right - (right - left) / 3.0
        if float(mass.of_box @ at(one)) < float(mass.of_box @ at(two)):
            right = two
        else:
            left = one
    return _certain(mass, at(0.5 * (left + right)))


def _certain(mass: Mass, values: FloatArray) -> float:
    """Upper bound of a mean of values that rounding leaves off by a little."""
    return up(up(mass.mean(np.maximum(values, 0.0)).upper * (1.0 + _MARGIN)) + down(_MARGIN))
