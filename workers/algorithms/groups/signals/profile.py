"""Signals of a profile: who fits a group's rules well, and who almost does, place by place.

Source: science.md section 7, "Swaps that withstand the profile of the rules".

Notation
--------
==========  ======  ==========================================================================================
symbol      shape   meaning
==========  ======  ==========================================================================================
mu          (N,)    grade of each record by the rules, all of it: also grades below the group's alpha
n_a         (P,)    members at a: records of each submicrofile with mu >= a
s_a         (P,)    the sum of their grades
near_a      (P,)    records with a <= mu < alpha, for a below the group's alpha
near_a / (n_alpha + 5)  how many there are to a member
==========  ======  ==========================================================================================

Lowering the members at alpha leaves the shoulder, those who almost fit, and the core, those who fit many rules: places
that no longer stand out at alpha are named by either. `families` makes the signals, `criteria` judges them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from surebox_core.types import FloatArray

#: Alphas at which someone would look who looks below and above the group's own.
GRID: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Added to the members, so that a place with none has a ratio.
FEW: Final = 5

SignalName = Literal[
    "members",
    "sum",
    "near",
    "near_ratio",
    "rules",
    "confident",
    "members_share",
    "rules_share",
    "confident_share",
    "outlier_count",
    "mean_rank",
    "best_rank",
    "worst_rank",
    "rank_spread",
    "top_count",
    "below_top",
    "rules_contrast",
    "confident_contrast",
    "grade_contrast",
    "number_contrast",
]


@dataclass(frozen=True)
class ProfileSignal:
    """One signal of the profile.

    Attributes
    ----------
    name, alpha, values, rules : what it counts, from which grade on, its values (P,), and of how many rules.
    direct : whether it is the group's own signal, which the attack looks for outliers of.
    """

    name: SignalName
    alpha: float
    values: FloatArray
    rules: int | None = None
    direct: bool = False


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
