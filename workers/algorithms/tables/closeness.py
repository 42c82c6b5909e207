"""What a class reveals of a sensitive value: diversity, closeness to the whole table, and likeness.

Notation
--------
p_v : share of value v in a class (or neighbourhood); q_v : its share in the whole table. m : values, in order.
r_1 >= r_2 >= ... : how many records of a class have its values, most frequent first.
alpha = max p_v. distinct l = values with p_v > 0. entropy l = exp(-sum p_v ln p_v).
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
    distinct : (G,) values.
    top : (G,) share of the most frequent one.
    entropy : (G,) natural logarithm.
    equal, ordered : (G,) distances to the whole table.
    delta, beta : (G,).
    excess : (G,) largest (p - q) / q less its own -ln q, over values with p > q; enhanced likeness fails above 0.
    """

    distinct: IntArray
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
    out: FloatArray,
) -> None:
    """All measures of all classes; above = Q_v, sums_v = Q_0 + ... + Q_{v-1}."""
    m = len(q)
    for g in range(len(start) - 1):
        total = 0
        for e in range(start[g], start[g + 1]):
            total += count[e]
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
            top = max(top, p)
            entropy -= p * np.log(p)
            delta = max(delta, abs(np.log(p / share)))
            if p > share:
                equal += p - share
                beta = max(beta, (p - share) / share)
                excess = max(excess, (p - share) / share + np.log(share))
        out[g, 0] = start[g + 1] - start[g]
        out[g, 1] = top
        out[g, 2] = entropy
        out[g, 3] = equal
        out[g, 4] = ordered / (m - 1) if m > 1 else 0.0
        out[g, 5] = delta
        out[g, 6] = beta
        out[g, 7] = excess


def closeness(parts: Iterable[Histograms], shares: FloatArray, number: int) -> Closeness:
    """Measures of every class.

    Parameters
    ----------
    parts : histograms that together contain each class once.
    shares : (m,) q, positive, values in their order.
    number : G.

    Returns
    -------
    Closeness
        O(E log m) for E entries.
    """
    above = np.cumsum(shares)
    sums = np.concatenate([[0.0], np.cumsum(above)])
    whole = np.empty((number, 8))
    for part in parts:
        out = np.empty((len(part.classes), 8))
        _measure(part.start, part.value, part.count, shares, above, sums, out)
        whole[part.classes] = out
    return Closeness(whole[:, 0].astype(np.int64), *np.ascontiguousarray(whole[:, 1:].T))


def recursive_c(parts: Iterable[Histograms], least: int) -> float:
    """The number above which every c makes the table recursively (c, l)-diverse.

    Parameters
    ----------
    parts : histograms that together contain each class once.
    least : l, at most the values of every class.

    Returns
    -------
    float
        The largest r_1 / (r_l + r_{l+1} + ...). O(E log E).
    """
    worst = 0.0
    for part in parts:
        of_class = np.repeat(np.arange(len(part.classes)), np.diff(part.start))
        count = part.count[np.lexsort((-part.count, of_class))].astype(np.float64)
        tail = np.add.reduceat(
            np.append(count, 0.0), np.column_stack([part.start[:-1] + least - 1, part.start[1:]]).ravel()
        )
        worst = max(worst, float((count[part.start[:-1]] / tail[::2]).max(initial=0.0)))
    return worst


def certain(measures: Closeness, size: IntArray, level: float = 1.0) -> float:
    """Share of records whose class gives one value a share of at least `level`."""
    revealed: BoolArray = measures.top >= level
    return float(size[revealed].sum() / max(size.sum(), 1))
