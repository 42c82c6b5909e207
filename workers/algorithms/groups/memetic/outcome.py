"""What a memetic search found: of each run the cheapest individual that keeps every promise.

Source: science.md section 2, "Memetic search".

Notation
--------
======  ==============  ====================================================================
symbol  shape           meaning
======  ==============  ====================================================================
n*      (mu, K, P)      records of each nested set after the swaps of each individual of a final population; the
                        members are one of the sets
valid   (mu,)           whether no original outlier is an outlier after them (the caller's judge)
======  ==============  ====================================================================

Reported is the cheapest individual of the final population that meets every bound and is valid. If none does, the
fittest one, completed: what its signal still lacks is swapped at least cost among the records it left alone. Where that
is not valid, the next ones are tried.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.memetic.kernels import product_fitness
from workers.algorithms.groups.memetic.state import MemeticState, Run
from workers.algorithms.groups.swaps.assignment import cheapest, moves_needed
from workers.algorithms.groups.swaps.effect import counts_after, met
from workers.algorithms.groups.swaps.problem import Problem, Swaps, paired, without
from workers.algorithms.groups.swaps.restrictions import UnreachableError

#: Of the fittest individuals, how many are completed until one is valid.
_COMPLETED = 10

#: Whether swaps hide the outliers that they should.
Judge = Callable[[Swaps], bool]


@dataclass(frozen=True)
class RunOutcome:
    """What one run reports.

    Attributes
    ----------
    swaps : its cheapest good individual, or the fittest one completed.
    fitness : of the individual as reported.
    valid : whether its signal is.
    valid_share : share of the final population whose signals are.
    valid_distortion : their mean distortion (TC, *Results of protecting*: 62.518); None where none is.
    added_swaps : swaps added to meet the bounds, 0 for an individual as it was bred.
    """

    swaps: Swaps
    fitness: float
    valid: bool
    valid_share: float
    valid_distortion: float | None
    added_swaps: int


@dataclass(frozen=True)
class MemeticOutcome:
    """What the search reports.

    Attributes
    ----------
    best : the cheapest valid one of the runs, the cheapest one where none is valid; it meets every bound.
    runs : one per run.
    history : (runs, generations + 1, 3), best, mean and standard deviation of the fitness.
    """

    best: RunOutcome
    runs: tuple[RunOutcome, ...]
    history: FloatArray


def outcome(problem: Problem, state: MemeticState, judge: Judge) -> MemeticOutcome:
    """The result of a search that is done.

    Parameters
    ----------
    problem : the one that the search was begun with.
    state : where it ended.
    judge : called with swaps, whether they are valid.

    Returns
    -------
    Outcome

    Notes
    -----
    Rows of the result are the caller's records'. O(runs mu L) and a call of `judge` per different n*: for the
    share of valid ones, those of equal n* count as one another; the reported one was judged itself.
    """
    own = without(problem, *state.order)
    runs = tuple(_report(own, state, run, judge) for run in state.runs)
    best = min(runs, key=lambda one: (not one.valid, one.swaps.distortion))
    return MemeticOutcome(best, runs, state.history)


def populations_counts(problem: Problem, state: MemeticState, run: Run) -> IntArray:
    """(mu, K, P), records of each nested set after each individual of a run's population."""
    every = [_swaps(problem, run, i) for i in range(state.request.population)]
    return np.array([counts_after(problem, swaps) for swaps in every])


def _report(problem: Problem, state: MemeticState, run: Run, judge: Judge) -> RunOutcome:
    every = [_swaps(problem, run, i) for i in range(state.request.population)]
    counts = populations_counts(problem, state, run)
    valid = _judged(every, counts, judge)
    costs = np.array([swaps.distortion for swaps in every])
    share = float(valid.mean())
    mean = float(costs[valid].mean()) if valid.any() else None
    for i in np.argsort(costs, kind="stable"):
        if valid[i] and met(problem, counts[i]) and judge(every[i]):
            return RunOutcome(every[i], float(run.fitness[i]), True, share, mean, 0)
    fittest = np.argsort(-run.fitness[: len(every)], kind="stable")[:_COMPLETED]
    tried = ((i, _completed(problem, every[i])) for i in fittest)
    first = next(tried)
    valid_one = next(((i, whole) for i, whole in itertools.chain([first], tried) if judge(whole)), None)
    i, whole = valid_one or first
    fitness, added = _fitness(problem, state, whole), max(0, len(whole.source) - len(every[i].source))
    return RunOutcome(whole, fitness, valid_one is not None, share, mean, added)


def _judged(every: list[Swaps], counts: IntArray, judge: Judge) -> BoolArray:
    _, first, place = np.unique(counts, axis=0, return_index=True, return_inverse=True)
    return np.array([judge(every[i]) for i in first], dtype=np.bool_)[place.ravel()]


def _swaps(problem: Problem, run: Run, i: int) -> Swaps:
    columns = (run.source[i, : run.rows[i]], run.partner[i, : run.rows[i]])
    return paired(problem, columns[0].astype(np.int64), columns[1].astype(np.int64))


def _completed(problem: Problem, swaps: Swaps) -> Swaps:
    """The swaps, and the cheapest that meet what they leave open; all new ones where there is no room for those."""
    ours = np.flatnonzero(~np.isin(problem.source_rows, swaps.source_row))
    theirs = np.flatnonzero(~np.isin(problem.partner_rows, swaps.partner_row))
    counts = counts_after(problem, swaps)
    rest = replace(without(problem, ours, theirs), crisp=counts[problem.at], counts=counts)
    if rest.needed == 0:
        return swaps
    try:
        more = cheapest(rest, moves_needed(rest))
    except UnreachableError:
        return cheapest(problem, moves_needed(problem))
    return Swaps(
        *(
            np.concatenate([getattr(swaps, name), getattr(more, name)])
            for name in ("source_row", "partner_row", "source", "target", "band", "influence")
        )
    )


def _fitness(problem: Problem, state: MemeticState, swaps: Swaps) -> float:
    ours, theirs = np.argsort(problem.source_rows), np.argsort(problem.partner_rows)
    s = ours[np.searchsorted(problem.source_rows, swaps.source_row, sorter=ours)].astype(np.int32)
    p = theirs[np.searchsorted(problem.partner_rows, swaps.partner_row, sorter=theirs)].astype(np.int32)
    return float(product_fitness(state.board.parts, state.board.goal, s, p, swaps.influence))
