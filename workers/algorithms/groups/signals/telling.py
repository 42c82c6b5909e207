"""How much a profile shows of the masked places, as one number, thousands of times a second.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
v           (S, P)  signals, as `signals.criteria` judges them
tau         (P+1,)  critical deviation by the number of elements that are left
excess      scalar  exposed places by (a), and standard deviations beyond what (b) lets pass, over all signals
q           (G, M)  where the masked places lie, from 0 to 1 and ascending, by each of G figures: the B averaged
                    ranks of counts, the number of signals of which a place is an outlier, and K portraits
zeta        (G, M)  the same of places that were drawn by chance: where a search is to end
==========  ======  =====================================================================================

A search for swaps judges the profile after every swap that it tries; `criteria.Judge` comes to the same with all
figures, a hundred times slower. Excess is 0 exactly where it has no signal that fails.

A search that may end anywhere in what (b) lets pass ends where that is cheapest, at its border. So with goals excess
also has by how much q is farther from zeta than is let pass: for each figure the mean of |q - zeta|, and the mean of
q - zeta, in standard deviations of the mean of M uniform numbers.
"""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.groups.signals.criteria import MOST_DEVIATIONS, UNRANKED, Judge, tails
from workers.algorithms.groups.signals.families import Families
from workers.algorithms.groups.signals.outliers import critical
from workers.algorithms.groups.signals.portraits import averaged, contrasts, counted_by, portraits
from workers.algorithms.groups.signals.profile import FEW

_SLACK: Final = 1e-9
#: A deviation beyond what passes counts so much at once, and twice what is beyond: passing is a step, not a slope.
_STEP: Final = 0.3
#: What a place's distance from a value that would pass counts, in means of the signal: next to 1 for being exposed.
_SLOPE: Final = 0.2
#: How far from the goals a search may end, in standard deviations: place by place, and all places together. What it may
#: it does, for it lowers the distortion: in every file the same way, which adds up.
WITHIN: Final = 0.5
_CENTRED: Final = 0.1
#: Sets of random places that are tried for goals.
_DRAWS: Final = 20


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
    direct : (S,), whether (a) is about the signal.
    of, weights : which count each ranked signal is made of, and contrasts (`signals.portraits`).
    tail : (M + 1,), `criteria.tails`.
    robust, low : as the judge's.
    goals : zeta; (0, M) where there are none.
    """

    counts: IntArray
    per: IntArray
    members: int
    sizes: FloatArray
    ranked: BoolArray
    masked: BoolArray
    compared: BoolArray
    taus: FloatArray
    direct: BoolArray
    of: IntArray
    weights: FloatArray
    tail: FloatArray
    robust: bool
    low: bool
    goals: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    def excess(self, counted: FloatArray, most: float = MOST_DEVIATIONS) -> float:
        """Excess of (B, P) counts; `most` deviations from chance pass."""
        return float(
            excess(
                counted, self.counts, self.per, self.members, self.sizes, self.ranked, self.masked, self.compared,
                self.taus, self.direct, self.of, self.weights, self.tail, self.robust, self.low, self.goals, most,
            )
        )  # fmt: skip

    def spread(self, counted: FloatArray) -> FloatArray:
        """(G, M), q of (B, P) counts."""
        values, number, _ = judged(
            counted, self.counts, self.per, self.members, self.sizes, self.masked, self.compared, self.taus,
            self.direct, self.robust, self.low,
        )  # fmt: skip
        among, seen = self.masked[self.compared], values[self.ranked][:, self.compared]
        _, q = beyond_chance(
            seen, number[self.compared], among, self.of, self.weights, self.tail, self.low, MOST_DEVIATIONS
        )
        return np.asarray(q)

    def aiming(self, counted: FloatArray, rng: np.random.Generator) -> tuple["Telling", IntArray]:
        """The same judge with goals, and the random places that they are of: as many as are masked, none of which is.

        Parameters
        ----------
        counted : (B, P), what to expect once swaps are made.
        rng : what chance decides. Places that (b) would not let pass are drawn again.
        """
        others, m = np.flatnonzero(self.compared & ~self.masked), int(self.masked.sum())
        if len(others) <= m:
            return self, others
        random = replace(self, compared=self.compared & ~self.masked, tail=tails(len(others), m))
        random = replace(random, direct=np.zeros_like(self.direct))
        best, places, least = self, others[:m], np.inf
        for _ in range(_DRAWS):
            drawn = np.sort(rng.choice(others, m, replace=False))
            masked = np.zeros_like(self.masked)
            masked[drawn] = True
            trial = replace(random, masked=masked)
            beyond = trial.excess(counted, MOST_DEVIATIONS - WITHIN)
            if beyond < least:
                best, places, least = replace(self, goals=trial.spread(counted)), drawn, beyond
            if not beyond:
                break
        return (best if self.low else self), places


def telling(families: Families, judge: Judge, sizes: IntArray) -> Telling:
    """A judge of some families, as arrays; `sizes` are the (P,) in-range records."""
    groups = len(sizes)
    masked = np.zeros(groups, dtype=np.bool_)
    masked[list(judge.places)] = True
    others = judge.others(groups)
    ranked = [one for one in families.described(np.zeros((len(families.signals), groups))) if one.name not in UNRANKED]
    return Telling(
        counts=np.array([one.count for one in families.signals], dtype=np.int64),
        per=np.array([{None: 0, "record": 1, "member": 2}[one.per] for one in families.signals], dtype=np.int64),
        members=families.members,
        sizes=np.maximum(sizes, 1).astype(np.float64),
        ranked=np.array([one.name not in UNRANKED for one in families.signals]),
        masked=masked,
        compared=masked | others,
        taus=np.array([critical(max(m, 3), judge.significance, judge.test) for m in range(groups + 1)]),
        direct=np.array([one.direct for one in families.signals]),
        of=counted_by(ranked),
        weights=contrasts(ranked, families.counts[families.members].alpha),
        tail=tails(int((masked | others).sum()), int(masked.sum())),
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
def _among(ordered: FloatArray, v: FloatArray, among: BoolArray, m: int, tail: FloatArray, highest: bool) -> float:
    """Measure how far masked places among the m highest, or lowest, are from chance (`criteria._precision`)."""
    border = ordered[len(v) - m] if highest else ordered[m - 1]
    beyond = at = mine_beyond = mine_at = 0
    for i in range(len(v)):
        is_beyond, is_at = (v[i] > border if highest else v[i] < border), v[i] == border
        beyond, at = beyond + is_beyond, at + is_at
        mine_beyond, mine_at = mine_beyond + (among[i] and is_beyond), mine_at + (among[i] and is_at)
    hits = mine_beyond + mine_at * (m - beyond) / at
    below = min(int(hits), m - 1)
    deviate: float = tail[below] + (hits - below) * (tail[below + 1] - tail[below])
    return deviate


@inner_kernel
def _ascending(ordered: FloatArray, v: FloatArray) -> FloatArray:
    """Ranks from the smallest value, equals sharing the mean of theirs."""
    first, last = np.searchsorted(ordered, v), np.searchsorted(ordered, v, side="right")
    return (first + last + 1).astype(np.float64) / 2.0


@inner_kernel
def _from_chance(
    v: FloatArray, among: BoolArray, m: int, tail: FloatArray, low: bool, most: float
) -> tuple[float, FloatArray]:
    """By how much (b) is not met, and ranks; `v` and `among` are of the places that are compared."""
    ordered = np.sort(v)
    ascending = _ascending(ordered, v)
    area = _deviation(ascending, among, m)
    high, least = _among(ordered, v, among, m, tail, True), _among(ordered, v, among, m, tail, False)
    worst = max(area, high, -least)
    if low:
        worst = max(worst, -area, -high, least)
    return (_STEP + 2.0 * (worst - most) if worst > most else 0.0), ascending


@inner_kernel
def _exposed(
    v: FloatArray, out: BoolArray, degenerate: bool, masked: BoolArray, compared: BoolArray, low: bool
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
    return total


@kernel
def judged(
    counted: FloatArray,
    counts: IntArray,
    per: IntArray,
    members: int,
    sizes: FloatArray,
    masked: BoolArray,
    compared: BoolArray,
    taus: FloatArray,
    direct: BoolArray,
    robust: bool,
    low: bool,
) -> tuple[FloatArray, FloatArray, float]:
    """Signals (S, P), the number of those of which each place is an outlier, and how much (a) is not met."""
    groups, total = len(sizes), 0.0
    values, number = np.empty((len(counts), groups)), np.zeros(groups)
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
        if direct[s]:
            total += _exposed(v, out, degenerate, masked, compared, low)
        values[s] = v
    return values, number, total


@kernel
def beyond_chance(
    values: FloatArray,
    number: FloatArray,
    among: BoolArray,
    of: IntArray,
    weights: FloatArray,
    tail: FloatArray,
    low: bool,
    most: float,
) -> tuple[float, FloatArray]:
    """By how much (b) is not met, and q; `values` are (S, n) ranked signals of the places that are compared."""
    m, total = int(among.sum()), 0.0
    rank = np.empty(values.shape)
    for s in range(len(values)):
        beyond, ascending = _from_chance(values[s], among, m, tail, low, most)
        rank[s] = values.shape[1] + 1.0 - ascending
        total += beyond
    mean = averaged(rank, of)
    figures = portraits(rank, mean, weights)
    counts, n = mean.shape
    q = np.empty((counts + 1 + len(figures), m))
    for b in range(counts):
        q[b] = np.sort(_ascending(np.sort(-mean[b]), -mean[b])[among])
    beyond, ascending = _from_chance(number, among, m, tail, low, most)
    total += beyond
    q[counts] = np.sort(ascending[among])
    for k in range(len(figures)):
        beyond, ascending = _from_chance(figures[k], among, m, tail, low, most)
        total += beyond if low else 0.0
        q[counts + 1 + k] = np.sort(ascending[among])
    return total, (q - 0.5) / n


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
    direct: BoolArray,
    of: IntArray,
    weights: FloatArray,
    tail: FloatArray,
    robust: bool,
    low: bool,
    goals: FloatArray,
    most: float,
) -> float:
    """All signals judged, the number of signals of which a place is an outlier, and portraits; O(S P (P + M))."""
    values, number, total = judged(counted, counts, per, members, sizes, masked, compared, taus, direct, robust, low)
    among = masked[compared]
    m = int(among.sum())
    if m == 0 or m == len(among):
        return total
    seen = np.empty((int(ranked.sum()), len(among)))
    at = 0
    for s in range(len(counts)):
        if ranked[s]:
            seen[at] = values[s][compared]
            at += 1
    beyond, q = beyond_chance(seen, number[compared], among, of, weights, tail, low, most)
    total += beyond
    for g in range(len(goals)):
        apart, unit = q[g] - goals[g], np.sqrt(12.0 * m)
        total += max(0.0, np.abs(apart).mean() * unit - WITHIN) + max(0.0, abs(apart.mean()) * unit - _CENTRED)
    return total
