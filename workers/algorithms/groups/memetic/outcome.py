"""What a memetic search found: of each run the cheapest individual that keeps every promise (science.md section 2).

Notation
--------
======  ==============  ====================================================================
symbol  shape           meaning
======  ==============  ====================================================================
q*      (mu, P)         crisp signal after the swaps of each individual of a final population
valid   (mu,)           whether no original outlier is an outlier of q* (the caller's judge)
======  ==============  ====================================================================

Reported is the cheapest individual of the final population that meets every bound and is valid. If none does, the
fittest one, completed: what its signal still lacks is swapped at least cost among the records it left alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from surebox_verify.core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.memetic.kernels import product_fitness
from workers.algorithms.groups.memetic.state import MemeticState, Run
from workers.algorithms.groups.swaps.assignment import cheapest, moves_needed
from workers.algorithms.groups.swaps.problem import Problem, Swaps, after, met, paired, without
from workers.algorithms.groups.swaps.restrictions import UnreachableError

#: Says of a signal whether it hides what it should.
Judge = Callable[[IntArray], bool]


@dataclass(frozen=True)
class RunOutcome:
    """What one run reports.

    Attributes
    ----------
    swaps : its cheapest good individual, or the fittest one completed.
    fitness : of the individual as reported.
    valid : whether its signal is.
    valid_share : share of the final population whose signals are.
    completed : swaps added to meet the bounds, 0 for an individual as it was bred.
    """

    swaps: Swaps
    fitness: float
    valid: bool
    valid_share: float
    completed: int


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
    judge : called with a crisp signal (P,), whether it is valid.

    Returns
    -------
    Outcome

    Notes
    -----
    Rows of the result are the caller's records'. O(runs mu L) and a call of `judge` per different signal.
    """
    own = without(problem, *state.order)
    runs = tuple(_report(own, state, run, judge) for run in state.runs)
    best = min(runs, key=lambda one: (not one.valid, one.swaps.distortion))
    return MemeticOutcome(best, runs, state.history)


def signals_after(problem: Problem, state: MemeticState, run: Run) -> IntArray:
    """(mu, P), the crisp signal after each individual of a run's population."""
    groups = len(problem.crisp)
    out = np.empty((state.request.population, groups), dtype=np.int64)
    for i in range(len(out)):
        leaving = problem.source_code[run.source[i, : run.rows[i]]]
        entering = problem.partner_code[run.partner[i, : run.rows[i]]]
        out[i] = problem.crisp - np.bincount(leaving, minlength=groups) + np.bincount(entering, minlength=groups)
    return out


def _report(problem: Problem, state: MemeticState, run: Run, judge: Judge) -> RunOutcome:
    signals = signals_after(problem, state, run)
    valid = _judged(signals, judge)
    good = valid & np.array([met(problem, signal) for signal in signals])
    costs = np.array([run.influence[i, : run.rows[i]].sum() for i in range(len(signals))])
    share = float(valid.mean())
    if good.any():
        i = int(np.argmin(np.where(good, costs, np.inf)))
        return RunOutcome(_swaps(problem, run, i), float(run.fitness[i]), True, share, 0)
    i = int(np.argmax(run.fitness[: len(signals)]))
    bred = _swaps(problem, run, i)
    whole = _completed(problem, bred)
    fitness = _fitness(problem, state, whole)
    return RunOutcome(whole, fitness, judge(after(problem, whole)), share, max(0, len(whole.source) - len(bred.source)))


def _judged(signals: IntArray, judge: Judge) -> BoolArray:
    different, place = np.unique(signals, axis=0, return_inverse=True)
    return np.array([judge(signal) for signal in different], dtype=np.bool_)[place.ravel()]


def _swaps(problem: Problem, run: Run, i: int) -> Swaps:
    columns = (run.source[i, : run.rows[i]], run.partner[i, : run.rows[i]])
    return paired(problem, columns[0].astype(np.int64), columns[1].astype(np.int64))


def _completed(problem: Problem, swaps: Swaps) -> Swaps:
    """The swaps, and the cheapest that meet what they leave open; all new ones where there is no room for those."""
    ours = np.flatnonzero(~np.isin(problem.source_rows, swaps.source_row))
    theirs = np.flatnonzero(~np.isin(problem.partner_rows, swaps.partner_row))
    rest = replace(without(problem, ours, theirs), crisp=after(problem, swaps))
    if rest.needed == 0:
        return swaps
    try:
        more = cheapest(rest, moves_needed(rest))
    except UnreachableError:
        return cheapest(problem, moves_needed(problem))
    return Swaps(
        *(
            np.concatenate([getattr(swaps, name), getattr(more, name)])
            for name in ("source_row", "partner_row", "source", "target", "influence")
        )
    )


def _fitness(problem: Problem, state: MemeticState, swaps: Swaps) -> float:
    ours, theirs = np.argsort(problem.source_rows), np.argsort(problem.partner_rows)
    s = ours[np.searchsorted(problem.source_rows, swaps.source_row, sorter=ours)].astype(np.int32)
    p = theirs[np.searchsorted(problem.partner_rows, swaps.partner_row, sorter=theirs)].astype(np.int32)
    return float(product_fitness(state.board.parts, state.board.goal, s, p, swaps.influence))
