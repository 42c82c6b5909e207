"""Branch and bound over what the planes above all data leave open: both means and the ratio of the deviations.

Notation
--------
X, Y : means.  L : log tau (ranges.objectives).  Cell : a box of (X, Y, L).
Plane j (ranges.forms): E[g_j] <= phi_j + p_j X + q_j Y for all data; g_j(x - X, y - Y) has the mean E[g_j] - g_j(X, Y),
    so  excess <= phi_j + p_j X + q_j Y - g_j(X, Y) + bend (cosh(L - L_j) - 1) - offset  =: h_j(X, Y, L);
    bend, offset : what ranges.objectives says of them.
The least over j of the largest h_j on a cell is certain for the cell; in (X, Y) that is on an edge (ranges.forms).
A cell that is certain to stay below zero, roundings aside, is closed for good.

No record is read: this costs planes times cells, whatever the number of boxes.
"""

import math
from dataclasses import dataclass

import numpy as np
from numba import njit

from workers.algorithms.boxes.ranges.forms import Plane
from workers.algorithms.core.rounding import UNIT_ROUNDOFF, Interval, up
from workers.algorithms.core.types import FloatArray

_CELLS = 3000
_SLACK = 128.0
_LOGARITHM = 1e-13  # error of a logarithm of a double and of the tangents' coefficients, many times over


@dataclass(frozen=True)
class Peak:
    """Where another plane is wanted most."""

    x: float
    y: float
    log_tau: float


class OpenCells:
    """The cells not yet closed, refined as planes come in.

    Parameters
    ----------
    x, y, tau : ranges of the means and of the ratio.
    bend, offset : of h_j.
    most : planes there will be at most.
    """

    def __init__(self, x: Interval, y: Interval, tau: Interval, *, bend: float, offset: float, most: int) -> None:
        logs = (math.log(tau.lower) - _LOGARITHM, math.log(tau.upper) + _LOGARITHM) if bend > 0.0 else (0.0, 0.0)
        self._cells = np.zeros((_CELLS, 6))
        self._cells[0] = (x.lower, x.upper, y.lower, y.upper, *logs)
        self._bounds = np.full(_CELLS, np.inf)
        self._used = 1
        self._sides = (max(x.width, 1e-300), max(y.width, 1e-300))
        self._planes = np.zeros((most, 6))
        self._known = 0
        self._s, self._bend, self._offset = 1.0, bend, offset
        self._reach = np.array([1.0, x.magnitude, y.magnitude, x.magnitude**2, y.magnitude**2])
        self._noise = 0.0

    def add(self, plane: Plane, log_tau: float) -> None:
        """Take in one more plane."""
        row = np.array([plane.phi, plane.p, plane.q, plane.form.a, plane.form.b, log_tau])
        self._planes[self._known] = row
        self._s = plane.form.s
        size = float(np.abs(row[:5]) @ self._reach) + float(self._reach[1] * self._reach[2]) + abs(self._offset)
        noise = _SLACK * UNIT_ROUNDOFF * size + 2.0 * plane.error + _LOGARITHM * self._bend
        self._noise = max(self._noise, noise)
        newest = self._planes[self._known : self._known + 1]
        _lower(self._cells, self._bounds, self._used, newest, self._s, self._bend, self._offset)
        self._known += 1

    def refine(self) -> Peak | None:
        """Close and split cells until another plane is wanted; None when all are closed."""
        planes = self._planes[: self._known]
        self._used, x, y, log_tau = _refine(
            self._cells, self._bounds, self._used, planes, self._s, self._bend, self._offset, self._noise, self._sides
        )
        return Peak(x, y, log_tau) if self._used else None

    @property
    def closed(self) -> float:
        """Height up to which cells are closed: the roundings of all planes."""
        return self._noise

    @property
    def bound(self) -> float:
        """Certain upper bound of the excess."""
        top = float(self._bounds[: self._used].max()) if self._used else self._noise
        return up(max(top, self._noise) + self._noise)


@njit(nogil=True, cache=True)
def _edge(s: float, a: float, b: float, p: float, q: float, x: float, y0: float, y1: float) -> float:
    """Largest s xy + a x^2 + b y^2 + p x + q y at given x, y within [y0, y1]."""
    rise = s * x + q
    y = min(max(-0.5 * rise / b, y0), y1) if b < 0.0 else (y1 if rise + b * (y0 + y1) > 0.0 else y0)
    return s * x * y + a * x * x + b * y * y + p * x + q * y


@njit(nogil=True, cache=True)
def _least(planes: FloatArray, s: float, bend: float, offset: float, c: FloatArray) -> float:
    """Least over the planes of the largest h_j on a cell."""
    least = np.inf
    for j in range(len(planes)):
        p, q, a, b = planes[j, 1], planes[j, 2], -planes[j, 3], -planes[j, 4]
        most = max(_edge(-s, a, b, p, q, c[0], c[2], c[3]), _edge(-s, a, b, p, q, c[1], c[2], c[3]))
        if a < 0.0:
            most = max(most, _edge(-s, b, a, q, p, c[2], c[0], c[1]), _edge(-s, b, a, q, p, c[3], c[0], c[1]))
        most += planes[j, 0] - offset
        if bend > 0.0:
            far = max(abs(c[4] - planes[j, 5]), abs(c[5] - planes[j, 5]))
            most += 2.0 * bend * np.sinh(0.5 * far) ** 2
        least = min(least, most)
    return least


@njit(nogil=True, cache=True)
def _lower(
    cells: FloatArray, bounds: FloatArray, used: int, planes: FloatArray, s: float, bend: float, offset: float
) -> None:
    """Lower all cells' bounds by new planes."""
    for k in range(used):
        bounds[k] = min(bounds[k], _least(planes, s, bend, offset, cells[k]))


@njit(nogil=True, cache=True)
def _copy(source: FloatArray, target: FloatArray) -> None:
    """Copy a cell, number by number: a slice's assignment takes two seconds to compile."""
    for i in range(len(target)):
        target[i] = source[i]


@njit(nogil=True, cache=True)
def _refine(
    cells: FloatArray,
    bounds: FloatArray,
    used: int,
    planes: FloatArray,
    s: float,
    bend: float,
    offset: float,
    closed: float,
    sides: tuple[float, float],
) -> tuple[int, float, float, float]:
    """Best first; returns the number of open cells, and the middle of the highest one where splitting cannot help."""
    point = np.empty(6)
    while True:
        top = 0
        for k in range(1, used):
            if bounds[k] > bounds[top]:
                top = k
        bound = bounds[top]
        if bound <= closed:
            return 0, 0.0, 0.0, 0.0
        c = cells[top]
        x, y, middle = 0.5 * (c[0] + c[1]), 0.5 * (c[2] + c[3]), 0.5 * (c[4] + c[5])
        point[0] = point[1] = x
        point[2] = point[3] = y
        point[4] = point[5] = middle
        there = _least(planes, s, bend, offset, point)
        if used + 1 >= len(cells) or there - closed > 0.5 * (bound - closed):
            return used, x, y, middle
        wide, tall, long = c[1] - c[0], c[3] - c[2], c[5] - c[4]
        axis = 0 if wide * sides[1] >= tall * sides[0] else 2
        if bend * long * long > 2.0 * wide * tall:
            axis = 4
        half = 0.5 * (c[axis] + c[axis + 1])
        _copy(c, cells[used])
        cells[used, axis + 1] = half
        cells[top, axis] = half
        bounds[used] = min(bound, _least(planes, s, bend, offset, cells[used]))
        bounds[top] = min(bound, _least(planes, s, bend, offset, cells[top]))
        used += 1
        for k in (used - 1, top):
            if bounds[k] <= closed and used > 1:
                used -= 1
                _copy(cells[used], cells[k])
                bounds[k] = bounds[used]
