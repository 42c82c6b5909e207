"""Rows of a release as a reader has them: a file by its path, or a frame that some library read from it."""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from surebox_verify.envelope import UnreadableError
from surebox_verify.released.files import format_of, rows
from surebox_verify.released.listed import as_lists, decoded, has_arrays, is_text, lists

_SET: Final = "_set"
_ENDS: Final = ("_lo", "_hi")
_NUMERIC: Final = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)


def frame_of(frame: Any, kinds: Mapping[str, str] | None = None) -> pa.Table:
    """Return the columns of a frame, sets as lists and days as days, also where it was read from CSV.

    Parameters
    ----------
    frame : the path of a file, a frame of polars or pandas, or a table of pyarrow.
    kinds : types of columns as the certificate names them; None where there is none.

    Raises
    ------
    UnreadableError
        It is none of these, or its texts were read as numbers.
    """
    if isinstance(frame, str | PathLike):
        file_format = format_of(str(frame))
        frame = rows(Path(frame).read_bytes(), file_format, kinds)
        if file_format != "parquet":
            return frame
    if not isinstance(frame, pa.Table):
        try:
            frame = pa.table(frame)
        except (TypeError, ValueError, pa.ArrowException):
            msg = f"a {type(frame).__name__} is no path, nor a frame of polars, pandas or pyarrow"
            raise UnreadableError(msg) from None
    for place, name in enumerate(frame.column_names):
        column = frame.column(place)
        if pa.types.is_dictionary(column.type):
            column = decoded(column)
            frame = frame.set_column(place, name, column)
        if (kinds or {}).get(name) == "list":
            frame = frame.set_column(place, name, as_lists(column, name))
        elif is_text(column.type):
            frame = frame.set_column(place, name, _understood(name, column, kinds))
        elif (kinds or {}).get(name) == "string" and any(each(column.type) for each in _NUMERIC):
            msg = f"column {name!r} has texts, and the frame has numbers there: give the path of the file instead"
            raise UnreadableError(msg)
    return frame


def is_ambiguous(frame: Any, column: pa.ChunkedArray) -> bool:
    """Return whether missing cells of a column may have been texts: pandas reads `NA` and empty texts as missing."""
    return type(frame).__module__.partition(".")[0] == "pandas" and column.null_count > 0


def _understood(name: str, column: pa.ChunkedArray, kinds: Mapping[str, str] | None) -> pa.ChunkedArray | pa.Array:
    """The arrays or the days that a column of texts has; the texts where it has none."""
    try:
        texts = column.cast(pa.string())
        if kinds is None and name.endswith(_SET):
            return lists(texts, name) if has_arrays(texts) else texts
        if name.endswith(_ENDS):
            return column.cast(pa.string()).cast(pa.date32())
    except (UnreadableError, pa.ArrowException):
        pass
    return column
