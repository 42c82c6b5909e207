"""Columns that rows of a release have as they are, beside their boxes: boxes divided by these columns' values.

The rows of a box that agree in such columns are a part of it: its bounds hold for the part, and the value of the column
is known of all its records. So a statistic of boxes and of columns beside them is one of the parts, each with the
column as an interval of one point or a set of one value, and its range is as certain as any other; of columns beside
boxes alone nothing is open. What a release says of a whole box does not hold of its parts: neither that its bounds are
some record's, nor its means.
"""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from surebox_verify.boxes import Meaning
from surebox_verify.core.types import BoolArray, FloatArray, IntArray
from surebox_verify.envelope import UnreadableError
from surebox_verify.released.boxes import ReleasedBoxes

_EXACT = 2.0**53  # whole numbers beyond it are no doubles


def divided(boxes: ReleasedBoxes, kept: pa.Table) -> ReleasedBoxes:
    """The boxes, divided by the values of columns beside them, with these columns after their own.

    Parameters
    ----------
    boxes : of a release.
    kept : the columns, a row for each of the release's, in its order; numbers and days are numeric, texts and booleans
        nominal.

    Raises
    ------
    UnreadableError
        A column is of none of these types, or the design weights of records are known of whole boxes only.
    """
    if boxes.survey_ends is not None:
        msg = "design weights are published of whole boxes: nothing is certain of columns beside them (`weights: row`)"
        raise UnreadableError(msg)
    columns = {name: _plain(kept.column(name)) for name in kept.column_names}
    codes = [boxes.of_row, *(_codes(column) for column in columns.values())]
    _, first, of_row, counts = np.unique(
        np.column_stack(codes), axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    parent, at = boxes.of_row[first], pa.array(first)
    numeric = [name for name, column in columns.items() if _is_numeric(column.type)]
    nominal = [name for name, column in columns.items() if _is_nominal(column.type)]
    strange = [name for name in columns if name not in (*numeric, *nominal)]
    if strange:
        msg = f"column {strange[0]!r} has neither numbers, days, texts nor booleans"
        raise UnreadableError(msg)
    ends = [_ends(columns[name].take(at)) for name in numeric]
    sets = [_sets(columns[name].take(at)) for name in nominal]
    return replace(
        boxes,
        lower=np.ascontiguousarray(np.column_stack([boxes.lower[parent], *(low for low, _ in ends)])),
        upper=np.ascontiguousarray(np.column_stack([boxes.upper[parent], *(high for _, high in ends)])),
        counts=counts.astype(np.int64),
        sets=(*(each[parent] for each in boxes.sets), *(matrix for matrix, _ in sets)),
        means=None,
        survey=None if boxes.survey is None else boxes.survey[parent],
        of_row=of_row.reshape(-1).astype(np.int64),
        weights=None if boxes.weights is None else boxes.weights[parent],
        numeric=(*boxes.numeric, *numeric),
        nominal=(*boxes.nominal, *nominal),
        codebooks=(*boxes.codebooks, *(values for _, values in sets)),
    )


def meaning_of_parts(meaning: Meaning) -> Meaning:
    """What is said of the parts of boxes: nothing of their bounds; columns beside them are after the others."""
    return replace(meaning, attained=False)


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """One array, as all of pyarrow takes it; a number that is none is missing."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if array.type == pa.string_view() or pa.types.is_large_string(array.type):
        return array.cast(pa.string())
    if pa.types.is_timestamp(array.type) or pa.types.is_date64(array.type):
        return array.cast(pa.date32())
    if pa.types.is_floating(array.type):
        return pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return array


def _codes(column: pa.Array) -> IntArray:
    encoded = pc.dictionary_encode(column, null_encoding="mask")
    return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64)


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date32(kind))


def _is_nominal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_boolean(kind))


def _ends(column: pa.Array) -> tuple[FloatArray, FloatArray]:
    """The value of each part as an interval; NaN where it is missing."""
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    value = np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
    rounded = (np.abs(value) > _EXACT) & pa.types.is_integer(column.type)
    return np.where(rounded, np.nextafter(value, -np.inf), value), np.where(rounded, np.nextafter(value, np.inf), value)


def _sets(column: pa.Array) -> tuple[BoolArray, tuple[object, ...]]:
    """The value of each part as a set, (B, m), none where it is missing; and the values in ascending order."""
    values = sorted(each for each in pc.unique(column).to_pylist() if each is not None)
    place = pc.index_in(column, value_set=pa.array(values, column.type)).to_numpy(zero_copy_only=False)
    return np.equal(np.asarray(place, dtype=np.float64)[:, None], np.arange(len(values))), tuple(values)
