"""Quasi-identifiers proposed for a table of which none were named: what each column and each pair singles out.

Next to a column that alone singles out nine of ten records no other one reveals anything, so the others are measured
without it. Texts and numbers that were assigned are direct identifiers; a quantity that is as fine as an income to the
dollar is a quasi-identifier that only ranges hide.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np

from app.contracts.datasets import NUMERIC, ColumnType, DatasetColumn
from app.contracts.quasi_identifiers import Form, QuasiIdentifier, all_understood
from app.contracts.releases import ReleaseColumn
from app.methods.table.result import (
    IdentifyingColumn,
    PossiblePersonColumn,
    ProposedColumn,
    ProposedPair,
    QuasiIdentifierProposal,
    TableResult,
)
from app.methods.table.spec import MOST_QUASI_IDENTIFIERS, TableSpec
from workers.algorithms.tables.classes import classes
from workers.frames.columns import numeric_columns
from workers.methods.table.reading import Audited

#: Share of the records that a column singles out alone next to which no other one reveals anything.
_DIRECT: Final = 0.9
#: Integers are assigned numbers if their span is less than this many times their count, if all have equally many
#: digits, this many or more, or by the column's name.
_DENSE: Final = 2
_DIGITS: Final = 8
_ASSIGNED: Final = re.compile(
    r"(?:^|[\W_])(?:id|ids|nr|no|num|number|key|code|index|serial|serialno|ssn|ahv|avs|nino|uuid|uid|pid|caseid|phone)"
    r"(?:$|[\W_])|(?:Id|ID|Nr|No|Number|Key|Code)$|^(?:case|person|patient|record|row|customer|client)_?(?:id|nr|no)$",
)
#: Columns whose pairs are looked at, and pairs that are shown.
_PAIRED: Final = 15
_SHOWN: Final = 50
#: Columns of a release that reveal nothing of a person.
_OF_RELEASES: Final = frozenset({"box", "weight", "core"})


def candidates(spec: TableSpec, columns: Sequence[DatasetColumn | ReleaseColumn]) -> tuple[TableSpec, int]:
    """The specification with columns that may be quasi-identifiers, and how many more there are.

    All that have no other part in it; where they are too many, those with the most different values.
    """
    others = {*spec.sensitive, spec.person_column, spec.survey_weight_column} | (
        _OF_RELEASES if spec.release_id is not None else set()
    )
    distinct = {one.name: one.distinct for one in columns if isinstance(one, DatasetColumn)}
    named = all_understood([one.name for one in columns if one.name not in others], [one.name for one in columns])
    names = [one.name for one in named]
    most = sorted(named, key=lambda one: -max(distinct.get(column, 0) for column in one.columns))
    most = most[:MOST_QUASI_IDENTIFIERS]
    chosen = {one.name for one in most}
    spec = spec.model_copy(update={"quasi_identifiers": tuple(name for name in names if name in chosen)})
    return spec, len(names) - len(chosen)


def without_unique(audited: Audited, path: Path, types: dict[str, str]) -> tuple[Audited, tuple[ProposedColumn, ...]]:
    """The table without columns next to which no other one reveals anything, unless there is nothing else; and these.

    Parameters
    ----------
    audited
        The table.
    path
        Its file.
    types
        Of its columns, by name.
    """
    alone = [int(np.count_nonzero(classes(audited.codes[at : at + 1]).size == 1)) for at in range(len(audited.codes))]
    apart = [at for at, many in enumerate(alone) if many >= _DIRECT * audited.records]
    rest = [at for at in range(len(audited.codes)) if at not in apart]
    if not rest or not apart:
        return audited, ()
    named = tuple(
        _unique_column(audited, at, alone[at], direct=is_assigned(audited.quasi_identifiers[at], path, types))
        for at in apart
    )
    left = replace(
        audited,
        codes=np.ascontiguousarray(audited.codes[rest]),
        quasi_identifiers=tuple(audited.quasi_identifiers[at] for at in rest),
    )
    return left, tuple(sorted(named, key=lambda one: not one.direct_identifier))


def is_assigned(one: QuasiIdentifier, path: Path, types: dict[str, str]) -> bool:
    """Whether values that nearly all differ are names or assigned numbers rather than quantities.

    Parameters
    ----------
    one
        The column.
    path
        The table's file.
    types
        Of its columns, by name.
    """
    kind = types[one.columns[0]]
    if one.form is not Form.PLAIN or kind == ColumnType.DATE:
        return False
    if kind not in NUMERIC or _ASSIGNED.search(one.name) or _ASSIGNED.search(one.name.lower()):
        return True
    if kind == ColumnType.NUMBER:
        return False
    values = numeric_columns(path, [one.columns[0]]).values[:, 0]
    values = values[np.isfinite(values)]
    low, high = int(values.min()), int(values.max())
    dense = high - low < _DENSE * len(values)
    return dense or (low > 0 and len(str(low)) == len(str(high)) >= _DIGITS)


def _unique_column(audited: Audited, at: int, alone: int, *, direct: bool) -> ProposedColumn:
    name, share = audited.quasi_identifiers[at].name, alone / audited.records
    what = (
        "it is a direct identifier, which no release should have."
        if direct
        else "as fine as this, a quantity or a day is a quasi-identifier that only ranges hide. If it is a number that "
        "was assigned to persons, leave it out."
    )
    return ProposedColumn(
        column=name,
        direct_identifier=direct,
        distinct=len(np.unique(audited.codes[at][audited.codes[at] >= 0])),
        missing=int(np.count_nonzero(audited.codes[at] < 0)),
        unique_alone=alone,
        unique_without=None,
        contribution=None,
        detail=f"{name!r} alone singles out {share:.1%} of the records: {what}",
    )


def proposal(
    audited: Audited,
    measured: TableResult,
    unique: tuple[ProposedColumn, ...],
    persons: tuple[PossiblePersonColumn, ...] = (),
) -> QuasiIdentifierProposal:
    """The proposal.

    Parameters
    ----------
    audited
        The table without columns that alone single out nearly all records.
    measured
        The measurement of it.
    unique
        These columns.
    persons
        Columns that may say whose record it is.
    """
    others = {one.column for one in persons}
    columns = sorted(
        measured.quasi_identifier_risks, key=lambda one: (-one.contribution, -one.unique_alone, one.column)
    )
    alike = measured.unique == 0
    chosen = tuple(
        one.column
        for one in columns
        if one.distinct > 1 and one.column not in others and (alike or one.contribution or one.unique_alone)
    )
    return QuasiIdentifierProposal(
        person_columns=persons,
        direct_identifiers=tuple(one.column for one in unique if one.direct_identifier),
        quasi_identifiers=(*(one.column for one in unique if not one.direct_identifier), *chosen),
        columns=(*unique, *(_column(one, measured) for one in columns)),
        pairs=_pairs(audited, [one.column for one in columns[:_PAIRED]]),
    )


def _column(one: IdentifyingColumn, measured: TableResult) -> ProposedColumn:
    lost = measured.unique - one.unique_without
    sentence = (
        f"{one.column!r} alone singles out {one.unique_alone:,} of {measured.records:,} records, and without it "
        f"{lost:,} of the {measured.unique:,} that all columns together single out are no longer alone."
    )
    return ProposedColumn(
        column=one.column, direct_identifier=False, distinct=one.distinct, missing=one.missing,
        unique_alone=one.unique_alone, unique_without=one.unique_without, contribution=one.contribution,
        detail=sentence,
    )  # fmt: skip


def _pairs(audited: Audited, names: Sequence[str]) -> tuple[ProposedPair, ...]:
    place = {one.name: at for at, one in enumerate(audited.quasi_identifiers)}
    pairs = []
    for first, second in combinations(names, 2):
        size = classes(np.ascontiguousarray(audited.codes[[place[first], place[second]]])).size
        unique = int(np.count_nonzero(size == 1))
        sentence = f"{first!r} and {second!r} together single out {unique:,} of {audited.records:,} records."
        pairs.append(ProposedPair(columns=(first, second), unique=unique, detail=sentence))
    return tuple(sorted(pairs, key=lambda one: -one.unique)[:_SHOWN])
