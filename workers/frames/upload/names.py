"""Which column names are accepted, in every format."""

from collections.abc import Sequence

from app.errors import UnreadableError

MAX_NAME_CHARACTERS = 1_000


def check_names(names: Sequence[str], where: str) -> None:
    """Refuse names a release could not be written with.

    A header may really be the first record of somebody's data, so the problem gives positions, not names.

    Parameters
    ----------
    names
        Names in the file's order.
    where
        What the problem is said about: the line or the parameter.

    Raises
    ------
    UnreadableError
        A name is empty, too long, has a NUL character, or stands twice.
    """
    seen: dict[str, int] = {}
    for position, name in enumerate(names, 1):
        if not name:
            raise UnreadableError(f"{where}: column {position} has no name; {_REMEDY}")
        if len(name) > MAX_NAME_CHARACTERS:
            raise UnreadableError(
                f"{where}: the name of column {position} is longer than {MAX_NAME_CHARACTERS} characters; {_REMEDY}"
            )
        if "\0" in name:
            raise UnreadableError(f"{where}: the name of column {position} has a NUL character; {_REMEDY}")
        if name in seen:
            raise UnreadableError(f"{where}: columns {seen[name]} and {position} have the same name; {_REMEDY}")
        seen[name] = position


_REMEDY = "give every column a name of its own (or `header=false` with `column` for each)."
