"""Quasi-identifiers proposed for a table of which none were named: what each column and each pair singles out.

A column that alone singles out nine of ten records is a direct identifier: beside it no other column says anything, so
the others are measured without it.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

import numpy as np

from app.contracts.quasi_identifiers import all_understood
from app.contracts.table_results import IdentifyingColumn, Proposal, ProposedColumn, ProposedPair, TableResult
from app.contracts.tables import MOST_QUASI_IDENTIFIERS, TableSpec
from workers.algorithms.tables.classes import classes
from workers.methods.table.reading import Audited

#: Share of the records that a direct identifier singles out alone.
_DIRECT: Final = 0.9
#: Columns whose pairs are looked at, and pairs that are shown.
_PAIRED: Final = 15
_SHOWN: Final = 50
#: Columns of a release that say nothing of a person.
_OF_RELEASES: Final = frozenset({"box", "weight", "core"})


def candidates(spec: TableSpec, types: Sequence[str]) -> TableSpec:
    """The specification with every column that may be a quasi-identifier: all that have no other part in it."""
    others = {*spec.sensitive, spec.person, spec.weight} | (_OF_RELEASES if spec.release_id is not None else set())
    names = [one.name for one in all_understood([name for name in types if name not in others], types)]
    return spec.model_copy(update={"quasi_identifiers": tuple(names[:MOST_QUASI_IDENTIFIERS])})


def without_direct(audited: Audited) -> tuple[Audited, tuple[ProposedColumn, ...]]:
    """The table without its direct identifiers, unless there is nothing else; and these."""
    alone = [int(np.count_nonzero(classes(audited.codes[at : at + 1]).size == 1)) for at in range(len(audited.codes))]
    direct = [at for at, many in enumerate(alone) if many >= _DIRECT * audited.records]
    rest = [at for at in range(len(audited.codes)) if at not in direct]
    if not rest or not direct:
        return audited, ()
    named = tuple(
        ProposedColumn(
            column=audited.quasi_identifiers[at].name,
            direct_identifier=True,
            distinct=len(np.unique(audited.codes[at][audited.codes[at] >= 0])),
            missing=int(np.count_nonzero(audited.codes[at] < 0)),
            unique_alone=alone[at],
            unique_without=None,
            contribution=None,
            sentence=f"{audited.quasi_identifiers[at].name!r} alone singles out {alone[at] / audited.records:.1%} of "
            "the records: it is a direct identifier, which no release should have.",
        )
        for at in direct
    )
    left = replace(
        audited,
        codes=np.ascontiguousarray(audited.codes[rest]),
        quasi_identifiers=tuple(audited.quasi_identifiers[at] for at in rest),
    )
    return left, named


def proposal(audited: Audited, found: TableResult, direct: tuple[ProposedColumn, ...]) -> Proposal:
    """What is proposed.

    Parameters
    ----------
    audited
        The table without direct identifiers.
    found
        What was measured of it.
    direct
        The direct identifiers.
    """
    columns = sorted(found.columns, key=lambda one: (-one.contribution, -one.unique_alone, one.column))
    alike = found.unique == 0
    chosen = tuple(
        one.column for one in columns if one.distinct > 1 and (alike or one.contribution or one.unique_alone)
    )
    return Proposal(
        direct_identifiers=tuple(one.column for one in direct),
        quasi_identifiers=chosen,
        columns=(*direct, *(_column(one, found) for one in columns)),
        pairs=_pairs(audited, [one.column for one in columns[:_PAIRED]]),
    )


def _column(one: IdentifyingColumn, found: TableResult) -> ProposedColumn:
    lost = found.unique - one.unique_without
    sentence = (
        f"{one.column!r} alone singles out {one.unique_alone:,} of {found.records:,} records, and without it "
        f"{lost:,} of the {found.unique:,} that all columns together single out are no longer alone."
    )
    return ProposedColumn(
        column=one.column, direct_identifier=False, distinct=one.distinct, missing=one.missing,
        unique_alone=one.unique_alone, unique_without=one.unique_without, contribution=one.contribution,
        sentence=sentence,
    )  # fmt: skip


def _pairs(audited: Audited, names: Sequence[str]) -> tuple[ProposedPair, ...]:
    place = {one.name: at for at, one in enumerate(audited.quasi_identifiers)}
    pairs = []
    for first, second in combinations(names, 2):
        size = classes(np.ascontiguousarray(audited.codes[[place[first], place[second]]])).size
        unique = int(np.count_nonzero(size == 1))
        told = f"{first!r} and {second!r} together single out {unique:,} of {audited.records:,} records."
        pairs.append(ProposedPair(columns=(first, second), unique=unique, sentence=told))
    return tuple(sorted(pairs, key=lambda one: -one.unique)[:_SHOWN])
