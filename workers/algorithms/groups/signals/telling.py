"""How much a profile shows of the masked places, as one number, thousands of times a second.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
v           (S, P)  signals, as `signals.criteria` judges them
T           scalar  ranks that must belong to others (`criteria.free_ranks`)
tau         (P+1,)  critical deviation by the number of elements that are left
excess      scalar  exposed places by (a), and standard deviations beyond what (b) lets pass, over all signals
==========  ======  =====================================================================================

A search for swaps judges the profile after every swap that it tries; `criteria.Judge` comes to the same with all
figures, a hundred times slower. Excess is 0 exactly where it has no signal that fails.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.signals.criteria import MOST_DEVIATIONS, UNRANKED, Judge, free_ranks
from workers.algorithms.groups.signals.families import Families
from workers.algorithms.groups.signals.outliers import critical
from workers.algorithms.groups.signals.profile import FEW

_SLACK: Final = 1e-9
#: A deviation beyond what passes counts so much at once, and twice what is beyond: passing is a step, not a slope.
_STEP: Final = 0.3
#: What a place's distance from a value that would pass counts, in means of the signal: next to 1 for being exposed.
_SLOPE: Final = 0.2


@dataclass(frozen=True)
class Telling:
    """A judge of the masked places, as arrays for the kernel.

    Attributes
    ----------
    counts, per : (S,), the count that each signal is made of, and 0 for itself, 1 by record, 2 by member.
    members : which count is of the members.
    sizes : (P,), in-range records.
    ranked : (S,), whether ranks and chance are judged.
    masked, compared : (P,).
    taus : (P + 1,).
    free : T.
    robust, low : as the judge's.
    """

    counts: IntArray
    per: IntArray
    members: int
    sizes: FloatArray
    ranked: BoolArray
    masked: BoolArray
    compared: BoolArray
    taus: FloatArray
    free: int
    robust: bool
    low: bool

    def excess(self, counted: FloatArray, most: float = MOST_DEVIATIONS) -> float:
        """Excess of (B, P) counts; `most` deviations from chance pass."""
        return float(
            excess(
                counted, self.counts, self.per, self.members, self.sizes, self.ranked, self.masked, self.compared,
                self.taus, self.free, self.robust, self.low, most,
            )
        )  # fmt: skip


def telling(families: Families, judge: Judge, sizes: IntArray) -> Telling:
    """A judge of some families, as arrays; `sizes` are the (P,) in-range records."""
    groups = len(sizes)
    masked = np.zeros(groups, dtype=np.bool_)
    masked[list(judge.places)] = True
    others = judge.others(groups)
    return Telling(
        counts=np.array([one.count for one in families.signals], dtype=np.int64),
        per=np.array([{None: 0, "record": 1, "member": 2}[one.per] for one in families.signals], dtype=np.int64),
        members=families.members,
        sizes=np.maximum(sizes, 1).astype(np.float64),
        ranked=np.array([one.name not in UNRANKED for one in families.signals]),
        masked=masked,
        compared=masked | others,
        taus=np.array([critical(max(m, 3), judge.significance, judge.test) for m in range(groups + 1)]),
        free=free_ranks(int(masked.sum()), int(others.sum())),
        robust=judge.robust,
        low=judge.low,
    )


@inner_kernel
def _middle(ordered: FloatArray) -> float:
    m = len(ordered)
    upper: float = ordered[m // 2]
    if m % 2:
        return upper
    lower: float = ordered[m // 2 - 1]
    return (lower + upper) / 2.0


@inner_kernel
def _outliers(values: FloatArray, taus: FloatArray, robust: bool, out: BoolArray) -> bool:
    """Mark outliers (`signals.outliers`); whether one was removed while the spread was 0."""
    count = len(values)
    places = count - 1 - np.argsort(values[::-1], kind="mergesort")  # of equals the lower index nearer to the top
    ordered = values[places]
    low, high, degenerate = 0, count, False
    while high - low > 2:
        left = ordered[low:high]
        if robust:
            half = (high - low + 1) // 2
            centre = _middle(left)
            spread = (_middle(left[len(left) - half :]) - _middle(left[:half])) / 1.349
        else:
            centre = left.mean()
            spread = np.sqrt(((left - centre) ** 2).sum() / (len(left) - 1))
        below, above = centre - left[0], left[-1] - centre
        if max(below, above) <= taus[high - low] * spread:
            break
        degenerate = degenerate or spread == 0.0
        if above >= below:
            high -= 1
            out[places[high]] = True
        else:
            last = low
            while last + 1 < high and ordered[last + 1] == ordered[low]:
                last += 1
            first = places[last]
            for i in range(last, low, -1):
                places[i] = places[i - 1]
            places[low] = first
            out[first] = True
            low += 1
    return degenerate


@inner_kernel
def _deviation(scores: FloatArray, among: BoolArray, m: int) -> float:
    """How far a sum over the masked places is from that of random ones (`criteria.deviation`)."""
    count = len(scores)
    variance = m * (count - m) / max(1, count - 1) * scores.var()
    difference, scale = -m * scores.mean(), 0.0
    for i in range(count):
        scale = max(scale, abs(scores[i]))
        if among[i]:
            difference += scores[i]
    return difference / np.sqrt(variance) if variance > (_SLACK * scale * max(1, m)) ** 2 else 0.0


@inner_kernel
def _from_chance(v: FloatArray, among: BoolArray, m: int, low: bool, most: float) -> float:
    """By how much (b) is not met; `v` and `among` are of the places that are compared."""
    count = len(v)
    if m == 0 or m == count:
        return 0.0
    ordered = np.sort(v)
    first, last = np.searchsorted(ordered, v), np.searchsorted(ordered, v, side="right")
    top, bottom = ordered[count - m], ordered[m - 1]
    above, at = (v > top).sum(), (v == top).sum()
    under, there = (v < bottom).sum(), (v == bottom).sum()
    highest, lowest = np.empty(count), np.empty(count)
    for i in range(count):
        highest[i] = 1.0 if v[i] > top else ((m - above) / at if v[i] == top else 0.0)
        lowest[i] = 1.0 if v[i] < bottom else ((m - under) / there if v[i] == bottom else 0.0)
    ranks = (first + last).astype(np.float64) / 2.0
    area = _deviation(ranks, among, m)
    high, least = _deviation(highest, among, m), _deviation(lowest, among, m)
    worst = max(area, high, -least)
    if low:
        worst = max(worst, -area, -high, least)
    return _STEP + 2.0 * (worst - most) if worst > most else 0.0


@inner_kernel
def _exposed(
    v: FloatArray, out: BoolArray, degenerate: bool, masked: BoolArray, compared: BoolArray, free: int, low: bool
) -> float:
    """How many masked places (a) is not met for, and how far each is from a value that would meet it."""
    middle, unit = np.median(v), max(np.abs(v).mean(), _SLACK)
    others, usual = np.sort(v[compared & ~masked]), v[~out]
    limit = others[len(others) - min(2, len(others))] if len(others) else np.inf
    least = usual.min() if len(usual) else 0.0
    most = usual.max() if len(usual) else 0.0
    total = 0.0
    for p in range(len(v)):
        if not masked[p] or (not low and v[p] <= middle):
            continue
        if degenerate:
            if v[p] > limit + _SLACK * abs(limit):
                total += 1.0 + _SLOPE * (v[p] - limit) / unit
        elif out[p]:
            total += 1.0 + _SLOPE * (v[p] - most if v[p] > middle else least - v[p]) / unit
        elif free:
            higher = equal = 0
            for other in range(len(v)):
                if compared[other]:
                    higher += v[other] > v[p]
                    equal += v[other] == v[p]
            rank = higher + (equal + 1) / 2.0
            if rank <= free:
                total += 1.0 + _SLOPE * (free - rank) / free
    return total


@kernel
def excess(
    counted: FloatArray,
    counts: IntArray,
    per: IntArray,
    members: int,
    sizes: FloatArray,
    ranked: BoolArray,
    masked: BoolArray,
    compared: BoolArray,
    taus: FloatArray,
    free: int,
    robust: bool,
    low: bool,
    most: float,
) -> float:
    """All signals judged, and the number of signals in which a place is an outlier; O(S P (P + M))."""
    groups = len(sizes)
    number, total = np.zeros(groups), 0.0
    among = masked[compared]
    m = int(among.sum())
    for s in range(len(counts)):
        v = counted[counts[s]].copy()
        if per[s] == 1:
            v *= 1.0 / sizes
        elif per[s] == 2:
            v *= 1.0 / (counted[members] + FEW)
        out = np.zeros(groups, dtype=np.bool_)
        degenerate = _outliers(v, taus, robust, out)
        middle = np.median(v)
        for p in range(groups):
            number[p] += out[p] and (low or v[p] >= middle)
        total += _exposed(v, out, degenerate, masked, compared, free if ranked[s] else 0, low)
        if ranked[s]:
            total += _from_chance(v[compared], among, m, low, most)
    return total + _from_chance(number[compared], among, m, low, most)
