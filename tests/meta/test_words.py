"""Prose keeps to CONTRIBUTING.md: words of the dialect become fewer, and descriptions say what a field is."""

from collections import Counter

from tests.meta.prose import counted, documents, paragraphs, reference, sources, texts

#: Of each marker in 10,000 words: the goal.
IN_DOCUMENTS, IN_TEXTS = 3.0, 5.0

#: Where the goal is not reached, how many there may be: only ever fewer.
DOCUMENTS: dict[str, int] = {
    "what is, as a noun": 46,
}
REFERENCE: dict[str, int] = {
    "stands for is": 6,
    "holds": 13,
    "says": 12,
    "in the place of": 5,
    "what is, as a noun": 44,
    "is to": 8,
}
TEXTS: dict[str, int] = {
    "asked": 225,
    "told, tells": 199,
    "nobody, somebody, anybody, everybody": 164,
    "stands for is": 236,
    "lies for is": 159,
    "holds": 307,
    "says": 449,
    "beside": 136,
    "what is, as a noun": 646,
}


def exceeded(words: int, markers: Counter[str], goal: float, ceilings: dict[str, int]) -> dict[str, str]:
    """Markers of which there are more than the goal and the ceiling allow."""
    allowed = {name: max(int(goal * words / 10_000), ceilings.get(name, 0)) for name in markers}
    return {name: f"{n} times, {allowed[name]} allowed" for name, n in markers.items() if n > allowed[name]}


def outdated(words: int, markers: Counter[str], goal: float, ceilings: dict[str, int]) -> dict[str, int]:
    """Ceilings that have become needless, or are a quarter too high."""
    return {
        name: markers[name]
        for name, ceiling in ceilings.items()
        if markers[name] <= goal * words / 10_000 or ceiling > 1.25 * markers[name] + 5
    }


def test_documents_use_the_words_of_the_field() -> None:
    words, markers = counted(paragraphs(path) for path in documents())
    assert words > 20_000
    assert not exceeded(words, markers, IN_DOCUMENTS, DOCUMENTS), "CONTRIBUTING.md, Prose"
    assert not outdated(words, markers, IN_DOCUMENTS, DOCUMENTS), "lower these ceilings"


def test_the_reference_uses_the_words_of_the_field() -> None:
    words, markers = counted(reference())
    assert words > 10_000
    assert not exceeded(words, markers, IN_DOCUMENTS, REFERENCE), "CONTRIBUTING.md, Prose"
    assert not outdated(words, markers, IN_DOCUMENTS, REFERENCE), "lower these ceilings"


def test_texts_of_the_code_use_the_words_of_the_field() -> None:
    words, markers = counted(text for path in sources() for text in texts(path))
    assert words > 100_000
    assert not exceeded(words, markers, IN_TEXTS, TEXTS), "CONTRIBUTING.md, Prose"
    assert not outdated(words, markers, IN_TEXTS, TEXTS), "lower these ceilings"
