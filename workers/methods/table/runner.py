"""Runner of the audit `table`: measures of the field, column by column and set of columns by set."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import comb
from pathlib import Path
from typing import Final

import numpy as np

from app.contracts.jobs import Progress
from app.contracts.tables import MissingCells, TableSpec
from workers.algorithms.tables.special_uniques import Special, scored, unscored
from workers.algorithms.tables.uniques import Minimal, minimal_uniques
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.table.measures import Neighbourhoods, Told, Without, told, without
from workers.methods.table.reading import Audited, Sensitive, read
from workers.methods.table.report import Measured, result

#: Cells that one step compares, about a fifth of a second; and that a whole audit does at most, half a minute.
_AT_ONCE: Final = 4_000_000
_MOST: Final = 1_000_000_000
_DEEPEST: Final = 3


@dataclass(frozen=True, slots=True)
class Auditing:
    """Where the work stands: what was read, what was measured, and the sets of columns still to be compared."""

    spec: TableSpec
    audited: Audited
    seen: Neighbourhoods
    depth: int
    sets: Iterator[Minimal]
    special: Special
    told: tuple[Told, ...] = ()
    without: tuple[Without, ...] = ()
    compared: bool = False


class TableRunner:
    """Measures one table."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Measure a few made-up records."""
        codes = np.array([[0, 0, 1, 1], [0, 1, 0, -1]], dtype=np.int32)
        for anything in (False, True):
            told(Neighbourhoods(codes, anything), Sensitive("", np.array([0, 1, 1, 0]), ordered=True), None)
            list(minimal_uniques(codes, depth=2, anything=anything))

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Auditing:  # noqa: ARG002 - nothing is drawn
        """Read the table.

        Raises
        ------
        InvalidError
            What only the records could tell.
        """
        job.tick(0.0, "read")
        spec = job.specification(TableSpec)
        audited = read(job, spec)
        anything = spec.missing is MissingCells.MATCHES_ANYTHING
        depth = _depth(len(audited.codes), audited.records)
        sets = minimal_uniques(audited.codes, depth=depth, anything=anything)
        special = unscored(records=audited.records, columns=len(audited.codes))
        return Auditing(spec, audited, Neighbourhoods(audited.codes, anything), depth, sets, special)

    def step(self, state: Auditing, *, rng: np.random.Generator) -> Auditing:  # noqa: ARG002 - nothing is drawn
        """Measure the next sensitive column, leave out the next quasi-identifier, or compare some more sets."""
        audited = state.audited
        if (at := len(state.told)) < len(audited.sensitive):
            demand = state.spec.require.recursive if state.spec.require is not None else None
            found = told(state.seen, audited.sensitive[at], None if demand is None else demand.l)
            return replace(state, told=(*state.told, found))
        if (at := len(state.without)) < len(audited.codes):
            return replace(state, without=(*state.without, without(audited, at, anything=state.seen.anything)))
        some = tuple(islice(state.sets, max(1, _AT_ONCE // audited.records)))
        return replace(state, special=scored(state.special, some, depth=state.depth), compared=not some)

    def done(self, state: Auditing) -> bool:
        """Whether all sets of columns were compared."""
        return state.compared

    def progress(self, state: Auditing) -> Progress:
        """What is being measured."""
        columns = len(state.audited.codes)
        if len(state.without) < columns:
            made, all_of_them = len(state.told) + len(state.without), len(state.audited.sensitive) + columns
            return Progress(fraction=0.05 + 0.3 * made / all_of_them, stage="classes")
        share = len(state.special.counts) / _sets(columns, state.depth)
        return Progress(fraction=min(1.0, 0.35 + 0.6 * share), stage="uniques")

    def finish(self, state: Auditing, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """Say what was found; there is no release."""
        job.tick(0.97, "report")
        measured = Measured(state.audited, state.seen, state.told, state.without, state.special, state.depth)
        found = result(state.spec, measured).model_dump(mode="json")
        return Outcome(summary=found, result=found)


def _sets(columns: int, depth: int) -> int:
    return sum(comb(columns, size) for size in range(1, depth + 1))


def _depth(columns: int, records: int) -> int:
    """How many columns together are looked at: three, where that can be done in reasonable time."""
    for depth in range(min(_DEEPEST, columns), 1, -1):
        if _sets(columns, depth) * records <= _MOST:
            return depth
    return 1
