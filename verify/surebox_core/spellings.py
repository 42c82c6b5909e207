"""Equality of two texts, and spellings of one word.

Texts are *equal* under Unicode's normal form C: whatever is compared is brought into it first (`in_normal_form`), where
it comes in. Texts that are not equal are *alike* if they differ in case, blanks, invisible or compatibility characters
alone, or in characters that look alike (`HIV`, `hiv`, `H IV`, a Cyrillic letter for a Latin one). Nobody learns from
two of them more than from one, so what counts values of a sensitive column counts those that are alike as one
(`spelling_classes`); nothing is rewritten because of it.

Notation
--------
bare : a text without blanks and invisible characters, in normal form KD.
A text has three keys, and two texts are alike if they share one, directly or through others of the same column:
    its letters in lower case;
    its shapes: each character as the first of its class of look-alikes, in which 0 and O, and 1, I and l are one;
    its letters in lower case with those of ASCII in the place of others that look like them.
No single key does: nu looks like v, and its capital like N; I is the capital of i, and looks like l.

Source: Unicode Standard Annex 15 (normal forms); Unicode Technical Standard 39, section 4 (confusable characters).
"""

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from surebox_core.lookalikes import CLASSES

#: Characters that are no blanks by their category, and show nothing.
_EMPTY: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_INVISIBLE: Final = ("Z", "Cc", "Cf")
_VARIATIONS: Final = ((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
_DOTTED: Final = "i\u0307"  # what a capital I with a dot becomes


def in_normal_form(text: str) -> str:
    """Return a text in normal form C, in which texts are compared."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def spelling_classes(values: Sequence[str]) -> list[int]:
    """Return the place of the first value that each one is alike to; its own where there is none before it.

    Parameters
    ----------
    values
        Different values of one column.

    Notes
    -----
    O(characters) for n values.
    """
    return classes_of(spelling_keys(value) for value in values)


def classes_of(keys: Iterable[tuple[str, str, str]]) -> list[int]:
    """Return the same by the keys of the values."""
    above: list[int] = []

    def root(place: int) -> int:
        while above[place] != place:
            above[place] = above[above[place]]
            place = above[place]
        return place

    first: dict[tuple[int, str], int] = {}
    for place, each in enumerate(keys):
        above.append(place)
        for key in enumerate(each):
            other = first.setdefault(key, place)
            if other != place:
                low, high = sorted((root(place), root(other)))
                above[high] = low
    return [root(place) for place in range(len(above))]


def are_alike(one: str, other: str) -> bool:
    """Return whether two texts are equal, or spellings of one word."""
    return any(mine == theirs for mine, theirs in zip(spelling_keys(one), spelling_keys(other), strict=True))


def spelling_keys(text: str) -> tuple[str, str, str]:
    """Return the three keys of a text, of which those that are alike share one."""
    if text.isascii():
        bare = "".join(text.split()).translate(_CONTROLS)
        lower = bare.lower()
        return lower, bare.translate(_SHAPES), lower
    bare = unicodedata.normalize("NFKD", text).translate(_VISIBLE)
    letters = _folded(_folded(bare.translate(_LETTERS)).translate(_LETTERS))
    return _folded(bare), bare.translate(_SHAPES), letters


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKD", text.casefold()).replace(_DOTTED, "i")


class _Visible(dict[int, str | None]):
    """Each character as it is, and blanks and invisible ones as none; each is looked at once."""

    def __missing__(self, code: int) -> str | None:
        self[code] = kept = None if _is_invisible(chr(code)) else chr(code)
        return kept


def _is_invisible(character: str) -> bool:
    if character.isspace() or character in _EMPTY or unicodedata.category(character).startswith(_INVISIBLE):
        return True
    return any(low <= ord(character) <= high for low, high in _VARIATIONS)


def _classes() -> Iterator[str]:
    for codes in CLASSES.split(";"):
        yield "".join(chr(int(code, 16)) for code in codes.split())


def _shapes() -> Mapping[int, str]:
    """Each character as the first of its class."""
    return {ord(each): one[0] for one in _classes() for each in one}


def _letters() -> Mapping[int, str]:
    """Each character beyond ASCII as one of ASCII that it looks like, itself or as a capital; else as the first."""
    table: dict[int, str] = {}
    others: list[str] = []
    for one in _classes():
        plain = [each for each in one if each.isascii()]
        if plain:
            table |= {ord(each): _nearest(each, plain) for each in one if not each.isascii()}
        else:
            others.append(one)
    for one in others:
        capitals = [table[ord(each.upper())] for each in one if len(each.upper()) == 1 and ord(each.upper()) in table]
        table |= {ord(each): capitals[0].lower() if capitals else one[0] for each in one}
    return table


def _nearest(character: str, plain: Sequence[str]) -> str:
    """Replace 1, I and l, or 0 and O, by the one that suits the letters or digits next to it."""
    if character.isupper():
        return next((each for each in plain if each.isupper()), plain[0])
    return plain[0] if character.isdecimal() else next((each for each in plain if each.islower()), plain[0])


_CONTROLS: Final = dict.fromkeys([*range(0x20), 0x7F])
_VISIBLE: Final = _Visible()
_SHAPES: Final = _shapes()
_LETTERS: Final = _letters()
