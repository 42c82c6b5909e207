"""Parts of the columns of a node, and their contents.

Notation as in partition.arrays, and
--------
part : of a numeric column the records between two of at most 63 borders, which are values of a sample of the node; of
    a nominal one the records of a group of values.  A : all columns.
amount, mass : (A, parts), records of each, and their weight.
low, high, worth, sums : (A, parts, n), extremes, sums of a_i and of values (of nominal columns' parts).
seen : (A, parts, M) int32, records with each value.

One pass over a node's records measures the parts of all columns; what follows is over parts only.
"""

from typing import NamedTuple

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IndexArray, IntArray
from workers.algorithms.boxes.partition.arrays import MixedRecords

_PARTS = 64
_SAMPLE = 1024


class Parts(NamedTuple):
    """What the parts of every column contain."""

    amount: IntArray
    low: FloatArray
    high: FloatArray
    worth: FloatArray
    sums: FloatArray
    mass: FloatArray
    seen: IndexArray


def measured(records: MixedRecords, looked: list[int], stride: int) -> tuple[Parts, IntArray]:
    """Divide columns into parts and measure these.

    Parameters
    ----------
    records : those measured.
    looked : the columns.
    stride : how many records each of those measured represents.

    Returns
    -------
    parts : nothing of other columns.
    group : (M,), which part a value is in; -1 of values that none of the records has.
    """
    n = records.rows.shape[1]
    borders = np.full((n, _PARTS - 1), np.inf)
    group = np.full(len(records.omega), -1, dtype=np.int64)
    most = _PARTS
    for axis in looked:
        if axis < n:
            edges = _borders(records.rows[:, axis])
            borders[axis, : len(edges)] = edges
        else:
            most = max(most, _groups(records, axis - n, group))
    parts = _empty(records, most)
    _gather(records, np.array(looked, dtype=np.int64), borders, group, *parts)
    for each in (parts.amount, parts.worth, parts.sums, parts.mass, parts.seen):
        np.multiply(each, stride, out=each)
    return parts, group


def _borders(values: FloatArray) -> FloatArray:
    """Values of a sample that divide it into equal shares; after one that repeats also the next larger number."""
    sample = np.sort(values[:: max(len(values) // _SAMPLE, 1)])
    if np.isnan(sample[-1]) or values.max() == values.min():
        return np.empty(0)
    picked = sample[np.linspace(0, len(sample) - 1, _PARTS // 2).astype(np.int64)]
    tied = picked[1:][picked[1:] == picked[:-1]]
    more = sample[np.searchsorted(sample, tied, side="right").clip(max=len(sample) - 1)]
    all_of = np.unique(np.concatenate([picked, more, np.nextafter(tied, np.inf)]))
    return np.asarray(all_of[: _PARTS - 1])


def branches(records: MixedRecords, j: int, count: IntArray) -> tuple[IntArray, IntArray]:
    """The values of a nominal column that occur, and which branch of its hierarchy, below the node, each is in.

    Parameters
    ----------
    records : all of them.
    j : the column.
    count : how many of a node's records have each of its values.
    """
    present = np.flatnonzero(count) + records.start[j]
    above = records.ancestor[present]
    differs = (above != above[0]).any(axis=0)
    return present, np.unique(above[:, int(np.argmax(differs))], return_inverse=True)[1]


def by_frequency(amount: IntArray | FloatArray, share: FloatArray) -> IntArray:
    """The order of sets of values by n_v / omega_v; by n_v where they cost nothing."""
    return np.argsort(np.where(share > 0.0, amount / np.maximum(share, 1e-300), amount), kind="stable")


def _groups(records: MixedRecords, j: int, group: IntArray) -> int:
    """Number the groups of a column's values, those beyond the 64th joined; how many there are."""
    start, stop = records.start[j], records.start[j + 1]
    codes = records.codes[:, j]
    if codes[0] < 0:
        return 0
    count = np.bincount(codes - start, minlength=stop - start)
    present, number = branches(records, j, count)
    if (groups := int(number.max()) + 1) > _PARTS:
        held = np.bincount(number, weights=count[present - start])
        rank = np.argsort(np.argsort(held, kind="stable"), kind="stable")
        number = (rank * _PARTS // groups)[number]
    group[present] = number
    return int(number.max()) + 1


def _empty(records: MixedRecords, most: int) -> Parts:
    n, columns, values = records.rows.shape[1], records.codes.shape[1], len(records.omega)
    axes = n + columns
    return Parts(
        amount=np.zeros((axes, most), dtype=np.int64),
        low=np.full((axes, most, n), np.inf),
        high=np.full((axes, most, n), -np.inf),
        worth=np.zeros((axes, most, n)),
        sums=np.zeros((axes, most, n)),
        mass=np.zeros((axes, most)),
        seen=np.zeros((axes, most, values), dtype=np.int32),
    )


@kernel
def _gather(  # noqa: C901 (a kernel)
    records: MixedRecords,
    looked: IntArray,
    borders: FloatArray,
    group: IntArray,
    amount: IntArray,
    low: FloatArray,
    high: FloatArray,
    worth: FloatArray,
    sums: FloatArray,
    mass: FloatArray,
    seen: IndexArray,
) -> None:
    """Measure the records in each part of each column that is looked at."""
    rows, codes = records.rows, records.codes
    n = rows.shape[1]
    for row in range(len(rows)):
        for axis in looked:
            if axis < n:
                value = rows[row, axis]
                if np.isnan(value):
                    continue
                p = 0
                step = 32
                while step > 0:
                    if p + step <= borders.shape[1] and value >= borders[axis, p + step - 1]:
                        p += step
                    step //= 2
            else:
                v = codes[row, axis - n]
                if v < 0:
                    continue
                p = group[v]
            amount[axis, p] += 1
            for i in range(n):
                value = rows[row, i]
                if value < low[axis, p, i]:
                    low[axis, p, i] = value
                if value > high[axis, p, i]:
                    high[axis, p, i] = value
                if axis >= n:
                    sums[axis, p, i] += value
            if len(records.worth) > 0:
                for i in range(n):
                    worth[axis, p, i] += records.worth[row, i]
            if len(records.mass) > 0:
                mass[axis, p] += records.mass[row]
            for j in range(codes.shape[1]):
                if codes[row, j] >= 0:
                    seen[axis, p, codes[row, j]] += 1
