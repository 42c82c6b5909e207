"""What a runner is given for one job: its specification, what it works on, a folder, and a way to report."""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from app.contracts.inputs import DatasetInput, Inputs, JobInput, ReleaseInput
from app.contracts.jobs import JobProgress, JobSpec, JobStage
from app.errors import InvalidError

J = TypeVar("J", bound=JobSpec)
T = TypeVar("T")


class CancelRequestedError(Exception):
    """The user requested the job's cancellation; raised by `JobContext.tick`, let it pass."""


class ShutdownRequestedError(Exception):
    """This worker is stopping and the job goes back to the queue; raised by `JobContext.tick`, let it pass."""


class MisplacedError(Exception):
    """The job is longer than what this process is for, and goes elsewhere; raised by `JobContext.tick`, let it pass."""


@dataclass(frozen=True, slots=True)
class JobPart:
    """Which part of a whole a job is: number `index` of `of`, counted from 0."""

    index: int
    of: int


class InputFile(StrEnum):
    """What the engine can fetch into the scratch folder of a job."""

    DATASET = "dataset"
    RELEASE = "release"
    LINK = "link"
    STATISTICS = "statistics"
    RESULT = "result"
    UPLOAD = "upload"
    #: Of a release: the data that it was made from, who was where in it, and by what that is keyed, while kept.
    ORIGINAL = "original"
    PERSONS = "persons"
    PERSONS_KEY = "persons_key"
    #: Of a version of a table: a list of the ledgers of all versions up to it, the last one first; by what the records
    #: that they have shown are keyed.
    VERSIONS = "versions"
    VERSIONS_KEY = "versions_key"
    #: Of a dataset: the least widths of its columns in the boxes that were first published of the same data.
    WIDTHS = "widths"


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings that runners need; no secret and no address is among them."""

    max_columns: int
    max_field_bytes: int
    max_upload_bytes: int
    release_cache_bytes: int
    split_seconds: float


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a runner may use while it works on one job; inputs by the fields of the specification that name them.

    There is no way from here to the database or the storage: what a job works on is laid into its scratch folder.
    """

    id: str
    method: str
    spec: Mapping[str, Any]
    seed: int | None
    inputs: Inputs
    #: Which random draw from the same data this is, by the published data; above 1 only where draws add up.
    draw: int
    scratch: Path
    limits: Limits
    threads: int
    #: None for a whole job, and for one that joins its parts.
    part: JobPart | None
    #: The random draw is drawn from it; as secret as what it hides.
    rng: np.random.Generator = field(repr=False)
    #: An input's bytes as a local file, by the field that names the input; None where there are none.
    fetch: Callable[[InputFile, str], Path | None] = field(repr=False)
    on_tick: Callable[[JobProgress], None] = field(repr=False)
    #: Secrets of the columns that a runner is `Keyed` by.
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    #: Whether somebody reads the warnings; of a run inside an audit nobody does.
    is_advised: bool = True

    @property
    def datasets(self) -> Mapping[str, DatasetInput]:
        """The datasets."""
        return self.inputs.datasets

    @property
    def releases(self) -> Mapping[str, ReleaseInput]:
        """The releases."""
        return self.inputs.releases

    @property
    def jobs(self) -> Mapping[str, JobInput]:
        """The earlier jobs."""
        return self.inputs.jobs

    @property
    def dataset(self) -> DatasetInput | None:
        """The first dataset: what a release is made from."""
        return self.inputs.dataset

    def specification(self, spec: type[J]) -> J:
        """The request, as its type; the seed is next to the stored specification, never in it."""
        return spec.model_validate({**self.spec, "seed": self.seed})

    def dataset_path(self, field: str = "dataset_id") -> Path:
        """The Parquet copy of a dataset as a local file."""
        return self._required(InputFile.DATASET, field, "the dataset has not been read")

    def release_path(self, field: str = "release_id") -> Path:
        """The Parquet file of a release as a local file."""
        return self._required(InputFile.RELEASE, field, "there is no release with this id")

    def link_path(self, field: str = "release_id") -> Path | None:
        """What states which record each row of a release represents, as .npy; None once that is no longer known."""
        return self.fetch(InputFile.LINK, field)

    def release_statistics(self, field: str = "release_id") -> list[dict[str, Any]]:
        """The public statistics of a release."""
        path = self.fetch(InputFile.STATISTICS, field)
        statistics: list[dict[str, Any]] = [] if path is None else json.loads(path.read_bytes())
        return statistics

    def job_result(self, field: str) -> dict[str, Any]:
        """The whole result of an earlier job.

        Raises
        ------
        InvalidError
            If it has none: it did not succeed.
        """
        path = self._required(InputFile.RESULT, field, "an earlier job has no result")
        result: dict[str, Any] = json.loads(path.read_bytes())
        return result

    def earlier_widths(self, field: str = "dataset_id") -> dict[str, float]:
        """Least widths of the boxes that were first published of the same data, by column; 0 of those without one.

        A column that is not named was never published in boxes.
        """
        path = self.fetch(InputFile.WIDTHS, field)
        widths: dict[str, float] = {} if path is None else json.loads(path.read_bytes())
        return widths

    def upload_path(self) -> Path:
        """The staged bytes of an upload as a local file."""
        return self._required(InputFile.UPLOAD, "dataset_id", "the upload is gone")

    def _required(self, kind: InputFile, field: str, absent: str) -> Path:
        path = self.fetch(kind, field)
        if path is None:
            raise InvalidError.at(f"/{field}", absent)
        return path

    def through(self, work: Generator[float, None, T], stage: JobStage) -> T:
        """What some work returns; the shares done that it yields are ticked."""
        share = 0.0
        while True:
            self.tick(share, stage)
            try:
                share = next(work)
            except StopIteration as end:
                result: T = end.value
                return result

    def tick(self, fraction: float, stage: JobStage) -> None:
        """Report progress from inside a long step.

        Raises
        ------
        CancelRequestedError, ShutdownRequestedError, app.errors.FencedError, app.errors.TimeLimitError
            When the job must not go on here; the loop handles all of them.
        """
        self.on_tick(JobProgress(fraction=min(1.0, max(0.0, fraction)), stage=stage))
