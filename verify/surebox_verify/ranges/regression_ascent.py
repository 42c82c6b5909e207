"""What a regression coefficient reaches on data consistent with the boxes: ascent from data to better data.

Notation
--------
z = (1, x_1 .. x_q), y : regressors and target.  M : (n, n), n = q + 2, means of products in (1, y, x_1 .. x_q).
beta : coefficients.  t : one of them, or its negative.

t rises with the data by E[(lambda z)(y - beta z)], lambda the row of E[z z']^-1 that belongs to t; the data for which
this is largest (ranges.products) usually reach more. The reached range bounds the range from inside.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray
from surebox_verify.ranges.cones import regressors, steep
from surebox_verify.ranges.products import Products

MOST = 12  # passes of a climb
_SETTLED = 1e-4  # of the gain so far
_REMEMBERED = 128


@dataclass(frozen=True)
class CoefficientEnd:
    """One end of one coefficient's range.

    Attributes
    ----------
    index : of the coefficient, 0 is the intercept where all x are -`references`.
    sign : 1 for the upper end, -1 for the lower.
    references : (q,).
    """

    index: int
    sign: float
    references: FloatArray

    def value(self, moments: FloatArray) -> float:
        """T of given moments; minus infinity where it is undefined."""
        beta = _coefficients(moments)
        if self.index == 0:
            beta[0] -= self.references @ beta[1:]
        value = self.sign * float(beta[self.index])
        return value if np.isfinite(value) else -np.inf

    def multiplier(self, moments: FloatArray) -> FloatArray:
        """The combination (n,) of z whose mean product with the residual is dt."""
        z = regressors(moments)
        multiplier = np.zeros(len(moments))
        multiplier[z] = np.linalg.solve(moments[np.ix_(z, z)], self._by_beta)
        return multiplier

    def looseness(self, moments: FloatArray) -> float:
        """Mean square of the multiplier: infinite where predictors are collinear."""
        z = regressors(moments)
        try:
            return float(self._by_beta @ np.linalg.solve(moments[np.ix_(z, z)], self._by_beta))
        except np.linalg.LinAlgError:
            return np.inf

    @property
    def _by_beta(self) -> FloatArray:
        """Derivatives of t, (q + 1,)."""
        gradient = np.zeros(len(self.references) + 1)
        gradient[self.index] = self.sign
        if self.index == 0:
            gradient[1:] = -self.sign * self.references
        return gradient


@dataclass(frozen=True)
class Reached:
    """What t reaches at some data consistent with the boxes."""

    value: float
    moments: FloatArray


class Seen:
    """Moments of data consistent with the boxes, the latest that were met: older ones seldom decide."""

    def __init__(self, first: FloatArray) -> None:
        self._held = np.empty((_REMEMBERED, *first.shape))
        self._met = 0
        self.add(first)

    def add(self, moments: FloatArray) -> None:
        """Take in one more."""
        self._held[self._met % _REMEMBERED] = moments
        self._met += 1

    @property
    def moments(self) -> FloatArray:
        """(J, n, n), a copy."""
        return self._held[: self._met].copy()


def _coefficients(moments: FloatArray) -> FloatArray:
    """Coefficients (q + 1,) of given moments; NaN for collinear predictors."""
    z = regressors(moments)
    try:
        return np.asarray(np.linalg.solve(moments[np.ix_(z, z)], moments[z, 1]))
    except np.linalg.LinAlgError:
        return np.full(len(z), np.nan)


def climb(products: Products, objective: CoefficientEnd, start: FloatArray, seen: Seen) -> Reached:
    """Ascend from given moments to data that reach more.

    Parameters
    ----------
    products, objective : the boxes, and the end that is climbed to.
    start : moments; of data or of a mixture.
    seen : takes in points met.

    Notes
    -----
    science.md section 1, "Guaranteed ranges": inner by ascent. A few passes.
    """
    best = Reached(-np.inf, start)
    first, here = objective.value(start), start
    for _ in range(MOST):
        residual = np.zeros(len(here))
        residual[1] = 1.0
        residual[regressors(here)] = -_coefficients(here)
        if not np.isfinite(residual).all():
            break
        touched = products.largest(objective.multiplier(here), residual, np.zeros(len(here)))
        here = products.moments(touched)
        seen.add(here)
        value, before = objective.value(here), best
        if value > best.value and not steep(here):  # collinear data reach nothing
            best = Reached(value, here)
        if not best.value - before.value > _SETTLED * (best.value - first):
            break
    return best
