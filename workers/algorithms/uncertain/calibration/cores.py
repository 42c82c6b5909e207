"""Cores: the largest part of a set in which everyone has k in expectation at a scale, counted inside the part.

Notation
--------
s : scale, of all records alike.  k : `need`, expected anonymity wanted.
A_i : certain lower bound of the expected anonymity of i among the living.

The union of two parts that satisfy each other's definition satisfies it, so a core is unique, and leaving out who has
too little until no one has finds it. Every record's sum is made once, and who is left out is taken from the sums of
those within reach once: the work is that of two passes, however long the chain of those who fall is. Sums end
early where they are several times the need; such a one is made anew if it falls below.

Kernels
-------
y : (N, n), records in scaled units; blocked, start, end, box: the tree (neighbours.kernels).
s : scale, of all records alike.
p_ij : what j adds to i. Gaussian: Q(t), t = delta_ij / (2 s), a lower bound from the polynomial `curve`: its end, then
    its coefficients from the highest power down; at the end it is 0, and beyond no one counts. Uniform: prod_m
    max(1 - w_ijm / s, 0). 1 where the two are equal. p_ij = p_ji up to rounding: the added part is the removed one.
A_i : sum of p_ij over the living j, itself included (AG eqs. 8, 15; distances beyond the curve's end count 0).
"""

import math
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from scipy.special import ndtr, ndtri

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.uncertain.calibration.journal import Outcome, remembered
from workers.algorithms.uncertain.calibration.kernels import SAFE
from workers.algorithms.uncertain.calibration.solver import spread
from workers.algorithms.uncertain.calibration.state import CalibrationRequest
from workers.algorithms.uncertain.neighbours.kernels import largest_leaf
from workers.algorithms.uncertain.neighbours.tree import Tree

_VISITS = 30_000_000  # records visited between two pauses, of each thread
_PLENTY = 1.5  # a sum ends at so many times the need: most of those that end early stay above
DEGREE = 14  # of the curve


@inner_kernel(inline="always")
def _gap(box: FloatArray, node: int, centre: FloatArray, gaussian: bool) -> float:
    """Squared distance of a point from a node's box; uniform: the largest component, squared."""
    total = 0.0
    for c in range(len(centre)):
        w = max(box[node, 0, c] - centre[c], centre[c] - box[node, 1, c], 0.0)
        total = total + w * w if gaussian else max(total, w * w)
    return total


@inner_kernel
def _opened(
    node: int, box: FloatArray, centre: FloatArray, gaussian: bool, limit: float, stack: IntArray, top: int
) -> int:
    """Put the children of a node that are within reach on the stack, the nearer on top; the size of the stack then."""
    left = _gap(box, 2 * node + 1, centre, gaussian)
    right = _gap(box, 2 * node + 2, centre, gaussian)
    far, near = (2 * node + 2, 2 * node + 1) if left <= right else (2 * node + 1, 2 * node + 2)
    if max(left, right) <= limit:
        stack[top] = far
        top += 1
    if min(left, right) <= limit:
        stack[top] = near
        top += 1
    return top


@inner_kernel(fastmath={"contract", "reassoc"})
def _evaluate(out: FloatArray, m: int, per: float, curve: FloatArray) -> None:
    """The curve at squared distances, in place."""
    end = curve[0]
    c1, c2, c3, c4, c5 = curve[1], curve[2], curve[3], curve[4], curve[5]
    c6, c7, c8, c9, c10 = curve[6], curve[7], curve[8], curve[9], curve[10]
    c11, c12, c13, c14, c15 = curve[11], curve[12], curve[13], curve[14], curve[15]
    for j in range(m):
        q = out[j]
        t = min(math.sqrt(q) * per, end)
        v = c1 * t + c2
        v = v * t + c3
        v = v * t + c4
        v = v * t + c5
        v = v * t + c6
        v = v * t + c7
        v = v * t + c8
        v = v * t + c9
        v = v * t + c10
        v = v * t + c11
        v = v * t + c12
        v = v * t + c13
        v = v * t + c14
        v = v * t + c15
        out[j] = 1.0 if q == 0.0 else max(v, 0.0)


@inner_kernel(fastmath={"contract", "reassoc"})
def _shares(
    blocked: FloatArray, s: int, m: int, centre: FloatArray, scale: float, gaussian: bool, curve: FloatArray,
    out: FloatArray,
) -> None:  # fmt: skip
    """What the m records of a leaf add, p."""
    n = len(centre)
    if not gaussian:
        per = 1.0 / scale
        for j in range(m):
            out[j] = 1.0
        for c in range(n):
            here = centre[c]
            column = blocked[s * n + c * m : s * n + c * m + m]
            for j in range(m):
                out[j] *= max(1.0 - abs(column[j] - here) * per, 0.0)
        return
    here = centre[0]
    first = blocked[s * n : s * n + m]
    for j in range(m):
        w = first[j] - here
        out[j] = w * w
    for c in range(1, n - 1, 2):  # two at a time: half the traffic
        here = centre[c]
        there = centre[c + 1]
        column = blocked[s * n + c * m : s * n + c * m + m]
        other = blocked[s * n + (c + 1) * m : s * n + (c + 1) * m + m]
        for j in range(m):
            w = column[j] - here
            v = other[j] - there
            out[j] += w * w + v * v
    if n % 2 == 0:
        here = centre[n - 1]
        column = blocked[s * n + (n - 1) * m : s * n + (n - 1) * m + m]
        for j in range(m):
            w = column[j] - here
            out[j] += w * w
    _evaluate(out, m, 0.5 / scale, curve)


@inner_kernel(fastmath={"contract", "reassoc"})
def _sum(shares: FloatArray, living: FloatArray, s: int, m: int) -> float:
    total = 0.0
    for j in range(m):
        total += shares[j] * living[s + j]
    return total


@kernel
def gather(
    rows: FloatArray,
    blocked: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    living: FloatArray,
    queries: IntArray,
    enough: FloatArray,
    scale: float,
    reach: float,
    gaussian: bool,
    curve: FloatArray,
    budget: int,
    low: FloatArray,
    whole: BoolArray,
) -> int:
    """Sum A of the rows requested, until `budget` records were visited; returns how many rows are done.

    Parameters
    ----------
    living : (N,) 1 or 0, in leaf order.
    queries : (m,) rows.
    enough : (N,) a sum that need not be exceeded.
    reach : no one further away counts.
    low, whole : (N,) results: A or a part of it that is enough, and whether it is all.
    """
    n = rows.shape[1]
    inner = len(start) // 2
    shares = np.empty(largest_leaf(start, end))
    stack = np.empty(128, np.int64)
    limit = reach * reach * (1.0 + 1e-9)
    visited = 0
    for i in range(len(queries)):
        if visited > budget:
            return i
        centre = rows[queries[i]]
        total = 0.0
        top = 1
        stack[0] = 0
        while top > 0 and total < enough[queries[i]]:
            top -= 1
            node = stack[top]
            if node >= inner:
                m = end[node] - start[node]
                visited += m
                _shares(blocked, start[node], m, centre, scale, gaussian, curve, shares)
                total += _sum(shares, living, start[node], m)
                continue
            visited += n
            top = _opened(node, box, centre, gaussian, limit, stack, top)
        low[queries[i]] = total
        whole[queries[i]] = top == 0
    return len(queries)


@kernel
def take_away(
    rows: FloatArray,
    blocked: FloatArray,
    start: IntArray,
    end: IntArray,
    box: FloatArray,
    dead: IntArray,
    root: int,
    scale: float,
    reach: float,
    gaussian: bool,
    curve: FloatArray,
    budget: int,
    low: FloatArray,
) -> int:
    """Take what some rows had added from all sums below a node; returns how many of them are done."""
    n = rows.shape[1]
    inner = len(start) // 2
    shares = np.empty(largest_leaf(start, end))
    stack = np.empty(128, np.int64)
    limit = reach * reach * (1.0 + 1e-9)
    visited = 0
    for i in range(len(dead)):
        if visited > budget:
            return i
        centre = rows[dead[i]]
        top = 1
        stack[0] = root
        while top > 0:
            top -= 1
            node = stack[top]
            if node >= inner:
                m = end[node] - start[node]
                visited += m
                _shares(blocked, start[node], m, centre, scale, gaussian, curve, shares)
                for j in range(m):
                    low[start[node] + j] -= shares[j]
                continue
            visited += n
            top = _opened(node, box, centre, gaussian, limit, stack, top)
    return len(dead)


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
    """Beyond so many times 2 s no one counts: by the shape of space, or because all together would not matter.

    With records evenly spread all but a hundredth of the sum is within sqrt(n) + 2. Who sees a crowd from afar has no
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
