"""The files of a release: the same rows as CSV, Parquet and NDJSON.

Equal columns give equal bytes. Floats are the shortest texts that read back as the same double; NaN is missing in all
three; an infinity is ``inf`` in CSV, a value in Parquet, and `null` in NDJSON, where JSON has none. A missing cell is
empty in CSV and `null` in NDJSON.
"""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq

from app.contracts.datasets import FileFormat

Columns: TypeAlias = Mapping[str, npt.NDArray[Any] | pa.Array | pa.ChunkedArray] | pa.Table

_SLICE_ROWS: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class ReleaseFile:
    """One file of a release."""

    path: Path
    sha256: str
    bytes: int


class _HashedFile(io.RawIOBase):
    """A file that is hashed while it is written."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file = path.open("wb")
        self._digest = hashlib.sha256()
        self._size = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._size

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self._digest.update(view)
        self._size += len(view)
        return len(view)

    def close(self) -> None:
        self._file.close()
        super().close()

    def result(self) -> ReleaseFile:
        """What was written, once it is closed."""
        return ReleaseFile(self._path, self._digest.hexdigest(), self._size)


def write_release(columns: Columns, folder: Path) -> dict[FileFormat, ReleaseFile]:
    """Write the rows of a release in every format.

    Parameters
    ----------
    columns
        The columns by name, in order, all of one length; or a table.
    folder
        Where to write `release.csv`, `release.parquet` and `release.ndjson`; it exists.

    Returns
    -------
    dict
        The file of each format with its sha256 and its size.
    """
    frame = _as_frame(columns)
    writers = {FileFormat.CSV: _write_csv, FileFormat.PARQUET: _write_parquet, FileFormat.NDJSON: _write_ndjson}
    with ThreadPoolExecutor(len(writers)) as pool:
        futures = {
            name: pool.submit(_write, writer, frame, folder / f"release.{name}") for name, writer in writers.items()
        }
        return {name: future.result() for name, future in futures.items()}


def _as_frame(columns: Columns) -> pl.DataFrame:
    if not isinstance(columns, pa.Table):
        columns = pa.table({name: _as_arrow(column) for name, column in columns.items()})
    return cast("pl.DataFrame", pl.from_arrow(columns, rechunk=False))


def _as_arrow(column: Any) -> Any:
    return pa.array(column) if isinstance(column, np.ndarray) else column


def _write(writer: Callable[[pl.DataFrame, _HashedFile], None], frame: pl.DataFrame, path: Path) -> ReleaseFile:
    with _HashedFile(path) as file:
        writer(frame, file)
    return file.result()


def _slices(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows in runs, without NaN; a table without rows is one empty run."""
    if not frame.height:
        yield frame
    for part in frame.iter_slices(_SLICE_ROWS):
        yield part.with_columns(cs.float().fill_nan(None))


def _write_csv(frame: pl.DataFrame, file: _HashedFile) -> None:
    # In a file of one column an empty line could be taken for the end of the file: there, everything is quoted.
    style: Any = "always" if frame.width == 1 else "necessary"
    for number, part in enumerate(_slices(frame)):
        buffer = io.BytesIO()
        part.write_csv(buffer, include_header=number == 0, quote_style=style)
        file.write(buffer.getbuffer())


def _write_ndjson(frame: pl.DataFrame, file: _HashedFile) -> None:
    floats = cs.float()
    for part in _slices(frame):
        buffer = io.BytesIO()
        part.with_columns(pl.when(floats.is_finite()).then(floats)).write_ndjson(buffer)
        file.write(buffer.getbuffer())


def _write_parquet(frame: pl.DataFrame, file: _HashedFile) -> None:
    schema = frame.head(0).to_arrow(compat_level=pl.CompatLevel.oldest()).schema
    with pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd", compression_level=1) as writer:
        for part in _slices(frame):
            writer.write_table(part.to_arrow(compat_level=pl.CompatLevel.oldest()))
