"""What jobs work on, as written when they are accepted and as their workers are given it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, insert, select

from app.db.models.dataset import dataset
from app.db.models.job import job
from app.db.models.job_input import job_input
from app.db.models.release import release
from app.db.models.release_file import release_file


@dataclass(frozen=True, slots=True, kw_only=True)
class NewInput:
    """One field of a specification and the one object it names."""

    role: str
    dataset_id: str | None = None
    release_id: str | None = None
    source_job_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFacts:
    """The row of a dataset, as far as it has been read."""

    id: str
    sha256: str
    rows: int | None
    columns: list[dict[str, Any]] | None
    numeric: dict[str, Any] | None
    data_key: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """The row of a release, the specification of its job, and its Parquet file."""

    id: str
    method: str
    rows: int
    columns: list[dict[str, str]]
    flags: list[str]
    spec: dict[str, Any]
    key: str | None
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFacts:
    """The row of an earlier job."""

    id: str
    method: str
    state: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Inputs:
    """All inputs of a job by role, each in the order of the specification's fields."""

    datasets: dict[str, DatasetFacts] = field(default_factory=dict)
    releases: dict[str, ReleaseFacts] = field(default_factory=dict)
    jobs: dict[str, JobFacts] = field(default_factory=dict)

    @property
    def dataset(self) -> DatasetFacts | None:
        """The first dataset: what a release is made from."""
        return next(iter(self.datasets.values()), None)


_source = job.alias("source_job")
_made_by = job.alias("made_by")
_COLUMNS: dict[type[Any], tuple[ColumnElement[Any], ...]] = {
    DatasetFacts: (
        dataset.c.id, dataset.c.sha256, dataset.c.rows, dataset.c.columns, dataset.c.numeric, dataset.c.data_key,
    ),
    ReleaseFacts: (
        release.c.id, release.c.method, release.c.rows, release.c.columns, release.c.flags, _made_by.c.spec,
        release_file.c.key, release_file.c.sha256,
    ),
    JobFacts: (_source.c.id, _source.c.method, _source.c.state, _source.c.spec),
}  # fmt: skip
_ALL = (
    select(
        job_input.c.role,
        *(column.label(f"{facts.__name__}_{column.name}") for facts, columns in _COLUMNS.items() for column in columns),
    )
    .select_from(
        job_input.outerjoin(dataset, dataset.c.id == job_input.c.dataset_id)
        .outerjoin(release, release.c.id == job_input.c.release_id)
        .outerjoin(_made_by, _made_by.c.id == release.c.job_id)
        .outerjoin(release_file, (release_file.c.release_id == release.c.id) & (release_file.c.format == "parquet"))
        .outerjoin(_source, _source.c.id == job_input.c.source_job_id)
    )
    .where(job_input.c.job_id == bindparam("job_id"))
    .order_by(job_input.c.position)
)


def insert_inputs(connection: Connection, *, job_id: str, inputs: Sequence[NewInput]) -> None:
    """Write what a job works on, in the transaction that accepts it."""
    if not inputs:
        return
    connection.execute(
        insert(job_input),
        [
            {
                "job_id": job_id,
                "role": one.role,
                "position": position,
                "dataset_id": one.dataset_id,
                "release_id": one.release_id,
                "source_job_id": one.source_job_id,
            }
            for position, one in enumerate(inputs)
        ],
    )


def of_job(connection: Connection, *, job_id: str) -> Inputs:
    """What a claimed job works on."""
    found = Inputs()
    for row in connection.execute(_ALL, {"job_id": job_id}).mappings():
        for kind, kept in ((DatasetFacts, found.datasets), (ReleaseFacts, found.releases), (JobFacts, found.jobs)):
            if row[f"{kind.__name__}_id"] is not None:
                facts = {column.name: row[f"{kind.__name__}_{column.name}"] for column in _COLUMNS[kind]}
                kept[row["role"]] = kind(**facts)  # type: ignore[assignment]
    return found


def users_of_dataset(connection: Connection, *, dataset_id: str, limit: int) -> list[tuple[str, bool]]:
    """Ids of jobs that still need the dataset, in whatever role, and whether each is listed."""
    return _users(connection, job_input.c.dataset_id == dataset_id, limit=limit)


def users_of_release(connection: Connection, *, release_id: str, limit: int) -> list[tuple[str, bool]]:
    """Ids of jobs that still need the release, in whatever role, and whether each is listed."""
    return _users(connection, job_input.c.release_id == release_id, limit=limit)


def users_of_job(connection: Connection, *, job_id: str, limit: int) -> list[tuple[str, bool]]:
    """Ids of jobs that still need the result of an earlier one, and whether each is listed."""
    return _users(connection, job_input.c.source_job_id == job_id, limit=limit)


def _users(connection: Connection, used: ColumnElement[bool], *, limit: int) -> list[tuple[str, bool]]:
    statement = (
        select(job.c.id, job.c.listed)
        .where(job.c.id.in_(select(job_input.c.job_id).where(used)), job.c.finished_at.is_(None))
        .order_by(job.c.created_at)
        .limit(limit)
    )
    return [(row.id, row.listed) for row in connection.execute(statement)]
