"""Branch and bound over what the planes above all data leave open: both means and the ratio of the deviations.

Notation
--------
X, Y : means.  L : log tau (ranges.objectives).  Cell : a box of (X, Y, L).
Plane j (ranges.forms): E[g_j] <= phi_j + p_j X + q_j Y for all data; g_j(x - X, y - Y) has the mean E[g_j] - g_j(X, Y),
    so  excess <= phi_j + p_j X + q_j Y - g_j(X, Y) + bend (cosh(L - L_j) - 1) - offset  =: h_j(X, Y, L);
    bend, offset : what ranges.objectives states about them.
The least over j of the largest h_j on a cell is certain for the cell; in (X, Y) that is on an edge (ranges.forms).
A cell that is certain to stay below zero, roundings aside, is closed for good.

Splitting goes along the axis on which the plane that bounds a cell rises most: an axis on which there is nothing to
gain, such as the mean of a column that is exactly known, is never split.

No record is read, and the number of evaluations of h_j is bounded whatever the planes are: _EACH for each plane that
there may be. When they are used up, cells stay open, and the certain range over them is valid as it is.
"""

import math
from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.intervals import UNIT_ROUNDOFF, Interval, up
from surebox_core.types import FloatArray, IntArray, whole
from surebox_verify.ranges.forms import Plane

_CELLS = 3000
_EACH = 20_000  # evaluations per plane: several times what they usually take
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
    most : planes there will be at most; the evaluations of h_j are at most _EACH times as many, and those of the
        last cell and the last plane.
    """

    def __init__(self, x: Interval, y: Interval, tau: Interval, *, bend: float, offset: float, most: int) -> None:
        logs = (math.log(tau.lower) - _LOGARITHM, math.log(tau.upper) + _LOGARITHM) if bend > 0.0 else (0.0, 0.0)
        self._cells = np.zeros((_CELLS, 6))
        self._cells[0] = (x.lower, x.upper, y.lower, y.upper, *logs)
        self._bounds = np.full(_CELLS, np.inf)
        self._lowest = np.zeros(_CELLS, dtype=np.int64)  # the plane that bounds a cell
        self._used = 1
        self._allowed = self._left = _EACH * most
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
        held = self._cells, self._bounds, self._lowest
        _lower(*held, self._used, newest, self._known, self._s, self._bend, self._offset)
        self._known += 1
        self._left -= self._used

    def refine(self) -> Peak | None:
        """Close and split cells until another plane is wanted or nothing is left; None when all are closed."""
        planes = self._planes[: self._known]
        held = self._cells, self._bounds, self._lowest
        self._used, self._left, x, y, log_tau = _refine(
            *held, self._used, planes, self._s, self._bend, self._offset, self._noise, self._left
        )
        return Peak(x, y, log_tau) if self._used else None

    @property
    def evaluations(self) -> int:
        """Evaluations of h_j so far."""
        return self._allowed - self._left

    @property
    def spent(self) -> bool:
        """Whether the evaluations allowed are used up: no plane would be of use."""
        return self._left <= 0

    @property
    def closed(self) -> float:
        """Height up to which cells are closed: the roundings of all planes."""
        return self._noise

    @property
    def bound(self) -> float:
        """Certain upper bound of the excess."""
        top = float(self._bounds[: self._used].max()) if self._used else self._noise
        return up(max(top, self._noise) + self._noise)


@inner_kernel
def _edge(s: float, a: float, b: float, p: float, q: float, x: float, y0: float, y1: float) -> float:
    """Largest s xy + a x^2 + b y^2 + p x + q y at given x, y within [y0, y1]."""
    rise = s * x + q
    y = min(max(-0.5 * rise / b, y0), y1) if b < 0.0 else (y1 if rise + b * (y0 + y1) > 0.0 else y0)
    return s * x * y + a * x * x + b * y * y + p * x + q * y


@inner_kernel
def _least(planes: FloatArray, s: float, bend: float, offset: float, c: FloatArray, first: int) -> tuple[float, int]:
    """Least over the planes of the largest h_j on a cell, and that plane's place.

    Plane `first`, which is likely to be it, comes first: of most others two edges reveal that they are not.
    """
    least, place = np.inf, first
    for turn in range(-1, len(planes)):
        j = turn if turn >= 0 else first
        if turn == first:
            continue
        p, q, a, b = planes[j, 1], planes[j, 2], -planes[j, 3], -planes[j, 4]
        height = planes[j, 0] - offset
        most = max(_edge(-s, a, b, p, q, c[0], c[2], c[3]), _edge(-s, a, b, p, q, c[1], c[2], c[3]))
        if most + height >= least:
            continue
        if a < 0.0:
            most = max(most, _edge(-s, b, a, q, p, c[2], c[0], c[1]), _edge(-s, b, a, q, p, c[3], c[0], c[1]))
        most += height
        if bend > 0.0 and most < least:
            far = max(abs(c[4] - planes[j, 5]), abs(c[5] - planes[j, 5]))
            most += 2.0 * bend * np.sinh(0.5 * far) ** 2
        if most < least:
            least, place = most, j
    return least, place


@kernel
def _lower(
    cells: FloatArray,
    bounds: FloatArray,
    lowest: IntArray,
    used: int,
    newest: FloatArray,
    number: int,
    s: float,
    bend: float,
    offset: float,
) -> None:
    """Lower all cells' bounds by a new plane."""
    for k in range(used):
        least, _ = _least(newest, s, bend, offset, cells[k], whole(0))
        if least < bounds[k]:
            bounds[k], lowest[k] = least, number


@inner_kernel
def _copy(source: FloatArray, target: FloatArray) -> None:
    """Copy a cell, number by number: a slice's assignment takes two seconds to compile."""
    for i in range(len(target)):
        target[i] = source[i]


@inner_kernel
def _longest(plane: FloatArray, s: float, bend: float, c: FloatArray) -> tuple[int, float]:
    """The axis of a cell along which h_j rises most, and its middle; -1 where no number is between its ends."""
    x, y = 0.5 * (c[0] + c[1]), 0.5 * (c[2] + c[3])
    wide, tall, long = c[1] - c[0], c[3] - c[2], c[5] - c[4]
    a, b = plane[3], plane[4]
    best, axis, half = 0.0, -1, 0.0
    for k in range(3):
        middle = 0.5 * (c[2 * k] + c[2 * k + 1])
        if k == 0:
            rise = wide * (abs(plane[1] - s * y - 2.0 * a * x) + 0.5 * tall + abs(a) * wide)
        elif k == 1:
            rise = tall * (abs(plane[2] - s * x - 2.0 * b * y) + 0.5 * wide + abs(b) * tall)
        else:
            far = max(abs(c[4] - plane[5]), abs(c[5] - plane[5]))
            rise = bend * long * np.sinh(far) if bend > 0.0 else 0.0
        if rise > best and c[2 * k] < middle < c[2 * k + 1]:
            best, axis, half = rise, 2 * k, middle
    return axis, half


@kernel
def _refine(
    cells: FloatArray,
    bounds: FloatArray,
    lowest: IntArray,
    used: int,
    planes: FloatArray,
    s: float,
    bend: float,
    offset: float,
    closed: float,
    left: int,
) -> tuple[int, int, float, float, float]:
    """Best first; returns open cells, evaluations left, and the middle of the highest where splitting cannot help."""
    point = np.empty(6)
    while True:
        top = 0
        for k in range(1, used):
            if bounds[k] > bounds[top]:
                top = k
        bound = bounds[top]
        if bound <= closed:
            return 0, left, 0.0, 0.0, 0.0
        c = cells[top]
        for k in range(3):
            point[2 * k] = point[2 * k + 1] = 0.5 * (c[2 * k] + c[2 * k + 1])
        there, _ = _least(planes, s, bend, offset, point, lowest[top])
        axis, half = _longest(planes[lowest[top]], s, bend, c)
        left -= 3 * len(planes)
        full = used + 1 >= len(cells) or left <= 0 or axis < 0
        if full or there - closed > 0.5 * (bound - closed):
            return used, left, point[0], point[2], point[4]
        _copy(c, cells[used])
        cells[used, axis + 1] = half
        cells[top, axis] = half
        first = lowest[top]
        for k in (used, top):
            bounds[k], lowest[k] = _least(planes, s, bend, offset, cells[k], first)
            bounds[k] = min(bounds[k], bound)
        used += 1
        for k in (used - 1, top):
            if bounds[k] <= closed and used > 1:
                used -= 1
                _copy(cells[used], cells[k])
                bounds[k], lowest[k] = bounds[used], lowest[used]
