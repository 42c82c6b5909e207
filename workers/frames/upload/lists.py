"""Lists of plain values as sets: a text each, the JSON array that a release's CSV has in the same place."""

import json
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa


def as_text(values: Iterable[Any]) -> str:
    """A set as text: each member once, numbers before texts, in ascending order, the missing one last.

    Parameters
    ----------
    values
        Texts, numbers, booleans, days or None; NaN is None.

    Raises
    ------
    ValueError
        A member is none of these.
    """
    members: dict[str, tuple[Any, ...]] = {}
    for value in values:
        plain = _plain(value)
        text = json.dumps(plain, ensure_ascii=False)
        members[text] = _order(plain, text)
    return f"[{', '.join(sorted(members, key=members.__getitem__))}]"


def texts(lists: pa.Array) -> pa.Array:
    """An array of lists as texts.

    Raises
    ------
    pyarrow.ArrowInvalid
        A member is no plain value; its text may show it, so it must not be passed on.
    """
    known: dict[tuple[Any, ...], str] = {}
    out: list[str | None] = []
    try:
        for each in lists.to_pylist():
            key = None if each is None else tuple((type(one), one) for one in each)
            if key is not None and key not in known:
                known[key] = as_text(each)
            out.append(None if key is None else known[key])
    except ValueError:
        raise pa.ArrowInvalid("a member of a list") from None
    return pa.array(out, pa.string())


def text_of(array: bytes) -> str | None:
    """A JSON array as text; None where it is none of plain values."""
    try:
        values = json.loads(array)
        text = as_text(values)
        text.encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        return None
    return None if "\0" in text or r"\u0000" in text else text


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()
    msg = "a member is no plain value"
    raise ValueError(msg)


def _order(value: Any, text: str) -> tuple[Any, ...]:
    """By which members are sorted: equal numbers (1, 1.0) by their texts, so that their order reveals nothing."""
    if value is None:
        return (2,)
    return (0, value, text) if isinstance(value, (bool, int, float)) else (1, value)
