"""Sets of columns in which enough records agree to be judged (`splits`), and how many agree in one.

Records that agree in a set of columns agree in each part of it. So sets are gone through from the smallest on, and one
with a part in which too few records agree is left out unread. Of tables of different people most are.

Notation
--------
S, m, N : sets, columns, and rows, as of `splits.cells_by_set`.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import IndexArray, IntArray
from workers.algorithms.tables.splits import Cells, CellsBySet, Codes, Members, Words


def agreeing_sets(mine: CellsBySet, codes: Codes, words: Words, members: Members, *, least: float) -> NDArray[np.bool_]:
    """Return for each set whether at least so many records are in the cells of another table, shape (S,).

    Parameters
    ----------
    mine : the other's cells.
    codes, words, members : as of `splits.cells_by_set`, of the records.
    least : how many. Where cells are chosen by their hashes, those of a part are others than those of the whole.
    """
    order, parts = _order(members.tobytes(), members.shape)
    every = np.uint32(mine.limit)
    return enough_by_set(
        codes, words, members, order, parts if mine.halvings == 0 else np.zeros_like(parts), mine.hashes,
        mine.starts, mine.index, mine.shift, every, least,
    )  # fmt: skip


@lru_cache(maxsize=32)
def _order(body: bytes, shape: tuple[int, int]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Order sets by their size, and tell of each (a row) its parts (columns)."""
    members = np.frombuffer(body, np.bool_).reshape(shape)
    parts = (members[:, None, :] >= members[None, :, :]).all(axis=2) & ~np.eye(len(members), dtype=bool)
    return np.argsort(members.sum(axis=1), kind="stable"), parts


@inner_kernel
def _agree(
    own: Words, chosen: IntArray, hashes: Words, index: IndexArray, shift: np.uint32, limit: np.uint32, least: float
) -> bool:
    """Return whether enough records are in the other's cells over some columns."""
    agreeing = 0
    for i in range(len(own)):
        if agreeing >= least or agreeing + len(own) - i < least:
            break
        one = np.uint32(0)
        for j in chosen:
            one = np.uint32(one + own[i, j])
        if one <= limit:
            at, end = index[one >> shift], index[(one >> shift) + np.uint32(1)]
            while at < end and hashes[at] < one:
                at += 1
            agreeing += at < end and hashes[at] == one
    return agreeing >= least


@kernel
def enough_by_set(
    codes: Codes, words: Words, members: Members, order: IntArray, parts: NDArray[np.bool_], hashes: Words,
    starts: IntArray, index: IndexArray, shift: np.uint32, limit: np.uint32, least: float,
) -> NDArray[np.bool_]:  # fmt: skip
    """Return for each set whether enough records are in the other's cells.

    Parameters
    ----------
    codes, words, members, limit, least : as of `agreeing_sets`.
    order, parts : the order in which sets are gone through, and (S, S), which is a part of which.
    hashes, starts, index, shift : as of `splits.CellsBySet`.
    """
    rows, columns = codes.shape
    own = np.empty((rows, columns), np.uint32)
    for i in range(rows):
        for j in range(columns):
            own[i, j] = words[j, codes[i, j]]
    enough = np.ones(len(members), np.bool_)
    for s in order:
        if not np.any(parts[s] & ~enough):
            cells = hashes[starts[s] : starts[s + 1]]
            enough[s] = _agree(own, np.flatnonzero(members[s]), cells, index[s], shift, limit, least)
        else:
            enough[s] = False
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
