"""What looks wrong about how a file was read, as warnings: numbers of cells and options, never a cell."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from app.contracts.datasets import ColumnType
from app.contracts.warnings import JobWarning, WarningCode, warning
from workers.frames.upload import readings
from workers.frames.upload.inference import NEEDED, lexeme

#: Warnings of one kind beyond this number are counted, not made.
_MANY: Final = 20
_SPREADSHEET: Final = "begin with `=`, `+`, `-`, `@` or a tab: a spreadsheet may run them; releases have `csv.excel`"
_KINDS: Final = {
    WarningCode.NEARLY_NUMERIC: ("number", "numbers"),
    WarningCode.NEARLY_DATE: ("date", "days"),
    WarningCode.NEARLY_BOOLEAN: ("boolean", "`true` or `false`"),
}

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Reading:
    """How else a column could be read: as what, with which options, and how many of its cells."""

    code: WarningCode
    option: str
    cells: int


def columns_like(names: Sequence[str], types: Sequence[ColumnType]) -> bool:
    """Whether names look like a record of columns of these types.

    Every column that is not text has a name that could be one of its cells; names that count up (years) are names.
    """
    typed = [(name.encode(), column) for name, column in zip(names, types, strict=True) if NEEDED[column]]
    bits = [(_bits(name), NEEDED[column]) for name, column in typed]
    if not bits or not all(possible & needed for possible, needed in bits):
        return False
    numbers = [int(name) for name, _ in typed if name.isdigit()]
    return not (len(numbers) == len(typed) > 1 and all(a < b for a, b in pairwise(numbers)))


def _bits(name: bytes) -> int:
    buffer = np.frombuffer(bytearray(name), np.uint8)  # not read-only: kernels are compiled once for cells and names
    return int(lexeme(buffer, 0, buffer.size)) if buffer.size else 0


def header_warnings(names: Sequence[str], types: Sequence[ColumnType]) -> Iterator[JobWarning]:
    """Of names that were read from the file."""
    if columns_like(names, types):
        yield warning(
            WarningCode.HEADER_LIKE_DATA,
            "the first record was taken as the names of the columns and looks like data: if it is, use `header=false`",
            "/columns",
        )


def name_warnings(names: Sequence[str]) -> Iterator[JobWarning]:
    """Of names in a file of any format."""
    encoded = [np.frombuffer(bytearray(name.encode()), np.uint8) for name in names]
    run = [j for j, name in enumerate(encoded) if name.size and readings.is_formula(name, 0, name.size)]
    if run:
        detail = f"the names of {len(run)} columns, of column {run[0] + 1} first, {_SPREADSHEET}"
        yield warning(WarningCode.SPREADSHEET_CELLS, detail, f"/columns/{run[0]}/name")


def charset_warning(charset: str) -> JobWarning:
    """Of a file of text that is not UTF-8."""
    detail = f"the file is not UTF-8 and was read as {charset}: where texts look wrong, state what it is by `charset`"
    return warning(WarningCode.CHARSET_FOUND, detail, "/options/charset")


def width_warning(delimiter: str, other: tuple[str, int]) -> JobWarning:
    """Of a file of text that has one column; `other` is what else would divide it, and into how many."""
    separator, width = other
    quoted = "tab (`\\t`)" if separator == "\t" else f"`{separator}`"
    advice = (
        f"`delimiter` {quoted} would make {width} of it"
        if width > 1 and separator != delimiter
        else "state what separates its fields by `delimiter`, if anything does"
    )
    return warning(WarningCode.ONE_COLUMN, f"the file was read as one column; {advice}", "/columns")


def column_warnings(
    classes: Counts, formulas: Counts, types: Sequence[ColumnType], declared: Sequence[bool]
) -> Iterator[JobWarning]:
    """Of columns that became text.

    Parameters
    ----------
    classes
        Cells of each class of :mod:`~workers.frames.upload.readings`, shape (columns, classes).
    formulas
        Cells that a spreadsheet would run, shape (columns,).
    types
        What each column became.
    declared
        Whether the request states its type, shape (columns,).
    """
    texts = [j for j, column in enumerate(types) if column is ColumnType.STRING]
    nearly = [(j, reading) for j in texts if not declared[j] and (reading := _nearly(classes[j])) is not None]
    for code in _KINDS:
        warnings = [_nearly_warning(j, reading, int(classes[j].sum())) for j, reading in nearly if reading.code is code]
        yield from _limited(code, warnings)
    spreadsheet = [
        warning(WarningCode.SPREADSHEET_CELLS, f"{formulas[j]} cells of column {j + 1} {_SPREADSHEET}", f"/columns/{j}")
        for j in texts
        if formulas[j]
    ]
    yield from _limited(WarningCode.SPREADSHEET_CELLS, spreadsheet)


def whole_warnings(names: Sequence[str], pointed: Sequence[bool]) -> Iterator[JobWarning]:
    """Of columns that are integers although their numbers are not written so, as of programs that have gaps in them.

    Parameters
    ----------
    names
        Of all columns.
    pointed
        Which they are, shape (columns,).
    """
    warnings = [
        warning(
            WarningCode.WHOLE_NUMBERS,
            f"column {j + 1} has whole numbers only, some with a fraction of 0 or an exponent: it is an integer; "
            f"`type={name}:number` takes it as a number",
            f"/columns/{j}",
        )
        for j, (name, is_so) in enumerate(zip(names, pointed, strict=True))
        if is_so
    ]
    yield from _limited(WarningCode.WHOLE_NUMBERS, warnings)


def _limited(code: WarningCode, warnings: list[JobWarning]) -> Iterator[JobWarning]:
    yield from warnings[:_MANY]
    if len(warnings) > _MANY:
        yield warning(code, f"the same is valid for {len(warnings) - _MANY} more columns", "/columns")


def _nearly(counts: Counts) -> _Reading | None:
    """The reading that fits most of the cells, and more than half of them."""
    best = max(_readings(counts), key=lambda one: one.cells)
    return best if 2 * best.cells > int(counts.sum()) else None


def _readings(counts: Counts) -> Iterator[_Reading]:
    """All of them; of those that fit alike the first is meant."""
    whole, comma, either = counts[readings.WHOLE], counts[readings.COMMA], counts[readings.COMMA_OR_GROUPS]
    plain = whole + counts[readings.DECIMAL]
    if not counts[readings.CODE]:  # leading zeros make codes, not numbers
        dots, spaces = counts[readings.DOT_GROUPS], counts[readings.SPACE_GROUPS]
        for option, cells in (
            ("", plain),
            ("`thousands=,`", plain + either + counts[readings.COMMA_GROUPS]),
            ("`decimal=,`", whole + comma + either),
            ("`decimal=,` and `thousands=.`", whole + comma + either + dots if dots else 0),
            ("`thousands` as a space", plain + spaces if spaces else 0),
        ):
            yield _Reading(WarningCode.NEARLY_NUMERIC, option, int(cells))
    yield _Reading(WarningCode.NEARLY_DATE, "", int(counts[readings.DAY]))
    for k, mark in enumerate(readings.SEPARATORS):
        base = readings.OTHER_DAY + 4 * k
        year, day, month, open_ = (int(n) for n in counts[base : base + 4])
        yield _Reading(WarningCode.NEARLY_DATE, f"`date_format=%Y{mark}%m{mark}%d`", year)
        if not month:
            yield _Reading(WarningCode.NEARLY_DATE, f"`date_format=%d{mark}%m{mark}%Y`", day + open_)
        if not day:
            yield _Reading(WarningCode.NEARLY_DATE, f"`date_format=%m{mark}%d{mark}%Y`", month + open_)
    yield _Reading(WarningCode.NEARLY_BOOLEAN, "", int(counts[readings.FLAG]))


def _nearly_warning(j: int, reading: _Reading, total: int) -> JobWarning:
    kind, what = _KINDS[reading.code]
    differ = total - reading.cells
    if reading.option:
        detail = (
            f"column {j + 1} was read as text; with {reading.option} {reading.cells} of its {total} cells are {what}"
        )
        rest = f", {differ} are not: `missing_values` names what means missing" if differ else ""
    elif differ:
        detail = f"column {j + 1} was read as text, for {differ} of its {total} cells are not {what}"
        rest = ": `missing_values` names what means missing"
    else:
        detail = f"column {j + 1} was read as text although its {total} cells are {what}"
        rest = f": `type` with `{kind}` reads them"
    return warning(reading.code, detail + rest, f"/columns/{j}")
