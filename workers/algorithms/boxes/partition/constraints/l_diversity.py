"""l-diversity of boxes: l different values of every sensitive column, or l that are apart (kernels).

Definition. Distinct l-diversity: every class has at least l different values of a sensitive column (Machanavajjhala,
Gehrke, Kifer, Venkitasubramaniam 2007). A missing value is none: it hides nothing. Of a sensitive number
values next to each other state as much as one does, so that l of them must be pairwise at least `apart`, its
`min_separation` (XF slides 11 and 12: eps).

Derivation. More records never have fewer values, nor fewer that are apart. So each column allows one run of places of a
line: from the first place at which the side below has enough to the last at which the side above has. Of sorted values
the largest set that is apart is had by taking the first and then always the next far enough: a set that is as large
can have each of its members moved down to that one's, which keeps all distances.

Notation
--------
line, base, order : as in k_anonymity.  codes : (N,), values of a column, -1 where missing.  values : (N,), numbers of
    a column, NaN where missing.  allowed : (m + 1,), 1 where a node of m records may be cut after p of them.
run : (m,), space.  seen : space that is all zeros between two calls.

science.md section 1, "l-diversity in boxes". A. Machanavajjhala and others, l-diversity: privacy beyond k-anonymity,
ACM Transactions on Knowledge Discovery from Data 1(1), article 3, 2007.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray, whole
from workers.algorithms.boxes.partition.selection import sort


@kernel
def spread(v: FloatArray, apart: float, enough: int) -> int:
    """How many of sorted values are pairwise `apart`, taking the first and then always the next; at most `enough`."""
    count = 0
    last = 0.0
    for value in v:
        if count == 0 or value - last >= apart:
            count += 1
            last = value
            if count >= enough:
                break
    return count


@inner_kernel
def has_spread(
    values: FloatArray,
    apart: float,
    least: int,
    order: IndexArray,
    base: int,
    line: IndexArray,
    s: int,
    e: int,
    run: FloatArray,
) -> bool:
    """Whether `least` values of the records from s to e are so far apart."""
    size = whole(0)
    for z in range(s, e):
        value = values[order[base + line[z]]]
        if not np.isnan(value):
            run[size] = value
            size += 1
    sort(run, size)
    return bool(spread(run[:size], apart, least) >= least)


@inner_kernel
def forbid_few(
    codes: IndexArray,
    least: int,
    order: IndexArray,
    base: int,
    line: IndexArray,
    upward: bool,
    seen: IntArray,
    allowed: ByteArray,
) -> None:
    """Forbid places before the side that grows has `least` different values. O(records that have them)."""
    m = len(line)
    distinct = 0
    counted = 0
    for count in range(1, m):
        counted = count
        label = codes[order[base + line[count - 1 if upward else m - count]]]
        if label >= 0:
            seen[label] += 1
            distinct += seen[label] == 1
        if distinct >= least:
            break
        allowed[count if upward else m - count] = 0
    for count in range(1, counted + 1):
        label = codes[order[base + line[count - 1 if upward else m - count]]]
        if label >= 0:
            seen[label] = 0


@inner_kernel
def forbid_close(
    values: FloatArray,
    apart: float,
    least: int,
    order: IndexArray,
    base: int,
    line: IndexArray,
    upward: bool,
    run: FloatArray,
    allowed: ByteArray,
) -> None:
    """Forbid places before the growing side has `least` values so far apart; their number by doubling, then halving.

    O(c log^2 c), c the records that have enough of them.
    """
    m = len(line)
    low = whole(0)  # too few records
    high = min(least, m)
    while high < m and not _grown(values, apart, least, order, base, line, upward, run, high):
        low = high
        high = min(2 * high, m)
    while high - low > 1:
        count = (low + high) // 2
        if _grown(values, apart, least, order, base, line, upward, run, count):
            high = count
        else:
            low = count
    for count in range(1, high):
        allowed[count if upward else m - count] = 0


@inner_kernel
def _grown(
    values: FloatArray,
    apart: float,
    least: int,
    order: IndexArray,
    base: int,
    line: IndexArray,
    upward: bool,
    run: FloatArray,
    count: int,
) -> bool:
    """Whether the first `count` records of the side that grows have enough."""
    s = whole(0) if upward else len(line) - count
    return has_spread(values, apart, least, order, base, line, s, s + count, run)
