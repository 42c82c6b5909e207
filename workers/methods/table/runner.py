"""Runner of the audit `table`: measures of the field, column by column and set of columns by set."""

from collections.abc import Sequence
from itertools import islice
from math import comb
from typing import Final

import numpy as np

from app.contracts.datasets import DatasetColumn
from app.contracts.gate import MissingMatches
from app.contracts.releases import ReleaseColumn
from app.methods.table.result import PossiblePersonColumn, ProposedColumn
from app.methods.table.spec import TableSpec
from workers.algorithms.tables.special_uniques import Special, scored, unscored
from workers.algorithms.tables.uniques import minimal_uniques
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.table.disclosed import disclosed
from workers.methods.table.kept_too import kept_too
from workers.methods.table.measures import Neighbourhoods, SensitiveExposure, Without, measure_exposure, without
from workers.methods.table.proposing import candidates, proposal, without_unique
from workers.methods.table.reading import Audited, Sensitive, read
from workers.methods.table.report import Measured, result
from workers.methods.table.whose_rows import persons_not_named, possible_person_columns, without_columns

#: Cells that one step compares, about a fifth of a second; and that a whole audit does at most, half a minute.
_AT_ONCE: Final = 4_000_000
_MOST: Final = 1_000_000_000
#: The same where quasi-identifiers are only proposed, which needs pairs and no more.
_MOST_PROPOSED: Final = 100_000_000
_DEEPEST: Final = 3


class TableRunner:
    """Measures one table."""

    def warm(self) -> None:
        """Measure a few made-up records."""
        codes = np.array([[0, 0, 1, 1], [0, 1, 0, -1]], dtype=np.int32)
        for anything in (False, True):
            measure_exposure(Neighbourhoods(codes, anything), Sensitive("", np.array([0, 1, 1, 0]), ordered=True), None)
            list(minimal_uniques(codes, depth=2, anything=anything))

    def run(self, job: JobContext) -> Outcome:
        """Read the table, measure it, and report the findings; there is no release.

        Raises
        ------
        InvalidError
            What only the records could reveal.
        """
        job.tick(0.0, "read")
        spec = job.specification(TableSpec)
        types = {column.name: str(column.type) for column in _columns(job, spec)}
        proposing = not spec.quasi_identifiers
        unique: tuple[ProposedColumn, ...] = ()
        persons: tuple[PossiblePersonColumn, ...] = ()
        more = 0
        if proposing:
            spec, more = candidates(spec, _columns(job, spec))
        audited = read(job, spec)
        if proposing:
            path = job.dataset_path() if spec.release_id is None else job.release_path()
            persons = possible_person_columns(audited, _columns(job, spec))
            audited = without_columns(audited, [one.column for one in persons])
            audited, unique = without_unique(audited, path, types)
        seen = Neighbourhoods(audited.codes, spec.missing_matches is MissingMatches.MATCHES_ANYTHING)
        sensitive, others = _classes(job, spec, audited, seen)
        depth = _depth(len(audited.codes), audited.records, _MOST_PROPOSED if proposing else _MOST)
        special = _uniques(job, audited, seen, depth)
        job.tick(0.97, "report")
        shown = disclosed(job, spec, audited, types)
        measured = result(spec, Measured(audited, seen, sensitive, others, special, depth, shown))
        if proposing:
            verdict = f"This proposes quasi-identifiers and checks no demand. {measured.verdict}"
            if more:
                verdict += f" {more} more columns, with fewer different values than these, were not looked at."
            measured = measured.model_copy(
                update={"proposal": proposal(audited, measured, unique, persons), "verdict": verdict}
            )
        else:
            beside = (*kept_too(job, spec, audited), *persons_not_named(job, spec))
            measured = measured.model_copy(update={"findings": (*measured.findings, *beside)})
        made = measured.model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _columns(job: JobContext, spec: TableSpec) -> Sequence[DatasetColumn | ReleaseColumn]:
    if spec.release_id is not None:
        return job.releases["release_id"].columns
    return job.datasets["dataset_id"].columns


def _classes(
    job: JobContext, spec: TableSpec, audited: Audited, seen: Neighbourhoods
) -> tuple[tuple[SensitiveExposure, ...], tuple[Without, ...]]:
    """What classes show of each sensitive column, and what each quasi-identifier adds to them."""
    demand = spec.require.recursive if spec.require is not None else None
    level = None if demand is None else demand.l
    columns = len(audited.codes)
    all_of_them = len(audited.sensitive) + columns
    sensitive: list[SensitiveExposure] = []
    others: list[Without] = []
    for one in audited.sensitive:
        job.tick(0.05 + 0.3 * len(sensitive) / all_of_them, "classes")
        sensitive.append(measure_exposure(seen, one, level))
    for at in range(columns):
        job.tick(0.05 + 0.3 * (len(sensitive) + at) / all_of_them, "classes")
        others.append(without(audited, at, anything=seen.anything))
    return tuple(sensitive), tuple(others)


def _uniques(job: JobContext, audited: Audited, seen: Neighbourhoods, depth: int) -> Special:
    """Sets of columns that single someone out, some sets at a time."""
    columns = len(audited.codes)
    sets = minimal_uniques(audited.codes, depth=depth, anything=seen.anything)
    special = unscored(records=audited.records, columns=columns)
    while True:
        job.tick(min(1.0, 0.35 + 0.6 * len(special.counts) / _sets(columns, depth)), "uniques")
        some = tuple(islice(sets, max(1, _AT_ONCE // audited.records)))
        if not some:
            return special
        special = scored(special, some, depth=depth)


def _sets(columns: int, depth: int) -> int:
    return sum(comb(columns, size) for size in range(1, depth + 1))


def _depth(columns: int, records: int, most: int) -> int:
    """How many columns together are looked at: three, where that can be done in reasonable time."""
    for depth in range(min(_DEEPEST, columns), 1, -1):
        if _sets(columns, depth) * records <= most:
            return depth
    return 1
