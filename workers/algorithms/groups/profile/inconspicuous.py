"""Masked places made like random ones in every family of a profile: who leaves them.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ==========  ==================================================================================
symbol      shape       meaning
==========  ==========  ==================================================================================
n_bp        (B, P)      counts (`signals.families`) as they are, and as they are expected to be afterwards
u_s         (S,)        limits of the group's own signals: the largest value that a masked place may have
D           (M,)        places that are drawn by chance among those that are not masked
t_b         (B,)        the pattern of a masked place: the counts of a place of D
zeta        (G,)        how far from chance D is in all counts (`signals.telling`)
c_i         (n,)        mean InfM of a record and its nearest partners
==========  ==========  ==================================================================================

What makes a place ordinary is not one number but all of them together, and what makes M places ordinary is not that
each passes a bar: stopped where it is cheapest, they all end right below it, and whoever knows the method looks there.
So D is drawn, as many places as are masked, and where these end follows from D: an integer program decides who leaves
each masked place, near to the counts of a place of D, and no more in the group's own signals than is no outlier. The
cheapest flow pairs those who leave with records that fit no rule. Then swaps are refined one by one
(`profile.refining`): to lie as far from chance as D does, in every count and in all of them together, and then to cost
less. Where the profile of the result fails all the same, another D is drawn.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.profile.program import Leaving, leaving
from workers.algorithms.groups.profile.refining import Refining, refining
from workers.algorithms.groups.signals.criteria import Judge, Standing, failing, limit
from workers.algorithms.groups.signals.families import Families
from workers.algorithms.groups.signals.telling import Telling, telling
from workers.algorithms.groups.swaps.assignment import finding, moves_needed
from workers.algorithms.groups.swaps.metric import nearest
from workers.algorithms.groups.swaps.problem import Problem, Swaps, without

#: Sets of places that are drawn at most, and the distortion that is aimed at, relative to the letter's.
TURNS: Final = 4
TARGET: Final = 1.6
#: What a difference of 1 from a pattern in every count weighs, in mean costs of a record.
_PULL: Final = 16.0
#: Partners of a record: so many make its cost, so many may be taken when swaps are refined.
_NEAREST: Final = 4
_LISTED: Final = 64
_COMPARED: Final = 100_000_000
_SLACK: Final = 10

#: Random numbers for a turn: the same for the same.
Draw = Callable[[int], np.random.Generator]


@dataclass(frozen=True)
class View:
    """The data that are examined.

    Attributes
    ----------
    families : of the profile.
    parameter : (N,), submicrofile of each record.
    judge : who must not stand out.
    given : most members of some places, by place.
    letter : distortion of the cheapest swaps that mask the members alone; 0 where that is not known.
    """

    families: Families
    parameter: IntArray
    judge: Judge
    given: dict[int, int]
    letter: float


@dataclass(frozen=True)
class Masked:
    """Who leaves, the cheapest swaps of them, and the signals that still reveal.

    Attributes
    ----------
    problem : with those who leave as its only source records, and bounds that all of them leaving meets.
    swaps : the cheapest.
    failures : signals that do not meet the criteria once the swaps are made.
    """

    problem: Problem
    swaps: Swaps
    failures: tuple[Standing, ...]


def masking(
    problem: Problem, view: View, draw: Draw, capacities: IntArray | None = None
) -> Generator[None, None, Masked]:
    """Look for swaps after which masked places are as random places are, a fraction of a second at a time.

    Parameters
    ----------
    problem : its source records are all those in the masked places that fit at all; its bounds are replaced.
    view : the data that are examined.
    draw : what chance decides.
    capacities : as for `assignment.finding`.

    Raises
    ------
    UnreachableError
        As `assignment.finding`.
    """
    work = _Work(problem, view)
    distance, partners = yield from _listed(problem)
    best: Masked | None = None
    for turn in range(TURNS):
        rng = draw(turn)
        expected = work.expected(rng)
        aim, drawn = work.judge.aiming(expected, rng)
        goes = yield from work.leaving(expected, drawn, _cost(problem, distance), rng)
        own = leaving_all(problem, goes)
        start = yield from finding(own, moves_needed(own), capacities)
        given = work.refining(aim, distance, partners, capacities)
        made = work.masked((yield from refining(given, start, rng)))
        if best is None or len(made.failures) < len(best.failures):
            best = made
        if not best.failures:
            break
    if best is None:
        raise ValueError("no turn was made")
    return best


def _cost(problem: Problem, distance: FloatArray) -> FloatArray:
    """(S,), mean InfM of each source record and its nearest partners."""
    near = distance[:, :_NEAREST]
    return np.asarray(np.where(np.isfinite(near), near, problem.metric.largest).mean(axis=1))


class _Work:
    """The profile as it is, and as it may be expected to be once swaps are made."""

    def __init__(self, problem: Problem, view: View) -> None:
        self._problem, self._view = problem, view
        groups = len(problem.crisp)
        self._sizes = np.bincount(view.parameter, minlength=groups)
        self._before = view.families.counted(view.parameter, groups)
        place = np.searchsorted(view.families.records, problem.source_rows)
        self._weights = np.ascontiguousarray(view.families.weights[:, place])
        self.judge: Telling = telling(view.families, view.judge, self._sizes)

    def refining(
        self, aim: Telling, distance: FloatArray, partners: IndexArray, capacities: IntArray | None
    ) -> Refining:
        """The swaps to refine."""
        view = self._view
        return Refining(
            problem=self._problem,
            telling=aim,
            weights=np.ascontiguousarray(self._weights.T),
            counts=np.ascontiguousarray(self._before.T),
            distance=distance,
            partners=partners,
            given=view.given,
            capacities=capacities,
            goal=TARGET * view.letter if view.letter > 0.0 else np.inf,
        )

    def masked(self, swaps: Swaps) -> Masked:
        """Swaps, and the signals that fail."""
        view, who = self._view, np.flatnonzero(np.isin(self._problem.source_rows, swaps.source_row))
        code = view.parameter.copy()
        code[swaps.source_row], code[swaps.partner_row] = swaps.target, swaps.source
        standings = view.judge.standings(view.families.profile(code, len(self._problem.crisp)))
        return Masked(leaving_all(self._problem, who), swaps, failing(standings))

    def expected(self, rng: np.random.Generator) -> FloatArray:
        """(B, P), counts after a guess: what masked places have beyond the median goes where there are partners."""
        problem, view = self._problem, self._view
        room = np.bincount(problem.partner_code, minlength=len(problem.crisp))
        code = view.parameter.copy()
        widest = int(self._before.sum(axis=1).argmax())
        usual = int(np.median(self._before[widest]))
        for place in view.judge.places:
            rows = rng.permutation(problem.source_rows[problem.source_code == place])[usual:]
            code[rows] = rng.choice(len(room), len(rows), p=room / room.sum())
        return view.families.counted(code, len(problem.crisp))

    def leaving(
        self, expected: FloatArray, drawn: IntArray, cost: FloatArray, rng: np.random.Generator
    ) -> Generator[None, None, IntArray]:
        """Source records that leave, so that each masked place comes near to one that was drawn; ascending.

        The place with the most members gets the drawn place with the most: pairs do not change which are drawn.
        """
        members = self._view.families.members
        places = sorted(self._view.judge.places, key=lambda place: -self._before[members, place])
        patterns = drawn[np.argsort(-expected[members, drawn], kind="stable")]
        limits = self._limits(expected)
        goes = []
        for number, place in enumerate(places):
            mine = np.flatnonzero(self._problem.source_code == place)
            weights, now = self._weights[:, mine], self._before[:, place]
            pattern = np.zeros(len(now))
            if len(patterns):  # fewer than places, where most places are masked
                pattern = self._pattern(place, int(patterns[number % len(patterns)]), expected)
            target = np.minimum(np.floor(pattern + rng.random()), now)
            rows, least = self._required(place, limits, weights, now)
            pull = _PULL * float(cost[mine].mean()) / len(weights) if len(mine) else 0.0
            goes.append(mine[leaving(Leaving(weights, now, target, rows, least, cost[mine]), pull)])
            yield
        return np.sort(np.concatenate(goes))

    def _pattern(self, place: int, other: int, expected: FloatArray) -> FloatArray:
        """Counts of another place as this one would have them: half as they are and half by its size."""
        ratio = self._sizes[place] / max(1, int(self._sizes[other]))
        return np.asarray(expected[:, other] * np.sqrt(ratio))

    def _limits(self, expected: FloatArray) -> FloatArray:
        """(S,), the most that a masked place may have of each signal of the group itself."""
        judge, signals = self._view.judge, self._view.families.signals
        return np.array(
            [
                limit(row, judge, judge.outliers(row)) if one.direct else np.inf
                for row, one in zip(self._view.families.values(expected, self._sizes), signals, strict=True)
            ]
        )

    def _required(
        self, place: int, most: FloatArray, weights: FloatArray, now: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Least number that must leave, of each count."""
        families, size = self._view.families, float(self._sizes[place])
        ceiling = np.full(len(now), np.inf)
        for one, highest in zip(families.signals, most, strict=True):
            ceiling[one.count] = min(ceiling[one.count], highest * (size if one.per == "record" else 1.0))
        if place in self._view.given:
            ceiling[families.members] = min(ceiling[families.members], self._view.given[place])
        every, of = np.unique(weights, axis=0, return_inverse=True)
        least = np.full(len(every), -np.inf)
        np.maximum.at(least, of.ravel(), now - ceiling)
        return every, np.minimum(least, every.sum(axis=1))


def _listed(problem: Problem) -> Generator[None, None, tuple[FloatArray, IndexArray]]:
    """(S, K) InfM of each source record and its nearest partners, ascending, and (S, K) which these are."""
    partners = np.array([0, len(problem.partner_rows)], dtype=np.int64)
    some = max(1, _COMPARED // max(1, problem.partner_values.size))
    distances, indexes = [np.zeros((0, _LISTED))], [np.zeros((0, _LISTED), dtype=np.int32)]
    for first in range(0, len(problem.source_rows), some):
        part = problem.source_values[first : first + some]
        distance, index = nearest(problem.metric, part, problem.partner_values, partners, _LISTED)
        distances.append(distance[:, 0])
        indexes.append(index[:, 0])
        yield
    return np.concatenate(distances), np.concatenate(indexes)


def leaving_all(problem: Problem, who: IntArray) -> Problem:
    """The problem with some source records only, and bounds that make all of them leave."""
    own = without(problem, who, np.arange(len(problem.partner_rows)))
    sets, groups = problem.counts.shape
    gone = np.array(
        [np.bincount(own.source_code[own.source_band <= k], minlength=groups) for k in range(sets)], dtype=np.int64
    )
    masked: BoolArray = np.zeros(groups, dtype=np.bool_)
    masked[[one.element for one in problem.restrictions]] = True
    bounds = np.where(masked, problem.counts - gone, -1)
    restrictions = tuple(
        replace(one, bound=bound, zero=max(one.zero, bound + _SLACK))
        for one in problem.restrictions
        for bound in [int(bounds[problem.at, one.element])]
    )
    return replace(own, restrictions=restrictions, bounds=bounds, floors=np.zeros_like(problem.floors))
