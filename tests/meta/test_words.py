"""Prose keeps to CONTRIBUTING.md: words of the dialect are rare, and descriptions say what a field is."""

import re
from collections import Counter

from tests.meta.prose import counted, documents, paragraphs, reference, sources, texts

#: Of each marker in 10,000 words, at most.
IN_DOCUMENTS, IN_TEXTS = 3.0, 5.0


def exceeded(words: int, markers: Counter[str], goal: float) -> dict[str, str]:
    """Markers of which there are more than the goal allows."""
    allowed = int(goal * words / 10_000)
    return {name: f"{n} times, {allowed} allowed" for name, n in markers.items() if n > allowed}


def test_documents_use_the_words_of_the_field() -> None:
    words, markers = counted(paragraphs(path) for path in documents())
    assert words > 20_000
    assert not exceeded(words, markers, IN_DOCUMENTS), "CONTRIBUTING.md, Prose"


def test_the_reference_uses_the_words_of_the_field() -> None:
    words, markers = counted(reference())
    assert words > 10_000
    assert not exceeded(words, markers, IN_DOCUMENTS), "CONTRIBUTING.md, Prose"


def test_texts_of_the_code_use_the_words_of_the_field() -> None:
    words, markers = counted(text for path in sources() for text in texts(path))
    assert words > 100_000
    assert not exceeded(words, markers, IN_TEXTS), "CONTRIBUTING.md, Prose"


def test_an_attacker_is_they() -> None:
    """CONTRIBUTING.md, Prose: an attacker is *they*."""
    prose = [*map(paragraphs, documents()), *reference(), *(text for path in sources() for text in texts(path))]
    a_man = re.compile(r".{0,40}\b(?:he|him|his|himself)\b.{0,40}", re.IGNORECASE)
    assert [match.group() for text in prose for match in a_man.finditer(text)] == []
