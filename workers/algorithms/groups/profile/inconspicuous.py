"""Masked places made like ordinary ones in every family of a profile: who leaves them.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ==========  ==================================================================================
symbol      shape       meaning
==========  ==========  ==================================================================================
n_bp        (B, P)      counts (`signals.families`) as they are, and as they are after the last round
u_s         (S,)        limits of signals: the largest value that a masked place may have (`signals.criteria`)
t_bp        (B,)        the pattern of place p: the counts of another one, drawn among those of like size
c_i         (n,)        mean InfM of a record and its nearest partners
==========  ==========  ==================================================================================

What makes a place ordinary is not one number but all of them together. So each masked place is drawn some other places
as patterns, by chance and of like size. An integer program decides who leaves: at least so many that no signal exceeds
its limit, cheaply, and near to the pattern; how near, differs from draw to draw. A second program takes one of these
options for each place, so that ranks of the masked places are spread as chance would spread them, in every signal and
in the number of signals of which a place is an outlier. The cheapest flow pairs those who leave with records that fit
no rule. Then the profile of the result is judged. What arrives elsewhere moves limits and ranks, so the next round
starts from there. The round with the fewest signals that fail is taken, and of equals the cheapest. Where some signal
fails still, or the distortion is above its target, these swaps are refined one by one (`profile.refining`); where that
is not enough, the search begins again with records drawn by chance, of each place the same share of all that fit, for
many masked places have to stay as unlike each other as other places are.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.profile.program import Choice, Leaving, chosen, leaving
from workers.algorithms.groups.profile.refining import Refining, by_chance, refining
from workers.algorithms.groups.signals.criteria import UNRANKED, Judge, Standing, failing, limit, outlier_count
from workers.algorithms.groups.signals.families import Families
from workers.algorithms.groups.signals.outliers import Outliers
from workers.algorithms.groups.signals.profile import FEW
from workers.algorithms.groups.signals.telling import telling
from workers.algorithms.groups.swaps.assignment import finding, moves_needed
from workers.algorithms.groups.swaps.metric import nearest
from workers.algorithms.groups.swaps.problem import Problem, Swaps, without

#: Rounds at most, those after the criteria are met but the target of the distortion is not, and that target.
ROUNDS: Final = 8
_FURTHER: Final = 3
TARGET: Final = 1.6
#: Patterns drawn for a place, and what a difference of 1 in every count weighs, in mean costs of a record.
_PATTERNS: Final = 8
_PULLS: Final = (0.0, 1.0, 4.0, 16.0)
#: Like in size: standard deviation of the logarithm of a ratio of sizes, and the least weight of a place.
_LIKE: Final = 0.35
_LEAST: Final = 1e-3
#: Standard deviations from chance that the choice aims at, and what one more costs, in shares of the cheapest choice.
_AIM: Final = 1.7
_WEIGHT: Final = 0.5
#: Partners of a record: so many make its cost, so many may be taken when swaps are refined.
_NEAREST: Final = 4
_LISTED: Final = 64
#: Starts by chance at most.
_CHANCES: Final = 3
_COMPARED: Final = 100_000_000
_SLACK: Final = 10
#: Least variance of a statistic: where all values are equal, no choice is worse than another.
_VARIANCE: Final = 0.25

#: Random numbers for a round: the same for the same.
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


@dataclass(frozen=True)
class _Option:
    """One way to leave a place: its cost, the counts that it leaves, and who goes (indexes of source records)."""

    cost: float
    left: FloatArray
    who: IntArray


def masking(
    problem: Problem, view: View, draw: Draw, capacities: IntArray | None = None
) -> Generator[None, None, Masked]:
    """Look for swaps after which no masked place stands out, a fraction of a second at a time.

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
    work = _Rounds(problem, view)
    work.distance, work.partners = yield from _listed(problem)
    best: Masked | None = None
    met = 0
    for number in range(ROUNDS):
        options = yield from work.chosen(draw(number))
        own = leaving_all(problem, np.sort(np.concatenate([one.who for one in options])))
        swaps = yield from finding(own, moves_needed(own), capacities)
        code, standings = work.look(swaps)
        made = Masked(own, swaps, failing(standings))
        if best is None or _quality(made) < _quality(best):
            best = made
            work.go_on_from(code, standings, options)
        yield
        met += not best.failures
        if met and (met > _FURTHER or best.swaps.distortion <= TARGET * view.letter):
            break
    if best is None:
        raise ValueError("no round was made")
    return (yield from _refined(work, best, draw, capacities))


def _refined(work: "_Rounds", best: Masked, draw: Draw, capacities: IntArray | None) -> Generator[None, None, Masked]:
    """The best of what the rounds came to once it is refined, and if need be of swaps that begin by chance."""
    given = work.refining(capacities)
    if best.failures or best.swaps.distortion > given.goal:
        refined = yield from refining(given, best.swaps, draw(ROUNDS))
        best = min(best, work.masked(refined), key=_quality)
    for turn in range(_CHANCES):
        if not best.failures:
            break
        own = leaving_all(given.problem, by_chance(given, draw(ROUNDS + 1 + 2 * turn)))
        drawn = yield from finding(own, moves_needed(own), capacities)
        refined = yield from refining(given, drawn, draw(ROUNDS + 2 + 2 * turn))
        best = min(best, work.masked(refined), key=_quality)
    return best


def _quality(masked: Masked) -> tuple[int, float]:
    return len(masked.failures), masked.swaps.distortion


class _Rounds:
    """Limits, patterns and ranks, as they are after the last round."""

    def __init__(self, problem: Problem, view: View) -> None:
        self._problem, self._view = problem, view
        groups = len(problem.crisp)
        self.distance: FloatArray = np.zeros((len(problem.source_rows), 0))
        self.partners: IndexArray = np.zeros((len(problem.source_rows), 0), dtype=np.int32)
        self._sizes = np.bincount(view.parameter, minlength=groups)
        self._before = view.families.counted(view.parameter, groups)
        self._counts = self._before
        place = np.searchsorted(view.families.records, problem.source_rows)
        self._weights = np.ascontiguousarray(view.families.weights[:, place])
        self._lower = np.zeros((len(view.families.signals), groups), dtype=np.int64)
        self._kept: dict[int, _Option] = {}
        self._started = False

    @property
    def _places(self) -> tuple[int, ...]:
        return self._view.judge.places

    @property
    def _cost(self) -> FloatArray:
        """(S,), mean InfM of each source record and its nearest partners."""
        near = self.distance[:, :_NEAREST]
        return np.asarray(np.where(np.isfinite(near), near, self._problem.metric.largest).mean(axis=1))

    def refining(self, capacities: IntArray | None) -> Refining:
        """The swaps to refine."""
        view = self._view
        return Refining(
            problem=self._problem,
            telling=telling(view.families, view.judge, self._sizes),
            weights=np.ascontiguousarray(self._weights.T),
            counts=np.ascontiguousarray(self._before.T),
            distance=self.distance,
            partners=self.partners,
            given=view.given,
            capacities=capacities,
            goal=TARGET * view.letter if view.letter > 0.0 else np.inf,
        )

    def masked(self, swaps: Swaps) -> Masked:
        """Swaps, and the signals that still fail."""
        who = np.flatnonzero(np.isin(self._problem.source_rows, swaps.source_row))
        return Masked(leaving_all(self._problem, who), swaps, failing(self.look(swaps)[1]))

    def look(self, swaps: Swaps) -> tuple[IntArray, tuple[Standing, ...]]:
        """Submicrofile of each record once swaps are made, and the profile judged."""
        code = self._view.parameter.copy()
        code[swaps.source_row], code[swaps.partner_row] = swaps.target, swaps.source
        return code, self._view.judge.standings(self._view.families.profile(code, len(self._problem.crisp)))

    def go_on_from(self, code: IntArray, standings: tuple[Standing, ...], options: list[_Option]) -> None:
        """Let the next rounds start from this one: places that are exposed come down further, others may stay."""
        self._counts = self._view.families.counted(code, len(self._problem.crisp))
        exposed = np.zeros_like(self._lower)
        for s, one in enumerate(standings[:-1]):
            exposed[s, list(one.exposed)] = 1
        self._lower = np.where(exposed > 0, self._lower + 1, 0)
        self._kept = {
            place: one for place, one in zip(self._places, options, strict=True) if not exposed[:, place].any()
        }

    def chosen(self, rng: np.random.Generator) -> Generator[None, None, list[_Option]]:
        """How each masked place is left in this round."""
        if not self._started:
            self._started, self._counts = True, self._expected(rng)
        values = self._view.families.values(self._counts, self._sizes)
        outliers = [self._view.judge.outliers(row) for row in values]
        options: list[list[_Option]] = []
        for place in self._places:
            most = self._limits(values, outliers, place)
            options.append(self._options(place, most, rng))
            yield
        number = outlier_count(outliers, len(self._sizes))
        usual = [np.delete(row, list(its.order)) for row, its in zip(values, outliers, strict=True)]
        taken = chosen(self._choice(options, values, number, np.array([[u.min(), u.max()] for u in usual])), 1.0)
        return [some[at] for some, at in zip(options, taken, strict=True)]

    def _limits(self, values: FloatArray, outliers: list[Outliers], place: int) -> FloatArray:
        """(S,), the most that a place may have of each signal."""
        judge, signals, lower = self._view.judge, self._view.families.signals, self._lower[:, place]
        return np.array(
            [
                limit(row, judge, its, ranked=one.name not in UNRANKED, lower=int(steps))
                for row, its, one, steps in zip(values, outliers, signals, lower, strict=True)
            ]
        )

    def _expected(self, rng: np.random.Generator) -> FloatArray:
        """Counts after a guess: what masked places have beyond the median of all goes where there are partners."""
        problem, view = self._problem, self._view
        room = np.bincount(problem.partner_code, minlength=len(problem.crisp))
        code = view.parameter.copy()
        widest = int(self._before.sum(axis=1).argmax())
        usual = int(np.median(self._before[widest]))
        for place in self._places:
            rows = rng.permutation(problem.source_rows[problem.source_code == place])[usual:]
            code[rows] = rng.choice(len(room), len(rows), p=room / room.sum())
        return view.families.counted(code, len(problem.crisp))

    def _options(self, place: int, most: FloatArray, rng: np.random.Generator) -> list[_Option]:
        """Ways to leave a place, one for each pattern."""
        mine = np.flatnonzero(self._problem.source_code == place)
        weights, now = self._weights[:, mine], self._before[:, place]
        rows, least = self._required(place, most, weights, now)
        cost = self._cost[mine]
        pull = float(cost.mean()) / len(weights) if len(mine) else 0.0
        out = []
        for number, pattern in enumerate(self._patterns(place, rng)):
            target = np.minimum(np.floor(pattern + rng.random()), now)
            problem = Leaving(weights, now, target, rows, least, cost)
            goes = leaving(problem, pull * _PULLS[number % len(_PULLS)])
            out.append(_Option(float(cost[goes].sum()), now - weights[:, goes].sum(axis=1), mine[goes]))
        return [*out, self._kept.get(place, out[0])]

    def _required(
        self, place: int, most: FloatArray, weights: FloatArray, now: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """What must leave at the least: of each count, and of near-members by how many members stay."""
        families, size = self._view.families, float(self._sizes[place])
        ceiling = np.full(len(now), np.inf)
        rows, least = [], []
        for one, highest in zip(families.signals, most, strict=True):
            if one.per == "member":
                rows.append(weights[one.count] - highest * weights[families.members])
                least.append(now[one.count] - highest * (now[families.members] + FEW))
            else:
                ceiling[one.count] = min(ceiling[one.count], highest * (size if one.per == "record" else 1.0))
        if place in self._view.given:
            ceiling[families.members] = min(ceiling[families.members], self._view.given[place])
        rows += list(weights)
        least += list(now - ceiling)
        every, of = np.unique(np.array(rows), axis=0, return_inverse=True)
        most_of_each = np.full(len(every), -np.inf)
        np.maximum.at(most_of_each, of.ravel(), np.array(least))
        return every, np.minimum(most_of_each, every.sum(axis=1))

    def _patterns(self, place: int, rng: np.random.Generator) -> FloatArray:
        """Counts of some other places as this one would have them, half as they are and half by its size."""
        others = np.flatnonzero(self._view.judge.others(len(self._sizes)))
        if not len(others):
            return np.zeros((_PATTERNS, len(self._before)))
        ratio = self._sizes[place] / np.maximum(1, self._sizes[others])
        weight = np.exp(-0.5 * (np.log(ratio) / _LIKE) ** 2) + _LEAST
        drawn = rng.choice(len(others), _PATTERNS, p=weight / weight.sum())
        return np.asarray((self._counts[:, others[drawn]] * np.sqrt(ratio[drawn])).T)

    def _choice(
        self, options: list[list[_Option]], values: FloatArray, number: FloatArray, usual: FloatArray
    ) -> Choice:
        """What the options add to the rank sums of the signals, and to that of the number of outliers."""
        others = self._view.judge.others(len(self._sizes))
        sizes = self._sizes[list(self._places)]
        left = np.array([[one.left for one in some] for some in options])  # (M, O, B)
        seen = np.stack([self._view.families.values(left[:, o].T, sizes) for o in range(left.shape[1])], axis=2)
        out = ((seen < usual[:, 0, None, None]) | (seen > usual[:, 1, None, None])).sum(axis=0)
        ranked = [s for s, one in enumerate(self._view.families.signals) if one.name not in UNRANKED]
        rows = [*((values[s], seen[s]) for s in ranked), (number, out.astype(np.float64))]
        every = [one for row, mine in rows for one in _statistics(row[others], row[list(self._places)], mine)]
        statistics = np.array([one.added for one in every])
        middle, scale = (np.array([getattr(one, name) for one in every]) for name in ("mean", "deviation"))
        cost = np.array([[one.cost for one in some] for some in options])
        unit = _WEIGHT * max(float(cost.min(axis=1).sum()), 1e-12)
        return Choice(cost / unit, statistics, middle - _AIM * scale, middle + _AIM * scale, scale)


@dataclass(frozen=True)
class _Statistic:
    """What every option adds to a sum over the masked places, and mean and deviation of that sum under chance."""

    added: FloatArray
    mean: float
    deviation: float


def _statistics(theirs: FloatArray, ours: FloatArray, options: FloatArray) -> Iterator[_Statistic]:
    """Rank sum, and how many are among as many highest, or lowest: values of others and masked ones, (M, O) options."""
    for scores in (_below, _among_highest):
        for sign in (1.0, -1.0) if scores is _among_highest else (1.0,):
            every = np.concatenate([sign * theirs, sign * ours])
            usual = scores(every, every, len(ours))
            count, masked = len(every), len(ours)
            variance = masked * (count - masked) / max(1, count - 1) * float(usual.var())
            added = scores(every, sign * options, masked)
            yield _Statistic(added, masked * float(usual.mean()), float(np.sqrt(max(variance, _VARIANCE))))


def _below(every: FloatArray, values: FloatArray, _: int) -> FloatArray:
    """Rank of values among all, equals sharing the mean of theirs."""
    ordered = np.sort(every)
    first, last = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return np.asarray((first + last) / 2.0)


def _among_highest(every: FloatArray, values: FloatArray, masked: int) -> FloatArray:
    """Whether values are among so many highest; in part where they tie at the border."""
    border = np.sort(every)[len(every) - masked]
    room = (masked - int((every > border).sum())) / int((every == border).sum())
    return np.asarray((values > border) + room * (values == border))


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
