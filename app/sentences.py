"""Messages as readers get them: full sentences, wherever in the code a part of them was written."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

#: What a sentence may begin with although it is lower-case: a letter that is a symbol, a name of a field or of a call.
_SYMBOL: Final = re.compile(r"(?!a\b)(?:[a-z]\b|[a-z]\w*_\w*|[a-z]+(?=:\s|\())")
_ENDS: Final = (".", "?", "!", ":", "…")


def sentence(text: str) -> str:
    """Return a message with a capital first letter, or with its first symbol in backticks, and with a stop.

    Parameters
    ----------
    text
        The fault, and the remedy; it may begin with a path, a number, a quotation or a name in backticks.
    """
    text = text.strip()
    if not text:
        return text
    if text[0].islower():
        symbol = _SYMBOL.match(text)
        text = text[0].upper() + text[1:] if symbol is None else f"`{symbol[0]}`{text[symbol.end() :]}"
    return text if text.endswith(_ENDS) else f"{text}."


def listed(parts: Sequence[str]) -> str:
    """Return parts of a sentence with commas, and the last with `and`; empty where there is none."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def together(faults: Iterable[tuple[str, str]], *, most: int = 5) -> str:
    """Return faults of several fields as one text: each with its place, the first `most` of them."""
    stated = [f"{place}: {sentence(detail)}" for place, detail in faults]
    return " ".join([*stated[:most], *(["…"] if len(stated) > most else [])])
