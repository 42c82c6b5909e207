"""Delimited text (CSV, TSV) as cells.

A reader of our own: polars pads short rows silently, pyarrow accepts unclosed quotes and glues text after a quote to
it, DuckDB counts records where an error must name the line, and reads no row where line ends are mixed. It is as fast.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from app.contracts.datasets import FileFormat, ReadOptions
from app.errors import FieldError, InvalidError, TooLargeError, UnreadableError
from workers.frames.upload import delimited_kernel as splitting
from workers.frames.upload.blocks import BLOCK_BYTES, BadByteError, Blocks
from workers.frames.upload.cells import Bytes, Cells, Positions
from workers.frames.upload.layouts import Remedies, remedies, separated_by_blanks
from workers.frames.upload.names import check_names, column_at, in_normal_forms

#: Tried in this order; a file that reads alike with several has the first: in files with `;` a comma is often a decimal
#: mark, and a mark within cells seldom is the same number of times in each.
DELIMITERS: Final = ";	,|"
#: For readers that did not learn the result.
_DEFAULT_DELIMITER = {FileFormat.CSV: ",", FileFormat.TSV: "\t"}
_MANY = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Dialect:
    """How fields are distinguished; `quote` is -1 where there is none."""

    delimiter: int
    quote: int
    trim: bool
    comment: bytes
    skip_lines: int

    @classmethod
    def of(cls, options: ReadOptions) -> "Dialect":
        """The dialect that options ask for.

        Raises
        ------
        InvalidError
            Delimiter or quote cannot be what they are.
        """
        delimiter = options.delimiter or _DEFAULT_DELIMITER[options.format]
        quote = '"' if options.quote is None else options.quote
        for parameter, mark in (("delimiter", delimiter), ("quote", quote)):
            if not mark.isascii() or mark in {"\r", "\n", "\0"}:
                raise _invalid(parameter, "must be one ASCII character that is no line end")
        if delimiter == quote:
            raise _invalid("quote", "must differ from the delimiter")
        if options.trim and quote in {" ", "\t"}:
            raise _invalid("quote", "cannot be a blank while blanks are trimmed; ask for trim=false")
        return cls(
            ord(delimiter),
            ord(quote) if quote else -1,
            options.trim,
            (options.comment or "").encode(),
            options.skip_rows,
        )

    def as_array(self) -> npt.NDArray[np.int64]:
        """As the kernel takes it."""
        return np.array([self.delimiter, self.quote, self.trim], np.int64)


@dataclass(frozen=True, slots=True)
class _Fields:
    """What the splitter found in a block, not yet consumed."""

    buffer: Bytes
    start: Positions
    end: Positions
    kind: Bytes
    lines: npt.NDArray[np.int64]
    rows: int
    width: int
    report: npt.NDArray[np.int64]


def _invalid(parameter: str, detail: str) -> InvalidError:
    return InvalidError(f"`{parameter}` {detail}.", errors=[FieldError(f"?{parameter}", detail)])


class DelimitedReader:
    """Reads delimited text as cells; see :class:`~workers.frames.upload.cells.CellReader`.

    Parameters
    ----------
    path
        The file.
    options
        How to read it.
    max_columns, max_field_bytes
        Limits.
    block_bytes
        Size of the buffer.
    """

    def __init__(
        self,
        path: Path,
        options: ReadOptions,
        *,
        max_columns: int,
        max_field_bytes: int,
        block_bytes: int = BLOCK_BYTES,
    ) -> None:
        if options.header and options.column:
            raise _invalid("column", "names columns of a file without a header; ask for header=false too")
        self.path = path
        self._options = options
        self._dialect = Dialect.of(options)
        self._header = options.header
        self._given = options.column
        self._max_columns = max_columns
        self._max_field = max_field_bytes
        self._block_bytes = block_bytes
        self._comment = np.frombuffer(self._dialect.comment, np.uint8)
        self.names: list[str] = []
        self.trailing_blanks = 0

    def batches(self) -> Iterator[Cells]:
        """Runs of records in the file's order."""
        try:
            yield from self._batches()
        except BadByteError as error:
            raise error.at(self._column_after(error.before)) from None

    def _batches(self) -> Iterator[Cells]:
        blocks = Blocks(self.path, self._block_bytes)
        to_skip = self._dialect.skip_lines
        width = -1
        self.trailing_blanks = 0
        for buffer, final in blocks:
            cells: Cells | None = None
            if to_skip:
                taken, ended = splitting.skip_lines(buffer, final, to_skip)
                to_skip -= ended
                blocks.consume(taken, blocks.line + ended)
            elif width < 0:
                width, cells = self._read_first(blocks, buffer, final)
            else:
                cells = self._accept(blocks, self._split(blocks.line, buffer, final, width, _MANY))
            if cells is not None and cells.rows:
                yield cells

    def _split(self, line: int, buffer: Bytes, final: bool, width: int, max_rows: int) -> _Fields:
        line_ends = int(np.count_nonzero(buffer == 10) + np.count_nonzero(buffer == 13)) + 1
        size = int(np.count_nonzero(buffer == self._dialect.delimiter)) + line_ends
        start, end, kind = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint8)
        lines = np.empty(line_ends, np.int64)
        report = splitting.split_records(
            buffer, final, line, self._dialect.as_array(), self._comment, width, np.array([max_rows, self._max_field]),
            start, end, kind, lines, self.trailing_blanks,
        )  # fmt: skip
        if report[splitting.CODE] != splitting.OK:
            raise self._problem(report, width)
        rows = int(report[splitting.ROWS])
        width = int(report[splitting.FOUND]) if width < 0 else width
        return _Fields(buffer, start, end, kind, lines, rows, width, report)

    def _accept(self, blocks: Blocks, fields: _Fields, before: int = 0) -> Cells:
        """Consume the records: checked to be UTF-8 and never split again, their bytes may now change in place.

        `before` are bytes of the block that precede those that were split.
        """
        report = fields.report
        self.trailing_blanks = int(report[splitting.TRAILING])
        blocks.consume(before + int(report[splitting.CONSUMED]), int(report[splitting.LINE]))
        size = fields.rows * fields.width
        start, end, kind = fields.start[:size], fields.end[:size], fields.kind[:size]
        splitting.undouble_quotes(fields.buffer, self._dialect.quote, start, end, kind, size)
        lines = fields.lines[: fields.rows]
        return Cells(fields.buffer, start, end, kind, lines, fields.rows, fields.width, blocks.fraction)

    def _read_first(self, blocks: Blocks, buffer: Bytes, final: bool) -> tuple[int, Cells | None]:
        """Find the names and the number of columns in the first record (-1 while there is none yet).

        Without a header the first record is data too, and comes back with what follows it in the block.
        """
        fields = self._split(blocks.line, buffer, final, -1, 1)
        if not fields.rows:
            self._accept(blocks, fields)
            return -1, None
        line, width = int(fields.lines[0]), fields.width
        if width > self._max_columns:
            raise TooLargeError(f"Line {line} has {width} columns; at most {self._max_columns} are accepted.")
        if self._header:
            cells = self._accept(blocks, fields)
            self.names = [bytes(buffer[s:e]).decode() for s, e in zip(cells.start, cells.end, strict=True)]
            self._check_names(line)
            self.names = in_normal_forms(self.names)
            return width, None
        self.names = list(self._given) or [f"column_{i}" for i in range(1, width + 1)]
        if len(self.names) != width:
            named, self.names = len(self.names), []
            raise _invalid("column", f"names {named} columns, and line {line} has {width}: give each a name, in order")
        check_names(self.names, "`column`")
        self.names = in_normal_forms(self.names)
        begin = int(fields.report[splitting.BEGIN])
        return width, self._accept(blocks, self._split(line, buffer[begin:], final, width, _MANY), begin)

    def _check_names(self, line: int) -> None:
        """Refuse a header that does not name its columns, and state what reads the file."""
        try:
            check_names(self.names, f"Line {line}", "")
        except UnreadableError:
            known = remedies(self.path, self._options, DELIMITERS)
            how = f"{known}" if known.above else f"Give every column a name of its own. {known}".strip()
            check_names(self.names, f"Line {line}", how)
            raise

    def _column_after(self, before: bytes) -> str:
        """The column in which some bytes, from the beginning of a record on, end."""
        buffer = np.frombuffer(before, np.uint8)
        size = int(np.isin(buffer, [10, 13, self._dialect.delimiter]).sum()) + 1
        width, limits = len(self.names) or -1, np.array([_MANY, _MANY])
        start, end, kind = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.uint8)
        report = splitting.split_records(
            buffer.copy(), True, 1, self._dialect.as_array(), self._comment, width, limits,
            start, end, kind, np.empty(size, np.int64), 0,
        )  # fmt: skip
        code = report[splitting.CODE]
        last = report[splitting.COLUMN if code in {splitting.UNTERMINATED, splitting.AFTER_QUOTE} else splitting.FOUND]
        return column_at(max(1, width if code == splitting.OK and width > 0 else int(last)), self.names)

    def _problem(self, report: npt.NDArray[np.int64], width: int) -> Exception:
        code, line = report[splitting.CODE], report[splitting.ERROR_LINE]
        if code == splitting.RAGGED:
            return self._ragged(int(line), int(report[splitting.FOUND]), width)
        where = f"Line {line}, {column_at(int(report[splitting.COLUMN]), self.names)}"
        if code == splitting.UNTERMINATED:
            return UnreadableError(
                f"{where}: the quote opened here is never closed; close it, or upload the file with another `quote` "
                "(`quote=`: none)."
            )
        if code == splitting.AFTER_QUOTE:
            blanks = separated_by_blanks(self.path, self._options) if report[splitting.ERROR_LINE] == 1 else None
            if blanks is not None:
                return UnreadableError(f"{where}: there is text after the closing quote. {blanks}.")
            return UnreadableError(
                f"{where}: there is text after the closing quote; double a quote inside a quoted field, "
                "or upload the file with another `quote` (`quote=`: none)."
            )
        return TooLargeError(
            f"{where}: the field is longer than {self._max_field} bytes; close its quote, or shorten it."
        )

    def _ragged(self, line: int, fields: int, width: int) -> UnreadableError:
        counted = f"Line {line}: expected {width} {'field' if width == 1 else 'fields'}, found {fields}"
        known = remedies(self.path, self._options, DELIMITERS) if self._header else Remedies()
        below = f" {known.below}" if known.below else ""
        if known.above is not None:
            return UnreadableError(f"{counted}. {known}")
        if fields < width:
            return UnreadableError(
                f"{counted}: there is none for {column_at(fields + 1, self.names)}; write an empty field for what is "
                f"missing.{below}"
            )
        return UnreadableError(
            f"{counted}: there is more after {column_at(width, self.names)}; put fields that contain the delimiter in "
            f"quotes, or state by `delimiter` what separates them.{below}"
        )
