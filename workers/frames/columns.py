"""Columns of the typed copy as the runners work on them: matrices of doubles, and kept columns in another order."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

#: Types of columns that are read as numbers.
NUMBERS = frozenset({pa.int64(), pa.float64(), pa.date32()})


@dataclass(frozen=True, slots=True)
class FloatTable:
    """Numeric columns as doubles.

    A double represents every integer up to 2^53. Larger ones become the nearest double, so two different integers may
    become one: columns that have any are refused before a job is accepted (`app.methods.columns`).

    Attributes
    ----------
    names
        The columns.
    values
        Shape (rows, columns), column-contiguous; NaN where missing; infinities as they were.
    missing
        Missing cells per column.
    """

    names: tuple[str, ...]
    values: npt.NDArray[np.float64]
    missing: npt.NDArray[np.int64]


def numeric_columns(path: Path, names: Sequence[str]) -> FloatTable:
    """Read numeric columns of the typed copy.

    Parameters
    ----------
    path
        The typed copy.
    names
        Columns of type integer, number, or date: a date is its days since 1970.

    Returns
    -------
    FloatTable
        The columns in the order requested.

    Raises
    ------
    ValueError
        A column does not exist or is not numeric.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        schema = file.schema_arrow
        for name in names:
            if schema.get_field_index(name) < 0 or schema.field(name).type not in NUMBERS:
                msg = f"no numeric column {name!r}"
                raise ValueError(msg)
        values = np.empty((file.metadata.num_rows, len(names)), np.float64, order="F")
        missing = np.zeros(len(names), np.int64)
        row = 0
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=list(names))
            for j, name in enumerate(names):
                column = table.column(name)
                missing[j] += column.null_count
                numbers = column.cast(pa.int32()) if column.type == pa.date32() else column
                values[row : row + len(column), j] = numbers.cast(pa.float64(), safe=False).to_numpy()
            row += table.num_rows
    return FloatTable(tuple(names), values, missing)


def take_rows(path: Path, names: Sequence[str], order: npt.NDArray[np.integer]) -> pa.Table:
    """Columns of the typed copy with their rows in a given order.

    Parameters
    ----------
    path
        The typed copy.
    names
        The columns.
    order
        Positions of the rows to take, shape (m,); rows may be left out.

    Returns
    -------
    pyarrow.Table
        The columns, m rows; texts as large strings.
    """
    if not names:
        return pa.table({})
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read(columns=list(names))
    # Column by column: polars takes a name like ^...$ for a pattern, pyarrow reads "a.b" too when requested "a".
    frame = pl.DataFrame([pl.Series(name, pl.from_arrow(table.column(name))) for name in names])
    taken: pa.Table = frame[np.ascontiguousarray(order, np.int64)].to_arrow(compat_level=pl.CompatLevel.oldest())
    return taken


def take_rows_of(
    parts: Sequence[tuple[Path, npt.NDArray[np.int64]]], names: Sequence[str], order: npt.NDArray[np.int64]
) -> pa.Table:
    """Columns that several files have, in the types of the first.

    Parameters
    ----------
    parts
        Files, and which of their rows.
    names
        The columns.
    order
        Which of all these rows to take, one part after the other.
    """
    tables = [take_rows(path, names, rows) for path, rows in parts]
    if not names:
        return tables[0]
    return pa.concat_tables([tables[0], *(one.cast(tables[0].schema) for one in tables[1:])]).take(order)


def plain_columns(path: Path, names: Sequence[str]) -> pa.Table:
    """Columns of a Parquet file as they are, row by row.

    Parameters
    ----------
    path
        The file.
    names
        Its columns.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        return file.read(columns=list(names))
