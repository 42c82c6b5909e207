"""Bounds of boxes: tiles of the domain, or the extremes of their records.

Notation
--------
lower, upper : (B, n), box b is the product of [lower_i, upper_i), closed where upper_i is the outer bound.
domain : (n,) pairs of declared bounds, or None where none is declared.

Privacy (science.md section 1, "Cells"): a cut at the midpoint of a gap gives whoever knows one neighbour the other
one; so each cut is a random point strictly inside its open gap (partition.places), and a gap without a float inside is
never cut (partition.selection). Boxes are numbered by their published bounds, so that numbers reveal nothing of the
order of records or of cuts.
"""

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.extremes import extremes
from surebox_core.intervals import down, up
from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.partition.partition import Partition
from workers.algorithms.boxes.partition.places import KeyArray, cut_points
from workers.algorithms.boxes.sides import Boxes
from workers.algorithms.core.errors import OutsideDomainError

Domain = tuple[float, float]


def check_domains(x: FloatArray, domains: Sequence[Domain | None]) -> None:
    """Refuse domains that are no intervals or leave values outside.

    Raises
    ------
    ValueError
        Not one per column, or an interval that is empty or infinite.
    OutsideDomainError
        Values outside.
    """
    if len(domains) != x.shape[1]:
        msg = f"{x.shape[1]} columns need as many domains (None where none is declared), got {len(domains)}"
        raise ValueError(msg)
    for column, domain in enumerate(domains):
        if domain is None:
            continue
        low, high = domain
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            msg = f"the domain of column {column} must be two finite numbers, the lower first"
            raise ValueError(msg)
        outside = int(np.count_nonzero((x[:, column] < low) | (x[:, column] > high)))
        if outside:
            raise OutsideDomainError(column, outside)


def rounded_outward(low: float, high: float) -> Domain:
    """Extremes rounded outward to two significant digits of their distance; a single value stays itself.

    Parameters
    ----------
    low, high : a column's extremes.

    Returns
    -------
    (float, float)
        At most `low`, at least `high`; e.g. 17.3 and 94.1 become 17 and 95, 0.2 and 99,999 become 0 and 100,000.
    """
    if low == high:
        return low, high
    exact_low, exact_high = Decimal(low), Decimal(high)
    unit = Decimal(1).scaleb((exact_high - exact_low).adjusted() - 1)
    below = float((exact_low / unit).to_integral_value(ROUND_FLOOR) * unit)
    above = float((exact_high / unit).to_integral_value(ROUND_CEILING) * unit)
    return (below if below <= low else down(below)), (above if above >= high else up(above))


def outer_bounds(x: FloatArray, domains: Sequence[Domain | None]) -> tuple[FloatArray, FloatArray]:
    """Return the corners, (n,) each, of the region that cells tile."""
    low, high = extremes(x)
    pairs = [d or rounded_outward(float(low[i]), float(high[i])) for i, d in enumerate(domains)]
    return np.array([p[0] for p in pairs], dtype=np.float64), np.array([p[1] for p in pairs], dtype=np.float64)


def cells(x: FloatArray, partition: Partition, domains: Sequence[Domain | None], keys: KeyArray) -> Boxes:
    """Tiles of the domain, half-open, the last one closed; every cut a random point of its gap.

    Parameters
    ----------
    x : (N, n) records.
    partition : groups of these records.
    domains : declared bounds per column, or None.
    keys : (n, 8), the secret of each column, which places its cuts: whoever has it has the neighbours.

    Returns
    -------
    Boxes
        Disjoint, covering the domain, each record in its own.
    """
    check_domains(x, domains)
    low, high = outer_bounds(x, domains)
    cut = partition.axis >= 0
    place = np.empty(len(partition.axis))
    place[cut] = cut_points(partition.gap[cut], partition.axis[cut], keys)
    groups = len(partition.starts) - 1
    lower = np.empty((groups, x.shape[1]))
    upper = np.empty((groups, x.shape[1]))
    _tile(partition.axis, partition.child, partition.leaf, place, low, high, lower, upper)
    return _numbered(partition, lower, upper, np.array([d is None for d in domains]))


def tight(x: FloatArray, partition: Partition) -> Boxes:
    """Extremes of each group's records: narrower than cells, but every bound is someone's value."""
    groups = len(partition.starts) - 1
    lower = np.empty((groups, x.shape[1]))
    upper = np.empty((groups, x.shape[1]))
    _extremes(np.ascontiguousarray(x), partition.order, partition.starts, lower, upper)
    return _numbered(partition, lower, upper, np.zeros(x.shape[1], dtype=np.bool_))


def _numbered(partition: Partition, lower: FloatArray, upper: FloatArray, from_data: BoolArray) -> Boxes:
    position = np.lexsort(lower.T[::-1])  # by lower corners: disjoint boxes have different ones
    number = np.empty(len(position), dtype=np.int32)
    number[position] = np.arange(len(position), dtype=np.int32)
    counts = partition.counts
    box = np.empty(len(partition.order), dtype=np.int32)
    box[partition.order] = np.repeat(number, counts)
    return Boxes(lower[position], upper[position], counts[position], box, from_data)


@kernel
def _extremes(x: FloatArray, order: IndexArray, starts: IntArray, lower: FloatArray, upper: FloatArray) -> None:
    for b in range(len(starts) - 1):
        for j in range(x.shape[1]):
            lower[b, j] = x[order[starts[b]], j]
            upper[b, j] = lower[b, j]
        for p in range(starts[b] + 1, starts[b + 1]):
            for j in range(x.shape[1]):
                value = x[order[p], j]
                lower[b, j] = min(lower[b, j], value)
                upper[b, j] = max(upper[b, j], value)


@kernel
def _tile(
    axis: IndexArray,
    child: IndexArray,
    leaf: IntArray,
    place: FloatArray,
    low: FloatArray,
    high: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
) -> None:
    """Bounds of every leaf from the root's; the child with fewer leaves first, so that few nodes wait."""
    nodes = len(axis)
    leaves = np.ones(nodes, dtype=np.int64)
    for node in range(nodes - 1, -1, -1):
        if axis[node] >= 0:
            leaves[node] = leaves[child[node]] + leaves[child[node] + 1]
    n = len(low)
    waiting = np.zeros(128, dtype=np.int64)
    low_of = np.empty((128, n))
    high_of = np.empty((128, n))
    for j in range(n):  # element by element: a slice's assignment takes two seconds to compile
        low_of[0, j] = low[j]
        high_of[0, j] = high[j]
    top = 1
    while top > 0:
        top -= 1
        node = waiting[top]
        if axis[node] < 0:
            for j in range(n):
                lower[leaf[node], j] = low_of[top, j]
                upper[leaf[node], j] = high_of[top, j]
            continue
        first = child[node]
        larger = first if leaves[first] > leaves[first + 1] else first + 1
        for j in range(n):
            low_of[top + 1, j] = low_of[top, j]
            high_of[top + 1, j] = high_of[top, j]
        for place_of, part in ((top, larger), (top + 1, 2 * first + 1 - larger)):
            waiting[place_of] = part
            if part == first:
                high_of[place_of, axis[node]] = place[node]
            else:
                low_of[place_of, axis[node]] = place[node]
        top += 2
