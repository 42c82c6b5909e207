"""Cores: the largest part of a set in which everybody has k in expectation at a scale, counted inside the part.

Notation
--------
s : scale, of all records alike.  k : `need`, expected anonymity wanted.
A_i : certain lower bound of the expected anonymity of i among the living, see calibration.cores_kernels.

The union of two parts that satisfy each other's definition satisfies it, so a core is unique, and leaving out who has
too little until nobody has finds it. Every record's sum is made once, and who is left out is taken from the sums of
those within his reach once: the work is that of two passes, however long the chain of those who fall is. Sums end
early where they are several times what is needed; such a one is made anew if it falls below.
"""

import math
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import ndtr, ndtri

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.uncertain.calibration.cores_kernels import DEGREE, gather, take_away
from workers.algorithms.uncertain.calibration.journal import Outcome, remembered
from workers.algorithms.uncertain.calibration.kernels import SAFE
from workers.algorithms.uncertain.calibration.solver import spread
from workers.algorithms.uncertain.calibration.state import CalibrationRequest
from workers.algorithms.uncertain.neighbours.tree import Tree

_VISITS = 30_000_000  # records visited between two pauses, of each thread
_PLENTY = 1.5  # a sum ends at so many times what is needed: most of those that end early stay above


@dataclass(frozen=True)
class Core:
    """Who is in it.

    Attributes
    ----------
    rows : (m,) rows of the tree, ascending.
    anonymity : (m,) certain lower bounds, at least k.
    """

    rows: IntArray
    anonymity: FloatArray


@cache
def curve_below(end: float) -> FloatArray:
    """A polynomial below Q on [0, end], and never above 0 at the end; as kernels take it.

    Chebyshev's nodes miss Q by less than a millionth up to an end of 6. By how much is looked at on a grid so fine that
    between its points the miss (its second derivative is below 50) grows by less than the millionth part that is added.
    """
    fitted = Chebyshev.interpolate(lambda t: ndtr(-t), DEGREE, domain=[0.0, end])
    grid = np.linspace(0.0, end, 20_001)
    above = max(float((fitted(grid) - ndtr(-grid)).max()), float(fitted(end))) + 1e-6
    coefficients = fitted.convert(kind=Polynomial).coef
    coefficients[0] -= above
    return np.array([end, *coefficients[::-1]])


def _end(columns: int, records: int, k: float) -> float:
    """Beyond so many times 2 s nobody counts: by the shape of space, or because all together would not matter.

    With records evenly spread all but a hundredth of the sum lies within sqrt(n) + 2. Who sees a crowd from afar has no
    more of it beyond than a hundredth of k. Rounded, so that curves are few.
    """
    alone = -float(ndtri(max(0.01 * k / records, 1e-9)))
    return max(round(min(math.sqrt(columns) + 2.0, alone, 6.0), 1), 1.0)


@dataclass(frozen=True)
class _Sums:
    """Sums over the living at one scale; arrays in the order of the tree."""

    tree: Tree
    need: FloatArray
    scale: float
    request: CalibrationRequest
    living: BoolArray
    low: FloatArray
    whole: BoolArray

    @property
    def kernel(self) -> tuple[float, float, bool, FloatArray]:
        """Scale, reach, model and curve, as kernels take them."""
        if self.request.model == "uniform":
            return self.scale, self.scale, False, curve_below(1.0)
        curve = curve_below(_end(self.tree.rows.shape[1], len(self.need), float(self.need.min())))
        return self.scale, 2.0 * self.scale * float(curve[0]), True, curve

    @property
    def short(self) -> BoolArray:
        """Living records that have less than they need, as far as is known."""
        return np.asarray(self.living & (self.low < self.need * SAFE))

    def made(self, queries: IntArray) -> Generator[float, None, None]:
        """Sum over the living for some rows."""
        tree, living, enough = self.tree, self.living.astype(np.float64), _PLENTY * self.need

        def run(part: tuple[int, int]) -> int:
            return int(
                gather(
                    tree.rows, tree.blocked, tree.start, tree.end, tree.box, living, queries[part[0] : part[1]], enough,
                    *self.kernel, _VISITS, self.low, self.whole,
                )
            )  # fmt: skip

        yield from spread(run, len(queries), self.request.threads)

    def without(self, dead: IntArray) -> Generator[float, None, None]:
        """Leave some rows out, and take what they had added from all others; threads share the space, not the rows."""
        tree = self.tree
        self.living[dead] = False
        roots = _roots(tree, self.request.threads)
        done: dict[int, int] = {}

        def run(root: int) -> int:
            return int(
                take_away(
                    tree.rows, tree.blocked, tree.start, tree.end, tree.box, dead[done.get(root, 0) :], root,
                    *self.kernel, _VISITS, self.low,
                )
            )  # fmt: skip

        with ThreadPoolExecutor(self.request.threads) as pool:
            while roots:
                for root, number in zip(roots, pool.map(run, roots), strict=True):
                    done[root] = done.get(root, 0) + number
                roots = [root for root in roots if done[root] < len(dead)]
                yield 0.0


def _roots(tree: Tree, threads: int) -> list[int]:
    """Nodes that have all rows between them, one for each thread or more."""
    first = 0
    while 2 * first + 1 < len(tree.start) and first + 1 < threads:
        first = 2 * first + 1
    return list(range(first, 2 * first + 1))


def core(
    tree: Tree, need: FloatArray, scale: float, least: int, request: CalibrationRequest
) -> Generator[float, None, Core]:
    """The core of the records of a tree at a scale; given up (empty) when fewer than `least` are left.

    Parameters
    ----------
    tree : records, in scaled units.
    need : (N,) k of its rows.
    scale : s > 0.
    least : records that a core must have to be wanted.
    request : model, threads, journal.
    """
    arrays = yield from remembered(request.journal, "core", _core(tree, need, scale, least, request))
    return Core(arrays["rows"], arrays["anonymity"])


def _core(
    tree: Tree, need: FloatArray, scale: float, least: int, request: CalibrationRequest
) -> Generator[float, None, Outcome]:
    size = len(need)
    sums = _Sums(tree, need, scale, request, np.ones(size, np.bool_), np.full(size, np.inf), np.zeros(size, np.bool_))
    for _ in sums.made(np.arange(size)):
        if size - int(sums.short.sum()) < least:
            break
        yield 0.0
    while (short := sums.short).any() and int(sums.living.sum()) >= max(least, 1):
        yield from sums.made(np.flatnonzero(short & ~sums.whole))
        dead = np.flatnonzero(sums.short & sums.whole)
        if int(sums.living.sum()) - len(dead) < max(least, 1):
            break
        yield from sums.without(dead)
    else:
        rows = np.flatnonzero(sums.living)
        return {"rows": rows, "anonymity": sums.low[rows]}
    return {"rows": np.empty(0, np.int64), "anonymity": np.empty(0)}
