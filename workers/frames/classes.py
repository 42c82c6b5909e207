"""Equivalence classes of rows: those that agree in everything that is published of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from workers.frames.codes import coded
from workers.frames.spellings import has_texts, spelled_as_one


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


def classes(table: pa.Table) -> npt.NDArray[np.int32]:
    """Number of each row's combination of values; a missing value is a value."""
    combined = np.zeros(table.num_rows, dtype=np.int64)
    for name in table.column_names:
        codes = _numbered(table[name], "encode")
        combined = np.unique(combined * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return combined.astype(np.int32)


def shares_certain(table: pa.Table, groups: npt.NDArray[Any]) -> dict[str, float]:
    """Share of rows, by column, whose group agrees in a value; missing values hide what they are, spellings do not.

    Parameters
    ----------
    table
        The columns.
    groups
        Group of each row, shape (rows,).
    """
    shares = {}
    for name in table.column_names:
        frame = pl.DataFrame({"group": groups, "value": _meant(table[name])})
        value = pl.col("value")
        agreed = (value.n_unique() == 1) & value.is_not_null().all()
        sizes = frame.group_by("group").agg(pl.len(), agreed.alias("agreed"))
        shares[name] = float(sizes.filter(pl.col("agreed"))["len"].sum()) / len(groups)
    return shares


def _meant(column: pa.ChunkedArray) -> pl.Series:
    """A column, of texts what they mean; None where missing."""
    if not has_texts(column):
        return pl.Series(pl.from_arrow(column))
    codes = pl.Series(spelled_as_one(coded(column)))
    return codes.set(codes < 0, None)


def shares_certain_in(path: Path, groups: str, names: Sequence[str]) -> dict[str, float]:
    """The same of a file's columns by its column of groups; none where it has no such column, nor of constant columns.

    Parameters
    ----------
    path
        A Parquet file.
    groups, names
        The column that states which rows belong together, and those whose values are looked at.
    """
    if groups not in pq.read_schema(path).names or not names:
        return {}
    table = pq.read_table(path, columns=[groups, *names])
    varied = [name for name in names if len(table[name].unique()) > 1]
    return shares_certain(table.select(varied), table[groups].to_numpy()) if varied else {}


def numbered(table: pa.Table) -> npt.NDArray[np.int32]:
    """Numbers of the values in each column, shape (rows, columns); -1 where missing."""
    codes = np.empty((table.num_rows, table.num_columns), dtype=np.int32)
    for index, column in enumerate(table.columns):
        codes[:, index] = _numbered(column, "mask")
    return codes


def _numbered(column: pa.ChunkedArray, missing: str) -> npt.NDArray[np.int32]:
    encoded = pc.dictionary_encode(column.combine_chunks(), null_encoding=missing)
    return np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int32)
