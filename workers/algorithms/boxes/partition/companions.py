"""Where the unused values of a codebook go when a set of values is cut: a function of the column's secret.

Notation
--------
key : (8,) uint32, the secret of a column.
ring : (m,), the codes of the column in an order that the secret draws, closed to a ring.
companion of an unused value : the next value on the ring that some record of the node has. An unused value goes where
    its companion goes.

science.md section 5, "Nominal columns": a value of the codebook that no record of a node has goes to a random side.
Drawn anew at each cut it would reveal in time which values are unused: those that change sides from release to release.
By companions it changes sides only where its companion left the node before, so that the same node has the same sides
in every release of the column, as the same gap has the same cut (partition.places).
"""

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import kernel
from surebox_core.types import IndexArray, IntArray
from workers.algorithms.boxes.partition.places import KeyArray
from workers.algorithms.core.chacha import CONSTANTS, fill_block

_PURPOSE = 0x52494E47  # no cut of a numeric column asks the cipher for this


def ring(key: KeyArray, values: int) -> IntArray:
    """The codes of a column in the order that its secret draws.

    Parameters
    ----------
    key : (8,) uint32.
    values : m.

    Returns
    -------
    (m,) int64
    """
    drawn = np.empty(values, dtype=np.uint64)
    _draw(np.ascontiguousarray(key, dtype=np.uint32), drawn)
    return np.argsort(drawn, kind="stable")


@kernel
def _draw(key: KeyArray, drawn: NDArray[np.uint64]) -> None:
    state = np.zeros(16, dtype=np.uint32)
    block = np.empty(16, dtype=np.uint32)
    for i in range(4):
        state[i] = CONSTANTS[i]
    for i in range(8):
        state[4 + i] = key[i]
    state[15] = _PURPOSE
    for v in range(len(drawn)):
        state[12] = v
        fill_block(state, block)
        drawn[v] = (np.uint64(block[0]) << np.uint64(32)) | np.uint64(block[1])


@kernel
def assign(  # noqa: C901 (a kernel)
    rings: IntArray, ancestor: IndexArray, start: int, stop: int, side: IntArray
) -> None:
    """Give every value of a column that has no side (0) one: its group's, or its companion's.

    Parameters
    ----------
    rings : (M,), of all columns.
    ancestor : (M, depth), as in partition.arrays; cuts keep the groups of a hierarchy together.
    start, stop : the column's values.
    side : (M,), 1 or 2 where records have the value, else 0; all are 1 or 2 afterwards.
    """
    depth = -1
    differs = False
    while depth < ancestor.shape[1] - 1 and not differs:
        depth += 1
        first = -1
        for v in range(start, stop):
            if side[v] > 0:
                if first < 0:
                    first = ancestor[v, depth]
                elif ancestor[v, depth] != first:
                    differs = True
    grouped = False
    for v in range(start, stop):
        grouped = grouped or ancestor[v, depth] != v
    if grouped:  # a value follows its group where that has a side, else the first value of its group
        for v in range(start, stop):
            if side[v] != 0:
                continue
            leader = v
            for w in range(start, stop):
                if ancestor[w, depth] == ancestor[v, depth]:
                    if side[w] > 0:
                        leader = w
                        break
                    leader = min(leader, w)
            if leader != v:
                side[v] = -1 - leader
    m = stop - start
    companion = 0
    for turn in range(2 * m - 1, -1, -1):
        v = start + rings[start + turn % m]
        if 0 < side[v] <= 2:
            companion = side[v]
        elif side[v] == 0 and turn < m:
            side[v] = companion + 2  # a companion's side is no companion to others
    for v in range(start, stop):
        if side[v] > 2:
            side[v] -= 2
    for v in range(start, stop):
        if side[v] < 0:
            side[v] = side[-1 - side[v]]
