"""The least variance of whole numbers, or of values on a grid, in boxes.

Notation
--------
lo_b, hi_b : (B,), bounds on the grid, shifted by r and scaled by 2^-e (ranges.column).  m_b, W : masses.
h : step of the grid, 1 for whole numbers; grid : the multiples of h, shifted and scaled likewise.
z : a point of the grid; d_b = clip(z, lo, hi) - z.  V_z = E[d^2] - E[d]^2, the variance of the data clip(z, lo, hi).
f(mu) = min_x E[(x - mu)^2] over the real numbers of the boxes; convex, least at mu*.

min_x V = min_mu min_x E[(x - mu)^2] over grid points x: given mu every record takes the point nearest to mu, which is
that nearest to the z nearest to mu. So the least variance is the least V_z over all z; those z with f >= that on their
whole half-step neighbourhood cannot have it, and f grows to both sides of mu*. Upper ends need no grid: they are
reached at bounds. (science.md section 5, "Whole numbers and dates".)
"""

from dataclasses import dataclass

import numpy as np

from surebox_verify.core.intervals import UNIT_ROUNDOFF, down, up
from surebox_verify.core.types import FloatArray
from surebox_verify.ranges.mass import Mass

_MARGIN = 8.0 * UNIT_ROUNDOFF  # a square of a rounded difference is within 4 u of the exact one
_MOST = 256  # points tried; what the rest may have is bounded by f


@dataclass(frozen=True)
class Grid:
    """The points (j h - r) 2^-e, j whole."""

    step: float
    reference: float
    exponent: int

    def number(self, value: float) -> int:
        """The j of the point nearest to a scaled value."""
        return round((float(np.ldexp(value, self.exponent)) + self.reference) / self.step)

    def point(self, number: float) -> float:
        """The scaled point of a number j; of halves the middle between two."""
        return float(np.ldexp(number * self.step - self.reference, -self.exponent))


def least_variance_on_grid(
    lower: FloatArray, upper: FloatArray, mass: Mass, grid: Grid, mu: float
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
    certain, reached = _at(lower, upper, mass, grid.point(first))
    above, below = (_real(lower, upper, mass, grid.point(first + s)) for s in (0.5, -0.5))
    while last - first < _MOST and min(above, below) < reached:
        if above <= below:
            last += 1
            found = _at(lower, upper, mass, grid.point(last))
            above = _real(lower, upper, mass, grid.point(last + 0.5))
        else:
            first -= 1
            found = _at(lower, upper, mass, grid.point(first))
            below = _real(lower, upper, mass, grid.point(first - 0.5))
        certain, reached = min(certain, found[0]), min(reached, found[1])
    return max(min(certain, above, below), 0.0), max(reached, 0.0)


def _at(lower: FloatArray, upper: FloatArray, mass: Mass, z: float) -> tuple[float, float]:
    """V_z: certain lower bound, and value."""
    d = np.clip(z, lower, upper) - z
    second, first = mass.mean(d * d), mass.mean(d)
    square = up(first.magnitude * first.magnitude)
    middle = 0.5 * (first.lower + first.upper)
    noise = _MARGIN * (second.upper + square)
    return down(second.lower - square - noise), 0.5 * (second.lower + second.upper) - middle * middle


def _real(lower: FloatArray, upper: FloatArray, mass: Mass, mu: float) -> float:
    """Certain lower bound of f at mu: what data on the far side of it have at least."""
    distance = np.maximum(np.maximum(lower - mu, mu - upper), 0.0)
    return down(mass.mean(distance * distance).lower * (1.0 - _MARGIN))
