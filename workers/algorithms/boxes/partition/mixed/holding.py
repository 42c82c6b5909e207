"""Whether a set of records may be a box: what it must hold beside k records (kernels).

Notation
--------
A node's records stand at `base + line[z]`, z from s to e, and were at `order` of that before all cuts.
person : (N,), whom k counts; empty where k counts records.
kept : (N,), class of each record by its kept columns, of which a box has none or k; empty where they do not count.
pair : (N,), class and person together; empty where either is.
codes : (c, N), values of sensitive columns, -1 where missing: at least l distinct ones, no value in more than the share
    alpha of the records, and a distance from the overall distribution of at most t (`overall`, rows of shares; a
    missing value is one of its own there). `ordered` is the number of values of a column of ranks, else 0.
    Distance: half the sum of absolute differences, or for ranks the earth mover's, sum |cumulated
    difference| / (values - 1), over the records with a value.
values, apart : (w, N) and (w,), columns of which l values must lie `apart` pairwise.
width : (n,), least extent of a numeric column that has values; `everywhere` says whether of every column or only of
    the one that is cut.

science.md section 1, "l-diversity in boxes"; section 5, "Cuts".
"""

from typing import NamedTuple

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, IntArray, whole
from workers.algorithms.boxes.partition.diversity import BoxConstraints, spread
from workers.algorithms.boxes.partition.selection import sort

_ROUNDING = 1e-12


class ConstraintArrays(NamedTuple):
    """The demands, for kernels; `seen` and `tally` are space that is all zeros between two calls."""

    person: IndexArray
    kept: IndexArray
    pair: IndexArray
    codes: IndexArray
    overall: FloatArray
    ordered: IntArray
    values: FloatArray
    apart: FloatArray
    l: int  # noqa: E741 - the field's letter
    alpha: float
    t: float
    width: FloatArray
    everywhere: bool
    seen: IntArray
    tally: IntArray
    run: FloatArray


def constraint_arrays(constraints: BoxConstraints, min_width: FloatArray, everywhere: bool) -> ConstraintArrays:
    """The same for kernels.

    Parameters
    ----------
    constraints : of every box.
    min_width : (n,), 0 where there is none.
    everywhere : whether it holds for bounds that any cut may narrow.
    """
    person, kept, codes = constraints.persons, constraints.kept, np.ascontiguousarray(constraints.codes.T)
    pair = np.empty(0, dtype=np.int32)
    if len(person) and len(kept):
        pair = np.unique(kept.astype(np.int64) * (int(person.max()) + 1) + person, return_inverse=True)[1].astype(
            np.int32
        )
    columns = [codes[c] for c in range(len(codes))]
    overall = np.zeros((len(columns), max((int(c.max(initial=-1)) + 2 for c in columns), default=1)))
    ranked = [*constraints.ordered, *[False] * len(columns)]
    ordered = np.array([int(c.max()) + 1 if r else 0 for c, r in zip(columns, ranked, strict=False)], dtype=np.int64)
    for row, column in enumerate(columns):
        taken = column[column >= 0] if ranked[row] else column
        shares = np.bincount(taken + 1, minlength=overall.shape[1]) / max(len(taken), 1)
        overall[row] = shares
    labels = max([int(c.max(initial=-1)) + 1 for c in (person, kept, pair, *columns)], default=0)
    rows = max(len(person), len(kept), codes.shape[1] if columns else 0, len(constraints.values))
    return ConstraintArrays(
        person=person.astype(np.int32),
        kept=kept.astype(np.int32),
        pair=pair,
        codes=codes.astype(np.int32),
        overall=overall,
        ordered=ordered,
        values=np.ascontiguousarray(constraints.values.T),
        apart=constraints.apart,
        l=constraints.diversity,
        alpha=1.0 if constraints.alpha is None else constraints.alpha,
        t=np.inf if constraints.closeness is None else constraints.closeness,
        width=min_width,
        everywhere=everywhere,
        seen=np.zeros(labels + 2, dtype=np.int64),
        tally=np.zeros(labels + 2, dtype=np.int64),
        run=np.empty(rows if constraints.values.shape[1] else 0),
    )


def demanding(demands: ConstraintArrays) -> bool:
    """Whether a box must hold anything beside k records."""
    lists = (demands.person, demands.kept, demands.codes, demands.values)
    return any(len(each) for each in lists) or bool((demands.width > 0.0).any())


@inner_kernel
def _persons(demands: ConstraintArrays, order: IndexArray, base: int, line: IndexArray, s: int, e: int, k: int) -> bool:
    """Whether k different persons are there."""
    count = 0
    for z in range(s, e):
        label = demands.person[order[base + line[z]]]
        if demands.seen[label] == 0:
            demands.seen[label] = 1
            count += 1
    for z in range(s, e):
        demands.seen[demands.person[order[base + line[z]]]] = 0
    return count >= k


@inner_kernel
def _classes(demands: ConstraintArrays, order: IndexArray, base: int, line: IndexArray, s: int, e: int, k: int) -> bool:
    """Whether every kept class that is there is there k times."""
    short = 0
    paired = len(demands.pair) > 0
    for z in range(s, e):
        record = order[base + line[z]]
        if paired:
            pair = demands.pair[record]
            if demands.seen[pair] != 0:
                continue
            demands.seen[pair] = 1
        label = demands.kept[record]
        demands.tally[label] += 1
        if demands.tally[label] == 1:
            short += 1
        if demands.tally[label] == k:
            short -= 1
    for z in range(s, e):
        record = order[base + line[z]]
        demands.tally[demands.kept[record]] = 0
        if paired:
            demands.seen[demands.pair[record]] = 0
    return short == 0


@inner_kernel
def _shares(demands: ConstraintArrays, order: IndexArray, base: int, line: IndexArray, s: int, e: int, c: int) -> bool:
    """l, alpha and t of one sensitive column."""
    codes, tally, overall = demands.codes[c], demands.tally, demands.overall[c]
    distinct, largest, known = 0, 0, 0
    for z in range(s, e):
        label = codes[order[base + line[z]]]
        tally[label + 1] += 1
        if label >= 0:
            known += 1
            distinct += tally[label + 1] == 1
            largest = max(largest, tally[label + 1])
    good = distinct >= demands.l and largest <= demands.alpha * (e - s) * (1.0 + _ROUNDING)
    if good and demands.t < np.inf:
        distance, cumulated = 0.0, 0.0
        ordered = demands.ordered[c] > 0
        size = known if ordered else e - s
        last = demands.ordered[c] + 1 if ordered else len(overall)
        for v in range(1 if ordered else 0, last):
            difference = tally[v] / size - overall[v] if size > 0 else 0.0
            cumulated += difference
            distance += abs(cumulated) if ordered else 0.5 * abs(difference)
        if ordered:
            distance /= max(last - 2, 1)
        good = distance <= demands.t + _ROUNDING
    for z in range(s, e):
        tally[codes[order[base + line[z]]] + 1] = 0
    return bool(good)


@inner_kernel
def _spread(demands: ConstraintArrays, order: IndexArray, base: int, line: IndexArray, s: int, e: int, c: int) -> bool:
    """Whether l values of a column lie so far apart."""
    size = whole(0)
    for z in range(s, e):
        value = demands.values[c, order[base + line[z]]]
        if not np.isnan(value):
            demands.run[size] = value
            size += 1
    sort(demands.run, size)
    least = demands.l
    return bool(spread(demands.run[:size], demands.apart[c], least) >= least)


@inner_kernel
def _wide(demands: ConstraintArrays, rows: FloatArray, base: int, line: IndexArray, s: int, e: int, axis: int) -> bool:
    """Whether columns with a least width have it: all of them, or the one that was cut."""
    for i in range(rows.shape[1]):
        if demands.width[i] <= 0.0 or not (demands.everywhere or i == axis or axis < 0):
            continue
        low, high = np.inf, -np.inf
        for z in range(s, e):
            value = rows[base + line[z], i]
            if value < low:
                low = value
            if value > high:
                high = value
        if high >= low and high - low < demands.width[i]:
            return False
    return True


@kernel
def holds(
    demands: ConstraintArrays,
    rows: FloatArray,
    order: IndexArray,
    base: int,
    line: IndexArray,
    s: int,
    e: int,
    axis: int,
    k: int,
) -> bool:
    """Whether these records may be a box; `axis` is the column that was just cut, -1 for all."""
    if e - s < k:
        return False
    if len(demands.person) > 0 and not _persons(demands, order, base, line, s, e, k):
        return False
    if len(demands.kept) > 0 and not _classes(demands, order, base, line, s, e, k):
        return False
    for c in range(len(demands.codes)):
        if not _shares(demands, order, base, line, s, e, c):
            return False
    for c in range(len(demands.values)):
        if not _spread(demands, order, base, line, s, e, c):
            return False
    return _wide(demands, rows, base, line, s, e, axis)
