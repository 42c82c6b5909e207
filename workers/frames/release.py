"""The files of a release: the same rows in every format that is asked for.

Equal columns give equal bytes. Floats are the shortest texts that read back as the same double; NaN is missing in all
three; an infinity is ``inf`` in CSV, a value in Parquet, and `null` in NDJSON, where JSON has none. A missing cell is
empty in CSV and `null` in NDJSON. A list is a list in Parquet and NDJSON, and the text of a JSON array in CSV.
``csv.gz`` is the CSV file compressed; in ``csv.escaped`` texts and names that a spreadsheet would run as formulas begin
with an apostrophe.
"""

import gzip
import hashlib
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq

from app.contracts.releases import DEFAULT_FORMATS, ReleaseFormat
from workers.frames.files import WrittenFile

Values: TypeAlias = npt.NDArray[Any] | pa.Array | pa.ChunkedArray

#: Rows of a run, and of a group in Parquet; and of a piece of text, which takes far more room while it is made.
_RUN_ROWS: Final = 1 << 16
_TEXT_ROWS: Final = 1 << 14
#: Text that a spreadsheet runs as a formula when it opens a CSV file; a lone sign is none.
FORMULA: Final = r"(?s)^[=+\-@\t\r]."


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

    def result(self) -> WrittenFile:
        """What was written, once it is closed."""
        return WrittenFile(self._path, self._digest.hexdigest(), self._size)


@dataclass(frozen=True, slots=True)
class Taken:
    """A column that is read from few values, one of them for each row; it is never whole in memory."""

    values: npt.NDArray[Any] | pa.Array
    places: npt.NDArray[np.integer]

    def run(self, first: int, last: int) -> Values:
        """The rows of a run."""
        if isinstance(self.values, pa.Array):
            return self.values.take(pa.array(self.places[first:last]))
        return pa.array(np.take(self.values, self.places[first:last]))

    def as_text(self) -> "Taken | None":
        """Lists as JSON arrays; None where the values are no lists."""
        if not isinstance(self.values, pa.Array) or not pa.types.is_nested(self.values.type):
            return None
        texts = [None if each is None else _json(each) for each in self.values.to_pylist()]
        return Taken(pa.array(texts, pa.large_string()), self.places)


def _json(values: Any) -> str:
    return json.dumps(values, ensure_ascii=False, default=str)


Columns: TypeAlias = Mapping[str, Values | Taken] | pa.Table


def by_name(columns: Columns) -> dict[str, Values | Taken]:
    """The columns, each by its name, in their order."""
    return {name: columns[name] for name in (columns if isinstance(columns, Mapping) else columns.column_names)}


def height(column: Values | Taken) -> int:
    """Rows of a column."""
    return len(column.places if isinstance(column, Taken) else column)


def write_release(
    columns: Columns, folder: Path, formats: Sequence[ReleaseFormat] = DEFAULT_FORMATS
) -> dict[ReleaseFormat, WrittenFile]:
    """Write the rows of a release, run after run in all formats at once.

    Parameters
    ----------
    columns
        The columns by name, in order, all of one length; or a table.
    folder
        Where to write `release.<format>`; it exists.
    formats
        What to write beside Parquet, which audits and questions read and which is always written.

    Returns
    -------
    dict
        The file of each format with its sha256 and its size.
    """
    rows = _Rows(columns)
    kinds = {name: _WRITERS[name] for name in {*formats, ReleaseFormat.PARQUET}}
    files = {name: _HashedFile(folder / f"release.{name}") for name in kinds}
    with ExitStack() as stack:
        writers = [stack.enter_context(kind(rows.run(0, 0), files[name])) for name, kind in kinds.items()]
        pool = stack.enter_context(ThreadPoolExecutor(len(writers)))
        for part in rows.runs():
            for written in [pool.submit(writer.write, part) for writer in writers]:
                written.result()
    return {name: file.result() for name, file in files.items()}


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows that are written at once; `texts` are the columns of lists as files without lists have them."""

    rows: pl.DataFrame
    texts: Mapping[str, pl.Series]

    @property
    def flat(self) -> pl.DataFrame:
        """The rows without lists."""
        return self.rows.with_columns([text.alias(name) for name, text in self.texts.items()])


class _Rows:
    """The rows in runs, without NaN."""

    def __init__(self, columns: Columns) -> None:
        given = by_name(columns)
        self._taken = {name: column for name, column in given.items() if isinstance(column, Taken)}
        texts = {name: column.as_text() for name, column in self._taken.items()}
        self._texts = {name: column for name, column in texts.items() if column is not None}
        whole = {name: _as_arrow(column) for name, column in given.items() if not isinstance(column, Taken)}
        self._whole = cast("pl.DataFrame", pl.from_arrow(pa.table(whole), rechunk=False))
        self._names = list(given)
        lengths = {height(column) for column in given.values()}
        if len(lengths) > 1:
            msg = "the columns of a release are of one length"
            raise ValueError(msg)
        self._height = max(lengths, default=0)

    def run(self, first: int, last: int) -> _Run:
        """Rows `first` to `last` - 1."""
        columns = [
            pl.Series(name, pl.from_arrow(self._taken[name].run(first, last)))
            if name in self._taken
            else self._whole.get_column(name).slice(first, last - first)
            for name in self._names
        ]
        rows = pl.DataFrame(columns).with_columns(cs.float().fill_nan(None))
        return _Run(rows, {name: pl.Series(pl.from_arrow(text.run(first, last))) for name, text in self._texts.items()})

    def runs(self) -> Iterator[_Run]:
        """All of them; a table without rows is one empty run."""
        for first in range(0, max(self._height, 1), _RUN_ROWS):
            yield self.run(first, min(first + _RUN_ROWS, self._height))


def _as_arrow(column: Any) -> Any:
    return pa.array(column) if isinstance(column, np.ndarray) else column


class _Writer(ABC):
    """One format of the same rows; `empty` has their names and types."""

    def __init__(self, empty: _Run, file: _HashedFile) -> None:
        self._empty = empty
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """The file is complete."""
        self._file.close()

    @abstractmethod
    def write(self, part: _Run) -> None:
        """Append a run of rows."""


class _Csv(_Writer):
    _begun = False

    def write(self, part: _Run) -> None:
        rows = self._shown(part.flat)
        # In a file of one column an empty line could be taken for the end of the file: there, everything is quoted.
        style: Any = "always" if rows.width == 1 else "necessary"
        for piece in rows.iter_slices(_TEXT_ROWS) if rows.height else (rows,):
            buffer = io.BytesIO()
            piece.write_csv(buffer, include_header=not self._begun, quote_style=style)
            self._begun = True
            self._append(buffer.getbuffer())

    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows

    def _append(self, text: memoryview) -> None:
        self._file.write(text)


class _CsvGz(_Csv):
    """Without name and time, so that equal rows give equal bytes."""

    def __init__(self, empty: _Run, file: _HashedFile) -> None:
        super().__init__(empty, file)
        self._packed = gzip.GzipFile(filename="", fileobj=cast("Any", file), mode="wb", compresslevel=6, mtime=0)

    def _append(self, text: memoryview) -> None:
        self._packed.write(text)

    def __exit__(self, *exception: object) -> None:
        """The file is complete once the stream has its end."""
        self._packed.close()
        super().__exit__(*exception)


class _CsvEscaped(_Csv):
    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        texts = rows.select(cs.string() | cs.categorical() | cs.enum()).columns
        shown = [rows.get_column(name).cast(pl.String) for name in texts]
        runs = [text.str.contains(FORMULA).fill_null(value=False) for text in shown]
        escaped = [("'" + text).zip_with(run, text).alias(text.name) for text, run in zip(shown, runs, strict=True)]
        return rows.with_columns(escaped).rename(_escaped_names(rows.columns))


def _escaped_names(names: Sequence[str]) -> dict[str, str]:
    """Names as they are to stand in the header, each still a name of its own."""
    escaped = {name: f"'{name}" for name in names if re.search(FORMULA, name)}
    return {name: shown for name, shown in escaped.items() if shown not in names}


class _Ndjson(_Writer):
    def write(self, part: _Run) -> None:
        floats = cs.float()
        for piece in part.rows.iter_slices(_TEXT_ROWS):
            buffer = io.BytesIO()
            piece.with_columns(pl.when(floats.is_finite()).then(floats)).write_ndjson(buffer)
            self._file.write(buffer.getbuffer())


class _Parquet(_Writer):
    def __init__(self, empty: _Run, file: _HashedFile) -> None:
        super().__init__(empty, file)
        schema = empty.rows.to_arrow(compat_level=pl.CompatLevel.oldest()).schema
        self._writer = pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd", compression_level=1)

    def write(self, part: _Run) -> None:
        self._writer.write_table(part.rows.to_arrow(compat_level=pl.CompatLevel.oldest()))

    def __exit__(self, *exception: object) -> None:
        """The file is complete once the footer is written."""
        self._writer.close()
        super().__exit__(*exception)


_WRITERS: Final[Mapping[ReleaseFormat, type[_Writer]]] = {
    ReleaseFormat.CSV: _Csv,
    ReleaseFormat.PARQUET: _Parquet,
    ReleaseFormat.NDJSON: _Ndjson,
    ReleaseFormat.CSV_GZ: _CsvGz,
    ReleaseFormat.CSV_ESCAPED: _CsvEscaped,
}
