"""Intervals of numbers as the values of a column meet them, exactly: whole numbers stay whole, and tenths are tenths.

Notation
--------
h : step of a column whose values are multiples of it; a multiple k h is the double that its decimals are read as.
low, high : ends of a closed interval, whole numbers of any size or doubles; None for an open end.

A double is compared with a whole number beyond 2^53 by rounding the whole number towards the inside of the interval,
and a column of steps with any end by counting whole steps: 0.3 / 0.1 is 2.9999999999999996 in doubles, and three steps.
A double next to a multiple is none: 3 * 0.1 is 0.30000000000000004, in the data and as an end.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray

#: A whole number or a double.
Number: TypeAlias = int | float

_WHOLE: Final = 2.0**53  # steps beyond it are no doubles
_INT64: Final = (-(2**63), 2**63 - 1)


def multiples(numbers: FloatArray, step: float) -> FloatArray:
    """Whole numbers times a step, as they are written: 3 times 0.1 is 0.3, the float that 0.3 is read as.

    Parameters
    ----------
    numbers : (m,), whole.
    step : h, above 0.
    """
    exact = Fraction(repr(float(step)))
    try:
        products = np.asarray(numbers * float(exact.numerator) / float(exact.denominator))
    except OverflowError:  # 1e-310 is 1 / 10^310
        return np.asarray(numbers * step)
    size = np.abs(numbers)
    for place in np.flatnonzero((size < _WHOLE) & (size * float(exact.numerator) >= _WHOLE)):
        products.flat[place] = float(int(numbers.flat[place]) * exact)  # no double has the product by the numerator
    return products


def are_multiples(values: FloatArray, step: float) -> BoolArray:
    """Return which values are whole multiples of a step, as these are written.

    Parameters
    ----------
    values : (m,), finite.
    step : h, above 0.
    """
    return np.asarray(values == multiples(np.rint(values / step), step))


def inside(low: Number | None, high: Number | None, step: float | None = None) -> tuple[float, float]:
    """The least and the greatest value that a column of doubles can have in an interval.

    Parameters
    ----------
    low, high : ends of the interval.
    step : h, where values are multiples of it.

    Returns
    -------
    (float, float)
        Infinite where an end is open. The first is above the second where the column has no value in the interval.
    """
    least = -math.inf if low is None else at_least(low)
    most = math.inf if high is None else -at_least(-high)
    if step is None:
        return least, most
    return _multiple_from(least, step), -_multiple_from(-most, step)


def at_least(end: Number) -> float:
    """The least double that is not below a number."""
    try:
        rounded = float(end)
    except OverflowError:  # a whole number beyond all doubles
        rounded = math.copysign(math.inf, 1 if end > 0 else -1)
    return math.nextafter(rounded, math.inf) if rounded < end else rounded


def _multiple_from(end: float, step: float) -> float:
    """The least multiple of a step, as a double, that is not below a double."""
    if not math.isfinite(end) or abs(end) >= _WHOLE * step:
        return end
    exact = Fraction(repr(float(step)))
    number = math.ceil(Fraction(end) / exact)
    near = multiples(np.arange(number - 1.0, number + 2.0), step) + 0.0
    return float(near[np.searchsorted(near, end)])


@dataclass(frozen=True, slots=True)
class Ends:
    """All ends of a column's boxes, to which queries are compared by their places.

    Attributes
    ----------
    values : (m,), ascending, each once, doubles or whole numbers of 64 bits.
    step : h, where values are multiples of it.
    """

    values: FloatArray | IntArray
    step: float | None = None

    def span(self, low: Number | None, high: Number | None) -> tuple[int, int]:
        """Places of the first value that is not below an interval, and of the last that is not above it.

        A box that ends at the places i <= j is in the interval where first <= i and j <= last, and meets it where first
        <= j and i <= last. Of an interval in which the column has no value both are -1: no box meets it.
        """
        if self.values.dtype.kind == "i":
            first = 0 if low is None else self._first(_whole_from(low))
            last = len(self.values) if high is None else self._first(-_whole_from(-high) + 1)
            return first, last - 1
        least, most = inside(low, high, self.step)
        if least > most:
            return -1, -1
        return int(np.searchsorted(self.values, least)), int(np.searchsorted(self.values, most, side="right")) - 1

    def _first(self, end: int) -> int:
        """Place of the first whole number that is not below another of any size."""
        if end > _INT64[1]:
            return len(self.values)
        return int(np.searchsorted(self.values, np.int64(max(end, _INT64[0]))))


def _whole_from(end: Number) -> int:
    """The least whole number that is not below a number; of infinity one beyond all of 64 bits."""
    if isinstance(end, float) and math.isinf(end):
        return 2**64 if end > 0 else -(2**64)
    return math.ceil(end)
