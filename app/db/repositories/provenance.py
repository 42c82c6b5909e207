"""Provenance: written once, in the transaction that makes a job succeed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert, select

from app.db.models.provenance import provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenanceRecord:
    """Who asked for what, on which data, run by which code; `public` and `restricted` are W3C PROV-JSON."""

    job_id: str
    owner: str
    requested_by: str | None
    requested_at: datetime
    finished_at: datetime
    seconds: float
    dataset_id: str | None
    dataset_sha256: str | None
    spec: Mapping[str, Any]
    versions: Mapping[str, str]
    attempts: list[dict[str, Any]]
    release_id: str | None
    release_sha256: Mapping[str, str] | None
    public: Mapping[str, Any]
    restricted: Mapping[str, Any]


def write(connection: Connection, *, record: ProvenanceRecord) -> None:
    """Write the provenance of a job."""
    connection.execute(insert(provenance).values(**asdict(record)))


def of_job(connection: Connection, *, owner: str, job_id: str) -> dict[str, Any] | None:
    """The whole, restricted provenance of the owner's job."""
    statement = select(provenance.c.restricted).where(provenance.c.owner == owner, provenance.c.job_id == job_id)
    return connection.execute(statement).scalar_one_or_none()


def of_release(connection: Connection, *, owner: str, release_id: str) -> dict[str, Any] | None:
    """The public provenance of the owner's release."""
    mine = (provenance.c.owner == owner) & (provenance.c.release_id == release_id)
    return connection.execute(select(provenance.c.public).where(mine)).scalar_one_or_none()
