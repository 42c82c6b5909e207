"""What succeeded jobs left: whole results and provenance, written once. Callers have made sure whose job it is."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, cast, insert, select

from app.db.tables.jobs import job_result, provenance


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A whole result: its bytes, or the storage key of larger ones."""

    body: bytes | None
    key: str | None
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StoredProvenance:
    """Provenance with restricted facts: JSON text and the checksum of its bytes."""

    json: str
    sha256: str


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


def get_result(connection: Connection, *, job_id: str) -> StoredResult | None:
    """The job's whole result."""
    columns = (job_result.c.body, job_result.c.key, job_result.c.bytes, job_result.c.sha256)
    row = connection.execute(select(*columns).where(job_result.c.job_id == job_id)).first()
    return None if row is None else StoredResult(*row)


def get_provenance(connection: Connection, *, job_id: str) -> StoredProvenance | None:
    """The job's whole provenance."""
    text = cast(provenance.c.restricted, Text)
    document = connection.execute(select(text).where(provenance.c.job_id == job_id)).scalar_one_or_none()
    return None if document is None else StoredProvenance(document, hashlib.sha256(document.encode()).hexdigest())


def write_provenance(connection: Connection, *, record: ProvenanceRecord) -> None:
    """Write the provenance of a job, in the transaction that makes it succeed."""
    connection.execute(insert(provenance).values(**asdict(record)))
