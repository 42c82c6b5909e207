"""A column as classes: a number for each row, and the text of each class."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class Labels:
    """Classes of rows.

    Attributes
    ----------
    codes
        Class of each row, shape (rows,); -1 where the value is missing.
    classes
        Texts of the classes as a CSV file has them, in ascending order of the texts.
    """

    codes: npt.NDArray[np.int64]
    classes: tuple[str, ...]


def read_labels(path: Path, name: str) -> Labels:
    """Read a column of a Parquet file as classes.

    Parameters
    ----------
    path
        The file.
    name
        One of its columns.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read(columns=[name])
    column = pl.Series("class", pl.from_arrow(table.column(name))).cast(pl.String)
    classes = column.drop_nulls().unique().sort()
    places = pl.DataFrame({"class": classes, "code": np.arange(len(classes), dtype=np.int64)})
    codes = column.to_frame().join(places, on="class", how="left", maintain_order="left")["code"]
    return Labels(codes.fill_null(-1).to_numpy().astype(np.int64), tuple(classes.to_list()))
