"""How much cells of text leave open that other programs generalized: `20-39`, `[20, 40[`, `>=60`, `479**`, `{a, b}`.

Notation
--------
W : what the column spans, from the least to the largest end of its intervals and numbers.
V : different values of the column, members of sets and single ones.
ncp : 0 for a single value, (upper - lower) / W for an interval, |set| / V for a set of more than one, 1 for `*`.
"""

import json
import math
import re
from collections.abc import Sequence
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

_NUMBER: Final = r"[-+]?\d+(?:\.\d+)?"
_DAY: Final = r"\d{4}-\d{2}-\d{2}"
#: A day of the calendar in a text.
DAY: Final = re.compile(_DAY)
_ENDS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?P<lo>{_NUMBER})\s*(?:-|\u2013|\.\.|to)\s*(?P<hi>{_NUMBER})",
        rf"(?P<lo>{_DAY})\s+(?:-|\u2013|to)\s+(?P<hi>{_DAY})",
        rf"[\[\](]\s*(?P<lo>{_NUMBER}|{_DAY})\s*[,;]\s*(?P<hi>{_NUMBER}|{_DAY})\s*[\[\])]",
    )
)
_BELOW: Final = re.compile(rf"(?:<|<=|≤)\s*(?P<hi>{_NUMBER}|{_DAY})")
_ABOVE: Final = re.compile(rf"(?:>|>=|≥)\s*(?P<lo>{_NUMBER}|{_DAY})|(?P<from>{_NUMBER})\s*\+")
_MASKED: Final = re.compile(r"(?P<head>\d+)(?P<stars>\*+)")
_SET: Final = re.compile(r"\{(?P<members>[^{}]*)\}")
_ALL: Final = re.compile(r"\*+")

Interval = tuple[float, float]


def is_generalized(values: Sequence[str]) -> bool:
    """Whether any of these texts is more than one value: an interval, a set, or something with a star.

    Parameters
    ----------
    values
        The different texts of a column.
    """
    return any("*" in one or _members(one) is not None or _is_wide(_interval(one)) for one in values)


def left_open(values: Sequence[str]) -> NDArray[np.float64] | None:
    """The normalized certainty penalty of different texts of a column; None where it cannot be measured.

    Words are single values: the text of one does not state whether it is the class of a hierarchy.

    Parameters
    ----------
    values
        The texts, some of them generalized.

    Returns
    -------
    numpy.ndarray or None
        Shape (values,). None: some are intervals and others words, or some are masked words.
    """
    cells = [None if _ALL.fullmatch(one.strip()) else one.strip() for one in values]
    partial = [one for one in cells if one is not None]
    if not partial:
        return np.ones(len(values))
    if any(_interval(one) is not None for one in partial) and not any(_members(one) is not None for one in partial):
        return _of_intervals(cells)
    if any("*" in one for one in partial):
        return None
    return _of_sets(cells)


def intervals_of(values: Sequence[str]) -> NDArray[np.float64] | None:
    """Ends of the intervals that different texts of a column are, open ones `closed`; None: not all are intervals.

    Parameters
    ----------
    values
        The texts; stars alone leave everything open.

    Returns
    -------
    numpy.ndarray or None
        Shape (values, 2): numbers, or days of the calendar by their ordinal.
    """
    texts = [one.strip() for one in values]
    ends = [(-math.inf, math.inf) if _ALL.fullmatch(one) else _interval(one) for one in texts]
    return None if None in ends else closed(np.array(ends, dtype=np.float64))


def closed(ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intervals whose open ends reach as far beyond all others as these span: nobody knows how far values go.

    Parameters
    ----------
    ends
        Shape (c, 2), infinite where open, NaN where missing.
    """
    known = ends[np.isfinite(ends)]
    least, most = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    beyond = max(most - least, 1.0)
    return np.nan_to_num(ends, nan=np.nan, posinf=most + beyond, neginf=least - beyond)


def sets_of(values: Sequence[str]) -> list[int]:
    """Number of values that each of some different texts leaves; words with stars leave at least two.

    Parameters
    ----------
    values
        The texts, sets and words among them.
    """
    return [2 if "*" in one else len(_members(one) or frozenset({one})) for one in values]


def _of_intervals(values: Sequence[str | None]) -> NDArray[np.float64] | None:
    ends = [None if one is None else _interval(one) for one in values]
    if any(end is None and one is not None for one, end in zip(values, ends, strict=True)):
        return None
    known = [end for pair in ends if pair is not None for end in pair if math.isfinite(end)]
    least, most = min(known), max(known)
    whole = most - least
    closed = [None if pair is None else (max(pair[0], least), min(pair[1], most)) for pair in ends]
    return np.array([1.0 if pair is None else (pair[1] - pair[0]) / whole if whole else 0.0 for pair in closed])


def _of_sets(values: Sequence[str | None]) -> NDArray[np.float64]:
    sets = [None if one is None else _members(one) or frozenset({one}) for one in values]
    every = len(frozenset[str]().union(*(one for one in sets if one is not None)))
    return np.array([1.0 if one is None else len(one) / every if len(one) > 1 else 0.0 for one in sets])


def _is_wide(interval: Interval | None) -> bool:
    return interval is not None and interval[0] < interval[1]


def _interval(text: str) -> Interval | None:
    """Both ends of an interval, infinite where it is open; those of a number are the same; None of any other text."""
    text = text.strip()
    if re.fullmatch(_NUMBER, text) or re.fullmatch(_DAY, text):
        return _ordered(text, text)
    for pattern in _ENDS:
        if match := pattern.fullmatch(text):
            return _ordered(match["lo"], match["hi"])
    if match := _MASKED.fullmatch(text):
        digits = len(match["stars"])
        return _ordered(match["head"] + "0" * digits, match["head"] + "9" * digits)
    if match := _BELOW.fullmatch(text):
        return _between(-math.inf, _value(match["hi"]))
    if match := _ABOVE.fullmatch(text):
        return _between(_value(match["lo"] or match["from"]), math.inf)
    return None


def _ordered(low: str, high: str) -> Interval | None:
    return _between(_value(low), _value(high))


def _between(low: float, high: float) -> Interval | None:
    return (low, high) if low <= high else None  # False for NaN


def _value(text: str) -> float:
    """A number or a day as a number; NaN where it is no day of the calendar or too large."""
    try:
        value = float(date.fromisoformat(text).toordinal()) if re.fullmatch(_DAY, text) else float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def _members(text: str) -> frozenset[str] | None:
    """Members of a set in braces or of a JSON array; None of any other text."""
    if match := _SET.fullmatch(text.strip()):
        return frozenset(one.strip().strip("'\"") for one in re.split("[,;]", match["members"]) if one.strip())
    if not text.startswith("["):
        return None
    try:
        members = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(members, list) or any(isinstance(one, (int, float)) for one in members):
        return None  # [20, 40] is an interval
    return frozenset(json.dumps(one) for one in members)
