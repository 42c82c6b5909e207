"""Evidence that two tables split cells too evenly (science.md section 6, "Sameness of data").

Two tables of different people, drawn from one population, split the records of a cell by chance: of c records that both
have together, the first has a ~ Bin(c, f). Tables of the same people split them too evenly. The evidence is an e-value
(Vovk, Wang 2021): its expectation under chance is at most 1, so that it exceeds
1/alpha with probability alpha at most (Markov), whatever the sizes, the repeats and the dependence of the cells, and
e-values of several sets of columns may be averaged.

Notation
--------
cell : records that agree in a set of columns; only those whose hash is below a threshold, the same for both tables.
a, b, c : records of a cell in the first table, in the second, in both: c = a + b.
n, m, f : records of the tables, and n / (n + m); g = 1 - f.
z^2 : (a - f c)^2 / (c f g): the cell's part of Pearson's X^2 of homogeneity.
lambda : a tilt; Z_lambda(c) = E exp(-lambda z^2 / 2) for a ~ Bin(c, f).
e = mean over lambda of exp(-lambda X^2 / 2) / prod_cells Z_lambda(c) / r : r >= 1 / P(sum a = n) where cells are drawn
    independently, for the totals are given: e <= sqrt(2 pi N f g) for N records, where both tables are whole.

Where c f or c g is below SPARSE the share of a cell is not that of the tables: one table may be of a part of the
other's population. There f = 1/2 for c of 2 and 3, by which a split is likelier than by any other share, and cells of
more reveal nothing. In larger cells any other share than f moves a away from f c, which lowers e.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.compiling.kernels import inner_kernel, kernel
from surebox_core.types import FloatArray, IndexArray, IntArray

Hashes = NDArray[np.uint64]
Words = NDArray[np.uint32]
Members = NDArray[np.bool_]
Codes = NDArray[np.uint8]

#: Expected records of either table in a cell from which on the share of the tables is the cell's.
SPARSE: Final = 2.0
#: Tilts; from the overlap of a tenth to tables that are equal but for a record.
TILTS: Final = (0.1, 0.3, 1.0, 3.0, 10.0, 50.0, 500.0, 1e5)
_TILTS: Final = np.array(TILTS)
_EXACT: Final = 64  # cells up to which Z is summed over all a
_FEW: Final = 8  # records of a cell up to which cells are counted before they are judged
_NOTHING: Final = 40.0  # exponent beyond which a term is nothing beside the nearest
_UNDERFLOW: Final = 800.0  # exponent beyond which a double is zero
_BLOCK: Final = 1 << 16  # rows of which sums are in memory at once
_MOST: Final = (1 << 32) - 1


@dataclass(frozen=True)
class Cells:
    """Records by cell.

    Attributes
    ----------
    hashes : (V,), ascending, each once.
    counts : (V,).
    """

    hashes: Hashes
    counts: IntArray

    @cached_property
    def rows(self) -> int:
        """Number of records."""
        return int(self.counts.sum())


def cells_of(hashes: Hashes) -> Cells:
    """Count the records of each cell; O(N log N)."""
    ordered = np.sort(hashes)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(ordered)])
    return Cells(ordered[starts], np.diff(np.append(starts, len(ordered))))


def normalizers() -> FloatArray:
    """Return room for log Z by c and tilt, which are the same for f and 1 - f: for all evidence at one share."""
    return np.full((256, len(TILTS)), np.nan)


def evidence(pairs: Sequence[tuple[Cells, Cells]], *, share: float, known: FloatArray | None = None) -> FloatArray:
    """Bits of evidence against independence: -log2 of a bound of the probability of agreements like these.

    Parameters
    ----------
    pairs : the cells of both tables, over one column or set of columns each.
    share : f, by the sizes of the whole tables.
    known : `normalizers` of this share.

    Returns
    -------
    (pairs,)
        log2 e; below zero where the tables agree less than by chance. O(V) each.
    """
    room = normalizers() if known is None else known
    logs, rows = np.zeros((len(pairs), len(_TILTS))), np.full(len(pairs), math.inf)
    for at, (first, second) in enumerate(pairs):
        if len(first.hashes) and len(second.hashes):
            rows[at] = split_logs(
                first.hashes, first.counts, second.hashes, second.counts, share, _TILTS, room, logs[at]
            )
    return _bits(logs, rows, share)


@dataclass(frozen=True)
class CellsBySet:
    """Records of a table by cell, over several sets of columns, one set after the other.

    Attributes
    ----------
    halvings : of all hashes; only cells up to `limit` are judged.
    hashes, counts : as of `Cells`.
    starts : (S + 1,), where the cells of a set begin.
    shift : by which a hash is divided for its place in the index.
    index : (S, B + 1), which of a set's cells is the first in each of B equal parts of the hashes that are judged.
    times, cells : different counts of a set's cells, ascending, and how many cells have each.
    ends : (S + 1,), where these begin.
    """

    halvings: int
    shift: np.uint32
    hashes: Words
    counts: IntArray
    starts: IntArray
    index: IndexArray
    times: IntArray
    cells: IntArray
    ends: IntArray

    @property
    def limit(self) -> int:
        """The greatest hash of a cell that is judged."""
        return _MOST >> self.halvings

    def of(self, at: int) -> Cells:
        """The cells of a set."""
        inside = slice(self.starts[at], self.starts[at + 1])
        return Cells(self.hashes[inside].astype(np.uint64), self.counts[inside])


def cells_by_set(codes: Codes, words: Words, members: Members, halvings: int) -> CellsBySet:
    """Count the records of each cell over sets of columns; O(N (columns + S columns) + S N log N).

    Parameters
    ----------
    codes : (N, m), bytes.
    words : (m, 256), what a byte of a column adds: the sum over a set's columns stands for the row.
    members : (S, m), which columns are in a set.
    halvings : as of `CellsBySet`.
    """
    blocks = [
        sums_by_set(codes[at : at + _BLOCK], words, members, np.uint32(_MOST >> halvings))
        for at in range(0, max(1, len(codes)), _BLOCK)
    ]
    ordered = [np.sort(np.concatenate([sums[s, : rows[s]] for sums, rows in blocks])) for s in range(len(members))]
    begins = np.cumsum([0, *map(len, ordered)])
    parts = min(16, max(4, int(np.diff(begins).max(initial=0)).bit_length()))
    shift = np.uint32(32 - halvings - parts)
    return CellsBySet(halvings, shift, *runs_by_set(np.concatenate(ordered), begins, shift, 1 << parts))


def evidence_by_set(
    mine: CellsBySet, sums: Words, rows: IntArray, *, share: float, least: float, known: FloatArray
) -> FloatArray:
    """Bits of evidence of a table's rows beside the cells of another, shape (S,); O(S M).

    A record in a cell of the other's adds one bit at most, so sets are judged in which at least `least` records are.
    That is so where the cell has one record of either; where it has more, c of which f c >= SPARSE are expected here,
    a record that agrees with what is expected is less than a bit, for its probability is more than 2^-a.

    Parameters
    ----------
    mine : the other's cells.
    sums, rows : of the rows, as of `sums_by_set` with the same words, members and limit.
    share : f, of the rows' table.
    least : bits that matter.
    known : `normalizers` of this share.

    Returns
    -------
    (S,), log2 e; minus infinity for sets that are not judged.
    """
    logs, judged = split_logs_by_set(
        sums, rows, mine.hashes, mine.counts, mine.starts, mine.index, mine.shift, mine.times, mine.cells,
        mine.ends, least, share, _TILTS, known,
    )  # fmt: skip
    return _bits(logs, judged, share)


def _bits(logs: FloatArray, rows: FloatArray | int, share: float) -> FloatArray:
    """log2 e by set."""
    top = logs.max(axis=1)
    given = 0.5 * np.log(2 * math.pi * rows * share * (1.0 - share) + 1.0)
    bits: FloatArray = (top + np.log(np.exp(logs - top[:, None]).mean(axis=1)) - given) / math.log(2)
    return bits


@inner_kernel
def _normalizer(c: int, f: float, tilt: float) -> float:
    """Log Z_lambda(c) of a cell of more than _EXACT records."""
    g = 1.0 - f
    spread = math.sqrt(c * f * g / (1.0 + tilt))
    if spread > 2.0:
        return -0.5 * math.log1p(tilt)
    low, high = max(0, int(c * f - 10 * spread) - 2), min(c, int(c * f + 10 * spread) + 2)
    log = math.lgamma(c + 1.0) - math.lgamma(low + 1.0) - math.lgamma(c - low + 1.0)
    log += low * math.log(f) + (c - low) * math.log(g)
    odds = math.log(f / g)
    total, top = 0.0, -math.inf
    for a in range(low, high + 1):
        term = log - 0.5 * tilt * (a - f * c) ** 2 / (c * f * g)
        if term > top:
            total, top = total * math.exp(top - term) + 1.0, term
        else:
            total += math.exp(term - top)
        log += math.log((c - a) / (a + 1.0)) + odds if a < c else 0.0
    return top + math.log(total)


@inner_kernel
def _normalize(c: int, f: float, tilts: FloatArray, logs: FloatArray) -> None:
    """Log Z_lambda(c) of each tilt, summed over all a."""
    g = 1.0 - f
    nearest = 0.5 * (round(f * c) - f * c) ** 2 / (c * f * g)
    log, odds = c * math.log(g), math.log(f / g)
    logs[:] = 0.0
    for a in range(c + 1):
        probability, half = math.exp(log), 0.5 * (a - f * c) ** 2 / (c * f * g) - nearest
        for k in range(len(tilts)):
            if tilts[k] * half < _NOTHING:
                logs[k] += probability * math.exp(-tilts[k] * half)
        log += math.log((c - a) / (a + 1.0)) + odds if a < c else 0.0
    for k in range(len(tilts)):
        logs[k] = math.log(logs[k]) - tilts[k] * nearest


@inner_kernel
def _share(c: int, f: float) -> float:
    """The share that a cell is judged by; 0: it reveals nothing."""
    if c * min(f, 1.0 - f) >= SPARSE and c > 3:
        return f
    return 0.5 if 2 <= c <= 3 else 0.0


@inner_kernel
def _add(a: int, c: int, times: float, f: float, tilts: FloatArray, known: FloatArray, logs: FloatArray) -> None:
    """Add cells to the exponents of e."""
    share = _share(c, f)
    if share == 0.0 or times == 0.0:
        return
    z = (a - share * c) ** 2 / (c * share * (1.0 - share))
    if c <= _EXACT and np.isnan(known[c, 0]):
        _normalize(c, share, tilts, known[c])
    for k in range(len(logs)):
        if c < len(known):
            if np.isnan(known[c, k]):
                known[c, k] = _normalizer(c, share, tilts[k])
            log = known[c, k]
        else:
            log = _normalizer(c, share, tilts[k])
        logs[k] += times * (-0.5 * tilts[k] * z - log)


@inner_kernel
def _telling(own: IntArray, both: IntArray, f: float, tilts: FloatArray) -> int:
    """Count the tilts, ascending, whose term of e is something beside the first one's.

    The first exponent is -lambda_0 X^2 / 2 at least, for Z <= 1. Of c + 1 splits the likeliest has a probability of
    1 / (c + 1) at least, so that -log Z <= log(c + 1) + lambda z^2 / 2 with its z.
    """
    spread, nearer, choices = 0.0, 0.0, 0.0
    for i in range(len(own)):
        c = both[i]
        share = _share(c, f)
        if share > 0.0:
            variance = c * share * (1.0 - share)
            spread += (own[i] - share * c) ** 2 / variance
            nearer += (min(c, math.floor((c + 1) * share)) - share * c) ** 2 / variance
            choices += math.log(c + 1.0)
    most = -0.5 * tilts[0] * spread - _UNDERFLOW
    telling = len(tilts)
    while telling > 1 and choices - 0.5 * tilts[telling - 1] * (spread - nearer) < most:
        telling -= 1
    return telling


@kernel
def split_logs(
    hashes: Hashes, counts: IntArray, other_hashes: Hashes, other_counts: IntArray, f: float, tilts: FloatArray,
    known: FloatArray, logs: FloatArray,
) -> int:  # fmt: skip
    """Add up the exponents of e by tilt, and return how many records both tables have.

    Parameters
    ----------
    hashes, counts, other_hashes, other_counts : the cells of both tables.
    f : share of the first.
    tilts, known, logs : lambda, `normalizers`, and what is added to.
    """
    own, both = np.empty(len(hashes) + len(other_hashes), np.int64), np.empty(len(hashes) + len(other_hashes), np.int64)
    i, j, rows, number = 0, 0, 0, 0
    while i < len(hashes) or j < len(other_hashes):
        a, b = 0, 0
        if j == len(other_hashes) or (i < len(hashes) and hashes[i] <= other_hashes[j]):
            a = counts[i]
        if i == len(hashes) or (j < len(other_hashes) and other_hashes[j] <= hashes[i]):
            b = other_counts[j]
        own[number], both[number] = a, a + b
        i, j, rows, number = i + (a > 0), j + (b > 0), rows + a + b, number + 1
    telling = _telling(own[:number], both[:number], f, tilts)
    logs[telling:] = -np.inf
    for i in range(number):
        _add(own[i], both[i], 1.0, f, tilts, known, logs[:telling])
    return rows


@kernel
def common(first: Hashes, second: Hashes, below: int) -> float:
    """Share of the smaller of two sets of hashes, ascending, that is in both; only those below a threshold count."""
    both, i, j, most = 0, 0, 0, np.uint64(below)
    while i < len(first) and first[i] < most:
        while j < len(second) and second[j] < first[i]:
            j += 1
        if j < len(second) and second[j] == first[i]:
            both += 1
        i += 1
    while j < len(second) and second[j] < most:
        j += 1
    return both / max(1, min(i, j))


@kernel
def sums_by_set(codes: Codes, words: Words, members: Members, limit: np.uint32) -> tuple[Words, IntArray]:
    """Rows over sets of columns up to a limit, in their order.

    Parameters
    ----------
    codes, words, members : as of `cells_by_set`.
    limit : greatest sum.

    Returns
    -------
    (S, N), of which the first few count, and how many these are, (S,).
    """
    sets, columns = members.shape
    sums, rows = np.empty((sets, len(codes)), np.uint32), np.zeros(sets, np.int64)
    chosen, number, rest = np.zeros((sets, columns), np.int64), np.zeros(sets, np.int64), np.zeros(sets, np.bool_)
    for s in range(sets):  # the sum of a set's columns, or what the others leave of the sum of all
        rest[s] = 2 * np.count_nonzero(members[s]) > columns
        for j in range(columns):
            if members[s, j] != rest[s]:
                chosen[s, number[s]] = j
                number[s] += 1
    own = np.empty(columns, np.uint64)  # sums are modulo 2^32
    for i in range(len(codes)):
        total = np.uint64(0)
        for j in range(columns):
            own[j] = words[j, codes[i, j]]
            total += own[j]
        for s in range(sets):
            part = np.uint64(0)
            for k in range(number[s]):
                part += own[chosen[s, k]]
            one = np.uint32(total - part if rest[s] else part)
            if one <= limit:
                sums[s, rows[s]] = one
                rows[s] += 1
    return sums, rows


@kernel
def runs_by_set(
    ordered: Words, begins: IntArray, shift: np.uint32, parts: int
) -> tuple[Words, IntArray, IntArray, IndexArray, IntArray, IntArray, IntArray]:
    """Hashes, counts, starts, index, times, cells and ends of `CellsBySet`.

    Parameters
    ----------
    ordered, begins : sums of rows, ascending in each set, and where the sets begin.
    shift, parts : of the index.
    """
    sets, rows = len(begins) - 1, len(ordered)
    hashes, counts = np.empty(rows, np.uint32), np.empty(rows, np.int64)
    times, cells = np.empty(rows, np.int64), np.empty(rows, np.int64)
    starts, ends = np.zeros(sets + 1, np.int64), np.zeros(sets + 1, np.int64)
    index, repeated = np.zeros((sets, parts + 1), np.int32), np.zeros(rows + 1, np.int64)
    cell, time = 0, 0
    for s in range(sets):
        starts[s], ends[s], most = cell, time, 0
        for i in range(begins[s], begins[s + 1]):
            if i > begins[s] and ordered[i] == ordered[i - 1]:
                counts[cell - 1] += 1
                continue
            hashes[cell], counts[cell] = ordered[i], 1
            cell += 1
            index[s, (ordered[i] >> shift) + np.uint32(1)] += 1
        for part in range(parts):
            index[s, part + 1] += index[s, part]
        for i in range(starts[s], cell):
            repeated[counts[i]] += 1
            most = max(most, counts[i])
        for c in range(1, most + 1):
            if repeated[c]:
                times[time], cells[time] = c, repeated[c]
                time += 1
                repeated[c] = 0
    starts[sets], ends[sets] = cell, time
    return hashes[:cell].copy(), counts[:cell].copy(), starts, index, times[:time].copy(), cells[:time].copy(), ends


@inner_kernel
def _counted(ordered: Words, few: FloatArray, f: float, tilts: FloatArray, known: FloatArray, logs: FloatArray) -> None:
    """Add cells of one table alone, whose hashes are ascending."""
    i = 0
    while i < len(ordered):
        first = i
        while i < len(ordered) and ordered[i] == ordered[first]:
            i += 1
        if i - first < _FEW:
            few[i - first, i - first] += 1.0
        else:
            _add(i - first, i - first, 1.0, f, tilts, known, logs)


@inner_kernel
def _placed(
    sums: Words, hashes: Words, index: IndexArray, shift: np.uint32, here: IntArray, both: IntArray, alone: Words
) -> tuple[int, int]:
    """Count rows by the other table's cells, and list these, and the sums of rows that are in none of them."""
    shared, others = 0, 0
    for one in sums:
        at, end = index[one >> shift], index[(one >> shift) + np.uint32(1)]
        while at < end and hashes[at] < one:
            at += 1
        if at == end or hashes[at] != one:
            alone[others] = one
            others += 1
            continue
        if here[at] == 0:
            both[shared] = at
            shared += 1
        here[at] += 1
    return shared, others


@kernel
def split_logs_by_set(
    sums: Words, rows: IntArray, hashes: Words, counts: IntArray, starts: IntArray, index: IndexArray, shift: np.uint32,
    times: IntArray, cells: IntArray, ends: IntArray, least: float, f: float, tilts: FloatArray,
    known: FloatArray,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """Exponents of e by set and tilt, and how many records are judged; infinite where too few are in cells of both.

    Parameters
    ----------
    sums, rows, least, f : as of `evidence_by_set`.
    hashes, counts, starts, index, times, cells, ends : as of `CellsBySet`.
    shift : by which a hash is divided for its place in the index.
    tilts, known : lambda, and `normalizers`.
    """
    logs, judged = np.zeros((len(rows), len(tilts))), np.full(len(rows), np.inf)
    here, both = np.zeros(np.max(np.diff(starts)), np.int64), np.empty(sums.shape[1], np.int64)
    alone = np.empty_like(sums[0])
    few = np.zeros((_FEW, _FEW))  # cells by a and c, which most are of
    for s in range(len(rows)):
        first, end = starts[s], starts[s + 1]
        shared, others = _placed(
            sums[s, : rows[s]], hashes[first:end], index[s], shift, here, both, alone
        )  # fmt: skip
        left = cells[ends[s] : ends[s + 1]].astype(np.float64)
        enough = rows[s] - others >= least and len(left) > 0 and rows[s] > 0
        few[:] = 0.0
        for i in range(shared):
            a, b = here[both[i]], counts[first + both[i]]
            here[both[i]] = 0
            if not enough:
                continue
            left[np.searchsorted(times[ends[s] : ends[s + 1]], b)] -= 1.0
            if a + b < _FEW:
                few[a, a + b] += 1.0
            else:
                _add(a, a + b, 1.0, f, tilts, known, logs[s])
        if not enough:
            continue
        _counted(np.sort(alone[:others]), few, f, tilts, known, logs[s])
        judged[s] = rows[s]
        for i in range(len(left)):
            judged[s] += times[ends[s] + i] * cells[ends[s] + i]
            _add(0, times[ends[s] + i], left[i], f, tilts, known, logs[s])
        for c in range(2, _FEW):
            for a in range(c + 1):
                _add(a, c, few[a, c], f, tilts, known, logs[s])
    return logs, judged
