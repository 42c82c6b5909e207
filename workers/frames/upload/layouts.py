"""Remedies for files of text with more than a table in them: titles above, notes below, other names.

A table is looked for in the first lines and the last ones, where reading fails or finds one column.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from app.contracts import advice
from app.contracts.advice import MISSING_WORDS
from app.contracts.datasets import ReadOptions
from workers.frames.upload.names import looks_like_data

_HEAD_BYTES: Final = 1 << 18
_TAIL_BYTES: Final = 1 << 14
#: Share of the records that have as many fields as a table has; most lines below it that are notes.
_MOST: Final = 0.5
_NOTES: Final = 20
_TWO: Final = 2
#: Share of cells of a column that look like data, from which on a name among them stands out.
_DATA: Final = 0.9
#: Records that a first one is compared with.
_LOOKED_AT: Final = 200


@dataclass(frozen=True, slots=True)
class _Record:
    """Fields of a record, and the lines on which it begins and ends, from 1."""

    first: int
    last: int
    fields: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.fields)


@dataclass(frozen=True, slots=True)
class Layout:
    """The records of a sample, and how many fields those of its table have."""

    records: Sequence[_Record]
    width: int

    @property
    def begin(self) -> int:
        """The first of the records from which on all have this width, but for notes at the end."""
        stop = len(self.records)
        while stop and self.records[stop - 1].width != self.width:
            stop -= 1
        begin = stop
        while begin and self.records[begin - 1].width == self.width:
            begin -= 1
        return begin


@dataclass(frozen=True, slots=True)
class Remedies:
    """Advice on lines above the records of a file that could not be read, and on lines below them."""

    above: str | None = None
    below: str | None = None

    def __str__(self) -> str:
        """Return all that is known; empty: nothing."""
        return " ".join(each for each in (self.above, self.below) if each is not None)


def remedies(path: Path, options: ReadOptions, delimiters: str) -> Remedies:
    """Return what reads the table of a file that could not be read, as far as that is recognised.

    Parameters
    ----------
    path
        The file, in UTF-8.
    options
        How it was read.
    delimiters
        To try, where none is given.
    """
    layout = _layout(path, options, options.delimiter or delimiters)
    if layout is None:
        return Remedies()
    return Remedies(_above(layout), _below(path, options, layout, delimiters))


def separated_by_blanks(path: Path, options: ReadOptions) -> str | None:
    """Return what reads a file whose first line is quoted names with blanks between, as R writes it; else None."""
    if not options.quote:
        return None
    name = "{0}[^{0}]*{0}".format(re.escape(options.quote))
    first = _head(path).partition("\n")[0].rstrip("\r")
    if re.fullmatch(f"{name}(?: {name})+", first) is None:
        return None
    return f"Blanks separate the fields: upload the file with {advice.spelled({'delimiter': ' '})}"


def second_header(path: Path, options: ReadOptions) -> str | None:
    """Return the question about a first record that looks like a header; None where it looks like the others.

    The first records decide nearly always. Only where the first one stands out are all of the sample looked at.
    """
    delimiter = str(options.delimiter)
    records = _records(_head(path), options, delimiter)
    header, first = next(records, None), next(records, None)
    if header is None or first is None or any(field and looks_like_data(field) for field in first.fields):
        return None
    alike = (record for record in records if record.width == header.width)
    if first.width != header.width or not _stands_out(first, list(islice(alike, _LOOKED_AT))):
        return None
    layout = _layout(path, options, delimiter)
    if layout is None or layout.begin != 0 or len(layout.records) <= 3:
        return None
    return advice.second_header(header.last)


def _stands_out(first: _Record, others: Sequence[_Record]) -> bool:
    """Return whether a record could be names: in a column that looks like data, and with no value of the others."""
    stands_out = False
    for j, field in enumerate(first.fields):
        if field and any(record.fields[j] == field for record in others):
            return False  # as of a record
        data = sum(looks_like_data(record.fields[j]) for record in others)
        stands_out = stands_out or (field != "" and field not in MISSING_WORDS and data >= _DATA * len(others))
    return stands_out


def _head(path: Path) -> str:
    """Return the first lines of a file, whole ones."""
    with path.open("rb") as file:
        data = file.read(_HEAD_BYTES)
        if file.read(1):
            data = data[: data.rfind(b"\n") + 1]
    return data.decode("utf-8-sig", "replace")


def _layout(path: Path, options: ReadOptions, delimiters: str) -> Layout | None:
    text = _head(path)
    best, fits = None, 0
    for delimiter in delimiters:
        records = list(_records(text, options, delimiter))
        widths = Counter(record.width for record in records if record.width > 1)
        width, count = widths.most_common(1)[0] if widths else (0, 0)
        if count > max(fits, _MOST * len(records)):
            best, fits = Layout(records, width), count
    return best


def _records(text: str, options: ReadOptions, delimiter: str, *, skip: bool = True) -> Iterator[_Record]:
    """Yield the records of a text that are not blank, as far as they can be read."""
    lines = io.StringIO(text, newline="")
    number = 0

    def wanted() -> Iterator[str]:
        nonlocal number
        for line in lines:
            number += 1
            is_comment = options.comment is not None and line.startswith(options.comment)
            if not is_comment and not (skip and number <= options.skip_rows):
                yield line.replace("\0", " ")

    quotes: dict[str, Any] = {"quotechar": options.quote} if options.quote else {"quoting": csv.QUOTE_NONE}
    reader = csv.reader(wanted(), delimiter=delimiter, **quotes)
    first = 0
    try:
        for fields in reader:
            if fields:
                yield _Record(max(first, number - _breaks(fields)), number, tuple(field.strip() for field in fields))
            first = number + 1
    except csv.Error:
        return


def _breaks(fields: Sequence[str]) -> int:
    """Return the lines on which fields end, but for the last."""
    return sum(field.count("\n") for field in fields)


def _is_header(record: _Record) -> bool:
    """Return whether all fields could be names of columns."""
    return (
        all(record.fields)
        and len(set(record.fields)) == record.width
        and not any(looks_like_data(field) for field in record.fields)
    )


def _above(layout: Layout) -> str | None:
    """Return what the first lines are, if they are no header of the table."""
    records, width, begin = layout.records, layout.width, layout.begin
    rest = records[begin:]
    if any(record.width == width for record in records[:begin]):
        return None  # one record is wrong, not what is above the table
    if begin and records[begin - 1].width == width - 1 and not (width == _TWO and _is_header(rest[0])):
        return _one_fewer(records[begin - 1], rest, width)
    if begin and records[begin - 1].width == width + 1 and not records[begin - 1].fields[-1]:
        return f"The header ends with a delimiter, and the records do not: {_renamed(records[begin - 1], width)}."
    header = rest[0]
    if _is_header(header):
        return advice.below_title(header.first - 1) if begin else None
    return _unnamed(header, rest, width)


def _unnamed(header: _Record, rest: Sequence[_Record], width: int) -> str:
    """Return how to name the columns below a header that does not name each."""
    if sum(map(bool, header.fields)) == 1 and header.fields[0]:
        lower = next((record for record in rest[1:20] if sum(map(bool, record.fields)) > 1), None)
        if lower is not None and _is_header(lower) and (width > _TWO or not _trails(rest[1:])):
            return advice.below_title(lower.first - 1)
    how = _renamed(header, width)
    if not header.fields[-1] and all(header.fields[:-1]) and _trails(rest[1:]):
        return f"Every line ends with a delimiter, so there is a column more, without values: {how}."
    if not header.fields[0] and all(header.fields[1:]):
        return f"The first column has no name, as programs write the names of rows: {how}."
    return f"To give each column a name of its own, {how}."


def _renamed(header: _Record, width: int) -> str:
    return advice.renamed(header.last, width)


def _trails(records: Sequence[_Record]) -> bool:
    return bool(records) and not any(record.fields[-1] for record in records)


def _one_fewer(header: _Record, rest: Sequence[_Record], width: int) -> str:
    """Return what a header is that has one name fewer than the records have fields."""
    how = _renamed(header, width)
    if _trails(rest):
        return f"The records end with a delimiter, and the header does not: {how}."
    named = "1 name" if width == _TWO else f"{width - 1} names"
    return f"The header has {named} for {width} columns; the first may have the names of rows: {how}."


def _below(path: Path, options: ReadOptions, layout: Layout, delimiters: str) -> str | None:
    """Return what the last lines are, if they are no records."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _TAIL_BYTES))
        data = file.read()
    text = data.decode("utf-8", "replace")
    if size > _TAIL_BYTES:
        text = text[text.find("\n") + 1 :]
    best = 0
    for delimiter in options.delimiter or delimiters:
        widths = [record.width for record in _records(text, options, delimiter, skip=False)]
        notes = 0
        while notes < len(widths) and widths[-1 - notes] < layout.width:
            notes += 1
        if 0 < notes <= min(_NOTES, len(widths) - 1):
            best = notes
    return advice.above_notes(best) if best else None
