"""The arrays that the partition's kernels work on, named.

Attributes are explained where the kernels' Notation stands (partition.kernels, partition.gain, partition.diversity).
Kernels take the arrays they need and not these tuples, but for `grow` and `grow_block`: every field of a tuple that is
passed on costs compile time once more.
"""

from typing import Final, NamedTuple

import numpy as np

from surebox_core.types import ByteArray, FloatArray, IndexArray, IntArray, SingleArray

#: A range below this counts as none: it has no inverse, and shares of it would not be above 0.
NARROWEST: Final = 1e-300


def inverse_ranges(low: FloatArray, high: FloatArray) -> FloatArray:
    """1 / range of each column, (n,); 0 for a column that counts as constant."""
    width = high - low
    return np.divide(1.0, width, out=np.zeros(len(width)), where=width > NARROWEST)


class NumericRecords(NamedTuple):
    """Records being reordered, and what their columns are worth."""

    rows: FloatArray
    order: IndexArray
    worth: SingleArray
    price: FloatArray
    scratch: FloatArray


class Tree(NamedTuple):
    """Nodes made so far, and those that wait to be cut."""

    span: IntArray
    axis: IndexArray
    child: IndexArray
    gap: FloatArray
    waiting: IntArray
    counters: IntArray
    cells: FloatArray


class Rules(NamedTuple):
    """What both sides of a cut must hold beside k records (partition.diversity)."""

    labels: IndexArray
    need: IntArray
    values: FloatArray
    apart: FloatArray
    diversity: int
    allowed: ByteArray
    seen: IntArray
    run: FloatArray

    @property
    def any(self) -> bool:
        """Whether a cut must be checked at all."""
        return len(self.labels) + len(self.values) > 0


class Block(NamedTuple):
    """Room for one large node's records, sorted along every axis, and for what is tried on them (partition.gain)."""

    span: IntArray
    sorted: IndexArray
    trial: IndexArray
    upper: ByteArray
    moved: IndexArray
    lines: FloatArray
    back: IndexArray
    side: FloatArray
    top: FloatArray
    waiting: IntArray
    cells: FloatArray


class Effort(NamedTuple):
    """How much `optimal` searches: axes per node; candidates tried out, in nodes of up to `reach` records."""

    axes: int
    breadth: int
    reach: int
