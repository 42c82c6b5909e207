"""Downloaded releases as data frames: the same cells from every format, with the types that the release states."""

import datetime as dt
import io
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from surebox_client.errors import SureboxError

_POLARS: Final = {"integer": "Int64", "number": "Float64", "boolean": "Boolean", "date": "Date"}
_PANDAS: Final = {"integer": "Int64", "number": "Float64", "boolean": "boolean"}
#: Types of which pandas does not have every value as it is written.
_PARSED: Final[Mapping[str, Callable[[str], Any]]] = {"number": float, "date": dt.date.fromisoformat}
#: Types of columns by name.
Types = Mapping[str, str]


def polars_of(data: bytes, form: str, types: Types) -> Any:
    """A downloaded file as a polars frame.

    Raises
    ------
    SureboxError
        Polars is not installed, or the file is for spreadsheets.
    """
    pl = _library("polars", form)
    if form == "parquet":
        return pl.read_parquet(io.BytesIO(data))
    kinds = {name: getattr(pl, _POLARS.get(kind, "String")) for name, kind in types.items()}
    if form != "ndjson":
        return pl.read_csv(io.BytesIO(data), schema_overrides=kinds, infer_schema=False)
    columns, lists = _columns(data, types)
    return pl.DataFrame(
        [pl.Series(name, values, None if name in lists else kinds[name]) for name, values in columns.items()]
    )


def pandas_of(data: bytes, form: str, types: Types) -> Any:
    """A downloaded file as a pandas frame; whole numbers with missing values stay whole numbers.

    Raises
    ------
    SureboxError
        Pandas is not installed, or the file is for spreadsheets.
    """
    pd = _library("pandas", form)
    if form == "parquet":
        return pd.read_parquet(io.BytesIO(data), dtype_backend="numpy_nullable")
    if form == "ndjson":
        columns, lists = _columns(data, types)
        return pd.DataFrame({name: pd.array(values, dtype=_dtype(types[name], lists=name in lists))
                             for name, values in columns.items()})  # fmt: skip
    kinds = {name: "string" if kind in _PARSED else _PANDAS.get(kind, "string") for name, kind in types.items()}
    compression: Any = "gzip" if form == "csv.gz" else None
    frame = pd.read_csv(io.BytesIO(data), dtype=kinds, compression=compression, keep_default_na=False, na_values=[""])
    for name, parse in ((name, _PARSED[kind]) for name, kind in types.items() if kind in _PARSED):
        values = [None if pd.isna(text) else parse(text) for text in frame[name]]
        frame[name] = pd.array(values, dtype=_dtype(types[name], lists=False))
    return frame


def _dtype(kind: str, *, lists: bool) -> Any:
    return object if lists or kind == "date" else _PANDAS.get(kind, "string")


def _columns(data: bytes, types: Types) -> tuple[dict[str, list[Any]], set[str]]:
    """Return the columns of a file of lines of JSON, and those of them that have lists."""
    rows = [json.loads(line) for line in data.split(b"\n") if line]
    columns = {name: [row[name] for row in rows] for name in types}
    for name, kind in types.items():
        if kind == "date":
            columns[name] = [_day(value) for value in columns[name]]
    return columns, {name for name, values in columns.items() if any(isinstance(value, list) for value in values)}


def _day(value: Any) -> Any:
    return dt.date.fromisoformat(value) if isinstance(value, str) else value


def _library(name: str, form: str) -> Any:
    if form == "csv.excel":
        raise SureboxError(
            "The release has one file, for spreadsheets, in which texts are changed. `download` it, or make a release "
            "with another format."
        )
    try:
        return import_module(name)
    except ModuleNotFoundError:
        install = f"pip install 'surebox-client[{name}]' from your index"
        raise SureboxError(f"`to_{name}` needs {name}: {install}.") from None


def frame_of(table: Any) -> Any:
    """A table of pyarrow as a frame of polars, or where it is not installed of pandas, or else as it is."""
    try:
        import polars as pl
    except ModuleNotFoundError:
        from importlib.util import find_spec

        return table.to_pandas() if find_spec("pandas") else table
    return pl.from_arrow(table)
