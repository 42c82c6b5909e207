"""The least variance of whole numbers, of values on a grid or of an order, in boxes.

Notation
--------
lo_b, hi_b : (B,), bounds on the grid, shifted by r and scaled by 2^-e (ranges.column).  m_b, W : masses.
h : step of the grid, 1 for whole numbers; grid : the multiples of h, shifted and scaled likewise, or those numbers that
    the values of an order count as: all that follows holds for any points that the bounds are among.
z : a point of the grid; d_b = clip(z, lo, hi) - z.  V_z = E[d^2] - E[d]^2, the variance of the data clip(z, lo, hi).
f(mu) = min_x E[(x - mu)^2] over the real numbers of the boxes; convex, least at mu*.

min_x V = min_mu min_x E[(x - mu)^2] over grid points x: given mu every record takes the point nearest to mu, which is
that nearest to the z nearest to mu. So the least variance is the least V_z over all z; those z with f >= that on their
whole half-step neighbourhood cannot have it, and f grows to both sides of mu*. Upper ends need no grid: they are
reached at bounds. (science.md section 5, "Whole numbers and dates".)

Points and bounds are rounded once each, which a deviation can move by `play` at most: V >= (sqrt(V~) - play)^2. Where
the sign of f's derivative does not prove that f grows from a half-step on, nothing is said of the points beyond it.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, down, up
from surebox_core.types import FloatArray
from surebox_verify.boxes import Lattice
from surebox_verify.ranges.mass import Mass

_MARGIN = 8.0 * UNIT_ROUNDOFF  # a square of a rounded difference is within 4 u of the exact one
_MOST = 256  # points tried; what the rest may have is bounded by f


class Points(Protocol):
    """Numbered points, shifted and scaled."""

    def number(self, value: float) -> int:
        """The number of the point nearest to a scaled value."""

    @property
    def play(self) -> float:
        """Bound the error of a deviation."""

    def point(self, number: float) -> float:
        """The scaled point of a number; of halves the middle between two, infinite beyond the last."""


def points_of(lattice: Lattice, reference: float, exponent: int) -> Points:
    """The points that the values of a column may be.

    Parameters
    ----------
    lattice : a step, or the points themselves.
    reference, exponent : r and e.
    """
    if isinstance(lattice, tuple):
        return Labels(np.array(lattice), reference, exponent)
    return Grid(lattice, reference, exponent)


@dataclass(frozen=True)
class Labels:
    """The points (label_j - r) 2^-e, j from 0; labels in ascending order."""

    labels: FloatArray
    reference: float
    exponent: int

    def number(self, value: float) -> int:
        """The j of the point nearest to a scaled value."""
        away = np.abs(np.ldexp(self.labels - self.reference, -self.exponent) - value)
        return int(np.argmin(away))

    @property
    def play(self) -> float:
        """Bound the error of a deviation: bounds and points are rounded once."""
        return 8.0 * UNIT_ROUNDOFF

    def point(self, number: float) -> float:
        """The scaled point of a number j; of halves the middle between two, infinite beyond the last."""
        if not 0.0 <= number <= len(self.labels) - 1.0:
            return np.inf if number > 0.0 else -np.inf
        below, above = self.labels[math.floor(number)], self.labels[math.ceil(number)]
        return float(np.ldexp(0.5 * (below - self.reference) + 0.5 * (above - self.reference), -self.exponent))


@dataclass(frozen=True)
class Grid:
    """The points (j h - r) 2^-e, j whole."""

    step: float
    reference: float
    exponent: int

    def number(self, value: float) -> int:
        """The j of the point nearest to a scaled value."""
        return round((float(np.ldexp(value, self.exponent)) + self.reference) / self.step)

    @property
    def play(self) -> float:
        """How far a deviation can be off: bounds and points are rounded once, multiples of no whole step before."""
        far = 0.0 if float(self.step).is_integer() else abs(float(np.ldexp(self.reference, -self.exponent)))
        return 8.0 * UNIT_ROUNDOFF * (1.0 + far)

    def point(self, number: float) -> float:
        """The scaled point of a number j; of halves the middle between two."""
        return float(np.ldexp(number * self.step - self.reference, -self.exponent))


def least_variance_on_grid(
    lower: FloatArray, upper: FloatArray, mass: Mass, grid: Points, mu: float
) -> tuple[float, float]:
    """Certain lower bound of the least variance of values on a grid, and the value reached.

    Parameters
    ----------
    lower, upper : (B,), scaled bounds that are points of the grid.
    mass : of the boxes.
    grid : the points.
    mu : about mu*; any number gives a certain bound.

    Notes
    -----
    O(B) for each point tried, 2 + those with f below the least V, _MOST at most.
    """
    first = last = grid.number(mu)
    certain, reached = _at(lower, upper, mass, grid, first)
    above, below = (_beyond(lower, upper, mass, grid, first, sign) for sign in (1.0, -1.0))
    while last - first < _MOST and min(above, below) < reached:
        if above <= below:
            last += 1
            variances = _at(lower, upper, mass, grid, last)
            above = _beyond(lower, upper, mass, grid, last, 1.0)
        else:
            first -= 1
            variances = _at(lower, upper, mass, grid, first)
            below = _beyond(lower, upper, mass, grid, first, -1.0)
        certain, reached = min(certain, variances[0]), min(reached, variances[1])
    return max(min(certain, above, below), 0.0), max(reached, 0.0)


def _at(lower: FloatArray, upper: FloatArray, mass: Mass, grid: Points, number: int) -> tuple[float, float]:
    """V_z: certain lower bound, and value."""
    z = grid.point(number)
    d = np.clip(z, lower, upper) - z
    second, first = mass.mean(d * d), mass.mean(d)
    square = up(first.magnitude * first.magnitude)
    middle = 0.5 * (first.lower + first.upper)
    noise = _MARGIN * (second.upper + square)
    certain = max(down(math.sqrt(max(down(second.lower - square - noise), 0.0))) - grid.play, 0.0)
    return down(certain * certain), 0.5 * (second.lower + second.upper) - middle * middle


def _beyond(lower: FloatArray, upper: FloatArray, mass: Mass, grid: Points, number: int, sign: float) -> float:
    """Certain lower bound of f from half a step above (sign 1) or below (-1) a point on; 0 where f need not grow."""
    mu = grid.point(number + 0.5 * sign) - sign * grid.play
    if not math.isfinite(mu):  # there is no point beyond it
        return math.inf
    short, over = np.maximum(lower - mu, 0.0), np.maximum(mu - upper, 0.0)
    pull = mass.mean(over - short) if sign > 0.0 else mass.mean(short - over)  # half of f', outwards
    distance = short + over
    if pull.lower < _MARGIN * mass.mean(distance).upper:
        return 0.0
    return down(mass.mean(distance * distance).lower * (1.0 - _MARGIN))
