"""The arrays that the partition's kernels work on, named.

Attributes are explained where the kernels' Notation stands (boxes.kernels). Named tuples, because numba takes them.
"""

from typing import NamedTuple

from workers.algorithms.core.types import FloatArray, IndexArray, IntArray, SingleArray


class Records(NamedTuple):
    """Records being reordered, and what their columns are worth."""

    rows: FloatArray
    order: IndexArray
    worth: SingleArray
    constant: FloatArray
    unit: FloatArray
    scratch: FloatArray


class Tree(NamedTuple):
    """Nodes made so far, and those that wait to be cut."""

    span: IntArray
    axis: IndexArray
    child: IndexArray
    gap: FloatArray
    waiting: IntArray
    counters: IntArray
