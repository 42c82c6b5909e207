"""The arrays that the partition's kernels work on, named.

Attributes are explained where the kernels' Notation stands (boxes.kernels). Named tuples, because numba takes them.
"""

from typing import NamedTuple

from workers.algorithms.core.types import ByteArray, FloatArray, IndexArray, IntArray, SingleArray


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


class Rules(NamedTuple):
    """What both sides of a cut must hold beside k records (boxes.diversity); `least` is [k, l]."""

    least: IntArray
    kept: IndexArray
    codes: IndexArray
    values: FloatArray
    apart: FloatArray
    allowed: ByteArray
    seen: IntArray
    run: FloatArray


class Block(NamedTuple):
    """Room for the records of one large node, sorted along every axis, and for what is tried on them (boxes.gain)."""

    span: IntArray
    sorted: IndexArray
    trial: IndexArray
    upper: ByteArray
    moved: IndexArray
    cost: FloatArray
    prefix: FloatArray
    back: IndexArray
    side: FloatArray
    top_cost: FloatArray
    top_axis: IntArray
    top_place: IntArray
    rules: Rules


class Effort(NamedTuple):
    """How much `optimal` searches: axes per node; candidates tried out, in nodes of up to `reach` records."""

    axes: int
    breadth: int
    reach: int
