"""What published rows give away: values that all rows of a class share, and bounds that leave a single value.

Notation
--------
N : rows; their class: the published part of them next to the value. p_v, q_v as in tables.closeness.
certain, nearly certain : rows of classes in which one value that is not missing has a share of 1, of at least 0.9.
CAP : mean over rows of the share that a row's own value has in its class: how often a guess drawn from the class is
    right; baseline: the same with the whole table as one class.
t : distance of a class to the whole table, as boxes demand it: of values without order a missing one is one more value;
    of ranks, among rows that have a value (workers.algorithms.boxes.partition.constraints.t_closeness).
above : rows of classes in which one value has more than 0.6 of the rows that have one.
points : values of a column of step w within [lo, hi]; one only is a determined cell.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray
from workers.algorithms.tables.classes import grouped
from workers.algorithms.tables.closeness import closeness
from workers.algorithms.tables.matching import Histograms, histograms

NEARLY: Final = 0.9
_ROUNDING: Final = 1e-9  # of a bound, within which it may be a multiple of a step that is not whole


@dataclass(frozen=True)
class Homogeneity:
    """What classes reveal of one column.

    Attributes
    ----------
    share_certain, share_nearly_certain : of the rows.
    t : largest distance of a class to the whole table.
    attribution, baseline : CAP, and what it were without classes.
    least_values, largest_share : fewest values that are not missing in a class, and the largest share
        that one of them has among those of a class.
    share_above_60_percent : of the rows, missing ones too, those in classes where that share is above 0.6.
    """

    share_certain: float
    share_nearly_certain: float
    t: float
    attribution: float
    baseline: float
    least_values: int
    largest_share: float
    share_above_60_percent: float


def homogeneity(of_class: IntArray, value: IntArray, *, ranks: int | None = None) -> Homogeneity:
    """What rows published together reveal of a value.

    Parameters
    ----------
    of_class : (N,) number of the published part next to the value, from 0 on; N at least 1.
    value : (N,) codes from 0 on, without gaps; -1 where missing. With `ranks` some need not occur.
    ranks : m, values of a column whose codes are in the order of the values; None: they have none.

    Returns
    -------
    Homogeneity
        O(N log N).
    """
    classes = grouped(of_class)
    held = histograms(classes, value + 1)
    missing = bool((value < 0).any())
    shares = np.bincount(value + (1 if missing else 0)) / len(value)
    shifted = held if missing else Histograms(held.classes, held.start, held.value - 1, held.count)
    if ranks is None:
        t = float(closeness([shifted], shares, len(classes.size)).equal.max())
    else:
        t = _moved(of_class[value >= 0], value[value >= 0], ranks)
    counts = np.where(held.value > 0, held.count, 0)
    top = np.maximum.reduceat(counts, held.start[:-1])
    present = np.add.reduceat(counts, held.start[:-1])
    of_entry = np.repeat(classes.size, np.diff(held.start))
    rows = float(len(value))
    return Homogeneity(
        share_certain=float(classes.size[top == classes.size].sum() / rows),
        share_nearly_certain=float(classes.size[top >= NEARLY * classes.size].sum() / rows),
        t=t,
        attribution=float((held.count**2 / of_entry).sum() / rows),
        baseline=float((shares**2).sum()),
        least_values=int(np.add.reduceat((held.value > 0).astype(np.int64), held.start[:-1]).min()),
        largest_share=float((top / np.maximum(present, 1)).max()),
        share_above_60_percent=float(classes.size[5 * top > 3 * present].sum() / rows),
    )


def _moved(of_class: IntArray, rank: IntArray, ranks: int) -> float:
    """Largest earth mover's distance of a class, where each has a value."""
    if not len(rank):
        return 0.0
    classes = grouped(of_class)
    shares = np.bincount(rank, minlength=ranks) / len(rank)
    return float(closeness([histograms(classes, rank)], shares, len(classes.size)).ordered.max())


def points(lower: FloatArray, upper: FloatArray, step: FloatArray, closed: BoolArray) -> FloatArray:
    """How many values bounds leave.

    Parameters
    ----------
    lower, upper : (B, n) bounds; NaN where a value is published as missing.
    step : (n,) 1 for whole numbers and days, w for a grid from 0 on; 0 for numbers of any kind.
    closed : (B, n) whether the upper bound itself may be the value; the lower one always may.

    Returns
    -------
    (B, n), infinite for numbers of any kind between different bounds, 1 where bounds are equal, NaN where they are.
    """
    unit = np.where(step > 0.0, step, 1.0)
    play = _ROUNDING * np.maximum(1.0, np.maximum(np.abs(lower), np.abs(upper)) / unit) * (step != np.rint(step))
    first, last = np.ceil(lower / unit - play), np.floor(upper / unit + play)
    last = last - (~closed & (last >= upper / unit - play))
    on_grid = np.maximum(last - first + 1.0, 0.0)
    free = np.where(lower == upper, 1.0, np.inf)
    counts = np.where(step > 0.0, on_grid, free)
    return np.where(np.isnan(lower) | np.isnan(upper), np.nan, counts)


def determined(left: FloatArray, counts: IntArray) -> FloatArray:
    """Share of a column's cells that their box determines.

    Parameters
    ----------
    left : (B, n) values that boxes leave; NaN where missing.
    counts : (B,) rows.

    Returns
    -------
    (n,) of the cells that are not published as missing; 0 where there are none.
    """
    known = ~np.isnan(left)
    cells = counts @ known
    single = counts @ (known & (left <= 1.0))
    share: FloatArray = np.divide(single, cells, out=np.zeros(left.shape[1]), where=cells > 0)
    return share
