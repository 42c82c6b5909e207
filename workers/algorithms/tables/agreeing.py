"""Sets of columns in which enough records agree to be judged (`splits`), and how many agree in one.

Records that agree in a set of columns agree in each part of it. So sets are gone through from the smallest on, and one
with a part in which too few records agree is left out unread. Of tables of different people most are.

Notation
--------
S, m, N : sets, columns, and rows, as of `splits.cells_by_set`.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import IndexArray, IntArray
from workers.algorithms.tables.splits import Cells, CellsBySet, Codes, Members, Words

Marks = NDArray[np.uint64]

#: Parts of the hashes that are marked where cells are: enough that nearly all records of other people are in none.
MARKS: Final = 1 << 16
_PART: Final = np.uint32(16)


def agreeing_sets(
    mine: CellsBySet, marks: Marks, codes: Codes, words: Words, members: Members, *, least: float
) -> NDArray[np.bool_]:
    """Return for each set whether at least so many records are in the cells of another table, shape (S,).

    Parameters
    ----------
    mine, marks : the other's cells, and their `marks_by_set`.
    codes : (m, N), bytes of the records, a column after the other.
    words, members : as of `splits.cells_by_set`.
    least : how many. Where cells are chosen by their hashes, those of a part are others than those of the whole.
    """
    order, parts = _order(members.tobytes(), members.shape)
    return enough_by_set(
        codes, words, members, order, parts if mine.halvings == 0 else np.zeros_like(parts), mine.hashes,
        mine.starts, mine.index, mine.shift, mine.halvings, marks, least,
    )  # fmt: skip


@lru_cache(maxsize=32)
def _order(body: bytes, shape: tuple[int, int]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Order sets by their size, and tell of each (a row) its parts (columns)."""
    members = np.frombuffer(body, np.bool_).reshape(shape)
    parts = (members[:, None, :] >= members[None, :, :]).all(axis=2) & ~np.eye(len(members), dtype=bool)
    return np.argsort(members.sum(axis=1), kind="stable"), parts


@kernel
def marks_by_set(hashes: Words, starts: IntArray, halvings: int) -> Marks:
    """Mark near which hashes a set has cells, shape (S, MARKS / 64): a bit for each of MARKS equal parts of them.

    Parameters
    ----------
    hashes, starts, halvings : as of `splits.CellsBySet`.
    """
    marks, up = np.zeros((len(starts) - 1, MARKS // 64), np.uint64), np.uint32(halvings)
    for s in range(len(marks)):
        for i in range(starts[s], starts[s + 1]):
            part = np.uint32(hashes[i] << up) >> _PART
            marks[s, part >> np.uint32(6)] |= np.uint64(1) << np.uint64(part & np.uint32(63))
    return marks


@inner_kernel
def _sum(own: Words, total: Words, inside: NDArray[np.bool_], sums: Words) -> None:
    """Add up each row over a set's columns, or subtract the others from the sum of all."""
    if 2 * np.count_nonzero(inside) <= len(inside):
        sums[:] = np.uint32(0)
        for j in np.flatnonzero(inside):
            for i in range(len(sums)):
                sums[i] += own[j, i]
    else:
        sums[:] = total
        for j in np.flatnonzero(~inside):
            for i in range(len(sums)):
                sums[i] -= own[j, i]


@inner_kernel
def _near(sums: Words, marks: Words, up: np.uint32, limit: np.uint32, kept: Words) -> int:
    """Keep the sums near which there are cells, without a branch, and return how many these are."""
    number = 0
    for one in sums:
        part = np.uint32(one << up) >> _PART
        kept[number] = one
        there = (marks[part >> np.uint32(6)] >> np.uint64(part & np.uint32(63))) & np.uint64(1)
        number += int(there) * int(one <= limit)
    return number


@inner_kernel
def _agree(sums: Words, hashes: Words, index: IndexArray, shift: np.uint32, least: float) -> bool:
    """Return whether enough records are in the other's cells."""
    agreeing = 0
    for i in range(len(sums)):
        if agreeing >= least or agreeing + len(sums) - i < least:
            break
        at, end = index[sums[i] >> shift], index[(sums[i] >> shift) + np.uint32(1)]
        while at < end and hashes[at] < sums[i]:
            at += 1
        agreeing += at < end and hashes[at] == sums[i]
    return agreeing >= least


@kernel
def enough_by_set(
    codes: Codes, words: Words, members: Members, order: IntArray, parts: NDArray[np.bool_], hashes: Words,
    starts: IntArray, index: IndexArray, shift: np.uint32, halvings: int, marks: Marks, least: float,
) -> NDArray[np.bool_]:  # fmt: skip
    """Return for each set whether enough records are in the other's cells.

    Parameters
    ----------
    codes : (m, N), a column after the other.
    words, members, least, marks : as of `agreeing_sets`.
    order, parts : the order in which sets are gone through, and (S, S), which is a part of which.
    hashes, starts, index, shift, halvings : as of `splits.CellsBySet`.
    """
    columns, rows = codes.shape
    own, total = np.empty((columns, rows), np.uint32), np.zeros(rows, np.uint32)
    for j in range(columns):
        for i in range(rows):
            own[j, i] = words[j, codes[j, i]]
            total[i] += own[j, i]
    sums, kept, enough = np.empty(rows, np.uint32), np.empty(rows + 1, np.uint32), np.ones(len(members), np.bool_)
    up, limit = np.uint32(halvings), np.uint32(np.uint32(0xFFFFFFFF) >> np.uint32(halvings))
    for s in order:
        if np.any(parts[s] & ~enough):
            enough[s] = False
            continue
        _sum(own, total, members[s], sums)
        number = _near(sums, marks[s], up, limit, kept)
        enough[s] = _agree(kept[:number], hashes[starts[s] : starts[s + 1]], index[s], shift, least)
    return enough


def by_chance(first: Cells, second: Cells, *, share: float) -> tuple[float, float]:
    """Share of the smaller table's records that agree with one of the other's, and what independence expects of it."""
    _, at, there = np.intersect1d(first.hashes, second.hashes, assume_unique=True, return_indices=True)
    least = max(1, min(first.rows, second.rows))
    agreeing = int(np.minimum(first.counts[at], second.counts[there]).sum())
    merged = np.concatenate([
        first.counts[at] + second.counts[there], np.delete(first.counts, at), np.delete(second.counts, there)
    ])  # fmt: skip
    expected = 0.0
    for c, times in zip(*np.unique(merged, return_counts=True), strict=True):
        a = np.arange(c + 1)
        logs = xlogy(a, share) + xlog1py(c - a, -share) - betaln(a + 1, c - a + 1)
        expected += float(times) * float(np.minimum(a, c - a) @ np.exp(logs)) / (c + 1)
    return agreeing / least, min(1.0, expected / least)
