"""Kernel of queries.classification: the best fits to a point, far blocks passed over.

Notation
--------
Densities stand block by block (core.blocks); s = 0 along an axis is a point mass.
top : (M,), logarithm of each density's largest value; highest (2 L,) its maximum over a node.
widest : (2 L, n), largest reach over a node, in the columns' units; unit (n,).
fit : logarithm of a density at the point, minus infinity where it is 0.
away : squared distance of the centre, in units.
best : the q best, by fit downwards and then by away upwards.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray


@inner_kernel
def _fit(
    t: FloatArray,
    z: FloatArray,
    scale: FloatArray,
    axes: FloatArray,
    unit: FloatArray,
    top: float,
    turned: bool,
    gaussian: bool,
) -> float:
    n = len(t)
    total = 0.0
    for i in range(n):
        e = t[i] - z[i]
        if turned:
            e = 0.0
            for j in range(n):
                e += axes[i, j] * (t[j] - z[j]) / unit[j]
        if scale[i] == 0.0:
            if e != 0.0:
                return -np.inf
        elif gaussian:
            total += (e / scale[i]) ** 2
        elif abs(e) > 0.5 * scale[i]:
            return -np.inf
    return top - 0.5 * total


@inner_kernel
def _offer(fit: float, away: float, place: int, best_fit: FloatArray, best_away: FloatArray, best: IntArray) -> None:
    """Enter a density among the best, if it belongs there."""
    last = len(best) - 1
    if fit < best_fit[last] or (fit == best_fit[last] and away >= best_away[last]):
        return
    i = last
    while i > 0 and (fit > best_fit[i - 1] or (fit == best_fit[i - 1] and away < best_away[i - 1])):
        best_fit[i] = best_fit[i - 1]
        best_away[i] = best_away[i - 1]
        best[i] = best[i - 1]
        i -= 1
    best_fit[i] = fit
    best_away[i] = away
    best[i] = place


@inner_kernel
def _bound(
    t: FloatArray,
    low: FloatArray,
    high: FloatArray,
    widest: FloatArray,
    highest: float,
    unit: FloatArray,
    turned: bool,
    gaussian: bool,
) -> tuple[float, float]:
    """Largest fit and least squared distance that a node may hold."""
    total = 0.0
    near = 0.0
    for j in range(len(t)):
        gap = max(low[j] - t[j], t[j] - high[j], 0.0)
        if gap == 0.0:
            continue
        near += (gap / unit[j]) ** 2
        if widest[j] == 0.0:
            total = np.inf
        elif turned:  # |G e|_j <= widest_j |e|, and |e| is at most sqrt(n) / 2 within a cube
            total = max(total, (gap / widest[j]) ** 2 / (1.0 if gaussian else float(len(t))))
        elif gaussian:
            total += (gap / widest[j]) ** 2
        else:
            total = max(total, (gap / widest[j]) ** 2)
    if gaussian:
        return highest - 0.5 * total * (1.0 - 1e-12), near
    return (highest if total <= 0.25 * (1.0 + 1e-12) else -np.inf), near


@kernel
def best_fits(
    points: FloatArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    highest: FloatArray,
    widest: FloatArray,
    z: FloatArray,
    scale: FloatArray,
    axes: FloatArray,
    unit: FloatArray,
    top: FloatArray,
    gaussian: bool,
    fits: FloatArray,
    aways: FloatArray,
    places: IntArray,
) -> None:
    """Fill (Q, q) fits, squared distances and places of the best; they come as -inf, inf, -1."""
    turned = axes.shape[0] > 0
    leaves = len(start) - 1
    stack = np.empty(128, np.int64)
    for q in range(len(points)):
        t = points[q]
        stack[0] = 1
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            fit, near = _bound(t, low[node], high[node], widest[node], highest[node], unit, turned, gaussian)
            if fit < fits[q, -1] or (fit == fits[q, -1] and near * (1.0 - 1e-12) >= aways[q, -1]):
                continue
            if node >= leaves:
                for r in range(start[node - leaves], start[node - leaves + 1]):
                    away = 0.0
                    for j in range(len(t)):
                        away += ((t[j] - z[r, j]) / unit[j]) ** 2
                    one = _fit(t, z[r], scale[r], axes[r] if turned else z, unit, top[r], turned, gaussian)
                    _offer(one, away, r, fits[q], aways[q], places[q])
                continue
            left, right = 2 * node, 2 * node + 1
            one, near_one = _bound(t, low[left], high[left], widest[left], highest[left], unit, turned, gaussian)
            two, near_two = _bound(t, low[right], high[right], widest[right], highest[right], unit, turned, gaussian)
            if one > two or (one == two and near_one < near_two):
                left, right = right, left
            stack[size] = left
            stack[size + 1] = right
            size += 2
