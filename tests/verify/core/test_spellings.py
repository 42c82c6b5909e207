"""Texts that are equal, and spellings of one word."""

import unicodedata

import numpy as np
import pytest

from surebox_core.spellings import are_alike, in_normal_form, spelling_classes
from tests.drawing import seeds

#: Each row is of one word; by hand, with letters of Latin, Greek and Cyrillic, full width, and what shows nothing.
ALIKE = [
    ["HIV", "hiv", "HIV ", "\u041dIV", "H\u200bIV", "HlV", "\u041d\u0406V", "\uff28\uff29\uff36", "H\u00a0IV"],
    ["hiv", "\u043div", "HIV"],
    ["José", "JOSÉ", "Jose\u0301", " josé", "J\u043es\u00e9"],
    ["\u03bd\u03b1\u03b9", "\u039d\u0391\u0399"],
    ["Straße", "STRASSE", "stra\u00dfe"],
    ["paypal", "p\u0430yp\u0430l", "PayPal", "pay\u00adpal"],
    ["E10", "EIO", "ElO", "\u0415\u0031\u0030"],
    ["\u0433\u043e\u0434", "\u0413o\u0434", "\u0413\u041e\u0414"],
    ["\u0130zmir", "izmir", "\u0131zmir"],
]
DIFFERENT = [
    ["José", "Jose"], ["HIV", "HIVE"], ["AL", "IL"], ["10", "100"], ["a b", "a-b"], ["é", "è"], ["1", "2"],
]  # fmt: skip


@pytest.mark.parametrize("words", ALIKE)
def test_spellings_of_one_word_are_alike(words: list[str]) -> None:
    assert set(spelling_classes(words)) == {0}


@pytest.mark.parametrize("words", DIFFERENT)
def test_other_words_are_not(words: list[str]) -> None:
    assert spelling_classes(words) == list(range(len(words)))


def test_the_capital_of_a_letter_is_alike_whatever_it_looks_like() -> None:
    """Each letter that Unicode has in two cases, with its accents."""
    letters = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Ll"]
    assert len(letters) > 2000
    assert [one for one in letters if not are_alike(f"{one}x", f"{one}x".upper())] == []


@pytest.mark.parametrize("seed", seeds(20))
def test_classes_are_those_of_pairs_that_are_alike(seed: int) -> None:
    """The closure of pairs, by brute force; and in whichever order the values come, and in each normal form."""
    draw = np.random.default_rng(seed)
    letters = [*"aA1IliO0o \té-", "e\u0301", "\u0410", "\u0430", "\u200b", "\u03bd", "v", "\u039d", "N", "'", "`"]
    drawn = {"".join(draw.choice(letters, draw.integers(1, 4))) for _ in range(40)}
    values = [str(one) for one in draw.permutation(sorted(drawn))]
    classes = spelling_classes(values)
    of = list(range(len(values)))
    for _ in values:
        for one, mine in enumerate(values):
            for other, theirs in enumerate(values):
                if are_alike(mine, theirs):
                    of[one] = of[other] = min(of[one], of[other])
    assert classes == of
    normal = [in_normal_form(value) for value in values]
    assert spelling_classes(normal) == classes
    assert all(are_alike(*pair) for pair in zip(values, normal, strict=True))
