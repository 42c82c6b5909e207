"""As what else the columns of a file could be read, by trying: the readings of `app.contracts.advice`, one by one.

A column of text is first tried on a sample. Of the ways that fit many of its cells all cells are counted, by the very
code that would read the file if the advice was followed. Words come from the table alone, and no cell stands in them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from app.contracts import advice as words_of
from app.contracts.advice import (
    BOOLEANS,
    DAYS,
    MISSING_WORDS,
    NUMBERS,
    PLAIN_DAYS,
    SIGNED,
    UNREAD,
    Options,
    Reading,
    Unread,
)
from app.contracts.datasets import DELIMITED, NUMERIC, ColumnType, FileFormat, ReadOptions
from app.contracts.warnings import JobWarning, WarningCode, warning
from app.sentences import listed
from workers.frames.upload.building import cells_of, texts_of
from workers.frames.upload.cells import Cells
from workers.frames.upload.inference import AS_NUMBER, BOOLEAN, DATE, INTEGER, NUMBER, bits_of
from workers.frames.upload.names import column_at
from workers.frames.upload.notations import Notation

#: Share of a sample that a way fits from which on all cells are counted; and share of all cells that makes advice.
_TRIED, _MEANT = 0.4, 0.5
#: Share of the cells with a unit that have the commonest one.
_ONE_UNIT: Final = 0.9
_LEADING_ZERO: Final = r"^[-+]?0\d"
_PLUS: Final = "+"
#: How numbers and days begin that an option reads, and what the other kinds look like.
_BEGINS: Final = r"^[-+]?[\d.,]|^[-+]?(?i:inf|nan)|^(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
_ANY_UNREAD: Final = f"^(?:{'|'.join(kind.pattern for kind in UNREAD)})$"

_CODES: Final = {
    "numbers": WarningCode.NEARLY_NUMERIC, "days": WarningCode.NEARLY_DATE, "booleans": WarningCode.NEARLY_BOOLEAN,
}  # fmt: skip

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sent:
    """A file that was sent, as it stands in its typed copy.

    Attributes
    ----------
    copy
        The typed copy.
    options
        How the file was read.
    names, types, declared
        Of all columns; whether the request states the type.
    samples
        Cells of columns of text.
    dotted
        Columns of numbers some of which have a point.
    source
        The file itself in UTF-8; None of Parquet.
    """

    copy: Path
    options: ReadOptions
    names: Sequence[str]
    types: Sequence[ColumnType]
    declared: Sequence[bool]
    samples: Mapping[str, pl.Series]
    dotted: Sequence[bool]
    source: Path | None = None
    _counts: dict[str, pl.DataFrame] = field(default_factory=dict, init=False)

    def counts(self, name: str) -> pl.DataFrame:
        """Return the different values among the cells of a column of text, with their counts."""
        if name not in self._counts:
            self._counts[name] = counted(self.samples[name])
        return self._counts[name]

    def groups(self, name: str) -> Iterator[pl.DataFrame]:
        """Yield the different values of a column with their counts (`word`, `cells`), of a group of rows at a time."""
        with pq.ParquetFile(self.copy, pre_buffer=False) as file:
            for group in range(file.num_row_groups):
                column = file.read_row_group(group, columns=[name]).column(name)
                yield counted(pl.Series("word", pl.from_arrow(column)))


def counted(cells: pl.Series) -> pl.DataFrame:
    """Return the different values of a column that are not missing, with their counts."""
    return cells.alias("word").drop_nulls().value_counts(name="cells")


@dataclass
class _Way:
    """One way of reading a column of text, and what was counted of it."""

    kind: Reading | Unread
    cells: int = 0
    #: Bits that all cells of it have.
    every: int = 2047
    differs: set[int] = field(default_factory=set)

    def fits(self, words: pl.Series, sent: Sent) -> tuple[Mask, npt.NDArray[np.int64]]:
        """Return which words are so written, and what each can be then."""
        if isinstance(self.kind, Unread):
            mask = words.str.contains(f"^(?:{self.kind.pattern})$").to_numpy()
            return mask, np.zeros(len(words), np.int64)
        can_be = bits(words, _notation(self.kind, sent.options))
        if self.kind is BOOLEANS:
            wanted = BOOLEAN
        elif self.kind in SIGNED:
            wanted = AS_NUMBER
        else:
            wanted = DATE if self.kind.days else INTEGER | NUMBER
        return can_be & wanted > 0, can_be

    @property
    def family(self) -> str:
        """`booleans`, `days` or `numbers`: one name for all notations."""
        return "booleans" if self.kind is BOOLEANS else "days" if self.kind.days else "numbers"


def fitting(kind: Reading | Unread, words: pl.Series, sent: Sent) -> Mask:
    """Return which words are written in a way."""
    return _Way(kind).fits(words, sent)[0]


def _notation(kind: Reading, options: ReadOptions) -> Notation:
    """Return how a file is read with the options of a way in place of those it was read with."""
    pattern = kind.options.get("date_format", options.date_format)
    if kind.days or kind is BOOLEANS:
        return Notation.of(options.model_copy(update={"date_format": pattern}))
    marks = {"decimal": kind.options.get("decimal", "."), "thousands": kind.options.get("thousands")}
    return Notation.of(options.model_copy(update=marks))


def bits(words: pl.Series, notation: Notation) -> npt.NDArray[np.int64]:
    """Return what each word can be in a notation."""
    cells, every = _cells(words), np.empty(len(words), np.int64)
    is_plain = notation.is_plain
    bits_of(cells.buffer, cells.start, cells.end, cells.kind, notation.marks, notation.pattern, is_plain, every)
    return every


def _cells(words: pl.Series) -> Cells:
    return cells_of(words.to_arrow().cast(pa.string()), np.arange(len(words)), 1)


def advice(sent: Sent) -> Iterator[JobWarning]:
    """Yield advice about columns of text that could be something else, in the order of the columns."""
    for j, (name, kind, given) in enumerate(zip(sent.names, sent.types, sent.declared, strict=True)):
        if kind is ColumnType.STRING and not given and name in sent.samples:
            advised = _advised(sent, name)
            if advised is not None:
                code, detail = advised
                where = column_at(j + 1, sent.names)
                yield warning(code, f"C{where[1:]} was read as text: {detail}", f"/columns/{j}")


def _advised(sent: Sent, name: str) -> tuple[WarningCode, str] | None:
    sample = sent.counts(name)
    if not len(sample):
        return None
    leads, others = _tried(sample, sent)
    if not leads:
        return None
    count = _Count.of(sent.groups(name), leads, others, sent)
    return count.said(sent, name)


def _tried(sample: pl.DataFrame, sent: Sent) -> tuple[list[_Way], list[_Way]]:
    """Return the ways that fit many cells of a sample, and all others that fit some."""
    words, cells = sample["word"], sample["cells"].to_numpy()
    shares = []
    for kind in kinds_of(words):
        mask = fitting(kind, words, sent)
        if isinstance(kind, Unread) and kind.one_unit and not _one_unit(words.filter(pl.Series(mask))):
            continue
        shares.append((cells[mask].sum() / cells.sum(), _Way(kind)))
    leads = [way for share, way in shares if share >= _TRIED]
    if not leads and sum(share for share, _ in shares) >= _TRIED:  # written in several ways
        leads = [max(shares, key=lambda each: float(each[0]))[1]]
    return leads, [way for share, way in shares if share > 0 and way not in leads]


def kinds_of(words: pl.Series) -> list[Reading | Unread]:
    """Return the kinds that words may be of, at least those that any is of; of most columns of text it is one."""
    kinds: list[Reading | Unread] = [BOOLEANS]
    if words.str.contains(_BEGINS).any():
        kinds = [PLAIN_DAYS, *DAYS, BOOLEANS]
        signed = bool((words.str.starts_with(_PLUS)).any()) and not bool(words.str.starts_with(_PLUS).all())
        if not words.str.contains(_LEADING_ZERO).any():  # leading zeros make codes, not numbers
            kinds = [*NUMBERS, *(SIGNED if signed else ()), *kinds]
    return [*kinds, *(UNREAD if words.str.contains(_ANY_UNREAD).any() else ())]


def _one_unit(words: pl.Series) -> bool:
    """Return whether nearly all words end with the same letters."""
    units = Counter(words.str.extract(r"([^\d\s.,]+)$").to_list())
    return bool(units) and units.most_common(1)[0][1] >= _ONE_UNIT * len(words)


@dataclass
class _Count:
    """All cells of a column, counted by the ways of reading them."""

    ways: list[_Way]
    total: int = 0
    #: Cells that are written otherwise, in a way of numbers or days; by words of missing values; and the rest.
    unlike: int = 0
    missing: Counter[str] = field(default_factory=Counter)
    others: int = 0

    @classmethod
    def of(cls, groups: Iterable[pl.DataFrame], leads: list[_Way], others: list[_Way], sent: Sent) -> "_Count":
        """Count groups of rows."""
        made = cls(leads)
        for group in groups:
            if len(group):
                made._add(group, others, sent)
        return made

    def _add(self, group: pl.DataFrame, others: list[_Way], sent: Sent) -> None:
        words, cells = group["word"], group["cells"].to_numpy()
        self.total += int(cells.sum())
        masks = []
        for way in self.ways:
            mask, can_be = way.fits(words, sent)
            way.cells += int(cells[mask].sum())
            way.every &= int(np.bitwise_and.reduce(can_be[mask])) if mask.any() else way.every
            masks.append(mask)
        self._compare(words, masks, sent)
        best = max(range(len(masks)), key=lambda i: self.ways[i].cells)
        alike = [way for way in (*self.ways, *others) if way.family == self.ways[best].family]
        self._add_rest(group.filter(pl.Series(~masks[best])), alike, sent)

    def _compare(self, words: pl.Series, masks: list[Mask], sent: Sent) -> None:
        """Note which ways read some word as different values."""
        read = [_values(way, words, sent) for way in self.ways]
        for i, (way, mask) in enumerate(zip(self.ways, masks, strict=True)):
            for j in range(i):
                both = mask & masks[j]
                one, other = read[i], read[j]
                if one is not None and other is not None and bool((one[both] != other[both]).any()):
                    way.differs.add(j)

    def _add_rest(self, rest: pl.DataFrame, ways: list[_Way], sent: Sent) -> None:
        if not len(rest):
            return
        named = rest["word"].is_in(MISSING_WORDS)
        for word, cells in rest.filter(named).iter_rows():
            self.missing[word] += cells
        rest = rest.filter(~named)
        if not len(rest):
            return
        anyway = np.zeros(len(rest), np.bool_)
        for way in ways:
            anyway |= way.fits(rest["word"], sent)[0]
        cells = rest["cells"].to_numpy()
        self.unlike += int(cells[anyway].sum())
        self.others += int(cells[~anyway].sum())

    def said(self, sent: Sent, name: str) -> tuple[WarningCode, str] | None:
        """Return the advice, if most cells are of one kind."""
        best = max(self.ways, key=lambda way: way.cells)
        kind = best.kind
        days = kind.days
        code = _CODES[best.family]
        if self.unlike and best.cells + self.unlike > _MEANT * self.total:
            either = words_of.cells(best.cells + self.unlike, self.total)
            return code, f"{either} {'days' if days else 'numbers'}. {words_of.unlike(days=days)}"
        if best.cells <= _MEANT * self.total:
            return None
        tied = [way for way in self._tied(best) if isinstance(way.kind, Reading) and _applies(way.kind, sent.options)]
        what = kind.what if len(tied) < 2 else f"{best.family} in {len(tied)} readings"
        head = f"{words_of.cells(best.cells, self.total)} {what}{self._missing()}. "
        if isinstance(kind, Unread) or not _applies(kind, sent.options):
            return code, head + words_of.unread(kind)
        if len(tied) > 1:
            return code, head + self._either(tied, sent, name)
        options = self._options(best, sent, name)
        return code, head + words_of.read_with(options, others=self.others) + _cost(kind, sent)

    def _missing(self) -> str:
        if not self.missing:
            return ""
        count = sum(self.missing.values())
        return f", {count} {'is' if count == 1 else 'are'} {listed([f'`{word}`' for word in self.missing])}"

    def _tied(self, best: _Way) -> list[_Way]:
        """Return the ways that fit as many cells as the best, of those that read the same the first."""
        tied: list[int] = []
        for i, way in enumerate(self.ways):
            if way.cells == best.cells and all(j in way.differs for j in tied):
                tied.append(i)
        return [self.ways[i] for i in tied]

    def _either(self, tied: list[_Way], sent: Sent, name: str) -> str:
        return words_of.either([(way.kind.what, self._options(way, sent, name)) for way in tied])

    def _options(self, way: _Way, sent: Sent, name: str) -> Options:
        """Return the options that the upload needs for a way of reading."""
        kind = way.kind
        if isinstance(kind, Unread):
            return {}
        options: dict[str, str | tuple[str, ...]] = {**_changes(kind, sent.options)}
        if self.missing:
            options["missing_values"] = tuple(self.missing)
        whole, number = way.every & INTEGER, way.every & NUMBER
        mixed = kind.typed is None and not kind.days and not whole and not number  # some are beyond 2^53
        inferred = sent.options.format in DELIMITED or (kind.days and sent.options.format is FileFormat.NDJSON)
        if mixed or kind in SIGNED or not inferred:
            type_ = kind.typed or (ColumnType.DATE if kind.days else ColumnType.INTEGER if whole else ColumnType.NUMBER)
            options["type"] = f"{name}:{type_}"
        return options


def _values(way: _Way, words: pl.Series, sent: Sent) -> npt.NDArray[np.object_] | None:
    """Return words as a way of reading writes their values; None where no other way reads them differently."""
    if not isinstance(way.kind, Reading) or way.kind in (PLAIN_DAYS, BOOLEANS):
        return None
    kind = ColumnType.DATE if way.kind.days else ColumnType.NUMBER
    texts = texts_of(_notation(way.kind, sent.options).rewritten(_cells(words), [kind]), slice(None))
    values: npt.NDArray[np.object_] = texts.to_numpy(zero_copy_only=False)
    return values


def _changes(kind: Reading, options: ReadOptions) -> dict[str, str]:
    """Return the options that the request has to have, and did not."""
    present = {"decimal": options.decimal or ".", "thousands": options.thousands, "date_format": options.date_format}
    return {name: text for name, text in kind.options.items() if present[name] != text}


def _applies(kind: Reading, options: ReadOptions) -> bool:
    """Return whether a file of this format can be read with the options of a way."""
    if options.format in DELIMITED or not _changes(kind, options):
        return True
    return options.format is FileFormat.NDJSON and kind.days


def _cost(kind: Reading, sent: Sent) -> str:
    """Return what becomes of columns that are read well now, if the options of a way are taken."""
    changes = _changes(kind, sent.options)
    replaced = [
        f"`{option}={before}`"
        for option in changes
        if (before := getattr(sent.options, option)) and (option != "decimal" or before != ".")
    ]
    if sent.options.thousands and changes.get("decimal") == sent.options.thousands and "thousands" not in changes:
        replaced.append(f"`thousands={sent.options.thousands}`")
    if replaced:
        return f" That is in place of {listed(replaced)}: what it reads becomes text."
    if "decimal" not in changes:
        return ""
    pointed = [
        column_at(j + 1, sent.names)
        for j, (kind_, dotted) in enumerate(zip(sent.types, sent.dotted, strict=True))
        if dotted and kind_ in NUMERIC
    ]
    if not pointed:
        return ""
    few = pointed[:3] + ([f"{len(pointed) - 3} more"] if len(pointed) > 3 else [])
    remedy = words_of.in_notation(days=False)
    return f" Numbers of {listed(few)} have a point, and become text with that. {remedy}."
