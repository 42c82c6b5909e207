"""Guaranteed ranges of covariance and correlation.

Notation
--------
x, y : two columns of the same boxes (ranges.column), shifted and scaled; results are in the columns' own units.
effort : planes (ranges.forms), each one pass over the boxes, that a range may cost.

Where one of the columns, or both, are exactly known the range is that of ranges.known; else ranges.search finds it. A
range takes effort + 64 passes at most, whatever the boxes are.
"""

import math
from collections.abc import Generator

from surebox_core.intervals import Interval
from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.contents import ContentColumn, content_pair
from surebox_verify.ranges.forms import Moments, Pair, pair_of
from surebox_verify.ranges.guaranteed import Ends, Range, combine
from surebox_verify.ranges.known import covariance_of_known, largest_correlation
from surebox_verify.ranges.objectives import Kind, Objective
from surebox_verify.ranges.search import Reached, bound, climb
from surebox_verify.ranges.steps import RangeSteps, Work

EFFORT = 1000
_CLIMBING = 8  # planes of the effort that the two ascents take, about
_NEAR = 5e-4  # of the reached range: what each end may stay outside it
_POINT = 1e-9  # widths of the means, scaled, below which boxes are all but points
_FLAT = 2.0**-30  # of the deviations: covariances that small reveal nothing of a sign
_ROUNDINGS = 2.0**-40  # of a correlation of points
_ONE = Interval(1.0, 1.0)
_ANY = Interval(1e-100, 1e100)
_WHOLE = Interval(-1.0, 1.0)


def covariance_range(x: BoxColumn, y: BoxColumn, effort: int = EFFORT) -> Range:
    """Certain and reached range of the covariance, in the product of the columns' units.

    Parameters
    ----------
    x, y : two columns of the same boxes.
    effort : planes to spend at most, about.

    Notes
    -----
    science.md section 1, "Guaranteed ranges"; within |C| <= sigma_x sigma_y. O(B effort).
    """
    return RangeSteps(covariance_work(x, y, effort), 2 * len(x.lower)).finish()[0]


def covariance_work(x: BoxColumn, y: BoxColumn, effort: int) -> Work:
    """The range of `covariance_range`; yields passes over the boxes as they are made."""
    exponent = x.exponent + y.exponent
    noise = 0.0
    if x.known or y.known or _points(x, y):
        yield 4
        covariance = covariance_of_known(x, y) if x.known else covariance_of_known(y, x)
        outer, inner, noise = covariance.outer, covariance.inner, math.ldexp(covariance.noise, exponent)
    else:
        above, below = yield from _searched(pair_of(x, y), "covariance", (_ONE, _ONE), effort)
        outer, inner = Interval(-below.certain, above.certain), Interval(-below.reached, above.reached)
    largest = (x.deviation.scaled(x.exponent) * y.deviation.scaled(y.exponent)).upper
    outer = outer.scaled(exponent).intersect(Interval(-largest, largest))
    return (combine(outer, inner.scaled(exponent), noise),)


def correlation_range(x: BoxColumn, y: BoxColumn, effort: int = EFFORT) -> Range:
    """Certain and reached range of the correlation; [-1, 1] where a variance may be 0.

    Parameters
    ----------
    x, y : two columns of the same boxes.
    effort : planes to spend at most, about.

    Notes
    -----
    science.md section 1, "Guaranteed ranges". O(B effort).
    """
    return RangeSteps(correlation_work(x, y, effort), 2 * len(x.lower)).finish()[0]


def correlation_work(x: BoxColumn, y: BoxColumn, effort: int) -> Work:
    """The range of `correlation_range`; yields passes over the boxes as they are made."""
    divisor = x.deviation * y.deviation
    if not (x.deviation.lower > 0.0 and divisor.lower > 0.0):
        pair = pair_of(x, y)
        ends = []
        for s in (1.0, -1.0):
            reached = yield from climb(pair, Objective("correlation", s, _ANY, _ANY), _centres(pair))
            ends.append(reached.value)
        return (combine(_WHOLE, Interval(-ends[1], ends[0]) if math.isfinite(sum(ends)) else None),)
    if (x.known and y.known) or _points(x, y):
        yield 4
        points = covariance_of_known(x, y)
        value = Objective("correlation", 1.0, divisor, _ANY).value(_centres(pair_of(x, y)))
        return (combine((points.outer / divisor).intersect(_WHOLE), Interval(value, value), _ROUNDINGS),)
    if y.known:
        x, y = y, x
    ranges = divisor, y.deviation / x.deviation
    above, below = yield from _searched(pair_of(x, y), "correlation", ranges, effort)
    outer = Interval(-below.certain, above.certain).intersect(_WHOLE)
    return (combine(outer, Interval(-below.reached, above.reached)),)


def content_work(kind: Kind, x: ContentColumn, y: ContentColumn, effort: int) -> Work:
    """The range of a covariance or correlation of boxes with means; yields passes over the boxes as they are made.

    Parameters
    ----------
    kind : which.
    x, y : two columns of the same boxes.
    effort : planes to spend at most, about.

    Notes
    -----
    science.md section 5, "Means inside boxes": certain, and no more than outer (ranges.contents). O(B effort).
    """
    one, two = x.column, y.column
    divisor = one.deviation * two.deviation
    largest = divisor.upper
    if kind == "correlation" and not (one.deviation.lower > 0.0 and divisor.lower > 0.0):
        return (combine(_WHOLE, None),)
    ranges = (_ONE, _ONE) if kind == "covariance" else (divisor, two.deviation / one.deviation)
    above, below = yield from _searched(content_pair(x, y), kind, ranges, effort)
    outer = Interval(-below.certain, above.certain)
    if kind == "correlation":
        return (combine(outer.intersect(_WHOLE), None),)
    return (combine(outer.intersect(Interval(-largest, largest)).scaled(one.exponent + two.exponent), None),)


def _points(x: BoxColumn, y: BoxColumn) -> bool:
    return max(x.scaled_mean.width, y.scaled_mean.width) <= _POINT


def _searched(
    pair: Pair, kind: Kind, ranges: tuple[Interval, Interval], effort: int
) -> Generator[int, None, tuple[Ends, Ends]]:
    """Both ends, of scaled columns; `ranges` are those of the divisor and of tau (objectives)."""
    objectives = [Objective(kind, s, *ranges) for s in (1.0, -1.0)]
    highest = yield from climb(pair, objectives[0], _centres(pair))
    lowest = yield from climb(pair, objectives[1], _centres(pair))
    tolerance = _NEAR * (highest.value + lowest.value)
    planes = max((effort - _CLIMBING) // 2, 1)
    above = yield from _end(pair, objectives[0], highest, tolerance, planes)
    below = yield from _end(pair, objectives[1], lowest, tolerance, planes)
    return above, below


def _end(
    pair: Pair, objective: Objective, reached: Reached, tolerance: float, planes: int
) -> Generator[int, None, Ends]:
    """One end: convex where x is known and data with s C > 0 exist, else searched for."""
    least, s = Ends(math.inf, reached.value), objective.s
    if objective.kind == "correlation" and pair.within is None and pair.x.known:
        yield 4
        inner = covariance_of_known(pair.x, pair.y).inner
        if max(s * inner.upper, s * inner.lower) > _FLAT * pair.x.deviation.upper * pair.y.deviation.upper:
            least = yield from largest_correlation(pair.x, pair.y, s)
            if least.certain - least.reached <= tolerance:
                return least
    searched = yield from bound(pair, objective, reached, tolerance, planes)
    return Ends(min(least.certain, searched.certain), max(least.reached, searched.reached))


def _centres(pair: Pair) -> Moments:
    """Moments of the boxes' centres."""
    x, y = pair.x.centre, pair.y.centre
    share = pair.x.mass.of_box / pair.x.mass.middle
    mean_x, mean_y = float(share @ x), float(share @ y)
    u, v = x - mean_x, y - mean_y
    xx, yy = float(share @ (u * u)), float(share @ (v * v))
    if pair.within is not None:
        xx, yy = xx + 0.5 * float(share @ pair.within.xx), yy + 0.5 * float(share @ pair.within.yy)
    return Moments(mean_x, mean_y, xx, yy, float(share @ (u * v)))
