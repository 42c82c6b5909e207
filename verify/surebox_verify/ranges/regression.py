"""Guaranteed ranges of regression coefficients, of the intercept, and of predictions.

Notation
--------
x_k : q predictors, y : target, shifted by r_k, r_y and scaled by 2^-e_k, 2^-e_y (ranges.column).
b, b_0 : coefficients and intercept of the scaled columns; beta, beta_0 in the columns' own units:
    beta_k = 2^(e_y - e_k) b_k,   beta_0 = r_y + 2^e_y t,   t = b_0 - sum_k b_k r_k 2^-e_k : the scaled intercept where
    all x are 0.
x* : (q,), where a prediction is made; beta_0 + sum_k beta_k x*_k = r_y + 2^e_y t*, t* = b_0 - sum_k b_k s_k 2^-e_k with
    s_k = r_k - x*_k. What rounding takes from s_k, e_k, moves the point: beta_k e_k is taken off again.

Predictors that the boxes leave no room are known: t is linear in the target, and so in closed form.
z = (1, x_1 .. x_q), y : regressors, known but for their play (ranges.column), and target; scaled.  E : mean.
beta : (q + 1,), coefficients.  t = g beta : a coefficient, or the intercept where all x are -references.
w = l z + epsilon : (B,), l = g E[z z']^-1 as computed, w as rounded.  R = E[w z'] - g, (q + 1,).

y = beta z + e with E[e z] = 0, so  E[w y] = t + R beta + E[epsilon e]  and
    t = E[w y] - R beta - E[epsilon e],   |E[epsilon e]| <= |epsilon| |y|.
E[w y] is largest with y at its upper end where w > 0 and at its lower end elsewhere: exact. R and epsilon are roundings
and play; with what R is for the beta themselves, |beta| <= (max |E[w y]| + |epsilon| |y|) / (1 - |R|). Nothing of what
rounding did to the inverse is left out.
"""

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, down, up
from surebox_core.types import FloatArray
from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.cones import half_space, steep
from surebox_verify.ranges.guaranteed import Range, certain, combine
from surebox_verify.ranges.pairs import EFFORT
from surebox_verify.ranges.products import Products, products
from surebox_verify.ranges.regression_ascent import MOST, CoefficientEnd, Reached, Seen, climb
from surebox_verify.ranges.regression_search import certain_end
from surebox_verify.ranges.steps import RangeSteps, Work

_PASSES = 40  # of each kind of effort: a regression has many ends, and is requested seldom
# of the reached range: what each end may stay outside it, with one predictor, two, or more
_NEAR = (5e-4, 4e-3, 1.2e-2)
_LARGEST = 1000  # exponent of what is a number: twice as much, as a range's width, is one too
_ERRORS = 16.0 * UNIT_ROUNDOFF  # of a product or a short sum, several times over
_UNDERFLOW = 1e-290
_COLLINEAR = 2.0**-10  # |R| beyond which predictors are taken as collinear
_STEEPEST = 1e14  # condition beyond which they are
_POINT = 2.0**-50  # play that is rounding


def regression_ranges(columns: tuple[BoxColumn, ...], effort: int = EFFORT) -> tuple[Range, ...]:
    """Certain and reached ranges of the intercept and each coefficient, intercept first.

    Parameters
    ----------
    columns : q + 1 columns of the same boxes, the target's first.
    effort : planes (ranges.forms) that a range of two columns may cost; these take at most 60 times as many passes, and
        2 q + 60 for each column.

    Returns
    -------
    tuple
        Without certain bounds where nothing was proven (the boxes allow collinear predictors, or nearly), without
        anything where the boxes' centres are collinear or the columns' units make a coefficient too large for a number.

    Notes
    -----
    XK slide 3; science.md section 1, "Guaranteed ranges". O(B q^2 effort).
    """
    return RangeSteps(regression_work(columns, effort), len(columns) * len(columns[0].lower)).finish()


def regression_work(columns: tuple[BoxColumn, ...], effort: int) -> Work:
    """The ranges of `regression_ranges`; yields passes over the boxes as they are made."""
    coefficients = yield from _scaled(columns, [x.reference for x in columns[1:]], effort)
    slopes = _slopes(columns, coefficients)
    intercept = coefficients[-1].scaled(columns[0].exponent).plus(columns[0].reference)
    at_zero = (0.0,) * len(slopes)
    return tuple(each.range for each in (intercept.within(_through_means(columns, slopes, at_zero)), *slopes))


def prediction_work(columns: tuple[BoxColumn, ...], at: tuple[float, ...], effort: int) -> Work:
    """Range of the fitted line at given values of the predictors; yields passes over the boxes as they are made.

    Parameters
    ----------
    columns : q + 1 columns of the same boxes, the target's first.
    at : x*, in the columns' own units.
    effort : as of `regression_ranges`.

    Notes
    -----
    XK slide 3; science.md section 1, "Guaranteed ranges": the search for the intercept, with references moved by x*.
    The range is of the line that the records have, not of a person who has these values.
    """
    target, *predictors = columns
    shifts = [_difference(x.reference, value) for x, value in zip(predictors, at, strict=True)]
    coefficients = yield from _scaled(columns, [shift for shift, _ in shifts], effort)
    slopes = _slopes(columns, coefficients)
    line: _Coefficient | None = coefficients[-1].scaled(target.exponent).plus(target.reference)
    for (_, lost), slope in zip(shifts, slopes, strict=True):
        line = line and line.less(slope.outer, lost)
    through = _through_means(columns, slopes, at)
    return ((line or _Coefficient(None, None, 0.0)).within(through).range,)


def _difference(a: float, b: float) -> tuple[float, float]:
    """A - b as a number, and what rounding took from it, exactly (Knuth's two-sum)."""
    difference = a - b
    taken = a - difference
    return difference, (a - (difference + taken)) + (taken - b)


def _scaled(
    columns: tuple[BoxColumn, ...], shifts: Sequence[float], effort: int
) -> Generator[int, None, list["_Coefficient"]]:
    """Scaled coefficients, and last the value of the line where each x_k is r_k less its shift."""
    target, *predictors = columns
    references = np.array([math.ldexp(shift, -x.exponent) for shift, x in zip(shifts, predictors, strict=True)])
    if all(x.known for x in predictors):
        yield (len(columns) + 1) ** 2
        known = coefficients_on_known(target, tuple(predictors), references)
        if known is not None:
            return [_Coefficient(each.outer, each.inner, each.noise) for each in known]
    return (yield from _searched(columns, references, effort))


def _searched(
    columns: tuple[BoxColumn, ...], references: FloatArray, effort: int
) -> Generator[int, None, list["_Coefficient"]]:
    """The ranges by ascent, branch and bound."""
    boxes = products(columns)
    if half_space(boxes.centres, 1, 1.0, np.zeros(len(references)), 0.0) is None:
        return [_Coefficient(None, None, 0.0)] * len(columns)
    seen = Seen(boxes.centres)
    left, coefficients = _PASSES * effort, []
    for done in range(len(columns)):
        index = (done + 1) % len(columns)  # the intercept last
        coefficient, spent = yield from _range(boxes, seen, index, references, left // (len(columns) - done))
        coefficients.append(coefficient)
        # what proves nothing for one coefficient, far ones being open, proves nothing for the others
        left = max(left - spent, 1) if coefficient.outer else 0
    return coefficients


def _slopes(columns: tuple[BoxColumn, ...], coefficients: list["_Coefficient"]) -> list["_Coefficient"]:
    """The coefficients in the columns' own units."""
    target, *predictors = columns
    return [each.scaled(target.exponent - x.exponent) for each, x in zip(coefficients, predictors, strict=False)]


def _through_means(
    columns: tuple[BoxColumn, ...], slopes: list["_Coefficient"], at: Sequence[float]
) -> Interval | None:
    """The line at x*, from the means and the certain facts about the coefficients: E_0 + sum_k beta_k (x*_k - E_k)."""
    line = certain(columns[0].mean.outer)
    for slope, x, value in zip(slopes, columns[1:], at, strict=True):
        if slope.outer is None:
            return None
        line = line - slope.outer * (certain(x.mean.outer) - Interval(value, value))
    return line if line.magnitude < 2.0**_LARGEST else None


@dataclass(frozen=True)
class _Coefficient:
    """A range being made: certain, reached, and how much of the first's width is rounding."""

    outer: Interval | None
    inner: Interval | None
    noise: float

    def scaled(self, exponent: int) -> "_Coefficient":
        """In units of a power of two; what these leave too large for a number is not known."""
        size = max((each.magnitude for each in (self.outer, self.inner) if each), default=0.0)
        if math.frexp(size)[1] + exponent > _LARGEST:
            return _Coefficient(None, None, 0.0)
        outer, inner = (each and each.scaled(exponent) for each in (self.outer, self.inner))
        return _Coefficient(outer, inner, math.ldexp(self.noise, exponent))

    def plus(self, shift: float) -> "_Coefficient":
        """With a number added."""
        by = Interval(shift, shift)
        return _Coefficient(self.outer and self.outer + by, self.inner and self.inner + by, self.noise)

    def less(self, slope: Interval | None, by: float) -> "_Coefficient | None":
        """With a coefficient times a number taken off; None where there is something to take off, and not known."""
        if by == 0.0 or self.outer is None:
            return self
        return None if slope is None else _Coefficient(self.outer - slope * Interval(by, by), self.inner, self.noise)

    def within(self, other: Interval | None) -> "_Coefficient":
        """With another certain range."""
        outer = self.outer.intersect(other) if self.outer and other else self.outer or other
        return _Coefficient(outer, self.inner, self.noise)

    @property
    def range(self) -> Range:
        """The range itself."""
        return combine(self.outer, self.inner, self.noise)


def _climbed(boxes: Products, objective: CoefficientEnd, seen: Seen) -> Reached:
    """What an ascent reaches from the best data seen, or these themselves."""
    ranked = sorted(seen.moments, key=objective.value, reverse=True)
    start = next((each for each in ranked if not steep(each)), boxes.centres)
    reached = climb(boxes, objective, start, seen)
    value = objective.value(start)
    return reached if reached.value > value else Reached(value, start)


def _range(
    boxes: Products, seen: Seen, index: int, references: FloatArray, passes: int
) -> Generator[int, None, tuple[_Coefficient, int]]:
    """Range of one scaled coefficient, and the passes it took."""
    objectives = [CoefficientEnd(index, sign, references) for sign in (1.0, -1.0)]
    reached = []
    for each in objectives:
        reached.append(_climbed(boxes, each, seen))
        yield MOST
    tolerance = _NEAR[min(len(references), len(_NEAR)) - 1] * (reached[0].value + reached[1].value)
    allowed = max(passes - 2 * MOST, passes // 2)
    above = yield from certain_end(boxes, objectives[0], reached[0], seen, tolerance, allowed // 2)
    rest = allowed - above.passes if above.certain is not None else 0
    below = yield from certain_end(boxes, objectives[1], reached[1], seen, tolerance, rest)
    inner = Interval(*sorted((-below.reached, above.reached)))  # of points, rounding alone distinguishes them
    outer = None
    if above.certain is not None and below.certain is not None:
        outer = Interval(-below.certain, above.certain)
    coefficient = _Coefficient(outer, inner if math.isfinite(inner.width) else None, above.noise + below.noise)
    return coefficient, 2 * MOST + above.passes + below.passes


@dataclass(frozen=True)
class KnownCoefficient:
    """Range of one scaled number, and how much of its width is rounding."""

    outer: Interval
    inner: Interval
    noise: float


@dataclass(frozen=True)
class _Row:
    """E[w y]: certain, reached; |R|, a number each; and |epsilon| |y|."""

    outer: Interval
    inner: Interval
    rest: FloatArray
    off: float


def coefficients_on_known(
    target: BoxColumn, predictors: tuple[BoxColumn, ...], references: FloatArray
) -> tuple[KnownCoefficient, ...] | None:
    """Ranges of the coefficients and, last, of the intercept where all x are -references; None for collinear x.

    Parameters
    ----------
    target, predictors : scaled columns, the predictors known.
    references : (q,).

    Notes
    -----
    XK slide 3. O(B q^2), once.
    """
    share = target.mass.of_box / target.mass.middle
    z = np.vstack([np.ones_like(share), *(x.centre for x in predictors)])
    second = (z * share) @ z.T
    if not np.linalg.cond(second) < _STEEPEST:
        return None
    play = np.array([0.0, *(x.play for x in predictors)])
    contrasts = np.vstack([np.eye(len(z)), [1.0, *(-references)]])
    rows = [_row(target, z, play, g, np.linalg.solve(second, g)) for g in contrasts]
    known = rows[:-1]
    ratio = max(up(row.rest.sum() * (1.0 + _ERRORS)) for row in known)
    if not ratio < _COLLINEAR:
        return None
    steepest = up(max(up(row.outer.magnitude + row.off) for row in known) / (1.0 - 2.0 * _COLLINEAR))
    is_point = bool((play <= _POINT).all())
    coefficients = []
    for row in rows[1:]:
        room = up(up(row.rest.sum() * (1.0 + _ERRORS) * steepest) + row.off)
        outer = Interval(down(row.outer.lower - room), up(row.outer.upper + room))
        coefficients.append(KnownCoefficient(outer, row.inner, outer.width - row.inner.width if is_point else 0.0))
    return tuple(coefficients)


def _row(target: BoxColumn, z: FloatArray, play: FloatArray, g: FloatArray, inverse: FloatArray) -> _Row:
    """E[w y] and its errors, for l = `inverse`."""
    w = inverse @ z
    ends = [np.where(w > 0.0, far, near) for far, near in ((target.lower, target.upper), (target.upper, target.lower))]
    lower, upper = (_mean_of(target, w, y) for y in ends)
    inner = (0.5 * (each.lower + each.upper) for each in (lower, upper))
    length = up(np.sqrt(_mean_of(target, w, w).upper))
    rest = np.array(
        [(_mean_of(target, w, column) - Interval(of, of)).magnitude for column, of in zip(z, g, strict=True)]
    )
    off = up(float(np.abs(inverse) @ (play + _ERRORS * len(z))) * (1.0 + _ERRORS) * float(target.size.max()))
    return _Row(Interval(lower.lower, upper.upper), Interval(*sorted(inner)), rest + up(length) * (play + _ERRORS), off)


def _mean_of(column: BoxColumn, a: FloatArray, b: FloatArray) -> Interval:
    """Certain bounds of the mean of a product of two vectors."""
    product = a * b
    mean = column.mass.mean(product)
    error = up(_ERRORS * column.mass.mean(np.abs(product)).upper + _UNDERFLOW)
    return Interval(down(mean.lower - error), up(mean.upper + error))
