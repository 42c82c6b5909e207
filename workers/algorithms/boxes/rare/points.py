"""Boxes of columns of all kinds as points, what their records add to the statistics there, and how these vary.

Notation as in rare.rarity, rare.shifted and boxes.charges, and
--------
axis : a numeric column, or the indicator of a set A of values of a nominal one.
z_b : centre of an interval; of the indicator of A |S and A| / |S|: a record of S is the unit vector of one of its
    values, and this is where the centre of these is.
D_b : half-width of an interval; of the indicator of A 1/2 where S has values in A and others, else 0.
v_b : published weight of a record of the box, its design weight; 1 where records count alike.
part : the statistics that go by the same boxes, those that have all of their columns.  M : sum c v over these boxes.
f_b : N v_b / M in the boxes of a part, 0 in the others.
p_A, mu_A, p_uw : share of A, mean of y in A and share of a cell, at the centres, by c v.

What a record of a box adds (science.md section 5, "Influence"), with everything at the centres:
share of A : f omega D_A.
cell (u, w) : f times, of the first column sum_u (sum_w p_w omega_uw) D_u, and vice versa of the second.
mean of y in A : f omega z_A D_y / p_A, and f omega E|y - mu_A| D_A / p_A.
statistics of moments : f times as of numbers, with indicators as columns. Quantiles add nothing.

f makes (1/N) sum c g the sum of what each statistic's own boxes add to it: to a mean by v over the records that have y
a record adds v D_y / M. Where all boxes have all columns f is v / mean(v) ("influences carry v/mean(v)"); where all
records count alike it is N by how many have the columns. Deviations are those of f IF over all N records: by v IF is 0
on average, so sd(f IF) / sqrt(N) is the deviation of a statistic of few, or unequal, records.

No record is read: all of it follows from bounds, sets, counts and weights as published.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from surebox_core.statistics import OF_MOMENTS, Statistic
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.boxes import Meaning, PublishedBoxes
from surebox_verify.ranges.members import ranges_of_labels
from surebox_verify.readings import Readings
from workers.algorithms.boxes.rare.parts import StatisticGroup, local, summed


@dataclass
class Axes:
    """Columns of all kinds as axes: the numeric columns, and then indicators of sets of values, made when needed."""

    readings: Readings
    _of: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    @property
    def _numeric(self) -> int:
        return int(self.readings.boxes.lower.shape[1])

    def values(self, column: int) -> int:
        """Size of a nominal column's codebook, or of an order."""
        return self.readings.size(column)

    def of_column(self, column: int) -> tuple[int, ...]:
        """Axes that a column represents in statistics of moments: of a nominal one its dummies."""
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
        """Centres z and half-widths D of all axes requested so far, (B, axes) each; 0 where a box lacks the column."""
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
        boxes, labels = self.readings.boxes, self.readings.meaning.labels_of(column)
        if labels is None:
            return boxes.sets[column - self._numeric]
        ends = np.nan_to_num(boxes.lower[:, column]), np.nan_to_num(boxes.upper[:, column])
        return ranges_of_labels(*ends, labels, attained=False).possible


@dataclass(frozen=True)
class Held:
    """Boxes that are there and, where an axis is given, are above 0 on it."""

    there: BoolArray
    axis: int | None = None


@dataclass(frozen=True)
class Judged:
    """Boxes as the search for a core takes them.

    Attributes
    ----------
    points : (B, axes), z; 0 where a box lacks the column.
    mass : (B,), c v.
    counts : (B,), c.
    g : (B,), what a record of each box adds.
    parts : with at least one statistic each.
    held : of each of these one box must stay at least, or a column or a number would have no record left.
    """

    points: FloatArray
    mass: FloatArray
    counts: IntArray
    g: FloatArray
    parts: tuple[StatisticGroup, ...]
    held: tuple[Held, ...] = ()

    @property
    def uncertainty(self) -> float:
        """sum_C omega_C sd(f IF_C), what A is without the confidence."""
        return float(sum(part.omega @ part.deviations for part in self.parts))


def judged(
    boxes: PublishedBoxes,
    statistics: Sequence[Statistic],
    *,
    ddof: int,
    least: float,
    labels: tuple[tuple[float, ...] | None, ...] = (),
) -> Judged | None:
    """What boxes add to statistics at their centres; None where the centres leave them all undefined.

    Parameters
    ----------
    boxes : bounds, sets, counts and weights.
    statistics : the request; nominal columns are numbered after the numeric ones.
    ddof : as for the statistics.
    least : share of all records below which no box could reveal one, k/N.
    labels : of the numeric columns that are ordinal (boxes.Meaning); ranges are the sets between their ends.
    """
    readings = Readings(boxes, Meaning(labels=labels))
    axes = Axes(readings)
    by_lacking: dict[tuple[int, ...], list[Statistic]] = {}
    for one in sorted(statistics, key=lambda one: one.kind not in OF_MOMENTS):
        lacking = tuple(sorted(set(one.of) & set(readings.incomplete)))
        if one.kind in OF_MOMENTS:
            of_axes = [replace(one, of=tuple(axis for column in one.of for axis in axes.of_column(column)))]
        else:
            of_axes = list(axes.numbers(one))
        by_lacking.setdefault(lacking, []).extend(of_axes)
    z, half = axes.points()
    mass = boxes.counts.astype(np.float64)
    if boxes.survey is not None:
        mass *= boxes.survey
    g, parts = np.zeros(len(z)), []
    held = [Held(boxes.present(column)) for column in readings.incomplete]
    for lacking, numbers in by_lacking.items():
        there = np.ones(len(z), dtype=np.bool_)
        for column in lacking:
            there &= boxes.present(column)
        held += [Held(there)] if len(lacking) > 1 else []
        if not (there.any() and numbers):
            continue
        total = summed(numbers, local(numbers, there, (z, half), mass, boxes.counts), ddof=ddof, least=least)
        held += [Held(there, axis) for axis in total.held]
        if total.statistics:
            g[there] += total.g
            parts.append(total.part(there))
    return Judged(z, mass, boxes.counts, g, tuple(parts), tuple(held)) if parts else None
