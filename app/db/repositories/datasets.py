"""Datasets. A deleted one keeps its row, emptied of what it said about the data, and is there for no one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ARRAY, Connection, Select, String, and_, any_, bindparam, insert, or_, select, tuple_, update

from app.contracts.datasets import Dataset, DatasetColumn, DatasetState, Profile, ReadOptions
from app.contracts.warnings import JobWarning
from app.db.tables.datasets import dataset
from app.db.tables.releases import publication_entry, release

#: In the place of `same_data_as_dataset_id`: the keeper states that nothing uploaded before is the same data.
NO_DATASET: Final = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDataset:
    """The entry of a dataset when its upload has been staged."""

    id: str
    owner: str
    name: str
    tags: Mapping[str, str]
    options: ReadOptions
    bytes: int
    sha256: str
    staged_key: str
    same_data_as_dataset_id: str | None = None
    version_of_dataset_id: str | None = None
    by_keeper: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetFilter:
    """Which of an owner's datasets a list holds; None and empty mean all."""

    states: Sequence[str] = ()
    created_after: datetime | None = None
    tags: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Leftover:
    """Stored bytes that no dataset needs any more."""

    dataset_id: str
    staged_key: str | None
    deleted: bool


def insert_dataset(connection: Connection, *, new: NewDataset) -> None:
    """Write a dataset that is still to be read."""
    connection.execute(
        insert(dataset).values(
            id=new.id,
            owner=new.owner,
            name=new.name,
            state=DatasetState.INGESTING,
            tags=dict(new.tags),
            options=new.options.stored(),
            bytes=new.bytes,
            sha256=new.sha256,
            staged_key=new.staged_key,
            same_data_as_dataset_id=new.same_data_as_dataset_id,
            version_of_dataset_id=new.version_of_dataset_id,
            by_keeper=new.by_keeper,
        )
    )


def set_ingest_job(connection: Connection, *, dataset_id: str, job_id: str) -> None:
    """Name the job that reads the upload."""
    connection.execute(update(dataset).where(dataset.c.id == dataset_id).values(ingest_job_id=job_id))


def get(connection: Connection, *, owner: str, dataset_id: str) -> Dataset | None:
    """The owner's dataset of this id."""
    row = connection.execute(_select(owner).where(dataset.c.id == dataset_id)).first()
    return None if row is None else _dataset(row)


def list_datasets(
    connection: Connection, *, owner: str, only: DatasetFilter, before: tuple[datetime, str] | None, limit: int
) -> list[Dataset]:
    """The owner's datasets, newest first, strictly before the (created_at, id) of a cursor."""
    statement = _select(owner).order_by(dataset.c.created_at.desc(), dataset.c.id.desc()).limit(limit)
    if only.states:
        statement = statement.where(dataset.c.state.in_(only.states))
    if only.created_after is not None:
        statement = statement.where(dataset.c.created_at > only.created_after)
    if only.tags:
        statement = statement.where(dataset.c.tags.contains(dict(only.tags)))
    if before is not None:
        statement = statement.where(tuple_(dataset.c.created_at, dataset.c.id) < before)
    return [_dataset(row) for row in connection.execute(statement)]


def set_ready(connection: Connection, *, dataset_id: str, profile: Profile, data_key: str, data_bytes: int) -> bool:
    """The upload was read; in the transaction that ends its job. False when no one waits for it any more."""
    statement = (
        update(dataset)
        .where(dataset.c.id == dataset_id, dataset.c.state == DatasetState.INGESTING)
        .values(
            state=DatasetState.READY,
            rows=profile.rows,
            **({} if profile.options is None else {"options": profile.options.stored()}),
            columns=[column.model_dump(mode="json") for column in profile.columns],
            numeric={name: summary.model_dump(mode="json") for name, summary in profile.numeric.items()},
            warnings=[warning.model_dump(mode="json") for warning in profile.warnings],
            data_key=data_key,
            data_bytes=data_bytes,
        )
    )
    return connection.execute(statement).rowcount == 1


def describe(connection: Connection, *, owner: str, dataset_id: str, changes: Mapping[str, Any]) -> bool:
    """Change what the owner calls a dataset; False when there is none."""
    mine = update(dataset).where(_visible(owner), dataset.c.id == dataset_id)
    return connection.execute(mine.values(**changes)).rowcount == 1


def lock(connection: Connection, *, owner: str, dataset_id: str) -> bool:
    """Keep submissions away from the owner's dataset until the transaction ends; False when there is none."""
    statement = select(dataset.c.id).where(_visible(owner), dataset.c.id == dataset_id).with_for_update()
    return connection.execute(statement).first() is not None


def mark_deleted(connection: Connection, *, dataset_id: str, now: datetime) -> None:
    """Make a dataset invisible and forget what it said about the data. Its bytes are still to be removed."""
    made = select(release.c.id).where(release.c.dataset_id == dataset_id)
    connection.execute(update(publication_entry).where(publication_entry.c.release_id.in_(made)).values(stale=True))
    connection.execute(
        update(dataset)
        .where(dataset.c.id == dataset_id)
        .values(
            state=DatasetState.DELETED,
            deleted_at=now,
            name="",
            tags={},
            options={},
            rows=None,
            columns=None,
            numeric=None,
            warnings=[],
            error=None,
        )
    )


def leftovers(connection: Connection, *, limit: int, dataset_id: str | None = None) -> list[Leftover]:
    """Uploads that have been read (or could not be), and all bytes of deleted datasets; of all or of one."""
    deleted = dataset.c.state == DatasetState.DELETED
    ended = dataset.c.state.in_((DatasetState.READY, DatasetState.FAILED))
    statement = (
        select(dataset.c.id, dataset.c.staged_key, dataset.c.data_key, dataset.c.state)
        .where(
            or_(
                and_(deleted, or_(dataset.c.staged_key.is_not(None), dataset.c.data_key.is_not(None))),
                and_(ended, dataset.c.staged_key.is_not(None)),
            )
        )
        .limit(limit)
    )
    if dataset_id is not None:
        statement = statement.where(dataset.c.id == dataset_id)
    return [
        Leftover(row.id, row.staged_key, row.state == DatasetState.DELETED) for row in connection.execute(statement)
    ]


def forget_bytes(connection: Connection, *, removed: Leftover) -> None:
    """These bytes are gone."""
    values: dict[str, Any] = {"staged_key": None}
    if removed.deleted:
        values |= {"data_key": None, "data_bytes": None}
    connection.execute(update(dataset).where(dataset.c.id == removed.dataset_id).values(**values))


def referenced(connection: Connection, *, staged_keys: Sequence[str]) -> set[str]:
    """Those of the keys that a dataset still names."""
    named = dataset.c.staged_key == any_(bindparam("keys", list(staged_keys), type_=ARRAY(String)))
    statement = select(dataset.c.staged_key).where(named)
    return set(connection.execute(statement).scalars())


def _visible(owner: str) -> Any:
    return (dataset.c.owner == owner) & (dataset.c.state != DatasetState.DELETED)


def _select(owner: str) -> Select[Any]:
    return select(
        dataset.c.id,
        dataset.c.name,
        dataset.c.state,
        dataset.c.rows,
        dataset.c.bytes,
        dataset.c.sha256,
        dataset.c.created_at,
        dataset.c.expires_at,
        dataset.c.tags,
        dataset.c.options,
        dataset.c.columns,
        dataset.c.warnings,
        dataset.c.error,
        dataset.c.family_id,
        dataset.c.version_of_dataset_id,
    ).where(_visible(owner))


def _dataset(row: Any) -> Dataset:
    columns = None if row.columns is None else tuple(DatasetColumn.model_validate(column) for column in row.columns)
    return Dataset(
        id=row.id,
        name=row.name,
        state=DatasetState(row.state),
        rows=row.rows,
        bytes=row.bytes,
        sha256=row.sha256,
        created_at=row.created_at,
        expires_at=row.expires_at,
        tags=row.tags,
        options=ReadOptions.model_validate(row.options),
        columns=columns,
        warnings=tuple(JobWarning.model_validate(warning) for warning in row.warnings),
        version_of_dataset_id=row.version_of_dataset_id,
        error=row.error,
        family_id=row.family_id,
    )
