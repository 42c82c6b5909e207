"""Decide whether two tables are of the same people, in one place (science.md section 6, "Sameness of data").

Evidence is that of `splits` over sets of columns, and the mean of it over all sets, whose expectation under chance is
at most 1 as well: over all ordinary columns that both have, all but one or two, halves of them, and single columns.
Columns are those of the same name, else those with most values in common, which costs as many bits as there are columns
to choose from. Columns that are constant, even or numbers given in turn are left out: designs make them agree. Ids that
were drawn at random, of which several records have each, are compared as the values that they are, and asked about.

A comparison is judged by the number of tables that an owner has, so that of all comparisons of a new table one is false
with probability ALARMS at most. Equal names of nearly all columns lower the bits that are needed.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Final

import numpy as np

from surebox_core.types import FloatArray
from workers.algorithms.tables.agreeing import Marks, agreeing_sets, by_chance, marks_by_set
from workers.algorithms.tables.sketches import (
    IDS,
    MOST,
    SAMPLES,
    ColumnSketch,
    HashedColumn,
    Kind,
    RowSample,
    TableSketch,
    anchored,
    codes_of,
    hashed_column,
    inside,
    kept_columns,
    mixed,
    samples_of,
)
from workers.algorithms.tables.splits import (
    Cells,
    CellsBySet,
    Codes,
    Hashes,
    Members,
    Words,
    cells_by_set,
    cells_of,
    common,
    evidence,
    evidence_by_set,
    normalizers,
    sums_by_set,
)

#: Probability that any comparison of a new table is taken for the same people by chance.
ALARMS: Final = 1e-3
#: Bits more, where fewer than NEARLY of the columns have the same names.
OTHERS: Final = 7.0
NEARLY: Final = 0.8
#: Bits more, from which on no one has to answer.
CERTAIN: Final = 20.0
#: Groups of columns, of which one or two are left out: each column is one while there are no more.
GROUPS: Final = 6
_COMMON: Final = 0.5  # share of the values that columns of other names have in common
_TELLING: Final = frozenset({Kind.ORDINARY, Kind.IDENTIFYING})
_SAMPLES: Final = 3  # samples that are compared, of those whose anchors both tables have
#: Rows of the larger of two samples that are judged, as long as FEW of the smaller one are.
MOST_ROWS, FEW = 2048, 128
_LESS: Final = 2.0  # bits less than needed that are nothing beside the mean
_NONE: Final = np.zeros(0, np.uint64)
_KEPT: Final = 32  # choices of rows and columns of which cells are kept


class Sameness(StrEnum):
    """Verdict about two tables."""

    SAME = "same"
    UNDECIDED = "undecided"
    OTHER = "other"


@dataclass(frozen=True)
class Agreement:
    """In what two tables agree.

    Attributes
    ----------
    sameness : the verdict.
    bits : log2 of the mean evidence.
    needed : from which on someone has to answer.
    columns : the set of columns that agrees most, by the names of the new table.
    agreeing, expected : share of the smaller sample's records that agree in them, and what chance gives.
    """

    sameness: Sameness
    bits: float
    needed: float
    columns: tuple[str, ...] = ()
    agreeing: float = 0.0
    expected: float = 0.0


class Table:
    """A table that is there, as others are compared with it.

    Parameters
    ----------
    columns
        All of its columns.
    """

    def __init__(self, columns: Sequence[HashedColumn]) -> None:
        self.columns = tuple(columns)
        self.rows = len(columns[0].hashes) if columns else 0
        self._hashes: dict[tuple[int, ...], Hashes] = {}
        self._cells: dict[tuple[Any, ...], tuple[CellsBySet, Marks]] = {}
        self._normalizers: dict[float, FloatArray] = {}

    @cached_property
    def sketch(self) -> TableSketch:
        """Return the parts of the sketch that are kept."""
        kept = kept_columns(self.columns)
        return TableSketch(self.rows, tuple(one.sketch for one in kept), samples_of(kept))

    def cells(
        self, columns: tuple[int, ...], members: Members, sample: RowSample, anchor: tuple[int, ...]
    ) -> tuple[CellsBySet, Marks]:
        """Count the rows that another table's sample would have of this one, once for all samples that choose the same.

        Where there are cells is marked too.

        Parameters
        ----------
        columns, members : own columns, and which of them are in each set.
        sample, anchor : the other's sample, and what its anchor is called here.
        """
        rows = len(sample.codes)
        chosen = (columns, anchor, sample.below, sample.without.tobytes(), rows.bit_length())
        if chosen not in self._cells:
            if len(self._cells) >= _KEPT:
                self._cells.pop(next(iter(self._cells)))
            codes = self._chosen(columns, sample, anchor)
            made = cells_by_set(codes, words_of(columns), members, _halvings(len(codes), rows))
            self._cells[chosen] = made, marks_by_set(made.hashes, made.starts, made.halvings)
        return self._cells[chosen]

    def normalizers(self, share: float) -> FloatArray:
        """Return the normalizers of one share, which tables of one size have in common."""
        if len(self._normalizers) >= _KEPT:
            self._normalizers.clear()
        return self._normalizers.setdefault(share, normalizers())

    def _chosen(self, columns: Sequence[int], sample: RowSample, anchor: Sequence[int]) -> Codes:
        rows = inside(self._anchored(tuple(anchor)), np.uint64(sample.below), sample.without) if anchor else slice(None)
        return codes_of([self.columns[at] for at in columns], rows)

    def _anchored(self, anchor: tuple[int, ...]) -> Hashes:
        """Hash rows over an anchor, once as long as few anchors are in use."""
        if anchor not in self._hashes:
            if len(self._hashes) >= SAMPLES:
                self._hashes.pop(next(iter(self._hashes)))
            self._hashes[anchor] = anchored(self.columns, anchor)
        return self._hashes[anchor]


def _halvings(many: int, few: int) -> int:
    """Count how often rows are halved, by the hashes of cells alone: to MOST_ROWS, but not to fewer than FEW."""
    halvings = 0
    while many >> halvings > MOST_ROWS and few >> halvings >= 3 * FEW // 2:
        halvings += 1
    return halvings


def words_of(columns: Sequence[int]) -> Words:
    """Words of the bytes of columns, shape (columns, 256), by their places."""
    return _WORDS[np.array(columns, np.int64) % len(_WORDS)]


def compared(mine: Table, other: TableSketch, *, tables: int) -> Agreement:
    """Decide whether a table is of the same people as one of which a sketch is kept.

    Parameters
    ----------
    mine
        The table that is there.
    other
        The sketch.
    tables
        Tables that it is compared with.

    Returns
    -------
    Agreement
        O(N) for each anchor, and some 40 sets of columns in each sample.
    """
    needed = needed_bits(tables) + (0.0 if _alike(mine, other) else OTHERS)
    pair = _Pair(mine, other)
    samples = [one for one in other.samples if pair.has(one.anchor)][:_SAMPLES]
    kinds = [pair.single(), *(pair.joint(sample, needed - _LESS) for sample in samples)]
    bits, ids = np.concatenate([one.bits for one in kinds]), pair.ids()
    kinds += [] if ids is None else [ids]
    mean = _mean(bits if ids is None else np.append(bits, ids.bits))
    if mean < needed:
        return Agreement(Sameness.OTHER, mean, needed)
    best = max(kinds, key=lambda one: float(one.bits.max(initial=-math.inf)))
    at = int(best.bits.argmax())
    cells = best.cells(at)
    agreeing, expected = by_chance(*cells, share=pair.share)
    names = tuple(mine.columns[own].sketch.name for own in best.set(at))
    apart = best is not ids and pair.identified(best, at)
    certain = _mean(np.delete(bits, int(bits.argmax())) if apart else bits)
    sameness = Sameness.SAME if certain >= needed + CERTAIN else Sameness.UNDECIDED
    return Agreement(sameness, mean, needed, names, agreeing, expected)


def rehearse_comparison() -> None:
    """Compare a few made-up records with themselves, so that everything is compiled."""
    rows, key = np.arange(8192), np.arange(2, dtype=np.uint64)
    uneven = [np.sqrt(rows).astype(np.uint64), np.sqrt(rows % 97).astype(np.uint64)]
    small, large = (
        Table([hashed_column(str(at), one[::step], lambda: math.inf, key=key) for at, one in enumerate(uneven)])
        for step in (64, 1)
    )
    for mine, other in ((small, small), (large, small), (large, large)):  # kept whole, beside many rows, and sampled
        compared(mine, other.sketch, tables=1)


def needed_bits(tables: int) -> float:
    """Return the bits by which of all comparisons of a table one is false with probability ALARMS at most."""
    return math.log2(max(1, tables)) - math.log2(ALARMS)


def _mean(bits: FloatArray) -> float:
    """log2 of the mean evidence."""
    top = float(bits.max(initial=-math.inf))
    return top if top == -math.inf else top + math.log2(float(np.exp2(bits - top).mean()))


def _alike(mine: Table, other: TableSketch) -> bool:
    """Return whether nearly all columns of the narrower table have the names of the other's."""
    names, theirs = {one.sketch.name for one in mine.columns}, {one.name for one in other.columns}
    return len(names & theirs) >= max(3, NEARLY * min(len(names), len(theirs)))


@dataclass(frozen=True)
class _Evidence:
    """Evidence over sets of own columns, and the cells that it is about."""

    bits: FloatArray
    set: Callable[[int], tuple[int, ...]]
    cells: Callable[[int], tuple[Cells, Cells]]


class _Pair:
    """Two tables with the columns that both have."""

    def __init__(self, mine: Table, other: TableSketch) -> None:
        self._mine, self._other = mine, other
        self.share = mine.rows / max(1, mine.rows + other.rows)
        self._known = mine.normalizers(self.share)
        self._called, self._costs = _called(mine, other)
        self._ordinary = [
            at for at, own in sorted(self._called.items())
            if {other.columns[at].kind, mine.columns[own].sketch.kind} == {Kind.ORDINARY}
        ]  # fmt: skip
        self._own = tuple(self._called[at] for at in self._ordinary)
        self._members, self._words = _wanted(len(self._ordinary)), words_of(self._own)

    def single(self) -> _Evidence:
        """Evidence over single columns."""
        cells = [_below(self._mine.columns[own].sketch, self._other.columns[at]) for at, own in self._called.items()]
        own = list(self._called.values())
        bits = evidence(cells, share=self.share, known=self._known) - [self._costs[at] for at in self._called]
        return _Evidence(bits, lambda at: (own[at],), cells.__getitem__)

    def ids(self) -> _Evidence | None:
        """Evidence that ids are the same, whatever else the records of a person are; None where there are none.

        Ids that one record has are among the single columns. They are compared with those of several records too.
        """
        sketches = (*(one.sketch for one in self._mine.columns), *self._other.columns)
        if all(one.persons is None for one in sketches):
            return None
        both = [
            (at, one.sketch, other) for at, one in enumerate(self._mine.columns) for other in self._other.columns
            if (one.sketch.persons is not None and _ids(other, one.sketch.name) is not None)
            or (other.persons is not None and _ids(one.sketch, other.name) is not None)
        ]  # fmt: skip
        if not both:
            return None
        cells = [_persons(_ids(one, other.name), _ids(other, one.name)) for _, one, other in both]
        shares = [one.values / (one.values + other.values) for _, one, other in both]
        bits = [float(evidence([two], share=share)[0]) for two, share in zip(cells, shares, strict=True)]
        return _Evidence(np.array(bits), lambda at: (both[at][0],), cells.__getitem__)

    def has(self, anchor: Sequence[int]) -> bool:
        """Return whether both tables have the columns of an anchor, and two to compare rows by."""
        return len(self._members) > 0 and self._called.keys() >= set(anchor)

    def joint(self, sample: RowSample, least: float) -> _Evidence:
        """Evidence over sets of columns in a sample of rows, where it may be so many bits."""
        anchor = tuple(self._called[at] for at in sample.anchor)
        mine, marks = self._mine.cells(self._own, self._members, sample, anchor)
        columns = np.ascontiguousarray(sample.codes.T[self._ordinary])
        judged = agreeing_sets(mine, marks, columns, self._words, self._members, least=least)
        if not judged.any():
            return _Evidence(np.full(len(judged), -math.inf), self._set, lambda at: (mine.of(at), cells_of(_NONE)))
        theirs = np.ascontiguousarray(columns.T)
        sums, rows = np.empty((len(judged), len(theirs)), np.uint32), np.zeros(len(judged), np.int64)
        sums[judged], rows[judged] = sums_by_set(theirs, self._words, self._members[judged], np.uint32(mine.limit))
        bits = evidence_by_set(mine, sums, rows, share=1.0 - self.share, least=least, known=self._known)
        costs = self._members @ np.array([self._costs[at] for at in self._ordinary])
        return _Evidence(
            bits - costs, self._set, lambda at: (mine.of(at), cells_of(sums[at, : rows[at]].astype(np.uint64)))
        )

    def _set(self, at: int) -> tuple[int, ...]:
        """The own columns of a set."""
        return tuple(one for one, there in zip(self._own, self._members[at], strict=True) if there)

    def identified(self, evident: _Evidence, at: int) -> bool:
        """Return whether a set is one column with a value for each record, which tables of towns have as well."""
        columns = evident.set(at)
        return len(columns) == 1 and self._mine.columns[columns[0]].sketch.kind is Kind.IDENTIFYING


def _ids(column: ColumnSketch, beside: str) -> Hashes | None:
    """The smallest hashes of a column's ids; of one record each where the column beside has the same name."""
    if column.persons is None and column.kind is Kind.IDENTIFYING and column.name == beside:
        return column.least.hashes
    return column.persons


def _persons(one: Hashes | None, other: Hashes | None) -> tuple[Cells, Cells]:
    """Ids of two tables as cells of one record each, up to the last of the sketch that ends first."""
    a, b = (_NONE if x is None else x for x in (one, other))
    last = min([x[-1] for x in (a, b) if len(x) >= IDS], default=np.uint64(MOST))
    first, second = (Cells(x, np.ones(len(x), np.int64)) for x in (a[a <= last], b[b <= last]))
    return first, second


def _called(mine: Table, other: TableSketch) -> tuple[dict[int, int], dict[int, float]]:
    """Pair columns of the other table, by their places, with own ones, and what the choice costs in bits.

    Columns of the same name are paired if they have a value in common; else those with most values in common; else
    those of the same name all the same, in other units perhaps.
    """
    own = {at: one.sketch for at, one in enumerate(mine.columns) if one.sketch.kind in _TELLING}
    theirs = {at: one for at, one in enumerate(other.columns) if one.kind in _TELLING}
    named = {one.name: at for at, one in own.items()}
    same = {at: named[one.name] for at, one in theirs.items() if one.name in named}
    called = {at: mate for at, mate in same.items() if _common(own[mate], theirs[at]) > 0}
    costs = dict.fromkeys(theirs, 0.0)
    free = set(own) - set(called.values())
    for at in sorted(theirs.keys() - called.keys()):
        shares = {mate: _common(own[mate], theirs[at]) for mate in sorted(free)}
        if shares and max(shares.values()) >= _COMMON:
            called[at] = max(shares, key=lambda mate: (shares[mate], _likeness(own[mate], theirs[at])))
            costs[at] = math.log2(len(own))
            free.remove(called[at])
    return called | {at: mate for at, mate in same.items() if at not in called and mate in free}, costs


def _common(one: ColumnSketch, other: ColumnSketch) -> float:
    """Share of the values that columns have in common, of the one with fewer."""
    return common(one.least.hashes, other.least.hashes, min(one.below, other.below))


def _likeness(one: ColumnSketch, other: ColumnSketch) -> float:
    """Agreement in how often the most frequent values of columns occur, 0 at most."""
    a, b = (np.sort(x.counts / x.rows)[::-1][:4].sum() for x in _below(one, other))
    return -abs(float(a - b))


def _below(one: ColumnSketch, other: ColumnSketch) -> tuple[Cells, Cells]:
    """The cells of two columns that both sketches would have."""
    below = min(one.below, other.below)
    a, b = (x.least if x.below == below else _up_to(x.least, below) for x in (one, other))
    return a, b


def _up_to(cells: Cells, below: int) -> Cells:
    end = int(np.searchsorted(cells.hashes, np.uint64(below)))
    return Cells(cells.hashes[:end], cells.counts[:end])


@cache
def _wanted(columns: int) -> Members:
    """Sets of at least two columns, shape (S, columns): all, all but one or two of GROUPS groups, and halves."""
    groups = [frozenset(range(at, columns, GROUPS)) for at in range(min(GROUPS, columns))]
    every = frozenset(range(columns))
    wanted = {every, *(every - one for one in groups), *(every - one - two for one, two in combinations(groups, 2))}
    for bit in range(max(1, columns - 1).bit_length()):
        half = frozenset(at for at in every if at >> bit & 1)
        wanted |= {half, every - half}
    chosen = sorted(sorted(one) for one in wanted if len(one) > 1)
    return np.array([[at in one for at in range(columns)] for one in chosen], dtype=bool).reshape(len(chosen), columns)


#: Words of bytes by column: their sums are as good as random.
_WORDS: Final = (
    mixed(np.arange(1, 1024 * 256 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    .reshape(1024, 256)
    .astype(np.uint32)
)
