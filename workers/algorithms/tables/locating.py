"""In which published box a record lies: by geometry, for links to records are not kept (science.md section 6).

Notation
--------
lower, upper : (B, n), closed bounds; both minus infinity: the value is missing.
x : (N, n), records; minus infinity: missing.
A record on a bound that two boxes share is in the upper one: cells are half-open.
"""

import numpy as np

from surebox_verify.core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.tables.locating_kernels import best_box, divided

_FEW = 8  # boxes that are looked at one after the other
_ALLOWED = 4_000_000  # pairs of a record and a box that nominal columns are compared for at a time


def locate(
    x: FloatArray, codes: IntArray, lower: FloatArray, upper: FloatArray, sets: tuple[BoolArray, ...]
) -> IntArray:
    """The box of each record; O((N + B) n log B) where boxes come of cuts.

    Parameters
    ----------
    x : (N, n) numeric values.
    codes : (N, m) nominal values, numbered per column; beyond a set's width: a value that no box has.
    lower, upper : (B, n).
    sets : (B, values) each, which values of a nominal column are in a box.

    Returns
    -------
    (N,), -1 where there is none.
    """
    found = np.full(len(x), -1, np.int64)
    waiting = [(np.arange(len(x)), np.arange(len(lower)))]
    while waiting:
        records, boxes = waiting.pop()
        if not len(records) or not len(boxes):
            continue
        halves = None if len(boxes) <= _FEW else _halved(x, lower, upper, records, boxes)
        if halves is None:
            _look(found, records, boxes, x, codes, lower, upper, sets)
        else:
            waiting.extend(halves)
    return found


def _halved(
    x: FloatArray, lower: FloatArray, upper: FloatArray, records: IntArray, boxes: IntArray
) -> tuple[tuple[IntArray, IntArray], tuple[IntArray, IntArray]] | None:
    """Records and boxes on both sides of the cut that leaves the fewer boxes on its fuller side."""
    best, column, at = len(boxes), -1, 0.0
    for j in range(lower.shape[1]):
        middle = float(np.partition(lower[boxes, j], len(boxes) // 2)[len(boxes) // 2])
        below, above = int((lower[boxes, j] < middle).sum()), int((upper[boxes, j] >= middle).sum())
        if max(below, above) < best:
            best, column, at = max(below, above), j, middle
    if column < 0:
        return None
    left, right = divided(x, records, column, at)
    return (left, boxes[lower[boxes, column] < at]), (right, boxes[upper[boxes, column] >= at])


def _look(
    found: IntArray, records: IntArray, boxes: IntArray, x: FloatArray, codes: IntArray,
    lower: FloatArray, upper: FloatArray, sets: tuple[BoolArray, ...],
) -> None:  # fmt: skip
    step = max(1, _ALLOWED // len(boxes)) if sets else len(records)
    for start in range(0, len(records), step):
        some = records[start : start + step]
        allowed = np.ones((len(some), len(boxes)) if sets else (0, 0), bool)
        for j, members in enumerate(sets):
            known = np.hstack([members, np.zeros((len(members), 1), bool)])
            allowed &= known[boxes][:, np.minimum(codes[some, j], members.shape[1])].T
        found[some] = best_box(x, some, lower, upper, boxes, allowed)
