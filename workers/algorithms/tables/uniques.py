"""Minimal sample uniques: the smallest sets of columns that single a record out.

Notation
--------
N, d, codes : as in tables.classes.
unique on S : no other record agrees with a record in all columns of S (or might, where a missing value may be any).
minimal on S : unique on S and on no part of S (Elliot, Manning, Ford 2002: MSU).
passed(S) : records that are unique on no proper part of S. A record that is unique on a part agrees with no one on S,
    so that only these need be compared, and those of them that are unique are the minimal ones.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import BoolArray, ByteArray, IndexArray, IntArray
from workers.algorithms.tables.classes import classes
from workers.algorithms.tables.matching import neighbours

_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_LARGEST_KEY: Final = 1 << 62


@dataclass(frozen=True)
class Minimal:
    """Records that are minimally unique on one set of columns.

    Attributes
    ----------
    columns : the set, ascending.
    records : their numbers, ascending.
    """

    columns: tuple[int, ...]
    records: IntArray


@kernel
def _alone(
    codes: IndexArray,
    columns: IntArray,
    radix: IntArray,
    passed: BoolArray,
    table: IntArray,
    held: IntArray,
    out: BoolArray,
) -> None:
    """Which of those that passed agree with no other one of them; `table` has a record in a slot, `held` its key."""
    mask = len(table) - 1
    shift = np.uint64(64)
    while (1 << (np.int64(64) - np.int64(shift))) < len(table):
        shift -= np.uint64(1)
    table[:] = -1
    for i in range(len(passed)):
        out[i] = passed[i]
        if not passed[i]:
            continue
        key = np.int64(0)
        for c in range(len(columns)):
            key = key * radix[c] + codes[columns[c], i] + 1
        place = np.int64((np.uint64(key) * _MULTIPLIER) >> shift)
        while table[place] >= 0 and held[place] != key:
            place = (place + 1) & mask
        if table[place] < 0:
            table[place] = i
            held[place] = key
        else:
            out[table[place]] = False
            out[i] = False


class _Search:
    """Sets of columns one after the other; `alone` contains the known facts of smaller ones."""

    def __init__(self, codes: IndexArray, *, anything: bool) -> None:
        self.codes = np.ascontiguousarray(codes)
        self.radix = self.codes.max(axis=1, initial=-1).astype(np.int64) + 2
        self.missing: BoolArray = (self.codes.min(axis=1, initial=0) < 0) & anything
        slots = 1 << max(2 * codes.shape[1] - 1, 1).bit_length()
        self.table, self.held = np.empty(slots, dtype=np.int64), np.empty(slots, dtype=np.int64)

    def fits(self, columns: tuple[int, ...]) -> bool:
        """Whether a number contains the codes of these columns."""
        return float(np.prod(self.radix[list(columns)].astype(np.float64))) < _LARGEST_KEY

    def alone(self, columns: tuple[int, ...], passed: BoolArray) -> BoolArray:
        """Which of the records that passed are unique on these columns."""
        if self.missing[list(columns)].any():
            part = self.codes[list(columns)]
            grouping = classes(part)
            sizes = neighbours(part, grouping)[grouping.of_record]
            single: BoolArray = np.logical_and(passed, sizes == 1)
            return single
        out = np.empty(len(passed), dtype=np.bool_)
        places = np.array(columns, dtype=np.int64)
        _alone(self.codes, places, self.radix[places], passed, self.table, self.held, out)
        return out


def minimal_uniques(codes: IndexArray, *, depth: int, anything: bool = False) -> Iterator[Minimal]:
    """Minimal sample uniques, set by set: single columns first, then pairs, then threes.

    Parameters
    ----------
    codes : (d, N).
    depth : columns of the largest sets, 1 to 3.
    anything : a missing value matches anything; else it is a value of its own.

    Yields
    ------
    Minimal
        Of every set of at most `depth` columns, those without any included. O(N) a set, with d^depth / depth! sets.
        Sets whose codes no number can contain (three columns of more than two million values each) are left out.
    """
    search = _Search(codes, anything=anything)
    everybody = np.ones(codes.shape[1], dtype=np.bool_)
    known: dict[tuple[int, ...], ByteArray] = {}  # by bits: there are many pairs
    for size in range(1, depth + 1):
        for columns in itertools.combinations(range(len(codes)), size):
            if not search.fits(columns):
                continue
            passed = everybody.copy()
            for part in itertools.combinations(columns, size - 1):
                if part in known:
                    passed &= ~np.unpackbits(known[part], count=len(passed)).view(np.bool_)
            unique = search.alone(columns, passed)
            if size < depth:  # unique on a part is unique on the whole
                known[columns] = np.packbits(unique | ~passed)
            yield Minimal(columns, np.flatnonzero(unique))
