"""Base of a statistic: the released records that have its columns, each once or by its weight.

`Readings.base` reads it from the boxes that a statistic is computed from. The number of these records follows from the
published rows: a box without a side of a column, or a row without a value next to its box, shows that the value is
missing. A set that has the missing value among others counts as a value.
"""

from dataclasses import dataclass
from typing import Any, Final

#: The base of a statistic, and how it is written after a number of records.
WORDS: Final = {
    "records": "",
    "records_with_value": " with a value",
    "weighted": ", weighted",
    "weighted_with_value": " with a value, weighted",
}


@dataclass(frozen=True)
class Base:
    """The records that a statistic is about.

    Attributes
    ----------
    n : released records that have a value in each of its columns.
    released : all released records.
    weighted : whether they count by their weights.
    """

    n: int
    released: int
    weighted: bool

    @property
    def name(self) -> str:
        """One of `WORDS`."""
        what = "weighted" if self.weighted else "records"
        return what if self.n == self.released else f"{what}_with_value"


def said_of(base: Base | None) -> dict[str, Any]:
    """Return the fields `base` and `n` of a statistic as it is published; null of one that has no answer."""
    return {"base": None if base is None else base.name, "n": None if base is None else base.n}


def counted_in_words(base: str | None, n: int | None) -> str:
    """Return a base as a report has it: `590 records with a value, weighted`; nothing where it is not known.

    Parameters
    ----------
    base : one of `WORDS`.
    n : the number of records.
    """
    if base is None or n is None:
        return ""
    return f"{n:,} {'record' if n == 1 else 'records'}{WORDS.get(base, '')}"
