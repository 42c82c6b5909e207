"""How many records of the original are in a box, estimated from densities.

Notation
--------
Q : number of queries; a, b (Q, n) their closed intervals, in the columns' units, infinite where open.
[l, u] : the declared domain, infinite where there is none.
p_i : probability that record i is in the box and, where declared, given that it is in the domain:
    prod_j (F_ij(b_j) - F_ij(a_j)) / (F_ij(u_j) - F_ij(l_j)) (AG eqs. 19 and 21).
estimate : Q = sum p_i.
v : sum p_i (1 - p_i).
naive : number of centres Z in the box, those outside the domain moved to its nearest point.
standard error : sqrt(v + 4 d^2 d^2 / (d^2 + v)), d = Q - naive.

What the standard error covers. Given the release, record i is somewhere under its density, independently of the
others and, where the original's density hardly changes within a scale, as likely here as there: then the number of
records in the box has expectation sum p_i and variance v. Where it does change (clusters, ties), the estimate is that
of a blurred picture: the centres are the original blurred once, the densities on them blur it a second time, so that to
second order in the scales naive - original = Q - naive, and the estimate is off by 2 d. By chance alone d is about
sqrt(v), as (X, Z) and (Z, X) are then alike; so d counts in the proportion d^2 to d^2 + v. The result is the root of a
mean squared error; blur of higher order (structure much finer than the scales) it does not cover.

Rotated densities: the probability of a box has no closed form (gaussian: a multivariate normal integral; uniform: the
volume of a polytope). Every density is replaced by K = 64 points along its own axes, of a Richtmyer sequence (the
fractional parts of multiples of the roots of primes; Genz, Bretz 2009, section 4.2), another stretch of it for every
record; the count of points is exact and adds up over disjoint boxes. Its error, at most that of 64 independent points
for each record, is in the standard error: it adds about 1/64 to the variance.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.core.blocks import Blocks, blocks
from workers.algorithms.uncertain.density.densities import Densities, check_densities, loadings
from workers.algorithms.uncertain.queries.counting_kernels import count_blocks, count_rotated, count_singly

_PARTS = 32  # sums are made in this many parts whatever the threads, so that results are the same
_WINDOWS, _SIZE = 256, 64
_TOLERANCE = 1e-9
_SLIGHT = 1e-3  # a density with less than this in the domain is counted by the exact formula


@dataclass(frozen=True)
class DensityCounts:
    """Answers to Q queries.

    Attributes
    ----------
    estimate : (Q,), records.
    naive : (Q,), records whose centre is in the box, for comparison.
    standard_error : (Q,), records; see the module's text for what it covers.
    neglected : (Q,), certain bound of what densities passed over would have added to the estimate.
    """

    estimate: FloatArray
    naive: FloatArray
    standard_error: FloatArray
    neglected: FloatArray


@dataclass(frozen=True)
class DensityIndex:
    """A release made ready for counting; may be kept and used by several threads.

    Attributes
    ----------
    densities : those counted, as given.
    low, high : (n,), the domain.
    far : (H,), places of densities with hardly any mass in the domain, counted singly.
    near : blocks of the others; what follows is as in counting_kernels.
    """

    densities: Densities
    low: FloatArray
    high: FloatArray
    far: IntArray
    near: Blocks | None
    widest: FloatArray
    heaviest: FloatArray
    points: BoolArray
    z: FloatArray
    inverse: FloatArray
    heavy: FloatArray


def index(densities: Densities, domain: tuple[FloatArray, FloatArray] | None = None) -> DensityIndex:
    """Sort densities into spatial blocks, with what they have in the domain.

    Parameters
    ----------
    densities : what the release contains.
    domain : lower and upper ends (n,), infinite where a column has none; or None.

    Raises
    ------
    ValueError
        Invalid densities or domain.

    """
    check_densities(densities)
    n = densities.z.shape[1]
    low, high = (np.full(n, -np.inf), np.full(n, np.inf)) if domain is None else domain
    if low.shape != (n,) or high.shape != (n,) or not (low <= high).all():
        msg = f"a domain needs {n} lower ends and as many upper ends, none below its lower one"
        raise ValueError(msg)
    mass = _mass_in_domain(densities, low, high) if densities.axes is None else np.ones_like(densities.z)
    near = np.flatnonzero((mass > _SLIGHT).all(axis=1))
    far = np.flatnonzero(~(mass > _SLIGHT).all(axis=1))
    tree = None if not len(near) or densities.axes is not None else blocks(densities.z[near], densities.unit, 128)
    ordered = near if tree is None else near[tree.order]
    z, scale, heavy = densities.z[ordered], densities.scale[ordered], 1.0 / mass[ordered]
    edges = np.zeros(1, dtype=np.int64) if tree is None else tree.start[:-1]
    with np.errstate(divide="ignore"):
        inverse = np.ascontiguousarray(1.0 / scale.T)
    empty = np.zeros((0, n))
    return DensityIndex(
        densities,
        low,
        high,
        far,
        tree,
        widest=np.maximum.reduceat(scale, edges, axis=0) if len(near) else empty,
        heaviest=np.maximum.reduceat(heavy, edges, axis=0) if len(near) else empty,
        points=np.logical_or.reduceat(scale == 0.0, edges, axis=0) if len(near) else empty.astype(np.bool_),
        z=np.ascontiguousarray(z.T),
        inverse=inverse,
        heavy=np.ascontiguousarray(heavy.T),
    )


def _mass_in_domain(densities: Densities, low: FloatArray, high: FloatArray) -> FloatArray:
    """(M, n), F(u) - F(l); 1 where a point mass is in the domain."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left, right = ((end - densities.z) / densities.scale for end in (low, high))
    if densities.model == "gaussian":
        mass = np.where(left > 0.0, ndtr(-left) - ndtr(-right), ndtr(right) - ndtr(left))
    else:
        mass = np.clip(right + 0.5, 0.0, 1.0) - np.clip(left + 0.5, 0.0, 1.0)
    held = (densities.z >= low) & (densities.z <= high)
    return np.asarray(np.where(densities.scale > 0.0, mass, held))


def count(
    densities: Densities,
    lower: FloatArray,
    upper: FloatArray,
    domain: tuple[FloatArray, FloatArray] | None = None,
    threads: int = 1,
) -> DensityCounts:
    """Estimate how many original records are in each of Q boxes.

    Parameters
    ----------
    densities : what the release contains.
    lower, upper : (Q, n), closed intervals, minus and plus infinity where open.
    domain : lower and upper ends (n,), infinite where a column has none; or None. Boxes are cut to it.
    threads : used; the result does not depend on them.

    Returns
    -------
    Counts

    Raises
    ------
    ValueError
        Invalid densities or domain, intervals that are NaN or end before they begin.

    Notes
    -----
    AG eqs. 19 and 21; `index` and `count_indexed` for a release that is queried more than once.
    """
    return count_indexed(index(densities, domain), lower, upper, threads)


def check_queries(lower: FloatArray, upper: FloatArray, columns: int) -> None:
    """Refuse anything but a list of closed intervals, by ValueError: other shapes, NaN, ends before beginnings."""
    if lower.ndim != 2 or lower.shape != upper.shape or lower.shape[1] != columns:
        msg = f"queries need lower and upper ends for {columns} columns, got {lower.shape} and {upper.shape}"
        raise ValueError(msg)
    wrong = ~(lower <= upper)
    if wrong.any():
        query, column = (int(place[0]) for place in np.nonzero(wrong))
        msg = f"query {query}, column {column}: an interval must not end before it begins, nor be NaN"
        raise ValueError(msg)


def count_indexed(ready: DensityIndex, lower: FloatArray, upper: FloatArray, threads: int = 1) -> DensityCounts:
    """Estimate as `count` does, on a release made ready.

    Parameters
    ----------
    ready : from `index`.
    lower, upper, threads : as in `count`.
    """
    densities = ready.densities
    check_queries(lower, upper, densities.z.shape[1])
    queries = _queries(ready, lower, upper)
    tasks = _rotated(ready, queries) if densities.axes is not None else _parallel(ready, queries)
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        sums = sum(pool.map(lambda task: task(), tasks), np.zeros((len(lower), 4)))
    estimate, variance, neglected, naive = sums.T
    squared = (estimate - naive) ** 2
    blur = 4.0 * squared * squared / np.maximum(squared + variance, 1e-300)
    return DensityCounts(estimate, naive, np.sqrt(variance + blur), neglected)


class _Queries(NamedTuple):
    """Ends of queries as the kernels take them (queries.counting_kernels)."""

    a: FloatArray
    b: FloatArray
    from_: FloatArray
    to: FloatArray


def _queries(ready: DensityIndex, lower: FloatArray, upper: FloatArray) -> _Queries:
    a, b = np.maximum(lower, ready.low), np.minimum(upper, ready.high)
    apart = a > b
    from_, to = np.where(lower <= ready.low, -np.inf, a), np.where(upper >= ready.high, np.inf, b)
    for start, end in ((a, b), (from_, to)):
        start[apart], end[apart] = np.inf, -np.inf
    return _Queries(*(np.ascontiguousarray(end, dtype=np.float64) for end in (a, b, from_, to)))


def _spans(count: int) -> list[tuple[int, int]]:
    edges = np.arange(_PARTS + 1) * count // _PARTS
    return [(int(first), int(last)) for first, last in pairwise(edges) if first < last]


def _parallel(ready: DensityIndex, queries: _Queries) -> list[Callable[[], FloatArray]]:
    gaussian = ready.densities.model == "gaussian"
    free = np.ascontiguousarray((queries.a <= ready.low) & (queries.b >= ready.high))

    def near(tree: Blocks, first: int, last: int) -> FloatArray:
        out = np.zeros((len(queries.a), 4))
        leaves = slice(tree.count, None)
        count_blocks(
            first,
            last,
            tree.start,
            tree.low[leaves],
            tree.high[leaves],
            ready.widest,
            ready.heaviest,
            ready.points,
            ready.z,
            ready.inverse,
            ready.heavy,
            *queries,
            free,
            gaussian,
            _TOLERANCE,
            out,
        )
        return out

    def far(first: int, last: int) -> FloatArray:
        out = np.zeros((len(queries.a), 4))
        rows = ready.far[first:last]
        z, scale = ready.densities.z[rows], ready.densities.scale[rows]
        count_singly(z, scale, *queries, ready.low, ready.high, gaussian, out)
        return out

    tasks: list[Callable[[], FloatArray]] = [partial(far, *span) for span in _spans(len(ready.far))]
    if ready.near is not None:
        tasks += [partial(near, ready.near, *span) for span in _spans(ready.near.count)]
    return tasks


def _rotated(ready: DensityIndex, queries: _Queries) -> list[Callable[[], FloatArray]]:
    densities = ready.densities
    standard = _standard_points(densities.z.shape[1], gaussian=densities.model == "gaussian")

    def part(first: int, last: int) -> FloatArray:
        out = np.zeros((len(queries.a), 4))
        z, g = np.ascontiguousarray(densities.z[first:last]), loadings(densities, first, last)
        count_rotated(first, z, g, standard, *queries, ready.low, ready.high, out)
        return out

    return [partial(part, *span) for span in _spans(len(densities.z))]


def _standard_points(columns: int, *, gaussian: bool) -> FloatArray:
    """(windows, points, n): stretches of a Richtmyer sequence as standard draws."""
    primes = [p for p in range(2, 200 + 20 * columns) if all(p % q for q in range(2, int(p**0.5) + 1))][:columns]
    steps = np.arange(1, _WINDOWS * _SIZE + 1)[:, None] * np.sqrt(np.array(primes, dtype=np.float64))
    shares = (steps % 1.0 * (1.0 - 2e-16) + 1e-16).reshape(_WINDOWS, _SIZE, columns)
    return np.ascontiguousarray(ndtri(shares) if gaussian else shares - 0.5)
