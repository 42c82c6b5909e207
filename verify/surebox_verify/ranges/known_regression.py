"""Regression on predictors that the boxes leave no room: linear in the target, and so in closed form.

Notation
--------
z = (1, x_1 .. x_q), y : regressors, known but for their play (ranges.column), and target; scaled.  E : mean.
beta : (q + 1,), coefficients.  t = g beta : what is asked: a coefficient, or the intercept where all x are -references.
w = l z + epsilon : (B,), l = g E[z z']^-1 as computed, w as rounded.  R = E[w z'] - g, (q + 1,).

y = beta z + e with E[e z] = 0, so  E[w y] = t + R beta + E[epsilon e]  and
    t = E[w y] - R beta - E[epsilon e],   |E[epsilon e]| <= |epsilon| |y|.
E[w y] is largest with y at its upper end where w > 0 and at its lower end elsewhere: exact. R and epsilon are roundings
and play; with what R is for the beta themselves, |beta| <= (max |E[w y]| + |epsilon| |y|) / (1 - |R|). Nothing of what
rounding did to the inverse is left out.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, down, up
from surebox_core.types import FloatArray
from surebox_verify.ranges.column import BoxColumn

_ERRORS = 16.0 * UNIT_ROUNDOFF  # of a product or a short sum, several times over
_UNDERFLOW = 1e-290
_COLLINEAR = 2.0**-10  # |R| beyond which predictors are taken as collinear
_STEEPEST = 1e14  # condition beyond which they are
_POINT = 2.0**-50  # play that is rounding


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
