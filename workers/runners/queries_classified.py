"""Releases made ready for classification by a kept column, one way for each method that published them.

`uncertain`: the densities that fit a point best vote by their fit. `boxes`: records are spread evenly over their boxes.
`condensation`: the nearest condensed records vote. Rows whose label is missing have no vote.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from app.errors import FieldError, InvalidError
from workers.algorithms.uncertain import classification
from workers.algorithms.uncertain.densities import Densities
from workers.runners.base import JobContext
from workers.runners.densities import released_densities
from workers.runners.frames.columns import numeric_columns
from workers.runners.frames.labels import Labels, read_labels

#: Rotated densities cost more by about this.
_ROTATED: Final = 8
#: What a class costs beside a density's column: it has a place in every answer.
_VOTE: Final = 20


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

    @property
    def work(self) -> float:
        """What one point costs, in steps of a simple loop."""

    @property
    def nbytes(self) -> int:
        """Memory that it takes."""

    def classify(self, points: NDArray[np.float64], *, neighbours: int, threads: int) -> Voted:
        """Classify points (Q, n)."""


@dataclass(frozen=True, slots=True)
class ClassifiedDensities:
    """A release of `uncertain`."""

    classes: tuple[str, ...]
    codes: NDArray[np.int64]
    ready: classification.Index

    @property
    def work(self) -> float:
        """Far densities are passed over."""
        held = self.ready.densities
        return float(held.z.size * (1 if held.axes is None else _ROTATED) + _VOTE * len(self.classes))

    @property
    def nbytes(self) -> int:
        """Densities, and what is known of each."""
        held = self.ready.densities
        return _size(held.z, held.scale, held.axes, self.codes, self.ready.top, self.ready.tree.order)

    def classify(self, points: NDArray[np.float64], *, neighbours: int, threads: int) -> Voted:
        """By the best fits."""
        found = classification.classify(self.ready, self.codes, points, neighbours, threads)
        return Voted(found.label, found.probabilities)


@dataclass(frozen=True, slots=True)
class ClassifiedPoints:
    """A release of `condensation`."""

    classes: tuple[str, ...]
    codes: NDArray[np.int64]
    ready: classification.Index

    @property
    def work(self) -> float:
        """Far records are passed over."""
        return float(self.ready.densities.z.size + _VOTE * len(self.classes))

    @property
    def nbytes(self) -> int:
        """Records and their classes."""
        held = self.ready.densities
        return _size(held.z, held.scale, self.codes, self.ready.top, self.ready.tree.order)

    def classify(self, points: NDArray[np.float64], *, neighbours: int, threads: int) -> Voted:
        """By the nearest records, columns divided by their standard deviations in the release."""
        found = classification.classify_by_nearest(self.ready, self.codes, points, neighbours, threads)
        return Voted(found.label, found.probabilities)


def classifiable(job: JobContext, label: str) -> Classifiable:
    """The release of a question, made ready for one of its columns.

    Raises
    ------
    InvalidError
        If no row has a label.
    """
    make: dict[str, Callable[[JobContext, Labels], Classifiable]] = {
        "uncertain": _densities,
        "condensation": _points,
    }
    labels = read_labels(job.release_path(), label)
    if not labels.classes:
        detail = f"column {label!r} has no values"
        raise InvalidError(detail, errors=[FieldError("/label", detail)])
    return make[job.releases["release_id"].method](job, labels)


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
    names = job.releases["release_id"].spec["columns"]
    z = np.ascontiguousarray(numeric_columns(job.release_path(), names).values)
    spread, voting = z.std(axis=0), labels.codes >= 0
    ready = classification.nearest_index(z[voting], np.where(spread > 0.0, spread, 1.0))
    return ClassifiedPoints(labels.classes, labels.codes[voting], ready)


def _size(*arrays: NDArray[Any] | None) -> int:
    return sum(array.nbytes for array in arrays if array is not None)
