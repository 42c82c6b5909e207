"""Sums with a certain error bound, and intervals rounded outward.

Notation
--------
u : unit roundoff of float64, 2**-53.
gamma : n u / (1 - n u), the growth of n roundings.

Sources: Dekker 1971 (error-free product), Knuth (error-free sum), Ogita, Rump, Oishi 2005, Proposition 5.5 (dot product
as if in twofold precision). Python's floats and numpy's round to nearest; one step of `nextafter` beyond a correctly
rounded result is therefore a certain bound. No kernel here is compiled with fastmath: it would undo the error terms.
"""

import math
from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray

UNIT_ROUNDOFF = 2.0**-53
_SPLITTER = 134217729.0  # 2**27 + 1
_SMALLEST = 5e-324


@inner_kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Sum and its rounding error, a + b = s + e exactly (Knuth)."""
    s = a + b
    z = s - a
    return s, (a - (s - z)) + (b - z)


@inner_kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """Product and its rounding error, a b = p + e exactly (Dekker), for magnitudes below 2**990."""
    p = a * b
    c = _SPLITTER * a
    a_high = c - (c - a)
    a_low = a - a_high
    c = _SPLITTER * b
    b_high = c - (c - b)
    b_low = b - b_high
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


@kernel
def _dot2(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """Ogita, Rump, Oishi, algorithm 5.3, and the sum of magnitudes for its bound."""
    total = 0.0
    error = 0.0
    size = 0.0
    for i in range(len(a)):
        p, e = two_product(a[i], b[i])
        total, f = two_sum(total, p)
        error += e + f
        size += abs(p)
    return total + error, size


@dataclass(frozen=True)
class Interval:
    """A closed interval that certainly contains a real number."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """Upper less lower end, in the interval's unit."""
        return self.upper - self.lower

    @property
    def magnitude(self) -> float:
        """Largest absolute value."""
        return max(abs(self.lower), abs(self.upper))

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(down(self.lower + other.lower), up(self.upper + other.upper))

    def __sub__(self, other: "Interval") -> "Interval":
        return Interval(down(self.lower - other.upper), up(self.upper - other.lower))

    def __mul__(self, other: "Interval") -> "Interval":
        ends = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Interval(down(min(ends)), up(max(ends)))

    def __truediv__(self, other: "Interval") -> "Interval":
        if other.lower <= 0.0 <= other.upper:
            msg = "an interval that contains zero does not divide"
            raise ZeroDivisionError(msg)
        ends = [a / b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Interval(down(min(ends)), up(max(ends)))

    def __neg__(self) -> "Interval":
        return Interval(-self.upper, -self.lower)

    def square_root(self) -> "Interval":
        """Range of the square root over the interval's part above zero."""
        lower = max(self.lower, 0.0)
        return Interval(down(math.sqrt(lower)) if lower > 0.0 else 0.0, up(math.sqrt(max(self.upper, 0.0))))

    def intersect(self, other: "Interval") -> "Interval":
        """The intersection; both are certain, so they meet."""
        return Interval(max(self.lower, other.lower), min(self.upper, other.upper))

    def clip(self, value: float) -> float:
        """The point of the interval nearest to a value."""
        return min(max(value, self.lower), self.upper)

    def scaled(self, exponent: int) -> "Interval":
        """The interval times a power of two; exact but where it under- or overflows, and there outward."""
        lower, upper = times_power(self.lower, exponent), times_power(self.upper, exponent)
        exact = times_power(lower, -exponent) == self.lower and times_power(upper, -exponent) == self.upper
        return Interval(lower, upper) if exact else Interval(down(lower), up(upper))


def times_power(value: float, exponent: int) -> float:
    """Return a value times a power of two, rounded; infinite beyond the largest float."""
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.copysign(math.inf, value)


def down(value: float) -> float:
    """Return the next float below."""
    return math.nextafter(value, -math.inf)


def up(value: float) -> float:
    """Return the next float above."""
    return math.nextafter(value, math.inf)


def dot(a: FloatArray, b: FloatArray) -> Interval:
    """Certain bounds of the dot product of two float64 vectors.

    Parameters
    ----------
    a, b : (m,) arrays, magnitudes below 1e150.

    Returns
    -------
    Interval
        Contains the exact sum of a_i b_i; about two units in the last place wide.

    Notes
    -----
    Ogita, Rump, Oishi 2005, Proposition 5.5: the error is at most u |sum| + gamma^2 sum |a b|; both terms are doubled
    for the roundings in evaluating them, and underflow of the error terms is added. O(m).
    """
    value, size = _dot2(np.ascontiguousarray(a), np.ascontiguousarray(b))
    gamma = 2.0 * len(a) * UNIT_ROUNDOFF
    error = 2.0 * UNIT_ROUNDOFF * abs(value) + 2.0 * gamma * gamma * size + 8.0 * (len(a) + 1) * _SMALLEST
    return Interval(down(value - error), up(value + error))


def total(a: FloatArray) -> Interval:
    """Certain bounds of the sum of a float64 vector."""
    return dot(a, np.ones_like(a))


def difference(a: FloatArray, b: float, towards: float) -> FloatArray:
    """Difference a - b, rounded towards minus or plus infinity where it is not exact.

    Parameters
    ----------
    a : (m,) array.
    b : number subtracted from each.
    towards : -inf or inf, the direction of rounding.
    """
    s = a - b
    z = s - a
    error = (a - (s - z)) - (b + z)
    wrong = error < 0.0 if towards < 0.0 else error > 0.0
    return np.where(wrong, np.nextafter(s, towards), s)
