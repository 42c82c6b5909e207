"""Recoding: values become others, columns become one. The front checks by these rules, workers compute by them."""

from collections.abc import Mapping
from datetime import date
from math import isfinite
from typing import Any

from app.contracts.datasets import ColumnType
from app.methods.microfile.spec import DerivedColumn

Cell = str | int | float | bool | date


def parsed(value: object, kind: ColumnType) -> Cell:
    """A value of a body as a column of this type holds it.

    Raises
    ------
    ValueError
        If the type has no such value.
    """
    text = str(value).strip()
    if kind is ColumnType.STRING:
        return value if isinstance(value, str) else text
    if kind is ColumnType.BOOLEAN:
        known: dict[str, bool] = {"true": True, "1": True, "false": False, "0": False}
        if text.lower() not in known:
            msg = "not a boolean"
            raise ValueError(msg)
        return known[text.lower()]
    if isinstance(value, bool):
        msg = "a boolean, not a number or a date"
        raise ValueError(msg)  # noqa: TRY004 - one kind of error for every value that does not fit
    if kind is ColumnType.DATE:
        return date.fromisoformat(text)
    if kind is ColumnType.INTEGER:
        return _integer(text)
    return _finite(text)


def _integer(text: str) -> int:
    """Digits as they stand: a double would round those of a long identifier."""
    number = int(text) if text.lstrip("+-").isdigit() else _finite(text)
    if number != int(number) or not -(2**63) <= number < 2**63:
        msg = "not an integer of 64 bits"
        raise ValueError(msg)
    return int(number)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        msg = "not a finite number"
        raise ValueError(msg)
    return number


def unparsable(value: object, kind: ColumnType) -> bool:
    """Whether a column of this type cannot hold the value."""
    try:
        parsed(value, kind)
    except (ValueError, OverflowError):
        return True
    return False


def recoded_type(recoding: dict[str, Any] | DerivedColumn, types: Mapping[str, ColumnType], name: str) -> ColumnType:
    """The type of a recoded column; its own columns exist.

    Numbers where everything it can become is a number (a text that reads as a number counts as that number, any other
    text as missing), else texts.
    """
    if isinstance(recoding, DerivedColumn) and not recoding.cases:
        return types[recoding.columns[0]]
    if isinstance(recoding, DerivedColumn):
        made = [*(case.to for case in recoding.cases), recoding.otherwise]
    else:
        made = list(recoding.values())
    numbers = [one for one in made if one is not None]
    if not all(isinstance(one, int | float) for one in numbers):
        return ColumnType.STRING
    is_integer = all(isinstance(one, int) for one in numbers)
    if isinstance(recoding, DerivedColumn):
        return ColumnType.INTEGER if is_integer else ColumnType.NUMBER
    own = types[name]
    if not numbers:  # nothing but values that become missing
        return own
    if own is ColumnType.INTEGER:
        return ColumnType.INTEGER if is_integer else ColumnType.NUMBER
    return ColumnType.STRING if own in {ColumnType.BOOLEAN, ColumnType.DATE} else ColumnType.NUMBER
