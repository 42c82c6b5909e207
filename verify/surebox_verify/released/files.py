"""The data file of a release in any of its formats, as a table of the columns wanted."""

import gzip
import io
import json
import re
import zlib
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as ndjson
import pyarrow.parquet as pq

from surebox_verify.envelope import UnreadableError

_SET = "_set"
ESCAPE = "'"  # before a name that a spreadsheet would run as a formula


def format_of(name: str) -> str:
    """The format of a file, by how its name ends.

    Raises
    ------
    UnreadableError
        It is none of a release's.
    """
    for ending, file_format in {
        ".parquet": "parquet", ".csv.gz": "csv.gz", ".csv.excel": "csv.excel", ".excel.csv": "csv.excel", ".csv": "csv",
        ".ndjson": "ndjson",
    }.items():  # fmt: skip
        if name.lower().endswith(ending):
            return file_format
    msg = f"{name} is no file of a release: their names end in .parquet, .csv, .csv.gz or .ndjson"
    raise UnreadableError(msg)


def names_in(data: bytes, file_format: str) -> list[str]:
    """The columns of a file, in their order."""
    try:
        if file_format == "parquet":
            return list(pq.read_schema(pa.BufferReader(data)).names)
        if file_format == "ndjson":
            first = data[: data.find(b"\n") + 1] or data
            return list(ndjson.read_json(pa.BufferReader(first)).column_names)
        parse = csv.ParseOptions(delimiter=delimiter_of(data) if file_format == "csv.excel" else ",")
        names = csv.open_csv(pa.BufferReader(unpacked(data, file_format)), parse_options=parse).schema.names
        return [name.removeprefix(ESCAPE) if file_format == "csv.excel" else name for name in names]
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise unreadable(error) from None


def numbers(data: bytes, file_format: str, names: Sequence[str], *, flags: Sequence[str] = ()) -> pa.Table:
    """Numeric columns of a file, as doubles, and such that are true or false.

    Parameters
    ----------
    data : the file.
    file_format : as of `format_of`.
    names, flags : columns of it, as they are called in Parquet.

    Raises
    ------
    UnreadableError
        It cannot be read, or lacks one of the columns.
    """
    try:
        table = _READERS[file_format](data, names, flags)
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise unreadable(error) from None
    missing = [name for name in (*names, *flags) if name not in table.column_names]
    if missing:
        msg = f"the file has no column {missing[0]!r}"
        raise UnreadableError(msg)
    return table


def whole(data: bytes, file_format: str) -> pa.Table:
    """All columns of a file, as they are called in Parquet; their types are those that the format has.

    Parameters
    ----------
    data : the file.
    file_format : as of `format_of`.

    Raises
    ------
    UnreadableError
        It cannot be read.
    """
    try:
        if file_format == "parquet":
            with pq.ParquetFile(pa.BufferReader(data)) as file:
                return file.read()
        if file_format == "ndjson":
            return ndjson.read_json(pa.BufferReader(data))
        delimiter = delimiter_of(data) if file_format == "csv.excel" else ","
        parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        table = csv.read_csv(pa.BufferReader(unpacked(data, file_format)), parse_options=parse)
        return table.rename_columns([name.removeprefix(ESCAPE) for name in table.column_names])
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise unreadable(error) from None


def rows(data: bytes, file_format: str, kinds: Mapping[str, str] | None = None) -> pa.Table:
    """All columns of a file, with sets as lists.

    Parameters
    ----------
    data : the file.
    file_format : as of `format_of`.
    kinds : types of columns, as certificates name them; without them text that looks like numbers is read as such.

    Raises
    ------
    UnreadableError
        It cannot be read.
    """
    if file_format == "parquet":
        return whole(data, file_format)
    texts = [name for name, kind in (kinds or {}).items() if kind == "string" and not name.endswith(_SET)]
    try:
        if file_format == "ndjson":
            schema = pa.schema([(name, pa.string()) for name in texts])
            parse = ndjson.ParseOptions(explicit_schema=schema if texts else None)
            size = ndjson.ReadOptions(block_size=max(1 << 20, data.find(b"\n") * 4))
            return ndjson.read_json(pa.BufferReader(data), read_options=size, parse_options=parse)
        return _csv_rows(unpacked(data, file_format), texts, delimiter_of(data) if file_format == "csv.excel" else ",")
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise unreadable(error) from None


def _csv_rows(data: bytes, texts: Sequence[str], delimiter: str) -> pa.Table:
    """The rows of a CSV file; an empty field is missing, an empty text has quotes."""
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    there = csv.open_csv(pa.BufferReader(data), parse_options=parse).schema.names
    plain = {name.removeprefix(ESCAPE): name for name in there}
    kinds = {shown: pa.string() for name, shown in plain.items() if name in texts or name.endswith(_SET)}
    types = csv.ConvertOptions(
        column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
    )
    table = csv.read_csv(pa.BufferReader(data), parse_options=parse, convert_options=types).rename_columns(list(plain))
    for place, name in enumerate(table.column_names):
        if name.endswith(_SET):
            table = table.set_column(place, name, _lists(table.column(name), name))
    return table


def _parquet(data: bytes, names: Sequence[str], flags: Sequence[str]) -> pa.Table:
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        there = [name for name in (*names, *flags) if file.schema_arrow.get_field_index(name) >= 0]
        return file.read(columns=there)


def _csv(data: bytes, names: Sequence[str], flags: Sequence[str], delimiter: str = ",") -> pa.Table:
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    there = csv.open_csv(pa.BufferReader(data), parse_options=parse).schema.names
    shown = {name: name if name in there else ESCAPE + name for name in (*names, *flags)}
    kinds = {each: pa.bool_() if name in flags else pa.float64() for name, each in shown.items() if each in there}
    sets = [each for name, each in shown.items() if name.endswith(_SET) and each in kinds]
    kinds |= dict.fromkeys(sets, pa.string())
    types = csv.ConvertOptions(column_types=kinds, include_columns=list(kinds))
    table = csv.read_csv(pa.BufferReader(data), parse_options=parse, convert_options=types)
    for each in sets:
        table = table.set_column(table.column_names.index(each), each, _lists(table.column(each), each))
    back = {each: name for name, each in shown.items()}
    return table.rename_columns([back[each] for each in table.column_names])


def _lists(column: pa.ChunkedArray, name: str) -> pa.Array:
    """Sets from the JSON arrays that they are in CSV."""
    try:
        values = {text: None if text is None else json.loads(text) for text in column.unique().to_pylist()}
        return pa.array([values[text] for text in column.to_pylist()])
    except (TypeError, ValueError, pa.ArrowException):
        msg = f"column {name!r} has cells that are no JSON arrays"
        raise UnreadableError(msg) from None


def _ndjson(data: bytes, names: Sequence[str], flags: Sequence[str]) -> pa.Table:
    schema = pa.schema([*((name, pa.float64()) for name in names), *((name, pa.bool_()) for name in flags)])
    options = ndjson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return ndjson.read_json(pa.BufferReader(data), parse_options=options)


def delimiter_of(data: bytes) -> str:
    """What separates names in a header that has all of them in quotes."""
    header = re.match(rb'(?:\xef\xbb\xbf)?"(?:[^"]|"")*"(.)', data, re.DOTALL)
    delimiter = header.group(1).decode("latin-1") if header else ","
    return delimiter if delimiter in ",;\t" else ","


def unpacked(data: bytes, file_format: str) -> bytes:
    """A file without what packs it."""
    return gzip.GzipFile(fileobj=io.BytesIO(data)).read() if file_format == "csv.gz" else data


def unreadable(error: Exception) -> UnreadableError:
    """What is answered where a reader of a format gives up."""
    return UnreadableError(f"the data file cannot be read ({type(error).__name__})")


_READERS = {
    "parquet": _parquet,
    "csv": _csv,
    "csv.gz": lambda data, names, flags: _csv(unpacked(data, "csv.gz"), names, flags),
    "csv.excel": lambda data, names, flags: _csv(data, names, flags, delimiter_of(data)),
    "ndjson": _ndjson,
}
