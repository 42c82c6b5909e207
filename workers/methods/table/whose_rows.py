"""Columns that may say whose row it is: their values have several rows each, and these are as those of one person.

It is asked about, never decided: towns, schools, doctors and tracts have many rows a value too. What is measured is how
many rows a value has, which columns are constant within it beyond chance (sex, year of birth), and which one numbers
its rows. A place has far more rows, and columns that are constant within it follow from one another (district, region);
those of a person do not. The name of a column decides only where measurements leave it open.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.contracts.datasets import DatasetColumn
from app.contracts.findings import Finding, FindingSeverity
from app.contracts.gate import MissingMatches
from app.contracts.quasi_identifiers import Form, QuasiIdentifier
from app.contracts.releases import ReleaseColumn
from app.methods.table.result import PossiblePersonColumn
from app.methods.table.spec import TableSpec
from app.methods.table.whose_rows import (
    are_as_many_as_persons,
    are_few_each,
    can_name_persons,
    is_called_number,
    is_called_person,
    may_say_whose_rows,
)
from workers.algorithms.tables.repetition import repetition, some_values
from workers.methods.context import JobContext
from workers.methods.table.proposing import candidates
from workers.methods.table.reading import Audited, read

#: Share of the rows that have another row of their value.
_REPEATED: Final = 0.05
#: A column is constant, or numbers rows, if this share of them says so, and chance would have at most the other.
_SURE: Final = 0.95
_BY_CHANCE: Final = 0.6
#: Rows that are looked at, and columns that are compared with each other.
_ROWS: Final = 10_000
_COMPARED: Final = 8


def possible_person_columns(
    audited: Audited, columns: Sequence[DatasetColumn | ReleaseColumn]
) -> tuple[PossiblePersonColumn, ...]:
    """Return the columns that may say whose row it is, those with most values first.

    Parameters
    ----------
    audited
        The table, with all columns that may be quasi-identifiers.
    columns
        The table's.
    """
    kinds = {one.name: str(one.type) for one in columns}
    spellings = {one.name: one.other_spellings or 0 for one in columns if isinstance(one, DatasetColumn)}
    asked_about = [
        _possible(audited, at, spellings.get(one.name, 0))
        for at, one in enumerate(audited.quasi_identifiers)
        if one.form is Form.PLAIN and can_name_persons(one.name, kinds.get(one.columns[0], ""))
    ]
    return tuple(sorted((one for one in asked_about if one is not None), key=lambda one: (-one.distinct, one.column)))


def persons_not_named(job: JobContext, spec: TableSpec) -> tuple[Finding, ...]:
    """Return a finding for each column of a dataset that may say whose record it is, where the audit counts records.

    All columns are read for it, where the profile has one that may be such a column.

    Parameters
    ----------
    job, spec
        An audit with quasi-identifiers of its own.
    """
    if spec.dataset_id is None or spec.person_column is not None:
        return ()
    columns = job.datasets["dataset_id"].columns
    if not may_say_whose_rows(columns, job.datasets["dataset_id"].rows or 0):
        return ()
    plain = TableSpec(method="table", dataset_id=spec.dataset_id, missing_matches=MissingMatches.MATCHES_ANYTHING)
    every_column, _ = candidates(plain, columns)
    return tuple(
        Finding(audit="table", severity=FindingSeverity.MEDIUM, detail=one.detail, measured=None, required=None)
        for one in possible_person_columns(read(job, every_column), columns)
    )


def without_columns(audited: Audited, names: Sequence[str]) -> Audited:
    """Return the table without some of its columns, unless it has no others."""
    rest = [at for at, one in enumerate(audited.quasi_identifiers) if one.name not in names]
    if not rest:
        return audited
    left: tuple[QuasiIdentifier, ...] = tuple(audited.quasi_identifiers[at] for at in rest)
    return replace(audited, codes=np.ascontiguousarray(audited.codes[rest]), quasi_identifiers=left)


def _possible(audited: Audited, at: int, spellings: int) -> PossiblePersonColumn | None:
    """Question about a column; None where there is none."""
    name, codes = audited.quasi_identifiers[at].name, audited.codes[at]
    size = np.bincount(codes[codes >= 0])
    size = size[size > 0]
    rows, distinct = int(size.sum()), len(size)
    if not are_as_many_as_persons(distinct, rows) or size[size >= 2].sum() < _REPEATED * rows:
        return None
    constant, numbering = _in_common(audited, at, int(size.max()))
    is_few, has_some = are_few_each(distinct, rows), bool(constant or numbering)
    by_measure = is_few and (len(constant) > 1 or bool(numbering))
    by_name = (is_called_person(name) and (has_some or is_few)) or (is_called_number(name) and has_some)
    if not (by_measure or by_name):
        return None
    return PossiblePersonColumn(
        column=name, distinct=distinct, rows_per_value=rows / distinct, constant_columns=tuple(constant),
        numbering_columns=tuple(numbering), detail=_sentence(name, distinct, rows, constant, numbering, spellings),
    )  # fmt: skip


def _in_common(audited: Audited, at: int, largest: int) -> tuple[list[str], list[str]]:
    """Columns that are constant within the values of one, none of which follows from another; and those that number."""
    there = np.flatnonzero(audited.codes[at] >= 0)
    there = there[some_values(_numbered(audited.codes[at, there]), _ROWS)]
    of = _numbered(audited.codes[at, there])
    places = [place for place in range(len(audited.codes)) if place != at]
    others = [_numbered(audited.codes[place, there]) for place in places]
    measured = repetition(of, others)
    constant: list[int] = []
    for place in np.flatnonzero((measured.constant >= _SURE) & (measured.constant_by_chance <= _BY_CHANCE)).tolist():
        is_other_name = _follows(of, others[place])
        nested = any(_are_nested(others[one], others[place], _width(of)) for one in constant)
        if len(constant) < _COMPARED and not is_other_name and not nested:
            constant.append(place)
    numbers = (measured.different >= _SURE) & (measured.different_by_chance <= _BY_CHANCE)
    width = np.array(list(map(_width, others)), dtype=np.int64)
    numbers &= (width <= 2 * largest) & (width < _width(of))
    names = [audited.quasi_identifiers[place].name for place in places]
    return [names[place] for place in constant], [names[place] for place in np.flatnonzero(numbers)]


def _follows(one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    """Return whether a column is constant within the values of another."""
    return len(np.unique(other * _width(one) + one)) <= _width(other) / _SURE


def _are_nested(one: NDArray[np.int64], other: NDArray[np.int64], values: int) -> bool:
    """Return whether one column follows from the other, which has too few of `values` values for that to be chance."""
    return any(2 * _width(outer) <= values and _follows(inner, outer) for inner, outer in ((one, other), (other, one)))


def _width(codes: NDArray[np.int64]) -> int:
    return int(codes.max(initial=-1)) + 1


def _numbered(codes: NDArray[np.int32]) -> NDArray[np.int64]:
    """Codes from 0 on without gaps; a missing value is one."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64)


def _sentence(
    name: str, distinct: int, rows: int, constant: Sequence[str], numbering: Sequence[str], spellings: int
) -> str:
    what = f"{name!r} has {distinct:,} values, each in {rows / distinct:.1f} records on average"
    if constant:
        what += f", within which {', '.join(map(repr, constant))} {'is' if len(constant) == 1 else 'are'} the same"
    if numbering:
        what += f", and which {', '.join(map(repr, numbering))} numbers"
    what += ". If it says whose record it is, name it as `person_column`, so that k counts persons: it is no "
    what += "quasi-identifier, for a box of one of its values is one person's."
    if spellings:
        what += f" {spellings:,} of its values differ from another in spelling alone, and are persons of their own."
    return what
