"""The best partition where one axis matters, by dynamic programming (kernel).

Notation as in partition.gain.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel
from surebox_core.types import FloatArray, IndexArray, SingleArray, whole
from workers.algorithms.boxes.partition.selection import is_open, middle

LESS = 1.0 - 1e-12  # rounding must not decide between candidates of equal gain


@inner_kernel
def best_on_line(  # noqa: C901 (a kernel)
    rows: FloatArray,
    worth: SingleArray,
    price: FloatArray,
    index: IndexArray,
    span: tuple[int, int, int],
    axis: int,
    k: int,
    low: float,
    high: float,
    others: float,
    lines: FloatArray,
    back: IndexArray,
    top: FloatArray,
) -> int:
    """Best partition of a run of records along an axis: its middle cut, 0 for none; cost into `top`.

    `low` and `high` are the cell's bounds, inf and -inf where there are no cells; `others` is what the other axes cost
    a record: those of a cell may be wider than nothing though no cut narrows them.

    best_end = min over starts of best_start + (sum of a)(width). A start at or below p - k, p the last gap k before the
    end, need not be tried: a cut at p would only gain. O(m k).
    """
    base, s, e = span
    m = e - s
    best, prefix = lines[0], lines[1]
    same = len(worth) == 0
    celled = low <= high
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
        upper = high
        if end < m:
            upper = middle(value, rows[base + index[axis, s + end], axis])
        for start in range(last, max(last - k, -1), -1):
            if best[start] < np.inf:
                first = rows[base + index[axis, s + start], axis]
                if celled:
                    lower = low
                    if start > 0:
                        lower = middle(rows[base + index[axis, s + start - 1], axis], first)
                    width = upper - lower
                else:
                    width = value - first
                cost = best[start] + (prefix[end] - prefix[start]) * width
                if cost < best[end] * LESS:
                    best[end] = cost
                    back[end] = start
    place = whole(0)
    end = whole(back[m])
    while end > 0:
        if abs(2 * end - m) < abs(2 * place - m):
            place = end
        end = whole(back[end])
    top[0, 0] = best[m] + m * others
    top[1, 0] = axis
    top[2, 0] = place
    return place
