"""Order statistics (kernels): selection, sorting, and gaps in which a cut is placed: at a multiple of k, at the median.

Notation
--------
v : (m,), values of one axis in one node, in any order; worked on in place.
r : rank counted from 0: v_r is the element that sorting would put at place r.
A gap (a, b) between neighbouring values is *open* when a float is strictly inside it: only there can a cut be placed
that is neither value. Values without one between them count as equal.
"""

from typing import Final

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, whole

_SMALL = 24
_SAMPLE = 33
LESS: Final = 1.0 - 1e-12  # rounding must not decide between candidates of equal gain, or axes of equal worth


@kernel
def is_open(a: float, b: float) -> bool:
    """Whether a float is strictly between a and b, a <= b."""
    middle = 0.5 * a + 0.5 * b
    return a < middle < b


@kernel
def spans(low: float, high: float, width: float, spike: float) -> bool:
    """Test that values from `low` to `high` span a width, or are all the column's spike."""
    return high - low >= width or (low == spike and high == spike)


@kernel
def can_part(low: float, high: float, width: float, spike: float) -> bool:
    """Test that a cut may leave two sides that span a width; one at the spike needs none."""
    return high - low > (width if low == spike or high == spike else 2.0 * width)


@inner_kernel
def middle(a: float, b: float) -> float:
    """Where a cut of a gap is reckoned to be: half-way. The cut itself is a random point (partition.places)."""
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


@inner_kernel
def better(p: int, best: int, m: int, k: int) -> bool:
    """Whether cutting after p values leaves room for more boxes than after `best`, or else more evenly."""
    if best == 0:
        return True
    room = p // k + (m - p) // k
    best_room = best // k + (m - best) // k
    if room != best_room:
        return room > best_room
    return abs(2 * p - m) < abs(2 * best - m)


@kernel
def widest(score: FloatArray) -> int:
    """First axis whose score is the largest but for rounding, -1 when all are 0."""
    largest = 0.0
    for j in range(len(score)):
        largest = max(largest, score[j])
    for j in range(len(score)):
        if score[j] > 0.0 and score[j] >= largest * LESS:
            return j
    return -1


@inner_kernel
def _scan(v: FloatArray, m: int, k: int, least: int, most: int) -> tuple[int, float, float]:
    """Best open gap of all, by sorting: for values so dense that neighbours have no float between them."""
    sort(v, m)
    best = whole(0)
    for p in range(least, most + 1):
        if is_open(v[p - 1], v[p]) and better(p, best, m, k):
            best = p
    if best == 0:
        return 0, 0.0, 0.0
    return best, v[best - 1], v[best]


@inner_kernel
def _places(v: FloatArray, m: int, k: int, width: float) -> tuple[int, int]:
    """First and last place of a cut that leaves k values on both sides, each of which spans the width."""
    if width <= 0.0:
        return whole(k), m - k
    low, high = v[0], v[0]
    for i in range(1, m):
        low, high = min(low, v[i]), max(high, v[i])
    least, most = whole(1), m - 1
    for i in range(m):
        least += v[i] - low < width
        most -= high - v[i] < width
    return max(least, whole(k)), min(most, m - k)


@inner_kernel
def _beside_spike(v: FloatArray, m: int, k: int, width: float, spike: float) -> tuple[int, float, float]:
    """The cut between the spike, where it is the least or the greatest value, and the others; as `cut_at_multiple`."""
    low, high, count = v[0], v[0], whole(0)
    least, most = np.inf, -np.inf
    for i in range(m):
        low, high = min(low, v[i]), max(high, v[i])
        if v[i] == spike:
            count += 1
        else:
            least, most = min(least, v[i]), max(most, v[i])
    if count < k or count > m - k or most - least < width:
        return 0, 0.0, 0.0
    if low == spike and is_open(spike, least):
        return count, spike, least
    if high == spike and is_open(most, spike):
        return m - count, most, spike
    return 0, 0.0, 0.0


@kernel
def cut_at_multiple(v: FloatArray, m: int, k: int, width: float, spike: float) -> tuple[int, float, float]:
    """Open gap at floor(floor(m/k)/2) k values, or the better neighbour of the tie there.

    Parameters
    ----------
    v, m : values, and how many of them.
    k : least values on each side.
    width : what the values of each side span at least; 0 for any. A place that leaves less moves to the nearest that
        does not.
    spike : the value of which a side may consist all the same; NaN for none. Where the cut beside it leaves room for
        more boxes, it is that.

    Returns
    -------
    p : values on the lower side, 0 when no open gap leaves k on both sides.
    a, b : the gap's ends: the largest value below the cut and the smallest above it.
    """
    p, below, above = _at_multiple(v, m, k, width)
    if width > 0.0 and spike == spike:
        q, last, first = _beside_spike(v, m, k, width, spike)
        if q > 0 and better(q, p, m, k):
            return q, last, first
    return p, below, above


@inner_kernel
def _at_multiple(v: FloatArray, m: int, k: int, width: float) -> tuple[int, float, float]:
    """The gap where no value is a spike."""
    least, most = _places(v, m, k, width)
    if least > most:
        return 0, 0.0, 0.0
    r = min(max(m // k // 2 * k, least), most)
    t = select(v, m, r)
    a = v[0]
    for i in range(1, r):
        a = max(a, v[i])
    if is_open(a, t):
        return r, a, t
    less = whole(0)
    upto = whole(0)
    before = -np.inf
    after = np.inf
    for i in range(m):
        if v[i] < t:
            less += 1
            before = max(before, v[i])
        elif v[i] > t:
            after = min(after, v[i])
        else:
            upto += 1
    upto += less
    lower = less >= least
    upper = upto <= most
    if (lower and not is_open(before, t)) or (upper and not is_open(t, after)):
        return _scan(v, m, k, least, most)
    if lower and (not upper or better(less, upto, m, k)):
        return less, before, t
    if upper:
        return upto, t, after
    return 0, 0.0, 0.0


@inner_kernel
def cut_at_median(v: FloatArray, m: int, k: int, width: float, spike: float) -> tuple[int, float, float]:
    """Mondrian's strict cut: values up to the lower median on one side, the rest on the other; result as above.

    LeFevre, DeWitt, Ramakrishnan 2006, section 4: `lhs = {t : t.dim <= splitVal}`. Departure: where no float is
    between the sides the cut is not allowed, because a cell could not be bounded there.
    """
    t = select(v, m, (m - 1) // 2)
    upto = 0
    low, high, after = t, t, np.inf
    for i in range(m):
        low, high = min(low, v[i]), max(high, v[i])
        if v[i] > t:
            after = min(after, v[i])
        else:
            upto += 1
    wide = spans(low, t, width, spike) and spans(after, high, width, spike)
    if upto < k or upto > m - k or not wide or not is_open(t, after):
        return 0, 0.0, 0.0
    return upto, t, after
