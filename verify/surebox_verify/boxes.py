"""The boxes of a release, as its readers have them.

Notation
--------
n : numeric columns.  d : nominal columns, numbered n to n + d - 1 wherever columns are counted together.
S_j(b) : set of values that box b leaves of nominal column j, a row of booleans over the column's codebook.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray

#: What the values of a column are: whole multiples of a step, or some numbers in ascending order, of an ordinal one.
Lattice: TypeAlias = float | tuple[float, ...]


def even_step(numbers: tuple[float, ...]) -> float | None:
    """The distance of all neighbours among some ascending numbers, as they are written; None where there is not one."""
    exact = [Fraction(repr(float(number))) for number in numbers]
    apart = {after - before for before, after in pairwise(exact)}
    return float(next(iter(apart))) if len(apart) == 1 else None


@dataclass(frozen=True)
class Meaning:
    """What a release states about its bounds and columns, next to the boxes.

    Attributes
    ----------
    attained : whether every bound is some record's value, and every value of a set some record's (tight boxes).
    steps : of each numeric column the step whose multiples its values and bounds are (1 for whole numbers and days),
        None for real numbers and orders; empty where nothing is known of any.
    probable_steps : steps by which values are expected, where no more is known than how the bounds are written: they
        move estimates and no range. Empty where they are those of `steps`.
    labels : of each numeric column that is an order what its values count as, ascending; None for the others, and empty
        where nothing is known of any.
    least : k: estimates of cells and domains with fewer records are not made.
    percentage : p of the p %-rule: nor are those of domains whose largest value would be reported within this
        percentage.
    """

    attained: bool = False
    steps: tuple[float | None, ...] = ()
    least: int = 0
    percentage: float = 0.0
    labels: tuple[tuple[float, ...] | None, ...] = ()
    probable_steps: tuple[float | None, ...] = ()

    def lattice(self, column: int) -> Lattice | None:
        """Grid of the values of a numeric column; None for any numbers."""
        return self.labels_of(column) or self.step(column)

    def step(self, column: int) -> float | None:
        """Step of a numeric column; None for real numbers and orders."""
        return self.steps[column] if column < len(self.steps) else None

    def probable_step(self, column: int) -> float | None:
        """Step of a numeric column as far as estimates go."""
        known = self.lattice(column)
        if isinstance(known, tuple):
            return even_step(known)
        return known if known is not None or column >= len(self.probable_steps) else self.probable_steps[column]

    def labels_of(self, column: int) -> tuple[float, ...] | None:
        """Numbers that the values of an ordinal column count as; None of any other numeric one."""
        return self.labels[column] if column < len(self.labels) else None


@dataclass(frozen=True)
class PublishedBoxes:
    """Boxes as published.

    Attributes
    ----------
    lower, upper : (B, n), in the columns' units; NaN, both, where the box's records have no value.
    counts : (B,), records in each.
    sets : d matrices (B, m_j), S_j of each box; a row without any value where the box's records have none.
    survey : (B,), mean design weight of each box's records; None where records have none.
    survey_ends : (B,) each, ends of the interval that contains it, whose middle `survey` is; None where it is known.
    means : (B, n) each, ends of the intervals that contain the means of the boxes' records, NaN where there is none;
        None where the release has bounds only.
    """

    lower: FloatArray
    upper: FloatArray
    counts: IntArray
    sets: tuple[BoolArray, ...] = field(default=(), kw_only=True)
    survey: FloatArray | None = field(default=None, kw_only=True)
    means: tuple[FloatArray, FloatArray] | None = field(default=None, kw_only=True)
    survey_ends: tuple[FloatArray, FloatArray] | None = field(default=None, kw_only=True)

    @property
    def centre(self) -> FloatArray:
        """(B, n), midpoints."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def half_width(self) -> FloatArray:
        """(B, n), D_i of each box as published."""
        return 0.5 * (self.upper - self.lower)

    @property
    def are_weighed(self) -> bool:
        """Return whether records weigh differently: means are then not those of records that count the same."""
        return self.survey is not None or self.survey_ends is not None

    def present(self, column: int) -> BoolArray:
        """(B,), boxes whose records have a value in a column, numbered as in the Notation."""
        n = self.lower.shape[1]
        return ~np.isnan(self.lower[:, column]) if column < n else self.sets[column - n].any(axis=1)
