"""Releases made ready for classification by a kept column, one way for each method that published them.

`uncertain`: the densities that fit a point best vote by their fit. `boxes`: the boxes about a point vote, all records
of a box alike. `condensation`: the nearest condensed records vote. Rows whose label is missing have no vote.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.errors import InvalidError
from surebox_verify.released.codebooks import Codebook
from surebox_verify.released.intervals import number_of
from workers.algorithms.boxes.queries import classification as box_classification
from workers.algorithms.uncertain.density.densities import Densities
from workers.algorithms.uncertain.queries import classification
from workers.frames.columns import numeric_columns
from workers.frames.labels import Labels, read_labels
from workers.methods.context import JobContext
from workers.methods.queries.box_sides import BEYOND, SetColumn, Sided, sided
from workers.methods.released.densities import released_densities

#: Points as they were sent: values of the specification's columns.
Points: TypeAlias = Sequence[Sequence[Any]]

#: Rotated densities cost more by about this.
_ROTATED: Final = 8
#: What a class costs next to a density's column: it has a place in every answer.
_VOTE: Final = 20
_MOST_CLASSES: Final = 1_000
#: Counts of classes in boxes: so many are held in memory.
_MOST_VOTES: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class Voted:
    """Answers to Q points: class (Q,), probability of each class (Q, C)."""

    label: NDArray[np.int64]
    probability: NDArray[np.float64]


class Classifiable(Protocol):
    """A release that is ready."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Texts of the classes."""

    def work(self, neighbours: int) -> float:
        """What one point costs, in steps of a simple loop."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Codebooks of the columns whose values are no numbers."""

    def classify(self, points: Points, *, neighbours: int, threads: int) -> Voted:
        """Classify points (Q, n)."""


@dataclass(frozen=True, slots=True)
class ClassifiedBoxes:
    """A release of `boxes`."""

    classes: tuple[str, ...]
    names: tuple[str, ...]
    sided: Sided
    ready: box_classification.BoxClassIndex

    def work(self, neighbours: int) -> float:
        """Boxes that are together are passed over together; every box that may vote has its classes in memory."""
        return float(self.ready.lower.size + _VOTE * (neighbours + 1) * len(self.classes))

    @property
    def nbytes(self) -> int:
        """Bounds and votes."""
        return _size(self.ready.lower, self.ready.upper, self.ready.votes, self.ready.low, self.ready.high)

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Those of the sets."""
        return {one.name: one.book for one in self.sided.sets}

    def classify(self, points: Points, *, neighbours: int, threads: int) -> Voted:
        """By the boxes about a point."""
        numbers, values = self._coordinates(points)
        prediction = box_classification.classify(self.ready, numbers, neighbours, threads, self._strange(values))
        return Voted(prediction.label, prediction.probabilities)

    def _coordinates(self, points: Points) -> tuple[NDArray[np.float64], list[dict[str, Any]]]:
        """Numbers of each point as the boxes' columns have them, (Q, n), and its other values by column."""
        named = [dict(zip(self.names, point, strict=True)) for point in points]
        numeric = self.sided.numeric
        numbers = np.array([[number_of(one[name]) for name in numeric] for one in named], dtype=np.float64)
        return (numbers if numeric else np.zeros((len(named), 1))), named

    def _strange(self, values: list[dict[str, Any]]) -> NDArray[np.float64]:
        """(Q, T), 1 for each set that cannot have the point's value."""
        parts = []
        for column in self.sided.sets:
            part = np.empty((len(values), len(column.sets)))
            for row, one in enumerate(values):
                meant = column.book.meant(one[column.name])
                held = (column.sets & column.among(meant.perhaps)).any(axis=1)
                part[row] = ~np.where(column.sets.any(axis=1), held, meant.missing)
            parts.append(part)
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(values), 0))


@dataclass(frozen=True, slots=True)
class ClassifiedDensities:
    """A release of `uncertain`."""

    classes: tuple[str, ...]
    codes: NDArray[np.int64]
    ready: classification.DensityClassIndex

    def work(self, neighbours: int) -> float:
        """Far densities are passed over."""
        held = self.ready.densities
        return float(held.z.size * (1 if held.axes is None else _ROTATED) + _VOTE * (len(self.classes) + neighbours))

    @property
    def nbytes(self) -> int:
        """Densities, and the known facts of each."""
        held = self.ready.densities
        return _size(held.z, held.scale, held.axes, self.codes, self.ready.top, self.ready.tree.order)

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Numbers have none."""
        return {}

    def classify(self, points: Points, *, neighbours: int, threads: int) -> Voted:
        """By the best fits."""
        prediction = classification.classify(self.ready, self.codes, _numbers(points), neighbours, threads)
        return Voted(prediction.label, prediction.probabilities)


@dataclass(frozen=True, slots=True)
class ClassifiedPoints:
    """A release of `condensation`."""

    classes: tuple[str, ...]
    codes: NDArray[np.int64]
    ready: classification.DensityClassIndex

    def work(self, neighbours: int) -> float:
        """Far records are passed over."""
        return float(self.ready.densities.z.size + _VOTE * (len(self.classes) + neighbours))

    @property
    def nbytes(self) -> int:
        """Records and their classes."""
        held = self.ready.densities
        return _size(held.z, held.scale, self.codes, self.ready.top, self.ready.tree.order)

    @property
    def books(self) -> Mapping[str, Codebook]:
        """Numbers have none."""
        return {}

    def classify(self, points: Points, *, neighbours: int, threads: int) -> Voted:
        """By the nearest records, columns divided by their standard deviations in the release."""
        prediction = classification.classify_by_nearest(self.ready, self.codes, _numbers(points), neighbours, threads)
        return Voted(prediction.label, prediction.probabilities)


def classifiable(job: JobContext, target: str) -> Classifiable:
    """The release of a question, made ready for one of its columns.

    Raises
    ------
    InvalidError
        If no row has a label, or there are too many different ones.
    """
    make: dict[str, Callable[[JobContext, Labels], Classifiable]] = {
        "boxes": _boxes,
        "uncertain": _densities,
        "condensation": _points,
    }
    labels = read_labels(job.release_path(), target)
    if not labels.classes:
        raise _unfit(f"column {target!r} has no values")
    if len(labels.classes) > _MOST_CLASSES:
        raise _unfit(f"column {target!r} has {len(labels.classes):,} values; classes may be {_MOST_CLASSES:,} at most")
    return make[job.releases["release_id"].method](job, labels)


def warm_up() -> None:
    """Classify by a few made-up boxes and densities, for the kernels."""
    centres = np.arange(24.0).reshape(12, 2)
    codes = np.arange(12, dtype=np.int64) % 2
    ones, sets = (
        np.ones(12, dtype=np.int64),
        SetColumn(Codebook("c", ("",)), np.ones((1, 1), np.bool_), np.zeros(12, dtype=np.int64)),
    )
    boxes = Sided(("a", "b"), centres, centres + 1.0, np.zeros(2), ones, ones, (sets,))
    votes, points = np.ones((12, 2), dtype=np.int64), [[0.0, 1.0, ""]]
    classified_boxes((), ("a", "b", "c"), boxes, votes).classify(points, neighbours=2, threads=1)
    densities = Densities("gaussian", centres, np.ones_like(centres), None, np.ones(2))
    ClassifiedDensities((), codes, classification.index(densities)).classify(centres.tolist(), neighbours=2, threads=1)


def _unfit(detail: str) -> InvalidError:
    return InvalidError.at("/target", detail)


def _boxes(job: JobContext, labels: Labels) -> Classifiable:
    boxes, voting = sided(job), labels.codes >= 0
    size = (len(boxes.counts), len(labels.classes))
    if size[0] * size[1] > _MOST_VOTES:
        raise _unfit(f"{size[1]:,} classes are too many for {size[0]:,} boxes; at most {_MOST_VOTES // size[0]:,}")
    places = boxes.of_row[voting] * size[1] + labels.codes[voting]
    votes = np.bincount(places, minlength=size[0] * size[1]).reshape(size)
    return classified_boxes(labels.classes, job.releases["release_id"].made.quasi_identifiers, boxes, votes)


def classified_boxes(
    classes: tuple[str, ...], names: tuple[str, ...], boxes: Sided, votes: NDArray[np.int64]
) -> ClassifiedBoxes:
    """Boxes made ready; one without a value of a column may be anywhere along it."""
    missing = boxes.lower >= BEYOND
    empty = missing.all(axis=0)
    low = np.where(missing, np.where(empty, 0.0, np.where(missing, np.inf, boxes.lower).min(axis=0)), boxes.lower)
    high = np.where(missing, np.where(empty, 0.0, np.where(missing, -np.inf, boxes.upper).max(axis=0)), boxes.upper)
    index = box_classification.index(low, high, votes, boxes.numbered())
    return ClassifiedBoxes(classes, names, boxes, index)


def _numbers(points: Points) -> NDArray[np.float64]:
    return np.array(points, dtype=np.float64)


def _densities(job: JobContext, labels: Labels) -> Classifiable:
    held, voting = released_densities(job), labels.codes >= 0
    densities = Densities(
        held.model,
        held.z[voting],
        held.scale[voting],
        None if held.axes is None else held.axes[voting],
        held.unit,
    )
    return ClassifiedDensities(labels.classes, labels.codes[voting], classification.index(densities))


def _points(job: JobContext, labels: Labels) -> Classifiable:
    names = job.releases["release_id"].made.quasi_identifiers
    z = np.ascontiguousarray(numeric_columns(job.release_path(), names).values)
    spread, voting = z.std(axis=0), labels.codes >= 0
    ready = classification.nearest_index(z[voting], np.where(spread > 0.0, spread, 1.0))
    return ClassifiedPoints(labels.classes, labels.codes[voting], ready)


def _size(*arrays: NDArray[Any] | None) -> int:
    return sum(array.nbytes for array in arrays if array is not None)
