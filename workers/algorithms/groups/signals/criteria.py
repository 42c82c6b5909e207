"""Whether some places stand out of a profile, high or low, alone or together.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
P, M        scalar  places, and those that must not stand out (masked)
v           (P,)    a signal
T           scalar  the largest t <= M for which no masked place among t ranks is within 2.5 deviations of chance
AUC         scalar  probability that a masked place has the higher value than another; ties count half
sum a_i     scalar  a statistic that is a sum over the masked places; under random labels its mean is M mean(a),
                    its variance M (P - M) / (P - 1) var(a), exactly, ties and all
==========  ======  =====================================================================================

(a) No masked place is an outlier of a signal, high or low, nor in a family of nested sets among the ranks 1 to T (of
equals the mean). Where the middle half is equal every other value is an outlier by the letter, and to be none of them
is a mark itself: there a masked place has at most the second largest value of the others.
(b) AUC and precision@M, highest and lowest first, are within 2.5 standard deviations of chance, in each family and for
the number of signals of which a place is an outlier. T is M unless many places are masked: of 80 up to 17. None of
more masked places among as many highest values would be a mark by (b).
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.groups.signals.outliers import Outliers, Test, thompson_tau
from workers.algorithms.groups.signals.profile import ProfileSignal, SignalName, precision, ranks

#: Standard deviations from chance that are let pass.
MOST_DEVIATIONS: Final = 2.5
#: Signals that are no families of nested sets: outliers of them reveal; their ranks are reported, and not judged.
UNRANKED: Final[frozenset[SignalName]] = frozenset({"sum", "near", "near_ratio"})
#: Relative slack of comparisons between shares and sums.
_SLACK: Final = 1e-9


@dataclass(frozen=True)
class Standing:
    """What a signal states about the masked places.

    Attributes
    ----------
    signal : the signal.
    outliers : its outliers, high or low.
    exposed : masked places that (a) is not met for.
    auc, highest, lowest : AUC, and precision@M among the highest and the lowest values.
    auc_deviation, highest_deviation, lowest_deviation : how far they are from chance, in standard deviations.
    low : whether lying low is judged too.
    """

    signal: ProfileSignal
    outliers: Outliers
    exposed: frozenset[int]
    auc: float
    highest: float
    lowest: float
    auc_deviation: float
    highest_deviation: float
    lowest_deviation: float
    low: bool

    @property
    def not_high(self) -> bool:
        """Whether (b) is met as far as it speaks of lying high."""
        most = max(self.auc_deviation, self.highest_deviation, -self.lowest_deviation)
        return self.signal.name in UNRANKED or most <= MOST_DEVIATIONS

    @property
    def not_low(self) -> bool:
        """Likewise of lying low."""
        most = max(-self.auc_deviation, -self.highest_deviation, self.lowest_deviation)
        return self.signal.name in UNRANKED or most <= MOST_DEVIATIONS

    @property
    def by_chance(self) -> bool:
        """Whether (b) is met."""
        return self.not_high and (self.not_low or not self.low)

    @property
    def inconspicuous(self) -> bool:
        """Whether both are met."""
        return self.by_chance and not self.exposed


@dataclass(frozen=True)
class Judge:
    """Who must not stand out, and how that is judged.

    Attributes
    ----------
    places : M masked places, at least one.
    known : places that everyone knows: left out where others are compared.
    significance, robust : of the outliers.
    low : whether lying low is judged too: not where someone demands it.
    test : of the outliers.
    """

    places: tuple[int, ...]
    known: tuple[int, ...]
    significance: float
    robust: bool
    low: bool = True
    test: Test = "thompson_tau"

    def others(self, groups: int) -> BoolArray:
        """(P,), places that are neither masked nor known."""
        out = np.ones(groups, dtype=np.bool_)
        out[[*self.places, *self.known]] = False
        return out

    def outliers(self, values: FloatArray) -> Outliers:
        """Of a signal."""
        return thompson_tau(values, alpha=self.significance, robust=self.robust, test=self.test)

    def standings(self, signals: Sequence[ProfileSignal]) -> tuple[Standing, ...]:
        """Every signal judged, and at the end the number of signals in which a place is an outlier (`outlier_count`).

        O(S P log P).
        """
        outliers = [self.outliers(one.values) for one in signals]
        out = [self._standing(one, its, exposing=True) for one, its in zip(signals, outliers, strict=True)]
        if signals:
            counted = outlier_count(outliers, len(signals[0].values))
            if not self.low:
                counted -= _low_outliers(signals, outliers)
            number = ProfileSignal("outlier_count", signals[0].alpha, counted)
            out.append(self._standing(number, self.outliers(number.values), exposing=False))
        return tuple(out)

    def _standing(self, signal: ProfileSignal, outliers: Outliers, *, exposing: bool) -> Standing:
        values = signal.values
        masked = np.zeros(len(values), dtype=np.bool_)
        masked[list(self.places)] = True
        compared = masked | self.others(len(values))
        v, among = values[compared], masked[compared]
        auc, auc_deviation = area(v, among)
        (highest, high), (lowest, low) = (_precision(signed, among) for signed in (v, -v))
        ranked = signal.name not in UNRANKED
        exposed = exposed_places(values, masked, compared, outliers, ranked=ranked) if exposing else frozenset[int]()
        if not self.low:
            exposed = frozenset(place for place in exposed if values[place] > np.median(values))
        return Standing(signal, outliers, exposed, auc, highest, lowest, auc_deviation, high, low, self.low)


def outlier_count(outliers: Iterable[Outliers], groups: int) -> FloatArray:
    """(P,), of how many signals each place is an outlier."""
    number = np.zeros(groups)
    for one in outliers:
        number[list(one.order)] += 1.0
    return number


def _low_outliers(signals: Sequence[ProfileSignal], outliers: Iterable[Outliers]) -> FloatArray:
    """(P,), of how many signals each place is an outlier below the median."""
    number = np.zeros(len(signals[0].values))
    for one, its in zip(signals, outliers, strict=True):
        some = np.array(its.order, dtype=np.int64)
        number[some[one.values[some] < np.median(one.values)]] += 1.0
    return number


def free_ranks(masked: int, others: int) -> int:
    """T, how many of the highest ranks must belong to others: those that chance may leave to them."""
    count = masked + others
    share = masked / max(1, count)
    for free in range(min(masked, others), 0, -1):
        variance = free * share * (1.0 - share) * (count - free) / max(1, count - 1)
        if free * share <= MOST_DEVIATIONS * math.sqrt(variance):
            return free
    return 0


def exposed_places(
    values: FloatArray, masked: BoolArray, compared: BoolArray, outliers: Outliers, *, ranked: bool
) -> frozenset[int]:
    """Masked places that (a) is not met for.

    Parameters
    ----------
    values : (P,).
    masked, compared : (P,), which places are masked, and those and the others that they are compared with.
    outliers : of the values.
    ranked : whether ranks count.
    """
    others = np.sort(values[compared & ~masked])
    if outliers.degenerate:
        limit = float(others[-min(2, len(others))]) if len(others) else math.inf
        return frozenset(np.flatnonzero(masked & (values > limit + _SLACK * abs(limit))).tolist())
    rank = np.full(len(values), np.inf)
    rank[compared] = ranks(values[compared])
    top = rank <= (free_ranks(int(masked.sum()), len(others)) if ranked else 0)
    top[list(outliers.order)] = True
    return frozenset(np.flatnonzero(masked & top).tolist())


def area(values: FloatArray, among: BoolArray) -> tuple[float, float]:
    """AUC of some places against the others, and its distance from 1/2 in standard deviations.

    Parameters
    ----------
    values, among : (P,), a signal, and which places are meant.

    Notes
    -----
    Mann and Whitney's U over M (P - M), from the ranks of all, equals sharing the mean of theirs.
    """
    m, n = int(among.sum()), int((~among).sum())
    if not m or not n:
        return 0.5, 0.0
    ascending = len(values) + 1 - ranks(values)
    auc = float(ascending[among].sum() - m * (m + 1) / 2) / (m * n)
    return auc, deviation(ascending, among)


def deviation(scores: FloatArray, among: BoolArray) -> float:
    """How far the sum of some places' scores is from that of random places, in standard deviations; 0 if it cannot.

    Exact moments of a sum over a sample without replacement, whatever ties there are.
    """
    count, m = len(scores), int(among.sum())
    variance = m * (count - m) / max(1, count - 1) * float(scores.var())
    difference = float(scores[among].sum()) - m * float(scores.mean())
    scale = float(np.abs(scores).max(initial=0.0)) * max(1, m)
    return difference / math.sqrt(variance) if variance > (_SLACK * scale) ** 2 else 0.0


def _precision(values: FloatArray, among: BoolArray) -> tuple[float, float]:
    """Precision@M among the highest values, and its distance from chance; 0 where no place is meant."""
    m = int(among.sum())
    if not m:
        return 0.0, 0.0
    border = np.sort(values)[len(values) - m]
    above, at = values > border, values == border
    scores = (above + at * ((m - int(above.sum())) / int(at.sum()))) / m
    return precision(values, np.flatnonzero(among)), deviation(scores, among)


def failing(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Those that do not meet both criteria."""
    return tuple(one for one in standings if not one.inconspicuous)


def limit(values: FloatArray, judge: Judge, outliers: Outliers, *, ranked: bool, lower: int = 0) -> float:
    """The largest value of the others that a masked place may have as well, by (a).

    Parameters
    ----------
    values : (P,), a signal.
    outliers : its outliers.
    ranked : whether ranks count.
    lower : by how many distinct values of the others it is to be lower than that; 0 at the least.
    """
    others = values[judge.others(len(values))]
    steps = np.unique(others)
    if outliers.degenerate:
        within = steps <= np.sort(others)[-min(2, len(others))]
    else:
        usual = np.delete(values, list(outliers.order)).max(initial=0.0)
        masked = values[list(judge.places)]
        every = np.sort(np.concatenate([others, masked]))
        first, last = (np.searchsorted(every, steps, side=side) for side in ("left", "right"))
        joining = 1 - np.isin(steps, masked)  # the first masked place next to its equals
        rank = len(every) - last + (last - first + joining + 1) / 2
        free = free_ranks(len(masked), len(others)) if ranked else 0
        within = (steps <= usual) & (rank > free)
    allowed = steps[within]
    return float(allowed[-1 - min(lower, len(allowed) - 1)]) if len(allowed) else 0.0


def known_among(known: Collection[int], places: Collection[int]) -> tuple[int, ...]:
    """Places that everyone knows and no one masks."""
    return tuple(sorted(set(known) - set(places)))
