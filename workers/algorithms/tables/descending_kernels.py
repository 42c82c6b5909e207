"""Every record led on its own down the cuts that divide boxes.

Notation as in tables.locating and tables.locating_kernels.
"""

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.tables.locating_kernels import NodeArray, WordArray

_TOGETHER = 16  # records that go down at once


@inner_kernel
def _further(nodes: NodeArray, at: int, x: FloatArray, codes: IntArray, i: int, side: WordArray) -> int:
    """Where a record goes from a cut."""
    node = nodes[at]
    if node.column < x.shape[1]:
        return int(node.child + (x[i, node.column] >= node.at))
    code = np.uint64(codes[i, node.column - x.shape[1]])
    inside = (side[np.int64(node.at), np.int64(code >> np.uint64(6))] >> (code & np.uint64(63))) & np.uint64(1)
    return int(node.child + 1 - np.int64(inside))


@inner_kernel
def _looked_at(
    x: FloatArray, codes: IntArray, i: int, start: IntArray, boxes: IntArray, ends: FloatArray, words: WordArray,
    first: int, last: int, previous: tuple[int, int],
) -> tuple[int, int]:  # fmt: skip
    """The best box of a record in a leaf, or the one that was found before; and on how many upper bounds it lies."""
    best, least = previous
    n = x.shape[1]
    for place in range(first, last):
        touching = 0
        for j in range(n):
            if x[i, j] < ends[place, j] or x[i, j] > ends[place, n + j]:
                touching = -1
                break
            touching += x[i, j] == ends[place, n + j] and ends[place, j] < ends[place, n + j]
        if touching < 0 or touching > least or (touching == least and boxes[place] > best):
            continue
        for j in range(codes.shape[1]):
            code = np.uint64(codes[i, j])
            word = words[place, start[j] + np.int64(code >> np.uint64(6))]
            if not (word >> (code & np.uint64(63))) & np.uint64(1):
                touching = -1
                break
        if touching >= 0:
            best, least = boxes[place], touching
    return best, least


@kernel
def box_of(
    x: FloatArray, codes: IntArray, start: IntArray,
    nodes: NodeArray, side: WordArray, boxes: IntArray, ends: FloatArray, words: WordArray,
) -> IntArray:  # fmt: skip
    """The box of each record; the one on whose upper bounds it lies least, then the first; -1 where there is none.

    Parameters
    ----------
    x : (N, n).  codes : (N, m), within the words of their column.
    nodes, side, boxes, ends, words : what `divided` gave.
    """
    n = x.shape[1]
    assigned, waiting = np.empty(len(x), np.int64), np.empty(len(nodes) + 1, np.int64)
    at, both = np.empty(_TOGETHER, np.int64), np.empty(_TOGETHER, np.bool_)
    for begin in range(0, len(x), _TOGETHER):  # none of them waits for another one's memory
        count = min(_TOGETHER, len(x) - begin)
        at[:], both[:], going = 0, False, True
        while going:
            going = False
            for t in range(count):
                node = nodes[at[t]]
                if node.column < 0:
                    continue
                going = True
                if node.column < n and node.size:
                    both[t] |= x[begin + t, node.column] == node.at
                at[t] = _further(nodes, at[t], x, codes, begin + t, side)
        for t in range(count):
            i, best = begin + t, (-1, n + 1)
            waiting[0], size = 0 if both[t] else at[t], 1
            while size:
                size -= 1
                here = waiting[size]
                while nodes[here].column >= 0:
                    node = nodes[here]
                    if node.column < n and node.size and x[i, node.column] == node.at:
                        waiting[size] = node.child
                        size += 1
                    here = _further(nodes, here, x, codes, i, side)
                first = nodes[here].child
                best = _looked_at(x, codes, i, start, boxes, ends, words, first, first + nodes[here].size, best)
            assigned[i] = best[0]
    return assigned
