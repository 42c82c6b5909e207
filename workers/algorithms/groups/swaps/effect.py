"""What swaps do to a signal and to the nested sets around it; notation as in swaps.levels."""

from dataclasses import replace

import numpy as np

from surebox_core.types import IntArray
from workers.algorithms.groups.swaps.levels import level_counts
from workers.algorithms.groups.swaps.problem import Problem, Swaps


def counts_after(problem: Problem, swaps: Swaps) -> IntArray:
    """(K, P), records of each nested set once the swaps are made."""
    sets, groups = problem.counts.shape
    gone = level_counts(swaps.source, swaps.band, sets, groups)
    come = level_counts(swaps.target, swaps.band, sets, groups)
    return np.asarray(problem.counts - gone + come)


def after(problem: Problem, swaps: Swaps) -> IntArray:
    """(P,), the crisp signal once the swaps are made."""
    return np.asarray(counts_after(problem, swaps)[problem.at])


def met(problem: Problem, counts: IntArray) -> bool:
    """Whether the records of each nested set, (K, P), meet every bound."""
    crisp = counts[problem.at]
    lowered = (problem.bounds < 0) | (counts <= problem.bounds)
    return bool(lowered.all()) and all(crisp[one.element] >= one.bound for one in problem.restrictions if one.raises)


def loosened(problem: Problem, swaps: Swaps) -> Problem:
    """The problem with bounds and floors that some swaps meet: those that they miss are where they leave the sets.

    A search may end beyond a bound or a floor; the cheapest of all that do no worse bounds what it found.
    """
    left = counts_after(problem, swaps)
    bounds = np.where(problem.bounds >= 0, np.maximum(problem.bounds, left), -1)
    return replace(problem, bounds=bounds, floors=np.minimum(problem.floors, left))


def exactly(problem: Problem, swaps: Swaps) -> Problem:
    """The problem with bounds that leave in each nested set of a source as many as some swaps leave, or fewer."""
    bounds = np.full_like(problem.bounds, -1)
    places = np.unique(problem.source_code)
    bounds[:, places] = counts_after(problem, swaps)[:, places]
    return replace(problem, bounds=bounds, floors=np.zeros_like(problem.floors))


def together(parts: tuple[Swaps, ...], first: int | None = None) -> Swaps:
    """Swaps side by side; `first` keeps so many of them."""
    names = Swaps.__dataclass_fields__
    return Swaps(*(np.concatenate([getattr(part, name) for part in parts])[:first] for name in names))
