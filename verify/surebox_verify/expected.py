"""Where in its box a record is to be expected, from all boxes of a column: what estimates are made of.

Notation
--------
lo_b, hi_b, m_b : (B,), bounds and masses.  S_b : (B, m), sets.
f : (G,) or (m,), density of the column: share of the mass in each bin of a grid made of the bounds, or of each value.
q_bj = f_j [j in b] / sum_{i in b} f_i : where a record of box b is, given f;  f_j = sum_b m_b q_bj : the density, given
where records are.

A box's centre is a poor guess where boxes are wide and most records are at one end: the centres of Adult's boxes put
the mean of capital gains at 21,900, which is 1,421. Other boxes, narrower there, state where records are. Both
equations together are the self-consistent estimate of interval-censored data (Turnbull 1976, by expectation and
maximization); it is stopped after a fixed number of rounds from a density that is flat within each box, which keeps it
smooth. A function of the published data, and no bound of anything: guaranteed ranges do not use it.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import BoolArray, FloatArray

_BINS = 2048
_ROUNDS = 10
_LEAST = 1e-200  # widths and shares below are as good as none: nothing overflows


@dataclass(frozen=True)
class Distribution:
    """Where records of a numeric column are: (G + 1,) ends of bins, and the share of the records below each."""

    edges: FloatArray
    below: FloatArray


@dataclass(frozen=True)
class Expected:
    """Mean and variance of a record's value in each box, (B,) each."""

    mean: FloatArray
    variance: FloatArray


def expected_values(lower: FloatArray, upper: FloatArray, mass: FloatArray, step: float | None = None) -> Expected:
    """Expected value of a numeric column in each box.

    Parameters
    ----------
    lower, upper : (B,), bounds.
    mass : (B,), not negative, some above 0.
    step : whose multiples values are, or None.

    Notes
    -----
    O(B) a round, and a sort.
    """
    room = 0.0 if step is None else 0.5 * step  # a whole number represents all that round to it
    origin, unit = float(lower.min()) - room, float(upper.max()) - float(lower.min()) + 2.0 * room
    low, high = lower - room - origin, upper + room - origin
    if not (unit > _LEAST and high.max() > low.min()):  # all boxes are one point, or as good as one
        return Expected(0.5 * (lower + upper), np.zeros(len(lower)))
    edges, first, last, density = _density(low / unit, high / unit, mass)
    middle, width = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    inside = _inside(density, first, last, mass / mass.sum())
    mean = _within(density * middle, first, last) / inside
    second = _within(density * (middle**2 + width**2 / 12.0), first, last) / inside
    expected = np.clip(origin + unit * mean, lower, upper)
    most = (upper - expected) * (expected - lower)  # of values between both ends with this mean
    return Expected(expected, np.clip(unit * unit * (second - mean * mean), 0.0, np.maximum(most, 0.0)))


def distribution(lower: FloatArray, upper: FloatArray, mass: FloatArray) -> Distribution | None:
    """The density of a numeric column; None where all boxes are one point.

    Parameters
    ----------
    lower, upper : (B,), bounds; of whole numbers half a unit beyond them.
    mass : (B,), not negative, some above 0.

    Notes
    -----
    O(B) a round, and a sort.
    """
    origin, unit = float(lower.min()), float(upper.max()) - float(lower.min())
    if not unit > _LEAST:
        return None
    edges, _, _, density = _density((lower - origin) / unit, (upper - origin) / unit, mass)
    return Distribution(origin + unit * edges, np.concatenate([[0.0], np.cumsum(density)]))


def _density(
    low: FloatArray, high: FloatArray, mass: FloatArray
) -> tuple[FloatArray, np.ndarray, np.ndarray, FloatArray]:
    """Ends of the bins, each box's first bin and the one after its last, and the mass of each bin."""
    edges = _edges(np.concatenate([low, high]))
    width = np.diff(edges)
    first = np.clip(np.searchsorted(edges, low, side="right") - 1, 0, len(width) - 1)
    last = np.clip(np.searchsorted(edges, high, side="left"), first + 1, len(width))
    share = mass / mass.sum()
    density = _spread(first, last, share / np.maximum(edges[last] - edges[first], _LEAST)) * width
    for _ in range(_ROUNDS):
        density = density * _spread(first, last, share / _inside(density, first, last, share))
        density /= density.sum()
    return edges, first, last, density


def _inside(density: FloatArray, first: np.ndarray, last: np.ndarray, share: FloatArray) -> FloatArray:
    """The mass of each box: no less than its own share, which a difference of sums can fall short of."""
    return np.maximum(_within(density, first, last), np.maximum(share, _LEAST))


def expected_shares(sets: BoolArray, mass: FloatArray) -> FloatArray:
    """Probability of each value of a nominal column in each box, (B, m).

    Parameters
    ----------
    sets : (B, m), no row empty.
    mass : (B,).

    Notes
    -----
    O(B m) a round.
    """
    share = mass / mass.sum()
    held = sets.astype(np.float64)
    even = held / held.sum(axis=1, keepdims=True)
    density = share @ even
    for _ in range(_ROUNDS):
        inside = np.maximum(held @ density, 1e-300)
        density = density * ((share / inside) @ held)
    held *= density
    total = held.sum(axis=1, keepdims=True)
    np.divide(held, total, out=even, where=total > 0.0)
    return np.asarray(even)


def _edges(bounds: FloatArray) -> FloatArray:
    """Ends of the bins: the bounds, or quantiles of them where they are many."""
    edges = np.unique(bounds)
    if len(edges) <= _BINS:
        return edges
    return np.unique(edges[np.linspace(0, len(edges) - 1, _BINS).astype(np.int64)])


def _within(values: FloatArray, first: np.ndarray, last: np.ndarray) -> FloatArray:
    """Sum of values over each box's bins."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(sums[last] - sums[first])


def _spread(first: np.ndarray, last: np.ndarray, values: FloatArray) -> FloatArray:
    """Sum over the boxes of each bin."""
    bins = int(last.max()) + 1
    change = np.bincount(first, weights=values, minlength=bins) - np.bincount(last, weights=values, minlength=bins)
    return np.maximum(np.cumsum(change)[: bins - 1], 0.0)  # a sum of differences may be just below
