"""What an owner has, counted, and what the operator lets it have otherwise than all owners."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, case, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from app.contracts.datasets import DatasetState
from app.contracts.jobs import JobKind
from app.contracts.owners import LimitedResource
from app.db.tables.access import owner_quota
from app.db.tables.datasets import dataset
from app.db.tables.jobs import job
from app.db.tables.releases import release, release_file
from app.settings import Settings

#: Namespace of the advisory locks that let one upload of an owner end at a time, so that its rows are counted exactly.
_ROWS_LOCK: Final = 0x726F7773


@dataclass(frozen=True, slots=True)
class Kept:
    """Objects of one kind, with the bytes (and rows) of all of them."""

    count: int
    bytes: int
    rows: int = 0


def limits(connection: Connection, *, owner: str, settings: Settings) -> dict[LimitedResource, float]:
    """What the owner may have: what the operator said of it, else what all owners may."""
    statement = select(owner_quota.c.resource, owner_quota.c.maximum).where(owner_quota.c.owner == owner)
    said = {row.resource: row.maximum for row in connection.execute(statement)}
    return {each: said.get(each.value, float(getattr(settings, f"max_owner_{each.value}"))) for each in LimitedResource}


def override(connection: Connection, *, owner: str, resource: str, maximum: float | None) -> None:
    """State what the owner may have; None: what all owners may."""
    if maximum is None:
        mine = (owner_quota.c.owner == owner, owner_quota.c.resource == resource)
        connection.execute(delete(owner_quota).where(*mine))
        return
    statement = insert(owner_quota).values(owner=owner, resource=resource, maximum=maximum)
    keys = [owner_quota.c.owner, owner_quota.c.resource]
    connection.execute(statement.on_conflict_do_update(index_elements=keys, set_={"maximum": maximum}))


def datasets(connection: Connection, *, owner: str) -> Kept:
    """Datasets that were not deleted; of those that could not be read there are no bytes."""
    stored = dataset.c.state.in_([DatasetState.INGESTING, DatasetState.READY])
    statement = select(
        func.count(),
        func.coalesce(func.sum(case((stored, dataset.c.bytes), else_=0)), 0),
        func.coalesce(func.sum(dataset.c.rows), 0),
    ).where(dataset.c.owner == owner, dataset.c.state != DatasetState.DELETED)
    count, size, rows = connection.execute(statement).one()
    return Kept(int(count), int(size), int(rows))


def releases(connection: Connection, *, owner: str) -> Kept:
    """Releases that were not deleted, with their files; read from an index alone, but for those of older processes."""
    mine = (release.c.owner == owner, release.c.deleted_at.is_(None))
    kept = select(func.count(), func.coalesce(func.sum(release.c.file_bytes), 0)).where(*mine)
    count, size = connection.execute(kept).one()
    files = release.join(release_file, release_file.c.release_id == release.c.id)
    unmeasured = select(func.coalesce(func.sum(release_file.c.bytes), 0)).select_from(files)
    more = connection.execute(unmeasured.where(*mine, release.c.file_bytes.is_(None))).scalar_one()
    return Kept(int(count), int(size) + int(more))


def jobs(connection: Connection, *, owner: str) -> Kept:
    """Jobs that a list shows, with their results; read from an index alone."""
    statement = select(func.count(), func.coalesce(func.sum(job.c.result_bytes), 0))
    count, size = connection.execute(
        statement.where(job.c.owner == owner, job.c.listed, job.c.erased_at.is_(None))
    ).one()
    return Kept(int(count), int(size))


def count_making(connection: Connection, *, owner: str) -> int:
    """Unfinished jobs that will make a release."""
    making = (job.c.owner == owner, job.c.finished_at.is_(None), job.c.kind == JobKind.ANONYMIZATION)
    statement = select(func.count()).select_from(job).where(*making, job.c.parent_id.is_(None), job.c.listed)
    return connection.execute(statement).scalar_one()


def lock_rows(connection: Connection, *, owner: str) -> None:
    """Let one upload of this owner be counted at a time, until its transaction ends."""
    connection.execute(select(func.pg_advisory_xact_lock(_ROWS_LOCK, func.hashtext(owner))))
