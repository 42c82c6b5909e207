"""Restrictions on elements of a signal, the sides they put submicrofiles on, and what cannot be requested.

Source: science.md section 2, "Swaps".

Notation
--------
==========  ======  ===============================================================================
symbol      shape   meaning
==========  ======  ===============================================================================
P           scalar  submicrofiles
q           (P,)    crisp auxiliary signal: members of the fuzzy group per submicrofile
at_most     scalar  a lowered element's bound, zero_at > at_most where its membership reaches 0
at_least    scalar  a raised element's bound, zero_below < at_least likewise
==========  ======  ===============================================================================
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surebox_core.types import BoolArray


class NothingToMaskError(ValueError):
    """Every restricted submicrofile meets its bound as it is."""

    def __init__(self) -> None:
        super().__init__("every restriction is met already: there is nothing to swap")


class NoPartnerError(ValueError):
    """There is no one to swap with: no member in a source, or no non-member in a target."""

    def __init__(self, what: Literal["members in the sources", "non-members in the targets"]) -> None:
        super().__init__(f"there are no {what}: nothing can be swapped")
        self.what = what


class UnreachableError(ValueError):
    """A bound that swapping cannot reach.

    `element` is the submicrofile, None where all restrictions together demand too much; `required` and `reachable` are
    values of the signal there, or numbers of swaps.
    """

    def __init__(self, element: int | None, required: int, reachable: int, reason: str) -> None:
        where = "all restrictions together" if element is None else f"submicrofile {element}"
        super().__init__(f"{where}: {required} requested, {reachable} is as far as it can go: {reason}")
        self.element = element
        self.required = required
        self.reachable = reachable
        self.reason = reason


@dataclass(frozen=True)
class Restriction:
    """A fuzzy restriction on one element of the signal.

    Attributes
    ----------
    element : the submicrofile's code.
    bound : at_most where `zero` is larger (z-shaped), at_least where it is smaller (s-shaped): membership 1 from there.
    zero : zero_at, or zero_below: membership 0 from there.
    """

    element: int
    bound: int
    zero: int

    @property
    def raises(self) -> bool:
        """Whether the bound is a least value: the element is raised."""
        return self.zero < self.bound


def check_restrictions(restrictions: tuple[Restriction, ...], groups: int) -> None:
    """Refuse restrictions that contradict themselves or each other.

    Raises
    ------
    ValueError
        None at all, two on one submicrofile, one on a submicrofile that does not exist, a bound that is its own zero.
    """
    if not restrictions:
        raise ValueError("at least one submicrofile must be restricted")
    if len({one.element for one in restrictions}) < len(restrictions):
        raise ValueError("a submicrofile is restricted twice")
    for one in restrictions:
        if not 0 <= one.element < groups:
            raise ValueError(f"restricted submicrofile {one.element} is outside [0, {groups})")
        if one.bound < 0 or one.bound == one.zero:
            raise ValueError(
                f"submicrofile {one.element}: the bound must not be negative, and differ from where membership is 0"
            )


def sides(
    restrictions: tuple[Restriction, ...], groups: int, sources: Iterable[int] | None, targets: Iterable[int] | None
) -> tuple[BoolArray, BoolArray]:
    """Which submicrofiles members may leave and enter, two (P,) masks; see `problem.build` for what is the default.

    Raises
    ------
    ValueError
        The sets overlap, reach outside, or leave a restricted submicrofile on the wrong side.
    """
    lowered = {one.element for one in restrictions if not one.raises}
    raised = {one.element for one in restrictions if one.raises}
    everywhere = set(range(groups))
    goal = None if targets is None else set(targets)
    unasked = lowered or everywhere - (raised if goal is None else goal)
    origin = unasked if sources is None else set(sources)
    if goal is None:
        goal = (everywhere - origin) if lowered or sources is not None else raised
    if not origin | goal <= everywhere:
        raise ValueError(f"a source or target is outside [0, {groups})")
    if origin & goal:
        raise ValueError(f"{len(origin & goal)} submicrofiles are source and target at once: the sets must be disjoint")
    if not lowered <= origin or not raised <= goal:
        raise ValueError("every lowered submicrofile must be a source, every raised one a target")
    out = np.zeros((2, groups), dtype=np.bool_)
    out[0, list(origin)] = True
    out[1, list(goal)] = True
    return out[0], out[1]
