"""What jobs work on: looked up where a submission names it, and again for the worker that has claimed the job.

A submission locks what it names: nothing of it can be deleted until the transaction ends. Then which jobs work on what
is written, and looked up before anything is deleted.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, func, insert, select

from app.contracts.datasets import DatasetColumn, DatasetState, NumericSummary, Profile
from app.contracts.ids import Named, Reference
from app.contracts.inputs import DatasetInput, Inputs, JobInput, ReleaseInput
from app.contracts.jobs import JobState
from app.contracts.releases import ReleaseColumn, ReleaseState
from app.contracts.stored import StoredSpec, settled_spec
from app.db.repositories.release_access import Viewer, visible
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job, job_input, spec_as_sent
from app.db.tables.releases import publication, release, release_file, release_link

_original = dataset.alias("original")
#: A link goes with the release, with its job and with its original; the part to remove is already gone.
_LINK = (
    select(release_link.c.key)
    .join(_original, _original.c.id == release_link.c.dataset_id)
    .where(release_link.c.release_id == release.c.id, _original.c.state != DatasetState.DELETED)
    .where(job.c.erased_at.is_(None))
    .correlate(release, job)
    .scalar_subquery()
    .label("link_key")
)
_file = release_file.alias("file")
_BYTES = (
    select(func.coalesce(func.max(_file.c.bytes), 0))
    .where(_file.c.release_id == release.c.id)
    .correlate(release)
    .scalar_subquery()
    .label("bytes")
)
_NUMERIC = select(dataset.c.numeric).where(dataset.c.id == release.c.dataset_id).scalar_subquery().label("numeric")
_DATASET = select(
    dataset.c.id, dataset.c.state, dataset.c.sha256, dataset.c.rows, dataset.c.columns, dataset.c.numeric,
    dataset.c.data_key, dataset.c.data_bytes, dataset.c.version_of_dataset_id,
)  # fmt: skip
_RELEASE = (
    select(
        release.c.id, release.c.method, release.c.dataset_id, release.c.rows, release.c.columns, release.c.flags,
        release.c.state, func.extract("epoch", release.c.created_at).label("made_at"),
        release.c.parameters,
        spec_as_sent, release_file.c.key, release_file.c.sha256, _LINK, _BYTES, _NUMERIC,
        func.coalesce(release_file.c.bytes, 0).label("read_bytes"),
    )
    .join(job, job.c.id == release.c.job_id)
    .outerjoin(release_file, (release_file.c.release_id == release.c.id) & (release_file.c.format == "parquet"))
)  # fmt: skip
_COLUMNS = {Named.DATASET: "dataset_id", Named.RELEASE: "release_id", Named.JOB: "source_job_id"}
_JOB = select(job.c.id, job.c.method, job.c.state, spec_as_sent, job.c.result_erased_at.is_not(None).label("erased"))


def lock_dataset(connection: Connection, *, owner: str, dataset_id: str) -> DatasetInput | None:
    """The owner's dataset of this id, which cannot be deleted until the transaction ends."""
    mine = _DATASET.where(dataset.c.id == dataset_id, dataset.c.owner == owner, dataset.c.state != DatasetState.DELETED)
    row = _first(connection, mine.with_for_update(read=True))
    if row is None:
        return None
    dataset_input = replace(
        _dataset(row), published_keep=_published_keep(connection, owner=owner, dataset_id=row["id"])
    )
    if row["version_of_dataset_id"] is None:
        return dataset_input
    return replace(dataset_input, earlier=_of_versions(connection, owner=owner, dataset_id=dataset_id))


def lock_release(connection: Connection, *, owner: str, release_id: str) -> ReleaseInput | None:
    """The owner's release of this id, which cannot be deleted until the transaction ends."""
    mine = (release.c.owner == owner, release.c.deleted_at.is_(None))
    return _locked_release(connection, _RELEASE.where(*mine), release_id)


def lock_readable(connection: Connection, *, viewer: Viewer, release_id: str) -> ReleaseInput | None:
    """The release of this id that is there for whoever asks; it cannot be deleted until the transaction ends."""
    return _locked_release(connection, _RELEASE.where(visible(viewer)), release_id)


def lock_job(connection: Connection, *, owner: str, job_id: str) -> JobInput | None:
    """The owner's listed job of this id, of which nothing can be erased until the transaction ends."""
    mine = _JOB.where(job.c.id == job_id, job.c.owner == owner, job.c.listed, job.c.erased_at.is_(None))
    row = _first(connection, mine.with_for_update(read=True, key_share=True))
    return None if row is None else _job(row)


def of_job(connection: Connection, *, job_id: str) -> Inputs:
    """What a claimed job works on."""
    roles = connection.execute(
        select(job_input.c.role, job_input.c.dataset_id, job_input.c.release_id, job_input.c.source_job_id)
        .where(job_input.c.job_id == job_id)
        .order_by(job_input.c.position)
    ).all()
    datasets = _rows(connection, _DATASET, dataset.c.id, [row.dataset_id for row in roles])
    releases = _rows(connection, _RELEASE, release.c.id, [row.release_id for row in roles])
    jobs = _rows(connection, _JOB, job.c.id, [row.source_job_id for row in roles])
    return Inputs(
        {row.role: _dataset(datasets[row.dataset_id]) for row in roles if row.dataset_id is not None},
        {row.role: _release(releases[row.release_id]) for row in roles if row.release_id is not None},
        {row.role: _job(jobs[row.source_job_id]) for row in roles if row.source_job_id is not None},
    )


def is_there(connection: Connection, *, job_id: str, viewer: Viewer) -> bool:
    """Whether every release that a job was put to is there for someone now."""
    named = (job_input.c.job_id == job_id, job_input.c.release_id.is_not(None))
    there = select(release.c.id).where(visible(viewer))
    gone = select(job_input.c.release_id).where(*named, job_input.c.release_id.not_in(there)).limit(1)
    return connection.execute(gone).first() is None


def _of_versions(connection: Connection, *, owner: str, dataset_id: str) -> tuple[ReleaseInput, ...]:
    """Releases of boxes that were ever published of a dataset and of those that it is a version of, the last one first.

    A withdrawn release is among them: the family counts it for ever, and only what continues it adds nothing to it.
    """
    chain = (
        select(dataset.c.id, dataset.c.version_of_dataset_id)
        .where(dataset.c.id == dataset_id)
        .cte("chain", recursive=True)
    )
    before = select(dataset.c.id, dataset.c.version_of_dataset_id).where(dataset.c.owner == owner)
    chain = chain.union(before.where(dataset.c.id == chain.c.version_of_dataset_id))
    made = _RELEASE.where(release.c.dataset_id.in_(select(chain.c.id)), release.c.owner == owner)
    published = made.where(release.c.state != ReleaseState.DRAFT, release.c.deleted_at.is_(None))
    of_boxes = published.where(release.c.method == "boxes", release.c.base_release_id.is_(None))
    rows = connection.execute(of_boxes.order_by(release.c.published_at.desc(), release.c.id)).mappings()
    return tuple(_release(row) for row in rows)


def _published_keep(connection: Connection, *, owner: str, dataset_id: str) -> frozenset[str] | None:
    """Columns that any release shows unchanged that was ever published of a dataset's family; None: there was none."""
    family_id = select(dataset.c.family_id).where(dataset.c.id == dataset_id).scalar_subquery()
    made = publication.outerjoin(release, release.c.id == publication.c.release_id)
    kept = select(func.jsonb_extract_path(job.c.spec, "keep")).distinct()
    of_family = kept.select_from(made.outerjoin(job, job.c.id == release.c.job_id)).where(
        publication.c.owner == owner, publication.c.family_id == family_id
    )
    stored = [StoredSpec.of({"keep": keep}) for keep in connection.execute(of_family).scalars()]
    return frozenset(name for one in stored for name in one.keep) if stored else None


def _locked_release(connection: Connection, there: Select[Any], release_id: str) -> ReleaseInput | None:
    named = there.where(release.c.id == release_id).with_for_update(read=True, of=release)
    row = _first(connection, named)
    return None if row is None else _release(row)


def _first(connection: Connection, statement: Select[Any]) -> RowMapping | None:
    return connection.execute(statement).mappings().first()


def _rows(connection: Connection, statement: Select[Any], column: Any, ids: list[str | None]) -> dict[str, RowMapping]:
    wanted = {one for one in ids if one is not None}
    if not wanted:
        return {}
    return {row["id"]: row for row in connection.execute(statement.where(column.in_(wanted))).mappings()}


def _dataset(row: RowMapping) -> DatasetInput:
    dataset_input = DatasetInput(id=row["id"], sha256=row["sha256"], state=DatasetState(row["state"]))
    if row["columns"] is None:
        return dataset_input
    profile = Profile(
        rows=row["rows"],
        columns=tuple(DatasetColumn.model_validate(column) for column in row["columns"]),
        numeric={name: NumericSummary.model_validate(summary) for name, summary in (row["numeric"] or {}).items()},
    )
    return replace(dataset_input, profile=profile, key=row["data_key"], bytes=row["data_bytes"] or 0)


def _release(row: RowMapping) -> ReleaseInput:
    columns = tuple(ReleaseColumn.model_validate(column) for column in row["columns"])
    plain = {"columns": columns, "flags": tuple(row["flags"]), "sha256": row["sha256"] or ""}
    plain["made_at"] = float(row["made_at"])
    said: Mapping[str, Any] = row["parameters"] or {}
    plain |= {"spec": settled_spec(row["spec"], said), "merged_as": said.get("merged_as")}
    fields = {name: value for name, value in row.items() if name not in {"numeric", "parameters"}}
    return ReleaseInput(**{**fields, **plain, "state": ReleaseState(row["state"]), "infinite": _infinite(row)})


def _infinite(row: RowMapping) -> dict[str, int] | None:
    numeric: dict[str, dict[str, Any]] | None = row["numeric"]
    if numeric is None:
        return None
    return {name: summary["infinite"] for name, summary in numeric.items() if summary["infinite"]}


def _job(row: RowMapping) -> JobInput:
    return JobInput(**{**row, "state": JobState(row["state"])})


def insert_inputs(connection: Connection, *, job_id: str, inputs: Iterable[Reference]) -> None:
    """Write what a job works on, in the transaction that accepts it."""
    none = dict.fromkeys(_COLUMNS.values())
    rows = [
        {"job_id": job_id, "role": one.role, "position": position, **none, _COLUMNS[one.kind]: one.id}
        for position, one in enumerate(inputs)
    ]
    if rows:
        connection.execute(insert(job_input), rows)


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
