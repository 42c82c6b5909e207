"""The profile of a group's rules: who fits them well, and who almost does, place by place (science.md section 7).

Notation
--------
==========  ======  ==========================================================================================
symbol      shape   meaning
==========  ======  ==========================================================================================
mu          (N,)    grade of each record by the rules, all of it: also what lies below the group's alpha
n_a         (P,)    members at a: records of each submicrofile with mu >= a
s_a         (P,)    the sum of their grades
near_a      (P,)    records with a <= mu < alpha, for a below the group's alpha
near_a / (n_alpha + 5)  how many there are to a member
==========  ======  ==========================================================================================

Lowering the members at alpha leaves the shoulder: places that no longer stand out there are named by those who almost
fit. Each of these signals is judged as the attack judges its own, by Thompson's tau.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surebox_verify.core.types import FloatArray, IntArray
from workers.algorithms.groups.signals.outliers import Outliers, thompson_tau

#: Alphas at which whoever looks below and above the group's own would look.
GRID = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Added to the members, so that a place with none has a ratio.
_FEW = 5

SignalName = Literal["members", "sum", "near", "near_ratio"]


@dataclass(frozen=True)
class ProfileSignal:
    """One signal of the profile: what it counts, from which grade on, and its values (P,)."""

    name: SignalName
    alpha: float
    values: FloatArray


def profile(
    parameter: IntArray, groups: int, grades: FloatArray, alpha: float, grid: Sequence[float] = GRID
) -> tuple[ProfileSignal, ...]:
    """All signals of the profile.

    Parameters
    ----------
    parameter : (N,) int64, submicrofile of each in-range record, in [0, groups). Records of grade 0 may be left out.
    groups : P.
    grades : (N,), in [0, 1], not cut off at alpha.
    alpha : where the group itself begins.
    grid : alphas, above 0.

    Notes
    -----
    O(N) for each alpha.
    """
    found = []
    members = np.bincount(parameter[grades >= alpha], minlength=groups)
    for a in grid:
        inside = grades >= a
        count = np.bincount(parameter[inside], minlength=groups).astype(np.float64)
        total = np.bincount(parameter[inside], weights=grades[inside], minlength=groups).astype(np.float64)
        found += [ProfileSignal("members", a, count), ProfileSignal("sum", a, total)]
        if a < alpha:
            near = count - members
            found += [ProfileSignal("near", a, near), ProfileSignal("near_ratio", a, near / (members + _FEW))]
    return tuple(found)


def standing_out(
    signals: Iterable[ProfileSignal], places: Iterable[int], *, alpha: float, robust: bool
) -> tuple[tuple[ProfileSignal, frozenset[int]], ...]:
    """Which of some places are outliers, high or low, of each signal; `alpha` is the significance."""
    wanted = frozenset(places)
    return tuple((one, wanted.intersection(_outliers(one, alpha=alpha, robust=robust).order)) for one in signals)


def _outliers(signal: ProfileSignal, *, alpha: float, robust: bool) -> Outliers:
    return thompson_tau(signal.values, alpha=alpha, robust=robust)


def precision(values: FloatArray, places: Iterable[int], *, largest: bool = True) -> float:
    """Share of the m wanted places among the m largest (or smallest) values: precision@m.

    Values that tie at the border count in part: the mean over all orders of equals.
    """
    wanted = np.zeros(len(values), dtype=np.bool_)
    wanted[list(places)] = True
    m = int(wanted.sum())
    if m == 0:
        raise ValueError("no place is wanted")
    signed = values if largest else -values
    border = np.sort(signed)[len(signed) - m]
    above, at = signed > border, signed == border
    room = m - int(above.sum())
    return float((wanted & above).sum() + (wanted & at).sum() * room / at.sum()) / m


def ranks(values: FloatArray) -> FloatArray:
    """Rank of each place from the largest value, 1 first; equals share the mean of their ranks."""
    order = np.sort(-values)
    first = np.searchsorted(order, -values, side="left")
    last = np.searchsorted(order, -values, side="right")
    return np.asarray((first + last + 1) / 2.0)
