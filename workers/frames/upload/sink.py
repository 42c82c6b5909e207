"""The typed Parquet copy of an upload, written in row groups, with its profile."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.contracts.columns import EXACT_INTEGER
from app.contracts.datasets import NUMERIC, ColumnType, DatasetColumn, NumericSummary, Profile, ReadOptions, TypeSource
from workers.frames.spellings import MOST_VALUES, spelled_otherwise
from workers.frames.upload.advice import Sent
from workers.frames.upload.building import ARROW_TYPES, in_normal_form
from workers.frames.upload.findings import normal_form_warnings, spelling_warnings
from workers.frames.upload.questions import ODD, Nobodys

Tick = Callable[[float], None]

ROW_GROUP_ROWS = 250_000
#: A row group is closed early at this size, so that long texts do not add up in memory.
ROW_GROUP_BYTES = 1 << 27
#: Encoded bytes of a column whose distinct values are distinguished at once; a larger one is done in parts.
_DISTINCT_BYTES = 1 << 26
#: Cells of a column of text that are looked at: of its first batch, and of each later one.
_FIRST_CELLS, _LATER_CELLS = 1_000, 50
#: Sums of whole numbers below this are exact in 64 bits.
_LARGEST_SUM: Final = 2.0**62


class _Numbers:
    """Running summary of a numeric column."""

    def __init__(self) -> None:
        self._minimum: float | None = None
        self._maximum: float | None = None
        self._infinite = 0
        self._total: int | None = 0
        self._divisor = 0

    def add(self, array: pa.Array) -> None:
        if pa.types.is_floating(array.type):
            infinite = pc.is_inf(array)
            count = pc.sum(infinite).as_py() or 0
            if count:
                self._infinite += count
                array = array.filter(pc.invert(infinite))
        least = pc.min_max(array)
        low, high = least["min"].as_py(), least["max"].as_py()
        if low is not None:
            self._minimum = float(low) if self._minimum is None else min(self._minimum, float(low))
            self._maximum = float(high) if self._maximum is None else max(self._maximum, float(high))
            if self._total is not None:
                self._count(array.drop_null().to_numpy(zero_copy_only=False), float(low), float(high))

    def _count(self, values: npt.NDArray[Any], low: float, high: float) -> None:
        """Add up values as counts; a column with one that is none has no total."""
        if self._infinite or low < 1 or high > EXACT_INTEGER:
            self._total = None
            return
        whole = values.astype(np.int64)
        if (whole != values).any():
            self._total = None
            return
        exact = high * len(whole) < _LARGEST_SUM
        self._total = (self._total or 0) + (int(whole.sum()) if exact else sum(whole.tolist()))
        if self._divisor != 1:
            self._divisor = math.gcd(self._divisor, int(np.gcd.reduce(whole)))

    def summary(self) -> NumericSummary:
        are_counts = self._total is not None and self._minimum is not None
        return NumericSummary(
            finite_minimum=self._minimum,
            finite_maximum=self._maximum,
            infinite=self._infinite,
            total=self._total if are_counts else None,
            divisor=self._divisor if are_counts else None,
        )


class TableSink:
    """Writes batches of typed columns; a context, so that the file is closed in any case.

    Parameters
    ----------
    path
        Where to write.
    names, types, sources
        The columns, and where each type comes from.
    """

    def __init__(
        self, path: Path, names: Sequence[str], types: Sequence[ColumnType], sources: Sequence[TypeSource]
    ) -> None:
        self._path = path
        self._names, self._types, self._sources = tuple(names), tuple(types), tuple(sources)
        self._schema = pa.schema([pa.field(n, ARROW_TYPES[t]) for n, t in zip(names, types, strict=True)])
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd", compression_level=1)
        self._held: list[pa.RecordBatch] = []
        self._held_rows = self._held_bytes = 0
        self._rows = 0
        self._missing, self._rewritten = np.zeros((2, len(self._names)), np.int64)
        self._numbers = {n: _Numbers() for n, t in zip(names, types, strict=True) if t in NUMERIC}
        self._nobodys = Nobodys()
        #: By column of text, values of it that may mean something else.
        self.odd: dict[str, frozenset[str]] = {}
        self._samples = {n: list[pa.Array]() for n, t in zip(names, types, strict=True) if t is ColumnType.STRING}
        # One group is compressed and written while the next one is read.
        self._pool = ThreadPoolExecutor(1)
        self._pending: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._flush()
                self._wait()
        finally:
            self._pool.shutdown(wait=True)
            self._writer.close()

    @property
    def rows(self) -> int:
        """Records written so far."""
        return self._rows

    def write(self, arrays: Sequence[pa.Array]) -> None:
        """Append a batch: one array per column, of the column's type."""
        arrays = [self._in_normal_form(position, array) for position, array in enumerate(arrays)]
        batch = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        for position, (name, array) in enumerate(zip(self._names, arrays, strict=True)):
            self._missing[position] += array.null_count
            if name in self._numbers:
                self._numbers[name].add(array)
            if name in self._samples:
                self._samples[name].append(_sample(array, _LATER_CELLS if self._samples[name] else _FIRST_CELLS))
        self._nobodys.add(arrays, self._rows)
        self._rows += batch.num_rows
        while batch.num_rows:
            part = batch.slice(0, ROW_GROUP_ROWS - self._held_rows)
            self._held.append(part)
            self._held_rows += part.num_rows
            self._held_bytes += part.nbytes
            if self._held_rows == ROW_GROUP_ROWS or self._held_bytes >= ROW_GROUP_BYTES:
                self._flush()
            batch = batch.slice(part.num_rows)

    def _in_normal_form(self, position: int, array: pa.Array) -> pa.Array:
        """A column's texts as they are compared from here on; those that stand otherwise in the file are counted."""
        if not pa.types.is_string(array.type):
            return array
        texts = in_normal_form(array)
        if texts is not array:
            self._rewritten[position] += pc.sum(pc.not_equal(texts, array)).as_py() or 0
        return texts

    def _flush(self) -> None:
        self._wait()
        if self._held_rows:
            table = pa.Table.from_batches(self._held, self._schema)
            self._pending = self._pool.submit(self._writer.write_table, table, table.num_rows)
        self._held, self._held_rows, self._held_bytes = [], 0, 0

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None

    def sent(
        self, options: ReadOptions, types: Sequence[ColumnType], declared: Sequence[bool], dotted: Sequence[bool],
        source: Path | None = None,
    ) -> Sent:  # fmt: skip
        """Return what advice is given about; call it once the sink is closed."""
        samples = {name: pl.Series(name, pa.chunked_array(parts, pa.string())) for name, parts in self._samples.items()}
        return Sent(self._path, options, self._names, types, declared, samples, dotted, source)

    def profile(self, tick: Tick) -> Profile:
        """The profile of the written data; call it once the sink is closed.

        Parameters
        ----------
        tick
            Called with the share done, several times a second; may raise.
        """
        distinct, spellings, self.odd = _count_distinct(self._path, self._names, tick)
        columns = tuple(
            DatasetColumn(
                name=name,
                type=kind,
                missing=int(missing),
                distinct=distinct[name],
                other_spellings=spellings.get(name),
                type_from=source,
            )
            for name, kind, missing, source in zip(self._names, self._types, self._missing, self._sources, strict=True)
        )
        numeric = {name: numbers.summary() for name, numbers in self._numbers.items()}
        warnings = (
            *self._nobodys.warnings(),
            *normal_form_warnings(self._rewritten.tolist()),
            *spelling_warnings(columns),
        )
        return Profile(rows=self._rows, columns=columns, numeric=numeric, warnings=warnings)


def _sample(array: pa.Array, cells: int) -> pa.Array:
    """Return some cells with a value, from the beginning to the end."""
    array = array.drop_null()
    if len(array) <= cells:
        return array
    return array.take(pa.array(np.linspace(0, len(array) - 1, cells).astype(np.int64)))


def _count_distinct(
    path: Path, names: Sequence[str], tick: Tick
) -> tuple[dict[str, int], dict[str, int], dict[str, frozenset[str]]]:
    """Exact numbers of distinct values that are not missing, one column at a time, large ones in parts by hash.

    And how many are spelled otherwise than another one, of columns of text that are not too large for that; and which
    values of columns of text may mean something else.
    """
    counts, spellings, odd = dict.fromkeys(names, 0), dict[str, int](), dict[str, frozenset[str]]()
    with pq.ParquetFile(path, pre_buffer=False) as file:
        sizes = _encoded_sizes(file.metadata)
        steps = file.num_row_groups * sum(_parts(size) for size in sizes)
        done = 0
        for name, size in zip(names, sizes, strict=True):
            for part in range(_parts(size)):
                distinct = _Distinct()
                for group in range(file.num_row_groups):
                    column = file.read_row_group(group, columns=[name]).column(name)
                    # Without its name, for polars takes one like ^...$ for a pattern.
                    distinct.add(pl.Series("", pl.from_arrow(column)), part, _parts(size))
                    done += 1
                    tick(done / steps)
                values = distinct.values()
                counts[name] += len(values)
                if values.dtype == pl.String:
                    odd[name] = odd.get(name, frozenset()) | set(values.filter(values.is_in([*ODD, name])))
            if _parts(size) == 1 and values.dtype == pl.String and len(values) <= MOST_VALUES:
                spellings[name] = spelled_otherwise(values)
    return counts, spellings, odd


def _parts(size: int) -> int:
    return max(1, -(-size // _DISTINCT_BYTES))


class _Distinct:
    """Distinct values of series, merged whenever the new ones outnumber the old."""

    def __init__(self) -> None:
        self._held: list[pl.Series] = []

    def add(self, values: pl.Series, part: int, parts: int) -> None:
        values = values.drop_nulls()
        if parts > 1:
            values = values.filter(values.hash() % parts == part)
        self._held.append(values.unique())
        if sum(map(len, self._held[1:])) > len(self._held[0]):
            self._held = [pl.concat(self._held, rechunk=True).unique()]

    def values(self) -> pl.Series:
        return self._held[0] if len(self._held) == 1 else pl.concat(self._held).unique()


def _encoded_sizes(metadata: pq.FileMetaData) -> list[int]:
    sizes = [0] * metadata.num_columns
    for group in range(metadata.num_row_groups):
        for position in range(metadata.num_columns):
            sizes[position] += metadata.row_group(group).column(position).total_uncompressed_size
    return sizes
