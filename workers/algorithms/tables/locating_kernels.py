"""Records on both sides of a cut, and the box of a record among a few. Notation: `locating`."""

import numpy as np
from numba import njit

from surebox_verify.core.types import BoolArray, FloatArray, IntArray


@njit(cache=True, nogil=True)
def divided(x: FloatArray, records: IntArray, column: int, at: float) -> tuple[IntArray, IntArray]:
    """Records below a cut, and the others, in their order."""
    below = 0
    for i in records:
        below += x[i, column] < at
    left, right = np.empty(below, np.int64), np.empty(len(records) - below, np.int64)
    a, b = 0, 0
    for i in records:
        if x[i, column] < at:
            left[a] = i
            a += 1
        else:
            right[b] = i
            b += 1
    return left, right


@njit(cache=True, nogil=True)
def best_box(
    x: FloatArray, records: IntArray, lower: FloatArray, upper: FloatArray, boxes: IntArray, allowed: BoolArray
) -> IntArray:
    """The box of each record among some; the one on whose upper bounds it lies least; -1 where there is none.

    Parameters
    ----------
    x : (N, n).  records : (q,).  lower, upper : (B, n).  boxes : (b,).
    allowed : (q, b), by nominal columns; (0, 0): all of them.
    """
    found = np.full(len(records), -1, np.int64)
    for q in range(len(records)):
        i, least = records[q], x.shape[1] + 1
        for place in range(len(boxes)):
            box = boxes[place]
            if len(allowed) and not allowed[q, place]:
                continue
            touching = 0
            for j in range(x.shape[1]):
                if x[i, j] < lower[box, j] or x[i, j] > upper[box, j]:
                    touching = -1
                    break
                touching += x[i, j] == upper[box, j] and lower[box, j] < upper[box, j]
            if 0 <= touching < least:
                found[q], least = box, touching
    return found
