"""Whether the files of a release contain the same rows, in whatever formats they are.

A certificate is about all files of a release, and ranges are computed again from one of them. So another one that was
certified with other rows would pass by its digest: every file that is there is held against the first, cell by cell.
Against a CSV for spreadsheets apostrophes do not count: it has more of them, before what would run as a formula.
"""

import io
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.json as ndjson

from surebox_verify.envelope import UnreadableError
from surebox_verify.released.files import ESCAPE, delimiter_of, names_in, unpacked, unreadable, whole

_TYPES: Final[Mapping[str, pa.DataType]] = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
_EXCEL: Final = "csv.excel"


def difference(one: tuple[bytes, str], other: tuple[bytes, str], types: Mapping[str, str]) -> str | None:
    """What two files of a release do not have in common; None where they contain the same rows in the same order.

    Parameters
    ----------
    one, other : each a file and its format.
    types : of each column, as published.

    Raises
    ------
    UnreadableError
        A file, or a cell of it, cannot be read as what its column is.
    """
    escaped = _EXCEL in (one[1], other[1])
    first, second = (_cells(data, file_format, types, escaped=escaped) for data, file_format in (one, other))
    if first.keys() != second.keys():
        return f"other columns ({', '.join(map(repr, sorted(first.keys() ^ second.keys())))})"
    for name, column in first.items():
        if len(column) != len(second[name]):
            return f"{len(second[name])} rows, not {len(column)}"
        if not column.equals(second[name]):
            return f"other cells of {name!r}"
    return None


def _cells(data: bytes, file_format: str, types: Mapping[str, str], *, escaped: bool) -> dict[str, pa.Array]:
    """Columns by name, each in one form whatever the format is."""
    try:
        table = whole(data, file_format) if file_format == "parquet" else _as_said(data, file_format, types)
        return {name: _plain(table.column(name), types.get(name), escaped=escaped) for name in table.column_names}
    except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
        raise error if isinstance(error, UnreadableError) else unreadable(error) from None


def _as_said(data: bytes, file_format: str, types: Mapping[str, str]) -> pa.Table:
    """A file of text with its columns as texts, or as what the certificate states: no type is guessed from cells."""
    names = names_in(data, file_format)
    if file_format == "ndjson":
        sets = [name for name in names if types.get(name) == "list"]
        schema = pa.schema([(name, _TYPES.get(types.get(name, ""), pa.string())) for name in names if name not in sets])
        options = ndjson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        table = ndjson.read_json(pa.BufferReader(data), parse_options=options)
        rows = [json.loads(line) for line in data.splitlines()] if sets else []
        for name in sets:  # days among strings would be guessed to be times
            table = table.append_column(name, pa.array([_json(row[name]) for row in rows], pa.string()))
        return table
    raw = unpacked(data, file_format)
    parse = csv.ParseOptions(delimiter=delimiter_of(raw) if file_format == _EXCEL else ",", newlines_in_values=True)
    there = csv.open_csv(io.BytesIO(raw), parse_options=parse).schema.names
    kinds = csv.ConvertOptions(column_types=dict.fromkeys(there, pa.string()), strings_can_be_null=False)
    table = csv.read_csv(pa.BufferReader(raw), parse_options=parse, convert_options=kinds)
    return table.rename_columns([name.removeprefix(ESCAPE) for name in there])


def _plain(column: pa.ChunkedArray, kind: str | None, *, escaped: bool) -> pa.Array:
    """A column as whole numbers, numbers, truth values, or texts."""
    array = column.combine_chunks()
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kind is not None and kind in _TYPES:
        if pa.types.is_string(array.type):
            array = pc.if_else(pc.equal(array, ""), pa.scalar(None, pa.string()), array)
        array = array.cast(_TYPES[kind])
        return pc.if_else(pc.is_nan(array), pa.scalar(None, pa.float64()), array) if kind == "number" else array
    if kind == "list":
        array = _listed(array)
    text = pc.fill_null(array.cast(pa.string()), "")
    return pc.replace_substring(text, ESCAPE, "") if escaped else text


def _listed(array: pa.Array) -> pa.Array:
    """Sets as JSON in one spelling."""
    if pa.types.is_string(array.type):
        return pa.array([_json(json.loads(text)) if text else None for text in array.to_pylist()], pa.string())
    return pa.array([None if each is None else _json(each) for each in array.to_pylist()], pa.string())


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, default=str)
