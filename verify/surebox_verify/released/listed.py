"""Columns of sets as lists, however a reader of CSV has them: as texts, as numbers, or as truth values."""

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surebox_verify.envelope import UnreadableError
from surebox_verify.released.singles import are_plain, sets_of

_TEXTS: Final = pa.list_(pa.string())
_EXACT: Final = 2.0**53  # from here on doubles have not every whole number


def is_text(kind: pa.DataType) -> bool:
    """Return whether a column has texts, however they are stored."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without the dictionaries that some libraries have for one of few values."""
    return pa.chunked_array([_decoded(chunk) for chunk in column.chunks] or [_decoded(pa.array([], column.type))])


def _decoded(array: pa.Array) -> pa.Array:
    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    return (values.cast(pa.string()) if is_text(values.type) else values).take(array.indices)


def has_arrays(column: pa.ChunkedArray) -> bool:
    """Return whether a column of texts has JSON arrays, as sets have in CSV that are not plain."""
    return bool(pc.any(pc.starts_with(column, "[")).as_py())


def lists(column: pa.ChunkedArray | pa.Array, name: str) -> pa.Array:
    """Sets from the plain values, or the JSON arrays, that they are in CSV."""
    coded = _whole(column).dictionary_encode()
    try:
        sets = pa.array(sets_of(coded.dictionary.to_pylist()))
        return (sets.cast(_TEXTS) if pa.types.is_null(sets.type) else sets).take(coded.indices)
    except (TypeError, ValueError, pa.ArrowException):
        msg = f"column {name!r} has cells that are neither all JSON arrays nor all plain values"
        raise UnreadableError(msg) from None


def as_lists(column: pa.ChunkedArray, name: str) -> pa.Array:
    """Sets as lists; a frame that was read from CSV has those of one value each as plain values."""
    array = _whole(decoded(column))
    if _is_list(array.type):
        return array
    if pa.types.is_null(array.type):  # of a frame without any set
        return array.cast(_TEXTS)
    if is_text(array.type):
        return lists(array.cast(pa.string()), name)
    if pa.types.is_floating(array.type):
        array = _whole_numbers(array, name)
    held = pc.drop_null(array)
    ends = np.concatenate([[0], np.cumsum(pc.is_valid(array).to_numpy(zero_copy_only=False))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), held, mask=pc.is_null(array))


def _whole_numbers(array: pa.Array, name: str) -> pa.Array:
    """The whole numbers of a frame that has them as doubles, because missing ones are NaN there.

    Raises
    ------
    UnreadableError
        Some are none, or may have been rounded.
    """
    array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    exact = pc.and_(pc.less(pc.abs(array), _EXACT), pc.equal(array, pc.trunc(array)))
    if not pc.all(exact, min_count=0).as_py():
        msg = f"column {name!r} has sets of numbers that the frame may have rounded: give the path of the file instead"
        raise UnreadableError(msg)
    return array.cast(pa.int64())


def is_plain(column: pa.ChunkedArray, name: str) -> bool:
    """Return whether CSV has one value for each set of a column, by its values.

    Parameters
    ----------
    column : sets as lists, or as the cells of CSV that they are.
    name : of the column.

    Raises
    ------
    UnreadableError
        It has no sets.
    """
    if pa.types.is_null(column.type):
        return True
    if is_text(column.type):
        column = pa.chunked_array([lists(pc.unique(column), name)])
    if not _is_list(column.type):
        msg = f"column {name!r} has no sets"
        raise UnreadableError(msg)
    if not pc.all(pc.equal(pc.list_value_length(column), 1), min_count=0).as_py():
        return False
    return are_plain([value] for value in pc.unique(pc.list_flatten(column)).to_pylist())


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _whole(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        return pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    return array
