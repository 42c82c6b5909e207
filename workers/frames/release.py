"""The files of a release: the same rows in every format that is requested.

Equal columns give equal bytes. Floats are the shortest texts that read back as the same double; NaN is missing in all
three; an infinity is ``inf`` in CSV, a value in Parquet, and `null` in NDJSON, where JSON has none: no release with one
has that format. A missing cell is empty in CSV and `null` in NDJSON, in which every line is a row,
whatever its reader ends lines at. A list is a list in Parquet and NDJSON; in CSV it is its one value where all lists of
the column have one (`surebox_verify.released.singles`), and else the text of a JSON array.
``csv.gz`` is the CSV file compressed. ``csv.excel`` is for spreadsheets: a byte order mark, by which they know UTF-8;
every text and name in quotes; an apostrophe before what would run as a formula, quotes or not, and inside a text where
it would begin a cell of its own if the file were read with another separator. Where `;` is between fields numbers have
decimal commas: so do spreadsheets of languages that separate by it.
"""

import gzip
import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Final, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import polars.selectors as cs
import pyarrow as pa
import pyarrow.parquet as pq

from app.contracts.releases import DEFAULT_FORMATS, ReleaseFormat
from surebox_verify.released.formulas import FORMULA, INSIDE
from workers.frames.files import WrittenFile
from workers.frames.rows import Columns, Rows, Run

#: Rows of a piece of text, which takes far more room while it is made than a run of rows.
_TEXT_ROWS: Final = 1 << 14
#: Lines that are joined at once: memory that is in use anyway.
_LINES: Final = 1 << 11
#: Ends of lines to readers such as `str.splitlines`, which JSON has as they are; the others it escapes in any case.
_LINE_ENDS: Final = "\u0085\u2028\u2029"
_BYTE_ORDER_MARK: Final = "\ufeff".encode()


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
        """The written data, once it is closed."""
        return WrittenFile(self._path, self._digest.hexdigest(), self._size)


def write_release(
    columns: Columns, folder: Path, formats: Sequence[ReleaseFormat] = DEFAULT_FORMATS, *, delimiter: str = ","
) -> dict[ReleaseFormat, WrittenFile]:
    """Write the rows of a release, run after run in all formats at once.

    Parameters
    ----------
    columns
        The columns by name, in order, all of one length; or a table.
    folder
        Where to write `release.<format>`; it exists.
    formats
        What to write next to Parquet, which audits and questions read and which is always written.
    delimiter
        Of ``csv.excel``.

    Returns
    -------
    dict
        The file of each format with its sha256 and its size.
    """
    rows = Rows(columns)
    units = rows.each_unit()
    kinds = {name: _WRITERS[name] for name in {*formats, ReleaseFormat.PARQUET}}
    if ReleaseFormat.CSV_EXCEL in kinds:
        kinds[ReleaseFormat.CSV_EXCEL] = partial(_CsvExcel, delimiter=delimiter)
    files = {name: _HashedFile(folder / f"release.{name}") for name in kinds}
    with ExitStack() as stack:
        writers = [stack.enter_context(kind(rows.empty, files[name], units)) for name, kind in kinds.items()]
        pool = stack.enter_context(ThreadPoolExecutor(len(writers)))
        for part in rows.runs():
            for written in [pool.submit(writer.write, part) for writer in writers]:
                written.result()
    return {name: file.result() for name, file in files.items()}


class _Writer(ABC):
    """One format of the same rows; `empty` has their names and types, `units` is what `Rows.each_unit` states."""

    def __init__(self, empty: Run, file: _HashedFile, units: Run | None) -> None:
        self._empty = empty
        self._file = file
        self._units = units

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        """The file is complete."""
        self._file.close()

    @abstractmethod
    def write(self, part: Run) -> None:
        """Append a run of rows."""


class _Text(_Writer):
    """A format of one line a row, but where a text has several; lines of units are made once."""

    _lines: npt.NDArray[np.object_] | None = None

    def __enter__(self) -> Self:
        if self._units is not None:
            lines = b"".join(self._texts(self._units)).split(b"\n")
            if len(lines) == self._units.rows.height + 1:  # the last one is empty; else texts have several lines
                self._lines = np.array([line + b"\n" for line in lines[:-1]], dtype=object)
        return self

    def write(self, part: Run) -> None:
        if self._lines is not None and part.units is not None:
            for first in range(0, len(part.units), _LINES):
                self._append(b"".join(np.take(self._lines, part.units[first : first + _LINES]).tolist()))
            return
        for text in self._texts(part):
            self._append(text)

    @abstractmethod
    def _texts(self, part: Run) -> Iterator[bytes]:
        """The rows, piece by piece."""

    def _append(self, text: bytes) -> None:
        self._file.write(text)


class _Csv(_Text):
    _style = "necessary"
    _delimiter = ","
    _decimal_comma = False

    def __enter__(self) -> Self:
        self._append(self._text(self._shown(self._empty.flat), header=True))
        return super().__enter__()

    def _texts(self, part: Run) -> Iterator[bytes]:
        for piece in self._shown(part.flat).iter_slices(_TEXT_ROWS):
            yield self._text(piece, header=False)

    def _text(self, rows: pl.DataFrame, *, header: bool) -> bytes:
        # In a file of one column an empty line could be taken for the end of the file: there, everything is quoted.
        style: Any = "always" if rows.width == 1 else self._style
        buffer = io.BytesIO()
        rows.write_csv(
            buffer, include_header=header, quote_style=style, separator=self._delimiter,
            decimal_comma=self._decimal_comma,
        )  # fmt: skip
        return buffer.getvalue()

    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows


class _CsvGz(_Csv):
    """Without name and time, so that equal rows give equal bytes."""

    def __init__(self, empty: Run, file: _HashedFile, units: Run | None) -> None:
        super().__init__(empty, file, units)
        self._packed = gzip.GzipFile(filename="", fileobj=cast("Any", file), mode="wb", compresslevel=6, mtime=0)

    def _append(self, text: bytes) -> None:
        self._packed.write(text)

    def __exit__(self, *exception: object) -> None:
        """The file is complete once the stream has its end."""
        self._packed.close()
        super().__exit__(*exception)


class _CsvExcel(_Csv):
    _style = "non_numeric"

    def __init__(self, empty: Run, file: _HashedFile, units: Run | None, delimiter: str) -> None:
        super().__init__(empty, file, units)
        self._delimiter, self._decimal_comma = delimiter, delimiter == ";"

    def __enter__(self) -> Self:
        self._append(_BYTE_ORDER_MARK)
        return super().__enter__()

    def _shown(self, rows: pl.DataFrame) -> pl.DataFrame:
        texts = rows.select(cs.string() | cs.categorical() | cs.enum()).columns
        shown = [rows.get_column(name).cast(pl.String) for name in texts]
        names = _disarmed(pl.Series(rows.columns, dtype=pl.String)).to_list()
        return rows.with_columns([_disarmed(text) for text in shown]).rename(
            dict(zip(rows.columns, names, strict=True))
        )


def _disarmed(texts: pl.Series) -> pl.Series:
    """Texts that no spreadsheet runs, whole or in parts, and that readers have back as they were."""
    runs = texts.str.contains(FORMULA).fill_null(value=False)
    inside = texts.str.replace_all(INSIDE, "${1}'${2}")
    return ("'" + inside).zip_with(runs, inside).alias(texts.name)


class _Ndjson(_Text):
    def _texts(self, part: Run) -> Iterator[bytes]:
        floats = cs.float()
        for piece in part.rows.iter_slices(_TEXT_ROWS):
            buffer = io.BytesIO()
            piece.with_columns(pl.when(floats.is_finite()).then(floats)).write_ndjson(buffer)
            yield _on_one_line(buffer.getvalue())


def _on_one_line(lines: bytes) -> bytes:
    """Rows of JSON without what some readers of lines end a line at: it occurs in texts and names alone."""
    for character in _LINE_ENDS:
        lines = lines.replace(character.encode(), f"\\u{ord(character):04x}".encode())
    return lines


class _Parquet(_Writer):
    def __init__(self, empty: Run, file: _HashedFile, units: Run | None) -> None:
        super().__init__(empty, file, units)
        schema = empty.rows.to_arrow(compat_level=pl.CompatLevel.oldest()).schema
        self._writer = pq.ParquetWriter(pa.PythonFile(file, mode="w"), schema, compression="zstd", compression_level=1)

    def write(self, part: Run) -> None:
        self._writer.write_table(part.rows.to_arrow(compat_level=pl.CompatLevel.oldest()))

    def __exit__(self, *exception: object) -> None:
        """The file is complete once the footer is written."""
        self._writer.close()
        super().__exit__(*exception)


_WRITERS: Final[Mapping[ReleaseFormat, Callable[..., _Writer]]] = {
    ReleaseFormat.CSV: _Csv,
    ReleaseFormat.PARQUET: _Parquet,
    ReleaseFormat.NDJSON: _Ndjson,
    ReleaseFormat.CSV_GZ: _CsvGz,
    ReleaseFormat.CSV_EXCEL: _CsvExcel,
}
