"""Outliers of a signal by the modified Thompson tau technique or by Grubbs' test.

Source: science.md section 2, "Outliers"; TC equations 4 to 8; Grubbs 1969.

Notation
--------
======  =======  ==========================================================================================
symbol  shape    meaning
======  =======  ==========================================================================================
q       (P,)     the signal, in records (or any unit)
m       scalar   elements left
M, s    scalars  centre and spread of those left: median and IQR / 1.349, or mean and standard deviation
t       scalar   two-sided critical value of Student's distribution, m - 2 degrees of freedom
tau     scalar   t (m - 1) / (sqrt(m) sqrt(m - 2 + t^2))
G       scalar   Grubbs: the same with t at alpha / (2 m), since the largest of m deviations is looked at
OUT_e   set      outliers less those that an expert excludes
======  =======  ==========================================================================================

One element is removed at a time: the one that deviates most. Of equal deviations the larger value goes first, of equal
values the one at the lower index (the technique does not state; high elements are those that give a group away).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from surebox_core.types import FloatArray, IntArray

Test: TypeAlias = Literal["thompson_tau", "grubbs"]

#: IQR of a normal distribution in standard deviations, as the paper rounds it (TC 8).
_IQR_OF_NORMAL = 1.349


@dataclass(frozen=True)
class Outliers:
    """Elements of a signal that stand out.

    Attributes
    ----------
    indexes : OUT_e, ascending.
    order : OUT in order of removal, with those that the expert excludes.
    degenerate : whether an element was removed while the spread was 0 (the middle half of the signal is equal, so that
        every different element is an outlier by the letter).
    """

    indexes: tuple[int, ...]
    order: tuple[int, ...]
    degenerate: bool


def thompson_tau(
    signal: FloatArray | IntArray,
    *,
    alpha: float,
    robust: bool,
    exclude: Iterable[int] = (),
    test: Test = "thompson_tau",
) -> Outliers:
    """Outliers by the modified Thompson tau technique, or by Grubbs' test repeated.

    Parameters
    ----------
    signal : (P,), finite.
    alpha : significance level, in (0, 1).
    robust : median and IQR / 1.349 (TC 7, 8), or mean and sample standard deviation (TC 4).
    exclude : indexes that an expert considers unimportant; they take part in the test and are left out of OUT_e.
    test : which critical value. Grubbs' is of mean and deviation; `robust` takes its critical value too.

    Returns
    -------
    Outliers

    Raises
    ------
    ValueError
        A value is not finite, alpha is out of range, or an excluded index does not exist.

    Notes
    -----
    TC equations 4 to 8. Stops at m <= 2, where no degrees of freedom are left. O(P log P), classical O(P^2).
    """
    values = np.asarray(signal, dtype=np.float64)
    left_out = frozenset(exclude)
    _check(values, alpha, left_out)
    ranks = np.lexsort((-np.arange(len(values)), values))  # ascending; of equals the lower index nearer to the top
    ordered = values[ranks]
    low, high = 0, len(ordered)
    order: list[int] = []
    degenerate = False
    while high - low > 2:
        left = ordered[low:high]
        centre, spread = _robust(left) if robust else (float(left.mean()), float(left.std(ddof=1)))
        below, above = centre - left[0], left[-1] - centre  # TC 5: the largest deviation is at one of the ends
        if max(below, above) <= critical(len(left), alpha, test) * spread:
            break
        degenerate = degenerate or spread == 0.0
        if above >= below:
            high -= 1
            order.append(int(ranks[high]))
        else:
            last = int(np.searchsorted(ordered[low:high], ordered[low], side="right")) + low - 1
            ranks[low : last + 1] = np.roll(ranks[low : last + 1], 1)  # the lowest index of the equals is last
            order.append(int(ranks[low]))
            low += 1
    return Outliers(tuple(sorted(set(order) - left_out)), tuple(order), degenerate)


def critical(m: int, alpha: float, test: Test) -> float:
    """Critical deviation of a test."""
    return tau(m, alpha) if test == "thompson_tau" else grubbs(m, alpha)


def grubbs(m: int, alpha: float) -> float:
    """Critical deviation of Grubbs' two-sided test, in units of the spread, for m > 2 elements (Grubbs 1969)."""
    return tau(m, alpha / m)  # (m - 1)/sqrt(m) sqrt(t^2 / (m - 2 + t^2)), t at alpha / (2 m)


def tau(m: int, alpha: float) -> float:
    """Critical deviation in units of the spread, for m > 2 elements (TC 6)."""
    t = -float(stdtrit(m - 2, 0.5 * alpha))  # by the lower tail: 1 - alpha / 2 is 1 in floating point for a small alpha
    share = t / math.hypot(t, math.sqrt(m - 2)) if math.isfinite(t) else 1.0
    return share * (m - 1) / math.sqrt(m)


def _robust(ordered: FloatArray) -> tuple[float, float]:
    m = len(ordered)
    half = (m + 1) // 2  # TC 8: m odd, each half includes the middle element
    spread = _median(ordered[m - half :]) - _median(ordered[:half])
    return _median(ordered), spread / _IQR_OF_NORMAL


def _median(ordered: FloatArray) -> float:
    m = len(ordered)
    return float(ordered[m // 2]) if m % 2 else float(ordered[m // 2 - 1] + ordered[m // 2]) / 2.0  # TC 7


def _check(values: FloatArray, alpha: float, exclude: frozenset[int]) -> None:
    if values.ndim != 1 or not np.all(np.isfinite(values)):
        raise ValueError("the signal must be a vector of finite numbers")
    if not 0.0 < alpha < 1.0:
        raise ValueError(f"alpha must be in (0, 1), not {alpha}")
    if any(not 0 <= index < len(values) for index in exclude):
        raise ValueError(f"an excluded index is outside [0, {len(values)})")
