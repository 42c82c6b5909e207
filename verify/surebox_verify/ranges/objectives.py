"""The quantity to bound: covariance and correlation as questions about the mean of a quadratic form.

Notation
--------
C, V, U : covariance, variance of x, variance of y.  tau = sqrt(U / V).
f = s C | s C / sqrt(V U) : the value to be bounded from above, s = 1 or -1.
r : a number a little above what f is known to reach.
excess = s C - r | s C - r sqrt(V U): where it is at most e >= 0, f is at most r + e | r + e / sqrt(V U), the divisor
    at its least.
g : a form (ranges.forms) with central mean M: s C | s C - r (tau_j V + U / tau_j) / 2, where
    (tau_j V + U / tau_j) / 2 = sqrt(V U) cosh(log tau - log tau_j) >= sqrt(V U).
So excess <= M + bend (cosh(log tau - log tau_j) - 1) - offset with offset = r of a covariance, and bend = r times the
    largest sqrt(V U) of a correlation with r > 0; both are 0 otherwise.
"""

import math
from dataclasses import dataclass
from typing import Literal

from surebox_core.intervals import Interval, up
from surebox_verify.ranges.forms import Form, Moments

Kind = Literal["covariance", "correlation"]

_LEAST = 1e-290
_LARGEST = 1.0 - 2.0**-40  # |r| of a correlation: keeps 4 a b of its form below 1


@dataclass(frozen=True)
class Objective:
    """f, with the certain ranges of its divisor and of tau.

    Attributes
    ----------
    divisor : range of 1 or sqrt(V U) over all data; its lower end is above 0.
    tau : range of sqrt(U / V) for correlations; one point for others.
    """

    kind: Kind
    s: float
    divisor: Interval
    tau: Interval

    def value(self, at: Moments) -> float:
        """Value at some data; minus infinity where it is undefined."""
        divisor = 1.0 if self.kind == "covariance" else math.sqrt(at.xx) * math.sqrt(at.yy)
        return self.s * at.xy / divisor if divisor > _LEAST else -math.inf

    def reference(self, value: float) -> float:
        """The r for a value of f."""
        return min(max(value, -_LARGEST), _LARGEST) if self.kind == "correlation" else value

    def bound(self, r: float, excess: float) -> float:
        """Certain bound of f from a certain bound of the excess."""
        return up(r + up(max(excess, 0.0) / self.divisor.lower))

    def bend(self, r: float) -> float:
        """How much a tangent at another tau may cost."""
        return up(r * self.divisor.upper) if self.kind == "correlation" and r > 0.0 else 0.0

    def offset(self, r: float) -> float:
        """What the excess lacks next to the form's mean."""
        return r if self.kind == "covariance" else 0.0

    def ratio(self, at: Moments) -> float:
        """Tau of some data, within its certain range."""
        if self.kind != "correlation" or not at.xx > _LEAST:
            return self.tau.lower
        return self.tau.clip(math.sqrt(at.yy) / math.sqrt(at.xx))

    def form(self, r: float, tau: float) -> Form:
        """g, with the tangent at tau."""
        if self.kind == "covariance":
            return Form(self.s, 0.0, 0.0)
        return Form(self.s, -0.5 * r * tau, -0.5 * r / tau)
