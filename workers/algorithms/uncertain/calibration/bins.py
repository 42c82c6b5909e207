"""Sums over binned distances: the pieces of the gaussian calibration kernel, with their error bounds.

A kernel's cache watches only the file of the kernel that is called: after an edit here, empty the cache or touch
calibration.kernels.

Notation
--------
delta : distance of a neighbour in the record's metric, sigma : scale, t = delta / (2 sigma).
Q(t) : P(M >= t), M standard normal; decreasing, and convex for t >= 0. From a table: tangents are below, chords above.
h : width of a bin of distances; z = h / (2 sigma), so that t = (delta / h) z.
number, total : records of each bin, and the sum of delta / h over them; the last bin contains all beyond.
count, mean : number and mean delta / h of the bins that contain any.
"""

import math

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray

CELLS = 512  # of the table, per unit of t
REACH = 8.0  # the table ends here: Q(8) = 6e-16


@inner_kernel
def see(  # noqa: C901
    blocked: FloatArray,
    s: int,
    e: int,
    centre: FloatArray,
    shape: FloatArray,
    mine: int,
    full: bool,
    per_bin: float,
    bins: int,
    number: FloatArray,
    total: FloatArray,
    buffer: FloatArray,
) -> int:
    """Add the records of a leaf to the bins; returns how many are at distance 0."""
    n = len(centre)
    m = e - s
    q = buffer[:m]
    for j in range(m):
        q[j] = 0.0
    for a in range(n):
        if full:
            v = buffer[m : 2 * m]
            for j in range(m):
                v[j] = 0.0
            for c in range(n):
                weight = shape[mine, a * n + c]
                here = centre[c]
                column = blocked[s * n + c * m : s * n + c * m + m]
                for j in range(m):
                    v[j] += weight * (column[j] - here)
            for j in range(m):
                q[j] += v[j] * v[j]
        else:
            weight = shape[mine, a]
            here = centre[a]
            column = blocked[s * n + a * m : s * n + a * m + m]
            for j in range(m):
                w = (column[j] - here) * weight
                q[j] += w * w
    same = 0
    for j in range(m):
        same += q[j] == 0.0
        q[j] = min(math.sqrt(q[j]) * per_bin, float(bins))
    for j in range(m):
        b = int(q[j])
        number[b] += 1.0
        total[b] += q[j]
    number[0] -= same
    return same


@inner_kernel
def bin_sum(z: float, filled: int, count: FloatArray, mean: FloatArray, table: FloatArray) -> tuple[float, float]:
    """Lower bound of the sum of Q over the bins, and minus its derivative in log z."""
    last = table.shape[1] - 1
    low = 0.0
    slope = 0.0
    for b in range(filled):
        t = mean[b] * z
        j = int(t * CELLS + 0.5)
        if j >= last:
            break
        steep = count[b] * table[1, j]
        low += count[b] * table[0, j] - steep * (t - j / CELLS)
        slope += steep * t
    return low, slope


@inner_kernel
def above(t: float, table: FloatArray) -> float:
    """Upper bound of Q: the chord of the table's cell."""
    j = int(t * CELLS)
    last = table.shape[1] - 1
    if j >= last:
        return float(table[0, last])
    return float(table[0, j] + (t * CELLS - j) * (table[0, j + 1] - table[0, j]))


@inner_kernel
def slack(z: float, bins: int, number: FloatArray, total: FloatArray, table: FloatArray) -> tuple[float, float]:
    """How much the seen records may count more than their lower bound: in the bins, and beyond the last one."""
    more = 0.0
    for b in range(bins):
        if number[b] > 0.0:
            left = above(b * z, table)
            right = above((b + 1) * z, table)
            place = min(max(total[b] / number[b] - b, 0.0), 1.0)
            more += number[b] * (left + place * (right - left))
    return more, number[bins] * above(bins * z, table)


@inner_kernel
def root(
    z: float, wanted: float, fine: float, filled: int, count: FloatArray, mean: FloatArray, table: FloatArray
) -> float:
    """Largest z, up to a share `fine`, with a sum of at least `wanted`; 0 where there is none.

    Newton on logarithms inside a bracket; steps go a little beyond the root: the bracket closes from both sides.
    """
    low = 0.0
    high = np.inf
    for _ in range(400):
        value, slope = bin_sum(z, filled, count, mean, table)
        if value >= wanted:
            low = z
        else:
            high = z
        if low > 0.0 and high <= low * (1.0 + fine):
            return low
        if z < 1e-290 or z > 1e290:
            return low
        move = 2.0 if value >= wanted else -2.0
        if value > 0.0 and slope > 0.0:
            move = math.log(value / wanted) * value / slope
        move = min(max(move, -2.0), 2.0)
        move = max(move, 0.0) + 0.3 * fine if value >= wanted else min(move, 0.0) - 0.3 * fine
        z *= math.exp(move)
        if not low < z < high:
            z = math.sqrt(low * high) if low > 0.0 else 0.5 * high
            if not low < z < high:
                return low
    return low
