"""Which cuts leave every box k records of each kept class it holds, and l values of each sensitive column (kernels).

Notation as in boxes.gain, and
--------
kept : (N,) int32, class of each record by its kept columns (`count_keep`); empty where they do not count.
codes : (N, s) int32, values of the sensitive columns, numbered; -1 where missing, which counts as no value.
values, apart : (N, t) and (t,), columns whose l values must lie `apart` pairwise; NaN where missing.
allowed : (m + 1,), 1 where a node of m records may be cut after p of them along the axis at hand.

science.md section 1, l-diversity: it is counted. More records never have fewer values, so each column allows one run of
places; classes forbid places one by one.
"""

from dataclasses import dataclass, field

import numpy as np
from numba import njit

from workers.algorithms.boxes.tree import Block, Records, Rules
from workers.algorithms.core.errors import InfeasibleDiversityError, InfeasibleKError
from workers.algorithms.core.types import ByteArray, FloatArray, IndexArray, IntArray


@dataclass(frozen=True)
class Demands:
    """What a box must hold beside k records: see the Notation; empty arrays where nothing is demanded."""

    diversity: int = 0
    kept: IndexArray = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    codes: IndexArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.int32))
    values: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    apart: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def none(self) -> bool:
        """Whether k records suffice."""
        return len(self.kept) == 0 and self.codes.shape[1] == 0 and self.values.shape[1] == 0


def check_demands(demands: Demands, k: int) -> None:
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


def rules(demands: Demands, k: int, room: int) -> Rules:
    """The same for kernels, with the space they work in."""
    labels = max(int(demands.kept.max(initial=-1)), int(demands.codes.max(initial=-1))) + 1
    return Rules(
        least=np.array([k, demands.diversity], dtype=np.int64),
        kept=demands.kept,
        codes=demands.codes,
        values=demands.values,
        apart=demands.apart,
        allowed=np.ones(room + 1, dtype=np.uint8),
        seen=np.zeros(labels, dtype=np.int64),
        run=np.empty(room if demands.values.shape[1] else 0),
    )


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def ruled(block: Block) -> bool:
    """Whether a cut must be checked at all."""
    rules = block.rules
    return bool(len(rules.kept) + rules.codes.shape[1] + rules.values.shape[1] > 0)


@njit(nogil=True, cache=True)
def _classes(rows: IndexArray, kept: IndexArray, k: int, upward: bool, seen: IntArray, allowed: ByteArray) -> None:
    """Forbid places that leave a class between 1 and k - 1 records on the side that grows."""
    m = len(rows)
    short = 0
    for count in range(1, m):
        label = kept[rows[count - 1] if upward else rows[m - count]]
        seen[label] += 1
        if seen[label] == 1:
            short += 1
        if seen[label] == k:
            short -= 1
        if short > 0:
            allowed[count if upward else m - count] = 0
    for row in rows:
        seen[kept[row]] = 0


@njit(nogil=True, cache=True)
def _distinct(
    rows: IndexArray, codes: IndexArray, least: int, upward: bool, seen: IntArray, allowed: ByteArray
) -> None:
    """Forbid places before the growing side has `least` values."""
    m = len(rows)
    found = 0
    for count in range(1, m):
        code = codes[rows[count - 1] if upward else rows[m - count]]
        if code >= 0:
            if seen[code] == 0:
                found += 1
            seen[code] = 1
        if found >= least:
            break
        allowed[count if upward else m - count] = 0
    for row in rows:
        if codes[row] >= 0:
            seen[codes[row]] = 0


@njit(nogil=True, cache=True)
def _apart(
    rows: IndexArray, values: FloatArray, apart: float, least: int, upward: bool, run: FloatArray, allowed: ByteArray
) -> None:
    """Forbid places before the growing side has `least` values so far apart; their number by halving."""
    m = len(rows)
    low = 0  # too few records
    high = m
    while high - low > 1:
        count = (low + high) // 2
        size = 0
        for z in range(count):
            value = values[rows[z] if upward else rows[m - 1 - z]]
            if not np.isnan(value):
                run[size] = value
                size += 1
        if spread(np.sort(run[:size]), apart, least) >= least:
            high = count
        else:
            low = count
    for count in range(1, min(high, m)):
        allowed[count if upward else m - count] = 0


@njit(nogil=True, cache=True)
def restrict(records: Records, block: Block, x: IndexArray) -> None:
    """Set `allowed` for a node's records in their order along an axis. O(m), with `values` O(m log^2 m)."""
    rules = block.rules
    m = len(x)
    k, diversity = rules.least
    allowed = rules.allowed
    allowed[: m + 1] = 1
    rows = np.empty(m, dtype=np.int32)
    for p in range(m):
        rows[p] = records.order[block.span[0] + x[p]]
    for upward in (True, False):
        if len(rules.kept) > 0:
            _classes(rows, rules.kept, k, upward, rules.seen, allowed)
        for c in range(rules.codes.shape[1]):
            _distinct(rows, rules.codes[:, c], diversity, upward, rules.seen, allowed)
        for c in range(rules.values.shape[1]):
            _apart(rows, rules.values[:, c], rules.apart[c], diversity, upward, rules.run, allowed)
