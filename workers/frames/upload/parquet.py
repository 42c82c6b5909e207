"""Parquet uploads to the typed copy, in bounded memory.

A small file can represent a huge table: run lengths and dictionaries expand without limit. Rows times fixed widths are
checked before anything is read; texts are read as dictionaries and measured before they are expanded.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from app.contracts.datasets import NUMERIC, ColumnType, Profile, ReadOptions, TypeSource
from app.errors import FieldError, InvalidError, TooLargeError, UnreadableError
from workers.frames.upload import parquet_types
from workers.frames.upload.building import ARROW_TYPES, build_column, cells_of, in_normal_form
from workers.frames.upload.cells import Cells
from workers.frames.upload.inference import NEEDED, Survey
from workers.frames.upload.names import check_names, in_normal_forms
from workers.frames.upload.noticed import noticed
from workers.frames.upload.sink import TableSink, Tick
from workers.frames.upload.text import MissingTokens, check_type_names

_BATCH_CELLS, _MAX_BATCH_ROWS, _MIN_BATCH_ROWS = 1 << 21, 1 << 16, 1 << 7
#: Texts of one batch are expanded in pieces of about this size.
_PIECE_BYTES = 1 << 25
_LOOKED, _WRITTEN = 0.2, 0.9
#: A member of a list as text, without its characters; and columns that are named when they are refused.
_MEMBER_BYTES, _REFUSED = 8, 5
#: Times that words occur on average, from which on they are looked at one by one.
_REPEATED = 16


@dataclass(frozen=True, slots=True)
class _Limits:
    columns: int
    field_bytes: int
    bytes: int


def read_parquet(
    source: Path,
    options: ReadOptions,
    sink: Path,
    *,
    max_columns: int,
    max_field_bytes: int,
    max_bytes: int,
    tick: Tick,
) -> Profile:
    """Read a Parquet file into the typed copy; parameters, result and errors as for `read_upload`."""
    limits = _Limits(max_columns, max_field_bytes, max_bytes)
    with _open(source, limits) as file:
        names, kinds = in_normal_forms(file.schema_arrow.names), file.schema_arrow.types
        check_type_names(options.type, names)
        types = _column_types(file, options, tick)
        # Rows of numbers first, texts while reading: nothing is expanded that was not measured.
        budget = _Budget(limits, file.metadata.num_rows * _fixed_width(kinds))
        converters = [
            _Converter(name, kind, column, options) for name, kind, column in zip(names, kinds, types, strict=True)
        ]
        sources = [_source(name, kind, options) for name, kind in zip(names, kinds, strict=True)]
        with TableSink(sink, names, types, sources) as table:
            for batch in _batches(file, file.schema_arrow.names):
                for piece in budget.pieces(batch):
                    table.write([c.convert(array) for c, array in zip(converters, piece.columns, strict=True)])
                    tick(_LOOKED + (_WRITTEN - _LOOKED) * table.rows / file.metadata.num_rows)
        if table.rows != file.metadata.num_rows:
            raise _corrupt()
        for converter in converters:
            converter.check()
    profile = table.profile(lambda share: tick(_WRITTEN + (1 - _WRITTEN) * share))
    formulas = np.array([converter.formulas for converter in converters])
    sent = table.sent(options, types, [name in options.type for name in names], [False] * len(names))
    whole = [
        pa.types.is_floating(parquet_types.value_type(kind))
        and column is ColumnType.INTEGER
        and name not in options.type
        for name, kind, column in zip(names, kinds, types, strict=True)
    ]
    empties = np.array([converter.empties for converter in converters], np.int64)
    unpointed = [False] * len(names)
    return noticed(profile, sent, table.odd, whole=whole, empties=empties, formulas=formulas, grouped=unpointed)


def _open(source: Path, limits: _Limits) -> pq.ParquetFile:
    """Open the file and check what its metadata state."""
    try:
        schema = pq.read_schema(source)
        texts = [f.name for f in schema if parquet_types.is_text(parquet_types.value_type(f.type))]
        members = _members(pq.read_metadata(source))
        texts += members
        file = pq.ParquetFile(
            source, read_dictionary=texts, pre_buffer=False, buffer_size=1 << 20, coerce_int96_timestamp_unit="us"
        )
    except (pa.ArrowException, OSError, ValueError):
        raise UnreadableError(
            "The file is not a readable Parquet file: it is incomplete, corrupt, encrypted, or of another format."
        ) from None
    if len(schema.names) > limits.columns:
        raise TooLargeError(f"The file has {len(schema.names)} columns; at most {limits.columns} are accepted.")
    check_names(schema.names, "The schema")
    refused = [f"column {each.name!r} has {each.reason}" for each in parquet_types.refusals(schema)]
    if refused:
        more = f"; the same is so of {len(refused) - _REFUSED} more" if len(refused) > _REFUSED else ""
        raise UnreadableError(f"C{refused[0][1:]}{''.join(f'; {one}' for one in refused[1:_REFUSED])}{more}.")
    metadata = file.metadata
    if not schema.names or metadata.num_rows <= 0:
        raise UnreadableError("The file has a schema but no records.")
    encoded = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    decoded = metadata.num_rows * _fixed_width(schema.types)
    decoded += _MEMBER_BYTES * _members_in(source) if members else 0
    if max(encoded, decoded) > limits.bytes:
        raise TooLargeError(f"The table takes {max(encoded, decoded)} bytes; at most {limits.bytes} are accepted.")
    return file


def _members(metadata: pq.FileMetaData) -> list[str]:
    """Paths of what lists are of."""
    columns = (metadata.schema.column(i) for i in range(metadata.num_columns))
    return [column.path for column in columns if column.max_repetition_level > 0]


#: Prints how many members all lists have, and empty lists. Metadata of columns that contradict each other end the
#: process that looks at them: pyarrow has no error for it.
_COUNT = """
import sys
from pyarrow.parquet import read_metadata
metadata = read_metadata(sys.argv[1])
nested = [i for i in range(metadata.num_columns) if metadata.schema.column(i).max_repetition_level > 0]
groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
print(sum(group.column(i).num_values for group in groups for i in nested))
"""


def _members_in(source: Path) -> int:
    """Members of all lists of the file, and empty lists."""
    counted = subprocess.run([sys.executable, "-I", "-c", _COUNT, source], capture_output=True, check=False, text=True)
    if counted.returncode:
        raise _corrupt()
    return int(counted.stdout)


def _fixed_width(kinds: Sequence[pa.DataType]) -> int:
    """Least bytes of a decoded row, without its texts."""
    return sum(4 if parquet_types.is_text(parquet_types.value_type(kind)) else 8 for kind in kinds)


def _batches(file: pq.ParquetFile, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    rows = min(_MAX_BATCH_ROWS, max(_MIN_BATCH_ROWS, _BATCH_CELLS // max(1, len(names))))
    batches = file.iter_batches(batch_size=rows, columns=list(names), use_threads=False)
    while True:
        try:
            batch = next(batches, None)
            if batch is not None:
                batch.validate(full=True)  # indices of a corrupt file may point outside their dictionary
        except (pa.ArrowException, OSError):
            raise _corrupt() from None
        if batch is None:
            return
        yield batch


def _corrupt() -> UnreadableError:
    return UnreadableError("The Parquet file is corrupt: its data do not fit its metadata.")


def _column_types(file: pq.ParquetFile, options: ReadOptions, tick: Tick) -> list[ColumnType]:
    """The types to take, after a look at the values of those columns where it depends on them."""
    schema = file.schema_arrow
    declared = [options.type.get(name) for name in in_normal_forms(schema.names)]
    unsure = [
        f.name for f, given in zip(schema, declared, strict=True) if not given and parquet_types.must_look(f.type)
    ]
    misfits: set[str] = set()
    some: set[str] = set()  # that have a value
    rows = 0
    for batch in _batches(file, unsure) if unsure else ():
        for name in unsure:
            array = parquet_types.plain(batch.column(name))
            if name not in misfits and not _as_expected(array):
                misfits.add(name)
            if array.null_count < len(array):
                some.add(name)
        rows += batch.num_rows
        tick(_LOOKED * rows / file.metadata.num_rows)
        if len(misfits) == len(unsure):
            break
    settled = [_settled(f.type, unsure=f.name in some, fits=f.name not in misfits) for f in schema]
    return [given or column for given, column in zip(declared, settled, strict=True)]


def _source(name: str, kind: pa.DataType, options: ReadOptions) -> TypeSource:
    """Where the type of a column comes from; of a column without values it is the file's for want of one."""
    if name in options.type:
        return TypeSource.DECLARED
    depends = parquet_types.must_look(kind) or pa.types.is_null(parquet_types.value_type(kind))
    return TypeSource.DATA if depends else TypeSource.FILE


def _as_expected(array: pa.Array) -> bool:
    """Whether floats are whole, and other values what their column's type states."""
    return parquet_types.are_whole(array) if pa.types.is_floating(array.type) else parquet_types.fits(array)


def _settled(kind: pa.DataType, *, unsure: bool, fits: bool) -> ColumnType:
    """The type of a column after the look at its values; `unsure`: there were any."""
    if pa.types.is_floating(parquet_types.value_type(kind)):
        return ColumnType.INTEGER if unsure and fits else ColumnType.NUMBER
    return (parquet_types.column_type(kind) or ColumnType.STRING) if fits else ColumnType.STRING


class _Budget:
    """Measures texts before they are expanded."""

    def __init__(self, limits: _Limits, taken: int) -> None:
        self._limits = limits
        self._taken = taken

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """The batch in pieces small enough to expand."""
        size = np.zeros(batch.num_rows, np.int64)
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_dictionary(array.type) and parquet_types.is_text(array.type.value_type):
                size += self._lengths(name, array)
            elif parquet_types.is_list(array.type) and pa.types.is_dictionary(array.type.value_type):
                size += self._in_lists(name, array)
        self._taken += int(size.sum())
        if self._taken > self._limits.bytes:
            raise TooLargeError(
                f"The table takes more than {self._limits.bytes} bytes once decoded; that many are accepted."
            )
        cuts = np.flatnonzero(np.diff(np.cumsum(size) // _PIECE_BYTES)) + 1
        begin = 0
        for stop in (*cuts.tolist(), batch.num_rows):
            yield batch.slice(begin, stop - begin)
            begin = stop

    def _in_lists(self, name: str, array: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        rows = pc.list_parent_indices(array).to_numpy(zero_copy_only=False)
        lengths = self._lengths(name, pc.list_flatten(array))
        size = np.bincount(rows, weights=lengths, minlength=len(array)).astype(np.int64)
        if size.size and size.max() > self._limits.field_bytes:
            raise self._too_long(name)
        return size

    def _too_long(self, name: str) -> TooLargeError:
        return TooLargeError(
            f"Column {name!r} has a value longer than {self._limits.field_bytes} bytes; shorten it or leave it out."
        )

    def _lengths(self, name: str, array: pa.DictionaryArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        of_word = pc.binary_length(array.dictionary).cast(pa.int64())
        lengths = pc.fill_null(of_word.take(array.indices), 0).to_numpy(zero_copy_only=False)
        if lengths.size and lengths.max() > self._limits.field_bytes:
            raise self._too_long(name)
        return np.asarray(lengths, np.int64)


class _Converter:
    """Makes arrays of the typed copy of one column's arrays."""

    def __init__(self, name: str, kind: pa.DataType, column: ColumnType, options: ReadOptions) -> None:
        self._name = name
        self._column = column
        self._declared = name in options.type
        self._tokens = MissingTokens(options.missing_values)
        self._missing = _missing_values(options.missing_values, column)
        self._is_parsed = parquet_types.is_text(parquet_types.value_type(kind)) and column is not ColumnType.STRING
        self._survey = Survey()
        self._survey.widen([NEEDED[column]])
        self._is_text = parquet_types.is_text(parquet_types.value_type(kind)) and column is ColumnType.STRING
        self._rows = 0
        self._done = 0
        self.empties = 0

    def convert(self, array: pa.Array) -> pa.Array:
        """One array."""
        result = self._convert(array)
        self._done += len(array)
        return result

    def _convert(self, array: pa.Array) -> pa.Array:
        try:
            result = parquet_types.convert(array, ColumnType.STRING if self._is_parsed else self._column)
            if self._is_text or self._is_parsed:  # of a text only an empty one becomes missing
                self.empties += result.null_count - parquet_types.plain(array).null_count
            if self._is_parsed:
                return self._parse(result)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise self._problem(array) from None
        if self._missing is not None:
            compared = in_normal_form(result) if self._column is ColumnType.STRING else result
            result = pc.if_else(pc.is_in(compared, value_set=self._missing), pa.scalar(None, result.type), result)
        if self._is_text and _has_few_words(array):
            self._look_at_words(array)
        elif self._is_text:
            self._look(result)
        return result

    def _parse(self, texts: pa.Array) -> pa.Array:
        """Texts read as if they stood in a CSV file; rows that cannot are counted, and refused by :meth:`check`."""
        cells = self._look(texts)
        return (
            pa.nulls(len(texts), ARROW_TYPES[self._column])
            if self._survey.refusals()
            else build_column(cells, 0, self._column)
        )

    def _look(self, texts: pa.Array) -> Cells:
        """Survey texts as if they stood in a CSV file."""
        rows = np.arange(self._rows + 1, self._rows + 1 + len(texts))
        self._rows += len(texts)
        cells = cells_of(texts, rows, 1)
        self._tokens.mark(cells)
        self._survey.add(cells.buffer, cells.start, cells.end, cells.kind, rows)
        return cells

    def _look_at_words(self, array: pa.DictionaryArray) -> None:
        """Survey each word once, as a column of its own, and count it as often as it occurs."""
        words = array.dictionary
        often = np.bincount(array.indices.drop_null().to_numpy(zero_copy_only=False), minlength=len(words))
        cells = cells_of(words, np.ones(1, np.int64), len(words))
        self._tokens.mark(cells)
        each = Survey()
        each.widen([0] * len(words))
        each.add(cells.buffer, cells.start, cells.end, cells.kind, cells.line)
        self._survey.formulas[0] += often @ each.formulas

    @property
    def formulas(self) -> int:
        """Number of cells that a spreadsheet would run."""
        return int(self._survey.formulas[0])

    def check(self) -> None:
        """Refuse the column if texts could not be read as requested."""
        for _, count, row in self._survey.refusals():
            detail = (
                f"column {self._name!r}: {count} cells cannot be read as {self._column}, the first in record {row}; "
                "declare `missing_values` or another `type`"
            )
            raise InvalidError(f"`type`: {detail}.", errors=[FieldError("?type", detail)])

    def _problem(self, array: pa.Array) -> Exception:
        """What to state about an array that cannot be held: in which record first, and what would work."""
        bad = next((row for row in range(len(array)) if not self._can_hold(array.slice(row, 1))), 0)
        record = f"the value in record {self._done + bad + 1}"
        if self._declared:
            detail = f"column {self._name!r} cannot be read as {self._column} without loss, for {record}"
            return InvalidError(f"`type`: {detail}; ask for another type.", errors=[FieldError("?type", detail)])
        why = (
            "is a day outside the years 0001 to 9999: write it as text"
            if pa.types.is_temporal(parquet_types.value_type(array.type))
            else "is no text in UTF-8: write it as text, or leave the column out"
        )
        return UnreadableError(f"Column {self._name!r} cannot be held as {self._column}: {record} {why}.")

    def _can_hold(self, one: pa.Array) -> bool:
        try:
            parquet_types.convert(one, self._column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return False
        return True


def _has_few_words(array: pa.Array) -> bool:
    return (
        isinstance(array, pa.DictionaryArray)
        and array.dictionary.type == pa.string()
        and _REPEATED * len(array.dictionary) <= len(array)
    )


def _missing_values(tokens: Sequence[str], column: ColumnType) -> pa.Array | None:
    """The tokens that can be values of a type, as such values."""
    values = []
    for token in in_normal_forms(tokens):
        try:
            number = pa.scalar(token, pa.string()).cast(pa.float64() if column in NUMERIC else ARROW_TYPES[column])
            exact = column is ColumnType.INTEGER and token.lstrip("+-").isdecimal()
            values.append((pa.scalar(int(token)) if exact else number).cast(ARROW_TYPES[column]).as_py())
        except (pa.ArrowInvalid, OverflowError):
            continue
    return pa.array(values, ARROW_TYPES[column]) if values else None
