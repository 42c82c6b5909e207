"""The provably cheapest swaps for given numbers of records moved (science.md section 2, "Bound and assignment").

Notation
--------
==========  =======  =====================================================================================
symbol      shape    meaning
==========  =======  =====================================================================================
left        (L,)     records on the side where the numbers moved are given (`Problem.fixed`)
right       (R,)     records on the other side
c_lr        (L, R)   InfM of a pair, never held as a whole
price       (L,)     what the best flow pays for a record of each side; (T,) on the right, one per group
==========  =======  =====================================================================================

A swap pairs one left with one right record, each used at most once. Only the nearest right records of each left one are
candidates at first. The flow through them is the cheapest of all as soon as no other pair could lower it:
``c_lr >= price_right(t) - price_left(l)`` for the last pair that each list contains (lists are sorted: one comparison
judges all those left out). Lists that fail are lengthened, and the flow is computed anew. As many candidates as a
group has room for, or as there are swaps, are enough: were all of them taken by others, there would be no room left.
"""

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from surebox_core.steps import finished
from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.swaps.flow import STEP_ARCS, Flow, Network, flowing
from workers.algorithms.groups.swaps.levels import most_leaving
from workers.algorithms.groups.swaps.metric import Metric, nearest
from workers.algorithms.groups.swaps.problem import Problem, Swaps, paired
from workers.algorithms.groups.swaps.restrictions import UnreachableError

#: Candidates of a left record at first in all its lists together, and by how much lists grow.
_ALTOGETHER, _GROWTH = 128, 4

#: Rounding of sums of InfM, relative to the largest.
_SLACK = 1e-9


@dataclass(frozen=True)
class Effort:
    """How the work is portioned; the result does not depend on it.

    Attributes
    ----------
    first : candidates of a left record in one list, at first.
    compared : attributes compared between two pauses.
    arcs : of the flow, looked at between two pauses.
    """

    first: int = 16
    compared: int = 100_000_000
    arcs: int = STEP_ARCS


USUAL: Final = Effort()


def moves_needed(problem: Problem) -> IntArray:
    """Records that must leave each source, or enter each target, whichever side is fixed: (P,) int64, sum Q_need."""
    needs = problem.needs if problem.fixed == "sources" else -problem.needs
    return np.asarray(np.maximum(needs, 0))


def moves_made(problem: Problem, swaps: Swaps) -> IntArray:
    """The same numbers as some swaps moved, for their bound: (P,) int64."""
    side = swaps.source if problem.fixed == "sources" else swaps.target
    return np.bincount(side, minlength=len(problem.crisp))


def cheapest(problem: Problem, moves: IntArray, capacities: IntArray | None = None, *, effort: Effort = USUAL) -> Swaps:
    """All of `finding` at once, for bounds and completions of other searches; parameters and errors as there."""
    return finished(finding(problem, moves, capacities, effort=effort))


def finding(
    problem: Problem, moves: IntArray, capacities: IntArray | None = None, *, effort: Effort = USUAL
) -> Generator[None, None, Swaps]:
    """Find the swaps of least total InfM that move given numbers of records, a fraction of a second at a time.

    Parameters
    ----------
    problem : who may be swapped. Of equally cheap swaps those of lower indexes tend to win: shuffle it first.
    moves : (P,) int64, records that leave each source; members that enter each target where `problem.fixed` is that. Of
        those that leave, as many are from each nested set as its bound asks for.
    capacities : (P,) int64, the most members that may enter each target; None for no limits.
    effort : how the work is portioned.

    Returns
    -------
    Swaps
        Bounds on the other side (raised targets, or lowered sources) are met as well.

    Raises
    ------
    UnreachableError
        More is requested than there are records or room.
    ValueError
        Shapes, or a negative number.

    Notes
    -----
    O(L R A) for each of a few passes over the pairs (most abandoned early), and a flow over the candidates. Cheapest up
    to rounding (1e-9 of the largest InfM).
    """
    groups = len(problem.crisp)
    _check(moves, capacities, groups)
    mirrored = problem.fixed == "targets"
    left_code = problem.partner_code if mirrored else problem.source_code
    right_code = problem.source_code if mirrored else problem.partner_code
    left, right = problem.source_values, problem.partner_values
    if mirrored:
        left, right = right, left
    room = np.bincount(right_code, minlength=groups)
    if capacities is not None and not mirrored:
        room = np.minimum(room, capacities)
    floors = np.maximum(problem.needs if mirrored else -problem.needs, 0)
    _check_room(moves, np.bincount(left_code, minlength=groups), room, floors)
    if capacities is not None and mirrored:
        _check_ceilings(moves, capacities)
    band = np.zeros(len(left_code), dtype=np.int64) if mirrored else problem.source_band
    least = moves[None] if mirrored else np.vstack([problem.least[:-1], moves[None]])
    _check_nested(least)
    most = least if mirrored else most_leaving(problem.counts, problem.floors, least)
    used = np.flatnonzero(moves[left_code] > 0)  # no one else on the left can move
    if not len(used):  # who leaves is drawn: in small places it may be nobody
        return paired(problem, used, used)
    supply = _supply(left_code[used], band[used], least, most)
    network, order, start = _network(supply, right_code, room, floors)
    match = yield from _proved(problem, network, left[used], np.ascontiguousarray(right[order]), start, used, effort)
    chosen = np.flatnonzero(match >= 0)
    ours, theirs = used[chosen], order[match[chosen]]
    return paired(problem, theirs, ours) if mirrored else paired(problem, ours, theirs)


def _supply(
    code: IntArray, band: IntArray, least: IntArray, most: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Group of each left record, by submicrofile and band; what each gives, the values nested in it, its loan."""
    sets = len(least)
    places, of_record = np.unique(code, return_inverse=True)
    more = np.diff(least[:, places], axis=0, prepend=0)
    loans = np.vstack([np.zeros((1, len(places)), dtype=np.int64), (most - least)[:-1, places]])
    below = np.arange(sets * len(places), dtype=np.int64) - 1
    below[::sets] = -1
    given, lent = (array.T.ravel().astype(np.int64) for array in (more, loans))
    return (of_record * sets + band).astype(np.int64), given, below, lent


def _network(
    supply: tuple[IntArray, IntArray, IntArray, IntArray], right_code: IntArray, room: IntArray, floors: IntArray
) -> tuple[Network, IntArray, IntArray]:
    """Both sides; right records in order of their group: groups without bound or limit form one."""
    bound = (room < np.bincount(right_code, minlength=len(room))) | (floors > 0)
    group = np.where(bound, np.cumsum(bound), 0)
    order = np.argsort(group[right_code], kind="stable").astype(np.int64)
    of_record = group[right_code][order].astype(np.int64)
    count = int(group.max()) + 1
    capacities, least = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    np.add.at(capacities, group, room)
    np.add.at(least, group, floors)
    start = np.searchsorted(of_record, np.arange(count + 1)).astype(np.int64)
    return Network(*supply, of_record, least, capacities), order, start


def _proved(
    problem: Problem,
    network: Network,
    left: FloatArray,
    right: FloatArray,
    start: IntArray,
    used: IntArray,
    effort: Effort,
) -> Generator[None, None, IntArray]:
    """Match by the cheapest flow, candidates added until nothing left out can improve on it."""
    first = max(1, min(effort.first, _ALTOGETHER // (len(start) - 1)))
    count = np.full(len(used), first, dtype=np.int64)
    enough = np.minimum(np.diff(start), np.minimum(network.capacities, int(network.moves.sum())))
    full = int(enough.max())
    blocks: list[tuple[IntArray, FloatArray, IntArray]] = []
    short: BoolArray = np.ones(len(used), dtype=np.bool_)
    slack = _SLACK * problem.metric.largest
    while True:
        for size in np.unique(count[short]):
            rows = np.flatnonzero(short & (count == size))
            distance, index = yield from _listed(
                problem.metric, left[rows], right, start, min(int(size), full), effort.compared
            )
            blocks = [_less(block, short & (count == size)) for block in blocks]
            blocks.append((rows, distance, index.astype(np.int64)))
        flow = yield from _through(network, blocks, len(used), effort.arcs)
        short = _unproved(flow, blocks, enough, slack, len(used))
        if not short.any():
            if flow is None:  # room was checked for each set alone; nested ones can ask for more together
                reason = "swaps, by the nested bounds together; `profile` with fewer alphas asks for less"
                raise UnreachableError(None, int(network.moves.sum()), 0, reason)
            return flow.match
        count[short] *= _GROWTH


def _listed(
    metric: Metric, left: FloatArray, right: FloatArray, start: IntArray, count: int, compared: int
) -> Generator[None, None, tuple[FloatArray, IndexArray]]:
    """The nearest on the right of some records on the left at a time; see `metric.nearest`."""
    some = max(1, compared // max(1, right.size))
    batches = []
    for first in range(0, len(left), some):
        batches.append(nearest(metric, left[first : first + some], right, start, count))
        yield
    return np.concatenate([distance for distance, _ in batches]), np.concatenate([index for _, index in batches])


def _less(block: tuple[IntArray, FloatArray, IntArray], replaced: BoolArray) -> tuple[IntArray, FloatArray, IntArray]:
    rows, distance, index = block
    kept = ~replaced[rows]
    return rows[kept], distance[kept], index[kept]


def _through(
    network: Network, blocks: list[tuple[IntArray, FloatArray, IntArray]], lefts: int, arcs: int
) -> Generator[None, None, Flow | None]:
    rows = np.concatenate([np.repeat(block[0], block[2][0].size) for block in blocks if len(block[0])])
    cost = np.concatenate([block[1].ravel() for block in blocks])
    index = np.concatenate([block[2].ravel() for block in blocks])
    there = index >= 0
    rows, cost, index = rows[there], cost[there], index[there]
    order = np.argsort(rows, kind="stable")
    start = np.searchsorted(rows[order], np.arange(lefts + 1)).astype(np.int64)
    taken, compact = np.unique(index[order], return_inverse=True)
    part = replace(network, right_group=network.right_group[taken])
    flow = yield from flowing(part, start, compact.astype(np.int64), np.ascontiguousarray(cost[order]), arcs=arcs)
    if flow is None:
        return None
    match = np.where(flow.match >= 0, taken[flow.match], -1)
    return Flow(match, flow.left_price, flow.right_price)


def _unproved(
    flow: Flow | None,
    blocks: list[tuple[IntArray, FloatArray, IntArray]],
    enough: IntArray,
    slack: float,
    lefts: int,
) -> BoolArray:
    """Left records with a pair left out that might lower the cost; all that are not full where there is no flow."""
    out = np.zeros(lefts, dtype=np.bool_)
    for rows, distance, _ in blocks:
        cut = distance.shape[2] < enough  # (T,), lists that leave someone out who could matter
        if flow is None:
            out[rows] = cut.any()
        else:
            threshold = flow.right_price[None, :] - flow.left_price[rows][:, None]
            out[rows] = (cut[None, :] & (distance[:, :, -1] < threshold - slack)).any(axis=1)
    return out


def _check(moves: IntArray, capacities: IntArray | None, groups: int) -> None:
    for name, array in (("moves", moves), ("capacities", capacities)):
        if array is not None and (array.shape != (groups,) or array.min() < 0):
            raise ValueError(f"{name} must have one number per submicrofile, none negative")


def _check_room(moves: IntArray, available: IntArray, room: IntArray, floors: IntArray) -> None:
    for element in np.flatnonzero(moves > available):
        raise UnreachableError(int(element), int(moves[element]), int(available[element]), "records can move there")
    for element in np.flatnonzero(floors > room):
        raise UnreachableError(int(element), int(floors[element]), int(room[element]), "records there have room")
    total = int(moves.sum())
    if total > room.sum():
        raise UnreachableError(None, total, int(room.sum()), "swaps, with the records and room on the other side")
    if floors.sum() > total:
        raise UnreachableError(None, int(floors.sum()), total, "swaps, by the numbers to be moved")


def _check_nested(least: IntArray) -> None:
    for element in np.flatnonzero((least > least[-1]).any(axis=0)):
        required = int(least[:, element].max())
        raise UnreachableError(int(element), required, int(least[-1, element]), "records leave")


def _check_ceilings(moves: IntArray, capacities: IntArray) -> None:
    for element in np.flatnonzero(moves > capacities):
        raise UnreachableError(int(element), int(moves[element]), int(capacities[element]), "its own ceiling")
