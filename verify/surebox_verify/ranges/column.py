"""One column of the boxes, shifted and scaled for safe arithmetic, with the guaranteed ranges of its mean and variance.

Notation
--------
lo_b, hi_b : (B,), bounds of the column in box b.
m_b : (B,), mass of box b: its records, times the weight of each where weighted.  W : their sum.
r, e : reference value and exponent; the arrays contain (lo_b - r) 2^-e and (hi_b - r) 2^-e, rounded outward,
    within [-1, 1].
E, V : mean and variance (population form, or weighted with weights m / W) of any data consistent with the boxes.

Tight boxes are boxes without a condition: both ends are some record's, and records of a box are exchangeable, so of one
column nothing is lost by [lo, lo] once, [hi, hi] once, [lo, hi] c_b - 2 times (c_b records). Of several columns one
record may be at the ends of more than one (ranges.forms counts those). Means and variances are 39 % narrower than
without it (science.md section 5, "Tight bounds are attained").

Shifting by r leaves the variance and covariance as they are and powers of two are exact, so that nothing is lost to a
mean far from zero. Ranges are valid for the closed boxes, and therefore for the half-open ones.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surebox_core.intervals import UNIT_ROUNDOFF, Interval, difference, down, up
from surebox_core.types import FloatArray
from surebox_verify.boxes import Lattice
from surebox_verify.ranges.grids import least_variance_on_grid, points_of
from surebox_verify.ranges.guaranteed import Range, certain, combine
from surebox_verify.ranges.mass import Mass, mass_of

_TINY = 1e-290
_MARGIN = 8.0 * UNIT_ROUNDOFF  # a square or product of two rounded differences is within 4 u of the exact one
_KNOWN = 2.0**-36  # play, in deviations
_UNDERFLOW = 1e-160  # more than squares lose by it, on average
_SECANTS = 40
_BISECTIONS = 64


@dataclass(frozen=True)
class BoxColumn:
    """Shifted, scaled bounds of one column, and what its mean and variance certainly are."""

    lower: FloatArray
    upper: FloatArray
    mass: Mass
    reference: float
    exponent: int
    scaled_mean: Interval
    mean: Range
    variance: Range

    @property
    def size(self) -> FloatArray:
        """(B,), largest magnitude in each box."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def centre(self) -> FloatArray:
        """(B,), middles."""
        return 0.5 * (self.lower + self.upper)

    @property
    def deviation(self) -> Interval:
        """Range of the scaled standard deviation."""
        return certain(self.variance.outer).scaled(-2 * self.exponent).square_root()

    @cached_property
    def play(self) -> float:
        """Root mean square of the half-widths, scaled, rounded up."""
        half = 0.5 * (self.upper - self.lower)
        return up(math.sqrt(up(self.mass.mean(half * half).upper * (1.0 + _MARGIN))) + _UNDERFLOW)

    @property
    def known(self) -> bool:
        """Whether the boxes, and their masses, leave the column no room to speak of."""
        if self.mass.ends is not None:
            return False
        return self.play <= _KNOWN * self.deviation.upper or bool((self.lower == self.upper).all())


def box_column(
    lower: FloatArray,
    upper: FloatArray,
    counts: FloatArray,
    weights: FloatArray | None = None,
    *,
    attained: bool = False,
    grid: Lattice | None = None,
) -> BoxColumn:
    """Prepare one column.

    Parameters
    ----------
    lower, upper : (B,), bounds, finite, magnitudes at most 1e150 or a little above.
    counts : (B,) float64 whole numbers, each at least 1.
    weights : (B,), weight of each record of a box; None for 1 (ranges.mass).
    attained : whether both ends of every box are some record's (tight bounds).
    grid : the step whose multiples all values are, bounds included: 1 for whole numbers and days; or what values are,
        of an order; None for any numbers.

    Notes
    -----
    O(B log B) for the sort of the variance's upper end.
    """
    mass = mass_of(counts, weights)
    parts = divided_at_ends(lower, upper, counts, weights) if attained else Parts(lower, upper, counts, weights)
    of_parts = mass_of(parts.counts, parts.weights) if attained else mass
    mean = mean_of(parts.lower, parts.upper, of_parts)
    reference = 0.5 * (mean.lower + mean.upper)
    low, high = difference(lower, reference, -np.inf), difference(upper, reference, np.inf)
    size = max(float(np.abs(low).max()), float(np.abs(high).max()))
    exponent = int(np.frexp(size)[1])
    low, high = _scaled(low, high, exponent)
    apart = (low, high, mass)
    if attained:
        ends = difference(parts.lower, reference, -np.inf), difference(parts.upper, reference, np.inf)
        apart = (*_scaled(*ends, exponent), of_parts)
    least, most = least_variance(*apart), _largest_variance(*apart)
    if grid is not None:
        on_grid = least_variance_on_grid(*apart, points_of(grid, reference, exponent), _pulled_nowhere(*apart))
        least = max(least[0], on_grid[0]), on_grid[1]
    outer = Interval(least[0], most[0]).scaled(2 * exponent)
    inner = Interval(least[1], max(most[1], least[1])).scaled(2 * exponent)
    return BoxColumn(
        lower=low,
        upper=high,
        mass=mass,
        reference=reference,
        exponent=exponent,
        scaled_mean=mean_of(*apart),
        mean=combine(mean, mean),
        variance=combine(Interval(max(outer.lower, 0.0), outer.upper), inner),
    )


def _scaled(low: FloatArray, high: FloatArray, exponent: int) -> tuple[FloatArray, FloatArray]:
    """Shifted bounds times 2^-e, outward."""
    return _outward_tiny(np.ldexp(low, -exponent), -np.inf), _outward_tiny(np.ldexp(high, -exponent), np.inf)


def _outward_tiny(values: FloatArray, towards: float) -> FloatArray:
    """Undo what underflow may have rounded inward."""
    tiny = (np.abs(values) < _TINY) & (values != 0.0)
    return np.where(tiny, np.nextafter(values, towards), values)


def mean_of(lower: FloatArray, upper: FloatArray, mass: Mass) -> Interval:
    """E is in [sum m lo / W, sum m hi / W]: exact, both ends reached."""
    return Interval(mass.mean(lower).lower, mass.mean(upper).upper)


def _pull(mu: float, lower: FloatArray, upper: FloatArray, mass: Mass) -> tuple[float, float]:
    """Sum of m (mu - clip(mu, lo, hi)), and a bound of its rounding error."""
    term = mass.of_box * (np.maximum(mu - upper, 0.0) - np.maximum(lower - mu, 0.0))
    return float(term.sum()), 2.0 * (len(term) + 4) * UNIT_ROUNDOFF * float(np.abs(term).sum())


def least_variance(lower: FloatArray, upper: FloatArray, mass: Mass) -> tuple[float, float]:
    """Certain lower bound of V's minimum, and the value reached.

    min_x V = min_mu (1/W) sum m dist(mu, [lo, hi])^2 =: min f
    (science.md section 1, "Guaranteed ranges": the fixed point of E = mean(clip(E, lo, hi))). f is convex with
    f' = 2 pull / W, so f(mu*) >= f(mu) - 2 |pull(mu)| |mu* - mu| / W.
    """
    mu = _pulled_nowhere(lower, upper, mass)
    distance = np.maximum(np.maximum(lower - mu, mu - upper), 0.0)
    value = mass.mean(distance * distance)
    pull, error = _pull(mu, lower, upper, mass)
    slack = up(up(2.0 * up(abs(pull) + error) * _reach(mu, lower, upper, mass)) / mass.total.lower)
    least = down(down(value.lower * (1.0 - _MARGIN)) - slack)
    return max(least, 0.0), max(0.5 * (value.lower + value.upper), 0.0)


def _pulled_nowhere(lower: FloatArray, upper: FloatArray, mass: Mass) -> float:
    """Where the pull changes sign, to rounding: secants (Illinois: an end kept twice counts half), else bisection."""
    below, above = float(lower.min()), float(upper.max())
    left, right = (_pull(end, lower, upper, mass)[0] for end in (below, above))
    kept = 0
    for turn in range(_SECANTS + _BISECTIONS):
        middle = 0.5 * (below + above)
        if not below < middle < above:
            break
        if turn < _SECANTS and left < 0.0 < right:
            crossing = below - left * (above - below) / (right - left)
            middle = crossing if below < crossing < above else middle
        pull, error = _pull(middle, lower, upper, mass)
        if abs(pull) <= error:
            return middle
        if pull < 0.0:
            below, left, right = middle, pull, 0.5 * right if kept > 0 else right
            kept = 1
        else:
            above, right, left = middle, pull, 0.5 * left if kept < 0 else left
            kept = -1
    return 0.5 * (below + above)


def _reach(mu: float, lower: FloatArray, upper: FloatArray, mass: Mass) -> float:
    """How far the minimiser can be from mu: as little as the signs of the derivative on both sides prove."""
    for distance in (2.0**-45, 2.0**-30, 2.0**-15):
        left, left_error = _pull(mu - distance, lower, upper, mass)
        right, right_error = _pull(mu + distance, lower, upper, mass)
        if left + left_error < 0.0 < right - right_error:
            return distance
    return 2.0


def _largest_variance(lower: FloatArray, upper: FloatArray, mass: Mass) -> tuple[float, float]:
    """Certain upper bound of V's maximum, and the value that the vertex assignment reaches.

    max_x V = max_x min_mu <= min_mu (1/W) sum m max((lo - mu)^2, (hi - mu)^2); any mu gives a certain bound, the best
    one is where mu equals the mean of the far ends, found in one sort by midpoints (science.md section 1, "Guaranteed
    ranges").
    """
    middle = 0.5 * (lower + upper)
    by_middle = np.argsort(middle, kind="stable")
    shift = np.concatenate([[0.0], np.cumsum((mass.of_box * (upper - lower))[by_middle])])
    # the first j boxes at their lower ends, the rest at their upper
    far_mean = (float(mass.of_box @ upper) - shift) / mass.middle
    crossed = far_mean[1:] < middle[by_middle]
    j = int(np.argmax(crossed)) if crossed.any() else len(middle)
    at_kink = j < len(middle) and far_mean[j] > middle[by_middle[j]]
    mu = float(middle[by_middle[j]]) if at_kink else float(far_mean[j])
    far = np.maximum(np.abs(lower - mu), np.abs(upper - mu))
    bound = up(mass.mean(far * far).upper * (1.0 + _MARGIN))
    rank = np.empty(len(middle), dtype=np.int64)
    rank[by_middle] = np.arange(len(middle))
    z = np.where(rank < j, lower, upper) - mu
    return up(bound), _split_variance(z, lower - mu, mass, int(by_middle[j]) if j < len(middle) else 0)


def _split_variance(z: FloatArray, lower: FloatArray, mass: Mass, kink: int) -> float:
    """Largest variance when whole records of the kink box go to its lower end, the other records staying at z.

    Records of a box are exchangeable, so counts are enumerated and not subsets; V is concave in the count, so the two
    whole numbers about its real maximum suffice.
    """
    first = float(mass.of_box @ z) / mass.middle
    second = float(mass.of_box @ (z * z)) / mass.middle
    each = float(mass.of_record[kink]) / mass.middle  # share of one record
    width = float(z[kink] - lower[kink])
    square = float(z[kink] ** 2 - lower[kink] ** 2)
    if not (width > 0.0 and each > 0.0):
        return second - first * first
    records = round(float(mass.of_box[kink] / mass.of_record[kink]))
    best = (first / width - 0.5 * square / (width * width)) / each
    options = [min(max(o, 0.0), float(records)) for o in (np.floor(best), np.ceil(best), 0.0)]
    return max(second - o * each * square - (first - o * each * width) ** 2 for o in options)


@dataclass(frozen=True)
class Parts:
    """Boxes of one column; `weights` None where all records count 1."""

    lower: FloatArray
    upper: FloatArray
    counts: FloatArray
    weights: FloatArray | None


def divided_at_ends(lower: FloatArray, upper: FloatArray, counts: FloatArray, weights: FloatArray | None) -> Parts:
    """The parts of boxes with attained ends.

    Parameters
    ----------
    lower, upper : (B,), bounds; where they differ the box has two records at least.
    counts : (B,) float64 whole numbers.
    weights : (B,), of each record of a box, or None.

    Raises
    ------
    ValueError
        A single record at two ends.
    """
    wide = lower < upper
    if (counts[wide] < 2.0).any():
        msg = "a box of one record cannot have two different ends that are both someone's"
        raise ValueError(msg)
    rest = np.where(wide, counts - 2.0, counts)
    among, one = rest > 0.0, np.ones(int(wide.sum()))
    return Parts(
        np.concatenate([lower[among], lower[wide], upper[wide]]),
        np.concatenate([upper[among], lower[wide], upper[wide]]),
        np.concatenate([rest[among], one, one]),
        None if weights is None else np.concatenate([weights[among], weights[wide], weights[wide]]),
    )
