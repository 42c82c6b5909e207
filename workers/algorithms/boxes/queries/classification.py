"""Classes of new points by the boxes about them and their class counts.

Notation
--------
B : number of boxes; lo, hi (B, n) their bounds, in the columns' units; m (B, C) records of each class in each box.
U : (n,), unit of each column: standard deviation of the released records spread evenly over their boxes.
S : set of values that a box has of a nominal column.
away : squared distance of a point from a box, in units; 0 inside and on the bounds. 1 more for each nominal column
    whose value the box has not.
q : number of votes.

The counterpart of the q best fits of AG section II.E: the records of a box are alike, so that boxes are taken whole,
the one that contains the point first and then the nearest, until q records are reached; boxes equally far that together
contain more than the votes still open share them in proportion. A class gets its share of the q votes. (By the letter a
record outside the point's box has density 0 there and no vote; boxes of k records would then decide by k votes whatever
q is.)
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.core.blocks import DEPTH, Blocks, blocks, gap, keep, open_node

_PARTS = 16
_BLOCK = 16
#: Distances that differ by less, relatively, are the same.
_SAME = 1e-12
_FARTHEST = 1e100  # in units: which box is nearest does not change beyond


@dataclass(frozen=True)
class Classified:
    """Answers for Q points.

    Attributes
    ----------
    label : (Q,), code of the class with most votes; of equal ones the lowest code.
    probabilities : (Q, C), shares of the votes; rows sum to one.
    """

    label: IntArray
    probabilities: FloatArray


@dataclass(frozen=True)
class BoxClassIndex:
    """Boxes with a class in spatial blocks; may be kept and used by several threads.

    Attributes
    ----------
    lower, upper : (B, n) bounds, block by block, divided by the unit.
    votes : (B, C) records of each class.
    unit : (n,), U.
    tree : the blocks of the boxes' centres; low, high (2 L, n) : extremes of the bounds of each node.
    sets : (B, d), number of the set of each box in each nominal column.
    """

    lower: FloatArray
    upper: FloatArray
    votes: FloatArray
    unit: FloatArray
    tree: Blocks
    low: FloatArray
    high: FloatArray
    sets: IntArray


def index(lower: FloatArray, upper: FloatArray, votes: IntArray, sets: IntArray | None = None) -> BoxClassIndex:
    """Make a release ready for classification.

    Parameters
    ----------
    lower, upper : (B, n), bounds, finite.
    votes : (B, C), records of each class in each box; boxes without any have no vote.
    sets : (B, d), number of the set of each box in each nominal column, T different ones; None without such columns.

    Raises
    ------
    ValueError
        Shapes disagree, or no record has a class.
    """
    if lower.ndim != 2 or lower.shape != upper.shape or votes.ndim != 2 or len(votes) != len(lower):
        msg = f"boxes need bounds alike and class counts, got {lower.shape}, {upper.shape}, {votes.shape}"
        raise ValueError(msg)
    held = votes.sum(axis=1) > 0
    if not held.any():
        msg = "no record has a class"
        raise ValueError(msg)
    numbered = np.empty((len(lower), 0), dtype=np.int64) if sets is None else sets
    lower, upper, votes, numbered = lower[held], upper[held], votes[held], numbered[held]
    share = votes.sum(axis=1) / votes.sum()
    centre, half = 0.5 * lower + 0.5 * upper, 0.5 * upper - 0.5 * lower
    spread = np.sqrt(share @ ((centre - share @ centre) ** 2 + half**2 / 3.0))
    unit = np.where(spread > 0.0, spread, 1.0)
    tree = blocks(centre, unit, _BLOCK)
    low, high = tree.smallest(lower / unit), tree.largest(upper / unit)
    order = tree.order
    ordered = (np.ascontiguousarray((lower / unit)[order]), np.ascontiguousarray((upper / unit)[order]))
    whose = np.ascontiguousarray(numbered[order])
    return BoxClassIndex(*ordered, votes[order].astype(np.float64), unit, tree, low, high, whose)


@kernel
def _nearest(
    points: FloatArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    sets: IntArray,
    strange: FloatArray,
    aways: FloatArray,
    places: IntArray,
) -> None:
    """Fill (Q, b) squared distances and places of the nearest boxes; they come as inf and -1."""
    leaves = len(start) - 1
    stack = np.empty(DEPTH, np.int64)
    last = aways.shape[1] - 1
    for q in range(len(points)):
        t, far, place = points[q], aways[q], places[q]
        stack[0] = 1
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            if gap(t, low[node], high[node]) >= far[last]:
                continue
            if node < leaves:
                size = open_node(t, node, low, high, stack, size)
                continue
            for r in range(start[node - leaves], start[node - leaves + 1]):
                away = gap(t, lower[r], upper[r])
                for j in range(sets.shape[1]):
                    away += strange[q, sets[r, j]]
                if away < far[last]:
                    keep(away, r, far, place)


def classify(
    ready: BoxClassIndex, points: FloatArray, neighbours: int, threads: int = 1, strange: FloatArray | None = None
) -> Classified:
    """Classify points by the boxes about them.

    Parameters
    ----------
    ready : from `index`.
    points : (Q, n), finite, in the columns' units.
    neighbours : q; all records where there are fewer.
    threads : used; the result does not depend on them.
    strange : (Q, T), 1 for each set without the point's value, else 0; None without nominal columns.

    Returns
    -------
    Classified

    Raises
    ------
    ValueError
        A point is not finite or has other columns, q is below 1.

    Notes
    -----
    Exact but for boxes equally far beyond the q nearest, which is q boxes meeting at one point.
    """
    if points.ndim != 2 or points.shape[1] != ready.lower.shape[1] or not np.isfinite(points).all():
        msg = f"points need {ready.lower.shape[1]} finite coordinates each, got shape {points.shape}"
        raise ValueError(msg)
    if neighbours < 1:
        msg = f"neighbours = {neighbours}: at least 1 must vote"
        raise ValueError(msg)
    with np.errstate(over="ignore"):
        queries = np.ascontiguousarray(np.clip(points / ready.unit, -_FARTHEST, _FARTHEST))
    beside = np.zeros((len(queries), 0)) if strange is None else np.ascontiguousarray(strange)
    kept = min(neighbours + 1, len(ready.lower))  # one more, so that a tie at the end is seen
    aways, places = np.full((len(queries), kept), np.inf), np.full((len(queries), kept), -1, dtype=np.int64)

    def part(span: slice) -> None:
        body = (ready.low, ready.high, ready.lower, ready.upper)
        _nearest(queries[span], ready.tree.start, *body, ready.sets, beside[span], aways[span], places[span])

    edges = np.arange(_PARTS + 1) * len(queries) // _PARTS
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        list(pool.map(part, [slice(int(a), int(b)) for a, b in pairwise(edges) if a < b]))
    votes = ready.votes[places]
    votes *= _shares(votes.sum(axis=2), aways, neighbours)[:, :, None]
    total = votes.sum(axis=1)
    probabilities = total / total.sum(axis=1, keepdims=True)
    return Classified(np.argmax(probabilities, axis=1).astype(np.int64), probabilities)


def _shares(counts: FloatArray, aways: FloatArray, q: int) -> FloatArray:
    """(Q, b) part of each box' records that vote: 1 while votes are open, then a share, then 0."""
    reached = np.cumsum(counts, axis=1)
    last = np.minimum((reached < q).sum(axis=1), counts.shape[1] - 1)  # the box in which the votes are used up
    edge = np.take_along_axis(aways, last[:, None], axis=1)
    tied = np.isclose(aways, edge, rtol=_SAME, atol=0.0)  # two sides of one point differ by how they were rounded
    before = (aways < edge) & ~tied
    room = np.maximum(q - (counts * before).sum(axis=1), 0.0)
    there = (counts * tied).sum(axis=1)
    return np.where(before, 1.0, np.where(tied, np.minimum(room / there, 1.0)[:, None], 0.0))
