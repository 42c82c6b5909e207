"""What swaps do to statistics by submicrofile: means of numbers, shares of categories.

Source: science.md section 2, "Swaps"; TC, the task of providing group anonymity, (ii): original and protected microfile
yield similar results.

Notation
--------
======  =======  ============================================================================================
symbol  shape    meaning
======  =======  ============================================================================================
N, P    scalars  in-range records, submicrofiles; swaps keep the size n_k of each
a       (N,)     one attribute
m_k     (P,)     its mean in submicrofile k; change |m_k* - m_k| / sd, sd its deviation over all records
p_kc    (P, C)   share of category c; change 1/2 sum_c |p_kc* - p_kc|, the distance in total variation
======  =======  ============================================================================================
"""

from dataclasses import dataclass

import numpy as np

from surebox_core.types import FloatArray, IntArray


@dataclass(frozen=True)
class RegionalStatistic:
    """Changes of one attribute's statistic.

    Attributes
    ----------
    largest_change : over all submicrofiles.
    region_index : where that is, the first of equals.
    mean_before, mean_after : m_k there; None of a categorical attribute.
    median_change : over the submicrofiles that a record was moved from or to; 0 where there are none.
    """

    largest_change: float
    region_index: int
    mean_before: float | None
    mean_after: float | None
    median_change: float


def regional_changes(
    values: FloatArray, categorical: int, before: IntArray, after: IntArray, moved: IntArray, groups: int
) -> tuple[RegionalStatistic, ...]:
    """Changes of every attribute.

    Parameters
    ----------
    values : (N, A), the categorical attributes first.
    categorical : how many of them are.
    before, after : (N,), submicrofile of each record, in [0, P); each occurs in both equally often.
    moved : rows that may have another submicrofile after.
    groups : P.

    Returns
    -------
    A of them. O(N A + Q A log Q), Q rows moved.

    Raises
    ------
    ValueError
        A submicrofile has another size after.
    """
    sizes = np.bincount(before, minlength=groups)
    if not np.array_equal(sizes, np.bincount(after, minlength=groups)):
        raise ValueError("swaps keep the size of every submicrofile: these do not")
    touched = np.unique(np.concatenate([before[moved], after[moved]]))
    ways = (before[moved], after[moved])
    return tuple(
        _shares(values[moved, place], ways, sizes, touched)
        if place < categorical
        else _means(values[:, place], before, moved, ways, sizes, touched)
        for place in range(values.shape[1])
    )


def _shares(
    moved: FloatArray, ways: tuple[IntArray, IntArray], sizes: IntArray, touched: IntArray
) -> RegionalStatistic:
    """Of those moved alone: all others count before and after."""
    categories, code = np.unique(moved, return_inverse=True)
    counts = [np.bincount(way * len(categories) + code, minlength=len(sizes) * len(categories)) for way in ways]
    gap = np.abs(counts[1] - counts[0]).reshape(len(sizes), -1).sum(axis=1)
    return _statistic(gap / 2.0 / np.maximum(sizes, 1), touched, None)


def _means(
    x: FloatArray,
    before: IntArray,
    moved: IntArray,
    ways: tuple[IntArray, IntArray],
    sizes: IntArray,
    touched: IntArray,
) -> RegionalStatistic:
    spread, groups, each = float(x.std()), len(sizes), np.maximum(sizes, 1)
    came, went = (np.bincount(way, weights=x[moved], minlength=groups) for way in (ways[1], ways[0]))
    first = np.bincount(before, weights=x, minlength=groups) / each
    change = (came - went) / each
    scaled = np.abs(change) / spread if spread > 0.0 else np.zeros(groups)
    return _statistic(scaled, touched, (first, first + change))


def _statistic(change: FloatArray, touched: IntArray, means: tuple[FloatArray, FloatArray] | None) -> RegionalStatistic:
    worst = int(np.argmax(change))
    return RegionalStatistic(
        largest_change=float(change[worst]),
        region_index=worst,
        mean_before=None if means is None else float(means[0][worst]),
        mean_after=None if means is None else float(means[1][worst]),
        median_change=float(np.median(change[touched])) if len(touched) else 0.0,
    )
