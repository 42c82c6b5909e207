"""Portrait of a place: its ranks in all counts of a profile, seen at once.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
r_sp        (S, n)  rank of place p in ranked signal s, 1 the highest; equals share the mean of theirs
u_sp        (S, n)  (r_sp - 1/2) / n, between 0 and 1 whatever the number of places
w_bp        (B, n)  mean of u_sp over the signals that are made of count b: its number and its share
==========  ======  =====================================================================================

No count shows a place that is high in all and the highest in none: that is where places end that are lowered until
they just pass. So a place has a portrait of figures that each are a function of all its ranks. They say nothing about
which places are masked, and random places have them by chance. Number and share are averaged, for how they differ is
the place's size, which swaps do not change.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.signals.profile import ProfileSignal, SignalName

#: The figures; the first six of all signals, the others differences between parts of the profile.
PORTRAIT: Final[tuple[SignalName, ...]] = (
    "mean_rank", "best_rank", "worst_rank", "rank_spread", "top_count", "below_top",
    "rules_contrast", "confident_contrast", "grade_contrast", "number_contrast",
)  # fmt: skip
#: Highest ranks that count for `top_count`, as a share of the places and at least; for `below_top`, and in how many.
_TOP: Final = 0.1
_HIGHEST: Final = 2.0
_SELDOM: Final = 0.05
#: Numbers of rules from which on many are meant.
_MANY: Final = 5
_SHARE: Final = "_share"


def counted_by(signals: Sequence[ProfileSignal]) -> IntArray:
    """(S,), which count each ranked signal is made of, from 0 without gaps."""
    keys = [(one.name.removesuffix(_SHARE), one.alpha, one.rules) for one in signals]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.int64)


def contrasts(signals: Sequence[ProfileSignal], alpha: float) -> FloatArray:
    """(4, B), weights of the counts: rules and confident ones less members, low less high grades, few less many rules.

    Parameters
    ----------
    signals : the ranked ones.
    alpha : where the group itself begins.
    """
    of = counted_by(signals)
    first = [signals[int(np.flatnonzero(of == count)[0])] for count in range(int(of.max(initial=-1)) + 1)]
    names = [one.name.removesuffix(_SHARE) for one in first]
    members, rules, confident = (
        np.array([name == kind for name in names]) for kind in ("members", "rules", "confident")
    )
    low = np.array([one.alpha < alpha for one in first])
    many = np.array([(one.rules or 0) >= _MANY for one in first])
    pairs = ((rules, members), (confident, members), (members & low, members & ~low), (rules & ~many, rules & many))
    return np.array(
        [_mean(some) - _mean(others) if some.any() and others.any() else np.zeros(len(names)) for some, others in pairs]
    )


def _mean(some: np.ndarray) -> FloatArray:
    return some / max(1, int(some.sum()))


@kernel
def averaged(rank: FloatArray, of: IntArray) -> FloatArray:
    """(B, n), w from (S, n) ranks."""
    signals, n = rank.shape
    count = 0
    for s in range(signals):
        count = max(count, of[s] + 1)
    out, number = np.zeros((count, n)), np.zeros(count)
    for s in range(signals):
        number[of[s]] += 1.0
        for p in range(n):
            out[of[s], p] += (rank[s, p] - 0.5) / n
    for b in range(count):
        out[b] /= number[b]
    return out


@kernel
def portraits(rank: FloatArray, mean: FloatArray, weights: FloatArray) -> FloatArray:
    """(K, n), every figure of every place, the larger the higher it lies.

    Parameters
    ----------
    rank, mean, weights : (S, n) ranks, (B, n) as `averaged` gives them, (4, B) contrasts.
    """
    signals, n = rank.shape
    counts = mean.shape[0]
    out = np.zeros((6 + weights.shape[0], n))
    top = max(_HIGHEST, _TOP * n)
    for p in range(n):
        best, worst, often, highest, total, squares = n + 1.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for s in range(signals):
            r = rank[s, p]
            best, worst = min(best, r), max(worst, r)
            often += r <= top
            highest += r <= _HIGHEST
        for b in range(counts):
            total += mean[b, p]
            squares += mean[b, p] ** 2
        middle = total / counts
        out[0, p], out[1, p], out[2, p] = -middle, -best, -worst
        out[3, p] = np.sqrt(max(0.0, squares / counts - middle**2))
        out[4, p] = often
        out[5, p] = -middle if highest < _SELDOM * signals else -1.0
        for c in range(weights.shape[0]):
            for b in range(counts):
                out[6 + c, p] -= weights[c, b] * mean[b, p]
    return out
