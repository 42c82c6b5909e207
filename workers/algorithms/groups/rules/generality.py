"""Of rules over the thresholds the most general ones; what both searches return.

Notation
--------
rule : (V,) int8, 0 for any.  R_i is *more general* than R_j where R_j has every term that R_i has, and further ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from surebox_core.types import BoolArray, IntArray
from workers.algorithms.groups.rules.rules import Metrics, Rules

#: What a search is at, for people.
Stage: TypeAlias = Literal["patterns", "search", "done"]

_BLOCK = 1 << 24


@dataclass(frozen=True)
class Kept:
    """What a search, or a part of one, keeps.

    Attributes
    ----------
    rules : (R, V), all over the thresholds, in the order of their terms.
    metrics : theirs.
    evaluations : of how many rules the fitness was computed; the search defines what it counts.
    """

    rules: Rules
    metrics: Metrics
    evaluations: int


@dataclass(frozen=True)
class GeneralityFinished:
    """The state of a search that is done."""

    kept: Kept


@dataclass(frozen=True)
class SearchOutcome:
    """The outcome of a search.

    Attributes
    ----------
    rules : (R, V), the most general ones, best fitness first, ties in the order of their terms.
    metrics : theirs.
    evaluations : as in `Kept`.
    over_thresholds : rules over the thresholds, specific ones too.
    """

    rules: Rules
    metrics: Metrics
    evaluations: int
    over_thresholds: int


def kept_by(state: object) -> Kept:
    """All rules over the thresholds that a search has seen: what parts of one hand to `merge`.

    Raises
    ------
    ValueError
        The search is not done.
    """
    if isinstance(state, GeneralityFinished):
        return state.kept
    raise ValueError("the search is not finished: step until done")


def most_general(rules: Rules) -> BoolArray:
    """Which rules have no more general one among them (TC, step 3 of the outline).

    Parameters
    ----------
    rules : (R, V), all different; of equal ones all or none are kept.

    Returns
    -------
    (R,). O(R M V) with M the rules kept, vectorised.
    """
    length = np.count_nonzero(rules, axis=1)
    keep = np.zeros(len(rules), dtype=np.bool_)
    for size in np.unique(length):
        places = np.flatnonzero(length == size)
        general = rules[keep]
        keep[places[~_covered(rules[places], general)]] = True
    return keep


def _covered(rules: Rules, general: Rules) -> BoolArray:
    """Whether any of `general` is more general than (or equal to) each rule."""
    covered = np.zeros(len(rules), dtype=np.bool_)
    step = max(1, _BLOCK // max(1, general.size))
    for begin in range(0, len(rules), step):
        block = rules[begin : begin + step, None, :]
        covered[begin : begin + step] = ((general == 0) | (general == block)).all(axis=2).any(axis=1)
    return covered


def ordered(rules: Rules) -> IntArray:
    """Places of rules in the order of their terms, first variable first."""
    return np.lexsort(rules.T[::-1])


def together(parts: Sequence[Kept]) -> Kept:
    """What parts of a search have kept, each rule once; the order of the parts does not matter.

    Raises
    ------
    ValueError
        No parts.
    """
    if not parts:
        raise ValueError("there is nothing to merge")
    rules, places = np.unique(np.concatenate([part.rules for part in parts]), axis=0, return_index=True)
    columns = {
        name: np.concatenate([getattr(part.metrics, name) for part in parts])[places] for name in vars(parts[0].metrics)
    }
    return Kept(rules, Metrics(**columns), sum(part.evaluations for part in parts))


def merge(parts: Sequence[Kept]) -> SearchOutcome:
    """What the parts of a search have found together; parameters and errors as `together`."""
    joined = together(parts)
    general = np.flatnonzero(most_general(joined.rules))
    best = general[np.lexsort((general, -joined.metrics.fitness[general]))]
    return SearchOutcome(joined.rules[best], joined.metrics.at(best), joined.evaluations, len(joined.rules))
