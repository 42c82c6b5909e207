"""What a class reveals of a sensitive value: diversity, closeness to the whole table, and likeness.

Notation
--------
p_v : share of value v in a class (or neighbourhood); q_v : its share in the whole table. m : values, in order; a
    missing one is one more.
g_v : share of value v among the records of a class that have one. r_1 >= r_2 >= ... : how many have its values, most
    frequent first. A missing value hides nobody and is none of these.
alpha = max g_v. distinct l = values with g_v > 0. entropy l = exp(-sum g_v ln g_v).
recursive: r_1 < c (r_l + r_{l+1} + ...): (c, l)-diverse for every c above the largest r_1 / (r_l + ...).
t, equal distance: 1/2 sum |p_v - q_v|; ordered distance: 1/(m - 1) sum_v |P_v - Q_v|, P and Q cumulated.
delta: max |ln(p_v / q_v)| over values of the class. beta, basic: max (p_v - q_v) / q_v.
enhanced beta-likeness asks (p_v - q_v) / q_v <= min(beta, -ln q_v).

Machanavajjhala et al. 2007 (l), Wong et al. 2006 (alpha), Li et al. 2007 (t), Brickell and Shmatikov 2008 (delta),
Cao and Karras 2012 (beta).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.tables.matching import Histograms


@dataclass(frozen=True)
class Closeness:
    """Measures of one sensitive column, by class.

    Attributes
    ----------
    distinct, present : (G,) values; and with the missing one, where it occurs.
    top : (G,) share of the most frequent one; 0 where there is none.
    entropy : (G,) natural logarithm; minus infinity where there is none.
    equal, ordered : (G,) distances to the whole table.
    delta, beta : (G,).
    excess : (G,) largest (p - q) / q less its own -ln q, over values with p > q; enhanced likeness fails above 0.
    """

    distinct: IntArray
    present: IntArray
    top: FloatArray
    entropy: FloatArray
    equal: FloatArray
    ordered: FloatArray
    delta: FloatArray
    beta: FloatArray
    excess: FloatArray


@kernel
def _measure(
    start: IntArray,
    value: IntArray,
    count: IntArray,
    q: FloatArray,
    above: FloatArray,
    sums: FloatArray,
    first: int,
    out: FloatArray,
) -> None:
    """All measures of all classes; above = Q_v, sums_v = Q_0 + ... + Q_{v-1}; values below `first` are missing."""
    m = len(q)
    for g in range(len(start) - 1):
        total, known, distinct = 0, 0, 0
        for e in range(start[g], start[g + 1]):
            total += count[e]
            if value[e] >= first:
                known += count[e]
                distinct += 1
        top, entropy, equal, ordered, delta, beta, excess = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -np.inf
        reached = 0.0  # P up to the entry before
        before = 0  # values below this one are done
        for e in range(start[g], start[g + 1] + 1):
            upto = value[e] if e < start[g + 1] else m - 1
            # sum over v in [before, upto) of |reached - Q_v|: Q grows, so that it crosses once
            low, high = before, upto
            while low < high:
                middle = (low + high) // 2
                if above[middle] <= reached:
                    low = middle + 1
                else:
                    high = middle
            ordered += reached * (low - before) - (sums[low] - sums[before])
            ordered += (sums[upto] - sums[low]) - reached * (upto - low)
            if e == start[g + 1]:
                break
            p, share = count[e] / total, q[value[e]]
            reached += p
            before = upto
            if value[e] >= first:
                g_v = count[e] / known
                top = max(top, g_v)
                entropy -= g_v * np.log(g_v)
            delta = max(delta, abs(np.log(p / share)))
            if p > share:
                equal += p - share
                beta = max(beta, (p - share) / share)
                excess = max(excess, (p - share) / share + np.log(share))
        out[g, 0] = distinct
        out[g, 1] = top
        out[g, 2] = entropy if distinct > 0 else -np.inf
        out[g, 3] = equal
        out[g, 4] = ordered / (m - 1) if m > 1 else 0.0
        out[g, 5] = delta
        out[g, 6] = beta
        out[g, 7] = excess
        out[g, 8] = start[g + 1] - start[g]


def closeness(parts: Iterable[Histograms], shares: FloatArray, number: int, *, missing: bool = False) -> Closeness:
    """Measures of every class.

    Parameters
    ----------
    parts : histograms that together contain each class once.
    shares : (m,) q, positive, values in their order.
    number : G.
    missing : whether the first value is the missing one.

    Returns
    -------
    Closeness
        O(E log m) for E entries.
    """
    above = np.cumsum(shares)
    sums = np.concatenate([[0.0], np.cumsum(above)])
    whole = np.empty((number, 9))
    for part in parts:
        out = np.empty((len(part.classes), 9))
        _measure(part.start, part.value, part.count, shares, above, sums, int(missing), out)
        whole[part.classes] = out
    return Closeness(whole[:, 0].astype(np.int64), whole[:, 8].astype(np.int64), *np.ascontiguousarray(whole[:, 1:8].T))


def recursive_c(parts: Iterable[Histograms], least: int, *, missing: bool = False) -> float:
    """The number above which every c makes the table recursively (c, l)-diverse.

    Parameters
    ----------
    parts : histograms that together contain each class once.
    least : l, at most the values of every class that has any.
    missing : whether the first value is the missing one.

    Returns
    -------
    float
        The largest r_1 / (r_l + r_{l+1} + ...). O(E log E).
    """
    worst = 0.0
    for part in parts:
        of_class = np.repeat(np.arange(len(part.classes)), np.diff(part.start))
        known = part.value >= int(missing)
        of_class, count = of_class[known], part.count[known]
        if not len(count):
            continue
        count = count[np.lexsort((-count, of_class))].astype(np.float64)
        start = np.flatnonzero(np.diff(of_class, prepend=-1))
        ends = np.append(start[1:], len(count))
        tail = np.add.reduceat(np.append(count, 0.0), np.column_stack([start + least - 1, ends]).ravel())
        worst = max(worst, float((count[start] / tail[::2]).max(initial=0.0)))
    return worst


def certain(measures: Closeness, size: IntArray, level: float = 1.0) -> float:
    """Share of records whose class gives one value a share of at least `level`."""
    revealed: BoolArray = measures.top >= level
    return float(size[revealed].sum() / max(size.sum(), 1))
