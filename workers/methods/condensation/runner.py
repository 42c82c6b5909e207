"""Runner of `condensation`: columns in, pseudo-records with the moments of groups of k out."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from app.contracts.columns import SuppressedRecords
from app.contracts.flags import Flag, raised
from app.contracts.jobs import JobProgress
from app.errors import InfeasibleError
from app.methods.columns import k_too_large
from app.methods.condensation.spec import CondensationResult, CondensationSpec
from surebox_core.errors import InvalidColumnError
from workers.algorithms.core.errors import InfeasibleKError
from workers.algorithms.uncertain.condensation import condensation
from workers.algorithms.uncertain.condensation.condensation import CondensationState, Condensed
from workers.frames.columns import take_rows
from workers.frames.records import CompleteRecords, complete_records, invalid_column
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.released.demanded import Demanded, verdict
from workers.methods.released.drafts import release_draft

#: Share of the whole job that is spent before the groups and before the release is written.
_READ, _GROUPED, _MADE = 0.05, 0.75, 0.85


@dataclass(frozen=True, slots=True)
class Condensing:
    """State of the work: the algorithm's state, and which records it works on."""

    spec: CondensationSpec
    records: CompleteRecords
    algorithm: CondensationState


class CondensationRunner:
    """Reads the columns, makes groups and their pseudo-records, writes the release."""

    def warm(self) -> None:
        """Condense a few made-up records."""
        rng = np.random.default_rng(0)
        state = condensation.init(rng.normal(size=(64, 2)), 3, rng)
        while not condensation.done(state):
            state = condensation.step(state, rng)

    def init(self, job: JobContext) -> Condensing:
        """Read the columns and leave out what the specification states.

        Raises
        ------
        InfeasibleError
            What only the records could reveal.
        """
        spec = job.specification(CondensationSpec)
        job.tick(0.0, "read")
        records = complete_records(job.dataset_path(), spec.quasi_identifiers)
        try:
            return Condensing(spec, records, condensation.init(records.values, spec.k, job.rng))
        except InfeasibleKError as error:
            detail = k_too_large(error.required, f"{error.largest} complete records", error.largest)
            raise InfeasibleError.at("/k", detail) from None
        except InvalidColumnError as error:
            raise invalid_column(spec.quasi_identifiers[error.column], error.reason, spec.quasi_identifiers) from None

    def step(self, state: Condensing, job: JobContext) -> Condensing:
        """Make some groups, or their pseudo-records."""
        return Condensing(state.spec, state.records, condensation.step(state.algorithm, job.rng))

    def done(self, state: Condensing) -> bool:
        """Whether every record has its substitute."""
        return condensation.done(state.algorithm)

    def progress(self, state: Condensing) -> JobProgress:
        """Stage of the algorithm."""
        stage, share = condensation.progress(state.algorithm)
        begin, end = (_READ, _GROUPED) if stage == "groups" else (_GROUPED, _MADE)
        return JobProgress(fraction=begin + (end - begin) * share, stage=stage)

    def finish(self, state: Condensing, job: JobContext) -> Outcome:
        """Write the release, rows in random order, and the result."""
        job.tick(_MADE, "release")
        spec, records = state.spec, state.records
        made = condensation.result(state.algorithm, job.rng)
        link = records.rows[made.stands_for]
        result = _result(spec, records, made)
        return Outcome(
            summary=result,
            result=result,
            release=release_draft(
                job,
                {name: np.ascontiguousarray(made.z[:, i]) for i, name in enumerate(spec.quasi_identifiers)},
                take_rows(job.dataset_path(), spec.keep, link),
                types=dict.fromkeys(spec.quasi_identifiers, "number"),
                formats=spec.formats,
                flags=_flags(spec),
                parameters=spec.model_dump(mode="json", include={"method", "quasi_identifiers", "k", "keep"}),
                link=link,
            ),
        )


def _result(spec: CondensationSpec, records: CompleteRecords, made: Condensed) -> dict[str, Any]:
    smallest = int(made.sizes.min())
    return CondensationResult(
        **verdict("condensation", [Demanded("records in the smallest group", spec.k, smallest)]),
        records=records.total,
        released=len(made.z),
        suppressed=SuppressedRecords(missing=records.total - len(records.rows)),
        group_count=len(made.sizes),
        smallest_group=smallest,
        largest_group=int(made.sizes.max()),
    ).model_dump(mode="json")


def _flags(spec: CondensationSpec) -> list[Flag]:
    """What a reader of the release must know."""
    return raised({Flag.GROUPS_OF_ONE: spec.k == 1, Flag.KEPT_COLUMNS_NOT_COUNTED: bool(spec.keep)})
