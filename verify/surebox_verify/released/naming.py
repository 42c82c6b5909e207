"""Names of values in questions: bare, `{"value": "E10"}` for the value alone, `{"class": "E10"}` for all under a class.

A bare name is a value if the column has one of this name, and else a class of its hierarchy. Values that too few
records have are one class, too: its name is a word that is no value which the release lists.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

VALUE: Final = "value"
CLASS: Final = "class"
#: What rare values of a codebook that no one declared are together, where the release has no value of this name.
OTHER: Final = "other"
_MORE: Final = "other values"


@dataclass(frozen=True)
class Name:
    """One name in a question.

    Attributes
    ----------
    name : a value, or the name of a class.
    kind : `VALUE`, `CLASS`, or None of a bare name.
    """

    name: Any
    kind: str | None = None


def named(value: Any) -> Name:
    """Read what a question has in the place of a value."""
    if isinstance(value, Name):
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((kind, name),) = value.items()
        if kind in (VALUE, CLASS):
            return Name(name, kind)
    return Name(value)


def as_value(value: Any) -> Any:
    """The value that a question names, where it names no class."""
    return named(value).name


def in_words(value: Any) -> str:
    """Return the name as a text for people."""
    name = named(value)
    return str(name.name) if name.kind is None else f"{name.kind} {name.name}"


def as_written(value: Any) -> str:
    """Return the name as it is written in a statistic."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)


def merged_word(listed: Collection[Any]) -> str:
    """The word for values that are not listed: `other`, and where that is a listed value another one.

    Parameters
    ----------
    listed : the values that a release lists.
    """
    return next(word for word in _words() if word not in listed)


def may_be_merged(value: Any) -> bool:
    """Return whether a value that a release lists may be the word for those that it does not."""
    return isinstance(value, str) and (value in (OTHER, _MORE) or _is_numbered(value))


def _words() -> Iterator[str]:
    yield from (OTHER, _MORE)
    yield from (f"{_MORE} {number}" for number in count(2))


def _is_numbered(text: str) -> bool:
    number = text.removeprefix(f"{_MORE} ")
    return number != text and number.isascii() and number.isdecimal() and not number.startswith("0") and number != "1"
