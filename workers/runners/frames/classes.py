"""Equivalence classes of rows: those that agree in everything that is published of them."""

from typing import Any, cast

import numpy.typing as npt
import polars as pl
import pyarrow as pa


def smallest_class(table: pa.Table, groups: npt.NDArray[Any]) -> int:
    """Size of the smallest set of rows that agree in their group and in every column; a missing value is a value.

    Parameters
    ----------
    table
        The columns, at least one; no column's name is empty or has control characters.
    groups
        Group of each row, shape (rows,).
    """
    frame = cast("pl.DataFrame", pl.from_arrow(table)).with_columns(pl.Series("", groups))
    return int(min(frame.group_by(frame.columns).len("\x00")["\x00"].to_list()))
