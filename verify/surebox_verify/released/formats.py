"""Whether the files of a release contain the same rows, in whatever formats they are.

A certificate is about all files of a release, and ranges are computed again from one of them. So another one that was
certified with other rows would pass by its digest: every file that is there is held against the first, cell by cell.
A missing cell, an empty text and the text `null` are three cells. Only a CSV file of one column has quotes around every
cell, missing ones too: against such a file the first two count as one. Against NDJSON an infinite number counts as
missing, for JSON has none.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.json as ndjson

from surebox_verify.envelope import UnreadableError
from surebox_verify.released.files import names_in, read_csv, unpacked, unreadable, whole
from surebox_verify.released.singles import sets_of

_TYPES: Final[Mapping[str, pa.DataType]] = {"integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}
_NDJSON: Final = "ndjson"


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
    alike = _Alike(infinite=_NDJSON in (one[1], other[1]))
    first, second = (_cells(data, file_format, types, alike) for data, file_format in (one, other))
    if first.keys() != second.keys():
        return f"other columns ({', '.join(map(repr, sorted(first.keys() ^ second.keys())))})"
    for name, column in first.items():
        if len(column) != len(second[name]):
            return f"{len(second[name])} rows, not {len(column)}"
        if not column.equals(second[name]):
            return f"other cells of {name!r}"
    return None


@dataclass(frozen=True)
class _Alike:
    """Cells that count as one: an infinite number and a missing one, an empty text and a missing one."""

    infinite: bool
    empty: bool = False


def _cells(data: bytes, file_format: str, types: Mapping[str, str], alike: _Alike) -> dict[str, pa.Array]:
    """Columns by name, each in one form whatever the format is."""
    try:
        table = whole(data, file_format) if file_format == "parquet" else _as_said(data, file_format, types)
        alike = replace(alike, empty=table.num_columns == 1)
        return {name: _plain(table.column(name), types.get(name), alike) for name in table.column_names}
    except (pa.ArrowException, OSError, EOFError, zlib.error, ValueError, LookupError, TypeError) as error:
        raise error if isinstance(error, UnreadableError) else unreadable(error) from None


def _as_said(data: bytes, file_format: str, types: Mapping[str, str]) -> pa.Table:
    """A file of text with its columns as texts, or as what the certificate states: no type is guessed from cells."""
    names = names_in(data, file_format)
    if file_format == _NDJSON:
        sets = [name for name in names if types.get(name) == "list"]
        schema = pa.schema([(name, _TYPES.get(types.get(name, ""), pa.string())) for name in names if name not in sets])
        options = ndjson.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
        table = ndjson.read_json(pa.BufferReader(data), parse_options=options)
        rows = [json.loads(line) for line in data.splitlines()] if sets else []
        for name in sets:  # days among strings would be guessed to be times
            table = table.append_column(name, pa.array([_json(row[name]) for row in rows], pa.string()))
        return table
    return read_csv(unpacked(data, file_format), file_format, partial(_converting, types))


def _converting(types: Mapping[str, str], shown: Mapping[str, str]) -> csv.ConvertOptions:
    """Numbers by the decimal mark of the file, and all else as texts; missing ones of a lone column have quotes too."""
    kinds = {each: pa.float64() if types.get(name) == "number" else pa.string() for name, each in shown.items()}
    return csv.ConvertOptions(
        column_types=kinds,
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=len(shown) == 1,
    )


def _plain(column: pa.ChunkedArray, kind: str | None, alike: _Alike) -> pa.Array:
    """A column as whole numbers, numbers, truth values, or texts."""
    array = column.combine_chunks()
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if kind is not None and kind in _TYPES:
        array = array.cast(_TYPES[kind])
        if kind != "number":
            return array
        strange = pc.invert(pc.is_finite(array)) if alike.infinite else pc.is_nan(array)
        return pc.if_else(strange, pa.scalar(None, pa.float64()), array)
    if kind == "list":
        array = _listed(array)
    text = array.cast(pa.string())
    if alike.empty:
        text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    return text


def _listed(array: pa.Array) -> pa.Array:
    """Sets as JSON in one spelling."""
    values = array.to_pylist()
    if pa.types.is_string(array.type):
        values = sets_of(values)
    return pa.array([_json(each) for each in values], pa.string())


def _json(values: Any) -> str | None:
    """Values as JSON in one spelling; a missing list is missing."""
    return None if values is None else json.dumps(values, ensure_ascii=False, default=str)
