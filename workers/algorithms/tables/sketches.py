"""By what the same rows are recognised, without keeping them (science.md section 6, "Sameness of data").

Notation
--------
h(v) : 64-bit hash of a cell, keyed (made where cells are read).
row : the hashes of a record's cells over some columns; o : which occurrence of its row it is, from 0.
H(row, o) : SipHash-2-4 (Aumasson, Bernstein 2012) of both under the owner's key. Of equal rows each has a hash of its
    own: rows are a multiset.
S : the SKETCH smallest H of a dataset. Of two datasets the smallest of the union of both sketches are a sample of the
    union of the multisets; the share that is in both estimates J = |A and B| / |A or B|.
overlap = |A and B| / min(|A|, |B|) = J / (1 + J) (|A| + |B|) / min(|A|, |B|).
m_c : how many different rows occur c times. Drawn from one population without having a record in common, datasets of
    n_A <= n_B records overlap as well: with the rate c* = (c + 1) m_{c+1} / m_c (Good 1953), at most c, of a row that
    B has c times, A has it X ~ Poisson(c* n_A / n_B) times, and n_A overlap = sum_c m_c E min(X, c). Where m_c is so
    small that the ratio is mostly noise, c* = c: noise could only lower it, and any two populations of a few ages and
    towns would be one.
bits : -log2 of the probability (n! / prod_v c_v!) prod_v (c_v / n)^c_v that n draws at the observed shares are as often
    each value as these were: how much it states that two multisets are equal. 16 for three columns of two values each
    in 600 records, 860 for 600 different values.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IntArray

SKETCH: Final = 1024
#: By so much more than independent draws must datasets overlap to be the same data.
MORE: Final = 0.1
#: Multisets that are equal by chance once in a million times reveal nothing.
BITS: Final = 20.0
_COUNTED: Final = 20  # least m_c for which the ratio is a rate
_MOST_TERMS: Final = 400  # of a Poisson sum; beyond it the rate is so large that the normal limit is used

Hashes = NDArray[np.uint64]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Sketch:
    """Rows of a dataset over some columns.

    Attributes
    ----------
    least : (at most SKETCH,), ascending.
    rows : records.
    repeats : (., 2), c and m_c, ascending.
    """

    least: Hashes
    rows: int
    repeats: IntArray


def sketch(cells: Sequence[Hashes], key: tuple[int, int]) -> Sketch:
    """Sketch the rows over some columns; O(N log N).

    Parameters
    ----------
    cells : (N,) each, h of the cells, column by column.
    key : the owner's, two words of 64 bits.
    """
    words = np.ascontiguousarray(np.column_stack(cells), dtype=np.uint64)
    keys = np.array(key, dtype=np.uint64)
    rows = np.sort(hashed_rows(words, keys))
    starts = np.flatnonzero(np.r_[True, rows[1:] != rows[:-1]][: len(rows)])
    counts = np.diff(np.r_[starts, len(rows)])
    occurrence = np.arange(len(rows)) - np.repeat(starts, counts)
    hashes = hashed_rows(np.column_stack([rows, occurrence.astype(np.uint64)]), keys)
    least = np.partition(hashes, SKETCH)[:SKETCH] if len(hashes) > SKETCH else hashes
    return Sketch(np.sort(least), len(rows), np.column_stack(np.unique(counts, return_counts=True)))


def overlap(a: Sketch, b: Sketch) -> float:
    """Estimated share of the smaller dataset's rows that the other one has too."""
    if not a.rows or not b.rows:
        return 0.0
    union = np.union1d(a.least, b.least)[:SKETCH]
    shared = np.isin(union, a.least, assume_unique=True) & np.isin(union, b.least, assume_unique=True)
    jaccard = float(shared.mean())
    return min(1.0, jaccard / (1 + jaccard) * (a.rows + b.rows) / min(a.rows, b.rows))


def independent(a: Sketch, b: Sketch) -> float:
    """Overlap to be expected of datasets of one population that have no record in common."""
    small, large = (a, b) if a.rows <= b.rows else (b, a)
    if not small.rows:
        return 0.0
    times, different = large.repeats[:, 0], large.repeats[:, 1].astype(np.float64)
    next_times = dict(zip(times.tolist(), different.tolist(), strict=True))
    following = np.array([next_times.get(c + 1, 0.0) for c in times.tolist()])
    frequent = (times > _smooth_up_to(times)) | (different < _COUNTED)
    rates = np.where(frequent, times, np.minimum((times + 1) * following / different, times))
    rates = rates * (small.rows / large.rows)
    expected = sum(float(m) * _least(float(rate), int(c)) for c, m, rate in zip(times, different, rates, strict=True))
    return min(1.0, expected / small.rows)


def same_rows(a: Sketch, b: Sketch) -> bool:
    """Whether two datasets have rows in common that independent draws would not have, or all, and not by chance."""
    if a.rows == b.rows and np.array_equal(a.least, b.least) and np.array_equal(a.repeats, b.repeats):
        return bits(np.repeat(*a.repeats.T)) >= BITS
    return overlap(a, b) >= independent(a, b) + MORE


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


def _smooth_up_to(times: IntArray) -> int:
    """The last count whose successor occurs as well, 1 at least: from there on a row's own count is its rate."""
    gaps = np.flatnonzero(np.diff(times) > 1)
    return max(1, int(times[gaps[0] if len(gaps) else -1]) - 1)


def _least(rate: float, cap: int) -> float:
    """E min(X, cap), X ~ Poisson(rate)."""
    if rate <= 0:
        return 0.0
    if cap > _MOST_TERMS or rate > _MOST_TERMS:
        spread = math.sqrt(rate)
        z = (cap - rate) / spread
        tail = 0.5 * math.erfc(z / math.sqrt(2))
        return rate - spread * (math.exp(-z * z / 2) / math.sqrt(2 * math.pi) - z * tail)
    below: FloatArray = np.empty(cap)
    term = math.exp(-rate)
    for x in range(cap):
        below[x] = term
        term *= rate / (x + 1)
    return float((np.arange(cap) * below).sum() + cap * (1 - below.sum()))


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
    """SipHash-2-4 of each row, its words in order.

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
