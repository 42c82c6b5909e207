"""The largest mean of a product of two linear combinations of columns, over all data consistent with the boxes.

Notation
--------
z = (1, z_1 .. z_m) : a constant, and m columns of the same boxes (ranges.column), shifted and scaled into [-1, 1].
w = a z, e = c z : two linear combinations; a, c : (m + 1,), the constant's coefficient first.
m_b : (B,), mass of box b: its records times their weight.  W : their sum.

The values that (w, e) takes on a box fill a polygon: from its corner of least e along sides of width_i (a_i, c_i), in
the order of their directions, and then the same way back. w e, being indefinite, has no maximum inside: it is largest
at a corner, or on a side with a_i c_i < 0 where the parabola along it peaks. The same order of sides serves all boxes.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.intervals import UNIT_ROUNDOFF
from surebox_core.types import FloatArray, IndexArray
from surebox_verify.ranges.column import BoxColumn
from surebox_verify.ranges.forms import EVERY_ORDER
from surebox_verify.ranges.mass import Mass

_CHUNK = 512
_SLACK = 64.0
_UNDERFLOW = 1e-290
_FLAT = 1e-302  # a side whose parabola bends less is taken as straight: no peak overflows


@dataclass(frozen=True)
class Largest:
    """Data for which the mean of w e is largest.

    Attributes
    ----------
    bound : certain upper bound of the sum of m_b w e, over all data; its sign is that of the mean's bound.
    order, start : (m,), sides of the polygons, and -1 where column i starts at its upper end.
    place : (B,), where on the polygon of box b, in sides: 0 to 2 m.
    """

    bound: float
    order: IndexArray
    start: FloatArray
    place: FloatArray


@dataclass(frozen=True)
class Products:
    """Columns of the same boxes, ready for means of products.

    Attributes
    ----------
    lower, upper : (m, B).
    mass : of the boxes.
    """

    lower: FloatArray
    upper: FloatArray
    mass: Mass

    @cached_property
    def sizes(self) -> FloatArray:
        """(m + 1, m + 1), upper bounds of the sums of m_b |z_i z_j|, each at its largest."""
        size = np.vstack([np.ones(self.lower.shape[1]), np.maximum(np.abs(self.lower), np.abs(self.upper))])
        return np.asarray((size * self.mass.of_box) @ size.T * (1.0 + 4.0 * size.shape[1] * UNIT_ROUNDOFF))

    @cached_property
    def centres(self) -> FloatArray:
        """(m + 1, m + 1), moments (see `moments`) of the boxes' centres."""
        z = np.vstack([np.ones(self.lower.shape[1]), 0.5 * (self.lower + self.upper)])
        return np.asarray((z * (self.mass.of_box / self.mass.middle)) @ z.T)

    def largest(self, a: FloatArray, c: FloatArray, off: FloatArray) -> Largest:
        """Where the mean of w e is largest over all data consistent with the boxes, and how large at most.

        Parameters
        ----------
        a, c : (m + 1,), the combinations.
        off : (m + 1,), how far each number of `c` may be from the one that is meant, at most.

        Notes
        -----
        A sum of 512 terms is off by 512 roundings at most, in whatever order; sums of those are exact (fsum). Corners
        are off by a few roundings for each column. A place on a side that is off by d costs a d^2. O(B m).
        """
        start = np.where((c[1:] < 0.0) | ((c[1:] == 0.0) & (a[1:] < 0.0)), -1.0, 1.0)
        steep = np.where(c[1:] == 0.0, -np.inf, -a[1:] / np.where(c[1:] == 0.0, 1.0, c[1:]))
        order = np.argsort(steep, kind="stable").astype(np.int32)
        place = np.empty(self.lower.shape[1])
        parts = _largest(self.lower, self.upper, self.mass.of_box, order, start, a, c, place)
        return Largest(math.fsum(parts) + self.rounding(a, c, off), order, start, place)

    def rounding(self, a: FloatArray, c: FloatArray, off: FloatArray) -> float:
        """How far the sum of m_b w e may be from what is meant, at most."""
        each = (_CHUNK + _SLACK * len(a)) * UNIT_ROUNDOFF
        error = float(np.abs(a) @ self.sizes @ (each * np.abs(c) + off))
        return error * (1.0 + _CHUNK * UNIT_ROUNDOFF) + _UNDERFLOW

    def moments(self, at: Largest) -> FloatArray:
        """Means of z_i z_j at given data, (m + 1, m + 1). O(B m^2)."""
        sums = np.zeros((len(self.lower) + 1, len(self.lower) + 1))
        _moments(self.lower, self.upper, self.mass.of_box, at.order, at.start, at.place, sums)
        return sums / self.mass.middle


def products(columns: tuple[BoxColumn, ...]) -> Products:
    """Prepare columns of the same boxes. O(B m)."""
    lower = np.ascontiguousarray([column.lower for column in columns])
    upper = np.ascontiguousarray([column.upper for column in columns])
    return Products(lower, upper, columns[0].mass)


@kernel(fastmath=EVERY_ORDER)
def _largest(
    lower: FloatArray,
    upper: FloatArray,
    mass: FloatArray,
    order: IndexArray,
    start: FloatArray,
    a: FloatArray,
    c: FloatArray,
    place: FloatArray,
) -> FloatArray:
    """Sums of m w e over every 512 boxes, w e at its largest, and where."""
    columns, boxes = lower.shape
    parts = np.empty((boxes + _CHUNK - 1) // _CHUNK)
    w, e, best, at = np.empty(_CHUNK), np.empty(_CHUNK), np.empty(_CHUNK), np.empty(_CHUNK)
    for chunk in range(len(parts)):
        first = chunk * _CHUNK
        size = min(_CHUNK, boxes - first)
        for b in range(size):
            w[b], e[b] = a[0], c[0]
        for i in range(columns):
            ends = lower[i] if start[i] > 0.0 else upper[i]
            for b in range(size):
                w[b] += a[i + 1] * ends[first + b]
                e[b] += c[i + 1] * ends[first + b]
        for b in range(size):
            best[b], at[b] = w[b] * e[b], 0.0
        for side in range(2 * columns):
            i = order[side % columns]
            turned = start[i] if side < columns else -start[i]
            dw, de = turned * a[i + 1], turned * c[i + 1]
            low, high = lower[i], upper[i]
            peak = -0.5 / (dw * de) if dw * de < -_FLAT else 0.0
            for b in range(size):
                width = high[first + b] - low[first + b]
                far = min(max(peak * (w[b] * de + e[b] * dw), 0.0), width) if peak > 0.0 else width
                value = (w[b] + far * dw) * (e[b] + far * de)
                more = value > best[b]
                best[b] = value if more else best[b]
                at[b] = side + far / (width if width > 0.0 else 1.0) if more else at[b]
                w[b] += width * dw
                e[b] += width * de
        total = 0.0
        for b in range(size):
            total += mass[first + b] * best[b]
            place[first + b] = at[b]
        parts[chunk] = total
    return parts


@kernel(fastmath=EVERY_ORDER)
def _moments(
    lower: FloatArray,
    upper: FloatArray,
    mass: FloatArray,
    order: IndexArray,
    start: FloatArray,
    place: FloatArray,
    out: FloatArray,
) -> None:
    """Sums of m z_i z_j at the given places of the polygons."""
    columns, boxes = lower.shape
    z = np.ones((columns + 1, _CHUNK))
    for first in range(0, boxes, _CHUNK):
        size = min(_CHUNK, boxes - first)
        for position in range(columns):
            i = order[position]
            for b in range(size):
                gone = place[first + b] - position
                share = min(max(gone, 0.0), 1.0) - min(max(gone - columns, 0.0), 1.0)
                share = share if start[i] > 0.0 else 1.0 - share
                z[i + 1, b] = lower[i, first + b] + share * (upper[i, first + b] - lower[i, first + b])
        for i in range(columns + 1):
            for j in range(i + 1):
                total = 0.0
                for b in range(size):
                    total += mass[first + b] * z[i, b] * z[j, b]
                out[i, j] += total
                out[j, i] = out[i, j]
