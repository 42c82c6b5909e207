"""Columns of values as codes: which value of a sorted list each row has, whatever the column's type."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Codes: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Coded:
    """A column as codes.

    Attributes
    ----------
    codes
        Place of each row's value in `values`, shape (rows,); -1 where missing.
    values
        The different values in ascending order, of the column's own type.
    """

    codes: Codes
    values: pa.Array

    def taking(self, rows: npt.NDArray[np.int64]) -> "Coded":
        """Some of the rows."""
        return Coded(self.codes[rows], self.values)

    def with_text(self, text: str, *, instead_of: Collection[int]) -> "Coded":
        """The column with one text in the place of some values."""
        values = self.values.to_pylist()
        kept = sorted({text, *(value for code, value in enumerate(values) if code not in instead_of)})
        place = {value: code for code, value in enumerate(kept)}
        table = [place[text if code in instead_of else value] for code, value in enumerate(values)]
        return Coded(np.array([*table, -1], dtype=np.int32)[self.codes], pa.array(kept, self.values.type))

    def among(self, book: Sequence[Any]) -> tuple[Codes, int]:
        """Codes by another list of values, in which None is the missing one; and how many rows have none of them.

        Parameters
        ----------
        book
            Values of the column's type, each once.
        """
        present = [value for value in book if value is not None]
        place = {value: code for code, value in enumerate(book)}
        places = pc.index_in(self.values, value_set=pa.array(present, self.values.type))
        missing = place.get(None, -1)
        table = np.full(len(self.values) + 1, missing, dtype=np.int32)  # the last is that of -1
        indices = places.to_numpy(zero_copy_only=False)
        known = ~np.isnan(indices.astype(np.float64))
        table[:-1] = -2
        table[:-1][known] = [place[present[int(index)]] for index in indices[known]]
        codes = table[self.codes]
        return codes, int(np.count_nonzero(codes == -2))


def coded_columns(path: Path, names: Sequence[str]) -> list[Coded]:
    """Read columns of the typed copy as codes.

    Parameters
    ----------
    path
        The typed copy.
    names
        Its columns, of any type.
    """
    if not names:
        return []
    with in_codes(path) as file:
        table = file.read(columns=list(names))
    return [coded(table.column(name)) for name in names]


def in_codes(path: Path) -> pq.ParquetFile:
    """Open a typed copy so that texts are read as codes: one that stands in many rows is in memory once."""
    metadata = pq.read_metadata(path)  # read once: it is large in a wide file
    return pq.ParquetFile(path, pre_buffer=False, metadata=metadata, read_dictionary=range(metadata.num_columns))


def numbered(column: Coded, order: Sequence[Any] | None) -> tuple[npt.NDArray[np.int64], int]:
    """Codes by a declared order, or in the order of the values that occur, and how many values that are; -1: missing.

    Parameters
    ----------
    column
        Its values need not occur.
    order
        All of its values, each once; None: their own order, in which those that do not occur have no place.
    """
    if order is not None:
        return np.maximum(column.among(order)[0], -1).astype(np.int64), len(order)
    known = column.codes >= 0
    present = np.unique(column.codes[known])
    return np.where(known, np.searchsorted(present, column.codes), -1), len(present)


def coded(column: pa.ChunkedArray) -> Coded:
    """A column as codes; its values sorted, so that the codes do not show the order of rows."""
    encoded = pc.dictionary_encode(column, null_encoding="mask").combine_chunks()  # texts of all chunks may be too long
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    rank = np.empty(len(order) + 1, dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1  # where missing
    codes = np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    return Coded(rank[codes], encoded.dictionary.take(pa.array(order)))
