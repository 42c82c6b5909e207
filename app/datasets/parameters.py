"""From the query of an upload to how its bytes are to be read, with a problem for every parameter that is wrong."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from app.contracts.base import Contract, Tags, in_normal_form
from app.contracts.datasets import CHARSETS, DELIMITED, DELIMITED_ONLY, ColumnType, FileFormat, ReadOptions
from app.errors import FieldError, InvalidError, meant

DEFAULT_NAME: Final = "unnamed"
#: Not the parameter's own default: generators of clients stumble over a default of one quotation mark.
DEFAULT_QUOTE: Final = '"'
_LONGEST_NAME: Final = 200
_LONGEST_TOKEN: Final = 200
_LONGEST_COLUMN: Final = 1_000
_MANY: Final = 10_000
_THOUSANDS: Final = ",.'_ "
_LONGEST_DATE_FORMAT: Final = 40
_DATE_PART: Final = re.compile("%[A-Za-z]")
_DATE_FORMAT: Final = re.compile(r"(?:%[dmbY]|[ -$&-/:-~])+")
_TYPES: Final = ", ".join(kind.value for kind in ColumnType)
_TAGS: Final[TypeAdapter[dict[str, str]]] = TypeAdapter(Tags)

Many = Annotated[list[str], Field(max_length=_MANY)]


class UploadParameters(Contract):
    """The query of an upload."""

    name: str = Field(default=DEFAULT_NAME, description="Name of the dataset, up to 200 characters.")
    tag: Many = Field(default=[], description="`key:value`, repeatable: a tag of the dataset.")
    format: FileFormat | None = Field(
        default=None, description="What the body is, where its Content-Type is only `application/octet-stream`."
    )
    delimiter: str | None = Field(
        default=None,
        description="CSV, TSV: between fields, one character; a tab may be written as `\\t`. Without it, CSV is looked "
        "at for `;`, a tab, `,` and `|`, and the dataset's `options` show the result.",
    )
    quote: str | None = Field(
        default=None, description='CSV, TSV: around fields, one character, `"` by default; empty for none.'
    )
    header: bool = Field(default=True, description="CSV, TSV: whether the first record names the columns.")
    column: Many = Field(
        default=[], description="CSV, TSV with `header=false`, repeatable: names of the columns, in order."
    )
    skip_rows: int = Field(default=0, ge=0, le=1_000_000, description="CSV, TSV: lines to leave out at the beginning.")
    comment: str | None = Field(default=None, description="CSV, TSV: lines that begin so are left out.")
    trim: bool = Field(default=True, description="CSV, TSV: remove blanks around fields.")
    missing_values: Many = Field(
        default=[], description="Repeatable: a token that means missing, as the empty field does."
    )
    decimal: str | None = Field(default=None, description="CSV, TSV: before the fraction of a number: `.` or `,`.")
    thousands: str | None = Field(
        default=None, description="CSV, TSV: between groups of three digits: `,`, `.`, `'`, `_` or a space."
    )
    charset: str | None = Field(
        default=None,
        description="CSV, TSV: encoding of the text, such as `windows-1252` or `utf-16`, also as `charset` of the "
        "Content-Type. Without it UTF-8 and UTF-16 are recognised, and other text is read as `windows-1252`, with "
        "a warning.",
    )
    date_format: str | None = Field(
        default=None,
        description="CSV, TSV, NDJSON: how days are written next to `YYYY-MM-DD`: `%d` (day), `%m` (month; `%b`: its "
        "English abbreviation) and `%Y` (year), each once, as in `%d.%m.%Y`.",
        examples=["%d.%m.%Y"],
    )
    type: Many = Field(
        default=[], description=f"Repeatable: `column:type` where types are not to be inferred; types: {_TYPES}."
    )
    same_data_as_dataset_id: str | None = Field(
        default=None,
        max_length=200,
        description="Id of a dataset with the same data. Without it, rows and columns that were uploaded before are "
        "recognised.",
    )
    version_of_dataset_id: str | None = Field(
        default=None,
        max_length=200,
        description="Id of a dataset that this is a new version of: its releases by boxes are continued in the same "
        "boxes. It is of the same family.",
    )
    new_family: bool = Field(
        default=False, description="True: nothing that was uploaded before is the same data, whatever is recognised."
    )


@dataclass(frozen=True, slots=True)
class Described:
    """What the query states, checked."""

    name: str
    tags: dict[str, str]
    options: ReadOptions
    same_data_as_dataset_id: str | None = None
    version_of_dataset_id: str | None = None
    new_family: bool = False

    @property
    def declares(self) -> str | None:
        """The parameter by which the keeper states what the data are the same as; None: the keeper does not state."""
        if self.new_family:
            return "new_family"
        if self.version_of_dataset_id is not None:
            return "version_of_dataset_id"
        return None if self.same_data_as_dataset_id is None else "same_data_as_dataset_id"


@dataclass(slots=True)
class _Refusals:
    errors: list[FieldError] = field(default_factory=list)

    def refuse(self, parameter: str, detail: str) -> None:
        self.errors.append(FieldError(f"?{parameter}", detail))


def describe(parameters: UploadParameters, file_format: FileFormat, *, charset: str | None = None) -> Described:
    """Check the query of an upload.

    Parameters
    ----------
    parameters
        The query.
    file_format
        Of the body, as its Content-Type states.
    charset
        Of its text, as its Content-Type states.

    Raises
    ------
    InvalidError
        With every parameter that cannot be what it is.
    """
    refusals = _Refusals()
    if file_format not in DELIMITED:
        _refuse_text_only(parameters, file_format, refusals)
    name = _name(parameters.name, refusals)
    tags = _tags(parameters.tag, refusals)
    types = _types(parameters.type, refusals)
    quote = DEFAULT_QUOTE if parameters.quote is None else parameters.quote
    delimiter = _delimiter(parameters, quote, refusals)
    named = "" if parameters.charset is None else parameters.charset.strip().lower()
    if named and named not in CHARSETS:
        refusals.refuse("charset", f"one of {', '.join(CHARSETS)}")
    _check_columns(parameters, refusals)
    _check_comment(parameters.comment, refusals)
    _check_missing(parameters.missing_values, refusals)
    _check_numbers(parameters, refusals)
    _check_date_format(parameters.date_format, file_format, refusals)
    _check_family(parameters, refusals)
    if refusals.errors:
        raise InvalidError.of(refusals.errors)
    options = ReadOptions(
        format=file_format,
        delimiter=delimiter,
        quote=quote,
        header=parameters.header,
        column=tuple(parameters.column),
        skip_rows=parameters.skip_rows,
        comment=parameters.comment,
        trim=parameters.trim,
        missing_values=tuple(parameters.missing_values),
        type=types,
        decimal=parameters.decimal,
        thousands=parameters.thousands,
        date_format=parameters.date_format,
        charset=CHARSETS[named] if named else charset,
    )
    word = parameters.same_data_as_dataset_id or parameters.version_of_dataset_id
    return Described(name, tags, options, word, parameters.version_of_dataset_id, parameters.new_family)


def _refuse_text_only(parameters: UploadParameters, file_format: FileFormat, refusals: _Refusals) -> None:
    for parameter in DELIMITED_ONLY:
        if getattr(parameters, parameter) != UploadParameters.model_fields[parameter].default:
            refusals.refuse(parameter, f"applies to CSV and TSV only, not to {file_format.value}")


def _name(name: str, refusals: _Refusals) -> str:
    name = name.strip()
    if not 0 < len(name) <= _LONGEST_NAME or not _is_plain(name):
        refusals.refuse("name", f"1 to {_LONGEST_NAME} characters without control characters")
    return name


def _tags(given: Sequence[str], refusals: _Refusals) -> dict[str, str]:
    tags = _pairs(map(in_normal_form, given), "tag", "key:value", str.partition, refusals)
    try:
        return _TAGS.validate_python(tags)
    except ValidationError as error:
        inner = error.errors()[0].get("ctx", {}).get("error")
        refusals.refuse("tag", str(inner or "keys and values have at most 200 characters"))
        return {}


def _types(given: Sequence[str], refusals: _Refusals) -> dict[str, ColumnType]:
    types: dict[str, ColumnType] = {}
    for column, kind in _pairs(map(in_normal_form, given), "type", "column:type", str.rpartition, refusals).items():
        if kind not in {each.value for each in ColumnType}:
            known = [each.value for each in ColumnType]
            refusals.refuse(
                "type",
                f"{column!r}: there is no such type; types are {_TYPES}{meant(kind, known)}",
            )
        elif not _is_plain(column):
            refusals.refuse("type", "a column's name has no control characters")
        else:
            types[column] = ColumnType(kind)
    return types


def _pairs(
    given: Iterable[str],
    parameter: str,
    shape: str,
    split: Callable[[str, str], tuple[str, str, str]],
    refusals: _Refusals,
) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for position, text in enumerate(given, 1):
        key, colon, value = split(text, ":")
        if not colon or not key:
            refusals.refuse(parameter, f"number {position} is not of the form {shape}")
        elif key in pairs:
            refusals.refuse(parameter, f"number {position} repeats what is before its colon")
        else:
            pairs[key] = value
    return pairs


def _delimiter(parameters: UploadParameters, quote: str, refusals: _Refusals) -> str | None:
    delimiter = "\t" if parameters.delimiter == "\\t" else parameters.delimiter
    if delimiter is not None and not _is_mark(delimiter, but="\t"):
        refusals.refuse("delimiter", "one ASCII character that is no line end; a tab may be written as \\t")
    if quote and not _is_mark(quote):
        refusals.refuse("quote", "one printable ASCII character, or empty for none")
    elif quote and quote == delimiter:
        refusals.refuse("quote", "must differ from the delimiter")
    elif quote == " " and parameters.trim:
        refusals.refuse("quote", "cannot be a blank while blanks are trimmed: ask for trim=false too")
    return delimiter


def _check_columns(parameters: UploadParameters, refusals: _Refusals) -> None:
    columns = parameters.column
    if columns and parameters.header:
        refusals.refuse("column", "names columns of a file without a header: ask for header=false too")
    if len(set(columns)) != len(columns):
        refusals.refuse("column", "a name is there twice")
    if any(not 0 < len(name) <= _LONGEST_COLUMN or not _is_plain(name) for name in columns):
        refusals.refuse("column", f"a name has 1 to {_LONGEST_COLUMN} characters without control characters")


def _check_comment(comment: str | None, refusals: _Refusals) -> None:
    if comment is not None and not (0 < len(comment) <= 10 and _is_plain(comment)):
        refusals.refuse("comment", "1 to 10 characters without control characters")


def _check_family(parameters: UploadParameters, refusals: _Refusals) -> None:
    version, same = parameters.version_of_dataset_id, parameters.same_data_as_dataset_id
    if version is not None and same not in {None, version}:
        refusals.refuse(
            "same_data_as_dataset_id", "a new version is the same data as what it is a version of: leave it out"
        )
    if parameters.new_family and (same or version):
        refusals.refuse("new_family", "a new family is the same data as nothing before: leave out one of the two")


def _check_missing(missing: Sequence[str], refusals: _Refusals) -> None:
    if any(len(token) > _LONGEST_TOKEN or not _is_plain(token) for token in missing):
        refusals.refuse("missing_values", f"a token has up to {_LONGEST_TOKEN} characters without control characters")


def _check_numbers(parameters: UploadParameters, refusals: _Refusals) -> None:
    if parameters.decimal not in {None, ".", ","}:
        refusals.refuse("decimal", "`.` or `,`")
    if parameters.thousands is not None and parameters.thousands not in set(_THOUSANDS):
        refusals.refuse("thousands", "one of `,`, `.`, `'`, `_` and a space (for non-breaking ones too)")
    elif parameters.thousands == (parameters.decimal or "."):
        refusals.refuse("thousands", "must differ from `decimal`")


def _check_date_format(text: str | None, file_format: FileFormat, refusals: _Refusals) -> None:
    if text is None:
        return
    if file_format is FileFormat.PARQUET:
        refusals.refuse("date_format", "applies to CSV, TSV and NDJSON only, not to parquet")
    elif len(text) > _LONGEST_DATE_FORMAT or not _DATE_FORMAT.fullmatch(text) or not _has_each_part(text):
        refusals.refuse("date_format", "`%d`, `%m` (or `%b`) and `%Y`, each once, with other characters between them")
    elif text.startswith("%Y-%d"):
        refusals.refuse("date_format", "could be taken for YYYY-MM-DD, which is always read")


def _has_each_part(text: str) -> bool:
    parts = sorted(_DATE_PART.findall(text))
    return parts in (["%Y", "%d", "%m"], ["%Y", "%b", "%d"])


def _is_mark(text: str, *, but: str = "") -> bool:
    return len(text) == 1 and text.isascii() and (text.isprintable() or text in but)


def _is_plain(text: str) -> bool:
    return not any(ord(character) < 32 or ord(character) == 127 for character in text)
