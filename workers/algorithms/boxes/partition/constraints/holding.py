"""Whether a set of records may be a box, by all models together, and which places of a line they allow (kernels).

Notation as in constraints.box_constraints, constraints.k_anonymity, constraints.l_diversity and
constraints.t_closeness, and
--------
pair : (N,), class and person together; empty where either is.
overall : (c, m + 1), shares of the values over all records.  ranks : (c,), values of a column of ranks, else 0.
extent, everywhere : least extents and spikes (2, n), as in partition.arrays, and whether any cut narrows all.
allowed : (m + 1,), 1 where a line of m records may be cut after p of them; empty unless `marked`.
marked : whether lines are marked before places are scored: of demands that one pass counts for all places (kept
    classes, l).  sieved : whether the sides of the best candidates are counted one by one.
"""

from typing import NamedTuple

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.compiling.references import by_reference
from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.partition.constraints.alpha_k import is_deassociated
from workers.algorithms.boxes.partition.constraints.box_constraints import BoxConstraints
from workers.algorithms.boxes.partition.constraints.k_anonymity import forbid_classes, has_classes, has_persons
from workers.algorithms.boxes.partition.constraints.l_diversity import forbid_close, forbid_few, has_spread
from workers.algorithms.boxes.partition.constraints.least_width import is_wide
from workers.algorithms.boxes.partition.constraints.t_closeness import is_close, overall_shares


@by_reference
class ConstraintArrays(NamedTuple):
    """The demands, for kernels; `seen` and `tally` are space that is all zeros between two calls."""

    person: IndexArray
    kept: IndexArray
    pair: IndexArray
    codes: IndexArray
    overall: FloatArray
    ranks: IntArray
    values: FloatArray
    apart: FloatArray
    l: int  # noqa: E741 - the field's letter
    alpha: float
    t: float
    extent: FloatArray
    everywhere: bool
    seen: IntArray
    tally: IntArray
    run: FloatArray
    allowed: ByteArray
    marked: bool
    sieved: bool


def constraint_arrays(constraints: BoxConstraints, extent: FloatArray, everywhere: bool) -> ConstraintArrays:
    """The same for kernels, sieved where anything is demanded that lines do not show.

    Parameters
    ----------
    constraints : of every box.
    extent : (2, n).
    everywhere : whether it holds for bounds that any cut may narrow.
    """
    person, kept, codes = constraints.persons, constraints.kept, np.ascontiguousarray(constraints.codes.T)
    pair = np.empty(0, dtype=np.int32)
    if len(person) and len(kept):
        pair = np.unique(kept.astype(np.int64) * (int(person.max()) + 1) + person, return_inverse=True)[1].astype(
            np.int32
        )
    columns = [codes[c] for c in range(len(codes))]
    ranked = [*constraints.ordered, *[False] * len(columns)][: len(columns)]
    labels = max([int(c.max(initial=-1)) + 1 for c in (person, kept, pair, *columns)], default=0)
    rows = max(len(person), len(kept), codes.shape[1] if columns else 0, len(constraints.values))
    lists = (person, kept, codes, constraints.values.T)
    return ConstraintArrays(
        person=person.astype(np.int32),
        kept=kept.astype(np.int32),
        pair=pair,
        codes=codes.astype(np.int32),
        overall=overall_shares(columns, ranked),
        ranks=np.array([int(c.max()) + 1 if r else 0 for c, r in zip(columns, ranked, strict=True)], dtype=np.int64),
        values=np.ascontiguousarray(constraints.values.T),
        apart=constraints.apart,
        l=constraints.l,
        alpha=1.0 if constraints.alpha is None else constraints.alpha,
        t=np.inf if constraints.t is None else constraints.t,
        extent=extent,
        everywhere=everywhere,
        seen=np.zeros(labels + 2, dtype=np.int64),
        tally=np.zeros(labels + 2, dtype=np.int64),
        run=np.empty(rows if constraints.values.shape[1] else 0),
        allowed=np.empty(0, dtype=np.uint8),
        marked=False,
        sieved=any(len(each) for each in lists) or (everywhere and bool((extent[0] > 0.0).any())),
    )


def marking(held: ConstraintArrays, room: int) -> ConstraintArrays:
    """The same demands, marked on lines of up to `room` records instead of sieved; kept classes, l and apart only."""
    if not held.sieved:
        return held
    return held._replace(allowed=np.ones(room + 1, dtype=np.uint8), marked=True, sieved=False)


@inner_kernel
def _values(held: ConstraintArrays, order: IndexArray, base: int, line: IndexArray, s: int, e: int, c: int) -> bool:
    """l, alpha and t of one sensitive column, counted in one pass."""
    codes, tally = held.codes[c], held.tally
    distinct, largest, known = 0, 0, 0
    for z in range(s, e):
        label = codes[order[base + line[z]]]
        tally[label + 1] += 1
        if label >= 0:
            known += 1
            distinct += tally[label + 1] == 1
            largest = max(largest, tally[label + 1])
    good = distinct >= held.l and is_deassociated(largest, known, held.alpha)
    if good and held.t < np.inf:
        good = is_close(tally, e - s, known, held.overall[c], held.ranks[c], held.t)
    for z in range(s, e):
        tally[codes[order[base + line[z]]] + 1] = 0
    return bool(good)


@kernel
def holds(
    held: ConstraintArrays,
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
    if len(held.person) > 0 and not has_persons(held.person, order, base, line, s, e, k, held.seen):
        return False
    if len(held.kept) > 0 and not has_classes(held.kept, held.pair, order, base, line, s, e, k, held.seen, held.tally):
        return False
    for c in range(len(held.codes)):
        if not _values(held, order, base, line, s, e, c):
            return False
    for c in range(len(held.values)):
        if not has_spread(held.values[c], held.apart[c], held.l, order, base, line, s, e, held.run):
            return False
    return is_wide(held.extent, held.everywhere, rows, base, line, s, e, axis)


@inner_kernel
def restrict(held: ConstraintArrays, order: IndexArray, base: int, line: IndexArray, k: int) -> None:
    """Set `allowed` for a line of records: kept classes, l values, l values that are apart. O(m) but for the last."""
    allowed = held.allowed
    for p in range(len(line) + 1):
        allowed[p] = 1
    for upward in (True, False):
        if len(held.kept) > 0:
            forbid_classes(held.kept, order, base, line, upward, k, held.seen, allowed)
        for c in range(len(held.codes)):
            forbid_few(held.codes[c], held.l, order, base, line, upward, held.seen, allowed)
        for c in range(len(held.values)):
            forbid_close(held.values[c], held.apart[c], held.l, order, base, line, upward, held.run, allowed)
