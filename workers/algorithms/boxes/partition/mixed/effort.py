"""How far `optimal` searches, by the number of records, and up to which size nodes are cut in memory of their own."""

from typing import Final, NamedTuple

_ALL: Final = 2**31


class MixedEffort(NamedTuple):
    """How much is tried.

    Attributes
    ----------
    breadth : how many cuts `optimal` carries to the end; with one it tries the orders of values that matter most only.
    boxes : in nodes of how many boxes at most it does so.
    axes : on how many axes, those of largest s_i.
    sample : how many records of a node larger than a block are measured at least.
    places : how many places along an axis, in each direction, are compared in a node that is not.
    block : the largest node, in records, whose orders along all axes are kept; of larger ones `fast` finds the middle
        by counting, and `optimal` compares borders of parts. No others are parted so.
    """

    breadth: int
    boxes: int
    axes: int
    sample: int
    places: int
    block: int = 4_096


#: Up to how many records each holds.
_USUAL: Final = (
    (40_000, MixedEffort(8, 16, _ALL, _ALL, 128)),
    (300_000, MixedEffort(3, 16, _ALL, _ALL, 128)),
    (_ALL, MixedEffort(1, 1, 3, 4_096, 8)),
)


def usual(records: int) -> MixedEffort:
    """The effort for so many records."""
    return next(effort for most, effort in _USUAL if records <= most)
