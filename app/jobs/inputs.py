"""The datasets, releases and earlier jobs that a specification names, looked up for whoever asks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.contracts.datasets import DatasetState, Profile
from app.contracts.jobs import JobSpec, JobState
from app.contracts.releases import ReleaseColumn
from app.db.repositories import inputs
from app.db.repositories.job_inputs import NewInput
from app.db.session import Connection
from app.errors import FieldError, pointer

_NOT_READY: Final = {
    DatasetState.INGESTING: "the dataset is still being read; ask again once its state is `ready`",
    DatasetState.FAILED: "the dataset could not be read; its `error` says why",
}


@dataclass(frozen=True, slots=True)
class ReleaseInput:
    """A release that a specification names; `linked` while it is known which record each row stands for."""

    id: str
    method: str
    dataset_id: str
    rows: int
    columns: tuple[ReleaseColumn, ...]
    flags: tuple[str, ...]
    spec: Mapping[str, Any]
    linked: bool


@dataclass(frozen=True, slots=True)
class JobInput:
    """An earlier job that a specification names."""

    id: str
    method: str
    state: JobState
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a specification that hold ids; one that is None names nothing."""

    datasets: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What a specification names, by its fields; all of it is the asker's own and there."""

    datasets: Mapping[str, Profile] = field(default_factory=dict)
    releases: Mapping[str, ReleaseInput] = field(default_factory=dict)
    jobs: Mapping[str, JobInput] = field(default_factory=dict)
    #: Draws from the data of the first dataset that were ever published; 0 for methods whose draws do not add up.
    earlier_draws: int = 0

    def profile(self, field: str = "dataset_id") -> Profile:
        """The profile of the dataset that a field names."""
        return self.datasets[field]


class LookUp:
    """Looks ids up in one transaction, in which nothing that it has found can be deleted."""

    def __init__(self, connection: Connection, *, owner: str, fields: Fields) -> None:
        self._connection, self._owner, self._fields = connection, owner, fields
        self._datasets: dict[str, Profile] = {}
        self._releases: dict[str, ReleaseInput] = {}
        self._jobs: dict[str, JobInput] = {}
        self._sha256: dict[str, str] = {}
        self.errors: list[FieldError] = []

    def given(self, *, earlier_draws: int = 0) -> Given:
        """What has been found."""
        return Given(dict(self._datasets), dict(self._releases), dict(self._jobs), earlier_draws)

    def look(self, spec: JobSpec, *, by_default: bool = False) -> None:
        """Look up what the specification names and was not looked up yet; what is not there goes to `errors`.

        Parameters
        ----------
        spec
            The specification.
        by_default
            Whether the ids that are new were filled in, not asked for.
        """
        for name, value in self._named(spec):
            wrong = self._find(name, value)
            if wrong is not None:
                told = f"by default this is {value}, but {wrong}; name another" if by_default else wrong
                self.errors.append(FieldError(pointer(name), told))

    def checksum(self) -> str | None:
        """Checksum of the bytes of the first dataset."""
        return next((self._sha256[name] for name in self._fields.datasets if name in self._sha256), None)

    def rows(self, spec: JobSpec) -> tuple[NewInput, ...]:
        """What is to be remembered of the job's inputs."""
        return (
            *(NewInput(role=name, dataset_id=getattr(spec, name)) for name in self._fields.datasets
              if name in self._datasets),
            *(NewInput(role=name, release_id=getattr(spec, name)) for name in self._fields.releases
              if name in self._releases),
            *(NewInput(role=name, source_job_id=getattr(spec, name)) for name in self._fields.jobs
              if name in self._jobs),
        )  # fmt: skip

    def _named(self, spec: JobSpec) -> Iterator[tuple[str, str]]:
        known = self._datasets.keys() | self._releases.keys() | self._jobs.keys()
        for name in (*self._fields.datasets, *self._fields.releases, *self._fields.jobs):
            value = getattr(spec, name)
            if value is not None and name not in known:
                yield name, value

    def _find(self, name: str, value: str) -> str | None:
        if name in self._fields.datasets:
            return self._find_dataset(name, value)
        if name in self._fields.releases:
            return self._find_release(name, value)
        return self._find_job(name, value)

    def _find_dataset(self, name: str, value: str) -> str | None:
        found = inputs.lock_dataset(self._connection, owner=self._owner, dataset_id=value)
        if found is None:
            return "there is no dataset with this id"
        if found.profile is None:
            return _NOT_READY[found.state]
        self._datasets[name], self._sha256[name] = found.profile, found.sha256
        return None

    def _find_release(self, name: str, value: str) -> str | None:
        found = inputs.lock_release(self._connection, owner=self._owner, release_id=value)
        if found is None:
            return "there is no release with this id"
        self._releases[name] = ReleaseInput(
            id=found.id,
            method=found.method,
            dataset_id=found.dataset_id,
            rows=found.rows,
            columns=tuple(ReleaseColumn.model_validate(column) for column in found.columns),
            flags=tuple(found.flags),
            spec=found.spec,
            linked=found.linked,
        )
        return None

    def _find_job(self, name: str, value: str) -> str | None:
        found = inputs.get_job(self._connection, owner=self._owner, job_id=value)
        if found is None:
            return "there is no job with this id"
        if found.result_erased:
            return "the result of this job was erased when its time had passed; run it again"
        self._jobs[name] = JobInput(id=found.id, method=found.method, state=JobState(found.state), spec=found.spec)
        return None
