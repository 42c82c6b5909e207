"""Releases: what a succeeded anonymization publishes, as its owner and those it is given to see it."""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from app.contracts.base import Contract, Instant, Labels
from app.contracts.warnings import Warning  # noqa: A004 - the word of the HTTP contract


class ReleaseFormat(StrEnum):
    """Formats that a release can be downloaded in."""

    CSV = "csv"
    PARQUET = "parquet"
    NDJSON = "ndjson"
    CSV_GZ = "csv.gz"
    CSV_ESCAPED = "csv.escaped"


#: What a release is made in where nobody asks for anything else.
DEFAULT_FORMATS: Final = (ReleaseFormat.PARQUET, ReleaseFormat.CSV, ReleaseFormat.NDJSON)


def _different(formats: tuple[ReleaseFormat, ...]) -> tuple[ReleaseFormat, ...]:
    if len(set(formats)) < len(formats):
        msg = "a format stands twice"
        raise ValueError(msg)
    return formats


Formats = Annotated[
    tuple[ReleaseFormat, ...],
    Field(
        min_length=1,
        description="Formats of the release, made with it. `csv.gz` is `csv` compressed; in `csv.escaped` text that a "
        "spreadsheet would run as a formula begins with an apostrophe.",
    ),
    AfterValidator(_different),
]


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
