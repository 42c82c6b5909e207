"""Whether some places stand out of a profile, high or low, alone or together.

Source: science.md section 7, "Many rules fit the core".

Notation
--------
==========  ======  =====================================================================================
symbol      shape   meaning
==========  ======  =====================================================================================
P, M        scalar  places, and those that must not stand out (masked)
v           (P,)    a signal
AUC         scalar  probability that a masked place has the higher value than another; ties count half
sum a_i     scalar  a statistic that is a sum over the masked places, as AUC is; under random labels its mean is
                    M mean(a), its variance M (P - M) / (P - 1) var(a), exactly, ties and all
precision   scalar  hits among the M highest; under random labels hypergeometric, its tail as a normal deviate
==========  ======  =====================================================================================

(a) No masked place is an outlier, high or low, of the group's own signals: those that the attack itself looks at. Where
the middle half is equal every other value is an outlier by the letter, and to be none of them is a mark itself: there a
masked place has at most the second largest value of the others.
(b) AUC and precision@M, highest and lowest first, are within 2.5 standard deviations of chance: in each family, for the
number of signals of which a place is an outlier, and for every figure of a place's portrait (`signals.portraits`).

Of the other signals masked places may be outliers, or the highest, as random places are: half of all places are an
outlier of some signal, and a place that never is would be marked by that.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from scipy.special import ndtri_exp

from surebox_core.types import BoolArray, FloatArray
from workers.algorithms.groups.signals.evidence import log_choose
from workers.algorithms.groups.signals.outliers import Outliers, Test, thompson_tau
from workers.algorithms.groups.signals.portraits import PORTRAIT, averaged, contrasts, counted_by, portraits
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
    auc_deviation, highest_deviation, lowest_deviation : how far they are from chance, in standard deviations; of
        precision, as a normal deviate of the same tail probability.
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
    def judged(self) -> bool:
        """Return whether (b) is about the signal."""
        return self.signal.name not in UNRANKED and (self.low or self.signal.name not in PORTRAIT)

    @property
    def not_high(self) -> bool:
        """Whether (b) is met as far as it speaks of lying high."""
        most = max(self.auc_deviation, self.highest_deviation, -self.lowest_deviation)
        return not self.judged or most <= MOST_DEVIATIONS

    @property
    def not_low(self) -> bool:
        """Likewise of lying low."""
        most = max(-self.auc_deviation, -self.highest_deviation, self.lowest_deviation)
        return not self.judged or most <= MOST_DEVIATIONS

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
    low : whether lying low is judged too: not where someone demands it. Portraits then are not judged.
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
        """Every signal judged; at the end the number of signals of which a place is an outlier, and its portrait.

        O(S P log P).
        """
        outliers = [self.outliers(one.values) for one in signals]
        out = [self._standing(one, its) for one, its in zip(signals, outliers, strict=True)]
        if signals:
            counted = outlier_count(outliers, len(signals[0].values))
            if not self.low:
                counted -= _low_outliers(signals, outliers)
            number = ProfileSignal("outlier_count", signals[0].alpha, counted)
            out += [self._standing(one, self.outliers(one.values)) for one in (number, *self._portraits(signals))]
        return tuple(out)

    def _portraits(self, signals: Sequence[ProfileSignal]) -> tuple[ProfileSignal, ...]:
        """Combine all ranked signals of a place; places that are known have no rank, and the usual figure."""
        ranked = [one for one in signals if one.name not in UNRANKED]
        if not ranked:
            return ()
        alpha = next((one.alpha for one in signals if one.direct), signals[0].alpha)
        compared = self.others(len(signals[0].values))
        compared[list(self.places)] = True
        if not compared.any():
            return ()
        rank = np.array([ranks(one.values[compared]) for one in ranked])
        figures = portraits(rank, averaged(rank, counted_by(ranked)), contrasts(ranked, alpha))
        out = []
        for name, row in zip(PORTRAIT, figures, strict=True):
            values = np.full(len(compared), float(np.median(row)))
            values[compared] = row
            out.append(ProfileSignal(name, alpha, values))
        return tuple(out)

    def _standing(self, signal: ProfileSignal, outliers: Outliers) -> Standing:
        values = signal.values
        masked = np.zeros(len(values), dtype=np.bool_)
        masked[list(self.places)] = True
        compared = masked | self.others(len(values))
        v, among = values[compared], masked[compared]
        auc, auc_deviation = area(v, among)
        (highest, high), (lowest, low) = (_precision(signed, among) for signed in (v, -v))
        exposed = exposed_places(values, masked, compared, outliers) if signal.direct else frozenset[int]()
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


def exposed_places(values: FloatArray, masked: BoolArray, compared: BoolArray, outliers: Outliers) -> frozenset[int]:
    """Masked places that (a) is not met for.

    Parameters
    ----------
    values : (P,).
    masked, compared : (P,), which places are masked, and those and the others that they are compared with.
    outliers : of the values.
    """
    others = np.sort(values[compared & ~masked])
    if outliers.degenerate:
        limit = float(others[-min(2, len(others))]) if len(others) else math.inf
        return frozenset(np.flatnonzero(masked & (values > limit + _SLACK * abs(limit))).tolist())
    top = np.zeros(len(values), dtype=np.bool_)
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
    share = precision(values, np.flatnonzero(among))
    return share, float(np.interp(share * m, np.arange(m + 1), tails(len(values), m)))


@cache
def tails(count: int, m: int) -> FloatArray:
    """(m + 1,), how far 0 to m masked places among the m highest of `count` are from chance.

    As a normal deviate of the same tail probability: of few places one among the highest is no rare event, though it is
    many standard deviations from the mean.
    """
    hits = np.arange(m + 1)
    chance = log_choose(m, hits) + log_choose(count - m, m - hits) - log_choose(count, m)
    more, less = np.logaddexp.accumulate(chance[::-1])[::-1], np.logaddexp.accumulate(chance)
    above, below = (ndtri_exp(np.minimum(log, 0.0)) for log in (more, less))
    return np.where(above < 0, -above, np.where(below < 0, below, 0.0))


def failing(standings: Iterable[Standing]) -> tuple[Standing, ...]:
    """Those that do not meet both criteria."""
    return tuple(one for one in standings if not one.inconspicuous)


def limit(values: FloatArray, judge: Judge, outliers: Outliers) -> float:
    """The largest value of the others that a masked place may have as well, by (a).

    Parameters
    ----------
    values : (P,), a signal.
    outliers : its outliers.
    """
    others = values[judge.others(len(values))]
    steps = np.unique(others)
    if outliers.degenerate:
        within = steps <= np.sort(others)[-min(2, len(others))]
    else:
        within = steps <= np.delete(values, list(outliers.order)).max(initial=0.0)
    allowed = steps[within]
    return float(allowed[-1]) if len(allowed) else 0.0


def known_among(known: Collection[int], places: Collection[int]) -> tuple[int, ...]:
    """Places that everyone knows and no one masks."""
    return tuple(sorted(set(known) - set(places)))
