"""Exhaustive search: every rule over the thresholds, by a depth-first walk pruned by support.

Notation as in rules.rules; kappa, gamma : least support and RCF.  Support only falls as terms are added, so that below
a rule of support at most kappa there is none above it (science.md section 2, "Every rule").
fits_p : rules that record p fits with grades at or above alpha in all terms, prod_v (1 + terms of v that it reaches).
sum_p fits_p bounds the work before anything is pruned.

Subtrees of the rules of one term are walked apart, by as many threads as there are; rules found are sorted in the end,
so that nothing depends on who walked what.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, IntArray
from workers.algorithms.groups.enumeration import walk as walking
from workers.algorithms.groups.enumeration.walk import Ground, Subtrees, Walker
from workers.algorithms.groups.rules import patterns as pattern
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.generality import (
    GeneralityFinished,
    Kept,
    SearchOutcome,
    Stage,
    kept_by,
    merge,
    ordered,
)
from workers.algorithms.groups.rules.rules import check_thresholds, judged, metrics

LARGEST: Final = 2e10  # sum of fits: minutes on one core, without pruning
STEP_SLOTS: Final = 12_000_000  # visited in a step, per thread: about 0.15 s


class NotFeasibleError(ValueError):
    """The walk would be too long.

    Attributes
    ----------
    rules, records : of the whole space.
    size, largest : sum of fits, and the largest accepted.
    fitting_records, fitting_variables : about how many would fit, the other unchanged; the variables dropped first are
        those that multiply the work most.
    """

    def __init__(
        self, rules: float, records: int, size: float, largest: float, fitting_records: int, fitting_variables: int
    ) -> None:
        super().__init__(
            f"{rules:.4g} rules on {records} records make {size:.3g} fitting pairs, more than {largest:.3g}: "
            f"about {fitting_records} records or {fitting_variables} variables would fit"
        )
        self.rules = rules
        self.records = records
        self.size = size
        self.largest = largest
        self.fitting_records = fitting_records
        self.fitting_variables = fitting_variables


@dataclass(frozen=True)
class EnumerationRequest:
    """Thresholds of a search.

    Attributes
    ----------
    min_membership, min_relative_confidence, min_support : thresholds of APC, RCF and support (the paper's alpha, gamma,
        kappa).
    denominator_floor : least denominator of the RCF in the fitness that rules are ordered by, in records.
    largest : sum of fits above which the search is refused.
    """

    min_membership: float = 0.5
    min_relative_confidence: float = 0.75
    min_support: float = 0.001
    denominator_floor: float = 1.0
    largest: float = LARGEST


@dataclass(frozen=True)
class Collecting:
    """Patterns are being collected; `earlier` is what an interrupted search had finished."""

    patterns: pattern.PatternState
    request: EnumerationRequest
    threads: int
    earlier: Subtrees


@dataclass(frozen=True)
class Walking:
    """Subtrees are being walked; walkers and subtrees change in place."""

    ground: Ground
    request: EnumerationRequest
    walkers: tuple[Walker, ...]
    subtrees: Subtrees


EnumerationState: TypeAlias = Collecting | Walking | GeneralityFinished


def _factors(data: Fuzzified, alpha: float) -> list[tuple[IntArray, float]]:
    """Per variable: 1 + terms that each code reaches, and its mean over the records."""
    factors = []
    for variable in data.variables:
        reached = variable.grades[:, 1:] >= alpha if alpha > 0.0 else variable.grades[:, 1:] > 0.0
        ways = 1 + np.count_nonzero(reached, axis=1)
        share = np.bincount(variable.codes, minlength=len(ways)) / data.records
        factors.append((ways, float(ways @ share)))
    return factors


def size(data: Fuzzified, alpha: float) -> float:
    """Sum of fits: (rule, record) pairs with all grades at or above alpha. O(N V)."""
    fits = np.ones(data.records)
    for variable, (ways, _) in zip(data.variables, _factors(data, alpha), strict=True):
        fits *= ways[variable.codes]
    return float(fits.sum())


def check_size(data: Fuzzified, request: EnumerationRequest) -> None:
    """Whether the walk is short enough.

    Raises
    ------
    NotFeasibleError
        It is not.
    """
    pairs = size(data, request.min_membership)
    if pairs <= request.largest:
        return
    means = sorted((mean for _, mean in _factors(data, request.min_membership)), reverse=True)
    left, variables = pairs, len(means)
    for mean in means:
        if left <= request.largest:
            break
        left, variables = left / mean, variables - 1
    space = float(np.prod(data.terms + 1.0))
    records = int(data.records * request.largest / pairs)
    raise NotFeasibleError(space, data.records, pairs, request.largest, records, variables)


def init(data: Fuzzified, vital: BoolArray, request: EnumerationRequest, *, threads: int = 1) -> EnumerationState:
    """Begin to search.

    Parameters
    ----------
    data : N records.
    vital : (N,), which of them belong to the group.
    request : the thresholds.
    threads : subtrees are shared among them; the result does not depend on it.

    Raises
    ------
    NotFeasibleError
        The walk would be too long.
    ValueError
        Thresholds that are none; no or only vital records.
    """
    return _begun(data, vital, request, threads, Subtrees())


def _begun(
    data: Fuzzified, vital: BoolArray, request: EnumerationRequest, threads: int, earlier: Subtrees
) -> Collecting:
    check_thresholds(request.min_relative_confidence, request.min_support, request.denominator_floor)
    collecting = pattern.init(data, vital, request.min_membership)
    check_size(data, request)
    return Collecting(collecting, request, max(1, threads), earlier)


def step(state: EnumerationState, *, slots: int = STEP_SLOTS) -> EnumerationState:
    """Go on by so many slots per thread, a third of a second or so; a state is used up by its step."""
    match state:
        case Collecting(patterns=collecting) if not pattern.done(collecting):
            return Collecting(pattern.step(collecting), state.request, state.threads, state.earlier)
        case Collecting(patterns=collecting):
            return _enter(state, pattern.result(collecting))
        case Walking():
            return _walk(state, slots)
        case GeneralityFinished():
            return state


def _enter(state: Collecting, patterns: pattern.Patterns) -> Walking:
    request = state.request
    ground = walking.ground(patterns, gamma=request.min_relative_confidence, kappa=request.min_support)
    subtrees = walking.plan(ground, state.earlier)
    walkers = tuple(walking.walker(ground) for _ in range(min(state.threads, max(1, len(subtrees.pending)))))
    return Walking(ground, request, walkers, subtrees)


def _walk(state: Walking, slots: int) -> Walking | GeneralityFinished:
    ground, subtrees = state.ground, state.subtrees
    if len(state.walkers) == 1:
        walking.advance(ground, state.walkers[0], subtrees, slots)
    else:
        with ThreadPoolExecutor(len(state.walkers)) as pool:
            list(pool.map(lambda walker: walking.advance(ground, walker, subtrees, slots), state.walkers))
    if subtrees.pending or any(walker.task[0] >= 0 for walker in state.walkers):
        return state
    patterns, request = ground.patterns, state.request
    rules = np.concatenate([ground.single, *subtrees.rules.values()])
    rules = rules[ordered(rules)]
    judgement = metrics(
        judged(patterns, rules), records=patterns.records, vital=patterns.vital, guard=request.denominator_floor
    )
    over = judgement.over(request.min_relative_confidence, request.min_support)
    evaluations = len(ground.single) + sum(subtrees.evaluations.values())
    return GeneralityFinished(Kept(rules[over], judgement.at(over), evaluations))


def done(state: EnumerationState) -> bool:
    """Whether the result is there."""
    return isinstance(state, GeneralityFinished)


def progress(state: EnumerationState) -> tuple[Stage, float]:
    """Stage and share of the whole work done, for people."""
    match state:
        case Collecting(patterns=collecting):
            return "patterns", 0.2 * pattern.fraction(collecting)
        case Walking():
            return "search", 0.2 + 0.8 * walking.fraction(state.subtrees)
        case GeneralityFinished():
            return "done", 1.0


def result(state: EnumerationState) -> SearchOutcome:
    """The most general rules. `evaluations` counts rules whose support was computed, pruned ones included.

    Raises
    ------
    ValueError
        The search is not done.
    """
    return merge([kept_by(state)])


def pack(state: EnumerationState) -> dict[str, NDArray[np.generic]]:
    """Finished subtrees; those in hand are begun anew when the search goes on.

    Raises
    ------
    ValueError
        The search is done: there is nothing to go on with.
    """
    match state:
        case Collecting():
            return walking.packed(state.earlier)
        case Walking():
            return walking.packed(state.subtrees)
    raise ValueError("a finished search is not packed: take its result")


def unpack(
    data: Fuzzified,
    vital: BoolArray,
    request: EnumerationRequest,
    arrays: Mapping[str, NDArray[np.generic]],
    *,
    threads: int = 1,
) -> EnumerationState:
    """Go on where `pack` was called; patterns are collected again. Parameters and errors as `init`."""
    return _begun(data, vital, request, threads, walking.unpacked(arrays, len(data.variables)))
