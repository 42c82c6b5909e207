"""What a release says of each statistic: estimate, linear range, guaranteed range.

Notation
--------
f : N / (N - ddof), N the published records; what turns variances and covariances into the sample form (ddof 1).
C~ : a statistic at the box centres (XF slide 5), the published estimate, clipped into the guaranteed range.
D_i(b) : (B, n), half-widths of the boxes as published.
b_i^c : derivatives, as in core.influence.
Delta_c : (1/N) sum_p sum_i |b_i^c(x_p)| D_i(p), linear uncertainty, here with the derivatives at box centres.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from surebox_verify.boxes import PublishedBoxes
from surebox_verify.core.influence import Influences, half_width_sums, influences
from surebox_verify.core.intervals import Interval
from surebox_verify.core.moments import inflation, moments
from surebox_verify.core.statistics import Kind, Statistic, undefined_because
from surebox_verify.core.types import FloatArray
from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.guaranteed import Range, combine
from surebox_verify.ranges.pairs import EFFORT, correlation_work, covariance_work
from surebox_verify.ranges.regression import regression_work
from surebox_verify.ranges.steps import RangeSteps, Work

_WORK = 100_000_000  # boxes visited per range, about 0.2 s; a pass costs _PASS besides
_ALL_WORK = 12_000_000_000
_PASS = 60_000
_ENOUGH = 256  # passes after which gaps of ten million boxes are below 0.2 %
_MANY = 100  # ranges of two columns, up to which each has so many
_LEAST_EFFORT = 16


@dataclass(frozen=True)
class Estimate:
    """One number of a statistic as the boxes give it.

    Attributes
    ----------
    estimate : C~, None where the box centres leave it undefined.
    linear : C~ - Delta to C~ + Delta, None likewise.
    guaranteed : certain to contain the records' value; None where nothing could be proven.
    inner : reached at both ends by some data consistent with the boxes, or None.
    gap, exact : relative width between the two; below 1e-9.
    """

    estimate: float | None
    linear: Interval | None
    guaranteed: Interval | None
    inner: Interval | None
    gap: float | None
    exact: bool


def ranges(
    statistic: Statistic, columns: Sequence[BoxColumn | None], effort: int = EFFORT, ddof: int = 0
) -> tuple[Range, ...]:
    """Guaranteed ranges of a statistic's components.

    Parameters
    ----------
    statistic : what is asked.
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
    used = columns_of(statistic, columns)
    return RangeSteps(_work(statistic.kind, used, effort, ddof), len(used) * len(used[0].lower))


def _work(kind: Kind, used: tuple[BoxColumn, ...], effort: int, ddof: int) -> Work:
    """Guaranteed ranges; yields passes over the boxes as they are made."""
    first = used[0]
    if kind == "regression":
        return (yield from regression_work(used, effort))
    if kind == "correlation":
        return (yield from correlation_work(first, used[1], effort))
    if kind == "mean":
        return (first.mean,)
    records = int(first.mass.of_box.sum())
    if kind == "covariance":
        (found,) = yield from covariance_work(first, used[1], effort)
        return (sample_form(found, records, ddof),)
    variance = sample_form(first.variance, records, ddof)
    if kind == "variance":
        return (variance,)
    outer, inner = variance.outer, variance.inner
    return (combine(outer and outer.square_root(), inner and inner.square_root()),)


def columns_of(statistic: Statistic, columns: Sequence[BoxColumn | None]) -> tuple[BoxColumn, ...]:
    """A statistic's columns, which are all prepared."""
    return tuple(column for i in statistic.of if (column := columns[i]) is not None)


def sample_form(found: Range, records: int, ddof: int) -> Range:
    """Range of the sample form from that of the population form: f times as large, rounded outward.

    Parameters
    ----------
    found : of a variance or covariance.
    records : N; without a range where it does not exceed `ddof`.
    ddof : 0 leaves the range as it is.

    Notes
    -----
    What was certainly not negative stays so.
    """
    if ddof == 0:
        return found
    if records <= ddof:
        return Range(None, None, None)
    whole, rest = float(records), float(records - ddof)
    f = Interval(whole, whole) / Interval(rest, rest)

    def times(part: Interval | None) -> Interval | None:
        if part is None:
            return None
        product = part * f
        return Interval(max(product.lower, 0.0) if part.lower >= 0.0 else product.lower, product.upper)

    return combine(times(found.outer), times(found.inner))


def affordable(statistic: Statistic, statistics: Sequence[Statistic], boxes: int) -> int:
    """Passes over the boxes that a range of two or more columns may cost, so that all of them finish in time.

    Parameters
    ----------
    statistic : whose range.
    statistics : all that are asked.
    boxes : B.

    Notes
    -----
    A function of what is asked and of the number of boxes: whoever recomputes the ranges has the same passes. Pairs of
    columns have what narrow ranges of any number of boxes take, unless very many are asked; a regression makes many
    times as many passes (ranges.regression) and gets by with less.
    """
    sharing = max(sum(each.kind in ("covariance", "correlation", "regression") for each in statistics), 1)
    work = min(_WORK, _ALL_WORK // sharing)
    least = (
        _LEAST_EFFORT if statistic.kind == "regression" else max(_ENOUGH * _MANY // max(sharing, _MANY), _LEAST_EFFORT)
    )
    return min(max(work // (boxes + _PASS), least), EFFORT)


def estimates(
    statistic: Statistic,
    boxes: PublishedBoxes,
    found: tuple[Range, ...],
    weights: FloatArray | None = None,
    ddof: int = 0,
) -> tuple[Estimate, ...]:
    """Published numbers of a statistic, from the boxes, counts and weights alone.

    Parameters
    ----------
    statistic : what is asked.
    boxes : bounds and counts.
    found : its guaranteed ranges.
    weights : (B,), of each record of a box; None for equal ones.
    ddof : as for `found`.
    """
    of = list(statistic.of)
    part = PublishedBoxes(boxes.lower[:, of], boxes.upper[:, of], boxes.counts)
    local = Statistic(statistic.kind, tuple(range(len(of))), 1.0)
    counts = boxes.counts.astype(np.float64)
    centres = moments(part.centre, counts if weights is None else counts * weights)
    centres = replace(centres, inflation=inflation(int(boxes.counts.sum()), ddof))
    if undefined_because(local, centres) is not None:
        return tuple(Estimate(None, None, r.outer, r.inner, r.gap, r.exact) for r in found)
    field = influences([local], centres)
    return tuple(
        Estimate(
            estimate=r.outer.clip(value) if r.outer else value,
            linear=Interval(value - delta, value + delta),
            guaranteed=r.outer,
            inner=r.inner,
            gap=r.gap,
            exact=r.exact,
        )
        for r, value, delta in zip(
            found, field.values.tolist(), published_delta(field, part, weights).tolist(), strict=True
        )
    )


def published_delta(field: Influences, boxes: PublishedBoxes, weights: FloatArray | None = None) -> FloatArray:
    """Delta_c with the derivatives at box centres: a function of what is published.

    Parameters
    ----------
    field : derivatives at the moments *of the box centres*.
    boxes : bounds and counts.
    weights : (B,), of each record of a box; None for equal ones.

    Returns
    -------
    (components,) float64
    """
    numbers = np.arange(len(boxes.counts), dtype=np.int32)
    mass = boxes.counts if weights is None else boxes.counts * weights
    return half_width_sums(field, boxes.centre, numbers, boxes.half_width, mass / mass.sum())
