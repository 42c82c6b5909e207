"""Condensation: groups of k records replaced by as many made-up ones with the group's mean and covariance.

Notation
--------
x : (N, n), records in the columns' units; U : (n,), units of the columns, see `units`; y = x / U.
w : (N, n), records as groups see them: values beyond the k-th from either end of a column count as that one; w / U.
group : (N,), each of at least k records: a random record and its k - 1 nearest among those left, again and again; the
    last fewer than k join the group whose mean is nearest. Distances and these means are those of w / U.
m, C : mean and covariance of a group in scaled space (divisor: its size), C = sum_i lambda_i v_i v_i^T.
pseudo-record : m + sum_i u_i v_i, u_i uniform on [-1/2, 1/2] sqrt(12 lambda_i), which has variance lambda_i.

Source: Aggarwal, Yu 2004 (EDBT, sections 2 and 2.1), the baseline of AG. Departures: distances are taken in units of
standard deviations, as in AG section II, and between winsorized records: plain ones would let a single far value decide
which groups all others are in, and the made-up records would reveal it (science.md section 4, "The search sees
winsorized values"). Moments within a group are those of the values as they are. Which record begins a group is drawn,
never read off the order of the input, and pseudo-records come in random order. The pseudo-records of a group are drawn
alike: which of them bears the kept cells of which record is drawn too, so that pairing them reveals no more than the
group does. In a column in which a group agrees, its pseudo-records agree too and publish the value, as any box of k
equal values does.

Kernels
-------
y : (N, n), records in scaled units, block by block (core.blocks); a record's place changes as others leave its block:
    those still there are first. record (N,) : which record is at a place, place (N,) the reverse.
left : (2 L,), records still there, of each node; low, high (2 L, n) : extremes of the node at the beginning.
group : (N,), group of each record, -1 while it has none.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.ladder import SMALLEST, rung_from
from surebox_core.moments import check_records
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.core.blocks import DEPTH, blocks, gap, keep, open_node
from workers.algorithms.core.errors import InfeasibleKError
from workers.algorithms.core.winsorized import tail, winsorized

Stage: TypeAlias = Literal["groups", "records"]

STEP_VISITED: Final = 30_000_000  # records visited in a step
_BATCH = 4096  # groups whose records are made at once
_WIDE = 32  # columns from which groups are looked at one by one: their matrices are large, and numpy's loops short
_CELLS = 4_000_000  # cells of covariance matrices held at once
_BLOCK = 16


@inner_kernel
def _remove(
    one: int, y: FloatArray, record: IntArray, place: IntArray, start: IntArray, left: IntArray, leaf: IntArray
) -> None:
    """Take a record out of its block and the nodes above."""
    leaves = len(start) - 1
    node = leaves + leaf[one]
    here = place[one]
    last = start[leaf[one]] + left[node] - 1
    other = record[last]
    for j in range(y.shape[1]):
        y[here, j], y[last, j] = y[last, j], y[here, j]
    record[here], record[last] = other, one
    place[other], place[one] = here, last
    while node > 0:
        left[node] -= 1
        node //= 2


@inner_kernel
def _nearest(
    t: FloatArray,
    y: FloatArray,
    record: IntArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    left: IntArray,
    distance: FloatArray,
    nearest: IntArray,
) -> int:
    """Fill `nearest` with the nearest records still there, `distance` with their squared distances; records visited."""
    leaves = len(start) - 1
    last = len(nearest) - 1
    distance[:] = np.inf
    stack = np.empty(DEPTH, np.int64)
    stack[0] = 1
    size = 1
    visited = 0
    while size > 0:
        size -= 1
        node = stack[size]
        if left[node] == 0 or gap(t, low[node], high[node]) >= distance[last]:
            continue
        visited += 1
        if node < leaves:
            size = open_node(t, node, low, high, stack, size)
            continue
        first = start[node - leaves]
        visited += left[node]
        for r in range(first, first + left[node]):
            away = 0.0
            for j in range(len(t)):
                away += (t[j] - y[r, j]) ** 2
            keep(away, record[r], distance, nearest)
    return visited


@kernel
def gather(
    seeds: IntArray,
    least: int,
    groups: int,
    k: int,
    budget: int,
    y: FloatArray,
    record: IntArray,
    place: IntArray,
    leaf: IntArray,
    start: IntArray,
    low: FloatArray,
    high: FloatArray,
    left: IntArray,
    group: IntArray,
) -> int:
    """Make groups of k, until fewer than `least` records are left or the budget of visits is spent; groups so far."""
    distance = np.empty(max(k - 1, 1))
    nearest = np.empty(max(k - 1, 1), np.int64)
    t = np.empty(y.shape[1])
    for one in seeds:
        if left[1] < least or budget <= 0:
            break
        if group[one] >= 0:
            continue
        for j in range(len(t)):
            t[j] = y[place[one], j]
        _remove(one, y, record, place, start, left, leaf)
        group[one] = groups
        if k > 1:
            budget -= _nearest(t, y, record, start, low, high, left, distance, nearest)
            for other in nearest:
                _remove(int(other), y, record, place, start, left, leaf)
                group[other] = groups
        groups += 1
        budget -= k
    return groups


@dataclass(frozen=True)
class Condensed:
    """Pseudo-records.

    Attributes
    ----------
    z : (N, n), in the columns' units and in random order.
    sizes : (G,), records of each group; may be published.
    stands_for : (N,), the record whose kept cells go with each pseudo-record: for copying them, never to be published.
    """

    z: FloatArray
    sizes: IntArray
    stands_for: IntArray


@dataclass(frozen=True)
class Search:
    """The tree of records that have no group yet."""

    rows: IntArray
    y: FloatArray
    record: IntArray
    place: IntArray
    leaf: IntArray
    start: IntArray
    low: FloatArray
    high: FloatArray
    left: IntArray


@dataclass(frozen=True)
class CondensationState:
    """Groups made so far, then pseudo-records made so far; used up by its step."""

    x: FloatArray
    seen: FloatArray
    unit: FloatArray
    k: int
    seeds: IntArray
    groups: int
    group: IntArray
    search: Search | None
    members: IntArray
    starts: IntArray
    made: int
    z: FloatArray


def init(x: FloatArray, k: int, rng: np.random.Generator) -> CondensationState:
    """Draw the order in which records begin groups.

    Parameters
    ----------
    x : (N, n) float64, finite.
    k : least size of a group, at least 1.
    rng : seeded by the operating system in production.

    Raises
    ------
    InvalidColumnError
        NaN, infinities, magnitudes above 1e70.
    InfeasibleKError
        More than there are records.
    ValueError
        k below 1.
    """
    if k < 1:
        msg = f"k = {k}: a group needs at least 1 record"
        raise ValueError(msg)
    if k > len(x):
        raise InfeasibleKError(k, len(x))
    check_records(x)
    unit = units(x, k)
    nothing = np.zeros(0, dtype=np.int64)
    return CondensationState(
        x=x,
        seen=winsorized(x, k) / unit,
        unit=unit,
        k=k,
        seeds=rng.permutation(len(x)).astype(np.int64),
        groups=0,
        group=np.full(len(x), -1, dtype=np.int64),
        search=None,
        members=nothing,
        starts=nothing,
        made=0,
        z=np.empty((0, x.shape[1])),
    )


def units(x: FloatArray, k: int) -> FloatArray:
    """Units of the columns: winsorized standard deviations, on the ladder of scales.

    Parameters
    ----------
    x : (N, n), finite.
    k : least size of a group.

    Returns
    -------
    (n,) float64, positive; 1 for a column in which fewer than k records differ from the others.

    Notes
    -----
    Values beyond the m-th from either end count as the m-th, m the larger of k and 0.5 % of the records; where that
    leaves a constant column m is k. So the k - 1 outermost may have any distance, and any other record moves a unit by
    a rung at most, rarely: a unit is in all distances. Fewer than 2 k records are one group, whose own moments are
    published: plain deviations reveal no more, and decide nothing but along which axes its records are made.
    """
    one_group = len(x) < 2 * k
    spread = _deviations(x if one_group else winsorized(x, tail(k, len(x))))
    if not one_group and not (spread > SMALLEST).all():
        spread = np.where(spread > SMALLEST, spread, _deviations(winsorized(x, k)))
    return np.array([rung_from(float(one)) if one > SMALLEST else 1.0 for one in spread])


def _deviations(x: FloatArray) -> FloatArray:
    """Standard deviations; 0, and not what rounding makes of it, for a constant column."""
    return np.where(x.max(axis=0) > x.min(axis=0), x.std(axis=0), 0.0)


def step(state: CondensationState, rng: np.random.Generator, *, visited: int = STEP_VISITED) -> CondensationState:
    """Go on by a fraction of a second.

    Parameters
    ----------
    state : from `init` or `step`; used up.
    rng : seeded by the operating system in production.
    visited : records looked at for groups, at least one group's.
    """
    if len(state.starts):
        return _make(state, rng)
    if len(state.x) < 2 * state.k:  # one group, whose nearest k need not be distinguished from those that join it
        return _gathered(replace(state, groups=1, group=np.zeros(len(state.x), dtype=np.int64)))
    if state.search is None:
        return replace(state, search=_tree(state))
    if state.search.left[1] < state.k:
        return _gathered(state)
    if state.search.left[1] < len(state.search.rows) // 2 and _worth_halving(state, state.search):
        return replace(state, search=None)
    return _gather(state, state.search, visited)


def done(state: CondensationState) -> bool:
    """Whether all pseudo-records are made."""
    return len(state.starts) > 0 and state.made == state.groups


def progress(state: CondensationState) -> tuple[Stage, float]:
    """Stage and share of its work done, for people."""
    if len(state.starts):
        return "records", state.made / max(state.groups, 1)
    return "groups", float(state.groups * state.k / len(state.x))


def result(state: CondensationState, rng: np.random.Generator) -> Condensed:
    """Pseudo-records in random order.

    Parameters
    ----------
    state : done.
    rng : seeded by the operating system in production.

    Raises
    ------
    ValueError
        The work is not done.
    """
    if not done(state):
        msg = "the groups are not finished: step until done"
        raise ValueError(msg)
    order = rng.permutation(len(state.z))
    return Condensed(state.z[order], np.diff(state.starts), state.members[order])


def _tree(state: CondensationState) -> Search:
    """Records without a group, in blocks: built anew whenever half of them are gone."""
    rows = state.seeds[state.group[state.seeds] < 0]  # in drawn order: equal distances are decided by nothing else
    y = state.seen[rows]
    tree = blocks(y, np.ones(y.shape[1]), _BLOCK)
    place = np.empty_like(tree.order)
    place[tree.order] = np.arange(len(rows))
    leaf = np.empty_like(tree.order)
    leaf[tree.order] = np.repeat(np.arange(tree.count), np.diff(tree.start))
    ordered = np.ascontiguousarray(y[tree.order])
    return Search(rows, ordered, tree.order, place, leaf, tree.start, tree.low, tree.high, tree.sizes)


def _worth_halving(state: CondensationState, search: Search) -> bool:
    return len(search.rows) > 8 * max(state.k, _BLOCK)


def _gather(state: CondensationState, search: Search, visited: int) -> CondensationState:
    """Groups within the budget. In the tree records are numbered by `search.rows`, which is their seed order too."""
    least = max(state.k, len(search.rows) // 2 if _worth_halving(state, search) else 0)
    local = np.full(len(search.rows), -1, dtype=np.int64)
    local[search.place >= search.start[search.leaf] + search.left[search.left.size // 2 + search.leaf]] = 0
    gone = local == 0
    groups = gather(
        np.arange(len(search.rows), dtype=np.int64),
        least,
        state.groups,
        state.k,
        visited,
        search.y,
        search.record,
        search.place,
        search.leaf,
        search.start,
        search.low,
        search.high,
        search.left,
        local,
    )
    new = ~gone & (local >= 0)
    group = state.group
    group[search.rows[new]] = local[new]
    return replace(state, groups=groups, group=group)


def _gathered(state: CondensationState) -> CondensationState:
    """The last records join the group whose mean is nearest."""
    group = state.group
    rest = np.flatnonzero(group < 0)
    if len(rest):
        y = state.seen
        counts = np.bincount(group[group >= 0], minlength=state.groups)
        means = np.stack(
            [np.bincount(group[group >= 0], y[group >= 0, j], state.groups) / counts for j in range(y.shape[1])], axis=1
        )
        for one in rest:
            group[one] = int(np.argmin(((means - y[one]) ** 2).sum(axis=1)))
    members = np.argsort(group, kind="stable").astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=state.groups))]).astype(np.int64)
    return replace(state, search=None, members=members, starts=starts, z=np.empty_like(state.x))


def _make(state: CondensationState, rng: np.random.Generator) -> CondensationState:
    """Pseudo-records of some groups."""
    batch = max(1, min(_BATCH, _CELLS // state.x.shape[1] ** 2))
    until = min(state.made + batch, state.groups)
    first, last = int(state.starts[state.made]), int(state.starts[until])
    sizes = np.diff(state.starts[state.made : until + 1])
    edges = state.starts[state.made : until] - first
    owner = np.repeat(np.arange(len(sizes)), sizes)
    y = state.x[state.members[first:last]] / state.unit
    low, high = np.minimum.reduceat(y, edges, axis=0), np.maximum.reduceat(y, edges, axis=0)
    mean = low + np.add.reduceat(y - low[owner], edges, axis=0) / sizes[:, None]
    values, vectors = np.linalg.eigh(_covariances(y - mean[owner], edges, sizes))
    ranges = np.sqrt(12.0 * np.maximum(values, 0.0))  # Aggarwal, Yu: uniform with variance lambda
    u = (rng.random(y.shape) - 0.5) * ranges[owner]
    made = mean[owner] + _along(u, vectors, edges, owner)
    made = np.where((low == high)[owner], low[owner], made) * state.unit
    agreed = state.x[state.members[first:last]]
    z = state.z
    z[first:last] = np.where((low == high)[owner], agreed, made)
    shuffled = np.lexsort((rng.random(last - first), owner))
    members = state.members
    members[first:last] = members[first:last][shuffled]
    return replace(state, made=until, z=z, members=members)


def _covariances(centred: FloatArray, edges: IntArray, sizes: IntArray) -> FloatArray:
    """Covariance matrix of each group, shape (groups, n, n); divisor its size."""
    if centred.shape[1] < _WIDE:
        sums = np.add.reduceat(centred[:, :, None] * centred[:, None, :], edges, axis=0)
    else:
        sums = np.stack([part.T @ part for part in np.split(centred, edges[1:])])
    return np.asarray(sums / sizes[:, None, None])


def _along(u: FloatArray, vectors: FloatArray, edges: IntArray, owner: IntArray) -> FloatArray:
    """Points at distances u (rows, n) along the eigenvectors of each row's group."""
    if u.shape[1] < _WIDE:
        return np.asarray(np.einsum("pji,pi->pj", vectors[owner], u))
    return np.concatenate([part @ own.T for part, own in zip(np.split(u, edges[1:]), vectors, strict=True)])
