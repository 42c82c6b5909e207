"""The methods that jobs can use, in the order in which they are in the OpenAPI document."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from app.contracts.base import Contract
from app.contracts.flags import Flag
from app.contracts.jobs import JobKind, JobSpec, Queue
from app.errors import InvalidError, meant
from app.methods.boxes.result import BoxesResult, BoxStatistic
from app.methods.boxes.spec import BoxesSpec
from app.methods.composition.spec import CompositionResult, CompositionSpec
from app.methods.condensation.spec import CondensationResult, CondensationSpec
from app.methods.determination.spec import DeterminationResult, DeterminationSpec
from app.methods.frontier.spec import FrontierResult, FrontierSpec, FrontierSummary
from app.methods.group.spec import GroupResult, GroupSpec, GroupSummary
from app.methods.group_profile.spec import GroupProfileResult, GroupProfileSpec, GroupProfileSummary
from app.methods.influence.spec import InfluenceResult, InfluenceSpec
from app.methods.ingest.spec import IngestSpec
from app.methods.linkage.spec import LinkageResult, LinkageSpec
from app.methods.publication.spec import PublicationResult, PublicationSpec
from app.methods.queries.spec import (
    ClassifyResult,
    ClassifySpec,
    ClassifySummary,
    CountResult,
    CountSpec,
    CountSummary,
    StatisticsResult,
    StatisticsSpec,
    StatisticsSummary,
)
from app.methods.report.spec import (
    JobReportResult,
    JobReportSpec,
    JobReportSummary,
    ReleaseReportResult,
    ReleaseReportSpec,
    ReleaseReportSummary,
)
from app.methods.swap_detection.spec import SwapDetectionResult, SwapDetectionSpec, SwapDetectionSummary
from app.methods.swaps.result import SwapsResult, SwapsSummary
from app.methods.swaps.spec import SwapsSpec
from app.methods.table.result import TableResult
from app.methods.table.spec import TableSpec
from app.methods.uncertain.spec import EstimatedStatistic, UncertainResult, UncertainSpec


@dataclass(frozen=True, slots=True)
class Method:
    """One method of anonymizing, auditing or asking.

    Attributes
    ----------
    spec : the request; it states the method's name, kind, queue and version, and by its types what it works on.
    result : what comes of it, whole.
    summary : what the job shows of the result, where that is not all of it.
    statistic : what its release states about a statistic; other fields of the runner's statistics are withheld.
    flags : those that its releases may bear, next to `reproducible`.
    draws : every job draws anew from the data, and draws add up to more than one may reveal: `check` learns how many
        were published, and it is looked at again when a job publishes.
    ledgered : of its releases a ledger keeps what composing them with others needs. Rows of all other releases count as
        the original's, or as following them one by one: together with those no one is hidden.
    answers : names of the audits and questions that its releases can be put to.
    """

    spec: type[JobSpec]
    result: type[Contract]
    summary: type[Contract] | None = None
    statistic: type[Contract] | None = None
    flags: tuple[Flag, ...] = ()
    draws: bool = False
    ledgered: bool = False
    answers: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The one value of the specification's `method`."""
        return method_name(self.spec)

    @property
    def kind(self) -> JobKind:
        """The endpoint that accepts it."""
        return self.spec.kind

    @property
    def queue(self) -> Queue:
        """Whose processes run it."""
        return self.spec.queue

    @property
    def folder(self) -> str:
        """Where its parts are, here and among the workers: a folder of `methods`."""
        return folder_of(self.spec)

    @property
    def shown(self) -> type[Contract]:
        """What the job shows of its result."""
        return self.summary or self.result


def method_name(spec: type[JobSpec]) -> str:
    """The method that a type of specification is of."""
    (name,) = get_args(spec.model_fields["method"].annotation)
    return str(name)


METHODS: Final[dict[str, Method]] = {
    method.name: method
    for method in (
        Method(
            BoxesSpec,
            BoxesResult,
            statistic=BoxStatistic,
            flags=(
                Flag.TIGHT_BOUNDS,
                Flag.GRID_BOUNDS,
                Flag.NEW_VERSION,
                Flag.MEANS,
                Flag.CODEBOOK_FROM_DATA,
                Flag.OUTER_BOUNDS_FROM_DATA,
                Flag.RARE_RECORDS_SUPPRESSED,
                Flag.WEIGHED,
                Flag.SURVEY_WEIGHTS,
                Flag.KEPT_COLUMNS_NOT_COUNTED,
            ),
            ledgered=True,
            answers=frozenset(
                {"table", "composition", "determination", "influence", "linkage", "count", "classify"}
                | {"publication", "statistics"}
            ),
        ),
        Method(
            UncertainSpec,
            UncertainResult,
            statistic=EstimatedStatistic,
            flags=(
                Flag.SCALES_PER_RECORD,
                Flag.ZERO_SCALE,
                Flag.RARE_RECORDS_SUPPRESSED,
                Flag.KEPT_COLUMNS_NOT_COUNTED,
                Flag.REPEATED_RELEASE,
            ),
            draws=True,
            ledgered=True,
            answers=frozenset({"publication", "table", "composition", "influence", "linkage", "count", "classify"}),
        ),
        Method(
            CondensationSpec,
            CondensationResult,
            flags=(Flag.GROUPS_OF_ONE, Flag.KEPT_COLUMNS_NOT_COUNTED),
            answers=frozenset({"publication", "table", "composition", "influence", "linkage", "count", "classify"}),
        ),
        Method(
            SwapsSpec,
            SwapsResult,
            summary=SwapsSummary,
            flags=(Flag.REGIONS_SWAPPED, Flag.RECORDS_NOT_ANONYMOUS),
            answers=frozenset({"publication", "table", "composition", "group_profile", "swap_detection", "count"}),
        ),
        Method(GroupSpec, GroupResult, summary=GroupSummary),
        Method(GroupProfileSpec, GroupProfileResult, summary=GroupProfileSummary),
        Method(SwapDetectionSpec, SwapDetectionResult, summary=SwapDetectionSummary),
        Method(LinkageSpec, LinkageResult),
        Method(TableSpec, TableResult),
        Method(CompositionSpec, CompositionResult),
        Method(DeterminationSpec, DeterminationResult),
        Method(InfluenceSpec, InfluenceResult),
        Method(FrontierSpec, FrontierResult, summary=FrontierSummary),
        Method(PublicationSpec, PublicationResult),
        Method(CountSpec, CountResult, summary=CountSummary),
        Method(ClassifySpec, ClassifyResult, summary=ClassifySummary),
        Method(StatisticsSpec, StatisticsResult, summary=StatisticsSummary),
        Method(ReleaseReportSpec, ReleaseReportResult, summary=ReleaseReportSummary),
        Method(JobReportSpec, JobReportResult, summary=JobReportSummary),
    )
}

#: What any release can be put to, whichever method made it.
FOR_ALL: Final = frozenset({"release_report", "job_report"})

#: All that a worker runs, by name: the methods, and the reading of uploads, which no one asks for by name.
SPECS: Final[dict[str, type[JobSpec]]] = {name: method.spec for name, method in METHODS.items()} | {
    method_name(IngestSpec): IngestSpec
}


def folder_of(spec: type[JobSpec]) -> str:
    """The folder of `methods` in which a type of specification is."""
    return spec.__module__.split(".")[-2]


def methods_of(kind: JobKind) -> tuple[Method, ...]:
    """The methods of one kind, in their order."""
    return tuple(method for method in METHODS.values() if method.kind is kind)


def answering(question: str) -> tuple[Method, ...]:
    """The methods whose releases can be put to an audit or a question."""
    return tuple(method for method in METHODS.values() if question in method.answers)


def public_statistics(method: str, statistics: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What may be published of a method's statistics. Fields are listed, not left out: added fields stay restricted.

    Parameters
    ----------
    method
        The method's name; one that is not there any more publishes none.
    statistics
        As stored.
    """
    known = METHODS[method].statistic if method in METHODS else None
    public = frozenset() if known is None else frozenset(known.model_fields)
    return [{name: value for name, value in each.items() if name in public} for each in statistics]


def find_method(name: object, *, kind: JobKind) -> Method:
    """Find the method that a body names.

    Raises
    ------
    InvalidError
        If there is no such method of this kind; states which there are.
    """
    known = sorted(built.name for built in methods_of(kind))
    names = f"the methods are: {', '.join(known)}"
    if isinstance(name, str) and name in known:
        return METHODS[name]
    detail = f"`method` is missing; {names}" if name is None else f"there is no such {kind}; {names}"
    if isinstance(name, str):
        detail += meant(name, known)
    raise InvalidError.at("/method", detail)
