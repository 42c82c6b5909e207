"""Which cuts leave every box k records of each kept class it holds, and l values of each sensitive column (kernels).

Notation as in partition.gain, and
--------
kept : (N,) int32, class of each record by its kept columns (`k_counts_kept`); empty where they do not count.
codes : (N, s) int32, values of the sensitive columns, numbered; -1 where missing, which counts as no value.
values, apart : (N, t) and (t,), columns whose l values must lie `apart` pairwise; NaN where missing.
allowed : (m + 1,), 1 where a node of m records may be cut after p of them along the axis at hand.

science.md section 1, "l-diversity in boxes". More records never have fewer values, so each column allows one run of
places; classes forbid places one by one.
"""

from dataclasses import dataclass, field

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray, whole
from workers.algorithms.boxes.partition.selection import sort
from workers.algorithms.boxes.partition.tree import Rules
from workers.algorithms.core.errors import InfeasibleDiversityError, InfeasibleKError


@dataclass(frozen=True)
class BoxConstraints:
    """What a box must hold beside k records: see the Notation; empty arrays where nothing is demanded.

    `closeness` is t and `alpha` the largest share of one value, both of every column of `codes`; `ordered` says which
    of these are ranks, whose distance is the earth mover's. `persons` numbers the persons that k counts, not records.
    """

    diversity: int = 0
    kept: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    codes: IndexArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))
    values: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    apart: FloatArray = field(default_factory=lambda: np.empty(0))
    closeness: float | None = None
    alpha: float | None = None
    ordered: tuple[bool, ...] = ()
    persons: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))

    @property
    def none(self) -> bool:
        """Whether k records suffice."""
        return len(self.kept) == 0 and self.codes.shape[1] == 0 and self.values.shape[1] == 0


def check_demands(demands: BoxConstraints, k: int) -> None:
    """Refuse what not even one box of all records meets.

    Raises
    ------
    InfeasibleKError
        A kept class has fewer than k records.
    InfeasibleDiversityError
        A column has fewer than l values (so far apart); it names the column that has fewest.
    """
    if len(demands.kept) and (smallest := int(np.unique(demands.kept, return_counts=True)[1].min())) < k:
        raise InfeasibleKError(k, smallest)
    largest = [len(np.unique(c[c >= 0])) for c in demands.codes.T]
    for v, apart in zip(demands.values.T, demands.apart, strict=True):
        known = np.sort(v[~np.isnan(v)])
        largest.append(int(spread(known, apart, len(known))))
    if largest and min(largest) < demands.diversity:
        raise InfeasibleDiversityError(int(np.argmin(largest)), demands.diversity, min(largest))


def rules(demands: BoxConstraints, k: int, room: int) -> Rules:
    """The same for kernels, with the space they work in."""
    kept = [demands.kept] if len(demands.kept) else []
    labels = [*kept, *demands.codes.T]
    rows = max((len(each) for each in labels), default=0)
    return Rules(
        labels=np.array(labels, dtype=np.int32).reshape(len(labels), rows),
        need=np.array([(k, 0)] * len(kept) + [(1, demands.diversity)] * demands.codes.shape[1], np.int64).reshape(
            -1, 2
        ),
        values=np.ascontiguousarray(demands.values.T),
        apart=demands.apart,
        diversity=demands.diversity,
        allowed=np.ones(room + 1, dtype=np.uint8),
        seen=np.zeros(max((int(each.max(initial=-1)) + 1 for each in labels), default=0), dtype=np.int64),
        run=np.empty(room if demands.values.shape[1] else 0),
    )


@kernel
def spread(v: FloatArray, apart: float, enough: int) -> int:
    """How many of sorted values lie pairwise `apart`, taking the first and then always the next; at most `enough`."""
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
def _labelled(
    order: IndexArray,
    index: IndexArray,
    span: tuple[int, int, int],
    axis: int,
    upward: bool,
    labels: IndexArray,
    need: IntArray,
    seen: IntArray,
    allowed: ByteArray,
) -> None:
    """Forbid places where the side that grows has too few labels, or between 1 and `each` - 1 records of one."""
    base, s, e = span
    m = e - s
    each, distinct = need[0], need[1]
    distinct_labels = 0
    short = 0
    counted = 0
    for count in range(1, m):
        counted = count
        label = labels[order[base + index[axis, s + count - 1 if upward else e - count]]]
        if label >= 0:
            seen[label] += 1
            if seen[label] == 1:
                distinct_labels += 1
                short += 1
            if seen[label] == each:
                short -= 1
        if short > 0 or distinct_labels < distinct:
            allowed[count if upward else m - count] = 0
        elif each == 1:
            break
    for count in range(1, counted + 1):
        label = labels[order[base + index[axis, s + count - 1 if upward else e - count]]]
        if label >= 0:
            seen[label] = 0


@inner_kernel
def _enough(
    order: IndexArray,
    index: IndexArray,
    span: tuple[int, int, int],
    axis: int,
    upward: bool,
    values: FloatArray,
    apart: float,
    least: int,
    run: FloatArray,
    count: int,
) -> bool:
    """Whether the first `count` records of the side that grows have `least` values so far apart."""
    base, s, e = span
    size = whole(0)
    for z in range(count):
        value = values[order[base + index[axis, s + z if upward else e - 1 - z]]]
        if not np.isnan(value):
            run[size] = value
            size += 1
    sort(run, size)
    return bool(spread(run[:size], apart, least) >= least)


@inner_kernel
def _apart(
    order: IndexArray,
    index: IndexArray,
    span: tuple[int, int, int],
    axis: int,
    upward: bool,
    values: FloatArray,
    apart: float,
    least: int,
    run: FloatArray,
    allowed: ByteArray,
) -> None:
    """Forbid places before the growing side has `least` values so far apart; their number by doubling, then halving."""
    m = span[2] - span[1]
    low = whole(0)  # too few records
    high = min(least, m)
    while high < m and not _enough(order, index, span, axis, upward, values, apart, least, run, high):
        low = high
        high = min(2 * high, m)
    while high - low > 1:
        count = (low + high) // 2
        if _enough(order, index, span, axis, upward, values, apart, least, run, count):
            high = count
        else:
            low = count
    for count in range(1, high):
        allowed[count if upward else m - count] = 0


@inner_kernel
def restrict(order: IndexArray, index: IndexArray, span: tuple[int, int, int], axis: int, rules: Rules) -> None:
    """Set `allowed` for a node's records in their order along an axis.

    O(m); with `values` O(c log^2 c) besides, c the records that have enough of them.
    """
    allowed = rules.allowed
    for p in range(span[2] - span[1] + 1):
        allowed[p] = 1
    for upward in (True, False):
        for c in range(len(rules.labels)):
            _labelled(order, index, span, axis, upward, rules.labels[c], rules.need[c], rules.seen, allowed)
        for c in range(len(rules.values)):
            v = rules.values[c]
            _apart(order, index, span, axis, upward, v, rules.apart[c], rules.diversity, rules.run, allowed)
