"""As what else a cell of text could be read: numbers and days in other notations, and formulas of spreadsheets."""

from typing import Any

import numpy as np

from surebox_core.compiling.kernels import inner_kernel, kernel
from workers.frames.upload.notations import day_of, is_number

# Classes of a cell. What lexemes can be ...
TEXT, WHOLE, DECIMAL, CODE, DAY, FLAG = range(6)
# ... and what text could be: 1,5 / 1,234 / 1,234.5 / 1.234,5 / 1 234 / days.
COMMA, COMMA_OR_GROUPS, COMMA_GROUPS, DOT_GROUPS, SPACE_GROUPS, OTHER_DAY = range(6, 12)
#: Days by separator, and by order: year first, day first, month first, either of the two.
SEPARATORS = "./-"
YEAR_FIRST, DAY_FIRST, MONTH_FIRST, EITHER = range(4)
CLASSES = OTHER_DAY + 4 * len(SEPARATORS)
#: Patterns of days (see `notations`): separator by separator, in three orders, shape (9, 5).
_PATTERNS = np.array(
    [
        [first, mark, second, mark, third]
        for mark in SEPARATORS.encode()
        for first, second, third in ((3, 2, 1), (1, 2, 3), (2, 1, 3))
    ]
)
#: Decimal marks and separators of groups that text is tried with, and the class where that makes a number of it.
_MARKS = np.array([[44, 0], [46, 44], [44, 46], [46, 32], [44, 32]])
_MADE = np.array([COMMA, COMMA_GROUPS, DOT_GROUPS, SPACE_GROUPS, SPACE_GROUPS])


@inner_kernel
def _number(buffer: Any, s: int, e: int) -> Any:
    kind = TEXT
    for k in range(_MARKS.shape[0]):
        if is_number(buffer, s, e, _MARKS[k, 0], _MARKS[k, 1]):
            if kind == TEXT:
                kind = _MADE[k]
            elif kind == COMMA and k == 1:
                kind = COMMA_OR_GROUPS
    return kind


@inner_kernel
def _other_day(buffer: Any, s: int, e: int) -> Any:
    kind = TEXT
    for k in range(_PATTERNS.shape[0]):
        if day_of(buffer, s, e, _PATTERNS[k]) > 0:
            kind = OTHER_DAY + 4 * (k // 3) + (EITHER if kind else k % 3)
    return kind


@inner_kernel
def reading(buffer: Any, s: int, e: int) -> Any:
    """The class of a cell (not empty) that is only text as it is."""
    c = buffer[s]
    if not (48 <= c <= 57 or c == 45 or c == 43 or c == 44):
        return TEXT
    kind = _number(buffer, s, e)
    return kind or _other_day(buffer, s, e)


@kernel
def is_formula(buffer: Any, s: int, e: int) -> Any:
    """Whether a spreadsheet would run the cell; a lone sign is none."""
    c = buffer[s]
    return e - s > 1 and (c == 61 or c == 43 or c == 45 or c == 64 or c == 9 or c == 13)
