"""Rules by evolution: the paper's, or one that keeps its diversity; several runs, each from a seed of its own.

Notation as in rules.rules, and
--------
mu : population.  lambda : individuals made in every generation.  An individual is a rule (Michigan approach).

init, step, done, result over a state that is used up by its step. Of *all rules seen in all generations of all runs*
those over the thresholds are kept, then the most general ones (TC, step 3 of the attack's outline). Runs do not hear of
each other, so that any of them can be computed anywhere and merged: the outcome depends on the seed alone, not on
threads, parts or interruptions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.groups.evolution import runs as racing
from workers.algorithms.groups.evolution.request import EvolutionRequest, check_request
from workers.algorithms.groups.evolution.runs import Run, Seeds
from workers.algorithms.groups.rules import patterns as pattern
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.generality import (
    GeneralityFinished,
    SearchOutcome,
    Stage,
    kept_by,
    merge,
    together,
)
from workers.algorithms.groups.rules.patterns import Patterns
from workers.algorithms.groups.rules.rules import Rules, judged

STEP_COSTS: Final = 2e8  # of `racing.costs` in a step, per thread: about 0.2 s


@dataclass(frozen=True)
class Collecting:
    """Patterns are being collected; runs have not begun, or go on from where they were interrupted."""

    patterns: pattern.PatternState
    request: EvolutionRequest
    seeds: Seeds
    runs: tuple[Run, ...]
    threads: int


@dataclass(frozen=True)
class Evolving:
    """All runs are about to make, or have made, generation `runs[0].generation`.

    Attributes
    ----------
    proposals : children of every run; empty where they have not been proposed.
    pending : (., V), those of all runs that have to be judged, run by run, each run's own ones once.
    sums : theirs as far as `answered`; changes in place.
    """

    patterns: Patterns
    request: EvolutionRequest
    seeds: Seeds
    runs: tuple[Run, ...]
    threads: int
    proposals: tuple[racing.Proposal, ...] = ()
    pending: Rules | None = None
    sums: FloatArray | None = None
    answered: int = 0


EvolutionState: TypeAlias = Collecting | Evolving | GeneralityFinished


def init(
    data: Fuzzified,
    vital: BoolArray,
    request: EvolutionRequest,
    rng: np.random.Generator,
    *,
    runs: Sequence[int] | None = None,
    threads: int = 1,
) -> EvolutionState:
    """Begin to search.

    Parameters
    ----------
    data : N records.
    vital : (N,), which of them belong to the group.
    request : parameters.
    rng : draws a seed for every run, those of other parts included.
    runs : those to compute here, all by default; every part of a search begins with a generator in the same state.
    threads : rules to be judged are shared among them.

    Raises
    ------
    ValueError
        A request that cannot be met, runs that are none of its runs; no or only vital records.
    """
    check_request(request)
    chosen = sorted(set(range(request.runs) if runs is None else runs))
    if not chosen or chosen[0] < 0 or chosen[-1] >= request.runs:
        raise ValueError(f"runs must be some of 0 to {request.runs - 1}")
    collecting = pattern.init(data, vital, request.min_membership)
    begun = tuple(racing.begin(index, data.terms) for index in chosen)
    return Collecting(collecting, request, racing.seeds(request.runs, rng), begun, max(1, threads))


def step(state: EvolutionState, *, costs: float = STEP_COSTS) -> EvolutionState:
    """Go on by so much work per thread, a third of a second or so; a state is used up by its step."""
    match state:
        case Collecting(patterns=collecting) if not pattern.done(collecting):
            return replace(state, patterns=pattern.step(collecting))
        case Collecting(patterns=collecting):
            patterns = pattern.result(collecting)
            return Evolving(patterns, state.request, state.seeds, state.runs, state.threads)
        case Evolving():
            return _judge(_propose(state), costs * state.threads)
        case GeneralityFinished():
            return state


def _propose(state: Evolving) -> Evolving:
    """Children of the next generation of every run, unless they are there."""
    if state.proposals:
        return state
    proposals = tuple(racing.propose(run, state.request, state.patterns, state.seeds) for run in state.runs)
    rules = np.concatenate([proposal.unknown for proposal in proposals])
    return replace(state, proposals=proposals, pending=rules, sums=np.empty((len(rules), 2)), answered=0)


def _judge(state: Evolving, allowed: float) -> Evolving | GeneralityFinished:
    """Judge as many pending rules as are allowed, by what they cost; the runs learn when all are judged."""
    rules, sums = state.pending, state.sums
    if rules is None or sums is None:
        raise ValueError("no rules are pending")
    begin = state.answered
    if begin < len(rules):
        costs = np.cumsum(racing.costs(rules[begin:], state.patterns))
        some = max(1, int(np.searchsorted(costs, allowed)))
        sums[begin : begin + some] = judged(state.patterns, rules[begin : begin + some], threads=state.threads)
        if begin + some < len(rules):
            return replace(state, answered=begin + some)
    ends = np.cumsum([len(proposal.unknown) for proposal in state.proposals])[:-1]
    runs = tuple(
        racing.learn(run, proposal, part, state.request, state.patterns)
        for run, proposal, part in zip(state.runs, state.proposals, np.split(sums, ends), strict=True)
    )
    after = replace(state, runs=runs, proposals=(), pending=None, sums=None, answered=0)
    return _finished(after) if runs[0].generation > state.request.generations else after


def _finished(state: Evolving) -> GeneralityFinished:
    parts = [racing.kept(run, state.request, state.patterns) for run in state.runs]
    return GeneralityFinished(together(parts))


def done(state: EvolutionState) -> bool:
    """Whether the result is there."""
    return isinstance(state, GeneralityFinished)


def progress(state: EvolutionState) -> tuple[Stage, float]:
    """Stage and share of the whole work done, for people."""
    match state:
        case Collecting(patterns=collecting):
            return "patterns", 0.2 * pattern.fraction(collecting)
        case Evolving():
            share = state.answered / len(state.pending) if state.pending is not None and len(state.pending) else 0.0
            return "search", 0.2 + 0.8 * (state.runs[0].generation + share) / (state.request.generations + 1)
        case GeneralityFinished():
            return "done", 1.0


def result(state: EvolutionState) -> SearchOutcome:
    """The most general rules.

    `evaluations` counts the individuals whose fitness the method asks for. With `diversity` each is a rule that its run
    has not judged before; without, repetitions count as they would for the paper, though each is judged once in a run.

    Raises
    ------
    ValueError
        The search is not done.
    """
    return merge([kept_by(state)])


def pack(state: EvolutionState) -> dict[str, NDArray[np.generic]]:
    """Runs as of their last whole generation, as arrays; secret like the generator.

    Raises
    ------
    ValueError
        The search is done: there is nothing to go on with.
    """
    match state:
        case Collecting() | Evolving():
            return {"seeds": state.seeds, **racing.packed(state.runs)}
    raise ValueError("a finished search is not packed: take its result")


def unpack(
    data: Fuzzified,
    vital: BoolArray,
    request: EvolutionRequest,
    arrays: Mapping[str, NDArray[np.generic]],
    *,
    threads: int = 1,
) -> EvolutionState:
    """Go on where `pack` was called, to the same result; patterns are collected again. Errors as `init`."""
    check_request(request)
    collecting = pattern.init(data, vital, request.min_membership)
    seeds = np.asarray(arrays["seeds"], dtype=np.uint64)
    runs = racing.unpacked(arrays, request, (data.terms, data.records, int(np.count_nonzero(vital))))
    return Collecting(collecting, request, seeds, runs, max(1, threads))
