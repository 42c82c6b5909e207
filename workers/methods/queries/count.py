"""Releases made ready for counting, one way for each method that published them.

`boxes`: records are expected in their boxes where all boxes together state, with `tight` bounds one at each end and one
of each value; and so many are in a query for certain. Weights do not matter: each row is one record, whatever it weighs
in statistics. `uncertain`: the mass of the densities, given the declared domains. `condensation`, `swaps`: rows are
counted as they are; of the latter, which may be wide, only the columns requested are read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from app.contracts.inputs import ReleaseInput
from surebox_verify.expected import Distribution, distribution
from surebox_verify.released.codebooks import Codebook
from workers.algorithms.boxes.queries import counting as box_counting
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.queries import counting
from workers.frames.columns import numeric_columns
from workers.methods.context import JobContext
from workers.methods.queries.box_sides import BEYOND, ExpectedSets, SetColumn, Sided, sided
from workers.methods.queries.query_arrays import Queries, QueryArrays
from workers.methods.released.boxes import kept_in
from workers.methods.released.densities import released_densities

#: A rotated density is requested so many points.
_ROTATED_POINTS: Final = 64
#: Records that are expected nowhere, but possible, as the shares of sets have them.
_NOTHING: Final = 1e-6


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

    def count(self, queries: QueryArrays, *, threads: int) -> Counted:
        """Answer queries."""


@dataclass(frozen=True, slots=True)
class CountedBoxes:
    """A release of `boxes`."""

    sided: Sided
    sets: tuple[ExpectedSets, ...]
    ready: box_counting.BoxIndex

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
        return 2 * (2 * self.ready.lower.nbytes + 2 * self.ready.upper.nbytes + 2 * self.ready.mass.nbytes + sets)

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Those of the sets."""
        return {one.name: one.book for one in self.sets}

    def count(self, queries: QueryArrays, *, threads: int) -> Counted:
        """As expected, and certain bounds."""
        lower, upper = self.sided.widened(queries.lower, queries.upper)
        counts = box_counting.count(self.ready, lower, upper, threads, self._parts(queries))
        estimate = np.where(counts.estimate < _NOTHING, 0.0, counts.estimate)
        return Counted(estimate, guaranteed=np.stack([counts.least, counts.most], axis=1).astype(np.int64))

    def _parts(self, queries: QueryArrays) -> NDArray[np.float64]:
        """(Q, T), share of each set that each query asks for."""
        parts = []
        for column in self.sets:
            part = np.ones((len(queries.values), len(column.sets)))
            for row, values in enumerate(queries.values):
                if column.name in values:
                    part[row] = column.shares(column.book.all_of(values[column.name]))
            parts.append(part)
        return np.concatenate(parts, axis=1) if parts else np.ones((len(queries.values), 0))


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

    def count(self, queries: QueryArrays, *, threads: int) -> Counted:
        """Mass in the boxes."""
        counts = counting.count_indexed(self.ready, queries.lower, queries.upper, threads)
        return Counted(counts.estimate, None if self.exact else counts.standard_error)


@dataclass(frozen=True, slots=True)
class CountedRows:
    """A release of `swaps`: rows as they are, missing values included."""

    columns: tuple[str, ...]
    values: NDArray[np.float64]

    @property
    def work(self) -> float:
        """Every row is looked at."""
        return 4.0 * max(self.values.size, len(self.values))

    @property
    def nbytes(self) -> int:
        """The columns."""
        return self.values.nbytes

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Numbers have none."""
        return {}

    def count(self, queries: QueryArrays, *, threads: int) -> Counted:  # noqa: ARG002
        """Rows in the boxes; a missing value is in no interval, and matters only in a column that is restricted."""
        estimate = np.empty(len(queries.lower))
        for query, (lo, hi) in enumerate(zip(queries.lower, queries.upper, strict=True)):
            inside = np.ones(len(self.values), dtype=np.bool_)
            for column in np.flatnonzero((lo > -np.inf) | (hi < np.inf)):
                values = self.values[:, column]
                inside &= (values >= lo[column]) & (values <= hi[column])
            estimate[query] = np.count_nonzero(inside)
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
    some = QueryArrays(centres[:2] - 1.0, centres[:2] + 1.0, ({}, {}))
    ones, sets = (
        np.ones(12, dtype=np.int64),
        SetColumn(Codebook("", ("",)), np.ones((1, 1), np.bool_), np.zeros(12, dtype=np.int64)),
    )
    boxes = Sided(("", ""), centres, centres + 1.0, np.zeros(2), ones, ones, (sets,))
    counted_boxes(boxes).count(some, threads=1)
    densities = Densities("gaussian", centres, np.ones_like(centres), None, np.ones(2))
    domain = (np.array([0.0, -np.inf]), np.array([np.inf, np.inf]))
    CountedDensities((), counting.index(densities, domain), exact=False).count(some, threads=1)


def counted_boxes(boxes: Sided) -> CountedBoxes:
    """Boxes made ready."""
    sets = tuple(one.expecting(boxes.counts, attained=boxes.attained) for one in boxes.sets)
    expecting = replace(boxes, sets=sets)
    ends = 1.0 / np.maximum(boxes.counts, 2) if boxes.attained else None
    scales = tuple(map(_scale, boxes.lower.T, boxes.upper.T, [boxes.counts] * boxes.lower.shape[1]))
    numbers = expecting.numbered()
    ready = box_counting.index(boxes.lower, boxes.upper, boxes.counts, sets=numbers, scales=scales, ends=ends)
    return CountedBoxes(expecting, sets, ready)


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
    return CountedRows(columns, numeric_columns(job.release_path(), columns).values)
