"""What a release states about each statistic: estimate, first-order range, guaranteed range.

Notation
--------
f : N / (N - ddof), N the published records; what turns variances and covariances into the sample form (ddof 1).
C~ : a statistic at the values that are to be expected in each box (expected; XF slide 5 takes the centres, which is
    poor where boxes are wide), the published estimate, clipped into the guaranteed range.
D_i(b) : (B, n), half-widths of the boxes as published.
b_i^c : derivatives, as in surebox_core.influence.
Delta_c : (1/N) sum_p sum_i |b_i^c(x_p)| D_i(p), linear uncertainty, here with the derivatives at expected values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surebox_core.influence import half_width_sums, influences
from surebox_core.intervals import Interval
from surebox_core.moments import inflation, moments
from surebox_core.statistics import OF_LINES, OF_MOMENTS, Statistic, undefined_because
from surebox_verify.bases import Base
from surebox_verify.counted import Guess, counted_work, guesses, may_be_empty
from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.guaranteed import Range, combine
from surebox_verify.ranges.moment_regression import moment_prediction_work, moment_regression_work
from surebox_verify.ranges.objectives import Kind as PairKind
from surebox_verify.ranges.pairs import EFFORT, content_work, correlation_work, covariance_work
from surebox_verify.ranges.reaching import Bounds, reached
from surebox_verify.ranges.regression import prediction_work, regression_work
from surebox_verify.ranges.sample_form import sample_form
from surebox_verify.ranges.steps import RangeSteps, Work
from surebox_verify.readings import Axis, Reading, Readings
from surebox_verify.reasons import Reason, no_estimate, no_range, with_too_few_values

_WORK = 100_000_000  # boxes visited per range, about 0.2 s; a pass costs _PASS besides
_ALL_WORK = 12_000_000_000
_PASS = 60_000
_ENOUGH = 256  # passes after which gaps of ten million boxes are below 0.2 %
_MANY = 100  # ranges of two columns, up to which each has so many
_LEAST_EFFORT = 16
_PAIRS = ("covariance", "correlation", *OF_LINES)
_KNOWN = 1e-9  # relative width below which a range is one value
_NOTHING = 1e-300  # width of a 0 that was rounded outward


@dataclass(frozen=True)
class Estimate:
    """One number of a statistic as the boxes give it.

    Attributes
    ----------
    estimate : C~, None where the box centres leave it undefined.
    linear : C~ - Delta to C~ + Delta, None likewise.
    guaranteed : certain to contain the records' value; None where nothing could be proven.
    inner : reached at both ends by some data consistent with the boxes, or None.
    gap, exact : relative width between the two; below 1e-9: no narrower range follows, however wide it is.
    domain_may_be_empty : of a mean within a set, whether data consistent with the boxes have no record in it: the
        ranges are about the mean if there is one, and None where no data have. None of other statistics.
    reason : why there is no range or no estimate; None where there are both.
    base : the records that it is about.
    """

    estimate: float | None
    linear: Interval | None
    guaranteed: Interval | None
    inner: Interval | None
    gap: float | None
    exact: bool
    domain_may_be_empty: bool | None = None
    reason: Reason | None = None
    base: Base | None = None

    @property
    def is_known(self) -> bool:
        """Whether the range is one value, rounding aside: then you know the number from the release."""
        return self.guaranteed is not None and is_one_value(self.guaranteed)


def is_one_value(interval: Interval) -> bool:
    """Whether an interval is one number, rounding aside."""
    size = max(abs(interval.lower), abs(interval.upper))
    return bool(interval.upper - interval.lower <= max(_KNOWN * size, _NOTHING))


def ranges(
    statistic: Statistic, columns: Sequence[BoxColumn | None], effort: int = EFFORT, ddof: int = 0
) -> tuple[Range, ...]:
    """Guaranteed ranges of the components of a statistic of moments.

    Parameters
    ----------
    statistic : which one.
    columns : (n,), prepared columns with their weights; at least those of the statistic are not None.
    effort : passes over the boxes that a range of two or more columns may cost, about (see `affordable`).
    ddof : 1 for the sample form, of records without weights.

    Notes
    -----
    science.md section 1, "Guaranteed ranges". Means in closed form; variances in one sort; the rest in closed form
    where columns are exactly known, else by branch and bound outside and ascent inside. `effort` bounds the passes
    whatever the boxes are (ranges.pairs, ranges.regression), and no clock is looked at: a function of its arguments.
    """
    return range_steps(statistic, columns, effort, ddof).finish()


def range_steps(
    statistic: Statistic, columns: Sequence[BoxColumn | None], effort: int = EFFORT, ddof: int = 0
) -> RangeSteps:
    """The ranges of `ranges`, in steps of about 0.2 s."""
    used = tuple(column for i in statistic.of if (column := columns[i]) is not None)
    return RangeSteps(_work(statistic, used, effort, ddof), len(used) * len(used[0].lower))


def reading_steps(statistic: Statistic, readings: Readings, effort: int = EFFORT, ddof: int = 0) -> RangeSteps:
    """Guaranteed ranges of any statistic, of columns of all kinds, in steps of about 0.2 s.

    Parameters
    ----------
    statistic : which one.
    readings : the boxes, with the known facts of their columns.
    effort, ddof : as in `ranges`.

    Notes
    -----
    science.md section 1, "Guaranteed ranges" and section 5, "Shares, cells, means within a set, quantiles". Shares,
    counts, means within a set and quantiles in closed form. The ranges are about the records that have the statistic's
    columns; none where no record has them.
    """
    reading = readings.of(statistic.of)
    values = len(statistic.of) * len(reading.boxes.counts)
    if len(reading.boxes.counts) == 0 or with_too_few_values(statistic, reading):
        return RangeSteps(_nothing(statistic, readings), values)
    if statistic.kind not in OF_MOMENTS:
        return RangeSteps(counted_work(reading, statistic), values)
    return RangeSteps(_prepared(reading, statistic, effort, ddof), values)


def _nothing(statistic: Statistic, readings: Readings) -> Work:
    """No record has the columns, or all have one value of them."""
    yield 1
    return (Range(None, None, None),) * components_of(statistic, readings)


def components_of(statistic: Statistic, readings: Readings) -> int:
    """How many numbers a statistic has."""
    n = readings.boxes.lower.shape[1]
    if statistic.kind == "regression":
        return 1 + sum(1 if c < n else max(readings.size(c) - 1, 0) for c in statistic.of[1:])
    if statistic.kind == "crosstab":
        return readings.size(statistic.of[0]) * readings.size(statistic.of[1])
    if statistic.kind in ("share", "domain_mean") and not statistic.values and statistic.perhaps is None:
        return readings.size(statistic.of[-1])
    return 1


def _prepared(reading: Reading, statistic: Statistic, effort: int, ddof: int) -> Work:
    """Prepare the columns, then the ranges."""
    used = []
    axes = _in_order(reading, statistic)
    for axis in axes:
        used.append(reading.column(axis))
        yield 8
    if statistic.kind not in OF_LINES and any(not np.isnan(reading.means(axis)[0]).all() for axis in axes):
        return (yield from _with_means(reading, statistic, axes, tuple(used), effort, ddof))
    guaranteed = yield from _work(statistic, tuple(used), effort, ddof)
    if not _restricted(reading, statistic) or statistic.kind not in _PAIRS:
        return guaranteed
    if statistic.kind in OF_LINES:  # what it reaches need not be such data
        return tuple(Range(each.outer, None, None) for each in guaranteed)
    first, second = (Bounds(*reading.bounds(axis), reading.lattice(axis)) for axis in axes)
    kind: PairKind = "covariance" if statistic.kind == "covariance" else "correlation"
    inner = yield from reached(kind, first, second, reading.counts, reading.weights, attained=reading.meaning.attained)
    form = ddof if statistic.kind == "covariance" else 0
    of_sample = sample_form(combine(inner, inner), int(reading.counts.sum()), form)
    return (combine(guaranteed[0].outer, of_sample.inner),)


def _in_order(reading: Reading, statistic: Statistic) -> tuple[Axis, ...]:
    """The axes; a pair in an order that follows from its boxes: who computes it again may know it in another."""
    axes = reading.axes(statistic)
    return axes if statistic.kind in OF_LINES else tuple(sorted(axes, key=lambda axis: _bytes(reading, axis)))


def _with_means(
    reading: Reading, statistic: Statistic, axes: tuple[Axis, ...], used: tuple[BoxColumn, ...], effort: int, ddof: int
) -> Work:
    """Ranges of boxes with means: no wider than those of the bounds. Regressions are those of the bounds."""
    if statistic.kind in _PAIRS:
        kind: PairKind = "covariance" if statistic.kind == "covariance" else "correlation"
        contents = [reading.content(axis) for axis in axes]
        yield 256
        (narrow,) = yield from content_work(kind, contents[0], contents[1], effort)
        (wide,) = yield from _work(statistic, used, effort, ddof)
        form = ddof if kind == "covariance" else 0
        return (_meeting(wide, sample_form(narrow, int(reading.counts.sum()), form)),)
    (axis,) = axes
    yield 128
    return (yield from _one_with_means(statistic, reading.content(axis).column, used[0], effort, ddof))


def _bytes(reading: Reading, axis: Axis) -> tuple[bytes, ...]:
    return tuple(np.ascontiguousarray(side).tobytes() for side in (*reading.bounds(axis), *reading.means(axis)))


def _one_with_means(statistic: Statistic, narrow: BoxColumn, plain: BoxColumn, effort: int, ddof: int) -> Work:
    """Mean, variance or standard deviation of a column."""
    mean = _meeting(plain.mean, narrow.mean)
    variance = _meeting(plain.variance, narrow.variance)
    return (yield from _work(statistic, (replace(plain, mean=mean, variance=variance),), effort, ddof))


def _meeting(one: Range, other: Range) -> Range:
    """What both are certain of; what either reaches need not have the other's data."""
    if one.outer is None or other.outer is None:
        return combine(one.outer or other.outer, None)
    return combine(one.outer.intersect(other.outer), None)


def _restricted(reading: Reading, statistic: Statistic) -> bool:
    """Whether data must be on a grid, or at the ends of their boxes."""
    return reading.meaning.attained or any(reading.lattice(axis) is not None for axis in reading.axes(statistic))


def _work(statistic: Statistic, used: tuple[BoxColumn, ...], effort: int, ddof: int) -> Work:
    """Guaranteed ranges; yields passes over the boxes as they are made."""
    kind, first = statistic.kind, used[0]
    if kind == "prediction":
        line = prediction_work if first.mass.ends is None else moment_prediction_work
        return (yield from line(used, statistic.at, effort))
    if kind == "regression":
        work = regression_work if first.mass.ends is None else moment_regression_work
        return (yield from work(used, effort))
    if kind == "correlation":
        return (yield from correlation_work(first, used[1], effort))
    if kind == "mean":
        return (first.mean,)
    records = int(first.mass.counts.sum())
    if kind == "covariance":
        (covariance,) = yield from covariance_work(first, used[1], effort)
        return (sample_form(covariance, records, ddof),)
    variance = sample_form(first.variance, records, ddof)
    if kind == "variance":
        return (variance,)
    outer, inner = variance.outer, variance.inner
    return (combine(outer and outer.square_root(), inner and inner.square_root()),)


def affordable(statistic: Statistic, statistics: Sequence[Statistic], boxes: int) -> int:
    """Passes over the boxes that a range of two or more columns may cost, so that all of them finish in time.

    Parameters
    ----------
    statistic : whose range.
    statistics : all that are requested.
    boxes : B.

    Notes
    -----
    A function of the request and of the number of boxes: whoever recomputes the ranges has the same passes. Pairs of
    columns have what narrow ranges of any number of boxes take, unless very many are requested; a regression makes many
    times as many passes (ranges.regression) and gets by with less.
    """
    sharing = max(sum(each.kind in _PAIRS for each in statistics), 1)
    work = min(_WORK, _ALL_WORK // sharing)
    least = _LEAST_EFFORT if statistic.kind in OF_LINES else max(_ENOUGH * _MANY // max(sharing, _MANY), _LEAST_EFFORT)
    return min(max(work // (boxes + _PASS), least), EFFORT)


def estimates(
    statistic: Statistic, readings: Readings, guaranteed: tuple[Range, ...], ddof: int = 0
) -> tuple[Estimate, ...]:
    """Published numbers of a statistic, from the boxes, counts and weights alone.

    Parameters
    ----------
    statistic : which one.
    readings : the boxes, with their weights.
    guaranteed : its guaranteed ranges.
    ddof : as for `guaranteed`.
    """
    reading = readings.of(statistic.of)
    empty = may_be_empty(reading, statistic) if statistic.kind == "domain_mean" else (None,) * len(guaranteed)
    if len(reading.boxes.counts) == 0 or with_too_few_values(statistic, reading):
        guessed: Sequence[Guess] = [Guess(None, None)] * len(guaranteed)
    elif statistic.kind in OF_MOMENTS:
        guessed = _of_moments(statistic, reading, len(guaranteed), ddof)
    else:
        guessed = guesses(reading, statistic)
    base = readings.base(statistic.of)
    parts = [replace(_estimate(*each), base=base) for each in zip(guaranteed, guessed, empty, strict=True)]
    if all(part.guaranteed is not None and part.estimate is not None for part in parts):
        return tuple(parts)
    without = no_range(statistic, reading) if any(part.guaranteed is None for part in parts) else None
    return tuple(replace(part, reason=_why(part, without, statistic, reading)) for part in parts)


def _why(part: Estimate, without: Reason | None, statistic: Statistic, reading: Reading) -> Reason | None:
    if part.guaranteed is None:
        return without
    return no_estimate(statistic, reading) if part.estimate is None else None


def reason_of(parts: Sequence[Estimate], of: Sequence[str]) -> str | None:
    """Why a statistic has no range or no estimate, in words; of several numbers the first that has none.

    Parameters
    ----------
    parts : its numbers.
    of : names of its columns.
    """
    return next((part.reason.in_words(of) for part in parts if part.reason is not None), None)


def _estimate(r: Range, guess: Guess, empty: bool | None) -> Estimate:
    value, delta = guess.value, guess.delta
    if value is None or delta is None:
        return Estimate(None, None, r.outer, r.inner, r.gap, r.exact, empty)
    inside = r.outer.clip(value) if r.outer else value
    return Estimate(inside, Interval(value - delta, value + delta), r.outer, r.inner, r.gap, r.exact, empty)


def _of_moments(statistic: Statistic, reading: Reading, numbers: int, ddof: int) -> Sequence[Guess]:
    """The statistic at expected values, with what records vary about them within their boxes."""
    sides = [reading.side(axis) for axis in reading.axes(statistic)]
    local = Statistic(statistic.kind, tuple(range(len(sides))), 1.0, at=statistic.at)
    points = np.column_stack([side.expected.mean for side in sides])
    at = moments(points, reading.share)
    if statistic.kind in ("correlation", *OF_LINES) and undefined_because(local, at) is not None:
        return [Guess(None, None)] * numbers  # boxes that all are at one place reveal nothing of it
    within = np.array([float(reading.share @ side.expected.variance) for side in sides])
    wide = within > 0.0
    at = replace(
        at,
        covariance=at.covariance + np.diag(within),
        low=np.where(wide, -np.inf, at.low),
        inflation=inflation(int(reading.boxes.counts.sum()), ddof),
    )
    if undefined_because(local, at) is not None:
        return [Guess(None, None)] * numbers
    field = influences([local], at)
    half = np.column_stack([0.5 * (side.upper - side.lower) for side in sides])
    deltas = half_width_sums(field, points, np.arange(len(points), dtype=np.int32), half, reading.share)
    return [Guess(value, delta) for value, delta in zip(field.values.tolist(), deltas.tolist(), strict=True)]
