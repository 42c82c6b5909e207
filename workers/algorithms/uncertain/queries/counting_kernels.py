"""Kernels of queries.counting: densities in spatial blocks, each met with all queries while it is in the cache.

Notation
--------
block : densities start[k] to start[k + 1]; low, high (L, n) are the extremes of their centres, widest (L, n) the
    largest scale, heaviest (L, n) the largest 1 / (F(u) - F(l)), points (L, n) whether a scale is 0.
z, inverse, heavy : (n, M), centres, 1 / s and 1 / (F(u) - F(l)), one contiguous row per axis.
a, b : (Q, n), ends of the queries within the domain; a > b where they do not meet. free (Q, n): the whole axis.
from_, to : (Q, n), the same, but infinite where they are ends of the domain.
F : normal (fitted, masses.FITTED_ERROR) or uniform distribution; LIMIT and 1/2 are where they reach 0 and 1.
out : (Q, 4), sums of p and p (1 - p), a bound of the boxes passed over, and the number of centres in [from_, to].
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.uncertain.density.masses import FITTED_ERROR, LIMIT, interval_mass, normal_distribution

_LONGEST = 128


@inner_kernel(error_model="numpy", fastmath={"contract"})
def _distribution(t: float, gaussian: bool) -> float:
    return normal_distribution(t) if gaussian else min(max(t + 0.5, 0.0), 1.0)


@inner_kernel(error_model="numpy", fastmath={"contract"})
def _multiply(  # noqa: C901 (a kernel)
    z: FloatArray, inverse: FloatArray, heavy: FloatArray, a: float, b: float, gaussian: bool, sides: int, p: FloatArray
) -> None:
    """Multiply the p of a block by one axis' factor.

    Sides 1: all reach below a only; 2: beyond b only; 3: both; 0: there are point masses among them. One loop each,
    free of branches.
    """
    if sides == 0:
        for r in range(len(z)):
            if inverse[r] == np.inf:
                p[r] *= 1.0 if a <= z[r] <= b else 0.0
            else:
                upper = _distribution((b - z[r]) * inverse[r], gaussian)
                p[r] *= max(upper - _distribution((a - z[r]) * inverse[r], gaussian), 0.0) * heavy[r]
    elif not gaussian:
        for r in range(len(z)):
            upper = min(max((b - z[r]) * inverse[r] + 0.5, 0.0), 1.0)
            p[r] *= (upper - min(max((a - z[r]) * inverse[r] + 0.5, 0.0), 1.0)) * heavy[r]
    elif sides == 1:
        for r in range(len(z)):
            p[r] *= normal_distribution((z[r] - a) * inverse[r]) * heavy[r]
    elif sides == 2:
        for r in range(len(z)):
            p[r] *= normal_distribution((b - z[r]) * inverse[r]) * heavy[r]
    else:
        for r in range(len(z)):
            upper = normal_distribution((b - z[r]) * inverse[r])
            p[r] *= max(upper - normal_distribution((a - z[r]) * inverse[r]), 0.0) * heavy[r]


@inner_kernel(fastmath={"contract", "reassoc", "nsz"})
def _sums(p: FloatArray) -> tuple[float, float]:
    """Sum of p and of p (1 - p)."""
    total = 0.0
    spread = 0.0
    for r in range(len(p)):
        total += p[r]
        spread += p[r] * (1.0 - min(p[r], 1.0))
    return total, spread


@inner_kernel
def _bound(a: float, b: float, low: float, high: float, widest: float, heaviest: float, gaussian: bool) -> float:
    """Bound of the factor of all densities of a block; exactly 1 where it is 1 for all (within 1e-16)."""
    reach = widest * (LIMIT if gaussian else 0.5)
    if a > high + reach or b < low - reach:
        return 0.0
    if a <= low - reach and b >= high + reach:
        return 1.0
    bound = 0.999999999  # not known to be 1
    if widest > 0.0:
        if b < low:
            bound = _distribution((b - low) / widest, gaussian) + FITTED_ERROR
        if a > high:
            bound = min(bound, _distribution((high - a) / widest, gaussian) + FITTED_ERROR)
    return min(bound * heaviest, 0.999999999)


@inner_kernel
def _within(z: FloatArray, a: FloatArray, b: FloatArray, low: FloatArray, high: FloatArray) -> int:
    """How many centres (n, m) of a block are in [a, b]."""
    inside = np.ones(z.shape[1], np.bool_)
    for j in range(z.shape[0]):
        if a[j] > high[j] or b[j] < low[j]:
            return 0
        if a[j] > low[j] or b[j] < high[j]:
            row = z[j]
            for r in range(len(row)):
                inside[r] &= (row[r] >= a[j]) & (row[r] <= b[j])
    return int(inside.sum())


@kernel
def count_blocks(  # noqa: C901 (a kernel)
    first: int,
    last: int,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    widest: FloatArray,
    heaviest: FloatArray,
    points: BoolArray,
    z: FloatArray,
    inverse: FloatArray,
    heavy: FloatArray,
    a: FloatArray,
    b: FloatArray,
    from_: FloatArray,
    to: FloatArray,
    free: BoolArray,
    gaussian: bool,
    tolerance: float,
    out: FloatArray,
) -> None:
    """Add the blocks first to last to `out` (AG eqs. 19, 21); densities with p below `tolerance` may be passed over."""
    n = z.shape[0]
    axes = np.empty(n, np.int64)
    bounds = np.empty(n)
    store = np.empty(_LONGEST)
    for k in range(first, last):
        head = start[k]
        tail = start[k + 1]
        for q in range(a.shape[0]):
            product = 1.0
            left = 0
            for j in range(n):
                if free[q, j]:
                    continue
                bound = _bound(a[q, j], b[q, j], low[k, j], high[k, j], widest[k, j], heaviest[k, j], gaussian)
                product *= bound
                if product == 0.0:
                    break
                if bound < 1.0:
                    place = left
                    while place > 0 and bounds[place - 1] > bound:
                        bounds[place] = bounds[place - 1]
                        axes[place] = axes[place - 1]
                        place -= 1
                    bounds[place] = bound
                    axes[place] = j
                    left += 1
            if product < tolerance:
                out[q, 2] += product * (tail - head)
                continue
            p = store[: tail - head]
            p[:] = 1.0
            total = 0.0
            spread = 0.0
            for i in range(left):
                j = axes[i]
                reach = widest[k, j] * (LIMIT if gaussian else 0.5)
                sides = 0
                if not points[k, j]:
                    sides = (a[q, j] > low[k, j] - reach) + 2 * (b[q, j] < high[k, j] + reach)
                span = slice(head, tail)
                _multiply(z[j, span], inverse[j, span], heavy[j, span], a[q, j], b[q, j], gaussian, sides, p)
                total, spread = _sums(p)
                if total < tolerance:
                    break
            if left == 0:
                total = float(tail - head)
            out[q, 3] += _within(z[:, head:tail], from_[q], to[q], low[k], high[k])
            if total < tolerance:
                out[q, 2] += total
                continue
            out[q, 0] += total
            out[q, 1] += spread


@kernel
def count_singly(
    z: FloatArray,
    scale: FloatArray,
    a: FloatArray,
    b: FloatArray,
    from_: FloatArray,
    to: FloatArray,
    low: FloatArray,
    high: FloatArray,
    gaussian: bool,
    out: FloatArray,
) -> None:
    """Add densities (H, n) one by one to `out`, each factor exact."""
    for q in range(a.shape[0]):
        for r in range(z.shape[0]):
            p = 1.0
            within = True
            for j in range(z.shape[1]):
                p *= interval_mass(gaussian, z[r, j], scale[r, j], a[q, j], b[q, j], low[j], high[j])
                within = within and from_[q, j] <= z[r, j] <= to[q, j]
                if p == 0.0:
                    break
            out[q, 0] += p
            out[q, 1] += p * (1.0 - p)
            out[q, 3] += within and p > 0.0


@inner_kernel
def _sample(
    z: FloatArray,
    g: FloatArray,
    window: int,
    standard: FloatArray,
    low: FloatArray,
    high: FloatArray,
    points: FloatArray,
) -> int:
    """Points of a density that are in the domain, into `points` (K, n); how many."""
    windows, size, n = standard.shape
    kept = 0
    for w in range(windows):
        for k in range(size):
            inside = True
            for j in range(n):
                value = z[j]
                for i in range(n):
                    value += g[j, i] * standard[(window + w) % windows, k, i]
                points[kept, j] = value
                inside = inside and low[j] <= value <= high[j]
            if inside:
                kept += 1
                if kept == points.shape[0]:
                    return kept
        if 2 * kept >= size:
            return kept
    if kept == 0:
        for j in range(n):
            points[0, j] = min(max(z[j], low[j]), high[j])
        kept = 1
    return kept


@kernel
def count_rotated(
    first: int,
    z: FloatArray,
    g: FloatArray,
    standard: FloatArray,
    a: FloatArray,
    b: FloatArray,
    from_: FloatArray,
    to: FloatArray,
    low: FloatArray,
    high: FloatArray,
    out: FloatArray,
) -> None:
    """Add rotated densities (m, n), the first of them number `first`, by quasi-Monte Carlo along their own axes."""
    n = z.shape[1]
    points = np.empty((standard.shape[1], n))
    for r in range(z.shape[0]):
        kept = _sample(z[r], g[r], first + r, standard, low, high, points)
        least = points[0].copy()
        most = points[0].copy()
        for k in range(1, kept):
            for j in range(n):
                least[j] = min(least[j], points[k, j])
                most[j] = max(most[j], points[k, j])
        for q in range(a.shape[0]):
            whole = True
            empty = False
            within = True
            for j in range(n):
                within = within and from_[q, j] <= z[r, j] <= to[q, j]
                empty = empty or a[q, j] > most[j] or b[q, j] < least[j]
                whole = whole and a[q, j] <= least[j] and b[q, j] >= most[j]
            out[q, 3] += within
            if empty:
                continue
            if whole:
                out[q, 0] += 1.0
                continue
            held = 0
            for k in range(kept):
                inside = True
                for j in range(n):
                    inside = inside and a[q, j] <= points[k, j] <= b[q, j]
                held += inside
            p = held / kept
            out[q, 0] += p
            out[q, 1] += p * (1.0 - p) * (kept + 1) / max(kept - 1, 1)
