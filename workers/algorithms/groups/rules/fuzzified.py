"""Records seen through linguistic variables: of each value only the grades of its variable's terms are left.

Notation
--------
N : records.  V : variables with terms.  L_v : terms of variable v, numbered from 1; term 0 is "any", of grade 1.
C_v : rows of grades of variable v: values with the same grades in all terms share a code.

TC: linguistic variables, section "Fuzzy inference". Records are in range and without missing values (step 2 of the
paper's outline is the caller's).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from surebox_core.errors import InvalidColumnError
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.rules import membership
from workers.algorithms.groups.rules.membership import Term

MOST_TERMS: Final = 127  # a rule contains its terms in int8
_NARROW: Final = 1 << 16
_WIDEST: Final = 1 << 22  # whole numbers that span less are counted instead of sorted


@dataclass(frozen=True)
class Graded:
    """One variable.

    Attributes
    ----------
    codes : (N,), uint16 or int32, row of `grades` of every record.
    grades : (C_v, L_v + 1), column 0 is 1; rows differ unless there are more than 65,536.
    """

    codes: NDArray[np.uint16] | NDArray[np.int32]
    grades: FloatArray


@dataclass(frozen=True)
class Fuzzified:
    """All variables, in the order of a rule's places."""

    variables: tuple[Graded, ...]

    @property
    def records(self) -> int:
        """N."""
        return len(self.variables[0].codes)

    @property
    def terms(self) -> IntArray:
        """(V,), L_v."""
        return np.array([variable.grades.shape[1] - 1 for variable in self.variables], dtype=np.int64)

    def reach(self) -> tuple[FloatArray, ...]:
        """Per variable (L_v,): highest grade that any record has in a term."""
        return tuple(variable.grades[:, 1:].max(axis=0) for variable in self.variables)


def _distinct(x: FloatArray) -> tuple[FloatArray, IntArray]:
    """Distinct values in rising order, and the place of every record's among them."""
    low, high = float(x.min()), float(x.max())
    if high - low < _WIDEST:  # plain floats: no warning where this overflows
        shifted = (x - low).astype(np.int64)
        if np.array_equal(shifted + low, x):
            present = np.bincount(shifted, minlength=1) > 0
            return np.flatnonzero(present).astype(np.float64) + low, (np.cumsum(present) - 1)[shifted]
    values, places = np.unique(x, return_inverse=True)
    return values, places


def graded(x: FloatArray, terms: Sequence[Term]) -> Graded:
    """One variable's records by the grades of its terms.

    Parameters
    ----------
    x : (N,), finite, N >= 1.
    terms : L_v of them, 1 to 127.

    Returns
    -------
    Codes and their grades. O(N) for whole numbers, O(N log N) for others.

    Raises
    ------
    ValueError
        A term that is none (`check_term`), no or too many terms, no records, values that are not finite.
    """
    if not 1 <= len(terms) <= MOST_TERMS:
        raise ValueError(f"a variable takes 1 to {MOST_TERMS} terms, got {len(terms)}")
    if len(x) == 0:
        raise ValueError("there are no records")
    if not np.isfinite(x).all():
        raise ValueError("values must be finite: leave out records with missing ones")
    values, places = _distinct(np.asarray(x, dtype=np.float64))
    table = np.ones((len(values), len(terms) + 1))
    for place, term in enumerate(terms, start=1):
        table[:, place] = membership.grades(term, values)
    rows, code = merged(table)
    if len(rows) <= _NARROW:
        return Graded(codes=code.astype(np.uint16)[places], grades=rows)
    return Graded(codes=code.astype(np.int32)[places], grades=rows)


def merged(table: FloatArray) -> tuple[FloatArray, IntArray]:
    """Rows that differ, and the place of every row among them.

    Runs of equal rows are merged first: values in rising order share plateaus, and sorting whole rows is slow. Where
    more than 65,536 runs are left they are not sorted: few of them would be equal, and equal ones do no harm.
    """
    starts = np.ones(len(table), dtype=np.bool_)
    starts[1:] = table[1:, 0] != table[:-1, 0]
    for column in table.T:
        starts[1:] |= column[1:] != column[:-1]
    run = np.cumsum(starts, dtype=np.int64) - 1
    runs = table[starts]
    if len(runs) > _NARROW:
        return runs, run
    rows, place = np.unique(runs, axis=0, return_inverse=True)
    return np.ascontiguousarray(rows), place.ravel()[run]


def fuzzify(columns: Sequence[FloatArray], terms: Sequence[Sequence[Term]]) -> Fuzzified:
    """All variables of some records.

    Parameters
    ----------
    columns : V arrays (N,), finite, in range.
    terms : those of each variable.

    Raises
    ------
    InvalidColumnError
        As `graded`; `column` is the variable's place.
    ValueError
        No variables, lengths that differ.
    """
    if len(columns) == 0 or len(columns) != len(terms):
        raise ValueError(f"each variable needs values and terms, got {len(columns)} and {len(terms)}")
    if len({len(column) for column in columns}) != 1:
        raise ValueError("columns must have one length")
    variables = []
    for place, (column, its_terms) in enumerate(zip(columns, terms, strict=True)):
        try:
            variables.append(graded(column, its_terms))
        except ValueError as error:
            raise InvalidColumnError(place, str(error)) from error
    return Fuzzified(tuple(variables))
