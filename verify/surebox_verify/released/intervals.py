"""Intervals of numbers and days as questions name them: closed, with None for an end that is open."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Final

from surebox_verify.envelope import UnreadableError

_ABOUT: Final = ("share", "domain_mean")
_EPOCH: Final = date(1970, 1, 1)
_LONG: Final = re.compile(r"-?[0-9]{16,4000}")
_FORM: Final = 'an `interval` is [lo, hi], two numbers or two days such as "2020-01-31", null for an open end'


def wrong_interval(kind: str, values: Any, interval: Any) -> str | None:
    """The faults of the interval of a statistic; None where nothing is.

    Parameters
    ----------
    kind, values : of the statistic.
    interval : its ends.
    """
    if kind not in _ABOUT:
        return f"a {kind} takes no `interval`; {' and '.join(_ABOUT)} do"
    if values is not None:
        return "either `values` or an `interval`"
    if not isinstance(interval, list | tuple) or len(interval) != 2:
        return _FORM
    ends = [each for each in interval if each is not None]
    days = [isinstance(each, str | date) for each in ends]
    if not ends or any(days) is not all(days) or any(map(_is_wrong, ends)):
        return _FORM
    if len(ends) == 2 and number_of(ends[0]) > number_of(ends[1]):
        return "the lower end of an `interval` is not above its upper one"
    return None


def _is_wrong(end: Any) -> bool:
    if isinstance(end, str):
        return _day(end) is None
    return not isinstance(end, date) and (isinstance(end, bool) or not isinstance(end, int | float) or end != end)


def as_sent(interval: Sequence[Any]) -> tuple[Any, Any]:
    """Both ends as they were sent: a certificate has whole numbers beyond 2^53 as texts."""
    low, high = (int(end) if isinstance(end, str) and _LONG.fullmatch(end) else end for end in interval)
    return low, high


def number_of(end: Any) -> float | int:
    """An end as a number: a day as it is counted from 1970."""
    day = _day(end) if isinstance(end, str) else end
    if isinstance(day, date):
        return (day - _EPOCH).days
    if not isinstance(day, int | float):
        raise UnreadableError(_FORM)
    return day


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()  # noqa: DTZ007 - a day has no zone
    except ValueError:
        return None


def is_within(value: Any, interval: Sequence[Any]) -> bool:
    """Whether a value is in an interval.

    Parameters
    ----------
    value : a number, or a day.
    interval : both ends.

    Raises
    ------
    UnreadableError
        A day is compared with numbers, or a number with days.
    """
    ends = [end for end in interval if end is not None]
    if any(isinstance(end, str | date) is not isinstance(value, date) for end in ends):
        msg = "the `interval` has days and the column numbers, or the other way round"
        raise UnreadableError(msg)
    place, (low, high) = number_of(value), (None if end is None else number_of(end) for end in interval)
    return (low is None or low <= place) and (high is None or place <= high)
