"""What a job works on: one class a kind, from the route that receives it to the runner that computes with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from app.contracts.columns import ColumnKind, released_kind
from app.contracts.datasets import DatasetColumn, DatasetState, NumericSummary, Profile
from app.contracts.jobs import JobState
from app.contracts.releases import ReleaseColumn, ReleaseState
from app.contracts.stored import StoredSpec

T = TypeVar("T")

#: The field that names the base of a series, whose later releases are made from it alone.
BASE: Final = "base_release_id"
#: The field that names the release whose boxes a new version of the data has.
PREVIOUS: Final = "previous_release_id"

_UNREAD = Profile(rows=0, columns=())


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetInput:
    """A dataset. `profile` is empty, and `key` (of the typed copy) None, until it has been read."""

    id: str
    sha256: str
    state: DatasetState = DatasetState.READY
    profile: Profile = _UNREAD
    key: str | None = None
    #: Of the typed copy.
    bytes: int = 0
    #: Of a new version: releases of boxes that were published of the versions before, the last one first.
    earlier: "tuple[ReleaseInput, ...]" = ()
    #: Columns that publications of its family show unchanged; None: nothing was published of it.
    published_keep: frozenset[str] | None = None
    #: The column whose counts of persons its rows are repeated by; `profile` is then that of the persons.
    frequency_column: str | None = None

    @property
    def rows(self) -> int:
        """How many records it has."""
        return self.profile.rows

    @property
    def columns(self) -> tuple[DatasetColumn, ...]:
        """Its columns, in the file's order."""
        return self.profile.columns

    @property
    def numeric(self) -> Mapping[str, NumericSummary]:
        """The known facts of the values of numeric columns."""
        return self.profile.numeric


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseInput:
    """A release. `spec` is that of the job that made it; `key` and `sha256` are of its Parquet file.

    Of a job that was deleted `spec` has only what its release is requested with. `link_key` leads to what states which
    record each row represents, while that is known.
    """

    id: str
    method: str
    dataset_id: str
    rows: int
    columns: tuple[ReleaseColumn, ...]
    flags: tuple[str, ...]
    spec: Mapping[str, Any]
    state: ReleaseState = ReleaseState.PUBLISHED
    key: str | None = None
    sha256: str = ""
    link_key: str | None = None
    #: By column the word for values that its codebook does not list; None: it was made before releases state it.
    merged_as: Mapping[str, str] | None = None
    #: When it was made, in seconds; None where that does not matter.
    made_at: float | None = None
    #: Of its largest file.
    bytes: int = 0
    #: Of the file that jobs read.
    read_bytes: int = 0
    #: Columns of its dataset with infinite numbers, by their count; None once the dataset was deleted.
    infinite: Mapping[str, int] | None = None

    @property
    def made(self) -> StoredSpec:
        """How it was made."""
        return StoredSpec.of(self.spec)

    @property
    def linked(self) -> bool:
        """Whether it is known which record each row represents."""
        return self.link_key is not None

    def kind_of(self, name: str) -> ColumnKind:
        """How a column is published, in a release of boxes."""
        types = {column.name: column.type for column in self.columns}
        return released_kind(name, types, self.made.ordinal)

    @property
    def forgotten(self) -> bool:
        """Whether its job was deleted, and with it most of how it was made."""
        return "formats" not in self.spec

    @property
    def base(self) -> str | None:
        """The base of the series that it is a later release of."""
        return self.made.base_release_id

    @property
    def previous(self) -> str | None:
        """Of a new version of the data: the release whose boxes it has."""
        return self.made.previous_release_id


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInput:
    """An earlier job; `erased` once its result is gone."""

    id: str
    method: str
    state: JobState
    spec: Mapping[str, Any]
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs of a job by the field that names them, in the order of the fields; lists as `release_ids/0`."""

    datasets: Mapping[str, DatasetInput] = field(default_factory=dict)
    releases: Mapping[str, ReleaseInput] = field(default_factory=dict)
    jobs: Mapping[str, JobInput] = field(default_factory=dict)

    @property
    def dataset(self) -> DatasetInput | None:
        """The first dataset: what a release is made from."""
        return next(iter(self.datasets.values()), None)

    @property
    def base(self) -> ReleaseInput | None:
        """The base of the series of which a later release is made."""
        return self.releases.get(BASE)

    @property
    def previous(self) -> ReleaseInput | None:
        """The release whose boxes a new version of the data has."""
        return self.releases.get(PREVIOUS)


@dataclass(frozen=True, slots=True)
class Given(Inputs):
    """What a specification names, by its fields; all of it is there for the asker."""

    #: Draws from the data of the first dataset that were ever published; 0 for methods whose draws do not add up.
    earlier_draws: int = 0

    def profile(self, field: str = "dataset_id") -> Profile:
        """The profile of the dataset that a field names."""
        return self.datasets[field].profile


def listed(by_role: Mapping[str, T], name: str) -> dict[str, T]:
    """Those that a list of ids names, by their roles and in their order."""
    return {role: one for role, one in by_role.items() if role.startswith(f"{name}/")}
