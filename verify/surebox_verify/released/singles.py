"""Sets in CSV: of a column whose sets have one value each that value, of any other column JSON arrays.

The column decides, so that no reader guesses: a cell of an array begins with `[`, a plain value never does. A column of
texts is plain only if every reader of CSV has its texts as they are: none is empty, begins or ends with white space,
stands for a missing value, would be run by a spreadsheet or be read as a number, of which one suffices, and not all may
be read as truth values, days or times: `F` beside `M` is plain, and so is `10-14` beside `80 and more`. Numbers with a
fraction stay in arrays, for spreadsheets differ in their decimal mark. An empty cell is a missing set.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any, Final

from surebox_verify.released.formulas import FORMULA

_ARRAY: Final = "["
_RUNS: Final = re.compile(FORMULA)
_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_TRUTHS: Final = {"true": True, "false": False}
_READ_AS_TRUTHS: Final = frozenset({"true", "false", "t", "f", "yes", "no", "y", "n"})
#: Texts that look like numbers, grouped and of 16 digits too; that look like days or times, with AM or PM too.
_NUMBERS: Final = re.compile(r"[-+]?(?:0x[\da-f]*|[.\d][\d.,\s]*(?:e[-+]?\d*)?)", re.IGNORECASE)
_MOMENTS: Final = re.compile(r"[-+.\d][\da-fpmtxz/:.,+\s-]*", re.IGNORECASE)
#: Texts that readers of CSV take for a missing value, in lower case.
_MISSING: Final = frozenset(
    {"na", "n/a", "nan", "-nan", "null", "none", "nil", "<na>", "#n/a", "#n/a n/a", "#na", "1.#ind", "-1.#ind",
     "1.#qnan", "-1.#qnan", "\\n"}
)  # fmt: skip


def are_plain(sets: Iterable[Sequence[Any] | None]) -> bool:
    """Return whether a column of these sets is plain in CSV.

    Parameters
    ----------
    sets : those of the rows, repeated or not, in any order; None for a missing one.
    """
    there = [each for each in sets if each is not None]
    if not all(len(each) == 1 and each[0] is not None for each in there):
        return False
    values = [str(each[0]) if isinstance(each[0], date) else each[0] for each in there]  # a day is a text in CSV
    texts = {value for value in values if isinstance(value, str)}
    if not all(map(_is_plain_text, texts)) or any(isinstance(value, float) for value in values):
        return False
    return not texts or not any(all(map(kind, texts)) for kind in (_is_truth, _MOMENTS.fullmatch))


def plain(values: Sequence[Any]) -> str:
    """A set of a plain column as CSV has it."""
    (value,) = values
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def array(values: Sequence[Any]) -> str:
    """A set of any other column as CSV has it."""
    return json.dumps(values, ensure_ascii=False, default=str)


def sets_of(cells: Sequence[str | None]) -> list[list[Any] | None]:
    """The sets of a column of CSV.

    Parameters
    ----------
    cells : of all its rows; of equal ones one suffices.

    Raises
    ------
    ValueError
        Some cells are arrays and others are not, or one that begins as an array is none.
    """
    there = [cell for cell in cells if cell]
    parse = _array_of if any(cell.startswith(_ARRAY) for cell in there) else _parser(there)
    return [parse(cell) if cell else None for cell in cells]


def _array_of(cell: str) -> list[Any]:
    values = json.loads(cell)
    if not isinstance(values, list):
        msg = "a cell is no array, as others of the column are"
        raise ValueError(msg)  # noqa: TRY004 - the cell is of the right type, its text is not
    return values


def _parser(cells: Sequence[str]) -> Callable[[str], list[Any]]:
    """Return the reader of a plain column's cells: as whole numbers, as truth values, or as texts."""
    if all(map(_WHOLE.fullmatch, cells)):
        return lambda cell: [int(cell)]
    if all(cell in _TRUTHS for cell in cells):
        return lambda cell: [_TRUTHS[cell]]
    return lambda cell: [cell]


def _is_plain_text(text: str) -> bool:
    return bool(
        text
        and text == text.strip()
        and not text.startswith(_ARRAY)
        and text.lower() not in _MISSING
        and not _RUNS.match(text)
        and not _NUMBERS.fullmatch(text)
        and not _is_number(text)
    )


def _is_truth(text: str) -> bool:
    """Return whether some reader takes a text for a truth value."""
    return text.lower() in _READ_AS_TRUTHS


def _is_number(text: str) -> bool:
    """Return whether some reader takes a text for a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
