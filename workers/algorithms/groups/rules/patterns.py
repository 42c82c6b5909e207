"""Records with the same grades, counted once: the patterns that rules are judged on, and the bit sets of their terms.

Notation
--------
N, V, L_v, C_v as in rules.fuzzified.  rho, rho_v : records, vital records.
alpha : grades whose product is below it count as 0; 0 for no threshold.
mu : grades; those below alpha are 0 here, which changes no product at or above alpha (a product is at most its least
    factor), but lets more records share a pattern.
D : slots. A slot contains one pattern (the grades of a record, and whether it is vital) and how many records have it,
    or is empty and is in no bit set. Vital patterns come first, then others of several records, then others of a
    single one; each section fills whole words of 64, and is sorted by codes, so that bits come in runs.
Q : all terms, variable by variable; `first[v]` + t - 1 is the place of term t of variable v.
some, full : (Q, D / 64) uint64, slots with mu > 0, and with mu = 1.

science.md section 2, "Every rule": "AND per-term bit sets `grade >= alpha`, multiply only for survivors". Beyond it,
survivors with mu = 1 in all terms are counted, not multiplied, and equal records are one pattern; both are exact.
"""

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surebox_core.types import BoolArray, FloatArray, IndexArray, IntArray
from workers.algorithms.groups.rules.fuzzified import Fuzzified, Graded, merged

WORD: Final = 64
_KEYS: Final = 1 << 62

Words: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True)
class Patterns:
    """What rules are judged on; all arrays C-contiguous.

    Attributes
    ----------
    codes : (V, D) int32, columns of `table`; each variable has its own.
    table : (1 + max L_v, sum C_v), mu of every term; row 0 is 1.
    terms, first : (V,), L_v and place of its first term.
    some, full : (Q, D / 64).
    reach : (Q, 2), slots in either.
    count : (D,), records of each slot; whole numbers.
    vital_words, several_words : words up to which slots are vital, and up to which they are so or contain several
        records.
    records, vital : rho, rho_v.
    alpha : as requested.
    """

    codes: IndexArray
    table: FloatArray
    terms: IntArray
    first: IntArray
    some: Words
    full: Words
    reach: IntArray
    count: FloatArray
    vital_words: int
    several_words: int
    records: int
    vital: int
    alpha: float

    @property
    def distinct(self) -> int:
        """Patterns, empty slots aside."""
        return int(np.count_nonzero(self.count))


@dataclass(frozen=True)
class Folding:
    """Records are being distinguished, variable by variable.

    Attributes
    ----------
    tables : mu of the variables folded so far, their C_v rows.
    key : (N,), a number below `keys` that distinguishes records by these: vital * C_1 * C_2 ... + ... + code.
    renumbered : before which variables distinct keys took their places as new keys, and what they had been.
    """

    data: Fuzzified
    alpha: float
    tables: tuple[FloatArray, ...]
    key: IntArray
    keys: int
    renumbered: dict[int, IntArray]
    vital: int


@dataclass(frozen=True)
class Weaving:
    """Patterns are there; bit sets are made, variable by variable, in place."""

    patterns: Patterns
    woven: int


PatternState: TypeAlias = Folding | Weaving


def check_alpha(alpha: float) -> None:
    """Whether alpha is one.

    Raises
    ------
    ValueError
        alpha outside [0, 1].
    """
    if not 0.0 <= alpha <= 1.0:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")


def init(data: Fuzzified, vital: BoolArray, alpha: float) -> PatternState:
    """Begin to collect patterns.

    Parameters
    ----------
    data : N records.
    vital : (N,), which of them belong to the group.
    alpha : in [0, 1].

    Raises
    ------
    ValueError
        alpha outside [0, 1], lengths that differ, no or only vital records.
    """
    check_alpha(alpha)
    if vital.shape != (data.records,):
        raise ValueError(f"vital must have a value for each of the {data.records} records, got shape {vital.shape}")
    inside = int(np.count_nonzero(vital))
    if inside in {0, data.records}:
        raise ValueError(f"{inside} of {data.records} records in range are vital: some must be, and some must not")
    return Folding(data, alpha, (), vital.astype(np.int64), 2, {}, inside)


def done(state: PatternState) -> bool:
    """Whether the patterns are there."""
    return isinstance(state, Weaving) and state.woven == len(state.patterns.terms)


def fraction(state: PatternState) -> float:
    """Share of the work done."""
    if isinstance(state, Folding):
        return 0.5 * len(state.tables) / len(state.data.variables)
    return 0.5 + 0.5 * state.woven / len(state.patterns.terms)


def result(state: PatternState) -> Patterns:
    """The patterns.

    Raises
    ------
    ValueError
        They are not done.
    """
    if isinstance(state, Weaving) and done(state):
        return state.patterns
    raise ValueError("patterns are not finished: step until done")


def collect(data: Fuzzified, vital: BoolArray, alpha: float) -> Patterns:
    """Patterns at one go: O(N V + N log N); parameters and errors as `init`."""
    state = init(data, vital, alpha)
    while not done(state):
        state = step(state)
    return result(state)


def step(state: PatternState) -> PatternState:
    """Go on by one variable: O(N), O(N log N) where keys must be renumbered or sorted."""
    if isinstance(state, Weaving):
        return _weave(state)
    if len(state.tables) == len(state.data.variables):
        return _sort(state)
    return _fold(state)


def reduced(variable: Graded, alpha: float) -> tuple[FloatArray, IntArray]:
    """Grades below alpha set to 0: distinct rows, and which of them each code has become."""
    grades = variable.grades
    return merged(np.where(grades >= alpha, grades, 0.0))


def _fold(state: Folding) -> Folding:
    place = len(state.tables)
    variable = state.data.variables[place]
    table, code = reduced(variable, state.alpha)
    key, keys, renumbered = state.key, state.keys, state.renumbered
    if keys * len(table) > _KEYS:
        former, key = np.unique(key, return_inverse=True)
        keys, renumbered = len(former), {**renumbered, place: former}
    key = key * len(table)
    key += code[variable.codes]
    tables = (*state.tables, table)
    return replace(state, tables=tables, key=key, keys=keys * len(table), renumbered=renumbered)


def _sections(vital: BoolArray, count: IntArray) -> tuple[IntArray, int, int]:
    """Slot of every pattern, and words up to which they are vital, or vital or several."""
    several = ~vital & (count > 1)
    slots = np.empty(len(vital), dtype=np.int64)
    words = [0]
    for section in (vital, several, ~vital & ~several):
        size = int(np.count_nonzero(section))
        slots[section] = words[-1] * WORD + np.arange(size)
        words.append(words[-1] + -(-size // WORD))
    return slots, words[1], words[2]


def _sort(state: Folding) -> Weaving:
    """Sorted keys are patterns; the key folded in last is decoded first."""
    ordered = np.sort(state.key)
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    key, count = ordered[starts], np.diff(np.append(starts, len(ordered)))
    rows = np.array([len(table) for table in state.tables], dtype=np.int64)
    codes = np.empty((len(rows), len(key)), dtype=np.int32)
    for place in reversed(range(len(rows))):
        key, codes[place] = np.divmod(key, rows[place])
        if place in state.renumbered:
            key = state.renumbered[place][key]
    slots, vital_words, several_words = _sections(key == 1, count)
    return Weaving(_arranged(state, codes, count, slots, (vital_words, several_words)), 0)


def _arranged(state: Folding, codes: IndexArray, count: IntArray, slots: IntArray, words: tuple[int, int]) -> Patterns:
    """Patterns in their slots; bit sets are still empty."""
    terms = state.data.terms
    first = np.cumsum(terms) - terms
    width = int(slots.max()) // WORD + 1
    placed = np.zeros((len(terms), width * WORD), dtype=np.int32)
    counts = np.zeros(width * WORD)
    table = np.zeros((1 + int(terms.max()), sum(len(rows) for rows in state.tables)))
    start = np.cumsum([0, *(len(rows) for rows in state.tables)])[:-1]
    for place, (at, rows) in enumerate(zip(start, state.tables, strict=True)):
        placed[place, slots] = codes[place] + at
        table[: rows.shape[1], at : at + len(rows)] = rows.T
    counts[slots] = count
    some = np.zeros((int(terms.sum()), width), dtype=np.uint64)
    return Patterns(
        codes=placed,
        table=table,
        terms=terms,
        first=first,
        some=some,
        full=np.zeros_like(some),
        reach=np.zeros((len(some), 2), dtype=np.int64),
        count=counts,
        vital_words=words[0],
        several_words=words[1],
        records=state.data.records,
        vital=state.vital,
        alpha=state.alpha,
    )


def _weave(state: Weaving) -> Weaving:
    patterns, place = state.patterns, state.woven
    used = patterns.count > 0.0
    for term in range(1, int(patterns.terms[place]) + 1):
        row = int(patterns.first[place]) + term - 1
        mu = patterns.table[term]
        for which, (bits, holds) in enumerate(((patterns.some, mu > 0.0), (patterns.full, mu == 1.0))):
            slots = holds[patterns.codes[place]] & used
            bits[row] = np.packbits(slots, bitorder="little").view(np.uint64)
            patterns.reach[row, which] = np.count_nonzero(slots)
    return Weaving(patterns, place + 1)
