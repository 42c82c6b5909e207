"""Values of the types that columns can have, as a release's columns are made of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from app.contracts.datasets import ColumnType

_ARROW: Final = {
    ColumnType.INTEGER: pa.int64(),
    ColumnType.NUMBER: pa.float64(),
    ColumnType.STRING: pa.large_string(),
    ColumnType.BOOLEAN: pa.bool_(),
    ColumnType.DATE: pa.date32(),
}


def whole_numbers(values: npt.NDArray[np.float64], column: ColumnType) -> pa.Array:
    """Whole numbers, or days since 1970, in the column's type.

    Parameters
    ----------
    values
        Whole; NaN where missing.
    column
        Integer or date.
    """
    missing = np.isnan(values)
    whole = pa.array(np.where(missing, 0.0, values).astype(np.int64), mask=missing)
    return whole.cast(pa.int32()).cast(pa.date32()) if column is ColumnType.DATE else whole


def taken(values: Sequence[Any], column: ColumnType, places: npt.NDArray[np.float64]) -> pa.Array:
    """Values of a list by their places in it.

    Parameters
    ----------
    values
        Of the column's type.
    column
        The type.
    places
        Whole; NaN where missing.
    """
    return pa.array(values, _ARROW[column]).take(whole_numbers(places, ColumnType.INTEGER))


def listed_type(path: Path, name: str) -> ColumnType:
    """Type of the values in a column of lists.

    Parameters
    ----------
    path
        A Parquet file.
    name
        The column.
    """
    value_type = pq.read_schema(path).field(name).type.value_type
    same = (column for column, kind in _ARROW.items() if kind == value_type or _large(value_type) == kind)
    return next(same, ColumnType.STRING)


def _large(kind: pa.DataType) -> pa.DataType:
    return pa.large_string() if pa.types.is_string(kind) else kind


def lists(rows: Sequence[Sequence[Any] | None], column: ColumnType) -> pa.Array:
    """Lists of values of the column's type; None is a missing list."""
    return pa.array(rows, pa.large_list(_ARROW[column]))


def texts(values: Sequence[str | None]) -> pa.Array:
    """Texts; None is missing."""
    return pa.array(values, pa.large_string())
