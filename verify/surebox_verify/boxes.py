"""The boxes of a release, as its readers have them.

Notation
--------
n : numeric columns.  d : nominal columns, numbered n to n + d - 1 wherever columns are counted together.
S_j(b) : set of values that box b leaves of nominal column j, a row of booleans over the column's codebook.
"""

from dataclasses import dataclass, field

import numpy as np

from surebox_core.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Meaning:
    """What a release states about its bounds and columns, next to the boxes.

    Attributes
    ----------
    attained : whether every bound is some record's value, and every value of a set some record's (tight boxes).
    steps : of each numeric column the step whose multiples its values and bounds are (1 for whole numbers, days and
        ranks), None for real numbers; empty where nothing is known of any.
    probable_steps : steps by which values are expected, where no more is known than how the bounds are written: they
        move estimates and no range. Empty where they are those of `steps`.
    ranks : of each numeric column that is an order the number of its values, numbered from 0; None for the others, and
        empty where nothing is known of any.
    least : k: estimates of cells and domains with fewer records are not made.
    percentage : p of the p %-rule: nor are those of domains whose largest value would be reported within this
        percentage.
    """

    attained: bool = False
    steps: tuple[float | None, ...] = ()
    least: int = 0
    percentage: float = 0.0
    ranks: tuple[int | None, ...] = ()
    probable_steps: tuple[float | None, ...] = ()

    def step(self, column: int) -> float | None:
        """Step of a numeric column."""
        return self.steps[column] if column < len(self.steps) else None

    def probable_step(self, column: int) -> float | None:
        """Step of a numeric column as far as estimates go."""
        known = self.step(column)
        return known if known is not None or column >= len(self.probable_steps) else self.probable_steps[column]

    def ranked(self, column: int) -> int | None:
        """Values of an ordinal column; None of any other numeric one."""
        return self.ranks[column] if column < len(self.ranks) else None


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

    def present(self, column: int) -> BoolArray:
        """(B,), boxes whose records have a value in a column, numbered as in the Notation."""
        n = self.lower.shape[1]
        return ~np.isnan(self.lower[:, column]) if column < n else self.sets[column - n].any(axis=1)
