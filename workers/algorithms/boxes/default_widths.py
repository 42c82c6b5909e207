"""Least widths that nobody named: what keeps boxes from giving a column's values away.

Notation
--------
v : (N,), values of a column, NaN where missing; winsorized at k as the search sees them (core.winsorized).
s : natural scale, the rung of the deviation of those that are no spike, winsorized at their own tail.
w : the width, s / 4; of values with a step the next multiple of it, so that a side has two values at least.
spike : the value that more than half of the records have. Width cannot hide it: boxes in which all have it need none.

Anonymity says nothing of a box whose records all have one value (XF: "not good"): science.md section 1, "Value
disclosure". A column with fewer than eight values is left alone: each would be a large part of its range.

All of it is a function of the winsorized column, which no far value moves, and of declarations.
"""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from surebox_core.ends import multiples
from surebox_core.ladder import SMALLEST, rung_from
from surebox_core.types import FloatArray, IndexArray
from workers.algorithms.boxes.sides import NumericColumn
from workers.algorithms.core.winsorized import ends, tail, winsorized

#: Of the natural scale (benchmarks/least_widths.py).
_SHARE: Final = 0.25
#: A column with fewer values has no width unless one is named.
_FEWEST: Final = 8
#: How often a width that boxes cannot have is halved before it is dropped.
HALVINGS: Final = 3

Exemption = Literal["few_values", "one_value"]


@dataclass(frozen=True, slots=True)
class DefaultWidth:
    """Demand on the boxes in one column.

    Attributes
    ----------
    width : w, in the units of the column; 0 for none.
    spike : the value whose boxes need no width; None for none.
    exempt : why there is no width; None where there is one.
    """

    width: float
    spike: float | None = None
    exempt: Exemption | None = None


def default_width(
    values: FloatArray, column: NumericColumn, k: int, *, declared: int | None = None, persons: IndexArray | None = None
) -> DefaultWidth:
    """Return the width that is demanded of a column where none is named.

    Parameters
    ----------
    values : (N,), NaN where missing.
    column : what its values are.
    k : least records, or persons, of a box.
    declared : how many values it can have, as far as that is declared.
    persons : (N,), whose record each is; None where every record is a person.
    """
    seen, persons = _seen(values, k, persons)
    different = len(np.unique(seen))
    if different <= 1:
        return DefaultWidth(0.0, exempt="one_value")
    if (different if declared is None else declared) < _FEWEST:
        return DefaultWidth(0.0, exempt="few_values")
    spike = _spike(seen)
    off = np.ones(len(seen), dtype=np.bool_) if spike is None else seen != spike
    whose = None if persons is None else persons[off]
    people = int(off.sum()) if whose is None else len(np.unique(whose))
    deviation = float(winsorized(seen[off, None], tail(k, people), whose).std())
    width = _SHARE * rung_from(deviation) if deviation > SMALLEST else 0.0
    width = whole_steps(width, column)
    return DefaultWidth(width, spike) if width > 0.0 else DefaultWidth(0.0, exempt="one_value")


def spike_in(values: FloatArray, k: int, persons: IndexArray | None = None) -> float | None:
    """The spike of a column as the search sees it; None where there is none.

    Parameters
    ----------
    values, k, persons : as of `default_width`.
    """
    return _spike(_seen(values, k, persons)[0])


def _seen(values: FloatArray, k: int, persons: IndexArray | None) -> tuple[FloatArray, IndexArray | None]:
    """Winsorized values that are there, and whose each is."""
    there = ~np.isnan(values)
    whose = persons[there] if persons is not None and len(persons) else None
    return winsorized(values[there, None], k, whose)[:, 0], whose


def _spike(values: FloatArray) -> float | None:
    """The value that more than half of some values are; None where there is none."""
    if len(values) == 0:
        return None
    middle = float(np.partition(values, len(values) // 2)[len(values) // 2])
    return middle if 2 * int((values == middle).sum()) > len(values) else None


def whole_steps(width: float, column: NumericColumn) -> float:
    """The least multiple of the column's step that is no less than a width, at least one step; the width of others.

    Parameters
    ----------
    width : at least 0.
    column : what its values are.
    """
    step = column.sum_step
    if step is None:
        return width
    return float(multiples(np.array([max(np.ceil(width / step), 1.0)]), step)[0])


def possible_width(
    width: float, values: FloatArray, column: NumericColumn, k: int, persons: IndexArray | None = None
) -> float:
    """A width, halved until the values that the search sees span it; 0 where too often.

    Parameters
    ----------
    width : above 0.
    values, column, k, persons : as of `default_width`.
    """
    low, high = ends(values, k, persons)
    for halved in halvings(width, column):
        if high - low >= halved:
            return halved
    return 0.0


def halvings(width: float, column: NumericColumn) -> list[float]:
    """A width and its halves, each once, in whole steps where the column has them; at most three halves.

    Parameters
    ----------
    width : above 0.
    column : what its values are.
    """
    made = [whole_steps(width / 2**times, column) for times in range(HALVINGS + 1)]
    return list(dict.fromkeys(made))
