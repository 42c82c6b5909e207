"""Random bounds under which masked places stand out nowhere in the profile of the rules (science.md section 7).

Notation
--------
==========  ======  ======================================================================================
symbol      shape   meaning
==========  ======  ======================================================================================
n_kp        (K, P)  records of nested set k in submicrofile p
u_kp        (K, P)  the largest value of n_k that is no outlier: as far as a masked place may stand out
b_kp        (K, P)  what masked places come down to, uniform on the whole numbers of [0.65 u, u]
==========  ======  ======================================================================================

At u itself all masked places would stand at the same number; from half of u on they were visibly low. Bounds are drawn,
the cheapest swaps under them made on paper, and the whole profile looked at, high and low. Where a masked place stands
out still, its bounds are drawn anew. Beyond that: a set in which it stood out is bounded from then on; where those who
almost fit are too many or too few, small sets are no longer emptied for large ones (a floor at 0.65 u); and u becomes
the largest value that is no outlier now, with those who came from the masked places.
"""

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from surebox_verify.core.types import BoolArray, IntArray
from workers.algorithms.groups.signals.outliers import thompson_tau
from workers.algorithms.groups.signals.profile import ProfileSignal
from workers.algorithms.groups.swaps.assignment import finding, moves_needed
from workers.algorithms.groups.swaps.problem import Problem, Swaps

#: Lowest share of the largest value that is no outlier.
_LOWEST: Final = 0.65
#: How often bounds are drawn at most.
ROUNDS: Final = 40
_SLACK: Final = 10

#: A number in [0, 1) for (place, alpha, how often it was drawn before): the same for the same.
Uniform = Callable[[int, float, int], float]
#: Which masked places stand out of each signal of the profile once swaps are made.
Look = Callable[[Swaps], Sequence[tuple[ProfileSignal, frozenset[int]]]]


@dataclass(frozen=True)
class Asked:
    """What is to be bounded.

    Attributes
    ----------
    alphas : (K,) falling, of the nested sets.
    bounded : (K,) bool, the sets that are bounded from the beginning.
    places : what is masked.
    given : bounds on the members that are not drawn, by place.
    significance, robust : of the outliers.
    """

    alphas: tuple[float, ...]
    bounded: BoolArray
    places: tuple[int, ...]
    given: Mapping[int, int]
    significance: float
    robust: bool


@dataclass(frozen=True)
class Bounded:
    """Bounds, the cheapest swaps under them, and in how many signals a masked place stands out all the same."""

    problem: Problem
    swaps: Swaps
    failures: int


def bounding(
    problem: Problem, asked: Asked, look: Look, uniform: Uniform, capacities: IntArray | None = None
) -> Generator[None, None, Bounded]:
    """Draw bounds until no masked place stands out, a fraction of a second at a time.

    Parameters
    ----------
    problem : with the nested sets; its own bounds are replaced.
    asked : what is masked.
    look : at the profile after some swaps.
    uniform : where bounds come from.
    capacities : as for `assignment.finding`.

    Returns
    -------
    Bounded
        Of all draws the one with the fewest failures, 0 if there is one.

    Raises
    ------
    UnreachableError
        As `assignment.finding`.
    """
    drawing = _Drawing(problem, asked, uniform)
    best: Bounded | None = None
    for _ in range(ROUNDS):
        own = drawing.bounded()
        swaps = yield from finding(own, moves_needed(own), capacities)
        found = look(swaps)
        failures = sum(len(places) for _, places in found)
        if best is None or failures < best.failures:
            best = Bounded(own, swaps, failures)
        if not failures:
            break
        drawing.learn(found)
        yield
    if best is None:
        raise ValueError("no bounds were drawn")
    return best


class _Drawing:
    """Bounds as they are drawn, and what was learned from those before."""

    def __init__(self, problem: Problem, asked: Asked, uniform: Uniform) -> None:
        self._problem, self._asked, self._uniform = problem, asked, uniform
        sets, groups = problem.counts.shape
        usual = np.array([self._usual(counts) for counts in problem.counts])
        self._usuals = np.repeat(usual[:, None], groups, axis=1)
        self._bounds_set = np.zeros((sets, groups), dtype=np.bool_)
        self._bounds_set[:, list(asked.places)] = asked.bounded[:, None]
        self._bounds_set[problem.at, list(asked.places)] = True
        self._floored = np.zeros(groups, dtype=np.bool_)
        self._draws = np.zeros(groups, dtype=np.int64)

    def bounded(self) -> Problem:
        """The problem under bounds drawn for this round."""
        bounds = np.full(self._problem.counts.shape, -1, dtype=np.int64)
        for k, p in zip(*np.nonzero(self._bounds_set), strict=True):
            lowest, highest = _lowest(self._usuals[k, p]), int(self._usuals[k, p])
            share = self._uniform(int(p), self._asked.alphas[k], int(self._draws[p]))
            bounds[k, p] = lowest + math.floor(share * (highest - lowest + 1))
        for place, bound in self._asked.given.items():
            bounds[self._problem.at, place] = bound
        floors = np.where(self._floored, np.vectorize(_lowest, otypes=[np.int64])(self._usuals), 0)
        return with_bounds(self._problem, bounds, np.minimum(floors, _room(bounds)))

    def learn(self, found: Sequence[tuple[ProfileSignal, frozenset[int]]]) -> None:
        """Draw anew for those that stand out, and ask for what they lacked."""
        for signal, places in found:
            for place in places:
                if signal.name in {"near", "near_ratio"}:
                    self._floored[place] = True
                elif signal.alpha in self._asked.alphas:
                    k = self._asked.alphas.index(signal.alpha)
                    self._bounds_set[k, place] = True
                    if signal.name == "members":
                        self._usuals[k, place] = self._usual(signal.values)
        self._draws[list(frozenset[int]().union(*(places for _, places in found)))] += 1

    def _usual(self, values: IntArray | np.ndarray) -> int:
        order = thompson_tau(values, alpha=self._asked.significance, robust=self._asked.robust).order
        usual = np.delete(values, list(order))
        return int(usual.max()) if len(usual) else 0


def _room(bounds: IntArray) -> IntArray:
    """(K, P), how many of each nested set can stay: no more than may of any set around it."""
    most = np.where(bounds >= 0, bounds, np.iinfo(np.int64).max)
    return np.asarray(np.minimum.accumulate(most[::-1], axis=0)[::-1])


def _lowest(usual: float) -> int:
    return math.ceil(_LOWEST * float(usual))


def with_bounds(problem: Problem, bounds: IntArray, floors: IntArray) -> Problem:
    """The problem with other bounds on its nested sets, those of the members included."""
    restrictions = tuple(
        replace(one, bound=bound, zero=max(one.zero, bound + _SLACK))
        for one in problem.restrictions
        for bound in [int(bounds[problem.at, one.element])]
    )
    return replace(problem, restrictions=restrictions, bounds=bounds, floors=floors)
