"""Columns of all kinds as axes: numeric columns, and indicators of sets of values, in the boxes.

Notation as in rare.points.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from surebox_core.statistics import Statistic
from surebox_core.types import BoolArray, FloatArray
from surebox_verify.ranges.members import ranges_of_ranks
from surebox_verify.readings import Readings


@dataclass
class Axes:
    """Axes as they are asked for: the numeric columns, and then indicators."""

    readings: Readings
    _of: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    @property
    def _numeric(self) -> int:
        return int(self.readings.boxes.lower.shape[1])

    def values(self, column: int) -> int:
        """Size of a nominal column's codebook, or of an order."""
        return self.readings.size(column)

    def of_column(self, column: int) -> tuple[int, ...]:
        """Axes that a column stands for in statistics of moments: of a nominal one its dummies."""
        if column < self._numeric:
            return (column,)
        return tuple(self.indicator(column, (value,)) for value in range(1, self.values(column)))

    def indicator(self, column: int, values: tuple[int, ...]) -> int:
        """Number of an indicator."""
        return self._of.setdefault((column, values), self._numeric + len(self._of))

    def numbers(self, one: Statistic) -> Iterator[Statistic]:
        """The numbers of a statistic that is no function of moments, each of its axes; none of a quantile."""
        if one.kind == "crosstab":
            first, second = ([self.indicator(c, (v,)) for v in range(self.values(c))] for c in one.of)
            yield from (replace(one, of=(u, w)) for u in first for w in second)
        elif one.kind in ("share", "domain_mean"):
            column = one.of[-1]
            for each in [one.values] if one.values else [(v,) for v in range(self.values(column))]:
                yield replace(one, of=(*one.of[:-1], self.indicator(column, each)), values=())

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Centres z and half-widths D of all axes asked for so far, (B, axes) each; 0 where a box lacks the column."""
        boxes = self.readings.boxes
        known = ~np.isnan(boxes.lower)
        z, half = [np.where(known, boxes.centre, 0.0)], [np.where(known, boxes.half_width, 0.0)]
        for column, values in self._of:
            there, sets = boxes.present(column), self._sets(column)
            size, inside = np.maximum(sets.sum(axis=1), 1), sets[:, list(values)].sum(axis=1)
            z.append(np.where(there, inside / size, 0.0)[:, None])
            half.append((0.5 * (there & (inside > 0) & (inside < size)))[:, None])
        return np.hstack(z), np.hstack(half)

    def _sets(self, column: int) -> BoolArray:
        """Values that boxes leave; of those that lack the column any."""
        boxes, ranks = self.readings.boxes, self.readings.meaning.ranked(column)
        if ranks is None:
            return boxes.sets[column - self._numeric]
        ends = np.nan_to_num(boxes.lower[:, column]), np.nan_to_num(boxes.upper[:, column])
        return ranges_of_ranks(*ends, ranks, attained=False).possible
