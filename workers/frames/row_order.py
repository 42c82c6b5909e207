"""Rows in an order that follows from what they are, whatever their order in the file."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq


def ranked(path: Path, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The place of each of some rows when all of them are sorted by all of their cells, columns by name.

    Parameters
    ----------
    path
        The typed copy.
    rows
        Which of its rows, rising.

    Notes
    -----
    Rows that are equal in every cell keep the order of the file: no one can reveal which of them is which.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        names = sorted(file.schema_arrow.names)
        frame = pl.DataFrame(pl.from_arrow(file.read(columns=names)))
    order = frame[rows].select(pl.arg_sort_by(names, maintain_order=True)).to_series().to_numpy().astype(np.int64)
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = np.arange(len(rows))
    return ranks
