"""Whether any two boxes of a release overlap.

Two boxes overlap where they do on every axis: closed intervals (whole numbers; tight bounds) that share a point,
half-open ones that share an inner one or are the same point, sets that share a value. Boxes with other missing columns
are others' business.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import PublishedBoxes

_AT_ONCE = 256


@dataclass(frozen=True)
class Layout:
    """Boxes, and what of them is compared.

    Attributes
    ----------
    closed : (n,), whether both ends of a numeric column belong to a box.
    apart : (B,), boxes that differ in it are not compared; None where all are.
    classes : (B, m), kept classes that each box has, where cuts may go between these: boxes without one in common are
        not compared. None where all are.
    """

    boxes: PublishedBoxes
    closed: BoolArray
    apart: FloatArray | None = None
    classes: BoolArray | None = None


def overlapping(layout: Layout) -> bool:
    """Whether two boxes overlap. O(B^2) at worst, by the narrowest axis first."""
    boxes = layout.boxes
    present = [boxes.present(column) for column in range(boxes.lower.shape[1] + len(boxes.sets))]
    parts = [*present, *([] if layout.apart is None else [layout.apart])]
    _, group = np.unique(np.column_stack(parts).astype(np.float64), axis=0, return_inverse=True)
    return any(_within(layout, np.flatnonzero(group.reshape(-1) == each)) for each in range(int(group.max()) + 1))


def _within(layout: Layout, among: IntArray) -> bool:
    """Whether two of some boxes, that have the same columns, overlap."""
    boxes = layout.boxes
    numeric = [j for j in range(boxes.lower.shape[1]) if not np.isnan(boxes.lower[among[0], j])]
    lower, upper = boxes.lower[among][:, numeric], boxes.upper[among][:, numeric]
    sets = [each[among] for each in boxes.sets if each[among[0]].any()]
    sets += [] if layout.classes is None else [layout.classes[among]]
    closed = layout.closed[numeric]
    spread = np.ptp(np.concatenate([lower, upper]), axis=0) if numeric else np.empty(0)
    width = (upper - lower).mean(axis=0) / np.where(spread > 0.0, spread, 1.0)
    order = np.argsort(width, kind="stable")
    for start in range(0, len(among), _AT_ONCE):
        first, second = _pairs(lower, upper, closed, order, start)
        for each in sets:
            both = (each[first] & each[second]).any(axis=1)
            first, second = first[both], second[both]
        if len(first):
            return True
    return False


def _pairs(
    lower: FloatArray, upper: FloatArray, closed: BoolArray, order: IntArray, start: int
) -> tuple[IntArray, IntArray]:
    """Pairs of some boxes and later ones that overlap in all numeric columns."""
    stop = min(start + _AT_ONCE, len(lower))
    rows = np.arange(start, stop)
    there = rows[:, None] < np.arange(len(lower))[None, :]
    if len(order):
        one, *others = order.tolist()
        there &= _meet(lower[rows, one][:, None], upper[rows, one][:, None], lower[:, one], upper[:, one], closed[one])
    else:
        others = []
    left, right = np.nonzero(there)
    first, second = rows[left], right
    for j in others:
        both = _meet(lower[first, j], upper[first, j], lower[second, j], upper[second, j], closed[j])
        first, second = first[both], second[both]
    return first, second


def _meet(low: FloatArray, high: FloatArray, low2: FloatArray, high2: FloatArray, closed: bool) -> BoolArray:
    """Whether intervals overlap."""
    least, most = np.maximum(low, low2), np.minimum(high, high2)
    if closed:
        return np.asarray(least <= most)
    return np.asarray((least < most) | ((low == high) & (low2 == high2) & (low == low2)))
