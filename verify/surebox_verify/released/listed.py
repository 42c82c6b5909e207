"""Columns of sets as lists, however a reader of CSV has them: as texts, as numbers, or as truth values."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surebox_verify.envelope import UnreadableError
from surebox_verify.released.singles import are_plain, sets_of


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column has texts, however they are stored."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def has_arrays(column: pa.ChunkedArray) -> bool:
    """Return whether a column of texts has JSON arrays, as sets have in CSV that are not plain."""
    return bool(pc.any(pc.starts_with(column, "[")).as_py())


def lists(column: pa.ChunkedArray | pa.Array, name: str) -> pa.Array:
    """Sets from the plain values, or the JSON arrays, that they are in CSV."""
    coded = _whole(column).dictionary_encode()
    try:
        return pa.array(sets_of(coded.dictionary.to_pylist())).take(coded.indices)
    except (TypeError, ValueError, pa.ArrowException):
        msg = f"column {name!r} has cells that are neither all JSON arrays nor all plain values"
        raise UnreadableError(msg) from None


def as_lists(column: pa.ChunkedArray, name: str) -> pa.Array:
    """Sets as lists; a frame that was read from CSV has those of one value each as plain values."""
    array = _whole(column)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return array
    if is_text(array.type):
        return lists(array.cast(pa.string()), name)
    if pa.types.is_floating(array.type):  # whole numbers of a frame that has missing ones as NaN
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array).cast(pa.int64())
    held = pc.drop_null(array)
    ends = np.concatenate([[0], np.cumsum(pc.is_valid(array).to_numpy(zero_copy_only=False))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), held, mask=pc.is_null(array))


def is_plain(column: pa.ChunkedArray) -> bool:
    """Return whether CSV has one value for each set of a column."""
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        return False
    if not pc.all(pc.equal(pc.list_value_length(column), 1)).as_py():  # of no sets at all: true
        return False
    return are_plain([value] for value in pc.unique(pc.list_flatten(column)).to_pylist())


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        return pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    return array
