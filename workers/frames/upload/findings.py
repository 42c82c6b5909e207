"""What looks wrong about how a file was read, as warnings: numbers of cells and options, never a cell."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from app.contracts.advice import spelled
from app.contracts.datasets import ColumnType, DatasetColumn
from app.contracts.warnings import JobWarning, WarningCode, warning
from surebox_core.spellings import spelling_classes
from workers.frames.upload.inference import NEEDED, is_formula, lexeme
from workers.frames.upload.names import column_at

#: Warnings of one kind beyond this number are counted, not made.
_MANY: Final = 20
#: Of two names that count up.
_TWO, _STEPS = 2, {1, 5, 10}
_SPREADSHEET: Final = "begin with `=`, `+`, `-`, `@` or a tab: a spreadsheet may run them; releases have `csv.excel`"
Counts = npt.NDArray[np.int64]


def columns_like(names: Sequence[str], types: Sequence[ColumnType]) -> bool:
    """Return whether names look like a record of columns of these types.

    Every column that is not text has a name that could be one of its cells; names that count up (years) are names.
    """
    typed = [(name.encode(), column) for name, column in zip(names, types, strict=True) if NEEDED[column]]
    bits = [(_bits(name), NEEDED[column]) for name, column in typed]
    if not bits or not all(possible & needed for possible, needed in bits):
        return False
    numbers = [int(name) for name, _ in typed if name.isdigit()]
    steps = {b - a for a, b in pairwise(numbers)}
    return not (len(numbers) == len(typed) > 1 and len(steps) == 1 and (len(numbers) > _TWO or steps <= _STEPS))


def _bits(name: bytes) -> int:
    buffer = np.frombuffer(bytearray(name), np.uint8)  # not read-only: kernels are compiled once for cells and names
    return int(lexeme(buffer, 0, buffer.size)) if buffer.size else 0


def header_warnings(names: Sequence[str], types: Sequence[ColumnType]) -> Iterator[JobWarning]:
    """Of names that were read from the file."""
    if columns_like(names, types):
        yield warning(
            WarningCode.HEADER_LIKE_DATA,
            "The first record was taken as the names of the columns and looks like data. If it is, upload the file "
            f"with {spelled({'header': 'false'})}.",
            "/columns",
        )


def name_warnings(names: Sequence[str]) -> Iterator[JobWarning]:
    """Of names in a file of any format."""
    encoded = [np.frombuffer(bytearray(name.encode()), np.uint8) for name in names]
    run = [j for j, name in enumerate(encoded) if name.size and is_formula(name, 0, name.size)]
    if run:
        detail = f"the names of {len(run)} columns, of column {run[0] + 1} first, {_SPREADSHEET}"
        yield warning(WarningCode.SPREADSHEET_CELLS, detail, f"/columns/{run[0]}/name")
    yield from _look_alikes(names)


def _look_alikes(names: Sequence[str]) -> Iterator[JobWarning]:
    """Warn about names of columns that are hard to tell apart."""
    first = spelling_classes(names)
    alike = [(first[j], j) for j in range(len(names)) if first[j] != j]
    warnings = [
        warning(
            WarningCode.OTHER_SPELLINGS,
            f"the names of columns {i + 1} and {j + 1} look alike: they differ in case, blanks or look-alike "
            "characters alone. Give one of them another name, so that nobody takes it for the other",
            f"/columns/{j}/name",
        )
        for i, j in alike
    ]
    yield from limited(warnings)


def spelling_warnings(columns: Sequence[DatasetColumn]) -> Iterator[JobWarning]:
    """Warn about columns whose values are spellings of one another."""
    names = [column.name for column in columns]
    warnings = [
        warning(
            WarningCode.OTHER_SPELLINGS,
            f"{column.other_spellings} of the {column.distinct} values of {column_at(j + 1, names)} differ from "
            "another one in case, blanks or look-alike characters alone: other spellings, perhaps, of the same. `l` "
            "and `alpha` count them as one; all else (boxes, statistics, `k` of a `person_column`) takes them as "
            "different. If they mean the same, write them alike and upload the file again",
            f"/columns/{j}",
        )
        for j, column in enumerate(columns)
        if column.other_spellings
    ]
    yield from limited(warnings)


def normal_form_warnings(rewritten: Sequence[int]) -> Iterator[JobWarning]:
    """Warn about columns with texts in another normal form.

    Parameters
    ----------
    rewritten
        How many cells of each column.
    """
    warnings = [
        warning(
            WarningCode.NORMAL_FORM,
            f"{cells} cells of column {j + 1} were not in Unicode's normal form C (NFC), as texts are compared: they "
            "are kept in it",
            f"/columns/{j}",
        )
        for j, cells in enumerate(rewritten)
        if cells
    ]
    yield from limited(warnings)


def charset_warning(charset: str) -> JobWarning:
    """Of a file of text that is not UTF-8."""
    detail = (
        f"The file is not UTF-8 and was read as {charset}. Where texts look wrong, save it as UTF-8; or state what it "
        "is by `charset` (on the command line: `--read charset=...`): `windows-1252`, `iso-8859-15` or `utf-16`."
    )
    return warning(WarningCode.CHARSET_DETECTED, detail, "/options/charset")


def width_warning(delimiter: str, other: tuple[str, int], layout: str | None) -> JobWarning:
    """Return the warning about a file of text that has one column.

    Parameters
    ----------
    delimiter
        That it was read with.
    other
        What else would divide it, and into how many columns.
    layout
        What reads it, if there are lines above or below its table.
    """
    separator, width = other
    if width > 1 and separator != delimiter:
        named = r"\t" if separator == "\t" else separator
        how = f"Upload the file with {spelled({'delimiter': named})} to have {width} columns."
    else:
        how = layout or "State what separates its fields by `delimiter`, if anything does."
    return warning(WarningCode.ONE_COLUMN, f"The file was read as one column. {how}", "/columns")


def formula_warnings(formulas: Counts, types: Sequence[ColumnType]) -> Iterator[JobWarning]:
    """Warn about columns of text with cells that a spreadsheet would run.

    Parameters
    ----------
    formulas
        How many cells of each column, shape (columns,).
    types
        What each column became.
    """
    warnings = [
        warning(WarningCode.SPREADSHEET_CELLS, f"{formulas[j]} cells of column {j + 1} {_SPREADSHEET}", f"/columns/{j}")
        for j, column in enumerate(types)
        if column is ColumnType.STRING and formulas[j]
    ]
    yield from limited(warnings)


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
    yield from limited(warnings)


def empty_warnings(empties: Counts) -> Iterator[JobWarning]:
    """Warn about empty texts, which become missing: CSV cannot tell the two apart, so no format does.

    Parameters
    ----------
    empties
        Empty texts of each column, shape (columns,).
    """
    warnings = [
        warning(
            WarningCode.EMPTY_TEXTS,
            f"{empties[j]} empty {'text' if empties[j] == 1 else 'texts'} of column {j + 1} became missing, as in CSV: "
            "if an empty text means something, upload a word in its place",
            f"/columns/{j}",
        )
        for j in np.flatnonzero(empties).tolist()
    ]
    yield from limited(warnings)


def limited(warnings: Iterable[JobWarning]) -> Iterator[JobWarning]:
    """Yield the first warnings of each code, and how many more there are."""
    counts: Counter[str] = Counter()
    for one in warnings:
        counts[one.code] += 1
        if counts[one.code] <= _MANY:
            yield one
    for code in WarningCode:
        if counts[code.value] > _MANY:
            yield warning(code, f"The same is so of {counts[code.value] - _MANY} more columns.", "/columns")
