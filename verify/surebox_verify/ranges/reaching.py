"""What covariances and correlations reach where data are whole numbers, or the ends of boxes are some records'.

Notation
--------
x, y : two columns of the same boxes, raw bounds; h : their steps, or the values themselves of an order; None for real
    numbers.
diagonal : in a box with attained ends one record at (lo_x, lo_y) and one at (hi_x, hi_y) attain all four; so do the two
    other corners.

The search for the certain end knows neither (ranges.search): it is certain for them all the more. What it reaches may
not be such data. Here two records of every box with attained ends are put on the diagonal that helps, the other c - 2
anywhere; the climb of ranges.search goes on from there, and the data where it ends are moved to the nearest points of
the grid. So both ends of the inner range are reached by data that the release allows.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.intervals import Interval
from surebox_core.types import FloatArray
from surebox_verify.boxes import Lattice
from surebox_verify.ranges.column import BoxColumn, box_column
from surebox_verify.ranges.forms import Form, Moments, Pair, pair_of
from surebox_verify.ranges.objectives import Kind, Objective
from surebox_verify.ranges.search import climb

_ONE = Interval(1.0, 1.0)
_ANY = Interval(1e-100, 1e100)


@dataclass(frozen=True)
class Bounds:
    """One column's bounds in the boxes, (B,) each, and what its values are."""

    lower: FloatArray
    upper: FloatArray
    lattice: Lattice | None


def reached(
    kind: Kind, x: Bounds, y: Bounds, counts: FloatArray, weights: FloatArray | None, *, attained: bool
) -> Generator[int, None, Interval | None]:
    """Both ends that data reach; yields passes over the boxes. None where the data found leave the number undefined.

    Parameters
    ----------
    kind : covariance or correlation.
    x, y : raw bounds.
    counts, weights : of the boxes.
    attained : whether all ends are some record's.

    Notes
    -----
    O(B) for each of some 20 passes.
    """
    ends = []
    for s in (1.0, -1.0):
        parts = _on_diagonal(x, y, counts, weights, s) if attained else (x, y, counts, weights)
        columns = [box_column(c.lower, c.upper, parts[2], parts[3]) for c in parts[:2]]
        pair = pair_of(columns[0], columns[1])
        objective = Objective(kind, s, _ONE if kind == "covariance" else _ANY, _ONE if kind == "covariance" else _ANY)
        climbed = yield from climb(pair, objective, _moments(pair, columns[0].centre, columns[1].centre))
        form = objective.form(objective.reference(climbed.value), objective.ratio(climbed.at))
        px, py = touching(pair, form, *form.slopes(climbed.at.x, climbed.at.y))
        at = _moments(pair, _on_grid(px, columns[0], parts[0]), _on_grid(py, columns[1], parts[1]))
        ends.append(objective.value(at))
        yield 4
    if not np.isfinite(ends).all():
        return None
    unit = 0 if kind == "correlation" else columns[0].exponent + columns[1].exponent
    return Interval(*sorted((-ends[1], ends[0]))).scaled(unit)


def _on_diagonal(
    x: Bounds, y: Bounds, counts: FloatArray, weights: FloatArray | None, s: float
) -> tuple[Bounds, Bounds, FloatArray, FloatArray | None]:
    """Boxes with attained ends as two corners and a box for the rest."""
    wide = (x.lower < x.upper) | (y.lower < y.upper)
    rest = np.where(wide, counts - 2.0, counts)
    among = rest > 0.0
    lows, highs = (y.lower, y.upper) if s > 0.0 else (y.upper, y.lower)
    split_x = Bounds(
        np.concatenate([x.lower[among], x.lower[wide], x.upper[wide]]),
        np.concatenate([x.upper[among], x.lower[wide], x.upper[wide]]),
        x.lattice,
    )
    split_y = Bounds(
        np.concatenate([y.lower[among], lows[wide], highs[wide]]),
        np.concatenate([y.upper[among], lows[wide], highs[wide]]),
        y.lattice,
    )
    one = np.ones(int(wide.sum()))
    held = None if weights is None else np.concatenate([weights[among], weights[wide], weights[wide]])
    return split_x, split_y, np.concatenate([rest[among], one, one]), held


def _on_grid(values: FloatArray, column: BoxColumn, bounds: Bounds) -> FloatArray:
    """Scaled values moved to the nearest points of the grid, within the box."""
    if bounds.lattice is None:
        return values
    raw = np.ldexp(values, column.exponent) + column.reference
    rounded = np.clip(_nearest(raw, bounds.lattice), bounds.lower, bounds.upper)
    return np.ldexp(rounded - column.reference, -column.exponent)


def _nearest(values: FloatArray, lattice: Lattice) -> FloatArray:
    if not isinstance(lattice, tuple):
        return np.asarray(np.rint(values / lattice) * lattice)
    labels = np.array(lattice)
    return np.asarray(labels[np.searchsorted(0.5 * labels[1:] + 0.5 * labels[:-1], values)])


def _moments(pair: Pair, x: FloatArray, y: FloatArray) -> Moments:
    """Of one value in each box."""
    share = pair.x.mass.of_box / pair.x.mass.middle
    mean_x, mean_y = float(share @ x), float(share @ y)
    u, v = x - mean_x, y - mean_y
    return Moments(mean_x, mean_y, float(share @ (u * u)), float(share @ (v * v)), float(share @ (u * v)))


def touching(pair: Pair, form: Form, p: float, q: float) -> tuple[FloatArray, FloatArray]:
    """Where g - p x - q y is largest in each box: on one of four edges, each in closed form (ranges.forms). O(B)."""
    x, y = pair.x, pair.y
    tried_x, tried_y = [], []
    for end in (x.lower, x.upper):
        tried_x.append(end)
        tried_y.append(_along(y.lower, y.upper, form.s * end - q, form.b))
    for end in (y.lower, y.upper):
        tried_x.append(_along(x.lower, x.upper, form.s * end - p, form.a))
        tried_y.append(end)
    px, py = np.array(tried_x), np.array(tried_y)
    value = form.s * px * py + form.a * px * px + form.b * py * py - p * px - q * py
    best = np.argmax(value, axis=0)
    each = np.arange(px.shape[1])
    return px[best, each], py[best, each]


def _along(low: FloatArray, high: FloatArray, rise: FloatArray, bend: float) -> FloatArray:
    """Where rise t + bend t^2 is largest between two ends."""
    if bend < 0.0:
        return np.clip(-0.5 * rise / bend, low, high)
    return np.where(rise + bend * (low + high) > 0.0, high, low)
