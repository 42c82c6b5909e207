"""The sides of a release's boxes as questions need them: bounds of numbers, and the sets of other columns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, FloatArray, IntArray
from surebox_verify.expected import expected_shares
from surebox_verify.released.beside import Form, beside, divided
from surebox_verify.released.boxes import ReleasedBoxes, meaning_of
from surebox_verify.released.codebooks import Codebook, Meant
from workers.frames.columns import plain_columns
from workers.methods.context import JobContext
from workers.methods.released.boxes import released_boxes, released_codebooks

#: What is possible and not certain is neither 0 nor 1.
_LEAST: Final = 1e-9
#: Where boxes without a value of a column are: beyond every number.
BEYOND: Final = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class SetColumn:
    """A column of sets.

    Attributes
    ----------
    book
        The codebook of the column: what queries mean by a value.
    sets
        The different sets, shape (T, m).
    of_box
        Number of each box's set, shape (B,).
    """

    book: Codebook
    sets: BoolArray
    of_box: IntArray

    @property
    def name(self) -> str:
        """The column."""
        return self.book.name

    def among(self, codes: Collection[int]) -> BoolArray:
        """(m,), which values some codes are."""
        mask = np.zeros(self.sets.shape[1], dtype=np.bool_)
        mask[list(codes)] = True
        return mask

    def expecting(self, counts: IntArray, *, attained: bool) -> "ExpectedSets":
        """The same with the expectation in boxes of so many records, by what all boxes of the column state.

        Parameters
        ----------
        counts
            Records of each box, shape (B,).
        attained
            Whether every value of a set is some record's.
        """
        pairs, number = np.unique(np.column_stack([self.of_box, counts]), axis=0, return_inverse=True)
        sets, number = self.sets[pairs[:, 0]], number.reshape(-1)
        mass = np.bincount(number, weights=counts).astype(np.float64)
        there = sets.any(axis=1)
        probable = np.zeros(sets.shape)
        if there.any():
            probable[there] = expected_shares(sets[there], mass[there])
        if attained:  # one record for each value, the others as expected
            size, several = sets.sum(axis=1)[:, None], pairs[:, 1][:, None]
            probable = (sets + np.maximum(several - size, 0) * probable) / np.maximum(several, 1)
        return ExpectedSets(self.book, sets, number, probable)


@dataclass(frozen=True, slots=True)
class ExpectedSets(SetColumn):
    """Different sets of boxes of different sizes.

    Attributes
    ----------
    probable
        How probable each value is in each, shape (T, m).
    """

    probable: FloatArray

    def shares(self, meant: Meant) -> FloatArray:
        """(T,), which share of the records is to be expected among some values: 0 and 1 only where that is certain."""
        sure, perhaps = self.among(meant.sure), self.among(meant.perhaps)
        held, size = (self.sets & sure).sum(axis=1), self.sets.sum(axis=1)
        between = np.clip(self.probable @ sure, _LEAST, 1.0 - _LEAST)
        expected: FloatArray = np.where(held == size, 1.0, np.where((self.sets & perhaps).any(axis=1), between, 0.0))
        return np.where(size == 0, float(meant.missing), expected)


@dataclass(frozen=True, slots=True)
class Sided:
    """Boxes of a release for questions.

    Attributes
    ----------
    numeric
        Columns of numbers and days, in the order of the bounds.
    lower, upper
        Bounds, shape (B, n), n at least 1: one of zeros represents none. Beyond every number where a box has none.
    steps
        What the values of each column are multiples of: 1 of whole numbers and days, 0 of others.
    counts, of_row
        As of the release.
    sets
        The other columns.
    attained
        Whether some record has each end of its box, and each value of its sets.
    points
        By name of a column that rows have as they are its values in ascending order: a box has the place of its value
        in the place of bounds.
    """

    numeric: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    steps: FloatArray
    counts: IntArray
    of_row: IntArray
    sets: tuple[SetColumn, ...]
    attained: bool = False
    points: Mapping[str, FloatArray | IntArray] = field(default_factory=dict)

    def numbered(self) -> IntArray | None:
        """(B, d), number of the set of each box in each column, those of all columns numbered together."""
        offsets = np.cumsum([0, *(len(one.sets) for one in self.sets)])
        numbers = [one.of_box + offset for one, offset in zip(self.sets, offsets, strict=False)]
        return np.column_stack(numbers) if numbers else None


def sided(job: JobContext, kept: Sequence[str] = ()) -> Sided:
    """The boxes of the release that is queried.

    Parameters
    ----------
    job
        The question.
    kept
        Columns that rows have as they are: boxes are divided by them, and have them too.
    """
    release, boxes = job.releases["release_id"], released_boxes(job)
    points: dict[str, FloatArray | IntArray] = {}
    meaning = meaning_of(release.spec, {column.name: column.type for column in release.columns})
    steps = {name: meaning.step(place) or 0.0 for place, name in enumerate(boxes.numeric)}
    if kept:
        table = plain_columns(job.release_path(), kept)
        columns = [beside(table, Form(name)) for name in kept]
        points = {column.name: column.points for column in columns if column.points is not None}
        boxes = divided(boxes, [column.by_place() for column in columns])
    plain = tuple(name for name in boxes.numeric if name not in boxes.orders)
    places = [boxes.numeric.index(name) for name in plain]
    lower, upper = boxes.lower[:, places], boxes.upper[:, places]
    missing = np.isnan(lower)
    lower[missing] = upper[missing] = BEYOND
    if not plain:
        lower = upper = np.zeros((len(boxes.counts), 1))
    books = released_codebooks(release, boxes, kept)
    sets = [_distinct(books[name], matrix) for name, matrix in zip(boxes.nominal, boxes.sets, strict=True)]
    sets += [_distinct(books[name], _between(boxes, name, order.numbers)) for name, order in boxes.orders.items()]
    tight = release.made.bounds == "tight" and not kept  # an end of a box is no part's
    known = np.array([steps.get(name, 0.0) for name in plain] or [0.0])
    return Sided(plain, lower, upper, known, boxes.counts, boxes.of_row, tuple(sets), tight, points)


def _between(boxes: ReleasedBoxes, name: str, labels: Sequence[float]) -> BoolArray:
    """(B, m), the values of a declared order that each box has; none where it has no bounds."""
    index, label = boxes.numeric.index(name), np.array(labels)
    return (boxes.lower[:, index, None] <= label) & (label <= boxes.upper[:, index, None])


def _distinct(book: Codebook, matrix: BoolArray) -> SetColumn:
    _, first, which = np.unique(np.packbits(matrix, axis=1), axis=0, return_index=True, return_inverse=True)
    of_box: NDArray[np.int64] = which.reshape(-1).astype(np.int64)
    return SetColumn(book, np.take(matrix, first, axis=0), of_box)
