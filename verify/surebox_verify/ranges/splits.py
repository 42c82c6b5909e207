"""What data reach when the records of a box are divided, in whole numbers, among its corners.

Notation
--------
f : the value to be made large (ranges.objectives).  M = (E x, E y, E x^2, E y^2, E xy): moments of some data.
place : a point of a box that records take; five per box: where the plane touched, and the four corners.
w : share of one record.

Planes touch data whose boxes are undivided (ranges.forms). Records of a box are exchangeable: a division is counts per
place, and moving n records from one place to another changes M by n w times the difference of the places' moments. A
few boxes with much mass and width decide; the rest is left where it is.
"""

import math

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray
from surebox_verify.ranges.forms import Moments, Pair, Plane, places
from surebox_verify.ranges.objectives import Objective

_BOXES = 24
_ROUNDS = 3
_STEPS = 24  # numbers of records tried per move, at most


def decisive(pair: Pair) -> IndexArray:
    """The boxes whose division can change a covariance most: (T,) places in the arrays. O(B)."""
    x, y = pair.x, pair.y
    effect = x.mass.of_box * ((x.upper - x.lower) * y.size + (y.upper - y.lower) * x.size)
    size = min(_BOXES, len(effect))
    chosen = np.argpartition(effect, len(effect) - size)[len(effect) - size :]
    return np.asarray(chosen[x.mass.of_box[chosen] > 0.0], dtype=np.int32)


def divided(pair: Pair, objective: Objective, plane: Plane, boxes: IndexArray) -> float:
    """Value of f that the plane's data reach with the given boxes divided; never less than without.

    Parameters
    ----------
    pair, objective : the request.
    plane : whose touching data to start from.
    boxes : (T,), from `decisive`.

    Notes
    -----
    science.md section 1, "Guaranteed ranges": boxes split in whole numbers between both ends. O(T).
    """
    x, y = pair.x, pair.y
    at = plane.touched
    if x.mass.ends is not None:  # touched with masses of their own
        return objective.value(at)
    moments = np.array([at.x, at.y, at.xx + at.x**2, at.yy + at.y**2, at.xy + at.x * at.y])
    touched_x, touched_y = places(pair, plane, boxes)
    lows, highs = (x.lower[boxes], y.lower[boxes]), (x.upper[boxes], y.upper[boxes])
    of_x = np.column_stack([touched_x, lows[0], lows[0], highs[0], highs[0]])
    of_y = np.column_stack([touched_y, lows[1], highs[1], lows[1], highs[1]])
    share = x.mass.of_record[boxes] / x.mass.middle
    records = np.zeros((len(boxes), 5))
    records[:, 0] = np.rint(x.mass.of_box[boxes] / x.mass.of_record[boxes])
    _divide(of_x, of_y, share, records, moments, objective.kind == "correlation", objective.s)
    mean_x, mean_y, xx, yy, xy = (float(each) for each in moments)
    split = Moments(mean_x, mean_y, max(xx - mean_x**2, 0.0), max(yy - mean_y**2, 0.0), xy - mean_x * mean_y)
    return max(objective.value(split), objective.value(at))


@inner_kernel
def _value(m: FloatArray, normalised: bool, s: float) -> float:
    """F of moments; minus infinity where it is undefined."""
    c, v, u = m[4] - m[0] * m[1], m[2] - m[0] * m[0], m[3] - m[1] * m[1]
    if not normalised:
        return float(s * c)
    if v <= 1e-18 or u <= 1e-18:  # the rounding of moments within [-1, 1] would decide
        return -np.inf
    return float(s * c / math.sqrt(v * u))


@inner_kernel
def _add(moments: FloatArray, share: float, change: FloatArray, total: FloatArray) -> None:
    """Moments after a share of the records has moved."""
    for i in range(len(moments)):
        total[i] = moments[i] + share * change[i]


@kernel
def _divide(
    x: FloatArray, y: FloatArray, share: FloatArray, at: FloatArray, moments: FloatArray, normalised: bool, s: float
) -> None:
    """Move records between places, box by box, as long as f rises; `at`, (T, 5), and `moments` are updated in place."""
    boxes = len(share)
    trial = np.empty(5)
    best = _value(moments, normalised, s)
    change = np.empty(5)
    for _ in range(_ROUNDS):
        before = best
        for b in range(boxes):
            for source in range(5):
                for target in range(1, 5):
                    movable = at[b, source]
                    if source == target or movable == 0.0:
                        continue
                    x0, y0, x1, y1 = x[b, source], y[b, source], x[b, target], y[b, target]
                    change[0], change[1] = x1 - x0, y1 - y0
                    change[2], change[3], change[4] = x1 * x1 - x0 * x0, y1 * y1 - y0 * y0, x1 * y1 - x0 * y0
                    steps = int(min(movable, _STEPS))
                    moved = 0.0
                    for k in range(1, steps + 1):
                        n = np.floor(movable * k / steps)
                        _add(moments, n * share[b], change, trial)
                        value = _value(trial, normalised, s)
                        if value > best:
                            best, moved = value, n
                    if moved > 0.0:
                        _add(moments, moved * share[b], change, moments)
                        at[b, source] -= moved
                        at[b, target] += moved
        if not best > before:
            break
