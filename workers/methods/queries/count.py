"""Releases made ready for counting, one way for each method that published them.

`boxes`: records are expected in their boxes where all boxes together state, with `tight` bounds one at each end and one
of each value; and so many are in a query for certain. Weights do not matter: each row is one record, whatever it weighs
in statistics. `uncertain`: the mass of the densities, given the declared domains. `condensation`, `swaps`: rows are
counted as they are; of the latter, which may be wide, only the columns requested are read.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.contracts.inputs import ReleaseInput
from surebox_core.ends import Ends, inside
from surebox_verify.expected import Distribution, distribution
from surebox_verify.released.beside import Form, beside
from surebox_verify.released.codebooks import Codebook
from workers.algorithms.boxes.queries import counting as box_counting
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.queries import counting
from workers.frames.columns import numeric_columns, plain_columns
from workers.methods.context import JobContext
from workers.methods.queries.box_sides import BEYOND, ExpectedSets, SetColumn, Sided, sided
from workers.methods.queries.query_arrays import Queries, interval_arrays, intervals_of, values_of
from workers.methods.released.boxes import kept_in
from workers.methods.released.densities import released_densities

#: A rotated density is requested so many points.
_ROTATED_POINTS: Final = 64
#: Records that are expected nowhere, but possible, as the shares of sets have them.
_NOTHING: Final = 1e-6
#: Of a step: a whole number represents all that round to it.
_HALF: Final = 0.5

_Pair: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Counted:
    """Answers to Q queries: estimate (Q,); standard error (Q,), certain bounds (Q, 2), where the method gives any."""

    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64] | None = None
    guaranteed: NDArray[np.int64] | None = None


class Countable(Protocol):
    """A release that is ready."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What queries restrict, in the order of their arrays."""

    @property
    def work(self) -> float:
        """What one query costs, in steps of a simple loop."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Codebooks of the columns that are queried by values."""

    def count(self, queries: Queries, *, threads: int) -> Counted:
        """Answer queries."""


@dataclass(frozen=True, slots=True)
class CountedBoxes:
    """A release of `boxes`."""

    sided: Sided
    sets: tuple[ExpectedSets, ...]
    ready: box_counting.BoxIndex
    ends: tuple[Ends, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of numbers and days; others are queried by values."""
        return self.sided.numeric

    @property
    def work(self) -> float:
        """Boxes that are together are passed over together; every query has a share of each different set."""
        return float(self.ready.lower.size + self.ready.sets.size + 8 * sum(one.sets.size for one in self.sets))

    @property
    def nbytes(self) -> int:
        """Bounds, sets and counts, as they were read and in the index."""
        sets = sum(one.sets.nbytes + one.of_box.nbytes + one.probable.nbytes for one in self.sets)
        return 2 * (3 * self.ready.lower.nbytes + 3 * self.ready.upper.nbytes + 2 * self.ready.mass.nbytes + sets)

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Those of the sets."""
        return {one.name: one.book for one in self.sets}

    def count(self, queries: Queries, *, threads: int) -> Counted:
        """As expected, and certain bounds."""
        values, places = self._intervals(queries)
        parts = self._parts([values_of(query) for query in queries])
        counts = box_counting.count(self.ready, *values, threads, parts, places)
        estimate = np.where(counts.estimate < _NOTHING, 0.0, counts.estimate)
        return Counted(estimate, guaranteed=np.stack([counts.least, counts.most], axis=1).astype(np.int64))

    def _intervals(self, queries: Queries) -> tuple[_Pair, _Pair]:
        """(Q, n) each, ends of the intervals with half a step beyond them, and their places among the boxes' ends."""
        shape = len(queries), self.ready.lower.shape[1]
        values, places = ((np.full(shape, -np.inf), np.full(shape, np.inf)) for _ in range(2))
        for row, column, low, high in intervals_of(queries, self.columns):
            places[0][row, column], places[1][row, column] = self.ends[column].span(low, high)
            step = float(self.sided.steps[column])
            least, most = inside(low, high, step or None)
            values[0][row, column], values[1][row, column] = sorted((least - _HALF * step, most + _HALF * step))
        return values, places

    def _parts(self, named: Sequence[Mapping[str, Sequence[Any]]]) -> NDArray[np.float64]:
        """(Q, T), share of each set that each query asks for."""
        parts = []
        for column in self.sets:
            part = np.ones((len(named), len(column.sets)))
            for row, values in enumerate(named):
                if column.name in values:
                    part[row] = column.shares(column.book.all_of(values[column.name]))
            parts.append(part)
        return np.concatenate(parts, axis=1) if parts else np.ones((len(named), 0))


@dataclass(frozen=True, slots=True)
class CountedDensities:
    """A release of `uncertain`, or of `condensation` as densities without width."""

    columns: tuple[str, ...]
    ready: counting.DensityIndex
    exact: bool

    @property
    def work(self) -> float:
        """Far densities are passed over, rotated ones are not."""
        densities = self.ready.densities
        return float(densities.z.size * (1 if densities.axes is None else _ROTATED_POINTS))

    @property
    def nbytes(self) -> int:
        """Twice the data that are read: sorted, and as it was."""
        densities = self.ready.densities
        parts = (densities.z, densities.scale, densities.axes)
        return 3 * sum(part.nbytes for part in parts if part is not None)

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Numbers have none."""
        return {}

    def count(self, queries: Queries, *, threads: int) -> Counted:
        """Mass in the boxes."""
        counts = counting.count_indexed(self.ready, *interval_arrays(queries, self.columns), threads)
        return Counted(counts.estimate, None if self.exact else counts.standard_error)


@dataclass(frozen=True, slots=True)
class CountedRows:
    """A release of `swaps`: rows as they are, missing values included.

    Attributes
    ----------
    places
        (rows, n), place of each value among those of its column; -1 where it is missing.
    ends
        The values of each column.
    """

    columns: tuple[str, ...]
    places: NDArray[np.int64]
    ends: tuple[Ends, ...]

    @property
    def work(self) -> float:
        """Every row is looked at."""
        return 4.0 * max(self.places.size, len(self.places))

    @property
    def nbytes(self) -> int:
        """The columns."""
        return self.places.nbytes + sum(each.values.nbytes for each in self.ends)

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Numbers have none."""
        return {}

    def count(self, queries: Queries, *, threads: int) -> Counted:  # noqa: ARG002
        """Rows in the boxes; a missing value is in no interval, and matters only in a column that is restricted."""
        estimate = np.empty(len(queries))
        for row, query in enumerate(queries):
            inside = np.ones(len(self.places), dtype=np.bool_)
            for _, column, low, high in intervals_of([query], self.columns):
                first, last = self.ends[column].span(low, high)
                inside &= (self.places[:, column] >= max(first, 0)) & (self.places[:, column] <= last)
            estimate[row] = np.count_nonzero(inside)
        return Counted(estimate)


def read_for(release: ReleaseInput, queries: Queries) -> tuple[str, ...]:
    """The columns that are read for a question alone: those that rows have as they are."""
    names = frozenset(name for query in queries for name in query)
    if release.method == "boxes":
        return kept_in(release, names)
    if release.method != "swaps":
        return ()
    return tuple(column.name for column in release.columns if column.name in names)


def countable(job: JobContext, columns: tuple[str, ...]) -> Countable:
    """The release of a question, made ready; `columns` are those of `read_for`."""
    make: dict[str, Callable[[JobContext], Countable]] = {
        "boxes": lambda job: counted_boxes(sided(job, columns)),
        "uncertain": _densities,
        "condensation": _points,
    }
    method = job.releases["release_id"].method
    return make[method](job) if method in make else _rows(job, columns)


def warm_up() -> None:
    """Count in a few made-up boxes and densities, for the kernels; those of rotated ones wait for the first."""
    centres = np.arange(24.0).reshape(12, 2)
    some: Queries = [{"a": [low - 1.0, low + 1.0], "b": [high - 1.0, high + 1.0]} for low, high in centres[:2].tolist()]
    ones, sets = (
        np.ones(12, dtype=np.int64),
        SetColumn(Codebook("", ("",)), np.ones((1, 1), np.bool_), np.zeros(12, dtype=np.int64)),
    )
    boxes = Sided(("a", "b"), centres, centres + 1.0, np.zeros(2), ones, ones, (sets,))
    counted_boxes(boxes).count(some, threads=1)
    densities = Densities("gaussian", centres, np.ones_like(centres), None, np.ones(2))
    domain = (np.array([0.0, -np.inf]), np.array([np.inf, np.inf]))
    CountedDensities(("a", "b"), counting.index(densities, domain), exact=False).count(some, threads=1)


def counted_boxes(boxes: Sided) -> CountedBoxes:
    """Boxes made ready."""
    sets = tuple(one.expecting(boxes.counts, attained=boxes.attained) for one in boxes.sets)
    expecting = replace(boxes, sets=sets)
    known = 1.0 / np.maximum(boxes.counts, 2) if boxes.attained else None
    numbers = [_numbers(boxes, column) for column in range(boxes.lower.shape[1])]
    lower, upper, first, last = (np.column_stack([one.sides[side] for one in numbers]) for side in range(4))
    scales = tuple(
        None if name in boxes.points else _scale(low, high, boxes.counts)
        for name, low, high in zip_longest(boxes.numeric, lower.T, upper.T)
    )
    codes = expecting.numbered()
    ready = box_counting.index(lower, upper, boxes.counts, sets=codes, scales=scales, ends=known, places=(first, last))
    return CountedBoxes(expecting, sets, ready, tuple(one.ends for one in numbers))


@dataclass(frozen=True, slots=True)
class _Numbers:
    """A column of numbers: all of its ends, and (B,) each, bounds half a step wider, and the places of the bounds."""

    ends: Ends
    sides: tuple[NDArray[np.float64], ...]


def _numbers(boxes: Sided, column: int) -> _Numbers:
    """A column of numbers as it is counted: so wide bounds state how many whole numbers a box leaves."""
    lower, upper = boxes.lower[:, column], boxes.upper[:, column]
    there = lower < BEYOND
    points = boxes.points.get(boxes.numeric[column]) if boxes.numeric else None
    if points is not None:  # bounds are places already
        values = np.full(len(lower), BEYOND)
        values[there] = points[lower[there].astype(np.int64)]
        place = np.where(there, lower, float(len(points)))
        return _Numbers(Ends(points), (values, values, place, place))
    step = float(boxes.steps[column])
    ends = Ends(np.unique(np.concatenate([lower[there], upper[there]])), step or None)
    room = np.where(there, _HALF * step, 0.0)
    places = (np.where(there, np.searchsorted(ends.values, side), float(len(ends.values))) for side in (lower, upper))
    return _Numbers(ends, (lower - room, upper + room, *places))


def _scale(lower: NDArray[np.float64], upper: NDArray[np.float64], counts: NDArray[np.int64]) -> Distribution | None:
    """Where the records of a column are; of those boxes that have it."""
    there = upper < BEYOND
    return distribution(lower[there], upper[there], counts[there].astype(np.float64)) if there.any() else None


def _densities(job: JobContext) -> Countable:
    made = job.releases["release_id"].made
    ends = [made.domains.get(name, (-np.inf, np.inf)) for name in made.quasi_identifiers]
    low, high = np.array(ends, dtype=np.float64).T
    ready = counting.index(released_densities(job), (np.ascontiguousarray(low), np.ascontiguousarray(high)))
    return CountedDensities(made.quasi_identifiers, ready, exact=False)


def _points(job: JobContext) -> Countable:
    names = job.releases["release_id"].made.quasi_identifiers
    z = np.ascontiguousarray(numeric_columns(job.release_path(), names).values)
    spread = z.std(axis=0)
    unit = np.where(spread > 0.0, spread, 1.0)
    ready = counting.index(Densities("uniform", z, np.zeros_like(z), None, unit))
    return CountedDensities(names, ready, exact=True)


def _rows(job: JobContext, columns: tuple[str, ...]) -> Countable:
    table = plain_columns(job.release_path(), columns)
    held = [beside(table, Form(name)) for name in columns]
    places = np.column_stack([one.codes for one in held]) if held else np.zeros((table.num_rows, 0), np.int64)
    return CountedRows(columns, places, tuple(Ends(one.points) for one in held if one.points is not None))
