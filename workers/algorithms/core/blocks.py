"""Points in spatial blocks: a balanced tree of boxes, so that searches pass over far points.

Notation
--------
x : (N, n), points in the columns' units; divided by `unit` (n,) where extents along axes are compared.
L : number of blocks, a power of two; nodes are numbered as in a heap: root 1, children of i are 2 i and 2 i + 1, block
    b is node L + b. Node 0 is unused.
order : (N,), the points block by block; those of block b are at start[b] to start[b + 1].
low, high : (2 L, n), extremes of the points of each node, and so of all below it.
stack, size : nodes that are still to be looked at, the next one last.
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IntArray

#: Places a stack needs: two children a level and the nodes next to them.
DEPTH = 128


@dataclass(frozen=True)
class Blocks:
    """A balanced tree over points; see the module's Notation."""

    order: IntArray
    start: IntArray
    low: FloatArray
    high: FloatArray

    @property
    def count(self) -> int:
        """L."""
        return len(self.start) - 1

    @property
    def sizes(self) -> IntArray:
        """(2 L,), points of each node."""
        return _upwards(np.diff(self.start), np.add)

    def largest(self, values: FloatArray) -> FloatArray:
        """(2 L, ...), maxima of a point's values over each node; `values` are in the points' own order."""
        return _upwards(np.maximum.reduceat(values[self.order], self.start[:-1], axis=0), np.maximum)

    def smallest(self, values: FloatArray) -> FloatArray:
        """(2 L, ...), minima likewise."""
        return _upwards(np.minimum.reduceat(values[self.order], self.start[:-1], axis=0), np.minimum)


def blocks(x: FloatArray, unit: FloatArray, size: int = 64) -> Blocks:
    """Halve the points along their longest axis until no block contains more than `size`.

    Parameters
    ----------
    x : (N, n) finite points, N >= 1.
    unit : (n,) positive; axes are compared after division by it.
    size : largest number of points of a block.

    Returns
    -------
    Blocks

    Notes
    -----
    The kd-tree of Friedman, Bentley, Finkel 1977, halves by count. O(N log N).
    """
    count = 1
    while count * size < len(x):
        count *= 2
    order = np.arange(len(x), dtype=np.int64)
    parts = 1
    while parts < count:
        edges = _edges(len(x), parts)
        middles = _edges(len(x), 2 * parts)[1::2]
        for first, middle, last in zip(edges[:-1], middles, edges[1:], strict=True):
            here = order[first:last]
            held = x[here]
            axis = int(np.argmax((held.max(axis=0) - held.min(axis=0)) / unit))
            order[first:last] = here[np.argpartition(held[:, axis], middle - first)]
        parts *= 2
    start = _edges(len(x), count)
    low = np.minimum.reduceat(x[order], start[:-1], axis=0)
    high = np.maximum.reduceat(x[order], start[:-1], axis=0)
    return Blocks(order, start, _upwards(low, np.minimum), _upwards(high, np.maximum))


def _edges(points: int, parts: int) -> IntArray:
    return np.arange(parts + 1, dtype=np.int64) * points // parts


def _upwards(leaves: np.ndarray, join: np.ufunc) -> np.ndarray:
    """Values of all nodes from those of the blocks."""
    count = len(leaves)
    nodes = np.zeros((2 * count, *leaves.shape[1:]), dtype=leaves.dtype)
    nodes[count:] = leaves
    while count > 1:
        half = count // 2
        nodes[half:count] = join(nodes[count : 2 * count : 2], nodes[count + 1 : 2 * count : 2])
        count = half
    return nodes


@kernel
def gap(t: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Squared distance of a point from a box; 0 inside and on the bounds."""
    total = 0.0
    for j in range(len(t)):
        away = max(low[j] - t[j], t[j] - high[j], 0.0)
        total += away * away
    return total


@kernel
def open_node(t: FloatArray, node: int, low: FloatArray, high: FloatArray, stack: IntArray, size: int) -> int:
    """Put both children of a node on the stack, the nearer one to be looked at next; its new size."""
    far, near = 2 * node, 2 * node + 1
    if gap(t, low[far], high[far]) < gap(t, low[near], high[near]):
        far, near = near, far
    stack[size] = far
    stack[size + 1] = near
    return size + 2


@kernel
def keep(away: float, one: int, aways: FloatArray, nearest: IntArray) -> None:
    """Take one in among the nearest, (q,) by distance; the last drops out. Of equals the first to come stays first."""
    i = len(aways) - 1
    if away >= aways[i]:
        return
    while i > 0 and aways[i - 1] > away:
        aways[i] = aways[i - 1]
        nearest[i] = nearest[i - 1]
        i -= 1
    aways[i] = away
    nearest[i] = one
