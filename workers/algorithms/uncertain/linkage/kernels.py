"""Kernel of linkage.attack: rank and posterior of a true record among candidates, far blocks passed over.

Notation
--------
x : (N, n + h), candidates block by block (core.blocks), `columns` their transpose: n columns, then h features compared
    as gaussian whatever the model (logarithms of recomputed scales); low, high (2 L, n + h) extremes, size (2 L,)
    candidates of each node.
z, s : (m, n + h), centres and scales; axes (m, n, n) or empty; unit (n,).
D(x) : -2 (fit of x - largest possible fit): squared standard distance (gaussian), 0 in the cube and infinite outside
    (uniform), plus squared standard distances of the features.
D_t : D of the true record t (m, n + h).
rank : number of candidates with D <= D_t.  weight : sum over candidates of exp(-(D - D_t) / 2); passed : what was left
    out of it. Where neglect is infinite nothing is weighed: no candidate farther than t is looked at, and a node whose
    corners are all nearer is counted as one.
"""

import math

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray

_FAINT = 60.0  # a candidate that much further than the true record weighs less than _FAINTEST
_FAINTEST = 1e-13
_ROUNDING = 1e-9  # of a cube's side: the true record is never outside


@inner_kernel
def _distance(
    x: FloatArray, z: FloatArray, s: FloatArray, axes: FloatArray, unit: FloatArray, gaussian: bool, limit: float
) -> float:
    """D(x); `limit` is the largest |e| inside a cube."""
    n = len(unit)
    total = 0.0
    for i in range(len(x)):
        e = x[i] - z[i]
        if i < n and axes.shape[0] > 0:
            e = 0.0
            for j in range(n):
                e += axes[i, j] * (x[j] - z[j]) / unit[j]
        if e == 0.0:
            continue
        if s[i] == 0.0:
            return np.inf
        e /= s[i]
        if gaussian or i >= n:
            total += e * e
        elif abs(e) > limit:
            return np.inf
    return total


@inner_kernel
def _least(
    low: FloatArray,
    high: FloatArray,
    z: FloatArray,
    s: FloatArray,
    turned: bool,
    unit: FloatArray,
    gaussian: bool,
    limit: float,
) -> float:
    """No candidate of a node has a smaller D."""
    n = len(unit)
    total = 0.0
    widest = 0.0
    if turned:
        for i in range(n):
            widest = max(widest, s[i])
    for i in range(len(z)):
        gap = max(low[i] - z[i], z[i] - high[i], 0.0)
        if gap == 0.0:
            continue
        scale = s[i]
        if i < n and turned:
            scale = widest * unit[i] * (1.0 if gaussian else math.sqrt(n))
        if scale == 0.0:
            return np.inf
        if gaussian or i >= n:
            total += (gap / scale) ** 2
        elif gap / scale > limit * (1.0 + 1e-12):
            return np.inf
    return total * (1.0 - 1e-12)


@inner_kernel(error_model="numpy")
def _most(low: FloatArray, high: FloatArray, z: FloatArray, inverse: FloatArray) -> float:
    """No candidate of a node has a larger D, gaussian and parallel to the axes."""
    total = 0.0
    for i in range(len(z)):
        e = max(z[i] - low[i], high[i] - z[i]) * inverse[i]
        total += e * e
    return total * (1.0 + 1e-12)


@inner_kernel(error_model="numpy")
def _ellipse(x: FloatArray, z: FloatArray, inverse: FloatArray, away: FloatArray) -> None:
    """D of candidates (n + h, m), gaussian and parallel to the axes: one vector loop an axis, rounded as one by one."""
    away[:] = 0.0
    for j in range(len(z)):
        row = x[j]
        centre = z[j]
        factor = inverse[j]
        for c in range(len(row)):
            e = (row[c] - centre) * factor
            away[c] += e * e


@kernel
def rank_rows(  # noqa: C901 (a kernel)
    t: FloatArray,
    z: FloatArray,
    s: FloatArray,
    axes: FloatArray,
    unit: FloatArray,
    gaussian: bool,
    neglect: float,
    x: FloatArray,
    columns: FloatArray,
    start: IntArray,
    size: IntArray,
    low: FloatArray,
    high: FloatArray,
    rank: IntArray,
    weight: FloatArray,
    passed: FloatArray,
) -> None:
    """Fill rank, weight and passed of m rows; at most the share `neglect` of a row's weight is passed over."""
    weighed = neglect < np.inf
    turned = axes.shape[0] > 0
    leaves = len(start) - 1
    stack = np.empty(128, np.int64)
    n = len(unit)
    inverse = np.empty(z.shape[1])
    one_by_one = np.empty((z.shape[1], 1))
    store = np.empty(64)
    for r in range(len(t)):
        swift = gaussian and not turned and s[r].min() > 0.0
        own = axes[r] if turned else np.empty((0, 0))
        limit = 0.5 * (1.0 + _ROUNDING)
        true = _distance(t[r], z[r], s[r], own, unit, gaussian, np.inf)
        if not gaussian:
            for i in range(n):
                e = t[r, i] - z[r, i]
                if turned:
                    e = 0.0
                    for j in range(n):
                        e += own[i, j] * (t[r, j] - z[r, j]) / unit[j]
                if s[r, i] > 0.0:
                    limit = max(limit, abs(e) / s[r, i])
        if swift:
            for i in range(len(inverse)):
                inverse[i] = 1.0 / s[r, i]
                one_by_one[i, 0] = t[r, i]
            _ellipse(one_by_one, z[r], inverse, store[:1])
            true = store[0]
        share = neglect / len(x)
        stack[0] = 1
        top = 1
        while top > 0:
            top -= 1
            node = stack[top]
            least = _least(low[node], high[node], z[r], s[r], turned, unit, gaussian, limit)
            if least > true:
                most = math.exp(-0.5 * (least - true))
                if most <= share * max(weight[r], 1.0):
                    passed[r] += most * size[node]
                    continue
            elif swift and not weighed and _most(low[node], high[node], z[r], inverse) <= true:
                rank[r] += size[node]
                continue
            if node < leaves:
                one, two = 2 * node, 2 * node + 1
                nearer = _least(low[one], high[one], z[r], s[r], turned, unit, gaussian, limit)
                if nearer < _least(low[two], high[two], z[r], s[r], turned, unit, gaussian, limit):
                    one, two = two, one
                stack[top] = one
                stack[top + 1] = two
                top += 2
                continue
            if swift:
                head = start[node - leaves]
                away_all = store[: start[node - leaves + 1] - head]
                _ellipse(columns[:, head : head + len(away_all)], z[r], inverse, away_all)
                if not weighed:
                    rank[r] += (away_all <= true).sum()
                    continue
                for away in away_all:
                    if away <= true:
                        rank[r] += 1
                    if away - true < _FAINT:
                        weight[r] += math.exp(-0.5 * (away - true))
                    else:
                        passed[r] += _FAINTEST
                continue
            for c in range(start[node - leaves], start[node - leaves + 1]):
                away = _distance(x[c], z[r], s[r], own, unit, gaussian, limit)
                rank[r] += away <= true
                if away < np.inf:
                    weight[r] += math.exp(-0.5 * (away - true))
