"""Publishing and withdrawing releases. Only `app.releases.publishing` decides; this writes what it has decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select, update

from app.contracts.findings import Finding
from app.contracts.releases import ReleaseReaders, ReleaseState
from app.db.repositories.entries import mark_stale
from app.db.tables.releases import release as _release


@dataclass(frozen=True, slots=True, kw_only=True)
class Publishable:
    """A release, locked, as far as publishing it is concerned."""

    id: str
    owner: str
    job_id: str
    dataset_id: str
    method: str
    state: ReleaseState
    made_by: str | None
    findings: tuple[Finding, ...]
    family_id: str | None
    composed_after: int | None
    composed: Mapping[str, Any] | None
    accepts_composition: bool
    base_release_id: str | None
    previous_release_id: str | None = None


def lock(connection: Connection, *, owner: str, release_id: str) -> Publishable | None:
    """The owner's release, which nobody changes until the transaction ends."""
    columns = [_release.c[name] for name in Publishable.__dataclass_fields__]
    mine = (_release.c.id == release_id, _release.c.owner == owner, _release.c.deleted_at.is_(None))
    row = connection.execute(select(*columns).where(*mine).with_for_update()).mappings().first()
    if row is None:
        return None
    findings = tuple(Finding.model_validate(one) for one in row["findings"])
    return Publishable(**{**row, "state": ReleaseState(row["state"]), "findings": findings})


def set_published(connection: Connection, *, release_id: str, readers: ReleaseReaders | None, flag: str | None) -> None:
    """The release is published from now on."""
    values: dict[str, Any] = {"state": ReleaseState.PUBLISHED, "published_at": func.clock_timestamp()}
    values |= {} if readers is None else _readers(readers)
    if flag is not None:
        values["flags"] = func.array_append(func.array_remove(_release.c.flags, flag), flag)
    connection.execute(update(_release).where(_release.c.id == release_id).values(**values))


def set_reviewed(connection: Connection, *, release: Publishable) -> None:
    """A draft was composed again."""
    values: dict[str, Any] = {
        "findings": [one.model_dump(mode="json") for one in release.findings],
        "composed": None if release.composed is None else dict(release.composed),
        "composed_after": release.composed_after,
        "family_id": release.family_id,
    }
    connection.execute(update(_release).where(_release.c.id == release.id).values(**values))


def set_withdrawn(connection: Connection, *, release_id: str, reason: str | None) -> None:
    """The release is there for keepers only from now on."""
    mark_stale(connection, release_id=release_id)
    values = {
        "state": ReleaseState.WITHDRAWN, "withdrawn_at": func.clock_timestamp(), "withdrawn_because": reason,
    }  # fmt: skip
    connection.execute(update(_release).where(_release.c.id == release_id).values(**values))


def set_readers(connection: Connection, *, release_id: str, readers: ReleaseReaders) -> None:
    """Who reads the release beside its owner, from now on."""
    mark_stale(connection, release_id=release_id)
    connection.execute(update(_release).where(_release.c.id == release_id).values(**_readers(readers)))


def _readers(readers: ReleaseReaders) -> dict[str, Any]:
    if readers == "public":
        return {"public": True, "readers": []}
    return {"public": False, "readers": sorted(set(readers))}
