"""Kernels of the search for a core: J of a set of boxes from its sums, and the steps that lower it.

Notation as in rare.shifted, and
--------
sums : (F,), over the boxes of S of what rare.features has of each: c, c g, and of each part and each column of it.
firsts : (K, 2), where sums of m z and the sums of m that belong to them are.  at : (K,), what z is counted from.
pairs : (P, 3), where a sum of m z z is, and which two firsts it is of.  floor : (P,), variances not above it are 0.
needs : sums of records, none of which may become 0.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray

MEAN, VARIANCE, DEVIATION, COVARIANCE, CORRELATION, CELL, DOMAIN, FIRST_ORDER = range(8)
_PAIRED = 128  # candidates that may leave two at a time
_LEAST_GAIN = 1e-12  # of J


@inner_kernel
def _values(  # noqa: C901 (a kernel)
    sums: FloatArray,
    firsts: IntArray,
    at: FloatArray,
    pairs: IntArray,
    floor: FloatArray,
    kind: IntArray,
    first: IntArray,
    pair: IntArray,
    inflation: FloatArray,
    by_mean: FloatArray,
    by_second: FloatArray,
    mean: FloatArray,
    second: FloatArray,
    out: FloatArray,
) -> None:
    """Components at some sums; NaN where they are undefined. `mean` and `second` are room for those of z."""
    for k in range(len(firsts)):
        mean[k] = sums[firsts[k, 0]] / sums[firsts[k, 1]]
    for p in range(len(pairs)):
        a, b = pairs[p, 1], pairs[p, 2]
        second[p] = sums[pairs[p, 0]] / sums[firsts[a, 1]] - mean[a] * mean[b]
    for c in range(len(kind)):
        i, j = first[c, 0], first[c, 1]
        if kind[c] == MEAN:
            out[c] = at[i] + mean[i]
            continue
        if kind[c] == FIRST_ORDER:
            value = 0.0
            for k in range(len(firsts)):
                value += by_mean[i, k] * mean[k]
            for p in range(len(pairs)):
                value += by_second[i, p] * second[p]
            out[c] = value
            continue
        cij = second[pair[c, 2]]
        if kind[c] == VARIANCE:
            out[c] = inflation[c] * cij
        elif kind[c] == DEVIATION:
            out[c] = np.sqrt(inflation[c] * max(cij, 0.0))
        elif kind[c] == COVARIANCE:
            out[c] = inflation[c] * cij
        elif kind[c] == CORRELATION:
            vi, vj = second[pair[c, 0]], second[pair[c, 1]]
            varies = vi > floor[pair[c, 0]] and vj > floor[pair[c, 1]]
            out[c] = cij / np.sqrt(vi * vj) if varies else np.nan
        elif kind[c] == CELL:
            out[c] = cij + (at[i] + mean[i]) * (at[j] + mean[j])
        else:
            share = at[j] + mean[j]
            out[c] = at[i] + mean[i] + cij / share if share > 0.0 else np.nan


@inner_kernel
def _move(sums: FloatArray, sign: float, box: FloatArray, out: FloatArray) -> None:
    """Sums with a box taken in (sign 1) or left out (-1)."""
    for f in range(len(sums)):
        out[f] = sums[f] + sign * box[f]


@inner_kernel
def _objective(
    sums: FloatArray,
    whole: FloatArray,
    statistical: float,
    needs: IntArray,
    omega: FloatArray,
    firsts: IntArray,
    at: FloatArray,
    pairs: IntArray,
    floor: FloatArray,
    kind: IntArray,
    first: IntArray,
    pair: IntArray,
    inflation: FloatArray,
    by_mean: FloatArray,
    by_second: FloatArray,
    mean: FloatArray,
    second: FloatArray,
    values: FloatArray,
) -> float:
    """J; infinite where nothing is left, or nothing of the needed parts, or a component is undefined."""
    for n in range(len(needs)):
        if not sums[needs[n]] > 0.5:
            return np.inf
    _values(
        sums, firsts, at, pairs, floor, kind, first, pair, inflation, by_mean, by_second, mean, second, values
    )  # fmt: skip
    objective = sums[1] / sums[0] + statistical / np.sqrt(sums[0])
    for c in range(len(omega)):
        objective += omega[c] * abs(whole[c] - values[c])
    return objective if objective == objective else np.inf


@kernel
def search(  # noqa: C901 (a kernel)
    whole_sums: FloatArray,
    boxes: FloatArray,
    statistical: float,
    most: float,
    needs: IntArray,
    omega: FloatArray,
    firsts: IntArray,
    at: FloatArray,
    pairs: IntArray,
    floor: FloatArray,
    kind: IntArray,
    first: IntArray,
    pair: IntArray,
    inflation: FloatArray,
    by_mean: FloatArray,
    by_second: FloatArray,
    kept: BoolArray,
) -> tuple[float, float]:
    """Lower J step by step; `kept`, of the candidates, is updated in place. Returns J there, and of all boxes.

    `boxes` (candidates, F) are what these add to the sums, `most` the records that may be left aside.
    """
    sums, one, two = whole_sums.copy(), np.empty(len(whole_sums)), np.empty(len(whole_sums))
    whole, values = np.empty(len(omega)), np.empty(len(omega))
    mean, second = np.empty(len(firsts)), np.empty(len(pairs))
    _values(
        sums, firsts, at, pairs, floor, kind, first, pair, inflation, by_mean, by_second, mean, second, whole
    )  # fmt: skip
    of_all = sums[1] / sums[0] + statistical / np.sqrt(sums[0])
    outside = 0.0
    for b in range(len(boxes)):
        if not kept[b]:
            _move(sums, -1.0, boxes[b], sums)
            outside += boxes[b, 0]
    best = _objective(
        sums, whole, statistical, needs, omega, firsts, at, pairs, floor, kind, first, pair, inflation,
        by_mean, by_second, mean, second, values,
    )  # fmt: skip
    while True:
        chosen, other, least = -1, -1, best - _LEAST_GAIN * abs(best) if best < np.inf else best
        for b in range(len(boxes)):  # one out, or one back
            if kept[b] and outside + boxes[b, 0] > most:
                continue
            _move(sums, -1.0 if kept[b] else 1.0, boxes[b], one)
            objective = _objective(
                one, whole, statistical, needs, omega, firsts, at, pairs, floor, kind, first, pair, inflation,
                by_mean, by_second, mean, second, values,
            )  # fmt: skip
            if objective < least:
                chosen, other, least = b, -1, objective
        if chosen < 0:  # two at once: exchanged, or both out
            for b in range(min(len(boxes), _PAIRED)):
                _move(sums, -1.0 if kept[b] else 1.0, boxes[b], one)
                after = outside + (boxes[b, 0] if kept[b] else -boxes[b, 0])
                for d in range(b):
                    if after + (boxes[d, 0] if kept[d] else -boxes[d, 0]) > most:
                        continue
                    _move(one, -1.0 if kept[d] else 1.0, boxes[d], two)
                    objective = _objective(
                        two, whole, statistical, needs, omega, firsts, at, pairs, floor, kind, first, pair, inflation,
                        by_mean, by_second, mean, second, values,
                    )  # fmt: skip
                    if objective < least:
                        chosen, other, least = b, d, objective
        if chosen < 0:
            return best, of_all
        for b in (chosen, other):
            if b >= 0:
                _move(sums, -1.0 if kept[b] else 1.0, boxes[b], sums)
                outside += boxes[b, 0] if kept[b] else -boxes[b, 0]
                kept[b] = not kept[b]
        best = least
