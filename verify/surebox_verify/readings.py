"""Columns of published boxes as ranges and estimates take them: numbers, indicators of values, where a column is there.

Notation
--------
n : numeric columns; d nominal ones, numbered after them.
axis : a numeric column, or the indicator of a set of values of a nominal one. A column with m values is m indicators
with
    sides [1(S = {v}), 1(v in S)] (science.md section 5, "Embedding"): with it shares are means, point-biserial and phi
    correlations are correlations, and dummies are regressors. The first value of a codebook has no dummy.
w_b : (B,), weight of each record of a box: its design weight, times that of a weighed release; None where all count 1.
A statistic is about the records that have its columns.

Boxes are in an order that follows from what they are. Searches and sums depend on the order a little; the rows of a
file are in another than the boxes were when it was made, and whoever computes a range again shall find the same.
"""

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from surebox_core.ordering import lexicographic
from surebox_core.statistics import Statistic
from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.bases import Base
from surebox_verify.boxes import Lattice, Meaning, PublishedBoxes
from surebox_verify.expected import Expected, expected_shares, expected_values
from surebox_verify.ranges.column import BoxColumn, box_column
from surebox_verify.ranges.contents import ContentColumn, content_column
from surebox_verify.ranges.mass import Mass, mass_of
from surebox_verify.ranges.masses import with_masses
from surebox_verify.ranges.members import ValueSets, held_in, ranges_of_labels, sets_of_values


@dataclass(frozen=True)
class Axis:
    """One number of each record: a numeric column's, or whether a nominal one's is among some values."""

    column: int
    values: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Side:
    """An axis in the boxes: bounds, and where its values are to be expected."""

    lower: FloatArray
    upper: FloatArray
    expected: Expected


@dataclass
class Reading:
    """Some of the published boxes, and their columns as they are requested.

    Attributes
    ----------
    boxes, meaning : the published data.
    weights : (B,), w; None where all records count 1.
    weight_ends : (B,) each, of the intervals that contain w, which is their middle; None where it is known.
    """

    boxes: PublishedBoxes
    meaning: Meaning
    weights: FloatArray | None = None
    weight_ends: tuple[FloatArray, FloatArray] | None = None
    _ready: dict[Axis, BoxColumn] = field(default_factory=dict)
    _sides: dict[Axis, Side] = field(default_factory=dict)
    _contents: dict[Axis, ContentColumn] = field(default_factory=dict)
    _shares: dict[int, FloatArray] = field(default_factory=dict)
    _values: dict[int, ValueSets] = field(default_factory=dict)

    @property
    def numeric(self) -> int:
        """N, the numeric columns."""
        return int(self.boxes.lower.shape[1])

    @cached_property
    def counts(self) -> FloatArray:
        """(B,), records."""
        return self.boxes.counts.astype(np.float64)

    @cached_property
    def mass(self) -> Mass:
        """What boxes count for."""
        return mass_of(self.counts, self.weights, self.weight_ends)

    @cached_property
    def share(self) -> FloatArray:
        """(B,), of each box in the sum of all weights."""
        mass = self.counts if self.weights is None else self.counts * self.weights
        return np.asarray(mass / mass.sum())

    def column(self, axis: Axis) -> BoxColumn:
        """An axis, ready for ranges. O(B log B), once."""
        if axis not in self._ready:
            lower, upper = self.bounds(axis)
            column = box_column(
                lower, upper, self.counts, self.weights, attained=self.meaning.attained, grid=self.lattice(axis)
            )
            known = self.weight_ends is None
            self._ready[axis] = column if known else with_masses(column, lower, upper, self.mass)
        return self._ready[axis]

    def content(self, axis: Axis) -> ContentColumn:
        """A numeric axis with its boxes' means, ready for ranges. O(B), once."""
        if axis not in self._contents:
            lower, upper = self.bounds(axis)
            self._contents[axis] = content_column(lower, upper, self.means(axis), self.counts, self.weights)
        return self._contents[axis]

    def means(self, axis: Axis) -> tuple[FloatArray, FloatArray]:
        """Ends of the intervals of the boxes' means; NaN where there are none, and for indicators."""
        if self.boxes.means is None or axis.values is not None:
            nothing = np.full(len(self.boxes.counts), np.nan)
            return nothing, nothing
        return self.boxes.means[0][:, axis.column], self.boxes.means[1][:, axis.column]

    def lattice(self, axis: Axis) -> Lattice | None:
        """Grid of the values of an axis; an indicator is a whole number."""
        return 1.0 if axis.values is not None else self.meaning.lattice(axis.column)

    def bounds(self, axis: Axis) -> tuple[FloatArray, FloatArray]:
        """Bounds of an axis."""
        if axis.values is None:
            return self.boxes.lower[:, axis.column], self.boxes.upper[:, axis.column]
        sets = self.values(axis.column)
        held = held_in(sets.possible, axis.values)
        return (held == sets.sizes[0]).astype(np.float64), (held > 0).astype(np.float64)

    def size(self, column: int) -> int:
        """Values of a nominal column."""
        return int(self.boxes.sets[column - self.numeric].shape[1])

    def values(self, column: int) -> ValueSets:
        """Sets of a nominal column; of an ordinal one the values between both ends, which alone are attained."""
        if column not in self._values:
            attained, labels = self.meaning.attained, self.meaning.labels_of(column)
            if labels is None:
                sets = sets_of_values(self.boxes.sets[column - self.numeric], attained=attained)
            else:
                sets = ranges_of_labels(*self.bounds(Axis(column)), labels, attained=attained)
            self._values[column] = sets
        return self._values[column]

    def shares(self, column: int) -> FloatArray:
        """(B, m), how probable each value of a nominal or an ordinal column is."""
        if column not in self._shares:
            self._shares[column] = expected_shares(self.values(column).possible, self.share)
        return self._shares[column]

    def probable(self, column: int, values: tuple[int, ...]) -> FloatArray:
        """(B,), how probable it is that a record has one of some values. O(B |values|)."""
        each = self.shares(column)
        return each[:, values[0]] if len(values) == 1 else np.asarray(each[:, list(values)].sum(axis=1))

    def side(self, axis: Axis) -> Side:
        """Bounds of an axis, and where its values are to be expected."""
        if axis not in self._sides:
            lower, upper = self.bounds(axis)
            if axis.values is None:
                expected = expected_values(lower, upper, self.share, self.meaning.probable_step(axis.column))
                low, high = self.means(axis)
                known = ~np.isnan(low)
                expected = replace(expected, mean=np.where(known, 0.5 * low + 0.5 * high, expected.mean))
            else:
                probable = self.probable(axis.column, axis.values)
                expected = Expected(probable, probable * (1.0 - probable))
            self._sides[axis] = Side(lower, upper, expected)
        return self._sides[axis]

    def axes(self, statistic: Statistic) -> tuple[Axis, ...]:
        """Axes of a statistic of moments; of a nominal column its dummies."""
        axes: list[Axis] = []
        for column in statistic.of:
            if column < self.numeric:
                axes.append(Axis(column))
            else:
                axes.extend(Axis(column, (value,)) for value in range(1, self.size(column)))
        return tuple(axes)


@dataclass
class Readings:
    """All boxes, and those that have the columns of a statistic.

    Attributes
    ----------
    boxes, meaning : the published data.
    weights : (B,), of the records of a weighed release; None where it is not.
    released : all records that are published; None where these are the boxes' records.
    """

    boxes: PublishedBoxes
    meaning: Meaning = field(default_factory=Meaning)
    weights: FloatArray | None = None
    released: int | None = None
    _parts: dict[tuple[int, ...], Reading] = field(default_factory=dict)

    def size(self, column: int) -> int:
        """Values of a nominal or an ordinal column."""
        labels, numeric = self.meaning.labels_of(column), self.boxes.lower.shape[1]
        return int(self.boxes.sets[column - numeric].shape[1]) if labels is None else len(labels)

    @cached_property
    def incomplete(self) -> tuple[int, ...]:
        """Columns that some boxes lack."""
        count = self.boxes.lower.shape[1] + len(self.boxes.sets)
        return tuple(column for column in range(count) if not self.boxes.present(column).all())

    def of(self, columns: tuple[int, ...]) -> Reading:
        """The boxes that have some columns."""
        lacking = tuple(sorted(set(columns) & set(self.incomplete)))
        if lacking not in self._parts:
            there = np.ones(len(self.boxes.counts), dtype=np.bool_)
            for column in lacking:
                there &= self.boxes.present(column)
            self._parts[lacking] = self._taken(there)
        return self._parts[lacking]

    def base(self, columns: tuple[int, ...]) -> Base:
        """Return which records a statistic of some columns counts."""
        n = int(self.of(columns).boxes.counts.sum())
        released = int(self.boxes.counts.sum()) if self.released is None else self.released
        return Base(n, released, self._weights is not None)

    @cached_property
    def _weights(self) -> FloatArray | None:
        """w_b."""
        weights, ends = self.weights, self.boxes.survey_ends
        survey = self.boxes.survey if ends is None else 0.5 * ends[0] + 0.5 * ends[1]
        return survey if weights is None else weights if survey is None else weights * survey

    @cached_property
    def _order(self) -> IntArray:
        return _ordered(self.boxes, self._weights)

    def _taken(self, there: BoolArray) -> Reading:
        whole, weights = self.boxes, self._weights
        taken = self._order[there[self._order]]
        boxes = PublishedBoxes(
            lower=np.take(whole.lower, taken, axis=0),
            upper=np.take(whole.upper, taken, axis=0),
            counts=whole.counts[taken],
            sets=tuple(np.asfortranarray(np.take(each, taken, axis=0)) for each in whole.sets),
            means=None if whole.means is None else (whole.means[0][taken], whole.means[1][taken]),
        )
        ends = whole.survey_ends
        held = None if ends is None else (ends[0][taken], ends[1][taken])
        return Reading(boxes, self.meaning, None if weights is None else weights[taken], held)


def _ordered(boxes: PublishedBoxes, weights: FloatArray | None) -> IntArray:
    """(B,), the boxes by all that is published of them, whatever order their columns are in. O(B log B) for each."""
    of_boxes = [*boxes.lower.T, *boxes.upper.T, boxes.counts, *([] if weights is None else [weights])]
    of_boxes += [each for ends in (*(boxes.means or ()), *boxes.sets) for each in ends.T]
    of_boxes += boxes.survey_ends or ()
    return lexicographic(sorted(of_boxes, key=lambda each: hashlib.sha256(np.sort(each).tobytes()).digest()))
