"""Order statistics (kernels): selection, sorting, and gaps in which a cut can be placed.

Notation
--------
v : (m,), values of one axis in one node, in any order; worked on in place.
r : rank counted from 0: v_r is the element that sorting would put at place r.
A gap (a, b) between neighbouring values is *open* when a float lies strictly inside it: only there can a cut be placed
that is neither value. Values without one between them count as equal.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, whole

_SMALL = 24
_SAMPLE = 33


@kernel
def is_open(a: float, b: float) -> bool:
    """Whether a float lies strictly between a and b, a <= b."""
    middle = 0.5 * a + 0.5 * b
    return a < middle < b


@inner_kernel
def middle(a: float, b: float) -> float:
    """Where a cut of a gap is reckoned to lie: half-way. The cut itself is a random point (partition.places)."""
    return 0.5 * a + 0.5 * b


@inner_kernel
def _insert_sort(v: FloatArray, low: int, high: int) -> None:
    for i in range(low + 1, high + 1):
        value = v[i]
        j = i
        while j > low and v[j - 1] > value:
            v[j] = v[j - 1]
            j -= 1
        v[j] = value


@kernel
def select(v: FloatArray, m: int, r: int) -> float:
    """Return v_r of the first m values and leave v split about place r; O(m) expected.

    Pivots come from an evenly spaced sample, a little beyond the wanted rank on its farther side (Floyd, Rivest 1975),
    so that the second pass is over half the values and the third over few. Partition without branches; a second,
    non-strict pass when the pivot repeats, so that ties cost no more than distinct values.
    """
    low = whole(0)
    high = m - 1
    sample = np.empty(_SAMPLE)
    while high - low >= _SMALL:
        n = high - low + 1
        size = _SAMPLE if n > 1000 else 9
        step = (n - 1) // (size - 1)
        for i in range(size):
            sample[i] = v[low + i * step]
        _insert_sort(sample, whole(0), size - 1)
        place = (r - low) / n * (size - 1)
        beyond = 1.5 if size == _SAMPLE else 0.5
        place = place + beyond if 2 * (r - low) < n else place - beyond
        pivot = sample[min(max(int(place + 0.5), 0), size - 1)]
        below = low
        for i in range(low, high + 1):
            value = v[i]
            v[i] = v[below]
            v[below] = value
            below += value < pivot
        if r < below:
            high = below - 1
            continue
        if below - low >= n // 8:
            low = below
            continue
        upto = below
        for i in range(below, high + 1):
            value = v[i]
            v[i] = v[upto]
            v[upto] = value
            upto += value <= pivot
        if r < upto:
            return float(pivot)
        low = upto
    _insert_sort(v, low, high)
    return float(v[r])


@inner_kernel
def _sift(v: FloatArray, root: int, end: int) -> None:
    value = v[root]
    child = 2 * root + 1
    while child < end:
        if child + 1 < end and v[child + 1] > v[child]:
            child += 1
        if v[child] <= value:
            break
        v[root] = v[child]
        root = child
        child = 2 * root + 1
    v[root] = value


@inner_kernel
def sort(v: FloatArray, m: int) -> None:
    """Sort the first m values in place (heapsort). O(m log m); numpy's own takes a second to compile in a kernel."""
    for root in range(m // 2 - 1, -1, -1):
        _sift(v, root, m)
    for end in range(m - 1, 0, -1):
        v[0], v[end] = v[end], v[0]
        _sift(v, whole(0), end)
