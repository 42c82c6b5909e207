"""Codebooks of nominal columns: which values there are, under which classes, and the code that each record has.

A codebook is what the specification declares, or what its hierarchy has. Where neither is given it is taken from the
data, and states it: then it lists only values that k records have, for a value that one record has is that record's.
All rarer ones are together `other`, or, where k records have this very value, another word: which word it is follows
from the listed values, so it reveals nothing of the others. Where they are fewer than k together, they would pull a
frequent value with them, and all who have it would lose it for a handful: then the handful is left out instead
(`rare`), as long as that is within the limit, and the next rarest value goes along only beyond it. How many records
have each value decides, nothing else of them. Booleans are two, whatever the data have, and below a hierarchy rare
values are in the sets of their class.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.contracts.columns import MOST_VALUES, typed, typed_values
from app.contracts.datasets import ColumnType
from app.errors import InvalidError, pointer
from app.methods.boxes.nominal import Hierarchy, NominalColumn
from surebox_verify.released import codebooks as released
from surebox_verify.released.naming import merged_word
from workers.algorithms.boxes import sides
from workers.frames.codes import Coded, Codes

_Row: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Codebook:
    """The values of a nominal column.

    Attributes
    ----------
    name, type
        The column's.
    values
        In the order of their codes: ascending, as a reader of the release has them; None, the missing value, is last.
    tree
        Their classes, where cuts follow a hierarchy.
    labels
        Names of the tree's nodes, the values' first.
    rows
        Of its hierarchy.
    from_data
        Whether no one declared it.
    merged_as
        The word for the values that it does not list; None where it lists all.
    merged_values, merged_records
        How many values have this word, and how many records have one of them.
    """

    name: str
    type: ColumnType
    values: tuple[Any, ...]
    tree: sides.Hierarchy | None = None
    labels: tuple[str | None, ...] = ()
    rows: tuple[_Row, ...] = ()
    from_data: bool = False
    merged_as: str | None = None
    merged_values: int = 0
    merged_records: int = 0

    @cached_property
    def named(self) -> released.Codebook:
        """The same as questions name it."""
        listed = None if self.from_data else self.values
        merged = () if self.merged_as is None else (self.merged_as,)
        return released.Codebook(self.name, self.values, listed, self.rows, merged=merged)


def is_from_data(column: ColumnType, declared: NominalColumn) -> bool:
    """Whether a codebook is taken from the data."""
    return declared.values is None and declared.hierarchy is None and column is not ColumnType.BOOLEAN


def rare(coded: Coded, *, people: NDArray[np.int64] | None, k: int) -> NDArray[np.bool_]:
    """Records that have a value of a column of texts which would pull a frequent one into `other`; (N,).

    Parameters
    ----------
    coded
        The records that take part.
    people
        Number of each record's person, where k counts persons.
    k
        Records, or persons, that have a value which no one declared.
    """
    gone = _gone(_counts(coded, people), k)
    codes = np.where(coded.codes < 0, len(coded.values), coded.codes)
    together: NDArray[np.bool_] = np.isin(codes, list(gone))
    if not gone or _count(together.astype(np.int64), people, 2)[1] >= k:
        return np.zeros(len(codes), dtype=np.bool_)
    return together


def codebook(
    name: str, column: ColumnType, declared: NominalColumn, coded: Coded, *, people: NDArray[np.int64] | None, k: int
) -> tuple[Codebook, Codes]:
    """The codebook of a column, and the codes of its records; -1 where a value is missing and that is no value.

    Parameters
    ----------
    name, column
        The column and its type.
    declared
        What the specification states about it.
    coded
        The records that take part.
    people
        Number of each record's person, where k counts persons.
    k
        Records, or persons, that have a value which no one declared.

    Raises
    ------
    InvalidError
        Values that the codebook does not have, or more of them than a box can have sets of.
    """
    if not is_from_data(column, declared):
        made = declared_codebook(name, column, declared)
    else:
        made, coded = _from_data(name, column, declared, coded, people, k)
    if len(made.values) > MOST_VALUES:
        raise _wrong(
            name, f"column {name!r} would have {len(made.values):,} values, at most {MOST_VALUES:,} can be nominal"
        )
    codes, strange = coded.among(made.values)
    if strange:
        detail = f"{strange} records have a value of column {name!r} that its codebook has not: list all there may be"
        raise _wrong(name, detail)
    return made, codes


def declared_codebook(name: str, column: ColumnType, declared: NominalColumn) -> Codebook:
    """The codebook that a specification declares, or that booleans have; of a column with neither it is empty."""
    rows = {} if declared.hierarchy is None else {typed(row[0], column): row for row in declared.hierarchy.rows}
    values = [False, True] if column is ColumnType.BOOLEAN else list(rows)
    if declared.values is not None:
        values = typed_values(declared.values, column)
    lacking = [None] if declared.missing_is_value or None in values else []
    values = [*sorted(value for value in values if value is not None), *lacking]
    tree, labels = (
        (None, ()) if declared.hierarchy is None else _tree(declared.hierarchy, [rows.get(v) for v in values])
    )
    own = () if declared.hierarchy is None else declared.hierarchy.rows
    return Codebook(name, column, tuple(values), tree, labels, own)


def _tree(hierarchy: Hierarchy, rows: Sequence[_Row | None]) -> tuple[sides.Hierarchy, tuple[str | None, ...]]:
    """The tree over values, from the row of each; a missing value, which has none, is right below everything."""
    top = len(hierarchy.rows[0]) - 1
    above = {(level, row[level]): row[level + 1] for row in rows if row is not None for level in range(1, top)}
    classes = [*sorted(above, key=lambda node: node[0]), (top, hierarchy.rows[0][top])]
    number = {node: len(rows) + index for index, node in enumerate(classes)}
    parent = [number[classes[-1]] if row is None else number[1, row[1]] for row in rows]
    parent += [number[level + 1, above[level, label]] for level, label in classes[:-1]]
    labels = (*(None if row is None else row[0] for row in rows), *(label for _, label in classes))
    return sides.Hierarchy(np.array([*parent, len(parent)], dtype=np.int32)), labels


def _count(codes: NDArray[np.int64], people: NDArray[np.int64] | None, size: int) -> NDArray[np.int64]:
    """Records, or persons, that have each code."""
    if people is not None:
        codes = np.unique(codes + size * people) % size
    return np.bincount(codes, minlength=size)


def _from_data(
    name: str, column: ColumnType, declared: NominalColumn, coded: Coded, people: NDArray[np.int64] | None, k: int
) -> tuple[Codebook, Coded]:
    """The values that k records have, the others together; and the records with these."""
    values: list[Any] = coded.values.to_pylist()
    codes = np.where(coded.codes < 0, len(values), coded.codes).astype(np.int64)  # the last: missing
    counts = _counts(coded, people)
    if declared.missing_is_value and 0 < counts[-1] < k:
        raise _wrong(
            name, f"fewer than k = {k} records lack a value of column {name!r}: list the values, null among them"
        )
    present = np.flatnonzero(counts[:-1])  # the column may have values that no record here has
    gone = _gone(counts, k)
    if gone and column is not ColumnType.STRING:
        detail = (
            f"column {name!r} has {len(gone)} values that fewer than k = {k} records have: list the values there may be"
        )
        raise _wrong(name, detail)
    for code in present[np.argsort(counts[present], kind="stable")]:
        together = np.isin(codes, list(gone))
        if not gone or _count(together.astype(np.int64), people, 2)[1] >= k:
            break
        gone.add(int(code))
    book = sorted(values[code] for code in present if code not in gone)
    word, merged = merged_word(book) if gone else None, int(np.isin(codes, list(gone)).sum())
    if word is not None:
        book = sorted([*book, word])
        coded = coded.with_text(word, instead_of=gone)
    if declared.missing_is_value and counts[-1]:
        book.append(None)
    made = Codebook(
        name,
        column,
        tuple(book),
        from_data=True,
        merged_as=word,
        merged_values=len(gone),
        merged_records=merged,
    )
    return made, coded


def _counts(coded: Coded, people: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Records, or persons, that have each value of a column; the last lack it."""
    codes = np.where(coded.codes < 0, len(coded.values), coded.codes).astype(np.int64)
    return _count(codes, people, len(coded.values) + 1)


def _gone(counts: NDArray[np.int64], k: int) -> set[int]:
    """Values that too few records have."""
    return {int(code) for code in np.flatnonzero(counts[:-1]) if counts[code] < k}


def _wrong(name: str, detail: str) -> InvalidError:
    return InvalidError.at(pointer("nominal", name), detail)
