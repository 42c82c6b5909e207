"""Files of text to the typed copy, in two passes: what types the columns have, then their values."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.contracts.datasets import ColumnType, Profile, ReadOptions, TypeSource
from app.errors import FieldError, InvalidError, UnreadableError, meant
from workers.frames.upload.building import build_column, in_normal_form, texts_of
from workers.frames.upload.cells import MISSING, STRING, Bytes, CellReader, Cells
from workers.frames.upload.delimited_kernel import mark_missing
from workers.frames.upload.findings import Counts
from workers.frames.upload.inference import NEEDED, Survey
from workers.frames.upload.names import in_normal_forms
from workers.frames.upload.notations import Notation
from workers.frames.upload.noticed import noticed
from workers.frames.upload.sink import TableSink, Tick

#: Columns that a refusal lists.
_NAMED = 10
#: Shares of the work done when the first and when the second pass end.
_SURVEYED, _WRITTEN = 0.4, 0.9


class MissingTokens:
    """The tokens that mean missing, as the kernel takes them."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._other = pa.array([token for token in in_normal_forms(tokens) if not token.isascii()], pa.string())
        encoded = [token.encode() for token in tokens if token.isascii() and token]
        self._data: Bytes = np.frombuffer(b"".join(encoded), np.uint8)
        self._offsets = np.cumsum([0, *map(len, encoded)]).astype(np.int64)

    def mark(self, cells: Cells) -> None:
        """Mark the cells that are missing."""
        mark_missing(cells.buffer, cells.start, cells.end, cells.kind, self._data, self._offsets)
        if len(self._other):  # whichever normal form a cell has
            texts = in_normal_form(texts_of(cells, slice(None)))
            cells.kind[pc.is_in(texts, value_set=self._other).to_numpy(zero_copy_only=False)] = MISSING


def check_type_names(types: dict[str, ColumnType], names: Sequence[str]) -> None:
    """Refuse types of columns that do not exist.

    Raises
    ------
    InvalidError
        Naming them.
    """
    unknown = [name for name in types if name not in set(names)]
    if unknown:
        errors = [FieldError("?type", f"no column is named {name!r}{_meant(name, names)}") for name in unknown]
        raise InvalidError(f"`type`: {errors[0].detail}", errors=errors)


def _meant(name: str, names: Sequence[str]) -> str:
    """Which column was perhaps meant, or what there is where no name is close."""
    if ":" in name and "," in name:
        return "; repeat `type`, once a column"
    close = meant(name, names)
    if close:
        return close
    shown = ", ".join(map(repr, names[:_NAMED]))
    return f"; the columns are {shown}" + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def read_text(reader: CellReader, options: ReadOptions, sink: Path, tick: Tick) -> Profile:
    """Read a file of text into the typed copy; warnings of columns are in the profile.

    Parameters
    ----------
    reader
        The file; it is read twice.
    options
        Missing tokens and types of columns.
    sink
        Where to write.
    tick
        Called with the share done, several times a second; may raise.

    Returns
    -------
    Profile
        The findings.

    Raises
    ------
    UnreadableError, TooLargeError
        From the reader, or there is no record.
    InvalidError
        Cells are not of the type that the request gives their column.
    """
    tokens = MissingTokens(options.missing_values)
    notation = Notation.of(options)
    survey, rows, types, empties = _survey(reader, options, tokens, notation, tick)
    sources = [TypeSource.DECLARED if name in options.type else TypeSource.DATA for name in reader.names]
    with TableSink(sink, reader.names, types, sources) as table:
        for cells in _leading(reader, rows):
            tokens.mark(cells)
            if not notation.is_plain:
                cells = notation.rewritten(cells, types)  # noqa: PLW2901 (the same, in the notation of programs)
            # A column unknown when this run was read is missing in it; only JSON has that, and it knows all by now.
            table.write([build_column(cells, j, column_type) for j, column_type in enumerate(types)])
            tick(_SURVEYED + (_WRITTEN - _SURVEYED) * cells.fraction)
    profile = table.profile(lambda share: tick(_WRITTEN + (1 - _WRITTEN) * share))
    declared = [name in options.type for name in reader.names]
    sent = table.sent(options, types, declared, survey.dotted(), reader.path)
    whole = [
        is_so and not given and column is ColumnType.INTEGER
        for is_so, given, column in zip(survey.pointed(), declared, types, strict=True)
    ]
    return noticed(
        profile, sent, table.odd,
        whole=whole, empties=empties, formulas=survey.formulas, grouped=survey.grouped(),
    )  # fmt: skip


def _survey(
    reader: CellReader, options: ReadOptions, tokens: MissingTokens, notation: Notation, tick: Tick
) -> tuple[Survey, int, list[ColumnType], Counts]:
    """Count the records, find the type of every column, and count the empty texts of each."""
    survey, rows, empties = Survey(notation), 0, np.zeros(0, np.int64)
    for cells in reader.batches():
        if survey.width < cells.width:
            fresh = [options.type.get(name) for name in reader.names[survey.width : cells.width]]
            survey.widen([NEEDED[declared] if declared else 0 for declared in fresh])
        empties = np.pad(empties, (0, cells.width - len(empties))) + _empties(cells)
        tokens.mark(cells)
        survey.add(cells.buffer, cells.start, cells.end, cells.kind, cells.line)
        rows += cells.rows
        tick(_SURVEYED * cells.fraction)
    rows -= reader.trailing_blanks
    if not reader.names:
        raise UnreadableError("The file is empty." if not rows else "The objects of the file have no keys.")
    if not rows:
        raise UnreadableError("The file has a header but no records.")
    check_type_names(options.type, reader.names)
    _check_refusals(survey, options.type, reader.names)
    inferred = survey.types()
    types = [options.type.get(name, guess) for name, guess in zip(reader.names, inferred, strict=True)]
    return survey, rows, types, empties


def _empties(cells: Cells) -> Counts:
    """Empty texts of each column: only a format that has texts has them."""
    empty = (cells.kind == STRING) & (cells.start == cells.end)
    return np.bincount(np.flatnonzero(empty) % cells.width, minlength=cells.width).astype(np.int64)


def _check_refusals(survey: Survey, types: dict[str, ColumnType], names: Sequence[str]) -> None:
    problems = [
        f"column {names[j]!r}: {count} cells cannot be read as {types[names[j]]}, the first of them on line {line}"
        for j, count, line in survey.refusals()
    ]
    if problems:
        remedy = "declare `missing_values` or another `type`"
        errors = [FieldError("?type", f"{problem}; {remedy}") for problem in problems]
        raise InvalidError(f"`type`: {errors[0].detail}.", errors=errors)


def _leading(reader: CellReader, rows: int) -> Iterator[Cells]:
    """The first records of a file."""
    for cells in reader.batches():
        if rows < cells.rows:
            cells = cells.first(rows)  # noqa: PLW2901 (the rest are blank lines)
        rows -= cells.rows
        if cells.rows:
            yield cells
