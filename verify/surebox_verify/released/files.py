"""The data file of a release in any of its formats, as a table of the columns wanted."""

import gzip
import io
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.json as ndjson
import pyarrow.parquet as pq

from surebox_verify.envelope import UnreadableError
from surebox_verify.released.formulas import original, originals
from surebox_verify.released.listed import has_arrays, lists

_SET = "_set"
_EXCEL = "csv.excel"
_QUOTED = re.compile(rb'"[^"]*"')
#: A file of one column whose cells are all numbers, whole or with a comma, infinite or missing.
_NUMBERS_ALONE = re.compile(
    rb'(?:\xef\xbb\xbf)?"(?:[^"]|"")*"\r?\n(?:"(?:-?[0-9]+(?:,[0-9]+)?(?:e[+-]?[0-9]+)?|-?inf|)"\r?\n)*'
)
_TYPES = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_(), "date": pa.date32()}


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
        return list(names_shown(unpacked(data, file_format), file_format))
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


def whole(data: bytes, file_format: str, kinds: Mapping[str, str] | None = None) -> pa.Table:
    """All columns of a file, as they are called in Parquet; their types are those that the format has.

    Parameters
    ----------
    data : the file.
    file_format : as of `format_of`.
    kinds : types of columns, as certificates name them: texts are read as such, and sets in CSV as their cells.

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
            texts = [name for name in names_in(data, file_format) if (kinds or {}).get(name) == "string"]
            return _objects(data, pa.schema([(name, pa.string()) for name in texts]))
        texts = [name for name, kind in (kinds or {}).items() if kind in ("string", "list")]
        return read_csv(unpacked(data, file_format), file_format, partial(_as_texts, texts))
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise unreadable(error) from None


def cells(data: bytes, file_format: str, names: Sequence[str]) -> pa.Table:
    """The columns of a CSV file that have these names, as the texts that its cells are.

    Parameters
    ----------
    data : the file.
    file_format : one of CSV.
    names : columns, as they are called in Parquet.

    Raises
    ------
    UnreadableError
        It cannot be read.
    """
    table = whole(data, file_format, dict.fromkeys(names, "string"))
    return table.select([name for name in table.column_names if name in names])


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
    texts = [name for name, kind in (kinds or {}).items() if kind == "string"]
    sets = None if kinds is None else [name for name, kind in kinds.items() if kind == "list"]
    try:
        if file_format == "ndjson":
            schema = pa.schema([(name, pa.string()) for name in texts])
            return _objects(data, schema, ndjson.ReadOptions(block_size=max(1 << 20, data.find(b"\n") * 4)))
        return _csv_rows(unpacked(data, file_format), file_format, texts, sets)
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise unreadable(error) from None


def typed(table: pa.Table, names: Sequence[str], kinds: Mapping[str, str]) -> pa.Table:
    """Columns of a table of text cells with the types that certificates name, as Parquet has them.

    Parameters
    ----------
    table : as of `rows`.
    names : the columns wanted.
    kinds : types of columns, as certificates name them.

    Raises
    ------
    UnreadableError
        A column is missing, or has cells of another type.
    """
    missing = [name for name in names if name not in table.column_names]
    if missing:
        msg = f"the file has no column {missing[0]!r}"
        raise UnreadableError(msg)
    try:
        return pa.table({name: _cast(table.column(name), kinds.get(name)) for name in names})
    except pa.ArrowException as error:
        raise unreadable(error) from None


def _cast(column: pa.ChunkedArray, kind: str | None) -> pa.ChunkedArray:
    wanted = _TYPES.get(kind or "")
    return column if wanted is None or column.type == wanted else column.cast(wanted)


def read_csv(raw: bytes, file_format: str, converting: Callable[[Mapping[str, str]], csv.ConvertOptions]) -> pa.Table:
    """The columns of a CSV file by the names that Parquet has, its texts as they were written.

    Parameters
    ----------
    raw : the file, unpacked.
    file_format : one of CSV.
    converting : how cells are read, by the names that the file shows for those of Parquet.
    """
    shown, parsing = names_shown(raw, file_format), _parsing(raw, file_format)
    cells = converting(shown)
    if file_format == _EXCEL:
        cells.decimal_point = decimal_point_of(raw, parsing.delimiter)
    table = csv.read_csv(pa.BufferReader(raw), parse_options=parsing, convert_options=cells)
    names = {each: name for name, each in shown.items()}
    table = table.rename_columns([names[each] for each in table.column_names])
    return _as_written(table) if file_format == _EXCEL else table


def names_shown(raw: bytes, file_format: str) -> dict[str, str]:
    """By the names that Parquet has, in their order, those that a CSV file shows."""
    there = csv.open_csv(io.BytesIO(raw), parse_options=_parsing(raw, file_format)).schema.names
    shown = {original(name) if file_format == _EXCEL else name: name for name in there}
    if len(shown) < len(there):
        msg = "two columns of the file have one name"
        raise UnreadableError(msg)
    return shown


def _parsing(raw: bytes, file_format: str) -> csv.ParseOptions:
    delimiter = delimiter_of(raw) if file_format == _EXCEL else ","
    return csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)


def _as_written(table: pa.Table) -> pa.Table:
    """Texts without the apostrophes that keep a spreadsheet from running them."""
    for place, name in enumerate(table.column_names):
        if pa.types.is_string(table.column(name).type):
            coded = table.column(name).combine_chunks().dictionary_encode()
            texts = pa.array(originals(coded.dictionary.to_pylist()), pa.string())
            table = table.set_column(place, name, texts.take(coded.indices))
    return table


def _csv_rows(raw: bytes, file_format: str, texts: Sequence[str], sets: Sequence[str] | None) -> pa.Table:
    """The rows of a CSV file; an empty field is missing, an empty text has quotes.

    Where it is not stated which columns have sets, those are left as texts that may be of a column that was kept.
    """

    def is_set(name: str) -> bool:
        return name.endswith(_SET) if sets is None else name in sets

    def converting(shown: Mapping[str, str]) -> csv.ConvertOptions:
        return _cells_as_written({each: pa.string() for name, each in shown.items() if name in texts or is_set(name)})

    table = read_csv(raw, file_format, converting)
    of_sets = [name for name in table.column_names if is_set(name)]
    return _with_lists(table, [name for name in of_sets if sets is not None or has_arrays(table.column(name))])


def _as_texts(names: Sequence[str], shown: Mapping[str, str]) -> csv.ConvertOptions:
    """Cells of some columns as texts, by the names that the file shows."""
    return _cells_as_written({each: pa.string() for name, each in shown.items() if name in names})


def _cells_as_written(kinds: Mapping[str, pa.DataType], only: Sequence[str] = ()) -> csv.ConvertOptions:
    """Cells as a release has them: an empty field is missing, an empty text has quotes, and `NA` is a text."""
    return csv.ConvertOptions(
        column_types=kinds,
        include_columns=only,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )


def _with_lists(table: pa.Table, names: Sequence[str]) -> pa.Table:
    for name in names:
        table = table.set_column(table.column_names.index(name), name, lists(table.column(name), name))
    return table


def _parquet(data: bytes, names: Sequence[str], flags: Sequence[str]) -> pa.Table:
    with pq.ParquetFile(pa.BufferReader(data)) as file:
        there = [name for name in (*names, *flags) if file.schema_arrow.get_field_index(name) >= 0]
        return file.read(columns=there)


def _csv(file_format: str, data: bytes, names: Sequence[str], flags: Sequence[str]) -> pa.Table:
    def converting(shown: Mapping[str, str]) -> csv.ConvertOptions:
        there = [name for name in (*names, *flags) if name in shown]
        kinds = {shown[name]: pa.bool_() if name in flags else pa.float64() for name in there}
        kinds |= {shown[name]: pa.string() for name in there if name.endswith(_SET)}
        return _cells_as_written(kinds, list(kinds))

    table = read_csv(unpacked(data, file_format), file_format, converting)
    return _with_lists(table, [name for name in table.column_names if name.endswith(_SET)])


def _ndjson(data: bytes, names: Sequence[str], flags: Sequence[str]) -> pa.Table:
    schema = pa.schema([*((name, pa.float64()) for name in names), *((name, pa.bool_()) for name in flags)])
    options = ndjson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    return ndjson.read_json(pa.BufferReader(data), parse_options=options)


def _objects(data: bytes, schema: pa.Schema, size: ndjson.ReadOptions | None = None) -> pa.Table:
    """The lines of a file of JSON; days in sets are the texts that they are, which the reader takes for times."""
    while True:
        options = ndjson.ParseOptions(explicit_schema=schema if len(schema) else None)
        table = ndjson.read_json(pa.BufferReader(data), read_options=size, parse_options=options)
        times = [field.name for field in table.schema if _are_times(field.type)]
        if not times:
            return table
        schema = pa.schema([*schema, *((name, pa.list_(pa.string())) for name in times)])


def _are_times(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) and pa.types.is_timestamp(kind.value_type))


def delimiter_of(data: bytes) -> str:
    """What separates names in a header that has all of them in quotes."""
    header = re.match(rb'(?:\xef\xbb\xbf)?"(?:[^"]|"")*"(.)', data, re.DOTALL)
    delimiter = header.group(1).decode("latin-1") if header else ","
    return delimiter if delimiter in ",;\t" else ","


def decimal_point_of(data: bytes, delimiter: str) -> str:
    """Return the decimal mark of a file for spreadsheets: a comma where `;` is between fields.

    Files of before have a point there too. Texts are in quotes, so outside of these a comma is a number's; in a file of
    one column everything is in quotes, and no field ends at a separator.
    """
    if delimiter == ";":
        return "," if b"," in _QUOTED.sub(b"", data) else "."
    cells = _NUMBERS_ALONE.fullmatch(data)
    return "," if cells and b"," in data else "."


def unpacked(data: bytes, file_format: str) -> bytes:
    """A file without what packs it."""
    return gzip.GzipFile(fileobj=io.BytesIO(data)).read() if file_format == "csv.gz" else data


def unreadable(error: Exception) -> UnreadableError:
    """What is answered where a reader of a format gives up."""
    return UnreadableError(f"the data file cannot be read ({type(error).__name__})")


_READERS: Mapping[str, Callable[[bytes, Sequence[str], Sequence[str]], pa.Table]] = {
    "parquet": _parquet,
    "csv": partial(_csv, "csv"),
    "csv.gz": partial(_csv, "csv.gz"),
    _EXCEL: partial(_csv, _EXCEL),
    "ndjson": _ndjson,
}
