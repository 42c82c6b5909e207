"""Swaps that mask made cheaper, or made to mask, one record at a time.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
C           (P, B)  counts of every submicrofile (`signals.families`), with the swaps made
W           (S, B)  what each source record adds to each count
excess      scalar  how much of the masked places shows (`signals.telling`); 0 if nothing
d           scalar  InfM of all swaps
E           scalar  weight * excess + d: what the search lowers
==========  ======  =====================================================================================

The integer program sees one place at a time, and expects where the others end. Here the whole profile is judged after
every move: a swap is taken back, made, or replaced by that of another
record of the same place or with another partner. Moves that raise E are taken as in annealing: now and then, at first
more often. Every cycle begins with the best swaps so far; the least excess counts first, then the least distortion.
"""

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.signals.telling import Telling
from workers.algorithms.groups.swaps.problem import Problem, Swaps, paired

#: Moves that are tried in a cycle, how hot each cycle begins, and moves between two pauses.
_CYCLE: Final = 2_000
_HEATS: Final = (0.3, 1.0, 0.3)
_PAUSE: Final = 200
#: What a unit of excess costs, in mean swaps.
_WEIGHT: Final = 4.0
#: Probabilities of moves, summed: take back, make (more often while the excess is above 0), replace, two for one; else
#: another partner. How many records are drawn, of which the dearest or the cheapest is taken.
_TAKE_BACK, _MAKE, _MAKE_TELLING, _REPLACE, _TWO_FOR_ONE = 0.2, 0.35, 0.5, 0.8, 0.9
_DEAR, _CHEAP, _PARTNERS = 2, 4, 4
#: A record beyond a bound that was given outweighs all else.
_GIVEN: Final = 1e6


@dataclass(frozen=True)
class Refining:
    """The swaps to refine.

    Attributes
    ----------
    problem : who may be swapped.
    telling : the profile's judge as one number, and which count is of the members.
    weights, counts : W, and C before any swap.
    distance, partners : (S, K), the nearest partners of each source record, ascending.
    given : most members of some places.
    capacities : (P,), most members that may enter each place; None for no limits.
    goal : distortion at which the search may end once the excess is 0.
    """

    problem: Problem
    telling: Telling
    weights: FloatArray
    counts: FloatArray
    distance: FloatArray
    partners: IndexArray
    given: dict[int, int]
    capacities: IntArray | None
    goal: float

    @property
    def members(self) -> IntArray:
        """(P,), members of each place before any swap."""
        return np.asarray(self.counts[:, self.telling.members])

    @property
    def places(self) -> list[int]:
        """Masked places, ascending."""
        return sorted({one.element for one in self.problem.restrictions})


def refining(given: Refining, start: Swaps, rng: np.random.Generator) -> Generator[None, None, Swaps]:
    """Lower the excess, then the distortion, a fraction of a second at a time.

    Parameters
    ----------
    given : the swaps to refine.
    start : swaps to begin with; only who leaves is taken from them where a partner is none of the nearest.
    rng : what chance decides.

    Returns
    -------
    Swaps
        Nothing worse than where the search began: less excess, or as much at no more distortion.
    """
    pairs = _Pairs(given, start)
    unit = pairs.usual
    best = pairs.kept()
    for heat in _HEATS:
        pairs.restore(best)
        for move in range(_CYCLE):
            if best.excess == 0.0 and best.distortion <= given.goal:
                return pairs.swaps(best)
            slack = -np.log(1.0 - rng.random()) * heat * unit * (1.0 - move / _CYCLE)
            if pairs.moved(rng, _WEIGHT * unit, slack) and pairs.quality < (best.excess, best.distortion):
                best = pairs.kept()
            if move % _PAUSE == 0:
                yield
    return pairs.swaps(best)


@dataclass(frozen=True)
class _Kept:
    """A state of the search: partner of each source record or -1, InfM, counts, what enters, and its quality."""

    match: IntArray
    cost: FloatArray
    counts: FloatArray
    entered: IntArray
    excess: float
    distortion: float


class _Pairs:
    """Swaps under way, and what they do to the counts."""

    def __init__(self, given: Refining, start: Swaps) -> None:
        problem = given.problem
        self._given, self._problem = given, problem
        self._match = np.full(len(problem.source_rows), -1, dtype=np.int64)
        self._cost = np.zeros(len(problem.source_rows))
        self._used: BoolArray = np.zeros(len(problem.partner_rows), dtype=np.bool_)
        self._entered = np.zeros(len(problem.crisp), dtype=np.int64)
        self._counts = given.counts.copy()
        self._journal: list[tuple[int, int, float]] = []
        self._of = [rows for place in given.places if len(rows := np.flatnonzero(problem.source_code == place))]
        self._begin(start)
        self._excess = self._judged()

    def _begin(self, start: Swaps) -> None:
        source = {row: at for at, row in enumerate(self._problem.source_rows.tolist())}
        partner = {row: at for at, row in enumerate(self._problem.partner_rows.tolist())}
        for row, other, influence in zip(
            start.source_row.tolist(), start.partner_row.tolist(), start.influence.tolist(), strict=True
        ):
            self._put(source[row], partner[other], influence)

    @property
    def usual(self) -> float:
        """Mean InfM of a swap."""
        made = self._match >= 0
        near = self._given.distance[:, 0]
        near = near[np.isfinite(near)]
        return max(float(self._cost[made].mean()) if made.any() else 0.0, float(near.mean()) if len(near) else 0.0)

    @property
    def quality(self) -> tuple[float, float]:
        """Excess, and distortion."""
        return self._excess, float(self._cost.sum())

    def kept(self) -> _Kept:
        """A copy of the state."""
        arrays = (self._match.copy(), self._cost.copy(), self._counts.copy(), self._entered.copy())
        return _Kept(*arrays, *self.quality)

    def restore(self, kept: _Kept) -> None:
        """Go back to a state."""
        self._match, self._cost = kept.match.copy(), kept.cost.copy()
        self._counts, self._entered, self._excess = kept.counts.copy(), kept.entered.copy(), kept.excess
        self._used[:] = False
        self._used[self._match[self._match >= 0]] = True

    def swaps(self, kept: _Kept) -> Swaps:
        """A state's pairs."""
        sources = np.flatnonzero(kept.match >= 0)
        return paired(self._problem, sources, kept.match[sources])

    def moved(self, rng: np.random.Generator, weight: float, slack: float) -> bool:
        """Try a move; whether it was taken, for E rises by no more than `slack`."""
        self._journal.clear()
        before, excess = float(self._cost.sum()), self._excess
        if not self._tried(rng):
            self._back()
            return False
        dearer = float(self._cost.sum()) - before
        if dearer - weight * excess <= slack:  # else no excess is low enough
            self._excess = self._judged()
            if dearer + weight * (self._excess - excess) <= slack:
                return True
        self._back()
        self._excess = excess
        return False

    def _tried(self, rng: np.random.Generator) -> bool:
        """Make a move, drawn by chance; False where there is none."""
        mine = self._of[rng.integers(len(self._of))]
        made = self._match[mine] >= 0
        inside, outside = mine[made], mine[~made]
        kind = rng.random()
        if kind < _TAKE_BACK:
            return self._changed(self._dear(inside, 1, rng), [], 0)
        if kind < (_MAKE_TELLING if self._excess > 0.0 else _MAKE):
            return self._changed([], self._cheap(outside, rng), 0)
        if kind < _TWO_FOR_ONE:
            back = self._dear(inside, 1 if kind < _REPLACE else 2, rng)
            make = self._cheap(outside, rng)
            return bool(back and make) and self._changed(back, make, 0)
        back = self._dear(inside, 1, rng)
        return self._changed(back, back, int(rng.integers(_PARTNERS)))

    def _dear(self, inside: IntArray, number: int, rng: np.random.Generator) -> list[int]:
        """Records that leave, rather dear ones."""
        if not len(inside):
            return []
        drawn = inside[rng.integers(len(inside), size=(number, _DEAR))]
        best = self._cost[drawn].argmax(axis=1)
        return list(dict.fromkeys(drawn[np.arange(number), best].tolist()))

    def _cheap(self, outside: IntArray, rng: np.random.Generator) -> list[int]:
        """A record that stays, rather one with a near partner."""
        if not len(outside):
            return []
        drawn = outside[rng.integers(len(outside), size=_CHEAP)]
        return [int(drawn[self._given.distance[drawn, 0].argmin()])]

    def _changed(self, back: list[int], make: list[int], skipped: int) -> bool:
        """Take swaps back and make others, with the nearest partner that is free but for so many."""
        for source in back:
            self._note(source)
            self._drop(source)
        for source in make:
            near = self._free(source)
            if not len(near):
                return False
            self._note(source)
            at = near[min(skipped, len(near) - 1)]
            self._put(source, int(self._given.partners[source, at]), float(self._given.distance[source, at]))
        return bool(back or make)

    def _free(self, source: int) -> IntArray:
        """Which of its nearest partners a record may be swapped with."""
        near = self._given.partners[source]
        free = (near >= 0) & ~self._used[near]
        if self._given.capacities is not None:
            code = self._problem.partner_code[near]
            free &= self._entered[code] < self._given.capacities[code]
        return np.flatnonzero(free)

    def _note(self, source: int) -> None:
        self._journal.append((source, int(self._match[source]), float(self._cost[source])))

    def _back(self) -> None:
        """Undo the note."""
        for source, _, _ in self._journal:
            if self._match[source] >= 0:
                self._drop(source)
        before = {source: (partner, cost) for source, partner, cost in reversed(self._journal)}
        for source, (partner, cost) in before.items():
            if partner >= 0:
                self._put(source, partner, cost)

    def _put(self, source: int, partner: int, cost: float) -> None:
        self._match[source], self._cost[source], self._used[partner] = partner, cost, True
        target = self._problem.partner_code[partner]
        self._entered[target] += 1
        self._counts[self._problem.source_code[source]] -= self._given.weights[source]
        self._counts[target] += self._given.weights[source]

    def _drop(self, source: int) -> None:
        partner = self._match[source]
        self._match[source], self._cost[source], self._used[partner] = -1, 0.0, False
        target = self._problem.partner_code[partner]
        self._entered[target] -= 1
        self._counts[self._problem.source_code[source]] += self._given.weights[source]
        self._counts[target] -= self._given.weights[source]

    def _judged(self) -> float:
        given, members = self._given, self._counts[:, self._given.telling.members]
        beyond = sum(max(0.0, float(members[place]) - most) for place, most in given.given.items())
        return given.telling.excess(np.ascontiguousarray(self._counts.T)) + _GIVEN * beyond
