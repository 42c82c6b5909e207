"""What each box counts for: its records, each with the box's weight.

Notation
--------
c_b : (B,), records in box b.  w_b : (B,), weight of each of them, 1 where not weighted.
m_b = c_b w_b : mass.  W : sum of masses, N where not weighted. A weighted mean is (1/W) sum_b m_b x_b.
"""

from dataclasses import dataclass

import numpy as np

from surebox_verify.core.intervals import UNIT_ROUNDOFF, Interval, dot, down, up
from surebox_verify.core.types import FloatArray


@dataclass(frozen=True)
class Mass:
    """Masses of the boxes.

    Attributes
    ----------
    of_box : (B,), m_b, rounded.
    of_record : (B,), w_b.
    total : certain bounds of W.
    slack : largest relative rounding error of a mass; 0 for counts.
    """

    of_box: FloatArray
    of_record: FloatArray
    total: Interval
    slack: float

    @property
    def middle(self) -> float:
        """W, rounded."""
        return 0.5 * self.total.lower + 0.5 * self.total.upper

    def mean(self, values: FloatArray) -> Interval:
        """Certain bounds of the weighted mean of one value per box, (B,) -> interval. O(B)."""
        found = dot(self.of_box, values)
        if self.slack > 0.0:
            error = up(self.slack * up(dot(self.of_box, np.abs(values)).upper))
            found = Interval(down(found.lower - error), up(found.upper + error))
        return found / self.total


def mass_of(counts: FloatArray, weights: FloatArray | None = None) -> Mass:
    """Masses from published counts and weights.

    Parameters
    ----------
    counts : (B,) whole numbers, each at least 1, exact in float64.
    weights : (B,), finite, at least 0, of each record of a box; None for 1. Their unit does not matter: a statistic
        is that of the weights divided by their sum over all records.

    Raises
    ------
    ValueError
        No mass at all, or weights that are no weights.
    """
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    if weights is None:
        records = float(counts.sum())
        return Mass(counts, np.ones_like(counts), Interval(records, records), 0.0)
    if not (np.isfinite(weights).all() and (weights >= 0.0).all() and (weights > 0.0).any()):
        msg = "weights must be finite and at least 0, one of them above 0"
        raise ValueError(msg)
    exponent = int(np.frexp(weights.max())[1])
    each = np.ldexp(weights, -exponent)  # a power of two: the shares stay as they are, and nothing over- or underflows
    return Mass(counts * each, each, dot(counts, each), 2.0 * UNIT_ROUNDOFF)
