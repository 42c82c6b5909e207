"""Texts that a spreadsheet would run as a formula, as a CSV file for spreadsheets has them, and read back as written.

An apostrophe is put before a text, or before a sign within it, that a spreadsheet would run, and before as many of such
apostrophes as the text has already: a reader takes one away wherever there is one, and has the text that was written.
Patterns are those of Python and of Rust: blanks and invisible characters are listed, for the two have other classes.
"""

import re
from collections.abc import Iterable
from typing import Final

#: White space, control and format characters: what is not seen before a sign.
_BLANKS: Final = (
    r"\u0000-\u0020\u007f-\u00a0\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u1680\u180e\u2000-\u200f"
    r"\u2028-\u202f\u205f-\u206f\u3000\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)
_SIGNS: Final = (
    r"[=+\-@\uff1d\uff0b\uff0d\uff20"  # full-width
    r"\ufe66\ufe62\ufe63\ufe6b\u207c\u207a\u208c\u208a\ufb29]"  # small, raised, lowered, Hebrew
)
#: Text that a spreadsheet runs as a formula when it opens a CSV file, or that is one but for apostrophes: blanks may be
#: before the sign, in whatever form (NFKC makes them one); a lone sign is none.
FORMULA: Final = rf"(?s)^'*(?:[\t\r\n]|[{_BLANKS}]*'*{_SIGNS})."
#: The same inside a text, after what another reader of the file may take for the end of a cell; and what is put there.
INSIDE: Final = rf"""([,;|\t\r\n"][{_BLANKS}"]*)('*{_SIGNS})"""

_FORMULA: Final = re.compile(FORMULA.replace("^'*", "^''*", 1))
_INSIDE: Final = re.compile(INSIDE.replace("('*", "'('*", 1))


def original(text: str) -> str:
    """A text of a CSV file for spreadsheets as it was before apostrophes were put into it."""
    if "'" not in text:
        return text
    whole = text[1:] if _FORMULA.match(text) else text
    return _INSIDE.sub(r"\1\2", whole)


def originals(texts: Iterable[str | None]) -> list[str | None]:
    """The same of many texts, missing ones among them."""
    return [None if text is None else original(text) for text in texts]
