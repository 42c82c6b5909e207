"""A dataset with one record left out, or with one value moved: written anew for whoever runs a method again."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class Variants:
    """A dataset in memory, and its variants."""

    def __init__(self, path: Path) -> None:
        with pq.ParquetFile(path, pre_buffer=False) as file:
            self._table = file.read()

    def without(self, row: int, to: Path) -> Path:
        """All records but one."""
        table = self._table
        pq.write_table(pa.concat_tables([table.slice(0, row), table.slice(row + 1)]), to)
        return to

    def moved(self, row: int, column: str, value: float, to: Path) -> Path:
        """All records, one with another value of a numeric column."""
        table = self._table
        place, kind = table.schema.get_field_index(column), table.schema.field(column).type
        cells = table.column(place)
        new = pa.array([round(value) if pa.types.is_integer(kind) else value], kind)
        whole = pa.chunked_array([*cells.slice(0, row).chunks, new, *cells.slice(row + 1).chunks], kind)
        pq.write_table(table.set_column(place, column, whole), to)
        return to


def released_numbers(path: Path) -> dict[str, float]:
    """What stands out of the columns of a release: outermost bounds, and scales.

    Parameters
    ----------
    path
        The release's Parquet file.
    """
    with pq.ParquetFile(path, pre_buffer=False) as file:
        table = file.read()
    numbers: dict[str, float] = {}
    for name in table.column_names:
        column = table.column(name)
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            continue
        values = np.asarray(column.cast(pa.float64(), safe=False).to_numpy())
        values = values[np.isfinite(values)]
        if not len(values):
            continue
        if name.endswith("_lo"):
            numbers[f"{name}, least"] = float(values.min())
        elif name.endswith("_hi"):
            numbers[f"{name}, greatest"] = float(values.max())
        elif name.endswith("_scale"):
            numbers[f"{name}, least"], numbers[f"{name}, greatest"] = float(values.min()), float(values.max())
            numbers[f"{name}, median"] = float(np.median(values))
    return numbers
