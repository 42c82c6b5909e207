"""How a cut becomes two nodes and their cells (kernels). Notation as in partition.arrays."""

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray
from workers.algorithms.boxes.partition.arrays import Tree
from workers.algorithms.boxes.partition.selection import middle


@inner_kernel
def copy_cell(source: FloatArray, target: FloatArray) -> None:
    """Copy lower and upper bounds, (2, n) each."""
    for i in range(source.shape[1]):
        target[0, i] = source[0, i]
        target[1, i] = source[1, i]


@inner_kernel
def divide_cell(cells: FloatArray, at: int, axis: int, border: float, lower_first: bool) -> None:
    """Replace the cell at a place by its two parts about a border, at this place and the next.

    The cells of both are whole where the axis is no numeric column.
    """
    copy_cell(cells[at], cells[at + 1])
    if axis >= cells.shape[2]:
        return
    lower, upper = (at, at + 1) if lower_first else (at + 1, at)
    cells[lower, 1, axis] = min(cells[lower, 1, axis], border)
    cells[upper, 0, axis] = max(cells[upper, 0, axis], border)


@kernel
def branch(tree: Tree, node: int, axis: int, p: int, below: float, above: float) -> None:
    """Two children, the smaller on top of those that wait; the node's cell is where the first of them will."""
    span, counters, waiting = tree.span, tree.counters, tree.waiting
    first, last = span[node, 0], span[node, 1]
    child = counters[0]
    counters[0] += 2
    tree.axis[node] = axis
    tree.child[node] = child
    tree.gap[node, 0] = below
    tree.gap[node, 1] = above
    span[child, 0] = first
    span[child, 1] = span[child + 1, 0] = first + p
    span[child + 1, 1] = last
    larger = child if 2 * p > last - first else child + 1
    waiting[counters[1]] = larger
    waiting[counters[1] + 1] = 2 * child + 1 - larger
    divide_cell(tree.cells, counters[1], axis, middle(below, above), larger == child)
    counters[1] += 2
