"""Decoys: members who exchange places although neither place is masked.

Source: science.md section 7, "Swaps that withstand the profile of the rules".

Whoever finds out that a record was moved would know that it probably comes from a masked place. With as many decoys as
swaps it is an even chance; fewer only blur. Decoys are chosen at random among the members of unmasked places, in the
proportions of the nested sets that swaps move: those whose nearest partners are nearest, of a few times as many.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.swaps.assignment import cheapest
from workers.algorithms.groups.swaps.effect import together
from workers.algorithms.groups.swaps.problem import Problem, Swaps

#: Candidates for each decoy.
_PROPOSED: Final = 3


@dataclass(frozen=True)
class Everybody:
    """All in-range records: submicrofile, smallest nested set and encoded attributes, (N,), (N,), (N, A).

    `order` is a permutation of them that does not follow the file: what distinguishes records where chance chooses.
    """

    parameter: IntArray
    band: IntArray
    values: FloatArray
    order: IntArray


def decoys(
    problem: Problem, everybody: Everybody, places: Iterable[int], swaps: Swaps, count: int, rng: np.random.Generator
) -> Swaps:
    """Swaps between unmasked places, of records that `swaps` leave alone.

    Parameters
    ----------
    problem : what the swaps solve.
    everybody : the records.
    places : submicrofiles that members may leave and enter. They fall at random into two halves: members of either
        exchange places with others of the other one.
    swaps : those that mask.
    count : how many decoys.
    rng : what chooses.

    Returns
    -------
    Swaps
        `count`, or fewer where there are no more members or partners.
    """
    mixed = rng.permutation(np.array(sorted(set(places)), dtype=np.int64))
    halves = mixed[: len(mixed) // 2], mixed[len(mixed) // 2 :]
    there = _between(problem, everybody, halves, swaps, (count + 1) // 2, rng)
    back = _between(problem, everybody, halves[::-1], together((swaps, there)), count - len(there.source), rng)
    return together((there, back))


def _between(
    problem: Problem,
    everybody: Everybody,
    halves: tuple[IntArray, IntArray],
    used: Swaps,
    count: int,
    rng: np.random.Generator,
) -> Swaps:
    """Decoys from one half to the other: the nearest of a few times as many that chance proposes."""
    sets = len(problem.counts)
    free = np.ones(len(everybody.parameter), dtype=np.bool_)
    free[used.source_row] = free[used.partner_row] = False
    order = everybody.order[free[everybody.order]]
    leaving, entering = (np.isin(everybody.parameter[order], half) for half in halves)
    ours = order[leaving & (everybody.band[order] < sets)]
    theirs = order[entering & (everybody.band[order] == sets)]
    proposed = min(_PROPOSED * count, len(ours), len(theirs))
    if not proposed:
        return together((used,), 0)
    own = _given(problem, everybody, _like(ours, everybody.band, used.band, proposed, rng), theirs)
    swaps = cheapest(own, np.bincount(own.source_code, minlength=len(problem.crisp)))
    nearest = np.argsort(swaps.influence, kind="stable")[:count]
    return Swaps(*(getattr(swaps, name)[nearest] for name in Swaps.__dataclass_fields__))


def _given(problem: Problem, everybody: Everybody, ours: IntArray, theirs: IntArray) -> Problem:
    """The problem of moving these records, all of them, to some of those places."""
    ours, theirs = (rows[np.argsort(everybody.parameter[rows], kind="stable")] for rows in (ours, theirs))
    nothing = np.zeros_like(problem.counts)
    return replace(
        problem,
        restrictions=(),
        bounds=nothing - 1,
        floors=nothing,
        source_rows=ours,
        source_code=everybody.parameter[ours],
        source_band=everybody.band[ours],
        source_values=np.ascontiguousarray(everybody.values[ours]),
        partner_rows=theirs,
        partner_code=everybody.parameter[theirs],
        partner_values=np.ascontiguousarray(everybody.values[theirs]),
    )


def _like(rows: IntArray, band: IntArray, pattern: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """So many of some records, their nested sets in the proportions of `pattern`; others where one is used up."""
    mixed = rng.permutation(rows)
    wanted = np.bincount(rng.choice(pattern, count))
    number = np.zeros(len(mixed), dtype=np.int64)  # of each record within its set
    for k in np.unique(band[mixed]):
        inside = band[mixed] == k
        number[inside] = np.arange(int(inside.sum()))
    room = np.zeros(int(band.max(initial=0)) + len(wanted) + 1, dtype=np.int64)
    room[: len(wanted)] = wanted
    first = np.argsort(number >= room[band[mixed]], kind="stable")
    return np.asarray(mixed[first[:count]])
