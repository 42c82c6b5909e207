"""The largest mean of a quadratic form over all data consistent with the boxes of two columns.

Notation
--------
x, y : two columns of the boxes (ranges.column), shifted and scaled into [-1, 1].
m_b : (B,), mass of box b: its records times their weight.  W : their sum.
g(x, y) = s xy + a x^2 + b y^2, s = 1 or -1; a and b of the same sign or 0, and a b <= 1/4 where both are negative.
p, q : Lagrange multipliers of the means X = E_x and Y = E_y.
phi = (1/W) sum_b m_b max over box b of g(x, y) - p x - q y: a *plane* above the moments, since for all data consistent
    with the boxes  E[g] <= phi + p X + q Y.

g has no maximum inside a rectangle (it is indefinite, convex, or a b = 1/4 and constant along a line), so it is one of
four on the edges, each in closed form; two edges suffice where a >= 0. The largest values are taken at data, and the
moments of those data are returned next to phi: what they reach bounds every range from inside.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.intervals import UNIT_ROUNDOFF, up
from surebox_core.types import FloatArray, IndexArray
from surebox_verify.ranges.column import BoxColumn

EVERY_ORDER = {"reassoc", "nsz", "contract", "nnan", "ninf"}  # sums in any order: the error bound is valid for each
_STEEP = 1e300  # slope to place where a form is linear along an edge: an end
_SLACK = 128.0
_UNDERFLOW = 1e-300


@dataclass(frozen=True)
class Form:
    """Coefficients of g."""

    s: float
    a: float
    b: float

    def at(self, x: float, y: float) -> float:
        """Value of g."""
        return self.s * x * y + self.a * x * x + self.b * y * y

    def slopes(self, x: float, y: float) -> tuple[float, float]:
        """Derivatives of g."""
        return self.s * y + 2.0 * self.a * x, self.s * x + 2.0 * self.b * y


@dataclass(frozen=True)
class Moments:
    """Means, variances and covariance of two scaled columns, as some data reach them."""

    x: float
    y: float
    xx: float
    yy: float
    xy: float


@dataclass(frozen=True)
class Plane:
    """A certain upper bound E[g] <= phi + p X + q Y, and the data that touch it; `error` is phi's rounding margin."""

    form: Form
    phi: float
    error: float
    p: float
    q: float
    touched: Moments


@dataclass(frozen=True)
class Within:
    """What the records of a box do about its means, where bounds are those of means (ranges.contents).

    Attributes
    ----------
    xx, yy : (B,), largest mean square of x and of y about their means.
    least, most : (B,), extremes of the mean product; at most sqrt(xx yy) in size.
    """

    xx: FloatArray
    yy: FloatArray
    least: FloatArray
    most: FloatArray

    def largest(self, form: Form) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean squares and mean product for which s xy + a xx + b yy is largest.

        Of a, b < 0 squares are as small as the product d allows, xx yy = d^2, in the ratio b : a unless one is at its
        largest; the sum is then concave in d, rising up to where one is, and has its peak in closed form beyond.
        """
        most = self.most if form.s > 0.0 else -self.least
        if not (form.a < 0.0 and form.b < 0.0):
            return self.xx, self.yy, form.s * most
        a, b = -form.a, -form.b
        ratio = np.sqrt(b / a)
        of_x, of_y = self.xx / ratio, self.yy * ratio  # products where either square is at its largest
        at_x = of_x <= of_y
        turn = np.minimum(of_x, of_y)
        peak = np.where(at_x, 0.5 * self.xx / b, 0.5 * self.yy / a)
        d = np.minimum(np.maximum(peak, turn), most)
        square = d * d
        safe_x, safe_y = np.where(self.xx > 0.0, self.xx, 1.0), np.where(self.yy > 0.0, self.yy, 1.0)
        beyond = d > turn
        xx = np.where(beyond, np.where(at_x, self.xx, square / safe_y), d * ratio)
        yy = np.where(beyond, np.where(at_x, square / safe_x, self.yy), d / ratio)
        return xx, yy, form.s * d


@dataclass(frozen=True)
class ContentBounds:
    """Bounds of means that are nearer than those of all, and what records do about means between them.

    Attributes
    ----------
    sides : x_low, x_high, y_low, y_high, (B,) each.
    """

    sides: tuple[FloatArray, FloatArray, FloatArray, FloatArray]
    within: Within


@dataclass(frozen=True)
class Pair:
    """Two columns of the same boxes, and sums of magnitudes for the rounding error.

    Attributes
    ----------
    sizes : sums of m |x||y|, m x^2, m y^2, m |x|, m |y|, each at its largest.
    within : what records do about the means, where the bounds are those of means; else None.
    parts : where the bounds are those of means: the means of each box are in one of these at least.
    """

    x: BoxColumn
    y: BoxColumn
    sizes: tuple[float, float, float, float, float]
    within: Within | None = None
    parts: tuple[ContentBounds, ...] = ()


def pair_of(x: BoxColumn, y: BoxColumn) -> Pair:
    """Prepare two columns of the same boxes. O(B)."""
    ax, ay, m = x.size, y.size, x.mass.of_box
    sums = (m @ (ax * ay), m @ (ax * ax), m @ (ay * ay), m @ ax, m @ ay)
    xy, xx, yy, first, second = (float(each) for each in sums)
    return Pair(x, y, (xy, xx, yy, first, second))


def plane(pair: Pair, form: Form, p: float, q: float) -> Plane:
    """The plane of slopes p, q above all data.

    Parameters
    ----------
    pair : the columns.
    form : g.
    p, q : multipliers, any two numbers.

    Notes
    -----
    The rounding error of the sum, in any order, is at most gamma of the terms' magnitudes; a place on an edge that is
    off by d costs a d^2, within the same magnitudes. O(B).
    """
    x, y = pair.x, pair.y
    if x.mass.ends is not None:
        return _plane_of_masses(pair, form, p, q)
    if pair.parts:
        sums = _sums_over_parts(pair, form, p, q)
    else:
        sides = (x.lower, x.upper, y.lower, y.upper, x.mass.of_box)
        sums = np.array(_sum_of_largest(*sides, form.s, form.a, form.b, p, q))
    size = float(np.dot(pair.sizes, (1.0, abs(form.a), abs(form.b), abs(p), abs(q))))
    error = (2.0 * len(x.mass.of_box) + _SLACK) * UNIT_ROUNDOFF * size + _UNDERFLOW
    total = float(sums[0]) + error
    mass = x.mass.total
    phi = up(up(total) / (mass.lower if total > 0.0 else mass.upper))
    mean_x, mean_y, xx, yy, xy = (float(each) / x.mass.middle for each in sums[1:])
    moments = Moments(
        mean_x, mean_y, max(xx - mean_x * mean_x, 0.0), max(yy - mean_y * mean_y, 0.0), xy - mean_x * mean_y
    )
    return Plane(form, phi, error / mass.lower, p, q, moments)


def _plane_of_masses(pair: Pair, form: Form, p: float, q: float) -> Plane:
    """The same for all masses within their intervals; what touches it has those for which the mean is largest."""
    x, y = pair.x, pair.y
    values = np.empty((3, len(x.lower)))
    _largest_of_each(x.lower, x.upper, y.lower, y.upper, form.s, form.a, form.b, p, q, values)
    size = 1.0 + abs(form.a) + abs(form.b) + abs(p) + abs(q)  # of scaled columns
    error = _SLACK * UNIT_ROUNDOFF * size + _UNDERFLOW
    most, masses = x.mass.largest(values[0])
    phi, share = up(most + error), masses / masses.sum()
    at_x, at_y = values[1], values[2]
    mean_x, mean_y = float(share @ at_x), float(share @ at_y)
    u, v = at_x - mean_x, at_y - mean_y
    moments = Moments(mean_x, mean_y, float(share @ (u * u)), float(share @ (v * v)), float(share @ (u * v)))
    return Plane(form, phi, error, p, q, moments)


def _sums_over_parts(pair: Pair, form: Form, p: float, q: float) -> FloatArray:
    """What `_sum_of_largest` has, for the part of each box where g is largest with what its records do there."""
    count = len(pair.x.mass.of_box)
    best, values = np.full((6, count), -np.inf), np.empty((6, count))
    for part in pair.parts:
        xx, yy, xy = part.within.largest(form)
        _largest_of_each(*part.sides, form.s, form.a, form.b, p, q, values[:3])
        values[0] += form.s * xy + form.a * xx + form.b * yy
        values[3] = values[1] * values[1] + xx
        values[4] = values[2] * values[2] + yy
        values[5] = values[1] * values[2] + xy
        np.copyto(best, values, where=values[0] > best[0])
    return np.asarray(best @ pair.x.mass.of_box)


def places(pair: Pair, plane: Plane, boxes: IndexArray) -> tuple[FloatArray, FloatArray]:
    """Where a plane touches given boxes: x and y, (T,) each. O(T)."""
    x, y, form, one = pair.x, pair.y, plane.form, np.ones(1)
    points = []
    for b in boxes:
        own = slice(b, b + 1)
        sides = (x.lower[own], x.upper[own], y.lower[own], y.upper[own], one)
        points.append(_sum_of_largest(*sides, form.s, form.a, form.b, plane.p, plane.q)[1:3])
    at = np.array(points)
    return at[:, 0], at[:, 1]


@inner_kernel(fastmath=EVERY_ORDER, inline="always")
def _largest(
    x0: float, x1: float, y0: float, y1: float, s: float, a: float, b: float, p: float, q: float
) -> tuple[float, float, float]:
    """The largest g of a box, and x and y there."""
    to_x = -0.5 / a if a < 0.0 else _STEEP
    to_y = -0.5 / b if b < 0.0 else _STEEP
    rise = max(b, 0.0) * (y0 + y1) - q
    x, y = x0, min(max((s * x0 + rise) * to_y, y0), y1)
    best = s * x * y + a * x * x + b * y * y - p * x - q * y
    other = min(max((s * x1 + rise) * to_y, y0), y1)
    value = s * x1 * other + a * x1 * x1 + b * other * other - p * x1 - q * other
    more = value > best
    x, y, best = (x1 if more else x), (other if more else y), (value if more else best)
    if a < 0.0:
        other = min(max((s * y0 - p) * to_x, x0), x1)
        value = s * other * y0 + a * other * other + b * y0 * y0 - p * other - q * y0
        more = value > best
        x, y, best = (other if more else x), (y0 if more else y), (value if more else best)
        other = min(max((s * y1 - p) * to_x, x0), x1)
        value = s * other * y1 + a * other * other + b * y1 * y1 - p * other - q * y1
        more = value > best
        x, y, best = (other if more else x), (y1 if more else y), (value if more else best)
    return best, x, y


@kernel(fastmath=EVERY_ORDER)
def _sum_of_largest(
    x_low: FloatArray,
    x_high: FloatArray,
    y_low: FloatArray,
    y_high: FloatArray,
    mass: FloatArray,
    s: float,
    a: float,
    b: float,
    p: float,
    q: float,
) -> tuple[float, float, float, float, float, float]:
    """Sums of m g at its largest over each box, and of m x, m y, m x^2, m y^2, m xy there."""
    total = sum_x = sum_y = sum_xx = sum_yy = sum_xy = 0.0
    for k in range(len(mass)):
        best, x, y = _largest(x_low[k], x_high[k], y_low[k], y_high[k], s, a, b, p, q)
        w = mass[k]
        total += w * best
        sum_x += w * x
        sum_y += w * y
        sum_xx += w * x * x
        sum_yy += w * y * y
        sum_xy += w * x * y
    return total, sum_x, sum_y, sum_xx, sum_yy, sum_xy


@kernel(fastmath=EVERY_ORDER)
def _largest_of_each(
    x_low: FloatArray,
    x_high: FloatArray,
    y_low: FloatArray,
    y_high: FloatArray,
    s: float,
    a: float,
    b: float,
    p: float,
    q: float,
    out: FloatArray,
) -> None:
    """G at its largest over each box, and x and y there, into (3, B)."""
    for k in range(out.shape[1]):
        out[0, k], out[1, k], out[2, k] = _largest(x_low[k], x_high[k], y_low[k], y_high[k], s, a, b, p, q)
