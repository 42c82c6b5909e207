"""What every method's runner is given, does and returns.

A runner is the impure ring around an algorithm: it reads columns, advances the algorithm's frozen state in steps, and
hands back an `Outcome`. The loop owns everything else: claim, heartbeat, cancel, time limit, checkpoints, storing and
the one transaction that ends the job. Runners keep nothing on themselves: one instance serves every job of a process.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from app.contracts.datasets import DatasetColumn, NumericSummary
from app.contracts.jobs import JobState, Progress
from app.contracts.releases import ReleaseColumn
from app.contracts.warnings import Warning  # noqa: A004 - the word of the HTTP contract
from app.db.repositories import job_results
from app.db.session import Connection, Database
from app.errors import FieldError, InvalidError, pointer
from app.settings import Settings
from app.storage.protocol import Storage

S = TypeVar("S")

#: What a checkpoint is made of: plain arrays, no objects.
Arrays = dict[str, NDArray[Any]]


class CancelRequestedError(Exception):
    """The user asked for the job's cancellation; raised by `JobContext.tick`, let it pass."""


class ShutdownRequestedError(Exception):
    """This worker is stopping and the job goes back to the queue; raised by `JobContext.tick`, let it pass."""


class SplitRequestedError(Exception):
    """The job's work goes to parts of its own; the loop alone raises it."""

    def __init__(self, parts: int) -> None:
        super().__init__(parts)
        self.parts = parts


@dataclass(frozen=True, slots=True)
class DatasetRef:
    """A dataset that a job works on, as its profile says; the columns lie in the Parquet copy."""

    id: str
    sha256: str
    rows: int
    columns: tuple[DatasetColumn, ...]
    numeric: Mapping[str, NumericSummary]
    data_key: str


@dataclass(frozen=True, slots=True)
class ReleaseRef:
    """A release that a job works on; its rows lie in the Parquet file, `spec` is that of the job that made it."""

    id: str
    method: str
    rows: int
    columns: tuple[ReleaseColumn, ...]
    flags: tuple[str, ...]
    spec: Mapping[str, Any]
    key: str
    sha256: str


@dataclass(frozen=True, slots=True)
class JobRef:
    """An earlier job that a job goes on from."""

    id: str
    method: str
    state: JobState
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Which part of a whole a job is: number `index` of `of`, counted from 0."""

    index: int
    of: int


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a runner may use while it works on one job; inputs by the fields of the specification that name them."""

    id: str
    owner: str
    method: str
    spec: Mapping[str, Any]
    seed: int | None
    datasets: Mapping[str, DatasetRef]
    releases: Mapping[str, ReleaseRef]
    jobs: Mapping[str, JobRef]
    #: Which random draw from the same data this is, by what is published; above 1 only where draws add up.
    draw: int
    scratch: Path
    storage: Storage
    settings: Settings
    database: Database
    threads: int
    #: None for a whole job, and for one that joins its parts.
    part: Part | None
    on_tick: Callable[[Progress], None] = field(repr=False)
    #: Secrets of the columns that a runner is `Keyed` by.
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def dataset(self) -> DatasetRef | None:
        """The first dataset: what a release is made from."""
        return next(iter(self.datasets.values()), None)

    def dataset_path(self, field: str = "dataset_id") -> Path:
        """The Parquet copy of a dataset as a local file, fetched once."""
        return self.fetch(self.datasets[field].data_key)

    def release_path(self, field: str = "release_id") -> Path:
        """The Parquet file of a release as a local file, fetched once."""
        return self.fetch(self.releases[field].key)

    def job_result(self, field: str) -> dict[str, Any]:
        """The whole result of an earlier job.

        Raises
        ------
        InvalidError
            If it has none: it did not succeed.
        """
        with self.database.read() as connection:
            found = job_results.get_result(connection, job_id=self.jobs[field].id)
        if found is None:
            raise InvalidError("an earlier job has no result", errors=[FieldError(pointer(field), "it has no result")])
        return self.stored(found)

    def stored(self, result: job_results.StoredResult) -> dict[str, Any]:
        """A whole result, wherever it lies."""
        body = self.fetch(result.key).read_bytes() if result.key is not None else result.body
        loaded: dict[str, Any] = json.loads(body or b"{}")
        return loaded

    def fetch(self, key: str) -> Path:
        """A stored object as a local file in the scratch folder, fetched once."""
        path = self.scratch / key.replace("/", "-")
        if not path.exists():
            part = path.with_name(path.name + ".part")
            self.storage.fetch(key, part)
            part.rename(path)
        return path

    def tick(self, fraction: float, stage: str) -> None:
        """Report progress from inside a long step.

        Raises
        ------
        CancelRequestedError, ShutdownRequestedError, app.errors.FencedError, app.errors.TimeLimitError
            When the job must not go on here; the loop handles all of them.
        """
        self.on_tick(Progress(fraction=min(1.0, max(0.0, fraction)), stage=stage))


@dataclass(frozen=True, slots=True)
class DraftFile:
    """One file of a release, still in the scratch folder."""

    path: Path
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class ReleaseDraft:
    """A release before it is stored; everything in it becomes public, but for `link`.

    `files` by format (``parquet``, ``csv``, ``ndjson``); `columns` are ``{"name", "type"}``; `statistics` without
    restricted fields; `parameters` is what provenance may publish of the specification. Only `link` does not: an array
    in .npy with the place in the dataset of the record that each row stands for, kept for audits until the release or
    the dataset is deleted. `draw` says which draw from the same data it was made as, where draws add up.
    """

    rows: int
    columns: Sequence[Mapping[str, str]]
    files: Mapping[str, DraftFile]
    flags: Sequence[str] = ()
    statistics: Sequence[Mapping[str, Any]] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    link: Path | None = None
    draw: int | None = None
    warnings: Sequence[Warning] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a finished job leaves: JSON values only, undefined numbers as None (never NaN).

    `summary` becomes the job's `result`; `result` is served whole and always contains the summary; `warnings` become
    the job's, restricted as its result is; `record` writes further rows in the transaction that ends the job.
    """

    summary: Mapping[str, Any]
    result: Mapping[str, Any] = field(default_factory=dict)
    release: ReleaseDraft | None = None
    warnings: Sequence[Warning] = ()
    record: Callable[[Connection], None] | None = None


class Runner(Protocol[S]):
    """One method's runner. A step takes at most about half a second, or calls `job.tick` about that often.

    Errors of `app.errors` say what only computing could tell and end the job with that problem; anything else ends it
    with an internal error that is logged without its message, for a message could quote a cell.
    """

    def init(self, job: JobContext, *, rng: np.random.Generator) -> S:
        """Read what is needed and make the first state."""
        ...

    def step(self, state: S, *, rng: np.random.Generator) -> S:
        """Advance by one step."""
        ...

    def done(self, state: S) -> bool:
        """Whether no step is left."""
        ...

    def progress(self, state: S) -> Progress:
        """How far the state has come."""
        ...

    def finish(self, state: S, job: JobContext, *, rng: np.random.Generator) -> Outcome:
        """Write the release's files to the scratch folder and say what was found."""
        ...


@runtime_checkable
class Splitting(Protocol[S]):
    """A runner whose work falls into independent parts, worth processes of their own when there is much of it.

    Each part is a job with the same specification and inputs, and `JobContext.part` to say which; what it finds is the
    `result` of its outcome. A part draws from the streams that it would have drawn from unsplit: a given seed gives the
    same result however the work is split.
    """

    def parts(self, state: S, job: JobContext, *, hands: int) -> int:
        """Into how many parts to split, at most one per hand is sensible; 1 to go on unsplit."""
        ...

    def join(self, job: JobContext, found: Sequence[Mapping[str, Any]]) -> S:
        """The state of the whole from what its parts found, in their order."""
        ...


@runtime_checkable
class Keyed(Protocol):
    """A runner whose published random choices are functions of secrets of the data, not drawn anew for each release."""

    def keyed_by(self, job: JobContext) -> Sequence[str]:
        """The numeric columns of the first dataset whose secrets it needs: they will be in `JobContext.secrets`."""
        ...


@runtime_checkable
class Checkpointing(Protocol[S]):
    """A runner whose state can be packed into arrays and taken up again by another attempt.

    `algorithm` is the version of what is packed: raised with a change after which a state of before means something
    else or goes on to another result. A checkpoint of another version is discarded, and the job starts over.
    """

    @property
    def algorithm(self) -> int:
        """The version."""
        ...

    def pack(self, state: S) -> Arrays:
        """The state as arrays; neither objects nor pickles."""
        ...

    def unpack(self, job: JobContext, arrays: Arrays) -> S:
        """The state again; what was only read (columns) is read again from the dataset."""
        ...


@runtime_checkable
class Warming(Protocol):
    """A runner with kernels to compile."""

    def warm(self, scratch: Path) -> None:
        """Run what every job runs on a handful of records; `scratch` is removed afterwards."""
        ...
