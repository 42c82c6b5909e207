"""Datasets: how a file is read, and its profile."""

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import Field, StringConstraints

from app.contracts.base import Contract, Instant, Tags
from app.contracts.problems import Problem
from app.contracts.warnings import JobWarning


class ColumnType(StrEnum):
    """Types of columns.

    `integer`: whole numbers. `number`: other numbers. `string`: text. `boolean`: true or false. `date`: days.
    """

    INTEGER = "integer"
    NUMBER = "number"
    STRING = "string"
    BOOLEAN = "boolean"
    DATE = "date"


NUMERIC = frozenset({ColumnType.INTEGER, ColumnType.NUMBER})


class TypeSource(StrEnum):
    """Sources of the type of a column.

    `declared`: given at upload. `file`: the types of the file. `data`: inferred from all cells.
    """

    DECLARED = "declared"
    FILE = "file"
    DATA = "data"


class FileFormat(StrEnum):
    """Formats of uploads.

    `csv` and `tsv`: separated text. `parquet`: Apache Parquet. `ndjson`: one JSON object a line.
    """

    CSV = "csv"
    TSV = "tsv"
    PARQUET = "parquet"
    NDJSON = "ndjson"


#: Options that came later than the others.
_LATER: Final = ("decimal", "thousands", "date_format", "charset")
#: Names of encodings, as they are kept; UTF-8 need not be said. What calls itself ISO-8859-1 is Windows-1252, as on the
#: web.
CHARSETS: Final[dict[str, str | None]] = {
    "utf-8": None, "utf8": None, "us-ascii": None, "ascii": None,
    "windows-1252": "windows-1252", "cp1252": "windows-1252", "iso-8859-1": "windows-1252", "latin1": "windows-1252",
    "iso-8859-15": "iso-8859-15", "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
}  # fmt: skip


#: Files of text in lines, whose fields a character separates; and the options of reading that only these have.
DELIMITED: Final = frozenset({FileFormat.CSV, FileFormat.TSV})
DELIMITED_ONLY: Final = (
    "delimiter", "quote", "header", "column", "skip_rows", "comment", "trim", "decimal", "thousands", "charset",
)  # fmt: skip


class ReadOptions(Contract):
    """How the bytes of an upload are read; unset options follow the format."""

    format: FileFormat
    delimiter: str | None = Field(
        default=None,
        min_length=1,
        max_length=1,
        description="Between fields. Where none is given, it is found out for CSV, and a tab in TSV.",
    )
    quote: str | None = Field(default='"', max_length=1, description="Around fields; empty for none.")
    header: bool = Field(default=True, description="The first record names the columns.")
    column: tuple[str, ...] = Field(default=(), description="Names of the columns when there is no header.")
    skip_rows: int = Field(default=0, ge=0, description="Lines to leave out before the first record.")
    comment: str | None = Field(
        default=None, min_length=1, max_length=10, description="Lines that begin so are left out."
    )
    trim: bool = Field(default=True, description="Remove blanks around a field.")
    missing_values: tuple[str, ...] = Field(
        default=(), description="Tokens that mean missing; an empty field always does."
    )
    type: dict[str, ColumnType] = Field(default_factory=dict, description="Types of columns, where not to be inferred.")
    decimal: str | None = Field(default=None, max_length=1, description="Before the fraction of a number; `.` or `,`.")
    thousands: str | None = Field(default=None, max_length=1, description="Between groups of three digits, if any.")
    date_format: str | None = Field(
        default=None, max_length=40, description="How days are written, besides YYYY-MM-DD."
    )

    charset: str | None = Field(
        default=None, max_length=20, description="Encoding of the text, as specified or detected; null for UTF-8."
    )

    def stored(self) -> dict[str, Any]:
        """As JSON, without options that were not given and that older processes do not know."""
        given = {name: value for name in _LATER if (value := getattr(self, name)) is not None}
        return self.model_dump(mode="json", exclude=set(_LATER)) | given


class DatasetColumn(Contract):
    """Profile of one column of a dataset."""

    name: str = Field(description="Name of the column, as in the file.")
    type: ColumnType = Field(description="As it was inferred, or as it was given.")
    missing: int = Field(description="Number of rows without a value.")
    distinct: int = Field(description="Different values, missing not counted.")
    other_spellings: int | None = Field(
        default=None,
        description="How many of these values are another spelling of one that occurs too: they differ in case, blanks "
        "or characters that look alike. `l` and `alpha` count them as one. Null: no texts, too many, or not counted.",
    )
    type_from: TypeSource | None = Field(
        default=None,
        description="Source of the type. Null: the dataset was read before this was kept.",
    )


class NumericSummary(Contract):
    """What a spec is checked against next to the public profile; never shown to anyone."""

    finite_minimum: float | None
    finite_maximum: float | None
    infinite: int
    #: Of values that are all whole numbers of at least 1, as counts are: their sum, and what divides all of them.
    total: int | None = None
    divisor: int | None = None


class Profile(Contract):
    """What reading a file found."""

    rows: int
    columns: tuple[DatasetColumn, ...]
    numeric: dict[str, NumericSummary] = Field(default_factory=dict)
    options: ReadOptions | None = None
    warnings: tuple[JobWarning, ...] = ()


class DatasetState(StrEnum):
    """States of a dataset.

    `ingesting`: the file is being read. `ready`: jobs can use it. `failed`: the file could not be read.
    `deleted`: its file is gone.
    """

    INGESTING = "ingesting"
    READY = "ready"
    FAILED = "failed"
    DELETED = "deleted"


class Dataset(Contract):
    """A dataset as its owner sees it."""

    id: str = Field(description="Names the dataset for as long as it is kept.")
    name: str = Field(description="As given with the upload.")
    state: DatasetState = Field(description="`ready`: it can be worked on.")
    rows: int | None = Field(description="Null until it is read.")
    bytes: int = Field(description="Size of the decoded file.")
    sha256: str = Field(description="Checksum of the decoded file.")
    created_at: Instant = Field(description="Time of the upload, in UTC.")
    expires_at: Instant | None = Field(description="When it will be deleted; null: never by itself.")
    tags: Tags = Field(description="As given with the upload.")
    options: ReadOptions | None = Field(
        default=None, description="How the file was read: as specified, with detected options (`delimiter`)."
    )
    columns: tuple[DatasetColumn, ...] | None = Field(description="In the file's order; null until it is read.")
    warnings: tuple[JobWarning, ...] = Field(
        default=(), description="Warnings: successes that will disappoint or expose."
    )
    error: Problem | None = Field(default=None, description="Why it cannot be read; null where nothing is wrong.")
    version_of_dataset_id: str | None = Field(
        default=None, description="The dataset that it is a new version of, if of one."
    )
    family_id: str | None = Field(
        default=None,
        description="Of the same data; null until it is read, and without both of `jobs:read` and `datasets:read`.",
    )


Name = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class DatasetChanges(Contract):
    """A new name, new tags, or both; omitted fields stay as they are."""

    name: Name = Field(default_factory=str, description="Name that the owner gave it.")
    tags: Tags = Field(default_factory=dict, description="All its tags from now on; they replace the former.")

    def changes(self) -> dict[str, Any]:
        """The changes that were sent."""
        return self.model_dump(mode="json", include=self.model_fields_set)
