"""Which types a cell of text can have, and which type that makes of a column.

Over the whole column, never a prefix of it, and never silently lossy:

===========  =======================================================================================================
type         when every cell that is not missing is ...
===========  =======================================================================================================
integer      an optional minus and digits without leading zeros, within 64 bits; a number that is whole though it is
             written with a fraction or an exponent (``62.0``, ``1e+05``), up to 2^53; ``nan`` (missing) beside these
number       a decimal number as programs write them (``1``, ``-0.5``, ``.5``, ``1e-5``), ``inf``, ``infinity`` or
             ``nan`` (any case; NaN is missing), unless an integer among them is beyond 2^53, which a double cannot hold
boolean      ``true`` or ``false``, any case
date         a day of the Gregorian calendar as ``YYYY-MM-DD``, years 0001 to 9999
string       anything else: leading zeros (``007``), a leading plus, integers beyond 64 bits, or no cell at all
===========  =======================================================================================================

A type the caller asks for is less strict: ``007`` and ``+7`` are read as integers, and ``number`` rounds whatever its
cells say to the nearest double. Decimals are always the nearest double; one too large for it is infinite, and counted.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.contracts.datasets import ColumnType
from surebox_core.compiling.kernels import inner_kernel, kernel
from workers.frames.upload.cells import MISSING, STRING
from workers.frames.upload.notations import Notation, constant, day_of, is_number, plain_number

#: What a cell can be by inference ...
INTEGER, NUMBER, BOOLEAN, DATE = 1, 2, 4, 8
#: ... a mark, not a type: an integer that a double cannot hold ...
WIDE = 16
#: ... another mark: whole, but not written so ...
POINT = 512
#: ... a third: written with a point ...
DOTTED = 1024
#: ... and what it can be read as when asked.
AS_INTEGER, AS_NUMBER, AS_BOOLEAN = 32, 64, 128
#: What a column asked to be of a type needs of each cell.
NEEDED: Final = {
    ColumnType.INTEGER: AS_INTEGER,
    ColumnType.NUMBER: AS_NUMBER,
    ColumnType.BOOLEAN: AS_BOOLEAN,
    ColumnType.DATE: DATE,
    ColumnType.STRING: 0,
}
#: Days first: digits alone are one only where a pattern says so.
_BY_BIT: Final = (
    (DATE, ColumnType.DATE),
    (INTEGER, ColumnType.INTEGER),
    (NUMBER, ColumnType.NUMBER),
    (BOOLEAN, ColumnType.BOOLEAN),
)
_ANY = 2047
_EXACT = 2**53
_FAR = 100_000
_LARGEST = np.uint64(2**63 - 1)
_MONTH_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_WORDS = np.frombuffer(b"truefalsenaninfinity", np.uint8)
_WORD = np.array([[9, 12], [12, 15], [12, 20], [0, 4], [4, 9]])  # nan, inf, infinity; true, false
_NUMBERS = 3


@inner_kernel(inline="always")
def _is_digit(c: int) -> bool:
    return 48 <= c <= 57


@inner_kernel
def _is_word(buffer: Any, s: int, e: int, first: int, last: int) -> bool:
    if e - s != last - first:
        return False
    for j in range(last - first):  # noqa: SIM110 (a kernel)
        if (buffer[s + j] | 32) != _WORDS[first + j]:
            return False
    return True


@inner_kernel
def _word(buffer: Any, s: int, e: int) -> Any:
    """Bits of a cell that begins with a letter, or a minus and a letter."""
    signed = buffer[s] == 45 or buffer[s] == 43
    t = s + 1 if signed else s
    for k in range(len(_WORD)):
        if _is_word(buffer, t, e, _WORD[k, 0], _WORD[k, 1]):
            if k < _NUMBERS:
                bits = AS_NUMBER if buffer[s] == 43 else NUMBER | AS_NUMBER
                return bits | AS_INTEGER | (0 if signed else INTEGER) if k == 0 else bits
            return 0 if signed else BOOLEAN | AS_BOOLEAN
    return 0


@inner_kernel
def _is_day(buffer: Any, s: int, e: int) -> Any:
    if e - s != 10 or buffer[s + 4] != 45 or buffer[s + 7] != 45:
        return False
    for j in range(10):
        if j not in (4, 7) and not _is_digit(buffer[s + j]):
            return False
    year, month, day = 0, 0, 0
    for j in range(4):
        year = year * 10 + buffer[s + j] - 48
    month = (buffer[s + 5] - 48) * 10 + buffer[s + 6] - 48
    day = (buffer[s + 8] - 48) * 10 + buffer[s + 9] - 48
    if year == 0 or month < 1 or month > 12 or day < 1:
        return False
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return day <= _MONTH_DAYS[month - 1] + (1 if leap else 0)


@inner_kernel
def _digits(buffer: Any, s: int, e: int, negative: bool) -> Any:
    """Bits of an integer's digits (at least one) as far as its size decides them."""
    t = s
    while t < e - 1 and buffer[t] == 48:
        t += 1
    if e - t > 19:
        return WIDE | AS_NUMBER
    magnitude = np.uint64(0)
    for j in range(t, e):
        magnitude = magnitude * np.uint64(10) + np.uint64(buffer[j] - 48)
    if magnitude > _LARGEST + np.uint64(1 if negative else 0):
        return WIDE | AS_NUMBER
    bits = INTEGER | AS_INTEGER | AS_NUMBER
    return bits | WIDE if magnitude > np.uint64(_EXACT) else bits | NUMBER


@inner_kernel
def whole_number(buffer: Any, s: int, e: int) -> Any:  # noqa: C901 (a kernel)
    """The whole number that an unsigned decimal one is, up to 2^53; -1 where it is none."""
    value, exponent, zeros, i = 0, 0, 0, s
    fraction = False
    while i < e and (buffer[i] | 32) != 101:
        if buffer[i] == 46:
            fraction = True
        elif fraction and buffer[i] == 48:
            zeros += 1
        else:
            for _ in range(zeros):
                value *= 10
                if value > _EXACT:
                    return -1
            value = value * 10 + buffer[i] - 48
            if value > _EXACT:
                return -1
            exponent -= zeros + 1 if fraction else 0
            zeros = 0
        i += 1
    if i < e:
        i += 1
        negative = buffer[i] == 45
        if negative or buffer[i] == 43:
            i += 1
        power = 0
        while i < e:
            power = min(power * 10 + buffer[i] - 48, _FAR)
            i += 1
        exponent += -power if negative else power
    while value > 0 and exponent != 0:
        if exponent > 0:
            value *= 10
            exponent -= 1
            if value > _EXACT:
                return -1
        elif value % 10 == 0:
            value //= 10
            exponent += 1
        else:
            return -1
    return value


@kernel
def lexeme(buffer: Any, s: int, e: int) -> Any:  # noqa: C901 (a kernel)
    """Bits of what the cell ``buffer[s:e]`` (not empty) can be; 0: a string only."""
    c = buffer[s]
    negative, plus = c == 45, c == 43
    t = s + 1 if negative or plus else s
    if t == e:
        return 0
    if not _is_digit(buffer[t]) and buffer[t] != 46:
        return _word(buffer, s, e)
    i = t
    dotted = 0
    while i < e and _is_digit(buffer[i]):
        i += 1
    whole = i - t
    leading_zero = whole > 1 and buffer[t] == 48
    if i == e:
        bits = _digits(buffer, t, e, negative)
        return bits & (AS_INTEGER | AS_NUMBER) if plus or leading_zero else bits
    if whole == 4 and buffer[i] == 45:
        return DATE if _is_day(buffer, s, e) else 0
    if buffer[i] == 46:
        dotted = DOTTED
        i += 1
        begin = i
        while i < e and _is_digit(buffer[i]):
            i += 1
        if whole == 0 and i == begin:
            return 0
    if i < e and (buffer[i] | 32) == 101:
        i += 1
        if i < e and (buffer[i] == 45 or buffer[i] == 43):
            i += 1
        begin = i
        while i < e and _is_digit(buffer[i]):
            i += 1
        if i == begin:
            return 0
    if i != e:
        return 0
    whole_bits = POINT | AS_INTEGER | INTEGER if whole_number(buffer, t, e) >= 0 else 0
    whole_bits |= dotted
    if plus or leading_zero:
        return AS_NUMBER | whole_bits & (AS_INTEGER | DOTTED)
    return NUMBER | AS_NUMBER | whole_bits


@inner_kernel
def _localized(buffer: Any, s: int, e: int, marks: Any, pattern: Any) -> Any:
    """A cell in another notation, rewritten in place: its new end, the bits it may have, and those it surely has."""
    surely = DATE if pattern.size > 0 and day_of(buffer, s, e, pattern) > 0 else 0
    if is_number(buffer, s, e, marks[0], marks[1]):
        return plain_number(buffer, s, e, marks[0], marks[1]), _ANY, surely
    for i in range(s, e):
        if _is_digit(buffer[i]):
            return e, DATE, surely
    return e, _ANY, surely


@inner_kernel
def _is_grouped(buffer: Any, s: int, e: int) -> Any:
    """Return whether a number with a point could have it between thousands: ``1.234``, and not ``0.234``."""
    t = s + 1 if buffer[s] == 45 or buffer[s] == 43 else s
    return buffer[t] != 48 and is_number(buffer, s, e, 44, 46)


@kernel
def is_formula(buffer: Any, s: int, e: int) -> Any:
    """Return whether a spreadsheet would run the cell; a lone sign is none."""
    c = buffer[s]
    return e - s > 1 and (c == 61 or c == 43 or c == 45 or c == 64 or c == 9 or c == 13)


@kernel
def bits_of(
    buffer: Any, start: Any, end: Any, kind: Any, marks: Any, pattern: Any, is_plain: bool, every: Any
) -> None:  # fmt: skip
    """Find what each cell can be in a notation, one by one; cells with numbers of it are rewritten in place.

    Parameters
    ----------
    buffer, start, end, kind
        The cells, see :class:`~workers.frames.upload.cells.Cells`.
    marks, pattern, is_plain
        The notation, see :class:`~workers.frames.upload.notations.Notation`.
    every
        Filled: bits of each cell, 0 where it is missing.
    """
    for f in range(start.size):
        every[f] = 0
        if kind[f] != MISSING:
            s: Any = np.int64(start[f])  # as in `survey`
            e: Any = np.int64(end[f])
            possible, surely = _ANY, 0
            if not is_plain:
                e, possible, surely = _localized(buffer, s, e, marks, pattern)
            every[f] = lexeme(buffer, s, e) & possible | surely


@kernel
def survey(
    buffer: Any, start: Any, end: Any, kind: Any, lines: Any, marks: Any, pattern: Any, is_plain: bool,
    needed: Any, every: Any, some: Any, refused: Any, first: Any, grouped: Any, formulas: Any,
) -> None:  # fmt: skip
    """Take a run of cells into account.

    Parameters
    ----------
    buffer, start, end, kind, lines
        The cells, see :class:`~workers.frames.upload.cells.Cells`.
    marks, pattern, is_plain
        How numbers and days are written, see :class:`~workers.frames.upload.notations.Notation`.
    needed
        Per column: the bit its cells must have, 0 where the type is to be inferred.
    every, some
        Per column: bits that all, and that some of the cells had so far; updated.
    refused, first
        Per column: cells without the needed bit, and the line of the first of them; updated.
    grouped
        Per column: 1 where the points of all cells so far, of some, could stand between thousands, -1 where they could
        not, 0 where there are none; updated.
    formulas
        Per column: cells that a spreadsheet would run; updated.
    """
    width = needed.size
    f = 0
    for row in range(lines.size):
        for j in range(width):
            if kind[f] != MISSING:
                s: Any = np.int64(start[f])  # one type: every kernel below is compiled once
                e: Any = np.int64(end[f])
                possible, surely = _ANY, 0
                if not is_plain:
                    e, possible, surely = _localized(buffer, s, e, marks, pattern)
                bits = lexeme(buffer, s, e) & possible | surely
                if not bits:
                    formulas[j] += is_formula(buffer, s, e)
                elif bits & DOTTED and grouped[j] >= 0:
                    grouped[j] = 1 if _is_grouped(buffer, s, e) else -1
                if needed[j] and not bits & needed[j]:
                    if refused[j] == 0:
                        first[j] = lines[row]
                    refused[j] += 1
                if kind[f] == STRING:
                    bits &= DATE
                every[j] &= bits
                some[j] |= bits | 256
            f += 1


def column_type(every: int, some: int) -> ColumnType:
    """The type of a column whose cells were surveyed."""
    if not some:
        return ColumnType.STRING
    for bit, kind in _BY_BIT:
        if every & bit:
            return kind
    return ColumnType.STRING


_PLAIN: Final = Notation(constant([46, 0]), constant([]))


class Survey:
    """What the cells of each column have in common; columns may be added while it runs."""

    def __init__(self, notation: Notation = _PLAIN) -> None:
        self._columns: npt.NDArray[np.int64] = np.zeros((6, 0), np.int64)
        self._notation = notation
        #: Cells of each column that a spreadsheet would run.
        self.formulas: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def widen(self, needed: list[int]) -> None:
        """Begin new columns, each with the bit its cells must have."""
        fresh = np.zeros((6, len(needed)), np.int64)
        fresh[0] = needed
        fresh[1] = 255
        self._columns = np.ascontiguousarray(np.concatenate([self._columns, fresh], axis=1))
        self.formulas = np.concatenate([self.formulas, np.zeros(len(needed), np.int64)])

    @property
    def width(self) -> int:
        """Columns begun."""
        return int(self._columns.shape[1])

    def add(self, buffer: Any, start: Any, end: Any, kind: Any, lines: Any) -> None:
        """Take a run of cells into account."""
        marks, pattern, is_plain = self._notation.marks, self._notation.pattern, self._notation.is_plain
        needed, every, some, refused, first, grouped = self._columns
        state = needed, every, some, refused, first, grouped, self.formulas
        survey(buffer, start, end, kind, lines, marks, pattern, is_plain, *state)

    def types(self) -> list[ColumnType]:
        """The inferred type of each column."""
        return [column_type(int(every), int(some)) for every, some in self._columns[1:3].T]

    def pointed(self) -> list[bool]:
        """Whether some cells of each column are whole numbers that are not written as such."""
        return [bool(some & POINT) for some in self._columns[2].tolist()]

    def dotted(self) -> list[bool]:
        """Return for each column whether some of its numbers have a point."""
        return [bool(some & DOTTED) for some in self._columns[2].tolist()]

    def grouped(self) -> list[bool]:
        """Return for each column whether it has points, all of which could stand between thousands."""
        return [state == 1 for state in self._columns[5].tolist()]

    def refusals(self) -> list[tuple[int, int, int]]:
        """Columns with cells that are not of the type asked for: position, number of cells, line of the first."""
        counts, lines = self._columns[3], self._columns[4]
        return [(int(j), int(counts[j]), int(lines[j])) for j in np.flatnonzero(counts)]
