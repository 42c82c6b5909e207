"""Equivalence classes: records that agree in everything an adversary may know of them.

Notation
--------
N, d : records, quasi-identifiers.
codes : (d, N) int32, values of each cell: equal codes for equal values; -1 for a missing one.
m_j : codes of column j, counted from the missing one: 1 + the largest + 1.
key : (N,), sum_j (codes_j + 1) * m_1 ... m_{j-1}: the same for records that agree in all columns, and for no others.
G : classes; class numbers follow the order in which classes first occur among the records.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import kernel
from surebox_core.types import IndexArray, IntArray

_LARGEST_KEY: Final = 1 << 62
_DENSE: Final = 4  # keys that may occur, of as many records: below it a table is looked up, not a hash
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Classes:
    """Records by class.

    Attributes
    ----------
    of_record : (N,) class of each record.
    first : (G,) the record that each class begins with.
    size : (G,) records of each class.
    """

    of_record: IntArray
    first: IntArray
    size: IntArray


@kernel
def _group(key: IntArray, table: IntArray, of_record: IntArray, first: IntArray, size: IntArray) -> int:
    """Number keys in the order in which they come; how many there are. `table` is empty (-1), a power of two long."""
    mask = len(table) - 1
    shift = np.uint64(64)
    while (1 << (np.int64(64) - np.int64(shift))) < len(table):
        shift -= np.uint64(1)
    groups = 0
    for i in range(len(key)):
        place = np.int64((np.uint64(key[i]) * _MULTIPLIER) >> shift)
        while table[place] >= 0 and key[first[table[place]]] != key[i]:
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = groups
            first[groups] = i
            size[groups] = 0
            groups += 1
        of_record[i] = table[place]
        size[table[place]] += 1
    return groups


@kernel
def _numbered(key: IntArray, low: int, table: NDArray[np.int32]) -> tuple[IntArray, IntArray, IntArray]:
    """The same for keys from `low` on that are close: `table` (-1) has a place for each of them."""
    of_record = np.empty(len(key), np.int64)
    first, size = np.empty(min(len(key), len(table)), np.int64), np.empty(min(len(key), len(table)), np.int64)
    groups = 0
    for i in range(len(key)):
        number = table[key[i] - low]
        if number < 0:
            number = groups
            table[key[i] - low] = number
            first[number], size[number] = i, 0
            groups += 1
        of_record[i] = number
        size[number] += 1
    return of_record, first[:groups].copy(), size[:groups].copy()


def grouped(key: IntArray) -> Classes:
    """Records by their keys.

    Parameters
    ----------
    key : (N,), any whole numbers.

    Returns
    -------
    Classes
        O(N).
    """
    count = len(key)
    low, high = int(key.min(initial=0)), int(key.max(initial=0))
    if high - low < _DENSE * count:
        return Classes(*_numbered(key, low, np.full(high - low + 1, -1, dtype=np.int32)))
    table = np.full(1 << max(2 * count - 1, 1).bit_length(), -1, dtype=np.int64)
    of_record, first, size = (np.empty(count, dtype=np.int64) for _ in range(3))
    groups = _group(key, table, of_record, first, size)
    return Classes(of_record, first[:groups].copy(), size[:groups].copy())


def keys(codes: IndexArray) -> IntArray:
    """A number for each record that is the same for those that agree in every column.

    Parameters
    ----------
    codes : (d, N).

    Returns
    -------
    (N,) int64, from 0 on. Where products of m_j would not fit, the keys so far are numbered anew.
    """
    key = np.zeros(codes.shape[1], dtype=np.int64)
    largest = 1
    for column in codes:
        values = int(column.max(initial=-1)) + 2
        if largest > _LARGEST_KEY // values:
            grouping = grouped(key)
            key, largest = grouping.of_record, len(grouping.size)
        key = key * values + column + 1
        largest *= values
    return key


def classes(codes: IndexArray) -> Classes:
    """Equivalence classes; a missing value is a value like others.

    Parameters
    ----------
    codes : (d, N).
    """
    return grouped(keys(codes))


def histogram(size: IntArray) -> tuple[IntArray, IntArray]:
    """Sizes of classes that occur, ascending, and how many classes have each."""
    sizes, number = np.unique(size, return_counts=True)
    return sizes, number.astype(np.int64)
