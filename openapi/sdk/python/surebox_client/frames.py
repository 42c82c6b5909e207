"""Data frames to Parquet and back; which library is there is looked at when a frame comes or is wanted."""

import io
import sys
from typing import Any

from surebox_client.errors import UploadError


def parquet_of(frame: Any, index: str | None = None) -> tuple[bytes, dict[str, list[Any]]]:
    """A frame as Parquet, and the order of its ordered categories.

    Raises
    ------
    UploadError
        It is no frame, or has an index that would be lost.
    """
    polars, pandas, arrow = (sys.modules.get(name) for name in ("polars", "pandas", "pyarrow"))
    if polars is not None and isinstance(frame, polars.LazyFrame):
        frame = frame.collect()
    if polars is not None and isinstance(frame, polars.DataFrame):
        return _of_polars(frame, polars)
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _of_arrow(_without_index(frame, index))
    if arrow is not None and isinstance(frame, arrow.Table):
        return _of_arrow(frame)
    raise UploadError(f"A {type(frame).__name__} is no path, no open file and no frame of polars, pandas or pyarrow")


def _of_polars(frame: Any, polars: Any) -> tuple[bytes, dict[str, list[Any]]]:
    enums = [name for name, kind in frame.schema.items() if isinstance(kind, polars.Enum)]
    orders = {name: frame.schema[name].categories.to_list() for name in enums}
    named = [name for name, kind in frame.schema.items() if isinstance(kind, polars.Enum | polars.Categorical)]
    output = io.BytesIO()
    frame.with_columns(polars.col(named).cast(polars.String)).write_parquet(output)
    return output.getvalue(), orders


def _of_arrow(table: Any) -> tuple[bytes, dict[str, list[Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    orders = {}
    for place, field in enumerate(table.schema):
        if not pa.types.is_dictionary(field.type):
            continue
        if field.type.ordered:
            column = table.column(place).unify_dictionaries() if table.num_rows else table.column(place)
            orders[field.name] = column.chunk(0).dictionary.to_pylist() if column.num_chunks else []
        table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    output = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(None), output)
    return output.getvalue(), orders


def _without_index(frame: Any, index: str | None) -> Any:
    import pandas as pd
    import pyarrow as pa

    counts_rows = isinstance(frame.index, pd.RangeIndex) and frame.index.equals(pd.RangeIndex(len(frame)))
    if index is not None:
        frame = frame.rename_axis(index)
    if None in frame.index.names and not counts_rows:
        message = "The frame has an index without a name: name it (index=...) to have it as a column, or drop it with "
        raise UploadError(message + ".reset_index(drop=True)")
    if None not in frame.index.names:
        frame = frame.reset_index()
    return pa.Table.from_pandas(frame, preserve_index=False)


def polars_of(data: bytes, form: str) -> Any:
    """A downloaded file as a polars frame."""
    import polars as pl

    if form == "parquet":
        return pl.read_parquet(io.BytesIO(data))
    return pl.read_ndjson(io.BytesIO(data)) if form == "ndjson" else pl.read_csv(io.BytesIO(data))


def pandas_of(data: bytes, form: str) -> Any:
    """A downloaded file as a pandas frame; whole numbers with missing values stay whole numbers."""
    import pandas as pd

    file, nullable = io.BytesIO(data), {"dtype_backend": "numpy_nullable"}
    if form == "parquet":
        return pd.read_parquet(file, **nullable)
    if form == "ndjson":
        return pd.read_json(file, lines=True, **nullable)
    return pd.read_csv(file, compression="gzip" if form == "csv.gz" else None, **nullable)


def frame_of(table: Any) -> Any:
    """A table of pyarrow as a frame of polars, or where it is not installed of pandas, or else as it is."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        from importlib.util import find_spec

        return table.to_pandas() if find_spec("pandas") else table
    return pl.from_arrow(table)
