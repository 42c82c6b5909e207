"""Typed arrow arrays out of cells."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from app.contracts.datasets import ColumnType
from surebox_core.compiling.kernels import kernel
from workers.frames.upload.cells import MISSING, TEXT, Cells
from workers.frames.upload.inference import whole_number

ARROW_TYPES: Final = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.STRING: pa.string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
}


@kernel
def _parse_integers(buffer: Any, start: Any, end: Any, kind: Any, values: Any, valid: Any) -> None:
    for r in range(start.size):
        valid[r] = kind[r] != MISSING
        value = 0
        if valid[r]:
            s: Any = np.int64(start[r])  # as in `survey`
            e: Any = np.int64(end[r])
            negative = buffer[s] == 45
            if negative or buffer[s] == 43:
                s += 1
            i = s
            while i < e and 48 <= buffer[i] <= 57:  # downwards: there is one negative integer more than positive ones
                value = value * 10 - (buffer[i] - 48)
                i += 1
            if i < e:
                valid[r] = buffer[i] < 58 or i > s  # else it is `nan`
                value = -whole_number(buffer, s, e) if valid[r] else 0
            if not negative:
                value = -value
        values[r] = value


@kernel
def _parse_booleans(buffer: Any, start: Any, kind: Any, values: Any, valid: Any) -> None:
    for r in range(start.size):
        valid[r] = kind[r] != MISSING
        values[r] = valid[r] and (buffer[start[r]] | 32) == 116


@kernel
def _parse_days(buffer: Any, start: Any, kind: Any, values: Any, valid: Any) -> None:
    """Days since 1970-01-01 of proleptic Gregorian dates (Hinnant's civil calendar, years from March)."""
    for r in range(start.size):
        valid[r] = kind[r] != MISSING
        values[r] = 0
        if valid[r]:
            s = start[r]
            year, month, day = 0, 0, 0
            for j in range(4):
                year = year * 10 + buffer[s + j] - 48
            for j in range(5, 7):
                month = month * 10 + buffer[s + j] - 48
            for j in range(8, 10):
                day = day * 10 + buffer[s + j] - 48
            if month <= 2:
                year -= 1
                month += 12
            era_day = 365 * year + year // 4 - year // 100 + year // 400
            values[r] = era_day + (153 * (month - 3) + 2) // 5 + day - 1 - 719468


@kernel
def _text_size(start: Any, end: Any, kind: Any) -> int:
    size = 0
    for r in range(start.size):
        if kind[r] != MISSING:
            size += end[r] - start[r]
    return size


@kernel
def _copy_texts(buffer: Any, start: Any, end: Any, kind: Any, data: Any, offsets: Any, valid: Any) -> None:
    w = 0
    offsets[0] = 0
    for r in range(start.size):
        valid[r] = kind[r] != MISSING
        if valid[r]:
            for i in range(start[r], end[r]):
                data[w] = buffer[i]
                w += 1
        offsets[r + 1] = w


def _validity(valid: npt.NDArray[np.bool_]) -> pa.Buffer | None:
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def texts_of(cells: Cells, column: slice) -> pa.Array:
    """Return cells as they stand in the file; None where they are missing."""
    start, end, kind = cells.start[column], cells.end[column], cells.kind[column]
    data = np.empty(_text_size(start, end, kind), np.uint8)
    offsets, valid = np.empty(len(start) + 1, np.int32), np.empty(len(start), np.bool_)
    _copy_texts(cells.buffer, start, end, kind, data, offsets, valid)
    buffers = [_validity(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.string(), len(start), buffers)


def cells_of(texts: pa.Array, lines: npt.NDArray[np.int64], width: int) -> Cells:
    """Return texts as cells of so many columns, as if they stood on these lines of a file of text."""
    texts = pa.concat_arrays([texts])  # without an offset
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[: len(texts) + 1].copy()  # as those of text are
    data = texts.buffers()[2]
    buffer = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8).copy()
    kind = np.full(len(texts), TEXT, np.uint8)
    return Cells(buffer, offsets[:-1].copy(), offsets[1:], kind, lines, len(lines), width, 0.0)


def in_normal_form(texts: pa.Array) -> pa.Array:
    """Return texts in the normal form in which they are compared (`surebox_core.spellings`)."""
    return texts if pc.all(pc.string_is_ascii(texts)).as_py() is not False else pc.utf8_normalize(texts, form="NFC")


def _numbers(texts: pa.Array) -> pa.Array:
    """The nearest doubles; NaN becomes missing, for a number that is none reveals nothing."""
    if pc.any(pc.starts_with(texts, "+")).as_py():
        texts = pc.utf8_ltrim(texts, "+")
    numbers = pc.cast(texts, pa.float64())
    return pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)


def build_column(cells: Cells, position: int, column_type: ColumnType) -> pa.Array:
    """One column of a run of records.

    Parameters
    ----------
    cells
        Cells in which the missing ones are marked.
    position
        Position of the column.
    column_type
        A type that every cell was found to be readable as.
    """
    column = slice(position, cells.rows * cells.width, cells.width)
    if column_type in {ColumnType.STRING, ColumnType.NUMBER}:
        texts = texts_of(cells, column)
        return texts if column_type is ColumnType.STRING else _numbers(texts)
    start, end, kind = cells.start[column], cells.end[column], cells.kind[column]
    valid = np.empty(cells.rows, np.bool_)
    if column_type is ColumnType.BOOLEAN:
        flags = np.empty(cells.rows, np.bool_)
        _parse_booleans(cells.buffer, start, kind, flags, valid)
        data = pa.py_buffer(np.packbits(flags, bitorder="little"))
    elif column_type is ColumnType.DATE:
        days = np.empty(cells.rows, np.int32)
        _parse_days(cells.buffer, start, kind, days, valid)
        data = pa.py_buffer(days)
    else:
        values = np.empty(cells.rows, np.int64)
        _parse_integers(cells.buffer, start, end, kind, values, valid)
        data = pa.py_buffer(values)
    return pa.Array.from_buffers(ARROW_TYPES[column_type], cells.rows, [_validity(valid), data])
