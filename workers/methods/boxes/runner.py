"""Runner of `boxes`: columns in, k-anonymous boxes with their certificates out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.boxes import BoxesSpec, Partition
from app.contracts.columns import Missing
from app.contracts.jobs import Progress
from app.errors import FieldError, InfeasibleError, InvalidError, pointer
from surebox_verify.core.errors import InvalidColumnError, UndefinedStatisticError
from surebox_verify.core.statistics import Statistic, all_moments
from workers.algorithms.boxes import anonymization
from workers.algorithms.boxes.partition.diversity import BoxConstraints
from workers.algorithms.boxes.partition.partition import Method
from workers.algorithms.boxes.state import BoxesOutcome as Boxed
from workers.algorithms.boxes.state import BoxesRequest, BoxesState
from workers.algorithms.core.errors import InfeasibleDiversityError, InfeasibleKError, OutsideDomainError
from workers.frames.classes import shares_certain, smallest_class
from workers.frames.columns import FloatTable, numeric_columns, take_rows
from workers.frames.release import Taken, write_release
from workers.methods.boxes import report as boxes_report
from workers.methods.boxes import warnings as boxes_warnings
from workers.methods.boxes.arranged import Arrangement, arranged
from workers.methods.boxes.demands import demands
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome, ReleaseDraft

#: Share of the whole job that is spent before the algorithm and before the release is written.
_READ, _COMPUTED = 0.1, 0.8
_PARTITIONS: dict[Partition, Method] = {
    Partition.OPTIMAL: "optimal",
    Partition.FAST: "fast",
    Partition.MONDRIAN: "mondrian",
}


@dataclass(frozen=True, slots=True)
class Anonymizing:
    """Where the work stands: the algorithm's state, and which records it works on."""

    spec: BoxesSpec
    records: int
    kept_rows: NDArray[np.int64]
    arrangement: Arrangement
    algorithm: BoxesState


class BoxesRunner:
    """Reads the columns, advances the algorithm, writes the release."""

    def warm(self, scratch: Path) -> None:  # noqa: ARG002 - nothing is written
        """Run a few made-up records through every partition, both kinds of bounds and all kinds of statistics."""
        rng = np.random.default_rng(0)
        values = rng.normal(size=(5000, 3))  # more than `optimal` sorts at a time
        mean, pair = (Statistic("mean", (0,)),), (Statistic("covariance", (0, 1)), Statistic("regression", (0, 1)))
        free = BoxConstraints(1, codes=np.zeros((len(values), 1), dtype=np.int32))
        requests = (
            BoxesRequest(250, (*all_moments(3), *pair), "optimal", "cells"),
            BoxesRequest(250, mean, "fast", "tight"),
            BoxesRequest(250, mean, "mondrian", "cells", demands=free),  # without demands it runs what `fast` does
        )
        for request in requests:
            state = anonymization.init(values, request)
            while not anonymization.done(state):
                state = anonymization.step(state, rng=rng)

    def keyed_by(self, job: JobContext) -> Sequence[str]:
        """Cuts, and the order of columns where they are alike, follow from the columns' secrets."""
        return _specification(job).columns

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Anonymizing:  # noqa: ARG002  (the protocol's)
        """Read the columns and leave out what the specification says.

        Raises
        ------
        InfeasibleError, InvalidError
            What only the records could tell.
        """
        spec = _specification(job)
        job.tick(0.0, "read")
        table = numeric_columns(job.dataset_path(), spec.columns)
        arrangement = arranged(spec, job.secrets)
        values, rows = arrangement.records(table.values, _complete(table, spec))
        held = demands(job.dataset_path(), spec, rows)
        algorithm = _checked(values, spec, _request(spec, arrangement, held), arrangement)
        return Anonymizing(spec, len(table.values), rows, arrangement, algorithm)

    def step(self, state: Anonymizing, *, rng: np.random.Generator) -> Anonymizing:
        """Advance the algorithm."""
        try:
            following = anonymization.step(state.algorithm, rng=rng)
        except UndefinedStatisticError as error:
            raise _undefined(error, state.spec, state.arrangement) from None
        return replace(state, algorithm=following)

    def done(self, state: Anonymizing) -> bool:
        """Whether boxes and certificates are there."""
        return anonymization.done(state.algorithm)

    def progress(self, state: Anonymizing) -> Progress:
        """Stage of the algorithm."""
        stage, share = anonymization.progress(state.algorithm)
        return Progress(fraction=_READ + (_COMPUTED - _READ) * share, stage=stage)

    def finish(self, state: Anonymizing, job: JobContext, *, rng: np.random.Generator) -> Outcome:
        """Write the release, rows in random order, and the result."""
        job.tick(_COMPUTED, "release")
        spec, outcome = state.spec, state.arrangement.restored(anonymization.result(state.algorithm))
        rows = state.kept_rows if outcome.chosen.rows is None else state.kept_rows[outcome.chosen.rows]
        order = rng.permutation(len(rows))
        kept = take_rows(job.dataset_path(), spec.keep, rows[order])
        of_row = outcome.boxes.box[order]
        columns = _release_columns(spec, outcome, of_row) | {name: kept[name] for name in spec.keep}
        job.tick(_COMPUTED + 0.05, "release")
        files = write_release(columns, job.scratch, spec.formats)
        result = boxes_report.result(
            spec,
            outcome,
            records=state.records,
            complete=len(state.kept_rows),
            kept=len(order),
            k_with_keep=smallest_class(kept, of_row) if spec.keep else int(outcome.boxes.counts.min()),
        )
        certain = shares_certain(kept, of_row) if spec.keep else {}
        hidden = [name for name in spec.sensitive if name not in spec.keep]
        behind = shares_certain(take_rows(job.dataset_path(), hidden, rows[order]), of_row) if hidden else {}
        said = boxes_warnings.released(spec, outcome.boxes, result, certain)
        return Outcome(
            summary=result,
            result=result,
            warnings=[*said, *boxes_warnings.restricted(spec, result, behind)],
            release=ReleaseDraft(
                rows=len(order),
                columns=boxes_report.release_schema(spec, job.dataset),
                files=files,
                flags=boxes_report.flags(spec, outcome.boxes),
                warnings=boxes_warnings.unplaced(said),
                statistics=boxes_report.public_statistics(result),
                parameters=boxes_report.public_parameters(spec, outcome.chosen.criterion),
            ),
        )


def _specification(job: JobContext) -> BoxesSpec:
    """The job's specification; the seed stands beside it, never in it. One from before `floor` has none."""
    return BoxesSpec.model_validate({"floor": 0.0, **job.spec, "seed": job.seed})


def _complete(table: FloatTable, spec: BoxesSpec) -> NDArray[np.int64]:
    """Positions of the records that take part.

    Raises
    ------
    InvalidError
        Missing values that are not to be dropped, or integers that a double cannot hold.
    InfeasibleError
        Fewer than k complete records.
    """
    errors = []
    for index, name in enumerate(table.names):
        if table.missing[index] and spec.missing is Missing.REFUSE:
            errors.append(FieldError(f"/columns/{index}", f"column {name!r} has {table.missing[index]} missing values"))
        if table.wide[index]:
            errors.append(
                FieldError(f"/columns/{index}", f"column {name!r} has {table.wide[index]} integers beyond 2^53 in size")
            )
    if errors:
        raise InvalidError("columns that cannot become boxes; see `errors`", errors=errors)
    if not table.missing.any():
        return np.arange(len(table.values))
    rows = np.flatnonzero(~np.isnan(table.values).any(axis=1))
    if len(rows) < spec.k:
        raise _infeasible(InfeasibleKError(spec.k, len(rows)), "complete records")
    return rows


def _checked(
    values: NDArray[np.float64], spec: BoxesSpec, request: BoxesRequest, arrangement: Arrangement
) -> BoxesState:
    try:
        return anonymization.init(values, request)
    except InfeasibleKError as error:
        raise _infeasible(error, "records in the rarest class of `keep`" if spec.count_keep else "records") from None
    except InfeasibleDiversityError as error:
        name = (*spec.sensitive, *spec.epsilon)[error.column]
        counted = f"{spec.epsilon[name]:g} apart" if error.column >= len(spec.sensitive) else "distinct"
        detail = f"l = {error.asked} asked, column {name!r} has {error.largest} values {counted}: that is the largest l"
        raise InfeasibleError(detail, errors=[FieldError("/l", detail)]) from None
    except UndefinedStatisticError as error:
        raise _undefined(error, spec, arrangement) from None
    except OutsideDomainError as error:
        name = spec.columns[arrangement.columns[error.column]]
        detail = f"{error.count} values of column {name!r} lie outside its domain"
        raise InvalidError(detail, errors=[FieldError(pointer("domains", name), detail)]) from None
    except InvalidColumnError as error:
        index = arrangement.columns[error.column]
        detail = f"column {spec.columns[index]!r}: {error.reason}"
        raise InvalidError(detail, errors=[FieldError(f"/columns/{index}", detail)]) from None


def _request(spec: BoxesSpec, arrangement: Arrangement, held: BoxConstraints) -> BoxesRequest:
    return BoxesRequest(
        k=spec.k,
        statistics=arrangement.asked,
        partition=_PARTITIONS[spec.partition],
        bounds=spec.bounds.value,
        domains=tuple(spec.domains.get(spec.columns[index]) for index in arrangement.columns),
        confidence=spec.confidence,
        demands=held,
        rare_records=spec.rare_records.value,
        keys=arrangement.keys,
        floor=spec.floor,
        ddof=spec.ddof,
    )


def _infeasible(error: InfeasibleKError, what: str) -> InfeasibleError:
    detail = f"k = {error.asked} asked, {error.largest} {what}: the largest k is {error.largest}"
    return InfeasibleError(detail, errors=[FieldError("/k", detail)])


def _undefined(error: UndefinedStatisticError, spec: BoxesSpec, arrangement: Arrangement) -> InfeasibleError:
    index = arrangement.statistics[error.index]
    names = ", ".join(map(repr, (spec.statistics or ())[index].of))
    told = error.told(lambda column: repr(spec.columns[arrangement.columns[column]]))
    detail = f"the {error.kind} of {names} is undefined: {told}"
    return InfeasibleError(detail, errors=[FieldError(f"/statistics/{index}", detail)])


def _release_columns(spec: BoxesSpec, outcome: Boxed, of_row: NDArray[np.signedinteger]) -> dict[str, Any]:
    """One row a record: its box, the box's bounds, and what each of its records weighs."""
    boxes, weights = outcome.boxes, outcome.chosen.weights
    columns: dict[str, Any] = {"box": Taken(np.arange(1, len(boxes.counts) + 1), of_row)}
    for index, name in enumerate(spec.columns):
        columns[f"{name}_lo"] = Taken(boxes.lower[:, index], of_row)
        columns[f"{name}_hi"] = Taken(boxes.upper[:, index], of_row)
    if weights is not None:
        columns["weight"] = Taken(weights, of_row)
    return columns
