"""The methods that jobs can use: name -> specification, queue, inputs, and what is checked before a job is accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.contracts.base import Contract
from app.contracts.boxes import BoxesResult, BoxesSpec
from app.contracts.condensation import CondensationResult, CondensationSpec
from app.contracts.groups import GroupResult, GroupSpec, GroupSummary
from app.contracts.jobs import JobKind, JobSpec, Queue
from app.contracts.linkage import LinkageResult, LinkageSpec
from app.contracts.queries import Classified, ClassifiedSummary, ClassifySpec, Counts, CountSpec, CountsSummary
from app.contracts.swaps import SwapsResult, SwapsSpec, SwapsSummary
from app.contracts.table_results import TableResult
from app.contracts.tables import TableSpec
from app.contracts.uncertain import UncertainResult, UncertainSpec
from app.errors import FieldError
from app.jobs import boxes, condensation, groups, linkage, queries, swaps, tables, uncertain
from app.jobs.inputs import Given


@dataclass(frozen=True, slots=True)
class Method:
    """One method: what its specification names, how it is filled in and checked against that.

    `fill` sees what was named; ids that it fills in are looked up before `check`, which sees everything. The first
    dataset is what a release is made from. `draws`: every job draws anew from the data, and draws add up to more than
    one may tell; `check` is told how many were published, and it is looked at again when a job publishes.
    `summary_type` is what a job shows of its result where that is not all of it.
    """

    name: str
    kind: JobKind
    spec_type: type[JobSpec]
    result_type: type[Contract]
    queue: Queue
    fill: Callable[[Any, Given], Any]
    check: Callable[[Any, Given], list[FieldError]]
    draws: bool = False
    summary_type: type[Contract] | None = None


def _question(
    name: str,
    spec_type: type[JobSpec],
    types: tuple[type[Contract], type[Contract]],
    check: Callable[[Any, Given], list[FieldError]],
) -> Method:
    """What a release is asked: answered at once, beside the jobs; `types` of the answer and of its summary."""
    return Method(
        name, JobKind.QUERY, spec_type, types[0], Queue.INTERACTIVE, fill=queries.fill, check=check,
        summary_type=types[1],
    )  # fmt: skip


#: In this order the methods stand in the OpenAPI document.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("boxes", JobKind.ANONYMIZATION, BoxesSpec, BoxesResult, Queue.BATCH, fill=boxes.fill, check=boxes.check),
        Method(
            "uncertain",
            JobKind.ANONYMIZATION,
            UncertainSpec,
            UncertainResult,
            Queue.BATCH,
            fill=uncertain.fill,
            check=uncertain.check,
            draws=True,
        ),
        Method(
            "condensation",
            JobKind.ANONYMIZATION,
            CondensationSpec,
            CondensationResult,
            Queue.BATCH,
            fill=condensation.fill,
            check=condensation.check,
        ),
        Method(
            "swaps",
            JobKind.ANONYMIZATION,
            SwapsSpec,
            SwapsResult,
            Queue.BATCH,
            fill=swaps.fill,
            check=swaps.check,
            summary_type=SwapsSummary,
        ),
        Method(
            "group",
            JobKind.AUDIT,
            GroupSpec,
            GroupResult,
            Queue.BATCH,
            fill=groups.fill,
            check=groups.check,
            summary_type=GroupSummary,
        ),
        Method(
            "linkage",
            JobKind.AUDIT,
            LinkageSpec,
            LinkageResult,
            Queue.BATCH,
            fill=linkage.fill,
            check=linkage.check,
        ),
        Method("table", JobKind.AUDIT, TableSpec, TableResult, Queue.BATCH, fill=tables.fill, check=tables.check),
        _question("count", CountSpec, (Counts, CountsSummary), queries.check_count),
        _question("classify", ClassifySpec, (Classified, ClassifiedSummary), queries.check_classify),
    )
}

#: Methods of the contract that are not built yet: refused by name.
NOT_BUILT: dict[JobKind, frozenset[str]] = {
    JobKind.ANONYMIZATION: frozenset(),
    JobKind.AUDIT: frozenset({"frontier"}),
    JobKind.QUERY: frozenset(),
}


def methods_of(kind: JobKind) -> tuple[Method, ...]:
    """The methods of one kind, in their order."""
    return tuple(method for method in METHODS.values() if method.kind is kind)
