"""Covariance and correlation of a column that the boxes leave no room: in closed form, and by one convex problem.

Notation
--------
x, y : two columns of the same boxes (ranges.column), scaled; x exactly known but for `x.play`.
mu, nu : centres of the means' ranges.  v = x - mu.  E : mean over the records.

Covariance: C = E[v (y - nu)] - E[v] E[y - nu]; where x is known this is linear in y, largest with y at its upper end
where v > 0 and at its lower end elsewhere. The bound made of the corners of each box holds for any two columns.

Correlation, where data with C > 0 exist: rho^2 is 1 less the share of v's variance that a line through y leaves, so the
largest rho is that of the least
    F(beta, alpha) = E[e^2],   e = v - clip(v, beta lo + alpha, beta hi + alpha),   beta > 0,
convex with two variables. For *any* vector e, with e', v' less their means and a = <e', v'> / (|e'| |v'|) >= 0,
    rho <= sqrt(1 - a^2) + a max(d, 0),   d = (E[max(e lo, e hi)] + |E e| max |E y|) / (sigma_y |e'|):
split v' along e' and across, and the rest is Cauchy and Schwarz; d, the largest <e', y> / (sigma_y |e'|), is 0 for the
e of the least F. So the bound is certain wherever Newton's method stops, and it stops after _NEWTON passes.
An x that is off by its play turns rho by 2 play / sigma_x at most.
"""

import math
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, down, up
from surebox_core.types import FloatArray
from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.guaranteed import Ends
from surebox_verify.ranges.mass import Mass

_NEWTON = 48
_ROUNDINGS = 2.0**-44  # of the magnitudes summed: not a gap
_STEEP = 1e-15  # gradient, relative, at which F is least as far as rounding lets one distinguish
_UNDERFLOW = 1e-290


@dataclass(frozen=True)
class KnownCovariance:
    """Range of the scaled covariance: certain, reached, and how much of the first's width is rounding."""

    outer: Interval
    inner: Interval
    noise: float


def covariance_of_known(x: BoxColumn, y: BoxColumn) -> KnownCovariance:
    """Range of the covariance, within roundings where x is known; certain for any two columns. O(B).

    Parameters
    ----------
    x, y : two columns of the same boxes.
    """
    mu, nu = _middle(x.scaled_mean), _middle(y.scaled_mean)
    corners = [(px - mu) * (py - nu) for px in (x.lower, x.upper) for py in (y.lower, y.upper)]
    upper = x.mass.mean(np.maximum.reduce([_rounded(c, np.inf) for c in corners])).upper
    lower = x.mass.mean(np.minimum.reduce([_rounded(c, -np.inf) for c in corners])).lower
    product = (x.scaled_mean - Interval(mu, mu)) * (y.scaled_mean - Interval(nu, nu))
    v = x.centre - mu
    ends = (np.where(v > 0.0, far, near) - nu for far, near in ((y.lower, y.upper), (y.upper, y.lower)))
    reached = [_middle(x.mass.mean(v * u)) - _middle(x.mass.mean(v)) * _middle(x.mass.mean(u)) for u in ends]
    size = x.mass.mean(np.maximum.reduce([np.abs(c) for c in corners])).upper
    return KnownCovariance(
        Interval(down(lower - product.upper), up(upper - product.lower)),
        Interval(min(reached), max(reached)),
        _ROUNDINGS * size,
    )


def largest_correlation(x: BoxColumn, y: BoxColumn, s: float) -> Generator[int, None, Ends]:
    """Largest s rho over all data consistent with the boxes; yields 1 for each pass.

    Parameters
    ----------
    x, y : columns with deviations above 0, x known, and s C above 0 for some data.
    s : 1 or -1.

    Notes
    -----
    O(B) for each of _NEWTON passes at most.
    """
    v = x.centre - _middle(x.scaled_mean)
    low, high = (y.lower, y.upper) if s > 0.0 else (-y.upper, -y.lower)
    share = x.mass.of_box / x.mass.middle
    line = _Line.through(v, np.where(v > 0.0, high, low), share)
    here = _fit(line, v, low, high, share)
    passes = 1
    yield 1
    step = here.newton()
    while passes < _NEWTON and here.slope > _STEEP * here.size:
        trial = _Line(line.beta + step[0], line.alpha + step[1])
        passes += 1
        yield 1
        there = _fit(trial, v, low, high, share) if trial.beta > 0.0 else None
        if there is not None and there.value < here.value:
            line, here, step = trial, there, there.newton()
        elif max(abs(step[0]) / line.beta, abs(step[1])) < UNIT_ROUNDOFF:
            break
        else:
            step = (0.5 * step[0], 0.5 * step[1])
    certain = _certain(here.e, v, (low, high), y)
    turned = up(2.0 * up(x.play + 4.0 * UNIT_ROUNDOFF) / x.deviation.lower)
    fitted = np.clip((v - line.alpha) / line.beta, low, high)
    return Ends(min(up(certain + turned), 1.0), _correlation(v, fitted, share))


@dataclass(frozen=True)
class _Line:
    """The line beta y + alpha."""

    beta: float
    alpha: float

    @staticmethod
    def through(v: FloatArray, y: FloatArray, share: FloatArray) -> "_Line":
        """The regression of v on some y with which it correlates positively."""
        mean_v, mean_y = float(share @ v), float(share @ y)
        u = y - mean_y
        beta = float(share @ ((v - mean_v) * u)) / float(share @ (u * u))
        return _Line(beta, mean_v - beta * mean_y)


@dataclass(frozen=True)
class _Fit:
    """F at a line: its value, half of its negative gradient, half of its second derivatives, and e."""

    value: float
    gradient: tuple[float, float]
    second: tuple[float, float, float]
    e: FloatArray
    size: float

    @property
    def slope(self) -> float:
        """Larger part of the gradient."""
        return max(abs(self.gradient[0]), abs(self.gradient[1]))

    def newton(self) -> tuple[float, float]:
        """Step to the least of the parabola that touches F here."""
        a, b, c = self.second
        system = np.array([[a, b], [b, c]])
        step = np.linalg.lstsq(system, np.array(self.gradient), rcond=1e-14)[0]
        return float(step[0]), float(step[1])


def _fit(line: _Line, v: FloatArray, low: FloatArray, high: FloatArray, share: FloatArray) -> _Fit:
    e = v - np.clip(v, line.beta * low + line.alpha, line.beta * high + line.alpha)
    y = np.where(e > 0.0, high, low)
    held = np.where(e != 0.0, share, 0.0)
    by, weighed = held * y, share * e
    return _Fit(
        value=float(weighed @ e),
        gradient=(float(weighed @ y), float(weighed.sum())),
        second=(float(by @ y), float(by.sum()), float(held.sum())),
        e=e,
        size=float(np.abs(weighed).sum()),
    )


def _certain(e: FloatArray, v: FloatArray, ends: tuple[FloatArray, FloatArray], y: BoxColumn) -> float:
    """The bound of the notation above, rounded outward."""
    mass = y.mass
    mean_e, mean_v = mass.mean(e), mass.mean(v)
    squares = _mean_of(mass, e, e) - mean_e * mean_e, _mean_of(mass, v, v) - mean_v * mean_v
    length, whole = (each.square_root() for each in squares)
    along = _mean_of(mass, e, v) - mean_e * mean_v
    if not (length.lower > 0.0 and along.lower > 0.0):
        return 1.0
    a = min(down(along.lower / up(length.upper * whole.upper)), 1.0)
    across = up(math.sqrt(up(1.0 - down(a * a))))
    most = up(_most(mass, e, ends) + up(mean_e.magnitude * y.scaled_mean.magnitude))
    return up(across + up(max(most, 0.0) / down(length.lower * y.deviation.lower)))


def _most(mass: Mass, e: FloatArray, ends: tuple[FloatArray, FloatArray]) -> float:
    """Certain upper bound of E[max(e lo, e hi)]."""
    return _mean_of(mass, e, np.where(e > 0.0, ends[1], ends[0])).upper


def _mean_of(mass: Mass, a: FloatArray, b: FloatArray) -> Interval:
    """Certain bounds of the mean of a product of two vectors."""
    product = a * b
    mean = mass.mean(product)
    error = up(2.0 * UNIT_ROUNDOFF * mass.mean(np.abs(product)).upper + _UNDERFLOW)
    return Interval(down(mean.lower - error), up(mean.upper + error))


def _correlation(x: FloatArray, y: FloatArray, share: FloatArray) -> float:
    u, w = x - float(share @ x), y - float(share @ y)
    return float(share @ (u * w)) / math.sqrt(float(share @ (u * u)) * float(share @ (w * w)))


def _middle(interval: Interval) -> float:
    return 0.5 * (interval.lower + interval.upper)


def _rounded(product: FloatArray, towards: float) -> FloatArray:
    """Bounds of products of two rounded differences: each is within 4 u of the exact one."""
    margin = np.copysign(8.0 * UNIT_ROUNDOFF * np.abs(product), towards)
    return np.asarray(np.nextafter(product + margin, towards))
