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

    name: str = Field(description="As in the files.")
    type: str = Field(description="`integer`, `number`, `string`, `boolean` or `date`.")


class Release(Contract):
    """A release."""

    id: str = Field(description="Names the release for as long as it is kept.")
    name: str = Field(description="What the owner calls it; empty until it is named.")
    job_id: str = Field(description="The job that made it.")
    method: str = Field(description="The job's method.")
    created_at: Instant = Field(description="When it was published.")
    rows: int = Field(description="Rows of every file.")
    columns: tuple[ReleaseColumn, ...] = Field(description="In the files' order.")
    sha256: dict[ReleaseFormat, str] = Field(description="SHA-256 of the file in each format: its ETag.")
    flags: tuple[str, ...] = Field(description="What a reader must know, such as `reproducible`.")
    labels: Labels = Field(description="As given with the job's specification.")
    warnings: tuple[Warning, ...] = Field(default=(), description="What succeeded but will disappoint or expose.")
