"""The cheapest swaps that mask several groups at once: a linear program, an integer one where it is not integral.

Source: science.md section 2, "Concentrations and several groups"; TC: group anonymity of groups i = 1..k in one task.

Notation
--------
==========  =======  =====================================================================================
symbol      shape    meaning
==========  =======  =====================================================================================
G, P        scalars  groups, submicrofiles
S_a         (G,)     the groups that record a is a member of
left        (L,)     records that are some group's and may leave; right (R,): records that are no group's
x_ab        0..1     whether a and b exchange their submicrofiles
q_gk        (G, P)   crisp auxiliary signal of each group
u, v        <= 0     prices of a left and of a right record, each of which is used at most once
y           <= 0     prices of the rows that the restrictions and ceilings are
==========  =======  =====================================================================================

A swap moves a to b's submicrofile and changes the signals of all groups of S_a, and of no other: b is no group's. A
lowered element (g, e) demands that enough a of g leave e, a raised one that enough arrive; no member arrives where its
group is lowered, or leaves where it is raised, and other groups' members may. A ceiling bounds the arrivals of each
group. Groups may overlap.

    minimise sum c_ab x_ab    s. t.  A x <= b,  0 <= x <= 1     (rows: left, right, restrictions, ceilings)

Only the nearest partners of each left record are candidates at first, list by list (a list for each target that a row
names, one for all others). The value over them is that over all pairs as soon as none that is left out has a negative
reduced cost: c_ab - (u_a + v_b + sum of y) >= c_last - (u_a + sum of y), for v_b <= 0 and lists are sorted. Lists that
fail are lengthened. So the value is a certain lower bound for integer x too. Where the vertex is integral it is the
cheapest of all swaps; elsewhere an integer program over the same candidates gives the swaps.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, hstack, vstack

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.swaps.metric import Metric, nearest, paired_influence
from workers.algorithms.groups.swaps.problem import Swaps
from workers.algorithms.groups.swaps.restrictions import (
    NoPartnerError,
    NothingToMaskError,
    Restriction,
    UnreachableError,
    check_restrictions,
)

#: Candidates in one list at first, and by how much lists grow.
_FIRST, _GROWTH = 8, 4
#: Attributes compared between two pauses.
_COMPARED = 100_000_000
#: Of the integer program: nodes, which end it at the same place on every machine.
_NODES: Final = 5_000
_SLACK: Final = 1e-7


@dataclass(frozen=True)
class SeveralGroups:
    """Groups to mask at once; see the notation.

    Attributes
    ----------
    parameter : (N,) int64, submicrofile of each record, in [0, P).
    groups : P.
    member : (G, N) bool.
    values, metric : (N, A) of `metric.encode`, and its weights.
    restrictions : per group; of some group at least one.
    ceilings : submicrofile -> the most that the signal of each group may become there by arrivals.
    order : a permutation of the records that does not follow the file: of equally near partners the first is taken.
    """

    parameter: IntArray
    groups: int
    member: BoolArray
    values: FloatArray
    metric: Metric
    restrictions: tuple[tuple[Restriction, ...], ...]
    ceilings: dict[int, int]
    order: IntArray


@dataclass(frozen=True)
class SeveralSwaps:
    """The swaps, and what no others can undercut.

    Attributes
    ----------
    swaps : `band` is 0 for members of the first group, 1 for others.
    bound : value of the linear program.
    integral : whether its solution was: the swaps are the cheapest of all.
    """

    swaps: Swaps
    bound: float
    integral: bool


@dataclass(frozen=True)
class _Sides:
    """Left and right records, rows of the caller's; `closed` (G, P), where members of a group do not arrive."""

    left: IntArray
    right: IntArray
    part: IntArray
    start: IntArray
    closed: BoolArray
    named: IntArray


@dataclass(frozen=True)
class _Candidates:
    """Pairs that may be taken, and the last distance of each list, (L, T); infinite where nothing is left out."""

    left: IntArray
    right: IntArray
    cost: FloatArray
    last: FloatArray


def masking_several(problem: SeveralGroups) -> Generator[None, None, SeveralSwaps]:
    """Find the cheapest swaps that mask several groups, a part of the work at a time.

    Raises
    ------
    NothingToMaskError
        All restrictions are met as it is.
    NoPartnerError
        No member may leave, or no one is outside all groups.
    UnreachableError
        All restrictions together ask for more than there is.
    ValueError
        Restrictions contradict themselves.

    Notes
    -----
    O(L R A) for a few passes over the pairs, and programs of L + R + rows constraints over the candidates.
    """
    crisp = np.array([np.bincount(problem.parameter[one], minlength=problem.groups) for one in problem.member])
    needs = _needs(problem, crisp)
    sides = _sides(problem)
    count = np.full(len(sides.left), _FIRST, dtype=np.int64)
    while True:
        candidates = yield from _listed(problem, sides, count)
        matrix, most = _program(problem, sides, candidates, needs, crisp)
        solution = linprog(candidates.cost, A_ub=matrix, b_ub=most, bounds=(0.0, 1.0), method="highs-ds")
        yield
        full = np.isinf(candidates.last)
        if solution.x is None:
            if full.all():
                wanted = sum(need for *_, need in needs)
                raise UnreachableError(None, wanted, _reachable(matrix, most, wanted), "by all groups together")
            count[~full.all(axis=1)] *= _GROWTH
            continue
        short = _unproved(problem, sides, candidates, solution.ineqlin.marginals, needs)
        if short.any():
            count[short] *= _GROWTH
            continue
        integral = bool(np.all(np.minimum(solution.x, 1.0 - solution.x) < _SLACK))
        taken = solution.x if integral else _integer(candidates, matrix, most)
        if taken is not None:
            break
        if full.all():
            wanted = sum(need for *_, need in needs)
            raise UnreachableError(None, wanted, wanted - 1, "at most, by all groups together in whole records")
        count[~full.all(axis=1)] *= _GROWTH
    chosen = np.flatnonzero(taken > 0.5)
    ours, theirs = sides.left[candidates.left[chosen]], sides.right[candidates.right[chosen]]
    return SeveralSwaps(_swaps(problem, ours, theirs), float(solution.fun), integral)


def _needs(problem: SeveralGroups, crisp: IntArray) -> list[tuple[int, int, bool, int]]:
    """Group, element, whether it is raised, and how many must leave or arrive; at least one."""
    needs = []
    for group, restrictions in enumerate(problem.restrictions):
        if restrictions:
            check_restrictions(restrictions, problem.groups)
        for one in restrictions:
            lack = (one.bound - int(crisp[group, one.element])) * (1 if one.raises else -1)
            if lack > 0:
                needs.append((group, one.element, one.raises, lack))
    if not needs:
        raise NothingToMaskError
    return needs


def _sides(problem: SeveralGroups) -> _Sides:
    """Who may leave, and with whom; right records in the order of the lists that they are in."""
    shape = (len(problem.member), problem.groups)
    lowered, raised = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    for group, restrictions in enumerate(problem.restrictions):
        for one in restrictions:
            (raised if one.raises else lowered)[group, one.element] = True
    here = problem.parameter[problem.order]
    member = problem.member[:, problem.order]
    raising = np.logical_or.reduce(raised, axis=1)[:, np.newaxis]
    goes = np.logical_or.reduce(member & (lowered[:, here] | raising), axis=0)
    leaves = goes & ~np.logical_or.reduce(member & raised[:, here], axis=0)
    left, right = problem.order[leaves], problem.order[~member.any(axis=0)]
    if not len(left):
        raise NoPartnerError("members in the sources")
    if not len(right):
        raise NoPartnerError("non-members in the targets")
    named = np.flatnonzero(lowered.any(axis=0) | raised.any(axis=0))
    named = np.union1d(named, np.array(sorted(problem.ceilings), dtype=np.int64))
    part = np.zeros(problem.groups, dtype=np.int64)
    part[named] = 1 + np.arange(len(named))
    of_right = part[problem.parameter[right]]
    right = right[np.argsort(of_right, kind="stable")]
    start = np.searchsorted(np.sort(of_right), np.arange(len(named) + 2)).astype(np.int64)
    return _Sides(left, right, part, start, lowered, named)


def _listed(problem: SeveralGroups, sides: _Sides, count: IntArray) -> Generator[None, None, _Candidates]:
    """The nearest partners of each left record in each list that is open to it, but for its own submicrofile."""
    values, lists = problem.values, len(sides.start) - 1
    theirs = np.ascontiguousarray(values[sides.right])
    home = sides.part[problem.parameter[sides.left]]
    open_to = np.ones((len(sides.left), lists), dtype=np.bool_)
    for place, element in enumerate(sides.named, start=1):
        open_to[:, place] = ~(problem.member[:, sides.left] & sides.closed[:, element][:, None]).any(axis=0)
        open_to[home == place, place] = False
    parts, last = [], np.full((len(sides.left), lists), np.inf)
    for size in np.unique(count):
        every = np.flatnonzero(count == size)
        some = min(int(size), int(np.diff(sides.start).max()))
        at_once = max(1, _COMPARED // max(1, theirs.size))
        for rows in np.split(every, np.arange(at_once, len(every), at_once)):
            distance, index = nearest(problem.metric, values[sides.left[rows]], theirs, sides.start, some)
            yield
            cut = open_to[rows] & (np.diff(sides.start)[None, :] > some)
            last[rows] = np.where(cut, distance[:, :, -1], np.inf)
            there = (index >= 0) & open_to[rows][:, :, None]
            parts.append((np.broadcast_to(rows[:, None, None], index.shape)[there], index[there], distance[there]))
    ours, others, cost = (np.concatenate(column) for column in zip(*parts, strict=True))
    elsewhere = problem.parameter[sides.left[ours]] != problem.parameter[sides.right[others]]
    return _Candidates(ours[elsewhere], others[elsewhere].astype(np.int64), cost[elsewhere], last)


def _rows(
    problem: SeveralGroups, sides: _Sides, candidates: _Candidates, needs: Sequence[tuple[int, int, bool, int]]
) -> Generator[tuple[int, BoolArray], None, None]:
    """Of each restriction and ceiling its sign and the candidates that it counts."""
    ours = sides.left[candidates.left]
    goes, comes = problem.parameter[ours], problem.parameter[sides.right[candidates.right]]
    for group, element, raises, _ in needs:
        yield -1, problem.member[group, ours] & ((comes if raises else goes) == element)
    for element in sorted(problem.ceilings):
        for group in range(len(problem.member)):
            yield 1, problem.member[group, ours] & (comes == element)


def _program(
    problem: SeveralGroups,
    sides: _Sides,
    candidates: _Candidates,
    needs: Sequence[tuple[int, int, bool, int]],
    crisp: IntArray,
) -> tuple[csr_array, FloatArray]:
    """A and b: each left and each right record once, restrictions negated, ceilings."""
    pairs, ones = np.arange(len(candidates.cost)), np.ones(len(candidates.cost))
    once = [
        csr_array((ones, (side, pairs)), shape=(size, len(pairs)))
        for side, size in ((candidates.left, len(sides.left)), (candidates.right, len(sides.right)))
    ]
    counted = [
        csr_array((sign * chosen.astype(np.float64))[None, :])
        for sign, chosen in _rows(problem, sides, candidates, needs)
    ]
    room = [
        max(0, most - int(crisp[group, element]))
        for element, most in sorted(problem.ceilings.items())
        for group in range(len(crisp))
    ]
    most = np.concatenate([np.ones(len(sides.left) + len(sides.right)), [-need for *_, need in needs], room])
    return csr_array(vstack([*once, *counted])), most


def _unproved(
    problem: SeveralGroups,
    sides: _Sides,
    candidates: _Candidates,
    prices: FloatArray,
    needs: Sequence[tuple[int, int, bool, int]],
) -> BoolArray:
    """Left records with a pair left out whose reduced cost might be negative."""
    count = len(sides.left)
    paid = np.tile(prices[:count, None], (1, len(sides.start) - 1))  # u_a, and y of the rows that a pair would be in
    own, home = problem.member[:, sides.left], problem.parameter[sides.left]
    rows = prices[count + len(sides.right) :]
    for price, (group, element, raises, _) in zip(rows, needs, strict=False):
        if raises:
            paid[own[group], sides.part[element]] -= price
        else:
            paid[own[group] & (home == element)] -= price
    ceilings = [(element, group) for element in sorted(problem.ceilings) for group in range(len(own))]
    for price, (element, group) in zip(rows[len(needs) :], ceilings, strict=True):
        paid[own[group], sides.part[element]] += price
    slack = _SLACK * problem.metric.largest
    short: BoolArray = np.logical_or.reduce(candidates.last < paid - slack, axis=1)
    return short


def _reachable(matrix: csr_array, most: FloatArray, wanted: int) -> int:
    """How much of what the restrictions ask for can be had: rows below 0 are theirs."""
    demands = np.flatnonzero(most < 0.0)
    slack = csr_array((-np.ones(len(demands)), (demands, np.arange(len(demands)))), shape=(len(most), len(demands)))
    cost = np.concatenate([np.zeros(matrix.shape[1]), np.ones(len(demands))])
    bounds = np.concatenate([np.ones(matrix.shape[1]), np.full(len(demands), np.inf)])
    limits = np.stack([np.zeros(len(bounds)), bounds], axis=1)
    best = linprog(cost, A_ub=csr_array(hstack([matrix, slack])), b_ub=most, bounds=limits, method="highs-ds")
    return int(np.floor(wanted - best.fun + _SLACK))


def _integer(candidates: _Candidates, matrix: csr_array, most: FloatArray) -> FloatArray | None:
    """Whole x; None where the candidates allow none, or the limit ends the search before one is there."""
    solution = milp(
        candidates.cost,
        integrality=np.ones(len(candidates.cost)),
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(matrix, -np.inf, most),
        options={"mip_rel_gap": 0.0, "node_limit": _NODES},
    )
    return None if solution.x is None else np.asarray(solution.x, dtype=np.float64)


def _swaps(problem: SeveralGroups, ours: IntArray, theirs: IntArray) -> Swaps:
    values = problem.values
    each = np.arange(len(ours))
    return Swaps(
        source_row=ours,
        partner_row=theirs,
        source=problem.parameter[ours],
        target=problem.parameter[theirs],
        band=np.where(problem.member[0, ours], 0, 1).astype(np.int64),
        influence=paired_influence(problem.metric, values[ours], values[theirs], each, each),
    )
