"""A tree of records by halves, laid out for the kernels that sum over neighbours.

Notation
--------
y : (N, n), records in scaled units.
Depth L: 2^L leaves whose sizes differ by one at most; node i has the children 2 i + 1 and 2 i + 2.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from surebox_core.steps import finished
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.uncertain.neighbours.kernels import build, lay_out, nearest

LEAF = 64
_WORK = 3_000_000  # rows sorted, or pairs of records visited, between two pauses


@dataclass(frozen=True)
class Tree:
    """Records in leaf order, and the boxes about them; see neighbours.kernels for the arrays.

    Attributes
    ----------
    order : (N,) place of each row among the records given.
    rows : (N, n) records in leaf order.
    blocked : (N n,) the same, by leaf and then by column.
    start, end : (nodes,) rows of each node.
    box : (nodes, 2, n).
    """

    order: IntArray
    rows: FloatArray
    blocked: FloatArray
    start: IntArray
    end: IntArray
    box: FloatArray

    @property
    def leaves(self) -> tuple[IntArray, IntArray]:
        """First row of each leaf, and one past its last."""
        first = len(self.start) // 2
        return self.start[first:], self.end[first:]


def _bounds(records: int, smallest: int) -> tuple[IntArray, IntArray]:
    depth = max(0, (records // smallest).bit_length() - 1)
    edges = [np.array([0, records], dtype=np.int64)]
    for _ in range(depth):
        last = edges[-1]
        halves = np.empty(2 * len(last) - 1, dtype=np.int64)
        halves[::2] = last
        halves[1::2] = (last[:-1] + last[1:]) // 2
        edges.append(halves)
    return np.concatenate([e[:-1] for e in edges]), np.concatenate([e[1:] for e in edges])


def growing(y: FloatArray, smallest: int = LEAF // 2) -> Generator[float, None, Tree]:
    """Build a tree some work at a time; yields the share done, returns the tree.

    Parameters
    ----------
    y : (N, n) records, C-contiguous.
    smallest : least number of records in a leaf (all of them where there are fewer); leaves contain less than twice
        that.
    """
    start, end = _bounds(len(y), smallest)
    order = np.arange(len(y), dtype=np.int64)
    box = np.empty((len(start), 2, y.shape[1]))
    reached = np.cumsum(end - start)
    node = 0
    while node < len(start):
        done = reached[node - 1] if node else 0
        until = max(int(np.searchsorted(reached, done + _WORK, side="right")), node + 1)
        build(y, order, start, end, box, node, until)
        node = until
        yield float(reached[node - 1] / reached[-1])
    rows, blocked = np.empty_like(y), np.empty(y.size)
    lay_out(y, order, start, end, rows, blocked)
    return Tree(order=order, rows=rows, blocked=blocked, start=start, end=end, box=box)


def tree_of(y: FloatArray, smallest: int = LEAF // 2) -> Tree:
    """Build a tree at once; see `growing`."""
    return finished(growing(y, smallest))


def nearest_others(tree: Tree, first: int, last: int, count: int) -> tuple[IntArray, int]:
    """Rows of the `count` nearest other records of rows first .. last - 1.

    Returns
    -------
    (last - first, count) rows in leaf order, nearest first; and the number of records visited for it.
    """
    neighbours = np.empty((last - first, count), dtype=np.int64)
    seen = np.zeros(1, dtype=np.int64)
    nearest(tree.rows, tree.start, tree.end, tree.box, first, last, count, neighbours, seen)
    return neighbours, int(seen[0])
