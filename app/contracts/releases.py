"""Releases: what a succeeded anonymization publishes, as its owner and those it is given to see it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, Instant, Short, Tags, one_of
from app.contracts.datasets import ColumnType, DatasetChanges
from app.contracts.findings import Finding
from app.contracts.flags import Flag
from app.contracts.warnings import JobWarning


class ReleaseState(StrEnum):
    """States of a release. Every publication stays known to its family.

    `draft`: only its owner reads it. `published`: its readers do. `withdrawn`: its readers no longer do.
    """

    DRAFT = "draft"
    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"


class PublicationMode(StrEnum):
    """Times at which a release is published.

    `draft`: when you publish it. `auto`: with the job, unless there are findings.
    """

    AUTO = "auto"
    DRAFT = "draft"


#: All who reach the service; no owner is called so.
EVERYBODY: Final = "public"


#: The list comes first: generated clients try the ways in their order, and take a constant for all that is not null.
def _owners(names: tuple[str, ...]) -> tuple[str, ...]:
    if EVERYBODY in names:
        msg = 'a list names owners: for everyone write "public" instead of it'
        raise ValueError(msg)
    return names


ReleaseReaders = TypeAliasType(
    "ReleaseReaders",
    Annotated[
        Annotated[tuple[Short, ...], Field(max_length=1000), AfterValidator(_owners)] | Literal["public"],
        Field(description="Owners who read the release besides its own; `public`: everyone."),
    ],
)


class ReleaseFormat(StrEnum):
    """Formats of releases.

    `csv`, `parquet` and `ndjson`; `csv.gz`: compressed CSV. `csv.excel`: CSV that is safe to open in a
    spreadsheet.
    """

    CSV = "csv"
    PARQUET = "parquet"
    NDJSON = "ndjson"
    CSV_GZ = "csv.gz"
    CSV_EXCEL = "csv.excel"


#: What a release is made in where no one asks for anything else. The document does not name it: the choice may change.
DEFAULT_FORMATS: Final = (ReleaseFormat.PARQUET, ReleaseFormat.CSV, ReleaseFormat.NDJSON)


def _chosen(formats: tuple[ReleaseFormat, ...]) -> tuple[ReleaseFormat, ...]:
    """The formats as given, each once; of none, as some generated clients send what was omitted, the default."""
    if len(set(formats)) < len(formats):
        msg = "a format occurs twice"
        raise ValueError(msg)
    return formats or DEFAULT_FORMATS


Formats = Annotated[
    tuple[ReleaseFormat, ...],
    Field(
        description="Formats of the release, made with it; omitted or empty, the service chooses, and `spec` of the "
        "job names them. `csv.gz` is `csv` compressed; `csv.excel` is for spreadsheets: a byte order mark, texts in "
        "quotes, an apostrophe before what would run as a formula, and `delimiter` between fields.",
    ),
    AfterValidator(_chosen),
]

#: Between the fields of `csv.excel`: a spreadsheet takes what its own language has. In the document it is a pattern:
#: generators of clients make names of the values of an enum, and these have none.
Delimiter = TypeAliasType(
    "Delimiter",
    Annotated[
        Literal[",", ";", "\t"],
        WithJsonSchema(
            {
                "type": "string",
                "pattern": r"^[,;\t]$",
                "description": "What separates fields of `csv.excel`: comma, tab, or `;` for decimal commas.",
            }
        ),
    ],
)


#: What each format is sent as.
MEDIA_TYPES: Final = {
    ReleaseFormat.CSV: "text/csv; charset=utf-8",
    ReleaseFormat.PARQUET: "application/vnd.apache.parquet",
    ReleaseFormat.NDJSON: "application/x-ndjson",
    ReleaseFormat.CSV_GZ: "application/gzip",
    ReleaseFormat.CSV_EXCEL: "text/csv; charset=utf-8",
}


#: How the name of a file ends, where that is not its format: programs open files by their last ending.
_ENDINGS: Final[Mapping[str, str]] = {ReleaseFormat.CSV_EXCEL: "excel.csv"}


def ending_of(release_format: str) -> str:
    """Return the ending of the names of files of a format."""
    return _ENDINGS.get(release_format, release_format)


class ReleasedFile(Contract):
    """One file of a release."""

    sha256: str = Field(description="SHA-256 of its bytes: its `ETag`.")
    bytes: int = Field(description="Size of the file in bytes.")
    media_type: str = Field(description="Content type of the file.")


class ReleaseColumn(Contract):
    """One column of a release."""

    name: str = Field(description="Name of the column, as in the files.")
    type: Annotated[str, one_of((*ColumnType, "list"))] = Field(description="Type of its values; `list` of sets.")
    plain_in_csv: bool | None = Field(
        default=None,
        description="Whether CSV has the one value of each set as plain text, not JSON arrays; null: the column has no "
        "sets, or was made before releases state it.",
    )


class Release(Contract):
    """A release of anonymized records."""

    id: str = Field(description="Names the release for as long as it is kept.")
    owner: str = Field(description="Owner of the release.")
    state: ReleaseState = Field(description="Readers see `published` ones; its owner's keys with `jobs:read` see all.")
    name: str = Field(description="Name that the owner gave it; empty until then.")
    job_id: str = Field(description="The job that made it.")
    method: str = Field(description="Method that made the release.")
    created_at: Instant = Field(description="Time at which the release was made, in UTC.")
    published_at: Instant | None = Field(description="When it was published; null: it was not.")
    expires_at: Instant | None = Field(
        default=None,
        description="When a draft will be deleted; null: it stays, as one does whose job was to publish it (`auto`).",
    )
    rows: int = Field(description="Number of rows of each file.")
    columns: tuple[ReleaseColumn, ...] = Field(description="Columns, in the order of the files.")
    files: dict[ReleaseFormat, ReleasedFile] = Field(description="The file in each format.")
    flags: tuple[Annotated[str, one_of(Flag)], ...] = Field(description="Facts that a reader must know.")
    tags: Tags = Field(description="As given with the job's specification.")
    warnings: tuple[JobWarning, ...] = Field(
        default=(), description="Warnings: successes that will disappoint or expose."
    )
    base_release_id: str | None = Field(default=None, description="The release of whose series it is, if of one.")
    previous_release_id: str | None = Field(
        default=None, description="Of a new version of the data: the release whose boxes it has."
    )
    series_id: str = Field(
        description="The first release of those that it goes on (`base_release_id`, `previous_release_id`), or its own "
        "id: what `GET /v1/releases/latest` takes."
    )
    readers: ReleaseReaders | None = Field(
        default=None,
        description="Other owners who read it, or `public`; null for all but its owner's keys with `jobs:read`.",
    )
    findings: tuple[Finding, ...] | None = Field(
        default=None, description="Findings of its gate; null for keys that do not own it."
    )
    family_id: str | None = Field(
        default=None, description="Of the data it was made from; null without `jobs:read` and `datasets:read`."
    )


class PublishRequest(Contract):
    """Options of publishing."""

    accept_findings: tuple[Short, ...] = Field(
        default=(), max_length=100, description="Audits whose findings are accepted."
    )
    readers: ReleaseReaders | None = Field(default=None, description="Further readers of the release; null: unchanged.")


class WithdrawRequest(Contract):
    """Options of withdrawing."""

    reason: Annotated[Short, Field(min_length=1)] | None = Field(
        default=None, description="Why: those who read it may learn it; null: no reason is given."
    )


class ReleaseChanges(DatasetChanges):
    """A new name, new tags, other readers; omitted fields stay as they are."""

    readers: ReleaseReaders = Field(default=(), description="Further readers from now on; they replace the former.")
