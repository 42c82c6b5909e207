"""The best partition where one axis matters, by dynamic programming (kernel).

Notation as in boxes.gain.
"""

import numpy as np

from surebox_verify.core.compiled import inner_kernel
from surebox_verify.core.types import FloatArray, IndexArray, SingleArray, whole
from workers.algorithms.boxes.partition.selection import is_open

LESS = 1.0 - 1e-12  # rounding must not decide between candidates of equal gain


@inner_kernel
def best_on_line(
    rows: FloatArray,
    worth: SingleArray,
    price: FloatArray,
    index: IndexArray,
    span: tuple[int, int, int],
    axis: int,
    k: int,
    lines: FloatArray,
    back: IndexArray,
    top: FloatArray,
) -> int:
    """Best partition of a run of records along an axis: its middle cut, 0 for none; cost into `top`.

    best_end = min over starts of best_start + (sum of a)(width). A start at or below p - k, p the last gap k before the
    end, need not be tried: a cut at p would only gain. O(m k).
    """
    base, s, e = span
    m = e - s
    best, prefix = lines[0], lines[1]
    same = len(worth) == 0
    best[0] = prefix[0] = 0.0
    last = 0
    for end in range(1, m + 1):
        row = base + index[axis, s + end - 1]
        value = rows[row, axis]
        a = price[0, axis] if same else worth[row, axis]
        prefix[end] = prefix[end - 1] + a * price[1, axis]
        best[end] = np.inf
        if end > k and best[end - k] < np.inf:
            last = end - k
        if end < k or (end < m and not is_open(value, rows[base + index[axis, s + end], axis])):
            continue
        for start in range(last, max(last - k, -1), -1):
            if best[start] < np.inf:
                width = value - rows[base + index[axis, s + start], axis]
                cost = best[start] + (prefix[end] - prefix[start]) * width
                if cost < best[end] * LESS:
                    best[end] = cost
                    back[end] = start
    middle = whole(0)
    end = whole(back[m])
    while end > 0:
        if abs(2 * end - m) < abs(2 * middle - m):
            middle = end
        end = whole(back[end])
    top[0, 0] = best[m]
    top[1, 0] = axis
    top[2, 0] = middle
    return middle
