"""Every person of the tables of a family, and which record of each table is theirs.

Today's records come first, then those who have left since an earlier table, the latest table first. Those whom today's
lacks are looked for in all earlier tables, so that who has left is one person in all that was published before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from surebox_core.types import IntArray
from workers.algorithms.tables.linking import NONE, UNTOLD
from workers.methods.released.same_persons import DeclaredColumns, Known, Paired, alike_in, same_persons

#: Answers to who is who that are followed at once; beyond them it is not known.
_MOST: Final = 8


@dataclass(frozen=True)
class Table:
    """A table of the family of before today.

    Attributes
    ----------
    known
        The known facts of its records.
    alike
        Of each, equal where the published part of it is.
    """

    known: Known
    alike: IntArray


@dataclass(frozen=True)
class Pool:
    """Persons who are records of one table: which of its records, and which persons."""

    known: Known
    alike: IntArray
    records: IntArray
    persons: IntArray


@dataclass(frozen=True)
class AllPersons:
    """The persons of all tables.

    Attributes
    ----------
    today
        How many are today's; they come first.
    number
        How many there are.
    records
        Of each earlier table, shape (persons,): which of its records each is; NONE, UNTOLD.
    certain
        Of each earlier table, whether its persons were found by an id: their values may have changed.
    pools
        Today's records, and of each table those who have left since.
    """

    today: int
    number: int
    records: tuple[IntArray, ...]
    certain: tuple[bool, ...]
    pools: tuple[Pool, ...]

    @property
    def left(self) -> int:
        """Persons who are no more there."""
        return self.number - self.today

    @property
    def new(self) -> int:
        """Persons of today who were not in some earlier table."""
        came = np.zeros(self.today, dtype=np.bool_)
        for one in self.records:
            came |= one[: self.today] == NONE
        return int(np.count_nonzero(came))


def all_persons(today: Known, alike: IntArray, tables: Sequence[Table], declared: DeclaredColumns) -> list[AllPersons]:
    """The persons of today's table and of earlier ones; several answers where several maps of values hold.

    Parameters
    ----------
    today, alike
        Today's table; equal where its records are as good as each other.
    tables
        Earlier ones, the latest first.
    declared
        Of their columns.
    """
    everybody = np.arange(today.rows)
    answers = [AllPersons(today.rows, today.rows, (), (), (Pool(today, alike, everybody, everybody),))]
    for table in tables:
        more = [one for answer in answers for one in _joined(answer, table, declared)]
        answers = more if len(more) <= _MOST else [_unknown(answers[0], table)]
    return answers


def _joined(before: AllPersons, table: Table, declared: DeclaredColumns) -> list[AllPersons]:
    """The persons with those of one table more."""
    first, *others = before.pools
    pairings = same_persons(
        first.known,
        table.known,
        declared,
        at=(first.records, np.arange(table.known.rows)),
        alike=(first.alike, table.alike),
    )
    if not pairings:
        return [_unknown(before, table)]
    return [_with(before, table, one, others, declared) for one in pairings]


def _with(
    before: AllPersons, table: Table, paired: Paired, others: Sequence[Pool], declared: DeclaredColumns
) -> AllPersons:
    """By one answer to who of today is who; those of earlier pools are looked for among the rest."""
    of = np.full(before.number, NONE, dtype=np.int64)
    of[: before.today] = paired.linked.other
    left = paired.linked.left
    for pool in others:
        if not len(left) or not len(pool.records):
            continue
        at, alike = (pool.records, left), (pool.alike[pool.records], table.alike[left])
        answers = same_persons(pool.known, table.known, declared, at=at, alike=alike)
        if len(answers) != 1:  # nothing states who they were, or several maps of values do
            of[pool.persons] = UNTOLD
            continue
        of[pool.persons] = _placed(answers[0].linked.other, left)
        left = left[answers[0].linked.left]
    return _grown(before, table, of, left, certain=paired.certain)


def _placed(other: IntArray, records: IntArray) -> IntArray:
    return np.where(other >= 0, records[np.maximum(other, 0)], other)


def _grown(before: AllPersons, table: Table, of: IntArray, left: IntArray, *, certain: bool) -> AllPersons:
    number = before.number + len(left)
    none = np.full(len(left), NONE, dtype=np.int64)
    pool = Pool(table.known, table.alike, left, np.arange(before.number, number))
    return AllPersons(
        today=before.today,
        number=number,
        records=(*(np.concatenate([one, none]) for one in before.records), np.concatenate([of, left])),
        certain=(*before.certain, certain),
        pools=(*(_still_alike(one, table, of[one.persons]) for one in before.pools), pool),
    )


def _still_alike(pool: Pool, table: Table, of: IntArray) -> Pool:
    """A pool whose persons stay as good as each other only where one more table has them alike too."""
    if not len(pool.records):
        return pool
    what = np.where(of >= 0, table.alike[np.maximum(of, 0)], of) if table.known.rows else of
    alike = pool.alike.copy()
    alike[pool.records] = alike_in(pool.alike[pool.records], what)
    return replace(pool, alike=alike)


def _unknown(before: AllPersons, table: Table) -> AllPersons:
    """Nothing shows who is who: of no one is it known."""
    nobody = np.zeros(0, dtype=np.int64)
    return _grown(before, table, np.full(before.number, UNTOLD, dtype=np.int64), nobody, certain=False)
