"""The datasets, releases and earlier jobs that a submission names. Each lock keeps deletions away until its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, exists, select

from app.contracts.datasets import DatasetColumn, DatasetState, NumericSummary, Profile
from app.db.models.dataset import dataset
from app.db.models.job import job
from app.db.models.release import release
from app.db.models.release_link import release_link


@dataclass(frozen=True, slots=True)
class FoundDataset:
    """A dataset that a submission names; its profile once it is ready."""

    state: DatasetState
    sha256: str
    profile: Profile | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRelease:
    """A release that a submission names, the specification it was made with, and whether its rows can be linked."""

    id: str
    method: str
    dataset_id: str
    rows: int
    columns: Sequence[Mapping[str, str]]
    flags: Sequence[str]
    spec: Mapping[str, Any]
    linked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """An earlier job that a submission names."""

    id: str
    method: str
    state: str
    spec: Mapping[str, Any]
    result_erased: bool


_LINKED = (
    exists()
    .where(release_link.c.release_id == release.c.id, dataset.c.id == release_link.c.dataset_id)
    .where(dataset.c.state != DatasetState.DELETED, job.c.erased_at.is_(None))
    .correlate(release, job)
)


def lock_dataset(connection: Connection, *, owner: str, dataset_id: str) -> FoundDataset | None:
    """The owner's dataset of this id, which cannot be deleted until the transaction ends."""
    if "\x00" in dataset_id:  # Postgres refuses the character itself
        return None
    statement = (
        select(dataset.c.state, dataset.c.sha256, dataset.c.rows, dataset.c.columns, dataset.c.numeric)
        .where(dataset.c.id == dataset_id, dataset.c.owner == owner, dataset.c.state != DatasetState.DELETED)
        .with_for_update(read=True)
    )
    row = connection.execute(statement).first()
    if row is None:
        return None
    if row.state != DatasetState.READY:
        return FoundDataset(DatasetState(row.state), row.sha256, None)
    profile = Profile(
        rows=row.rows,
        columns=tuple(DatasetColumn.model_validate(column) for column in row.columns),
        numeric={name: NumericSummary.model_validate(summary) for name, summary in (row.numeric or {}).items()},
    )
    return FoundDataset(DatasetState.READY, row.sha256, profile)


def lock_release(connection: Connection, *, owner: str, release_id: str) -> FoundRelease | None:
    """The owner's release of this id, which cannot be deleted until the transaction ends."""
    if "\x00" in release_id:
        return None
    statement = (
        select(
            release.c.id, release.c.method, release.c.dataset_id, release.c.rows, release.c.columns, release.c.flags,
            job.c.spec, _LINKED.label("linked"),
        )
        .join(job, job.c.id == release.c.job_id)
        .where(release.c.id == release_id, release.c.owner == owner, release.c.deleted_at.is_(None))
        .with_for_update(read=True, of=release)
    )  # fmt: skip
    row = connection.execute(statement).mappings().first()
    return None if row is None else FoundRelease(**row)


def get_job(connection: Connection, *, owner: str, job_id: str) -> FoundJob | None:
    """The owner's listed job of this id, of which nothing can be erased until the transaction ends."""
    if "\x00" in job_id:
        return None
    erased = job.c.result_erased_at.is_not(None).label("result_erased")
    statement = select(job.c.id, job.c.method, job.c.state, job.c.spec, erased)
    mine = statement.where(job.c.id == job_id, job.c.owner == owner, job.c.listed, job.c.erased_at.is_(None))
    row = connection.execute(mine.with_for_update(read=True, key_share=True)).mappings().first()
    return None if row is None else FoundJob(**row)
