"""Releases made ready for classification, one way for each method that published them.

`uncertain`: the densities that fit a point best vote by their fit. `boxes`: TODO.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workers.runners.base import JobContext


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


def classifiable(job: JobContext, label: str) -> Classifiable:
    """The release of a question, made ready."""
    raise NotImplementedError
