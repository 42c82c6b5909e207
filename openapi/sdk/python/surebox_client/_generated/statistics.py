"""Statistics as a person writes them, such as ``mean(age)``; `openapi/statistics.json` has how each is read.

The Python client has a copy of this module (`make sdk`), for it stands alone: only the standard library is used.
"""

import json
import math
import re
from datetime import date
from typing import Any, Final

_WORDS: Final = re.compile(r"\s*(\w+)\s*\((.*)\)\s*", re.DOTALL)
#: A value, or a class, of a column that may have both of this name.
_NAMED: Final = r'\{\s*"(?:value|class)"\s*:\s*(?:"(?:[^"\\]|\\.)*"|[^",|{}]+)\s*\}'
_PART: Final = re.compile(rf'\s*(?:"((?:[^"\\]|\\.)*)"|((?:{_NAMED}|[^,"])+?))\s*(,|$)')
_ONE_OF: Final = re.compile(rf"\s*({_NAMED}|[^|]*?)\s*(\||$)")
_INTERVAL: Final = re.compile(r"\s*(\S*?)\s*\.\.\s*(\S*)\s*")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
#: About values of their last column: share(job=army|other), domain_mean(wage, age=20..40).
_OF_VALUES: Final = ("share", "domain_mean")
_TRUTHS: Final = {"true": True, "false": False}


def parse_statistic(text: str) -> Any:
    """Read one statistic.

    Parameters
    ----------
    text : such as ``mean(wage)``, ``quantile(wage, 0.5)``, ``share(job)``, ``share(job=army|other)``,
        ``share(code={"class": "E10"})`` where a value has this name too,
        ``domain_mean(wage, age=20..40)``, ``regression(income, age)``,
        ``prediction(income, age=40)``, a name with a comma in ``"…"``; or the JSON object of the contract.

    Returns
    -------
    dict
        The JSON object of the contract.

    Raises
    ------
    ValueError
        It is none; the message shows how one is written.
    """
    if text.lstrip().startswith("{"):
        return json.loads(text)
    words = _WORDS.fullmatch(text)
    if words is None:
        raise ValueError(f"{text!r} is no statistic: write it as mean(age) or correlation(age, hours)")
    kind, parts = words.group(1), _parts(words.group(2), text)
    statistic: dict[str, Any] = {"kind": kind, "of": parts}
    if kind == "quantile":
        statistic |= {"of": parts[:-1], "p": _share(parts, text)}
    if kind == "prediction":
        named = [part.partition("=") for part in parts[1:]]
        at = [_value(each.strip()) for _, _, each in named]
        statistic |= {"of": [*parts[:1], *(name.strip() for name, _, _ in named)], "at": at}
        if not named or "" in at:
            raise ValueError(f"{text!r}: name a value of each predictor, as in prediction(income, age=40)")
    if kind in _OF_VALUES and parts and "=" in parts[-1]:
        name, _, values = parts[-1].partition("=")
        ends = _interval(values.strip())
        about = {"values": _values(values)} if ends is None else {"interval": ends}
        statistic |= {"of": [*parts[:-1], name.strip()], **about}
    return statistic


def _parts(text: str, whole: str) -> list[str]:
    parts, start = [], 0
    while start < len(text):
        part = _PART.match(text, start)
        if part is None:
            raise ValueError(f'{whole!r}: columns are between commas, in "…" where a name has a comma')
        quoted, plain, _ = part.groups()
        parts.append(plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
        start = part.end()
    return parts


def _share(parts: list[str], whole: str) -> float:
    try:
        share = float(parts[-1]) if len(parts) > 1 else math.nan
    except ValueError:
        share = math.nan
    if not 0 < share < 1:
        raise ValueError(f"{whole!r}: the last part is a number above 0 and below 1, as in quantile(age, 0.5)")
    return share


def _values(text: str) -> list[Any]:
    """Read the parts between bars: texts as they are, and values and classes that are named as such."""
    values, start = [], 0
    while start <= len(text) and (one := _ONE_OF.match(text, start)) is not None:
        values.append(_name(one.group(1)))
        start = one.end() if one.group(2) else len(text) + 1
    return values


def _name(text: str) -> Any:
    if not re.fullmatch(_NAMED, text):
        return text
    try:
        name = json.loads(text)
    except ValueError:
        name = {}
    if not name or not all(each is None or isinstance(each, str | int | float) for each in name.values()):
        raise ValueError(f'{text!r}: write the name in quotes, as in {{"class": "E10"}}')
    return name


def _value(text: str) -> Any:
    """A number, a day, true or false, a text as it is, or what is named as a value or a class."""
    if text.startswith("{"):
        return _name(text)
    try:
        return _TRUTHS[text] if text in _TRUTHS else _end(text)
    except ValueError:
        return text


def _interval(text: str) -> list[Any] | None:
    ends = _INTERVAL.fullmatch(text)
    if ends is None or not any(ends.groups()):
        return None
    try:
        low, high = (_end(each) if each else None for each in ends.groups())
    except ValueError:
        return None
    if low is not None and high is not None and isinstance(low, str) is isinstance(high, str) and low > high:
        raise ValueError(f"{text!r}: the lower end of an interval is not above its upper one")
    return [low, high]


def _end(text: str) -> Any:
    if _DAY.fullmatch(text):
        return date.fromisoformat(text).isoformat()
    number = int(text) if text.lstrip("+-").isdecimal() else float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number
