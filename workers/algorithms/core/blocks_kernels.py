"""Kernels of searches for the nearest through blocks (core.blocks).

Notation
--------
node : of the tree, numbered as in a heap; its low, high (n,) hold all that is below it.
stack, size : nodes that are still to be looked at, the next one last.
"""

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IntArray

#: Places a stack needs: two children a level and the nodes beside them.
DEPTH = 128


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
