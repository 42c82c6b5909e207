"""Releases and their files. A deleted release keeps its row, without files, and is there for no one.

Only `app.releases.publishing` decides which are published or withdrawn; this writes what it has decided.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from sqlalchemy import (
    JSON,
    Connection,
    RowMapping,
    Select,
    and_,
    cast,
    delete,
    func,
    insert,
    null,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.contracts.findings import Finding, Review
from app.contracts.releases import (
    MEDIA_TYPES,
    Release,
    ReleaseColumn,
    ReleasedFile,
    ReleaseFormat,
    ReleaseReaders,
    ReleaseState,
)
from app.contracts.warnings import JobWarning
from app.db.repositories.entries import mark_stale
from app.db.repositories.release_access import Viewer, listed, visible
from app.db.tables.jobs import provenance
from app.db.tables.releases import publication, release, release_file

_PARAMETERS: Final = cast(release.c.parameters, JSONB)
#: Releases of boxes with ordinal columns, made by a version before 0.1.0: their statistics count values from 0. What a
#: release states of `withheld` is as old as the numbers of today.
COUNTS_FROM_ZERO: Final = and_(
    release.c.method == "boxes",
    ~_PARAMETERS.has_key("withheld"),
    func.coalesce(_PARAMETERS["ordinal"], cast({}, JSONB)) != cast({}, JSONB),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseRow:
    """A release as its job writes it, as publishing locks it, and as its certificate reads it.

    `statistics` may have fields that are withheld; `parameters` is what may be published of its specification.
    """

    id: str
    owner: str
    job_id: str
    dataset_id: str
    method: str
    rows: int
    columns: Sequence[Mapping[str, str]]
    flags: Sequence[str]
    tags: Mapping[str, str]
    statistics: Sequence[Mapping[str, Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    warnings: Sequence[JobWarning] = ()
    state: ReleaseState = ReleaseState.PUBLISHED
    made_by: str | None = None
    findings: Sequence[Finding] = ()
    family_id: str | None = None
    composed_after: int | None = None
    composed: Mapping[str, Any] | None = None
    accepts_composition: bool = False
    base_release_id: str | None = None
    previous_release_id: str | None = None

    def reviewed(self, review: Review) -> Self:
        """The release as a review leaves it."""
        return replace(
            self, findings=review.findings, family_id=review.family_id, composed_after=review.composed_after,
            composed=review.composed,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFile:
    """One stored file of a release."""

    format: str
    key: str
    sha256: str
    bytes: int
    served: bool = True
    restricted: bool = False
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Expired:
    """A draft whose time has passed."""

    at: datetime
    id: str
    owner: str


@dataclass(frozen=True, slots=True)
class StoredStatistics:
    """What the runner of a method has stored of a release's statistics; some of it may be withheld."""

    method: str
    statistics: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFilter:
    """Which of an owner's releases a list holds; None and empty mean all."""

    method: str | None = None
    dataset_id: str | None = None
    created_after: datetime | None = None
    tags: Mapping[str, str] | None = None
    state: ReleaseState | None = None
    series_id: str | None = None


#: The series of a release; one that goes on no other begins its own.
_SERIES: Final = func.coalesce(release.c.series_id, release.c.id)


def insert_release(
    connection: Connection, *, new: ReleaseRow, files: Sequence[ReleaseFile], lifetime: timedelta | None = None
) -> None:
    """Write a release whose files are stored already; in the transaction that makes its job succeed.

    Parameters
    ----------
    connection, new, files
        Where, and what.
    lifetime
        Of a draft that expires.
    """
    values = {each.name: getattr(new, each.name) for each in fields(new)} | _reviewed(new)
    values |= {
        "columns": [dict(column) for column in new.columns],
        "flags": list(new.flags),
        "tags": dict(new.tags),
        "statistics": [dict(statistic) for statistic in new.statistics],
        "parameters": dict(new.parameters),
        "warnings": [warning.model_dump(mode="json") for warning in new.warnings],
        "published_at": func.now() if new.state is ReleaseState.PUBLISHED else null(),
        "expires_at": null() if lifetime is None else func.now() + lifetime,
        "series_id": _series_of(new),
        "file_bytes": sum(file.bytes for file in files),
    }
    connection.execute(insert(release).values(**values))
    connection.execute(
        insert(release_file),
        [
            {
                "release_id": new.id,
                "format": file.format,
                "key": file.key,
                "sha256": file.sha256,
                "bytes": file.bytes,
                "served": file.served,
            }
            for file in files
        ],
    )


def _series_of(new: ReleaseRow) -> Any:
    """That of the release which it goes on, or its own."""
    before = new.previous_release_id or new.base_release_id
    if before is None:
        return new.id
    earlier = release.alias("earlier")
    return select(func.coalesce(earlier.c.series_id, earlier.c.id)).where(earlier.c.id == before).scalar_subquery()


def select_rows() -> Select[Any]:
    """Releases as `row_of` reads them; one of before parameters had a column has them in its provenance."""
    job = func.concat("surebox:", release.c.job_id)
    written = func.jsonb_extract_path_text(provenance.c.public, "activity", job, "surebox:parameters")
    columns = [release.c[each.name] for each in fields(ReleaseRow) if each.name != "parameters"]
    parameters = func.coalesce(release.c.parameters, cast(written, JSON)).label("parameters")
    return select(*columns, parameters).outerjoin(provenance, provenance.c.job_id == release.c.job_id)


def row_of(row: RowMapping) -> ReleaseRow:
    """What `select_rows` finds."""
    read = {
        "state": ReleaseState(row["state"]),
        "parameters": row["parameters"] or {},
        "findings": tuple(Finding.model_validate(one) for one in row["findings"]),
        "warnings": tuple(JobWarning.model_validate(one) for one in row["warnings"]),
    }
    return ReleaseRow(**{**row, **read})


def lock(connection: Connection, *, owner: str, release_id: str) -> ReleaseRow | None:
    """The owner's release, locked until the transaction ends."""
    if lock_state(connection, owner=owner, release_id=release_id) is None:
        return None
    return row_of(connection.execute(select_rows().where(release.c.id == release_id)).mappings().one())


def lock_state(connection: Connection, *, owner: str, release_id: str) -> ReleaseState | None:
    """The state of the owner's release, which is locked until the transaction ends."""
    mine = (release.c.id == release_id, release.c.owner == owner, release.c.deleted_at.is_(None))
    state = connection.execute(select(release.c.state).where(*mine).with_for_update()).scalar_one_or_none()
    return None if state is None else ReleaseState(state)


def set_published(
    connection: Connection, *, release_id: str, readers: ReleaseReaders | None, flags: Sequence[str]
) -> None:
    """The release is published from now on."""
    now = func.clock_timestamp()
    values: dict[str, Any] = {"state": ReleaseState.PUBLISHED, "published_at": now, "expires_at": null()}
    values |= {} if readers is None else _readers(readers)
    shown: Any = release.c.flags
    for flag in flags:
        shown = func.array_append(func.array_remove(shown, flag), flag)
    if flags:
        values["flags"] = shown
    connection.execute(update(release).where(release.c.id == release_id).values(**values))


def set_reviewed(connection: Connection, *, reviewed: ReleaseRow) -> None:
    """A draft was composed again."""
    connection.execute(update(release).where(release.c.id == reviewed.id).values(**_reviewed(reviewed)))


def set_withdrawn(connection: Connection, *, release_id: str, reason: str | None) -> None:
    """The release is there for keepers only from now on."""
    mark_stale(connection, release_id=release_id)
    values = {"state": ReleaseState.WITHDRAWN, "withdrawn_at": func.clock_timestamp(), "withdrawn_because": reason}
    connection.execute(update(release).where(release.c.id == release_id).values(**values))


def set_withdrawal_reason(connection: Connection, *, release_id: str, reason: str) -> bool:
    """Give a withdrawn release its reason; whether it had another one, or none."""
    mark_stale(connection, release_id=release_id)
    others = release.c.withdrawn_because.is_distinct_from(reason)
    changed = update(release).where(release.c.id == release_id, others).values(withdrawn_because=reason)
    return connection.execute(changed).rowcount == 1


def set_readers(connection: Connection, *, release_id: str, readers: ReleaseReaders) -> None:
    """Who reads the release besides its owner, from now on."""
    mark_stale(connection, release_id=release_id)
    connection.execute(update(release).where(release.c.id == release_id).values(**_readers(readers)))


def _reviewed(row: ReleaseRow) -> dict[str, Any]:
    return {
        "findings": [one.model_dump(mode="json") for one in row.findings],
        "composed": None if row.composed is None else dict(row.composed),
        "composed_after": row.composed_after,
        "family_id": row.family_id,
    }


def _readers(readers: ReleaseReaders) -> dict[str, Any]:
    if readers == "public":
        return {"public": True, "readers": []}
    return {"public": False, "readers": sorted(set(readers))}


def get(connection: Connection, *, viewer: Viewer, release_id: str) -> Release | None:
    """The release of this id, if it is there for whoever asks."""
    row = connection.execute(_select(viewer).where(release.c.id == release_id)).first()
    return None if row is None else _release(row, viewer)


def list_releases(
    connection: Connection, *, viewer: Viewer, only: ReleaseFilter, before: tuple[datetime, str] | None, limit: int
) -> list[Release]:
    """The releases that are there for whoever asks, newest first, strictly before the (created_at, id) of a cursor."""
    statement = _select(viewer, listed(viewer)).order_by(release.c.created_at.desc(), release.c.id.desc()).limit(limit)
    if only.method is not None:
        statement = statement.where(release.c.method == only.method)
    if only.dataset_id is not None:
        statement = statement.where(release.c.dataset_id == only.dataset_id)
    if only.created_after is not None:
        statement = statement.where(release.c.created_at > only.created_after)
    if only.state is not None:
        statement = statement.where(release.c.state == only.state)
    statement = _only(statement, series_id=only.series_id, tags=only.tags)
    if before is not None:
        statement = statement.where(tuple_(release.c.created_at, release.c.id) < before)
    return [_release(row, viewer) for row in connection.execute(statement)]


def latest(connection: Connection, *, viewer: Viewer, series_id: str | None, tags: Mapping[str, str]) -> str | None:
    """Id of the release that was published last of a series or under tags; who names a series sees public ones."""
    there = listed(viewer) if series_id is None else visible(viewer)
    statement = select(release.c.id).where(there, release.c.state == ReleaseState.PUBLISHED)
    newest = (release.c.published_at.desc(), release.c.created_at.desc(), release.c.id.desc())
    return connection.execute(
        _only(statement, series_id=series_id, tags=tags).order_by(*newest).limit(1)
    ).scalar_one_or_none()


def _only(statement: Select[Any], *, series_id: str | None, tags: Mapping[str, str] | None) -> Select[Any]:
    if series_id is not None:
        statement = statement.where(_SERIES.in_([series_id]))
    return statement.where(release.c.tags.contains(dict(tags))) if tags else statement


def get_file(connection: Connection, *, viewer: Viewer, release_id: str, release_format: str) -> ReleaseFile | None:
    """One file of the release, if it is there for whoever asks."""
    statement = (
        select(
            release_file.c.format,
            release_file.c.key,
            release_file.c.sha256,
            release_file.c.bytes,
            (release.c.state != ReleaseState.PUBLISHED).label("restricted"),
            release.c.owner,
        )
        .join(release, release.c.id == release_file.c.release_id)
        .where(release.c.id == release_id, visible(viewer))
        .where(release_file.c.format == release_format, release_file.c.served)
    )
    row = connection.execute(statement).mappings().first()
    return None if row is None else ReleaseFile(**row)


def get_statistics(connection: Connection, *, viewer: Viewer, release_id: str) -> StoredStatistics | None:
    """The statistics stored with the release."""
    statement = select(release.c.method, release.c.statistics).where(visible(viewer), release.c.id == release_id)
    row = connection.execute(statement).first()
    return None if row is None else StoredStatistics(row.method, row.statistics)


def get_public_provenance(connection: Connection, *, viewer: Viewer, release_id: str) -> dict[str, Any] | None:
    """The public part of the provenance of the release."""
    statement = (
        select(provenance.c.public)
        .join(release, release.c.job_id == provenance.c.job_id)
        .where(visible(viewer), release.c.id == release_id)
    )
    return connection.execute(statement).scalar_one_or_none()


def counts_from_zero(connection: Connection, *, release_id: str) -> bool:
    """Return whether statistics of a release count the values of ordinal columns from 0, where ranks are from 1."""
    statement = select(release.c.id).where(release.c.id == release_id, COUNTS_FROM_ZERO)
    return connection.execute(statement).first() is not None


def get_parameters(connection: Connection, *, viewer: Viewer, release_id: str) -> Mapping[str, Any] | None:
    """What may be published of the specification of the release."""
    rows = select_rows().where(visible(viewer), release.c.id == release_id).subquery()
    row = connection.execute(select(rows.c.parameters)).first()
    return None if row is None else row.parameters or {}


def family_of(connection: Connection, *, release_id: str) -> str | None:
    """The family that a release was composed with."""
    return connection.execute(select(release.c.family_id).where(release.c.id == release_id)).scalar_one_or_none()


def describe(connection: Connection, *, release_id: str, changes: Mapping[str, Any]) -> None:
    """Change what the owner calls a release that is locked."""
    connection.execute(update(release).where(release.c.id == release_id).values(**changes))


def mark_deleted(connection: Connection, *, release_id: str, now: datetime) -> None:
    """Make a release invisible, and forget how it was made. Its files are still to be removed.

    Of one that was published the least widths stay, which its family inherits.
    """
    mine = release.c.id == release_id
    published = select(release.c.parameters).join(publication, publication.c.release_id == release.c.id).where(mine)
    said = connection.execute(published).scalar_one_or_none() or {}
    inherited = {name: said[name] for name in ("quasi_identifiers", "min_width") if name in said}
    gone = {"deleted_at": now, "expires_at": null(), "parameters": inherited or null()}
    connection.execute(update(release).where(mine).values(**gone))


def expired_drafts(connection: Connection, *, after: tuple[datetime, str] | None, limit: int) -> list[Expired]:
    """Drafts whose time has passed, the first to expire first; those after a place in that order."""
    statement = select(release.c.expires_at, release.c.id, release.c.owner).where(
        release.c.expires_at < func.clock_timestamp(),
        release.c.state == ReleaseState.DRAFT,
        release.c.deleted_at.is_(None),
    )
    if after is not None:
        statement = statement.where(tuple_(release.c.expires_at, release.c.id) > after)
    rows = connection.execute(statement.order_by(release.c.expires_at, release.c.id).limit(limit))
    return [Expired(row.expires_at, row.id, row.owner) for row in rows]


def files_of_deleted(connection: Connection, *, limit: int, release_id: str | None = None) -> list[str]:
    """Storage keys of deleted releases (or of one of them) that are still to be removed."""
    statement = (
        select(release_file.c.key)
        .join(release, release.c.id == release_file.c.release_id)
        .where(release.c.deleted_at.is_not(None))
        .limit(limit)
    )
    if release_id is not None:
        statement = statement.where(release.c.id == release_id)
    return list(connection.execute(statement).scalars())


def forget_files(connection: Connection, *, keys: Sequence[str]) -> None:
    """The bytes under these keys are gone."""
    connection.execute(delete(release_file).where(release_file.c.key.in_(keys)))


def _select(viewer: Viewer, there: Any = None) -> Select[Any]:
    file = func.jsonb_build_object("sha256", release_file.c.sha256, "bytes", release_file.c.bytes)
    files = (
        select(func.jsonb_object_agg(release_file.c.format, file))
        .where(release_file.c.release_id == release.c.id, release_file.c.served)
        .scalar_subquery()
        .label("files")
    )
    return select(
        release.c.id,
        release.c.name,
        release.c.job_id,
        release.c.method,
        release.c.created_at,
        release.c.rows,
        release.c.columns,
        release.c.flags,
        release.c.tags,
        release.c.warnings,
        release.c.owner,
        release.c.state,
        release.c.published_at,
        release.c.expires_at,
        release.c.base_release_id,
        release.c.previous_release_id,
        _SERIES.label("series_id"),
        release.c.readers,
        release.c.public,
        release.c.findings,
        release.c.family_id,
        files,
    ).where(visible(viewer) if there is None else there)


def _release(row: Any, viewer: Viewer) -> Release:
    keeper = viewer.keeper and row.owner == viewer.owner
    return Release(
        id=row.id,
        owner=row.owner,
        state=ReleaseState(row.state),
        name=row.name,
        job_id=row.job_id,
        method=row.method,
        created_at=row.created_at,
        published_at=row.published_at,
        expires_at=row.expires_at,
        rows=row.rows,
        columns=tuple(ReleaseColumn.model_validate(column) for column in row.columns),
        files={
            ReleaseFormat(name): ReleasedFile(**file, media_type=MEDIA_TYPES[ReleaseFormat(name)])
            for name, file in sorted((row.files or {}).items())
        },
        flags=tuple(row.flags),
        tags=row.tags,
        warnings=tuple(JobWarning.model_validate(warning) for warning in row.warnings),
        base_release_id=row.base_release_id,
        previous_release_id=row.previous_release_id,
        series_id=row.series_id,
        readers=("public" if row.public else tuple(row.readers)) if keeper else None,
        findings=tuple(Finding.model_validate(finding) for finding in row.findings) if keeper else None,
        family_id=row.family_id if keeper and viewer.families else None,
    )
