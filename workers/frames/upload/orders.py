"""Columns of words that have an order: which words, how they are written, and the advice about them.

The words are those of `app.contracts.advice`. The advice lists all words of a form, whichever of them the column has.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Final

import polars as pl

from app.contracts import advice
from app.contracts.advice import LEAST_ORDERED, MISSING_WORDS, ORDERED, Ordered
from app.contracts.warnings import JobWarning, WarningCode, warning
from workers.frames.upload.advice import Sent
from workers.frames.upload.names import column_at

#: Different words of a column beyond which they are no classes.
_MOST: Final = 100
_MEANT: Final = 0.5
_STYLES: Final[tuple[Callable[[str], str], ...]] = (str, str.lower, str.upper)
_DIGIT: Final = re.compile(r"\d")
_ENDS: Final = re.compile(r"\s?(?:-|\u2013|to)\s?")


def ordered_words(sent: Sent, advised: Iterable[JobWarning]) -> Iterator[JobWarning]:
    """Yield advice about columns of words that have an order.

    Parameters
    ----------
    sent
        The file.
    advised
        What is said of columns of text otherwise.
    """
    known = {one.pointer for one in advised}
    for j, (name, given) in enumerate(zip(sent.names, sent.declared, strict=True)):
        if name in sent.samples and not given and f"/columns/{j}" not in known:
            said = _order(sent, name)
            if said is not None:
                where = column_at(j + 1, sent.names)
                yield warning(WarningCode.ORDERED_WORDS, f"C{where[1:]} was read as text: {said}", f"/columns/{j}")


def _order(sent: Sent, name: str) -> str | None:
    sample = _without_missing(sent.counts(name))
    if not len(sample) or len(sample) > _MOST:
        return None
    seen = sample["word"].to_list()
    kind = next((each for each in ORDERED if _some_may_be(each, seen) and _share(sample, each) > _MEANT), None)
    if kind is None:
        return None
    cells = pl.concat([sent.counts(name).clear(), *sent.groups(name)])
    cells, total = cells.group_by("word").sum(), int(cells["cells"].sum())
    missing = sorted(set(cells["word"]) & set(MISSING_WORDS))
    cells = _without_missing(cells)
    words = cells.filter(_are(kind, cells["word"]))
    count, different = int(words["cells"].sum()), words["word"].to_list()
    if not LEAST_ORDERED <= len(different) <= _MOST or count <= _MEANT * total:
        return None
    order = _form(kind, different)
    several = not order and bool(kind.forms)
    commas, others = any("," in word for word in different), int(cells["cells"].sum()) - count
    said = advice.in_order(name, order, several=several, commas=commas, missing=missing, others=others)
    return f"{advice.cells(count, total)} {kind.what}. {said}"


def _without_missing(cells: pl.DataFrame) -> pl.DataFrame:
    return cells.filter(~pl.col("word").is_in(MISSING_WORDS))


@cache
def _spelled(kind: Ordered) -> frozenset[str]:
    return frozenset(style(word) for form in kind.forms for word in form for style in _STYLES)


def _some_may_be(kind: Ordered, words: Sequence[str]) -> bool:
    """Return whether a word may be of a kind: of most columns none is, which takes no time to see."""
    return any(map(_DIGIT.search, words)) if kind.pattern is not None else not _spelled(kind).isdisjoint(words)


def _share(cells: pl.DataFrame, kind: Ordered) -> float:
    """Return the share of cells that are words of a kind."""
    return int(cells.filter(_are(kind, cells["word"]))["cells"].sum()) / int(cells["cells"].sum())


def _are(kind: Ordered, words: pl.Series) -> pl.Series:
    """Return which words are of a kind."""
    if kind.pattern is not None:
        return words.str.contains(f"^(?:{kind.pattern})$") & words.map_elements(_ascends, pl.Boolean)
    return words.is_in(list(_spelled(kind)))


def _ascends(word: str) -> bool:
    """Return whether a class of numbers, if it has two ends, has the lesser one first."""
    ends = [re.sub(r"[^\d.]", "", end) for end in _ENDS.split(word)]
    try:
        first, *last = map(float, ends)
    except ValueError:
        return True
    return not last or first <= last[0]


def _form(kind: Ordered, words: Sequence[str]) -> tuple[str, ...]:
    """Return all words of the form that a column is written in; none where it is of no single one."""
    forms = (tuple(map(style, form)) for form in kind.forms for style in _STYLES)
    return next((form for form in forms if set(words) <= set(form)), ())
