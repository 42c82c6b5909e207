"""How many records of a box release are in a range: an estimate, and the certain range.

Notation
--------
B : number of boxes; lo, hi (B, n) their bounds, c (B,) their counts, in the columns' units.
a, b : (Q, n), closed intervals requested, infinite where open.
place : of an end among all ends of its column, of which whole numbers beyond 2^53 are some: where places are given they
    decide what is in a range, and values are for expectations alone.
F_j : share of all records below a value of column j, by what all boxes of the column say (surebox_verify.expected), or
    the value itself where nothing is said of it.
f : prod_j f_j; f_j = |F_j of [a_j, b_j] and [lo_j, hi_j]| / (F_j(hi_j) - F_j(lo_j)), the share of the box's records to
    be expected in the range; along an axis where the box is degenerate (lo = hi) 1 if that value is requested, else 0.
    Of e_b of a box's records it is known that they have the values lo, and of as many that they have hi (tight bounds):
    f_j = e 1(lo in range) + e 1(hi in range) + (1 - 2 e) times the same.
S : set of values that a box has of a nominal column; A : values requested. f has a factor, how probable A is in S.
T : different sets of all nominal columns together, numbered; few, for boxes share them.
estimate : sum c f.
guaranteed : least = sum of c over boxes inside the range, most = sum of c over boxes that meet it.

Bounds count as closed on both sides. Cells are half-open, but which of their upper ends are closed a release does not
state; a cell that only touches the range by its open end is thereby counted in `most`: certain, and hardly ever wider,
as cuts are random points between values.

The counts are those of the released records, each counting 1, also in a release with weights: weights serve statistics.
With `weight` given instead, records count M w each, M their number and w (B,) the weight of a record of a box (sum c w
= 1): estimate and certain range are then those of M times the weighted share, no longer of a number of people.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.expected import Distribution
from workers.algorithms.core.blocks import blocks

_PARTS = 16
_BLOCK = 32


@dataclass(frozen=True)
class BoxCounts:
    """Answers to Q queries.

    Attributes
    ----------
    estimate : (Q,), records.
    least, most : (Q,), between which the number of released records in the range certainly is.
    """

    estimate: FloatArray
    least: FloatArray
    most: FloatArray


@dataclass(frozen=True)
class BoxIndex:
    """Boxes sorted into spatial blocks; may be kept and used by several threads.

    Attributes
    ----------
    lower, upper : (B, n), bounds, or their places, block by block.
    x_lower, x_upper : (B, n), bounds.
    mass : (B,), records (or M w times as much) of each.
    start : (L + 1,), first box of each block.
    low, high : (L, n), extremes of each block.
    sets : (B, d), number of the set of each box in each nominal column.
    below, above : (B, n), F of the bounds.
    ends : (B,), e.
    scales : F of each column; None where it is the value.
    """

    lower: FloatArray
    upper: FloatArray
    x_lower: FloatArray
    x_upper: FloatArray
    mass: FloatArray
    start: IntArray
    low: FloatArray
    high: FloatArray
    sets: IntArray
    below: FloatArray
    above: FloatArray
    ends: FloatArray
    scales: tuple[Distribution | None, ...]


def index(
    lower: FloatArray,
    upper: FloatArray,
    counts: IntArray,
    weight: FloatArray | None = None,
    sets: IntArray | None = None,
    scales: tuple[Distribution | None, ...] | None = None,
    ends: FloatArray | None = None,
    places: tuple[FloatArray, FloatArray] | None = None,
) -> BoxIndex:
    """Make a release ready for counting.

    Parameters
    ----------
    lower, upper : (B, n), bounds; finite where there are no places.
    counts : (B,), records of each box.
    weight : (B,), of each record of a box, or None.
    sets : (B, d), number of the set of each box in each nominal column; None without such columns.
    scales : F of each column; None for the values themselves, which spreads records evenly over their boxes.
    ends : (B,), share of a box's records that have its lower bounds for certain, and as many its upper ones; None for
        none.
    places : (B, n) each, of the bounds; None where the bounds themselves are compared.

    Raises
    ------
    ValueError
        Shapes disagree, or what is compared is not finite or below its lower one.
    """
    if sets is None:
        sets = np.empty((len(lower), 0), dtype=np.int64)
    if lower.ndim != 2 or 0 in lower.shape or lower.shape != upper.shape or counts.shape != lower.shape[:1]:
        msg = f"boxes need bounds alike and a count each, got {lower.shape}, {upper.shape}, {counts.shape}"
        raise ValueError(msg)
    first, last = (lower, upper) if places is None else places
    if not (np.isfinite(first).all() and np.isfinite(last).all() and (first <= last).all()):
        msg = "bounds of boxes must be finite, and none below its lower one"
        raise ValueError(msg)
    centre = 0.5 * first + 0.5 * last
    extent = centre.max(axis=0) - centre.min(axis=0)
    tree = blocks(centre, np.where(extent > 0.0, extent, 1.0), _BLOCK)
    order, edges = tree.order, tree.start[:-1]
    mass = counts.astype(np.float64) if weight is None else counts * weight * counts.sum()
    scales = (None,) * lower.shape[1] if scales is None else scales
    known = np.zeros(len(lower)) if ends is None else ends
    return BoxIndex(
        np.ascontiguousarray(first[order]),
        np.ascontiguousarray(last[order]),
        np.ascontiguousarray(lower[order]),
        np.ascontiguousarray(upper[order]),
        mass[order],
        tree.start,
        np.minimum.reduceat(first[order], edges, axis=0),
        np.maximum.reduceat(last[order], edges, axis=0),
        np.ascontiguousarray(sets[order]),
        _scaled(lower[order], scales),
        _scaled(upper[order], scales),
        np.ascontiguousarray(known[order]),
        scales,
    )


def _scaled(values: FloatArray, scales: tuple[Distribution | None, ...]) -> FloatArray:
    """F of each column's values."""
    scaled = np.array(values, dtype=np.float64, order="C")
    for j, scale in enumerate(scales):
        if scale is not None:
            scaled[:, j] = np.interp(values[:, j], scale.edges, scale.below)
    return scaled


@kernel
def _count(  # noqa: C901 (a kernel)
    first: int,
    last: int,
    lower: FloatArray,
    upper: FloatArray,
    mass: FloatArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    a: FloatArray,
    b: FloatArray,
    sets: IntArray,
    part_of: FloatArray,
    by_values: BoolArray,
    below: FloatArray,
    above: FloatArray,
    ends: FloatArray,
    fa: FloatArray,
    fb: FloatArray,
    x_lower: FloatArray,
    x_upper: FloatArray,
    xa: FloatArray,
    xb: FloatArray,
    out: FloatArray,
) -> None:
    """Add the blocks first to last to out (Q, 3): estimate, least, most."""
    n = lower.shape[1]
    for k in range(first, last):
        whole = mass[start[k] : start[k + 1]].sum()
        for q in range(len(a)):
            meets = True
            inside = not by_values[q]
            for j in range(n):
                meets = meets and a[q, j] <= high[k, j] and b[q, j] >= low[k, j]
                inside = inside and a[q, j] <= low[k, j] and b[q, j] >= high[k, j]
            if not meets:
                continue
            if inside:
                for place in range(3):
                    out[q, place] += whole
                continue
            for i in range(start[k], start[k + 1]):
                share = 1.0
                held = True
                touched = True
                for j in range(n):
                    if a[q, j] > upper[i, j] or b[q, j] < lower[i, j]:
                        touched = False
                        break
                    if a[q, j] > lower[i, j] or b[q, j] < upper[i, j]:
                        held = False
                        whole_side = above[i, j] - below[i, j]
                        if whole_side > 0.0:
                            part = (min(fb[q, j], above[i, j]) - max(fa[q, j], below[i, j])) / whole_side
                        else:  # no records are expected here at all
                            common = min(xb[q, j], x_upper[i, j]) - max(xa[q, j], x_lower[i, j])
                            part = common / (x_upper[i, j] - x_lower[i, j])
                        part = min(max(part, 0.0), 1.0) * (1.0 - 2.0 * ends[i])
                        if a[q, j] <= lower[i, j]:
                            part += ends[i]
                        if b[q, j] >= upper[i, j]:
                            part += ends[i]
                        share *= part
                if touched and by_values[q]:
                    for j in range(sets.shape[1]):
                        share_of_set = part_of[q, sets[i, j]]
                        touched = touched and share_of_set > 0.0
                        held = held and share_of_set == 1.0
                        share *= share_of_set
                if touched:
                    out[q, 0] += mass[i] * share
                    out[q, 1] += mass[i] * held
                    out[q, 2] += mass[i]


def count(
    ready: BoxIndex,
    lower: FloatArray,
    upper: FloatArray,
    threads: int = 1,
    part_of: FloatArray | None = None,
    places: tuple[FloatArray, FloatArray] | None = None,
) -> BoxCounts:
    """Count released records in each of Q ranges.

    Parameters
    ----------
    ready : from `index`.
    lower, upper : (Q, n), closed intervals, minus and plus infinity where open.
    threads : used; the result does not depend on them.
    part_of : (Q, T), how probable it is in each set that a value is requested: 1 where all of S is, or the column is
        not queried, 0 where none is, else between; for an empty set 0 where it is. None where no query asks about
        values.
    places : (Q, n) each, of the first end that is not below the interval and of the last that is not above it, infinite
        where a column is not queried; of an index with places.

    Returns
    -------
    Counts

    Raises
    ------
    ValueError
        Intervals that are NaN or end before they begin.

    Notes
    -----
    science.md section 3, "Use": an estimate and a certain [min, max]. O(Q B n) at most.
    """
    if lower.ndim != 2 or lower.shape != upper.shape or lower.shape[1] != ready.lower.shape[1]:
        msg = f"queries need both ends for {ready.lower.shape[1]} columns, got {lower.shape} and {upper.shape}"
        raise ValueError(msg)
    if not (lower <= upper).all():
        msg = "an interval must not end before it begins, nor be NaN"
        raise ValueError(msg)
    xa, xb = (np.ascontiguousarray(end, dtype=np.float64) for end in (lower, upper))
    a, b = (xa, xb) if places is None else places
    shares = np.ones((len(a), 0)) if part_of is None else np.ascontiguousarray(part_of)
    by_values: BoolArray = np.any(shares < 1.0, axis=1)
    fa, fb = _scaled(xa, ready.scales), _scaled(xb, ready.scales)
    edges = np.arange(_PARTS + 1) * (len(ready.start) - 1) // _PARTS

    def part(span: tuple[int, int]) -> FloatArray:
        out = np.zeros((len(a), 3))
        mass, start = ready.mass, ready.start
        sets, low, high = ready.sets, ready.low, ready.high
        known = ready.below, ready.above, ready.ends, fa, fb, ready.x_lower, ready.x_upper, xa, xb
        _count(*span, ready.lower, ready.upper, mass, start, low, high, a, b, sets, shares, by_values, *known, out)
        return out

    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        sums = sum(pool.map(part, [(int(x), int(y)) for x, y in pairwise(edges) if x < y]), np.zeros((len(a), 3)))
    estimate = np.clip(sums[:, 0], sums[:, 1], sums[:, 2])
    return BoxCounts(estimate, sums[:, 1], sums[:, 2])
