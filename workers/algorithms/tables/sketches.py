"""By what the same people are recognised (science.md section 6, "Sameness of data").

A sketch is personal data: equal cells show in it, and how often they occur. It is stored encrypted.

Notation
--------
h(v) : 64-bit hash of a cell's value, keyed; the same whatever the column is called.
C, L : the cells of a column with the COLUMN smallest h, and how often each occurs.
S : samples of rows. Of an anchor, a small set of columns, all rows whose hash over the anchor is below a threshold
    that lets SAMPLE rows through at most, a power of two where it may be, so that tables have it in common; of each the
    first byte of h in every column. Rows of the same people over the anchor are in the samples of both tables, so that
    any set of columns can be compared in them. Anchors have no column in common: if one column was changed, the samples
    of the others are what they were. Tables of WHOLE rows at most are kept whole.
bits : -log2 of the probability (n! / prod_v c_v!) prod_v (c_v / n)^c_v that n draws at the observed shares are as often
    each value as these were: how much it states that two multisets are equal. 16 for three columns of two values each
    in 600 records, 860 for 600 different values.

Columns by kind, as they state something about who the people are: constant; numbering, whose values are given in turn
(fewer occur twice than if they were drawn); even, whose values are more
equally frequent than by chance, as a design has them; identifying, nearly each value once all the same; ordinary.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, pdtr

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import IntArray
from workers.algorithms.tables.splits import Cells, Codes, Hashes, cells_of

#: Values of a column that are kept, and of one with a value for each record.
COLUMN, IDS = 64, 512
#: Columns that are kept of a wide table.
WIDEST: Final = 64
#: A threshold that all hashes are below.
MOST: Final = (1 << 64) - 1
#: Rows of a table that is kept whole; else rows of a sample, and samples of a table.
WHOLE, SAMPLE, SAMPLES = 1024, 512, 8
#: Share of the records with a value of their own, from which on a column identifies them.
_OWN: Final = 0.98
#: Probability of so few numbers that occur twice.
_TOO_FEW: Final = 0.01
#: Probability of frequencies so equal, by the values but one.
_EVEN: Final = 0.05
#: Records a value, from which on that is judged.
_REPEATED: Final = 2.0
#: Ids of which several records each are compared; records each, at most; ids that there could be for each that is.
FEWEST_IDS: Final = 32
_RECORDS, _SPARSE = 100, 1000
#: Columns of an anchor.
_WIDEST: Final = 4
#: Cells of an anchor that are left out, for they have more rows than a sample.
_HEAVY: Final = 16

Words = NDArray[np.uint64]


class Kind(IntEnum):
    """Kind of evidence that a column gives about who the people are."""

    CONSTANT = 0
    NUMBERING = 1
    EVEN = 2
    IDENTIFYING = 3
    ORDINARY = 4


@dataclass(frozen=True)
class ColumnSketch:
    """A column.

    Attributes
    ----------
    name : of the column.
    kind : see above.
    values : how many different ones there are.
    least : C, the cells of the smallest hashes, of each its first 32 bits.
    persons : (., ) the smallest hashes of ids drawn at random that several records have; None: it has no such ids.
    """

    name: str
    kind: Kind
    values: int
    least: Cells
    persons: Hashes | None = None

    @cached_property
    def below(self) -> int:
        """The threshold under which all values are kept."""
        return 1 << 32 if self.values <= len(self.least.hashes) else int(self.least.hashes[-1]) + 1


@dataclass(frozen=True)
class RowSample:
    """Rows whose hash over an anchor is below a threshold.

    Attributes
    ----------
    anchor : columns by their place; none: the whole table.
    below : the threshold.
    without : (., ) hashes over the anchor of rows that are left out all the same.
    codes : (rows, columns); of a sketch in their own order.
    """

    anchor: tuple[int, ...]
    below: int
    without: Hashes
    codes: Codes


@dataclass(frozen=True)
class TableSketch:
    """By what a table is recognised.

    Attributes
    ----------
    rows : records.
    columns : in the order of `RowSample.codes`.
    samples : of rows.
    """

    rows: int
    columns: tuple[ColumnSketch, ...]
    samples: tuple[RowSample, ...]


@dataclass(frozen=True)
class HashedColumn:
    """A column of a table that is there.

    Attributes
    ----------
    sketch : what is kept of it.
    hashes : (N,), h of the cells.
    """

    sketch: ColumnSketch
    hashes: Hashes


def hashed_column(
    name: str, cells: Hashes, lattice: Callable[[], float], *, key: Words, space: Callable[[], float] | None = None
) -> HashedColumn:
    """Hash a column and classify it; O(N log N).

    Parameters
    ----------
    name : of the column.
    cells : (N,), the cells as 64 bits each, the same for the same value.
    lattice : how many numbers there are between the least and the greatest, in steps of the greatest that divides all
        differences; infinity where values are no numbers. Called for columns whose values occur once.
    key : the owner's, two words.
    space : how many ids there could be, if the column may have ids of persons. Called where these have several records.
    """
    hashes = hashed_rows(cells.reshape(-1, 1), key)
    different = cells_of(hashes >> np.uint64(32))
    kind, values = _kind(different.counts, lattice), len(different.hashes)
    kept = IDS if kind in {Kind.IDENTIFYING, Kind.NUMBERING} else COLUMN
    least = Cells(different.hashes[:kept], different.counts[:kept])
    repeated = kind in {Kind.EVEN, Kind.ORDINARY} and values >= FEWEST_IDS and len(cells) <= _RECORDS * values
    at_random = space is not None and repeated and space() >= values * max(values, _SPARSE)
    persons = different.hashes[:IDS] if at_random else None
    return HashedColumn(ColumnSketch(name, kind, values, least, persons), hashes)


def _kind(counts: IntArray, lattice: Callable[[], float]) -> Kind:
    rows, values = int(counts.sum()), len(counts)
    if values < 2:
        return Kind.CONSTANT
    if values >= _OWN * rows:
        return Kind.NUMBERING if is_numbering(rows, values, lattice()) else Kind.IDENTIFYING
    return Kind.EVEN if _is_even(counts) else Kind.ORDINARY


def is_numbering(rows: int, values: int, lattice: float) -> bool:
    """Return whether fewer numbers occur twice than if each were drawn: evenly, by which the fewest do."""
    pairs = rows * (rows - 1) / 2 / lattice
    return bool(pdtr(rows - values, pairs) < _TOO_FEW)


def _is_even(counts: IntArray) -> bool:
    """Return whether values are more equally frequent than draws: than Poisson numbers of which none is 0."""
    mean, values = float(counts.mean()), len(counts)
    if mean < _REPEATED:
        return False
    rate = mean
    for _ in range(60):  # mean = rate / (1 - exp(-rate))
        before, rate = rate, mean * -math.expm1(-rate)
        if rate == before:
            break
    variance = mean * (1 + rate - mean)
    squares = float(((counts - mean) ** 2).sum())
    return bool(chdtr(values - 1, squares / variance) < _EVEN / (values - 1))


def kept_columns(columns: Sequence[HashedColumn]) -> list[HashedColumn]:
    """Choose the columns of a wide table that are kept: those that identify, then others, by their names alone."""
    if len(columns) <= WIDEST:
        return list(columns)
    rank = {Kind.IDENTIFYING: 0, Kind.ORDINARY: 1}
    order = sorted(columns, key=lambda one: (rank.get(one.sketch.kind, 2), _of_name(one.sketch.name)))
    return order[:WIDEST]


def _of_name(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=8).digest()


def samples_of(columns: Sequence[HashedColumn]) -> tuple[RowSample, ...]:
    """Draw the samples of a table's rows; O(N log N) an anchor."""
    rows = len(columns[0].hashes) if columns else 0
    if not rows:
        return ()
    if rows <= WHOLE:
        return (_in_order(sampled(columns, (), MOST, np.zeros(0, np.uint64))),)
    return tuple(_in_order(_thresholded(columns, anchor)) for anchor in _anchors(columns, rows))


def _in_order(sample: RowSample) -> RowSample:
    """The same rows in the order of their codes, which states nothing of the order that they were sent in."""
    return replace(sample, codes=sample.codes[np.lexsort(sample.codes.T[::-1])])


def _anchors(columns: Sequence[HashedColumn], rows: int) -> list[tuple[int, ...]]:
    """Sets of columns without one in common, each with cells that are smaller than a sample."""
    telling = sorted(
        (at for at, one in enumerate(columns) if one.sketch.kind is Kind.ORDINARY),
        key=lambda at: (-columns[at].sketch.values, columns[at].sketch.name),
    )
    anchors: list[tuple[int, ...]] = []
    while telling and len(anchors) < SAMPLES:
        anchor = [telling.pop(0)]
        while telling and len(anchor) < _WIDEST and _values(columns, anchor) * SAMPLE < 2 * rows:
            anchor.append(telling.pop())
        if _values(columns, anchor) * SAMPLE >= rows:
            anchors.append(tuple(anchor))
    return anchors


def _values(columns: Sequence[HashedColumn], anchor: Sequence[int]) -> int:
    return math.prod(columns[at].sketch.values for at in anchor)


def _thresholded(columns: Sequence[HashedColumn], anchor: tuple[int, ...]) -> RowSample:
    hashes = anchored(columns, anchor)
    cells, counts = np.unique(hashes, return_counts=True)
    without = cells[counts > SAMPLE // 2][:_HEAVY]
    if len(without):
        counts[np.isin(cells, without)] = 0
    rows = np.cumsum(counts)
    full = np.flatnonzero(rows > SAMPLE)
    return sampled(columns, anchor, _rounded(cells, rows, int(full[0])) if len(full) else MOST, without)


def _rounded(cells: Hashes, rows: IntArray, full: int) -> int:
    """Round a threshold down to a power of two, as others have it, if a third of the sample is left at least."""
    exact = int(cells[full])
    rounded = 1 << exact.bit_length() - 1
    left = int(np.searchsorted(cells, np.uint64(rounded)))
    return rounded if left and rows[left - 1] >= SAMPLE // 3 else exact


def sampled(columns: Sequence[HashedColumn], anchor: tuple[int, ...], below: int, without: Hashes) -> RowSample:
    """The rows that a sample of this anchor and threshold has.

    Parameters
    ----------
    columns : of the table.
    anchor, below, without : of the sample.
    """
    if not anchor:
        return RowSample(anchor, below, without, codes_of(columns, slice(None)))
    rows = inside(anchored(columns, anchor), np.uint64(below), without)
    return RowSample(anchor, below, without, codes_of(columns, rows))


@kernel
def inside(hashes: Hashes, below: np.uint64, without: Hashes) -> IntArray:
    """Return the rows whose hashes over an anchor are below a threshold, but for those that are left out.

    Parameters
    ----------
    hashes, below, without : of the rows, and of the sample.
    """
    rows, number = np.empty(len(hashes), np.int64), 0
    for i in range(len(hashes)):
        if hashes[i] < below or below == np.uint64(MOST):
            out = False
            for one in without:
                out = out or one == hashes[i]
            if not out:
                rows[number] = i
                number += 1
    return rows[:number].copy()


def codes_of(columns: Sequence[HashedColumn], rows: IntArray | slice) -> Codes:
    """Return the first bytes of the hashes of some rows, shape (rows, columns)."""
    return np.ascontiguousarray(np.array([one.hashes.view(np.uint8)[7::8][rows] for one in columns], np.uint8).T)


def anchored(columns: Sequence[HashedColumn], anchor: Sequence[int]) -> Hashes:
    """Hash rows over an anchor, shape (N,): by the values alone, in the order of the anchor's columns."""
    hashes = np.zeros(len(columns[0].hashes), np.uint64)
    for at in anchor:
        _mix(hashes, columns[at].hashes)
    return hashes


@kernel
def _mix(hashes: Hashes, more: Hashes) -> None:
    """Add words and mix them as `mixed` does."""
    for i in range(len(hashes)):
        word = hashes[i] + more[i]
        word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[i] = word ^ (word >> np.uint64(31))


def mixed(words: Words) -> Words:
    """Mix the bits of words by the finalizer of SplitMix64, a bijection."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def bits(counts: IntArray) -> float:
    """How much it states that two multisets of values are equal.

    Parameters
    ----------
    counts : how often each value occurs.
    """
    n = int(counts.sum())
    if n == 0:
        return 0.0
    each, times = np.unique(counts, return_counts=True)
    shares = sum(
        m * (math.lgamma(c + 1) - c * math.log(c / n)) for c, m in zip(each.tolist(), times.tolist(), strict=True)
    )
    return float(max(0.0, (shares - math.lgamma(n + 1)) / math.log(2)))


@inner_kernel
def _rotated(word: np.uint64, by: np.uint64) -> np.uint64:
    return (word << by) | (word >> (np.uint64(64) - by))


@inner_kernel
def _round(v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64) -> tuple[np.uint64, ...]:
    v0 += v1
    v1 = _rotated(v1, np.uint64(13)) ^ v0
    v0 = _rotated(v0, np.uint64(32))
    v2 += v3
    v3 = _rotated(v3, np.uint64(16)) ^ v2
    v0 += v3
    v3 = _rotated(v3, np.uint64(21)) ^ v0
    v2 += v1
    v1 = _rotated(v1, np.uint64(17)) ^ v2
    v2 = _rotated(v2, np.uint64(32))
    return v0, v1, v2, v3


@kernel
def hashed_rows(rows: Words, key: Words) -> Words:
    """SipHash-2-4 (Aumasson, Bernstein 2012) of each row, its words in order.

    Parameters
    ----------
    rows : (N, m).
    key : (2,).

    Returns
    -------
    (N,); O(N m).
    """
    hashes = np.empty(len(rows), np.uint64)
    for i in range(len(rows)):
        v0 = key[0] ^ np.uint64(0x736F6D6570736575)
        v1 = key[1] ^ np.uint64(0x646F72616E646F6D)
        v2 = key[0] ^ np.uint64(0x6C7967656E657261)
        v3 = key[1] ^ np.uint64(0x7465646279746573)
        for word in rows[i]:
            v3 ^= word
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
            v0 ^= word
        last = np.uint64((rows.shape[1] * 8) & 0xFF) << np.uint64(56)
        v3 ^= last
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= last
        v2 ^= np.uint64(0xFF)
        for _ in range(4):
            v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        hashes[i] = v0 ^ v1 ^ v2 ^ v3
    return hashes
