"""Return whether the persons of two tables are the same by their ids (science.md section 6, "Sameness of data").

Ids are compared as values (`splits`). Ids that are numbers given in turn are the same in all tables; there the persons
of an id must have something in common. Whether they have is judged column by column by betting on the value of the one
table's person, knowing that of the other's.

Notation
--------
S : the PERSONS ids of a table with the smallest hashes; of each person one byte of each column: the least h among its
    records, which is that of the person where all of them agree.
a_i, b_i : bytes of a column of the person i that both samples have, in the order of the hashes of ids.
p_i : share of b_i among those that are left: its probability if persons are paired at random.
q_i : (n_ab + p_i) / (n_a + 1), how often b_i came with a_i before.
e = prod_i q_i / p_i : a test martingale under random pairing (Shafer 2021).

Columns that follow the ids' order, as a sorted table's do, have something in common in any two tables: left out.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from surebox_core.compiling.kernels import kernel
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.tables.agreeing import by_chance
from workers.algorithms.tables.recognition import CERTAIN, Agreement, Sameness, needed_bits
from workers.algorithms.tables.sketches import HashedColumn, is_numbering
from workers.algorithms.tables.splits import Cells, Codes, Hashes, cells_of, evidence

#: Persons of a sample.
PERSONS: Final = 512
#: Columns that are kept of a wide table.
_COLUMNS: Final = 64
#: Standard deviations by which neighbours in the order of ids may agree more often than others, or more seldom.
_SORTED: Final = 4.0


@dataclass(frozen=True)
class PersonSketch:
    """By what the persons of a table are recognised.

    Attributes
    ----------
    persons : how many there are.
    numbered : whether their ids are numbers given in turn.
    ids : (P,), the smallest hashes, ascending.
    names : columns that do not follow the order of the ids.
    codes : (P, columns), a byte of each person.
    """

    persons: int
    numbered: bool
    ids: Hashes
    names: tuple[str, ...]
    codes: Codes

    @property
    def below(self) -> int:
        """The threshold under which all persons are kept."""
        return (1 << 64) - 1 if self.persons <= len(self.ids) else int(self.ids[-1]) + 1


def person_sketch(
    ids: HashedColumn, columns: Sequence[HashedColumn], *, order: IntArray, lattice: float
) -> PersonSketch:
    """Sketch the persons of a table; O(N log N).

    Parameters
    ----------
    ids : the column that states whose each record is.
    columns : the others.
    order : (N,), the records in the order of the ids.
    lattice : as of `sketches.hashed_column`.
    """
    persons = len(cells_of(ids.hashes).hashes)
    telling = [one for one in columns if one.sketch.values > 1 and not _follows(one.hashes[order])]
    kept = sorted(telling, key=lambda one: one.sketch.name)[:_COLUMNS]
    least, codes = np.unique(ids.hashes)[:PERSONS], []
    inside = np.flatnonzero(ids.hashes <= least[-1]) if len(least) else np.zeros(0, np.int64)
    at = np.searchsorted(least, ids.hashes[inside])
    for one in kept:
        smallest = np.full(len(least), np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(smallest, at, one.hashes[inside])
        codes.append((smallest >> np.uint64(56)).astype(np.uint8))
    together = np.column_stack(codes) if codes else np.zeros((len(least), 0), np.uint8)
    names = tuple(one.sketch.name for one in kept)
    return PersonSketch(persons, is_numbering(persons, persons, lattice), least, names, together)


def _follows(hashes: Hashes) -> bool:
    """Return whether neighbours agree more often than any two records, or more seldom, as in turn."""
    counts = cells_of(hashes).counts / max(1, len(hashes))
    chance, pairs = float((counts**2).sum()), max(1, len(hashes) - 1)
    agreeing = np.count_nonzero(hashes[1:] == hashes[:-1]) / pairs
    return bool(abs(agreeing - chance) > _SORTED * math.sqrt(chance * (1 - chance) / pairs))


def compared_persons(mine: PersonSketch, other: PersonSketch, *, tables: int) -> Agreement:
    """Decide whether two tables are of the same persons.

    Parameters
    ----------
    mine, other
        Their sketches.
    tables
        Tables that the first is compared with.
    """
    needed = needed_bits(tables)
    below = np.uint64(min(mine.below, other.below))
    first, second = (Cells(one, np.ones(len(one), np.int64)) for one in (x.ids[x.ids < below] for x in (mine, other)))
    share = mine.persons / max(1, mine.persons + other.persons)
    if not mine.numbered and not other.numbered:
        bits = float(evidence([(first, second)], share=share)[0])
        sameness = Sameness.SAME if bits >= needed else Sameness.OTHER
    else:
        bits = _related(mine, other)
        sameness = Sameness.SAME if bits >= needed + CERTAIN else Sameness.UNDECIDED
        sameness = sameness if bits >= needed else Sameness.OTHER
    shares = (0.0, 0.0) if sameness is Sameness.OTHER else by_chance(first, second, share=share)
    return Agreement(sameness, bits, needed, (), *shares)


def _related(mine: PersonSketch, other: PersonSketch) -> float:
    """Bits by which persons of the same id have something in common, in columns of the same name: of the mean e."""
    _, here, there = np.intersect1d(mine.ids, other.ids, assume_unique=True, return_indices=True)
    names = [one for one in mine.names if one in other.names]
    if not names or len(here) < 2:
        return -math.inf
    a = mine.codes[here][:, [mine.names.index(one) for one in names]]
    b = other.codes[there][:, [other.names.index(one) for one in names]]
    logs = betting_logs(np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)) / math.log(2)
    top = float(logs.max())
    return top + math.log2(float(np.exp2(logs - top).mean()))


@kernel
def betting_logs(a: Codes, b: Codes) -> FloatArray:
    """Return log e of each column; O(columns (persons + 65,536)).

    Parameters
    ----------
    a, b : (columns, persons), bytes of the same persons.
    """
    logs = np.zeros(len(a))
    for j in range(len(a)):
        left, pairs, alone = np.zeros(256), np.zeros((256, 256)), np.zeros(256)
        for i in range(a.shape[1]):
            left[b[j, i]] += 1.0
        for i in range(a.shape[1]):
            x, y = a[j, i], b[j, i]
            p = left[y] / (a.shape[1] - i)
            logs[j] += math.log((pairs[x, y] + p) / (alone[x] + 1.0) / p)
            left[y] -= 1.0
            pairs[x, y] += 1.0
            alone[x] += 1.0
    return logs
