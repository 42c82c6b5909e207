"""The part of a box that its mean leaves to an insider, who knows all records but one.

Notation
--------
m, M, w = M - m : bounds of a column in a box of c records, and its width; h : the column's step, None for real numbers.
s, S : ends of the published interval of the sum of these c records.
x : a record's value; T : the sum of all c values.

The insider subtracts the T - x that they know, so x is in [max(m, s - (T - x)), min(M, S - (T - x))]. What they are
left with is its length over w; of multiples of a step their number over that of the box, w/h + 1. A box without a mean
leaves all of itself.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.boxes.sides import Boxes

_NEAR: Final = 0.01  # of a step, by which an end may be off


def left_to_insider(
    x: FloatArray, boxes: Boxes, steps: Sequence[float | None], *, attained: bool
) -> tuple[float | None, ...]:
    """Share of a box's side that an insider is left with, on average over records; by column.

    Parameters
    ----------
    x : (N, n) records of the boxes, NaN where missing.
    boxes : with their `means`; without any, they leave all.
    steps : of each column the number whose multiples its values are, None for any numbers.
    attained : whether the bounds are tight.

    Returns
    -------
    tuple
        Of the values that the bounds leave open; None where they leave none.
    """
    shares: list[float | None] = []
    for j, step in enumerate(steps):
        low, high = boxes.lower[boxes.box, j], boxes.upper[boxes.box, j]
        is_open = (high > low) & ~_known_by_bounds(x[:, j], boxes, j, attained=attained)
        part = _parts(x[:, j], boxes, j, step)[is_open]
        shares.append(float(part.mean()) if len(part) else None)
    return tuple(shares)


def _known_by_bounds(x: FloatArray, boxes: Boxes, j: int, *, attained: bool) -> BoolArray:
    """Ends that are attained and that no other record of the box has: the bounds alone give them to an insider."""
    known = np.zeros(len(x), dtype=np.bool_)
    for ends in (boxes.lower, boxes.upper) if attained else ():
        at = x == ends[boxes.box, j]
        known |= at & (np.bincount(boxes.box, at, len(boxes.counts))[boxes.box] == 1)
    return known


def _parts(x: FloatArray, boxes: Boxes, j: int, step: float | None) -> FloatArray:
    """Of each record, what is left of its box; anything where the box has no width."""
    if boxes.means is None:
        return np.ones(len(x))
    low, high = boxes.lower[boxes.box, j], boxes.upper[boxes.box, j]
    counts = boxes.counts[boxes.box]
    others = np.bincount(boxes.box, x, len(boxes.counts))[boxes.box] - x
    least, most = (mean[boxes.box, j] * counts - others for mean in boxes.means)
    has_mean = ~np.isnan(least)
    first = np.where(has_mean, np.fmax(low, least), low)
    last = np.where(has_mean, np.fmin(high, most), high)
    if step is not None:
        # of multiples from the lower bound on, which is one
        values = np.floor((last - low) / step + _NEAR) - np.ceil((first - low) / step - _NEAR) + 1.0
        return np.asarray(np.maximum(values, 1.0) / (np.rint((high - low) / step) + 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.clip((last - first) / (high - low), 0.0, 1.0))
