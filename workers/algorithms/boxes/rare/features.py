"""What each box adds to the sums that J is a function of, and the statistics as functions of these sums.

Notation as in rare.points, rare.shifted and rare.shifted_kernels. The sums are, in this order: c; c g; of each part c
and m over the boxes there, m z of its axes, m z z of the pairs that its statistics need; c of each set of boxes that is
held. z counts from the part's mean: small numbers, of whose squares nothing is lost.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from surebox_core.statistics import OF_LINES, Component, components
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.boxes.rare.parts import StatisticGroup
from workers.algorithms.boxes.rare.points import Judged
from workers.algorithms.boxes.rare.shifted_kernels import (
    CELL,
    CORRELATION,
    COVARIANCE,
    DEVIATION,
    DOMAIN,
    FIRST_ORDER,
    MEAN,
    VARIANCE,
)

_NUMBERS = 2_000_000  # looked at together
_ZERO = 1e-12  # of a variance at all centres: rounding

_KINDS = {
    "mean": MEAN,
    "share": MEAN,
    "variance": VARIANCE,
    "standard_deviation": DEVIATION,
    "covariance": COVARIANCE,
    "correlation": CORRELATION,
    "crosstab": CELL,
    "domain_mean": DOMAIN,
}


@dataclass
class _Block:
    """Where the sums of a part are: c and m, m z from `first`, m z z of `pairs` from `second`.

    `number` is that of its first axis among those of all parts, `pair` that of its first pair.
    """

    part: StatisticGroup
    start: int
    number: int
    pair: int
    pairs: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def first(self) -> int:
        """Place of the sum of m z of the first axis."""
        return self.start + 2

    @property
    def second(self) -> int:
        """Place of the sum of m z z of the first pair."""
        return self.first + len(self.part.axes)

    @property
    def end(self) -> int:
        """Place of what follows."""
        return self.second + len(self.pairs)

    def numbered(self, i: int, j: int) -> int:
        """Number of a pair of axes among those of all parts."""
        return self.pair + self.pairs.setdefault((min(i, j), max(i, j)), len(self.pairs))


@dataclass(frozen=True)
class Terms:
    """Statistics as the kernel takes them, in the order of its arguments; notation there.

    Components that count to first order have their gradients: `by_mean` (R, K) and `by_second` (R, P).
    """

    needs: IntArray
    omega: FloatArray
    firsts: IntArray
    at: FloatArray
    pairs: IntArray
    floor: FloatArray
    kind: IntArray
    first: IntArray
    pair: IntArray
    inflation: FloatArray
    by_mean: FloatArray
    by_second: FloatArray


class Features:
    """What boxes add to the sums."""

    def __init__(self, boxes: Judged) -> None:
        self._boxes = boxes
        self._blocks: list[_Block] = []
        rows: list[tuple[float, int, tuple[int, int], tuple[int, int, int], float]] = []
        gradients: list[tuple[_Block, tuple[int, ...], Component]] = []
        start, number, pair = 2, 0, 0
        for part in boxes.parts:
            block = _Block(part, start, number, pair)
            rows += _components(block, gradients)
            self._blocks.append(block)
            start, number, pair = block.end, number + len(part.axes), pair + len(block.pairs)
        self._held = start
        self.size = start + len(boxes.held)
        by_mean, by_second = np.zeros((len(gradients), number)), np.zeros((len(gradients), pair))
        for row, (block, of, component) in enumerate(gradients):
            by_mean[row, [block.number + axis for axis in of]] = component.by_mean
            for a, b in np.argwhere(component.by_covariance):
                by_second[row, block.numbered(of[a], of[b])] += component.by_covariance[a, b]
        needs = [0, *(block.start for block in self._blocks), *range(self._held, self.size)]
        seconds = [(block.second + p, block, pair) for block in self._blocks for pair, p in block.pairs.items()]
        self.terms = Terms(
            needs=np.array(needs, dtype=np.int64),
            omega=np.array([row[0] for row in rows], dtype=np.float64),
            firsts=np.array(
                [(b.first + axis, b.start + 1) for b in self._blocks for axis in range(len(b.part.axes))],
                dtype=np.int64,
            ),
            at=np.concatenate([block.part.at.mean for block in self._blocks]),
            pairs=np.array([(at, b.number + i, b.number + j) for at, b, (i, j) in seconds], np.int64).reshape(-1, 3),
            floor=np.array([_ZERO * b.part.at.covariance[i, j] for _, b, (i, j) in seconds], dtype=np.float64),
            kind=np.array([row[1] for row in rows], dtype=np.int64),
            first=np.array([row[2] for row in rows], dtype=np.int64),
            pair=np.array([row[3] for row in rows], dtype=np.int64),
            inflation=np.array([row[4] for row in rows], dtype=np.float64),
            by_mean=by_mean,
            by_second=by_second,
        )

    def of(self, which: IntArray) -> FloatArray:
        """(len(which), size), what these boxes add."""
        boxes, out = self._boxes, np.empty((len(which), self.size))
        out[:, 0] = boxes.counts[which]
        out[:, 1] = out[:, 0] * boxes.g[which]
        for block in self._blocks:
            there = block.part.there[which]
            mass = np.where(there, boxes.mass[which], 0.0)
            z = boxes.points[which[:, None], block.part.axes] - block.part.at.mean
            out[:, block.start] = np.where(there, out[:, 0], 0.0)
            out[:, block.start + 1] = mass
            out[:, block.first : block.second] = mass[:, None] * z
            for (i, j), place in block.pairs.items():
                out[:, block.second + place] = mass * z[:, i] * z[:, j]
        for place, held in enumerate(boxes.held):
            there = held.there[which]
            if held.axis is not None:
                there = there & (boxes.points[which, held.axis] > 0.0)
            out[:, self._held + place] = np.where(there, out[:, 0], 0.0)
        return out

    def sums(self) -> FloatArray:
        """(size,), of all boxes."""
        total, rows = np.zeros(self.size), max(1, _NUMBERS // self.size)
        for start in range(0, len(self._boxes.counts), rows):
            total += self.of(np.arange(start, min(start + rows, len(self._boxes.counts)))).sum(axis=0)
        return total


def _components(
    block: _Block, gradients: list[tuple[_Block, tuple[int, ...], Component]]
) -> list[tuple[float, int, tuple[int, int], tuple[int, int, int], float]]:
    """Components of a part: weight, kind, firsts, pairs and inflation; gradients of those of first order."""
    part, rows = block.part, []
    for index, statistic in enumerate(part.statistics):
        weights: Sequence[float] = part.omega[part.owner == index].tolist()
        if statistic.kind in OF_LINES:
            for component, weight in zip(components(statistic, part.at), weights, strict=True):
                rows.append((weight, FIRST_ORDER, (len(gradients), -1), (-1, -1, -1), 1.0))
                gradients.append((block, statistic.of, component))
                for a, b in np.argwhere(component.by_covariance):
                    block.numbered(statistic.of[a], statistic.of[b])
            continue
        kind, i, j = _KINDS[statistic.kind], statistic.of[0], statistic.of[-1]
        pair = (-1, -1, -1)
        if kind == CORRELATION:
            pair = (block.numbered(i, i), block.numbered(j, j), block.numbered(i, j))
        elif kind != MEAN:
            pair = (-1, -1, block.numbered(i, j))
        rows.append((weights[0], kind, (block.number + i, block.number + j), pair, part.at.inflation))
    return rows
