"""Questions for the sender: columns that were read, and could mean something else; records that may be nobody's."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from app.contracts import advice
from app.contracts.advice import MISSING_IN_TEXTS, MISSING_NUMBERS, TOTALS
from app.contracts.datasets import DELIMITED, ColumnType, FileFormat, NumericSummary
from app.contracts.warnings import JobWarning, WarningCode, warning
from workers.frames.upload.advice import Sent, bits
from workers.frames.upload.inference import DATE
from workers.frames.upload.names import column_at
from workers.frames.upload.notations import Notation

#: Days as whole numbers are asked about in these years.
_FIRST_DAY, _LAST_DAY = 1850_01_01, 2100_12_31
#: A number stands for missing values if it is in several cells, and as many times the next one.
_OFTEN: Final = 2
_FAR: Final = 5
#: Characters of `comment` of an upload.
_LONGEST_COMMENT: Final = 10

#: Texts that are looked for in each column of text.
ODD: Final = frozenset((*MISSING_IN_TEXTS, *TOTALS))


def questions(
    sent: Sent,
    numeric: Mapping[str, NumericSummary],
    grouped: Sequence[bool],
    odd: Mapping[str, frozenset[str]],
    advised: Iterable[JobWarning],
) -> Iterator[JobWarning]:
    """Yield questions about columns and records.

    Parameters
    ----------
    sent
        The file.
    numeric
        Least and greatest values.
    grouped
        Columns whose points could stand between thousands, shape (columns,).
    odd
        By column of text, those of :data:`ODD` and of its name that are a value of it.
    advised
        What is said of columns of text otherwise.
    """
    known = {one.pointer for one in advised}
    for j, (name, kind, given) in enumerate(zip(sent.names, sent.types, sent.declared, strict=True)):
        where = column_at(j + 1, sent.names)
        details = []
        if grouped[j] and not given and _is_plain(sent):
            details.append(advice.groups_or_fraction(where))
        if kind is ColumnType.INTEGER and not given and _are_days(sent, name, numeric[name]):
            can_read = sent.options.format in DELIMITED or sent.options.format is FileFormat.NDJSON
            details.append(advice.numbers_or_days(f"C{where[1:]}", can_read=can_read))
        if name in numeric and (word := _stands_for_missing(sent, name, numeric[name])) is not None:
            details.append(advice.value_or_missing(where, *word, number=True))
        if name in odd and not given and f"/columns/{j}" not in known:
            details += [
                advice.value_or_missing(where, word, count, number=False)
                for word, count in _counts(sent, name, odd[name] & set(MISSING_IN_TEXTS))
            ]
        yield from (warning(WarningCode.TWO_READINGS, detail, f"/columns/{j}") for detail in details)


def _is_plain(sent: Sent) -> bool:
    """Return whether nothing was requested of the notation of numbers, of a file where that can be."""
    options = sent.options
    return options.format in DELIMITED and (options.decimal or ".") == "." and not options.thousands


def nobodys(sent: Sent, odd: Mapping[str, frozenset[str]]) -> Iterator[JobWarning]:
    """Yield questions about records that are sums of others, or the header once more."""
    texts = [j for j, name in enumerate(sent.names) if name in odd]
    for j in texts:
        name = sent.names[j]
        for word, count in _counts(sent, name, odd[name] & set(TOTALS)):
            leads = j == 0 and sent.options.format in DELIMITED and _leads(sent, word, count)
            detail = advice.totals(column_at(j + 1, sent.names), word, count, leads=leads)
            yield warning(WarningCode.SUSPECT_ROWS, detail, f"/columns/{j}")
    named = [sent.names[j] for j in texts if sent.names[j] in odd[sent.names[j]]]
    if sent.options.header and len(named) > 1 and len(named) == len(sent.names):
        least = min(sum(count for _, count in _counts(sent, name, {name})) for name in named)
        yield warning(WarningCode.SUSPECT_ROWS, advice.repeated_header(least), "/rows")


def _leads(sent: Sent, word: str, count: int) -> bool:
    """Return whether `comment` with a word of the first column leaves out the lines with it, and no other.

    Fields may be in quotes, and have blanks before them, so the lines themselves are counted.
    """
    if sent.source is None or sent.options.comment is not None or len(word) > _LONGEST_COMMENT:
        return False
    with sent.source.open("rb") as file:
        lines = sum(line.startswith(word.encode()) for line in islice(file, sent.options.skip_rows, None))
    return lines == count and not any(
        bool((group["word"].str.starts_with(word) & (group["word"] != word)).any())
        for group in sent.groups(sent.names[0])
    )


def _counts(sent: Sent, name: str, words: set[str] | frozenset[str]) -> list[tuple[str, int]]:
    """Return how many cells of a column each word stands in."""
    counts = dict.fromkeys(sorted(words), 0)
    for group in sent.groups(name) if words else ():
        for word, cells in group.filter(pl.col("word").is_in(sorted(words))).iter_rows():
            counts[word] += cells
    return list(counts.items())


def _are_days(sent: Sent, name: str, summary: NumericSummary) -> bool:
    """Return whether all values of a column of whole numbers are days written without a mark."""
    least, largest = summary.finite_minimum, summary.finite_maximum
    if least is None or largest is None or least < _FIRST_DAY or largest > _LAST_DAY:
        return False
    notation = Notation.of(sent.options.model_copy(update={"date_format": "%Y%m%d"}))
    return all(bool((bits(group["word"].cast(pl.String), notation) & DATE > 0).all()) for group in sent.groups(name))


def _stands_for_missing(sent: Sent, name: str, summary: NumericSummary) -> tuple[str, int] | None:
    """Return a number far from all others that programs write for a missing value, and in how many cells it is."""
    least, largest = summary.finite_minimum, summary.finite_maximum
    if least is None or largest is None:
        return None
    for number in MISSING_NUMBERS:
        if number != (least if number < 0 else largest):
            continue
        count, next_one = 0, None
        for group in sent.groups(name):
            of_number = group["word"] == number
            count += int(group["cells"].filter(of_number).sum())
            others = group["word"].filter(~of_number)
            extreme = others.min() if number < 0 else others.max()
            if extreme is not None:
                values = [float(extreme)] + ([] if next_one is None else [next_one])  # type: ignore[arg-type]
                next_one = min(values) if number < 0 else max(values)
        far = next_one is not None and (next_one >= 0 if number < 0 else _FAR * max(next_one, 0) < number)
        if far and count >= _OFTEN:
            return str(number), count
    return None


class Nobodys:
    """Records without a value, counted while they are written."""

    def __init__(self) -> None:
        self.count = 0
        self.first = 0

    def add(self, arrays: list[pa.Array], before: int) -> None:
        """Take a batch into account, which follows `before` records."""
        if not arrays or any(array.null_count == 0 for array in arrays):
            return
        empty = np.ones(len(arrays[0]), np.bool_)
        for array in sorted(arrays, key=lambda each: int(each.null_count)):
            empty &= array.is_null().to_numpy(zero_copy_only=False)
            if not empty.any():
                return
        if not self.count:
            self.first = before + int(np.argmax(empty)) + 1
        self.count += int(empty.sum())

    def warnings(self) -> Iterator[JobWarning]:
        """Yield the statement, if there are any."""
        if self.count:
            yield warning(WarningCode.SUSPECT_ROWS, advice.nobodys_rows(self.count, self.first), "/rows")
