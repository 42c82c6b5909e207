"""Numbers and days as they are written in different places, found and rewritten by compiled code.

A number: an optional sign, digits (in groups of three if a separator is given), an optional fraction behind the decimal
mark, an optional exponent. A day: as a pattern states, or ``YYYY-MM-DD``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.contracts.datasets import NUMERIC, ColumnType, ReadOptions
from surebox_core.compiling.kernels import inner_kernel, kernel
from workers.frames.upload.cells import MISSING, Cells

_DAY, _MONTH, _YEAR, _NAME = 1, 2, 3, 4
_PARTS: Final = {"%d": _DAY, "%m": _MONTH, "%Y": _YEAR, "%b": _NAME}
_MONTHS = np.frombuffer(b"janfebmaraprmayjunjulaugsepoctnovdec", np.uint8)
_MONTH_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
#: What `rewrite` makes of the cells of a column.
_AS_IT_IS, _AS_NUMBER, _AS_DAY = 0, 1, 2
_DAY_BYTES = 10
_SPACE = 32


def constant(numbers: Sequence[int]) -> npt.NDArray[np.int64]:
    """Numbers that are not written to, like the arrays of a module: kernels are compiled once for both."""
    array = np.array(numbers, np.int64)
    array.setflags(write=False)
    return array


@inner_kernel
def _separator(buffer: Any, i: int, e: int, mark: int) -> int:
    """Bytes of a separator of groups at `i`; a space may be a non-breaking one."""
    if mark == 0 or i >= e:
        return 0
    if buffer[i] == mark:
        return 1
    if mark == _SPACE:
        if i + 1 < e and buffer[i] == 0xC2 and buffer[i + 1] == 0xA0:
            return 2
        if i + 2 < e and buffer[i] == 0xE2 and buffer[i + 1] == 0x80 and buffer[i + 2] == 0xAF:
            return 3
    return 0


@inner_kernel
def _after_digits(buffer: Any, i: int, e: int) -> int:
    while i < e and 48 <= buffer[i] <= 57:
        i += 1
    return i


@inner_kernel
def is_number(buffer: Any, s: int, e: int, decimal: int, thousands: int) -> Any:
    """Whether ``buffer[s:e]`` is a number in this notation."""
    i = s + 1 if s < e and (buffer[s] == 43 or buffer[s] == 45) else s
    t = i
    i = _after_digits(buffer, i, e)
    digits = i - t
    if 1 <= digits <= 3:
        while True:
            length = _separator(buffer, i, e, thousands)
            if length == 0:
                break
            t = i + length
            i = _after_digits(buffer, t, e)
            if i - t != 3:
                return False
    if i < e and buffer[i] == decimal:
        t = i + 1
        i = _after_digits(buffer, t, e)
        digits += i - t
    if digits == 0:
        return False
    if i < e and (buffer[i] | 32) == 101:
        i += 1
        if i < e and (buffer[i] == 43 or buffer[i] == 45):
            i += 1
        t = i
        i = _after_digits(buffer, t, e)
        if i == t:
            return False
    return i == e


@inner_kernel
def plain_number(buffer: Any, s: int, e: int, decimal: int, thousands: int) -> int:
    """Rewrite a number in place as programs write it; its new end."""
    w = i = s
    while i < e:
        length = _separator(buffer, i, e, thousands)
        if length:
            i += length
            continue
        buffer[w] = 46 if buffer[i] == decimal else buffer[i]
        w += 1
        i += 1
    return w


@inner_kernel
def _month_named(buffer: Any, i: int) -> int:
    for month in range(12):
        same = True
        for j in range(3):
            if (buffer[i + j] | 32) != _MONTHS[3 * month + j]:
                same = False
        if same:
            return month + 1
    return 0


@inner_kernel
def day_of(buffer: Any, s: int, e: int, pattern: Any) -> int:  # noqa: C901 (a kernel)
    """Year, month and day of ``buffer[s:e]`` as one number ``yyyymmdd``; -1: it is no day of this pattern."""
    year, month, day = 0, 0, 0
    i = s
    for p in range(pattern.size):
        part = pattern[p]
        if part == _NAME:
            month = _month_named(buffer, i) if i + 3 <= e else 0
            if month == 0:
                return -1
            i += 3
        elif part > _NAME:
            if i >= e or buffer[i] != part:
                return -1
            i += 1
        else:
            value, count, most = 0, 0, 4 if part == _YEAR else 2
            while count < most and i < e and 48 <= buffer[i] <= 57:
                value = value * 10 + buffer[i] - 48
                count += 1
                i += 1
            together = p + 1 < pattern.size and pattern[p + 1] <= _YEAR
            if count == 0 or (count < most and (part == _YEAR or together)):
                return -1
            if part == _YEAR:
                year = value
            elif part == _MONTH:
                month = value
            else:
                day = value
    if i != e or year == 0 or month < 1 or month > 12 or day < 1:
        return -1
    leap = month == 2 and year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if day > _MONTH_DAYS[month - 1] + (1 if leap else 0):
        return -1
    return year * 10000 + month * 100 + day


@kernel
def _rewrite(buffer: Any, start: Any, end: Any, kind: Any, wanted: Any, marks: Any, pattern: Any, free: int) -> None:
    """Rewrite the cells of columns as they are wanted; days go to the room that begins at `free`."""
    width = wanted.size
    for f in range(start.size):
        what = wanted[f % width]
        if what == 0 or kind[f] == MISSING:
            continue
        s: Any = np.int64(start[f])  # as in `survey`
        e: Any = np.int64(end[f])
        if what == 1:
            if is_number(buffer, s, e, marks[0], marks[1]):
                end[f] = plain_number(buffer, s, e, marks[0], marks[1])
            continue
        day = day_of(buffer, s, e, pattern)
        if day < 0:
            continue
        start[f], end[f] = free, free + _DAY_BYTES
        for j in range(_DAY_BYTES - 1, -1, -1):
            if j in (4, 7):
                buffer[free + j] = 45
            else:
                buffer[free + j] = 48 + day % 10
                day //= 10
        free += _DAY_BYTES


@dataclass(frozen=True, slots=True)
class Notation:
    """How numbers and days are written.

    Attributes
    ----------
    marks
        Bytes of the decimal mark and of the separator of groups (0: none), shape (2,).
    pattern
        Parts of a day, bytes above 4 being themselves; empty for ``YYYY-MM-DD`` only.
    """

    marks: npt.NDArray[np.int64]
    pattern: npt.NDArray[np.int64]

    @classmethod
    def of(cls, options: ReadOptions) -> "Notation":
        """The notation that options ask for."""
        marks = [ord(options.decimal or "."), ord(options.thousands or "\0")]
        parts = re.findall("%[dmYb]|.", options.date_format or "")
        return cls(constant(marks), constant([_PARTS.get(part) or ord(part) for part in parts]))

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to rewrite."""
        return not self.pattern.size and self.marks.tolist() == [46, 0]

    def rewritten(self, cells: Cells, types: list[ColumnType]) -> Cells:
        """The cells with numbers and days, where columns are of these types, as programs write them."""
        has_numbers, has_days = self.marks.tolist() != [46, 0], self.pattern.size > 0
        wanted = np.zeros(cells.width, np.int64)
        for j, column in enumerate(types[: cells.width]):
            if column in NUMERIC and has_numbers:
                wanted[j] = _AS_NUMBER
            elif column is ColumnType.DATE and has_days:
                wanted[j] = _AS_DAY
        room = int((wanted == _AS_DAY).sum()) * cells.rows * _DAY_BYTES
        buffer = np.concatenate([cells.buffer, np.empty(room, np.uint8)]) if room else cells.buffer
        _rewrite(buffer, cells.start, cells.end, cells.kind, wanted, self.marks, self.pattern, cells.buffer.size)
        return replace(cells, buffer=buffer)
