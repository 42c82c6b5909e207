"""`Prefer` (RFC 7240): how long a client is willing to wait for an answer, and whether it would rather not."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

#: Longest time a request waits, in seconds.
LONGEST_WAIT: Final = 30

_PREFERENCE: Final = re.compile(
    r"""\s*(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+)
        (?:\s*=\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<token>[!#$%&'*+.^_`|~0-9A-Za-z-]+))?)?
        (?:\s*;(?:[^",]|"(?:[^"\\]|\\.)*")*)?\s*""",
    re.VERBOSE,
)


def wait_seconds(headers: Iterable[str]) -> int | None:
    """The seconds of `wait`, at most `LONGEST_WAIT`; None when it is not asked for or cannot be understood.

    RFC 7240 has a bare number; `30s`, which people write, is read as well.
    """
    value = _preferences(headers).get("wait", "").removesuffix("s")
    if not (value.isascii() and value.isdigit()):
        return None
    return min(int(value[:10]), LONGEST_WAIT)


def respond_async(headers: Iterable[str]) -> bool:
    """Whether the client would rather have an answer at once."""
    return _preferences(headers).get("respond-async") == ""


def _preferences(headers: Iterable[str]) -> dict[str, str]:
    """Preferences by name; of one that stands twice the first counts (RFC 7240, section 2)."""
    preferences: dict[str, str] = {}
    for header in headers:
        for name, value in _parsed(header):
            preferences.setdefault(name, value)
    return preferences


def _parsed(header: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(header):
        match = _PREFERENCE.match(header, at)
        if match is not None and (match.end() == len(header) or header[match.end()] == ","):
            yield match["name"].lower(), match["quoted"] or match["token"] or ""
            at = match.end() + 1
        else:  # not a preference: skip to the next one
            comma = header.find(",", at)
            at = len(header) if comma < 0 else comma + 1
