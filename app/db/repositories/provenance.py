"""Provenance: written once, in the transaction that makes a job succeed; `job_results` and `releases` read it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert

from app.db.tables.jobs import provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenanceRecord:
    """Who requested what, on which data, run by which code; `public` and `restricted` are W3C PROV-JSON."""

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
