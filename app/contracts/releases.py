"""Releases: what a succeeded anonymization publishes, as its owner and those it is given to see it."""

from enum import StrEnum

from pydantic import Field

from app.contracts.base import Contract, Instant, Labels
from app.contracts.warnings import Warning  # noqa: A004 - the word of the HTTP contract


class ReleaseFormat(StrEnum):
    """Formats that a release can be downloaded in."""

    CSV = "csv"
    PARQUET = "parquet"
    NDJSON = "ndjson"


class ReleaseColumn(Contract):
    """One column of a release."""

    name: str
    type: str


class Release(Contract):
    """A release."""

    id: str
    job_id: str
    method: str
    created_at: Instant
    rows: int
    columns: tuple[ReleaseColumn, ...]
    sha256: dict[ReleaseFormat, str] = Field(description="SHA-256 of the file in each format: its ETag.")
    flags: tuple[str, ...] = Field(description="What a reader must know, such as `reproducible`.")
    labels: Labels
    warnings: tuple[Warning, ...] = Field(default=(), description="What succeeded but will disappoint or expose.")
