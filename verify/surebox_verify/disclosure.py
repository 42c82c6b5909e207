"""Values that a release of boxes gives away: of whoever is in a box everybody learns an interval.

Notation
--------
n : records of a box that have a value.  [m, M] : side of the box.  [s, S] : interval that contains their sum, where the
    release has means.
I : interval from x_least = max(m, s - (n - 1) M) to x_most = min(M, S - (n - 1) m), what everybody learns of each of
    them; with bounds that are values of records, or with exact means, they may learn more.
|I| : its length; of columns of steps, days and orders from the least to the greatest value in it.

Anonymity hides who a row is, not what is true of it: a box whose side is one value publishes that value of all its
records (docs/explanation/science.md section 1, "Value disclosure"). Those who know all records of a box but one, kept
columns, and other releases of the same data are not looked at.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from surebox_core.ends import multiples
from surebox_core.ladder import SMALLEST, rung_from
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import Lattice, Meaning, PublishedBoxes

#: A tolerance is this share of a column's natural scale.
_OF_SCALE: Final = 0.1
#: What is known to within this share of itself can be estimated.
_OF_VALUE: Final = 0.1
#: Of a step, or of a side, within which rounding leaves a sum.
_ROUNDED: Final = 1e-9


@dataclass(frozen=True, slots=True)
class ValueDisclosure:
    """Shares of the rows with a value in one column.

    Attributes
    ----------
    exact : rows whose value everybody knows.
    within : rows whose value everybody knows to within the tolerance; None of columns without numbers.
    tolerance : what was named, or a tenth of the column's natural scale, in its units; None likewise.
    estimable : rows whose value everybody knows to within a tenth of it; None where values are no amounts: days,
        orders, and columns with values below 0.
    """

    exact: float
    within: float | None = None
    tolerance: float | None = None
    estimable: float | None = None


def value_disclosure(
    boxes: PublishedBoxes,
    meaning: Meaning,
    numeric: Sequence[str],
    nominal: Sequence[str],
    days: Collection[str],
    tolerances: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, ValueDisclosure]:
    """Return what a release gives away of the values of each of its columns.

    Parameters
    ----------
    boxes : its boxes.
    meaning : what it states about their bounds.
    numeric, nominal : names of the columns.
    days : columns of days among them.
    tolerances : by column, what is named in place of a tenth of its natural scale.
    """
    disclosed = {}
    for column, name in enumerate(numeric):
        is_amount = name not in days and meaning.labels_of(column) is None
        tolerance = tolerances.get(name, _OF_SCALE * natural_scale(boxes, column))
        disclosed[name] = _of_numbers(boxes, column, meaning.lattice(column), tolerance, is_amount=is_amount)
    for name, held in zip(nominal, boxes.sets, strict=True):
        size = held.sum(axis=1)
        disclosed[name] = ValueDisclosure(_share(size == 1, size > 0, boxes.counts))
    return disclosed


def _of_numbers(
    boxes: PublishedBoxes, column: int, lattice: Lattice | None, tolerance: float, *, is_amount: bool
) -> ValueDisclosure:
    there = boxes.present(column)
    low, high = value_intervals(boxes, column, lattice)
    length = np.maximum(high - low, 0.0)
    estimable = None
    if is_amount and there.any() and boxes.lower[there, column].min() >= 0.0:
        estimable = _share(length <= _OF_VALUE * high, there, boxes.counts)
    return ValueDisclosure(
        _share(length == 0.0, there, boxes.counts),
        _share(length <= tolerance, there, boxes.counts),
        tolerance,
        estimable,
    )


def days_of(columns: Mapping[str, str]) -> set[str]:
    """The columns of boxes whose bounds are days.

    Parameters
    ----------
    columns : type of each column of a release's files, by name.
    """
    return {name.removesuffix("_lo") for name, kind in columns.items() if kind == "date" and name.endswith("_lo")}


def value_intervals(
    boxes: PublishedBoxes, column: int, lattice: Lattice | None = None
) -> tuple[FloatArray, FloatArray]:
    """Ends of I of every box, in the units of a numeric column.

    Parameters
    ----------
    boxes : with means, where their release has them.
    column : which.
    lattice : what the values of the column are, as far as that is known.

    Returns
    -------
    (B,), (B,)
        NaN where the box's records have no value.
    """
    m, most = boxes.lower[:, column], boxes.upper[:, column]
    low, high = m, most
    if boxes.means is not None and not boxes.are_weighed:
        least_mean, most_mean = boxes.means[0][:, column], boxes.means[1][:, column]
        others = boxes.counts - 1.0
        spare = _ROUNDED * (most - m)
        low = np.fmax(m, boxes.counts * least_mean - others * most - spare)
        high = np.fmin(most, boxes.counts * most_mean - others * m + spare)
    return (low, high) if lattice is None else _among(lattice, low, high)


def _among(lattice: Lattice, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The least and the greatest value of a lattice in intervals that contain at least one."""
    if isinstance(lattice, tuple):
        labels = np.array(lattice)
        spare = _ROUNDED * (labels[-1] - labels[0]) / len(labels)
        first = np.minimum(np.searchsorted(labels, low - spare), len(labels) - 1)
        last = np.maximum(np.searchsorted(labels, high + spare, side="right") - 1, 0)
        known = ~np.isnan(low)
        return np.where(known, labels[first], np.nan), np.where(known, labels[last], np.nan)
    return (
        multiples(np.ceil(low / lattice - _ROUNDED), lattice),
        multiples(np.floor(high / lattice + _ROUNDED), lattice),
    )


def natural_scale(boxes: PublishedBoxes, column: int) -> float:
    """The rung of the deviation that boxes show of a numeric column, their records spread evenly over the sides."""
    there = boxes.present(column)
    counts = boxes.counts[there].astype(np.float64)
    total = counts.sum()
    if not total:
        return 0.0
    centre, half = boxes.centre[there, column], boxes.half_width[there, column]
    largest = float(np.abs([*centre, *half]).max()) or 1.0  # squares of the rest overflow no double
    centre, half = centre / largest, half / largest
    apart = centre - counts @ centre / total
    deviation = largest * float(np.sqrt(counts @ (apart**2 + half**2 / 3.0) / total))
    return rung_from(deviation) if deviation > SMALLEST else 0.0


def _share(these: BoolArray, there: BoolArray, counts: IntArray) -> float:
    whole = int(counts[there].sum())
    return float(counts[these & there].sum() / whole) if whole else 0.0


def agrees(claimed: Any, number: float | None) -> bool:
    """Return whether a published figure is the one computed again, but for rounding."""
    if number is None or claimed is None:
        return claimed is number
    is_number = isinstance(claimed, int | float) and not isinstance(claimed, bool)
    return is_number and abs(claimed - number) <= _ROUNDED * max(1.0, abs(number))
