"""Which column names are accepted, in every format, and how errors name a column."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from app.errors import UnreadableError
from surebox_core.spellings import in_normal_form

MAX_NAME_CHARACTERS = 1_000
_SHOWN_CHARACTERS: Final = 100
#: What a cell of numbers, days or flags may look like, and hardly a name.
_LIKE_DATA: Final = re.compile(r"[-+]?[\d.,:/ ?-]+|nan|null|none|n/?a|true|false", re.IGNORECASE)


def looks_like_data(text: str) -> bool:
    """Return whether a text is hardly a name: a number, a day, a flag or a word for a missing value."""
    return _LIKE_DATA.fullmatch(text.strip()) is not None


def column_at(position: int, names: Sequence[str]) -> str:
    """A column as errors name it: by its place, and by its name unless the names may be a record of the data.

    Parameters
    ----------
    position
        From 1.
    names
        Of all columns, as far as they are known.
    """
    if not 0 < position <= len(names) or any(looks_like_data(name) for name in names):
        return f"column {position}"
    name = names[position - 1]
    return f"column {position} ({name[:_SHOWN_CHARACTERS] + '…' if len(name) > _SHOWN_CHARACTERS else name!r})"


def in_normal_forms(names: Iterable[str]) -> list[str]:
    """Return names as they are compared, and stand in the typed copy."""
    return [in_normal_form(name) for name in names]


def check_names(names: Sequence[str], where: str, remedy: str = "Give every column a name of its own.") -> None:
    """Refuse names a release could not be written with.

    A header may really be the first record of someone's data, so the problem gives positions, not names.

    Parameters
    ----------
    names
        Names in the file's order.
    where
        What the problem is said about: the line or the parameter.
    remedy
        What to do, in sentences.

    Raises
    ------
    UnreadableError
        A name is empty, too long, has a NUL character, or occurs twice, in whichever normal form.
    """
    seen: dict[str, int] = {}
    for position, name in enumerate(in_normal_forms(names), 1):
        if not name:
            raise UnreadableError(f"{where}: column {position} has no name. {remedy}")
        if len(name) > MAX_NAME_CHARACTERS:
            raise UnreadableError(
                f"{where}: the name of column {position} is longer than {MAX_NAME_CHARACTERS} characters. {remedy}"
            )
        if "\0" in name:
            raise UnreadableError(f"{where}: the name of column {position} has a NUL character. {remedy}")
        if name in seen:
            form = "" if names[seen[name] - 1] == names[position - 1] else " in Unicode's normal form C"
            raise UnreadableError(f"{where}: columns {seen[name]} and {position} have the same name{form}. {remedy}")
        seen[name] = position
