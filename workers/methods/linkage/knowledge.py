"""What the linkage audit knows: the release as densities, the record behind every row, and what the adversary knows."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from app.contracts.inputs import DatasetInput
from app.errors import InvalidError
from app.methods.uncertain.spec import UncertainSpec
from workers.algorithms.uncertain.density.densities import Densities
from workers.frames.columns import numeric_columns
from workers.frames.records import CompleteRecords, complete_records
from workers.methods.context import JobContext
from workers.methods.released.densities import released_densities
from workers.methods.released.links import read_link
from workers.methods.uncertain.request import wanted

#: Share of the dataset that the weaker adversary knows.
KNOWN_SHARE = 0.9


@dataclass(frozen=True, slots=True)
class Attacked:
    """A release under attack.

    Attributes
    ----------
    densities
        The published data, M rows.
    truth
        The record behind each row, shape (M, n). Restricted.
    k
        Of the release, or of each row, shape (M,).
    spec
        The request; None where rows have no densities of their own.
    """

    densities: Densities
    truth: NDArray[np.float64]
    k: float | NDArray[np.float64]
    spec: UncertainSpec | None


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Records that an adversary knows.

    Attributes
    ----------
    values
        Shape (C, n).
    of_row
        Which of them is behind each released row, shape (M,); -1 where they do not know that record.
    k
        Of all records or of each, shape (C,); None where they do not know it.
    original
        Whether they know the whole original.
    """

    values: NDArray[np.float64]
    of_row: NDArray[np.int64]
    k: float | NDArray[np.float64] | None
    original: bool

    def part(self, rng: np.random.Generator) -> "Knowledge":
        """The information left to someone who knows a share of these records."""
        count = len(self.values)
        chosen = np.sort(rng.permutation(count)[: int(KNOWN_SHARE * count)])
        place = np.full(count + 1, -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        k = self.k[chosen] if isinstance(self.k, np.ndarray) else self.k
        return replace(self, values=self.values[chosen], of_row=place[self.of_row], k=k, original=False)


def attacked(job: JobContext) -> tuple[Attacked, Knowledge]:
    """Read the release, the records behind its rows, and the adversary's dataset.

    Raises
    ------
    InvalidError
        The record behind each row is no longer known, or the adversary knows nothing.
    """
    release, link = job.releases["release_id"], read_link(job)
    columns = list(release.made.quasi_identifiers)
    known = complete_records(job.dataset_path("knowledge_dataset_id"), columns)
    if not len(known.rows):
        detail = "no record of this dataset has values in all columns of the release"
        raise InvalidError.at("/knowledge_dataset_id", detail)
    apart = "original_dataset_id" in job.datasets
    original = job.dataset_path("original_dataset_id" if apart else "knowledge_dataset_id")
    truth = np.ascontiguousarray(numeric_columns(original, columns).values[link])
    spec = None
    k: float | NDArray[np.float64] = float(release.made.k or 1.0)
    if release.method == "uncertain":
        spec = UncertainSpec.model_validate({**release.spec, "seed": None})
        k = wanted(original, spec, CompleteRecords(truth, link, len(link)))
    of_row = _places_of(truth, known.values) if apart else np.searchsorted(known.rows, link)
    densities = released_densities(job) if spec is not None else _points(job, columns)
    return Attacked(densities, truth, k, spec), Knowledge(
        known.values, of_row, _known_k(job, spec, known, k), original=not apart
    )


def _known_k(
    job: JobContext, spec: UncertainSpec | None, known: CompleteRecords, k: float | NDArray[np.float64]
) -> float | NDArray[np.float64] | None:
    """The k that the adversary would calibrate their records with."""
    if spec is None or spec.k_column is None:
        return float(k) if spec is not None and not isinstance(k, np.ndarray) else None
    path: Path = job.dataset_path("knowledge_dataset_id")
    return wanted(path, spec, known) if tells_k(job.datasets["knowledge_dataset_id"], spec.k_column) else None


def tells_k(dataset: DatasetInput, name: str) -> bool:
    """Whether a dataset has a k for every record; one of another kind may have a column of that name all the same."""
    summary = dataset.numeric.get(name)
    complete = any(column.name == name and not column.missing for column in dataset.columns)
    if summary is None or summary.infinite or summary.finite_minimum is None:
        return False
    return complete and summary.finite_minimum >= 1


def _places_of(truth: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first known record with the very values of each true one; -1 where there is none."""
    codes = np.unique(np.vstack([values, truth]), axis=0, return_inverse=True)[1].ravel()
    first = np.full(int(codes.max()) + 1, -1, dtype=np.int64)
    first[codes[: len(values)][::-1]] = np.arange(len(values))[::-1]
    return first[codes[len(values) :]]


def _points(job: JobContext, columns: list[str]) -> Densities:
    """Rows without densities: the nearest record fits best, distances in standard deviations of the rows."""
    z = np.ascontiguousarray(numeric_columns(job.release_path(), columns).values)
    spread = z.std(axis=0)
    unit = np.where(spread > 0.0, spread, 1.0)
    return Densities("gaussian", z, np.ascontiguousarray(np.broadcast_to(unit, z.shape)), None, unit)
