"""Kernels of the search for a core: J of a set of boxes from its sums, and the steps that lower it.

Notation as in rare.shifted. `sums` are those of c, c g, c z_i (n of them) and c z_i z_j (one per pair) over the boxes
of S; `scale` is A, the records that may be left aside, and the inflation of variances and covariances.
"""

import numpy as np

from surebox_verify.core.compiled import inner_kernel, kernel
from surebox_verify.core.types import BoolArray, FloatArray, IntArray

MEAN, VARIANCE, DEVIATION, COVARIANCE, CORRELATION, CELL, DOMAIN, FIRST_ORDER = range(8)
_PAIRED = 128  # candidates that may leave two at a time
_LEAST_GAIN = 1e-12  # of J


@inner_kernel
def _values(  # noqa: C901 (a kernel)
    sums: FloatArray,
    mean: FloatArray,
    inflation: float,
    kind: IntArray,
    column: IntArray,
    pair: IntArray,
    pairs: IntArray,
    by_mean: FloatArray,
    by_second: FloatArray,
    out: FloatArray,
) -> None:
    """Components at sums of c, c g, c z and c z z; NaN where they are undefined."""
    n, total = len(mean), sums[0]
    for c in range(len(kind)):
        i, j = column[c, 0], column[c, 1]
        if kind[c] == MEAN:
            out[c] = mean[i] + sums[2 + i] / total
            continue
        if kind[c] == FIRST_ORDER:
            value = 0.0
            for k in range(n):
                value += by_mean[i, k] * sums[2 + k] / total
            for p in range(len(pairs)):
                a, b = pairs[p, 0], pairs[p, 1]
                second = sums[2 + n + p] / total - sums[2 + a] * sums[2 + b] / (total * total)
                value += by_second[i, p] * second
            out[c] = value
            continue
        ei, ej = sums[2 + i] / total, sums[2 + j] / total
        vi = sums[2 + n + pair[c, 0]] / total - ei * ei
        vj = sums[2 + n + pair[c, 1]] / total - ej * ej
        cij = sums[2 + n + pair[c, 2]] / total - ei * ej
        if kind[c] == VARIANCE:
            out[c] = inflation * vi
        elif kind[c] == DEVIATION:
            out[c] = np.sqrt(inflation * max(vi, 0.0))
        elif kind[c] == COVARIANCE:
            out[c] = inflation * cij
        elif kind[c] == CORRELATION:
            out[c] = cij / np.sqrt(vi * vj) if vi > 0.0 and vj > 0.0 else np.nan
        elif kind[c] == CELL:
            out[c] = cij + (mean[i] + ei) * (mean[j] + ej)
        else:
            share = mean[j] + ej
            out[c] = mean[i] + ei + cij / share if share > 0.0 else np.nan


@inner_kernel
def _move(
    sums: FloatArray, sign: float, b: int, z: FloatArray, c: FloatArray, g: FloatArray, pairs: IntArray, out: FloatArray
) -> None:
    """Sums with box b taken in (sign 1) or left out (-1)."""
    n, w = z.shape[1], sign * c[b]
    out[0] = sums[0] + w
    out[1] = sums[1] + w * g[b]
    for i in range(n):
        out[2 + i] = sums[2 + i] + w * z[b, i]
    for p in range(len(pairs)):
        out[2 + n + p] = sums[2 + n + p] + w * z[b, pairs[p, 0]] * z[b, pairs[p, 1]]


@inner_kernel
def _objective(
    sums: FloatArray,
    whole: FloatArray,
    mean: FloatArray,
    scale: FloatArray,
    omega: FloatArray,
    kind: IntArray,
    column: IntArray,
    pair: IntArray,
    pairs: IntArray,
    by_mean: FloatArray,
    by_second: FloatArray,
    values: FloatArray,
) -> float:
    """J; infinite where nothing is left or a component is undefined."""
    if not sums[0] > 0.5:
        return np.inf
    _values(sums, mean, scale[2], kind, column, pair, pairs, by_mean, by_second, values)
    found = sums[1] / sums[0] + scale[0] / np.sqrt(sums[0])
    for c in range(len(omega)):
        found += omega[c] * abs(whole[c] - values[c])
    return found if found == found else np.inf


@kernel
def search(  # noqa: C901 (a kernel)
    z: FloatArray,
    mean: FloatArray,
    c: FloatArray,
    g: FloatArray,
    candidates: IntArray,
    scale: FloatArray,
    omega: FloatArray,
    kind: IntArray,
    column: IntArray,
    pair: IntArray,
    pairs: IntArray,
    by_mean: FloatArray,
    by_second: FloatArray,
    kept: BoolArray,
) -> tuple[float, float]:
    """Lower J step by step; `kept` is updated in place. Returns J there, and of all boxes."""
    size = 2 + z.shape[1] + len(pairs)
    sums, one, two = np.zeros(size), np.empty(size), np.empty(size)
    whole, values = np.empty(len(omega)), np.empty(len(omega))
    for b in range(len(c)):
        _move(sums, 1.0, b, z, c, g, pairs, sums)
    _values(sums, mean, scale[2], kind, column, pair, pairs, by_mean, by_second, whole)
    of_all = sums[1] / sums[0] + scale[0] / np.sqrt(sums[0])
    outside = 0.0
    for b in range(len(c)):
        if not kept[b]:
            _move(sums, -1.0, b, z, c, g, pairs, sums)
            outside += c[b]
    best = _objective(sums, whole, mean, scale, omega, kind, column, pair, pairs, by_mean, by_second, values)
    while True:
        first, second, least = -1, -1, best - _LEAST_GAIN * abs(best)
        for a in range(len(candidates)):  # one out, or one back
            b = candidates[a]
            if kept[b] and outside + c[b] > scale[1]:
                continue
            _move(sums, -1.0 if kept[b] else 1.0, b, z, c, g, pairs, one)
            found = _objective(one, whole, mean, scale, omega, kind, column, pair, pairs, by_mean, by_second, values)
            if found < least:
                first, second, least = b, -1, found
        if first < 0:  # two at once: exchanged, or both out
            for a in range(min(len(candidates), _PAIRED)):
                b = candidates[a]
                _move(sums, -1.0 if kept[b] else 1.0, b, z, c, g, pairs, one)
                after = outside + (c[b] if kept[b] else -c[b])
                for e in range(a):
                    d = candidates[e]
                    if after + (c[d] if kept[d] else -c[d]) > scale[1]:
                        continue
                    _move(one, -1.0 if kept[d] else 1.0, d, z, c, g, pairs, two)
                    found = _objective(
                        two, whole, mean, scale, omega, kind, column, pair, pairs, by_mean, by_second, values
                    )
                    if found < least:
                        first, second, least = b, d, found
        if first < 0:
            return best, of_all
        for b in (first, second):
            if b >= 0:
                _move(sums, -1.0 if kept[b] else 1.0, b, z, c, g, pairs, sums)
                outside += c[b] if kept[b] else -c[b]
                kept[b] = not kept[b]
        best = least
