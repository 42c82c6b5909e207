"""The methods that jobs can use, in the order in which they stand in the OpenAPI document."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from app.contracts.flags import Flag
from app.contracts.jobs import JobKind, JobSpec
from app.contracts.statistics import StatisticResult
from app.methods.boxes.result import BoxesResult
from app.methods.boxes.spec import BoxesSpec
from app.methods.composition.spec import CompositionResult, CompositionSpec, DeterminationResult, DeterminationSpec
from app.methods.condensation.spec import CondensationResult, CondensationSpec
from app.methods.group.spec import GroupResult, GroupSpec, GroupSummary
from app.methods.group_profile.spec import (
    GroupProfileResult,
    GroupProfileSpec,
    GroupProfileSummary,
    SwapDetectionResult,
    SwapDetectionSpec,
    SwapDetectionSummary,
)
from app.methods.influence.spec import FrontierResult, FrontierSpec, InfluenceResult, InfluenceSpec
from app.methods.ingest.spec import IngestSpec
from app.methods.linkage.spec import LinkageResult, LinkageSpec
from app.methods.method import Method, method_name
from app.methods.publication.spec import PublicationResult, PublicationSpec
from app.methods.queries.spec import (
    Classification,
    ClassificationSummary,
    ClassifySpec,
    CountResult,
    CountSpec,
    CountSummary,
)
from app.methods.queries.statistics import ComputedStatistics, ComputedSummary, StatisticsSpec
from app.methods.report.spec import (
    JobReport,
    JobReportSpec,
    JobReportSummary,
    ReleaseReport,
    ReleaseReportSpec,
    ReleaseReportSummary,
)
from app.methods.swaps.result import SwapsResult, SwapsSummary
from app.methods.swaps.spec import SwapsSpec
from app.methods.table.result import TableResult
from app.methods.table.spec import TableSpec
from app.methods.uncertain.spec import EstimatedStatistic, UncertainResult, UncertainSpec

METHODS: Final[dict[str, Method]] = {
    method.name: method
    for method in (
        Method(
            BoxesSpec,
            BoxesResult,
            statistic=StatisticResult,
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
        Method(FrontierSpec, FrontierResult),
        Method(PublicationSpec, PublicationResult),
        Method(CountSpec, CountResult, summary=CountSummary),
        Method(ClassifySpec, Classification, summary=ClassificationSummary),
        Method(StatisticsSpec, ComputedStatistics, summary=ComputedSummary),
        Method(ReleaseReportSpec, ReleaseReport, summary=ReleaseReportSummary),
        Method(JobReportSpec, JobReport, summary=JobReportSummary),
    )
}

#: What any release can be put to, whichever method made it.
FOR_ALL: Final = frozenset({"release_report", "job_report"})

#: All that a worker runs, by name: the methods, and the reading of uploads, which nobody asks for by name.
SPECS: Final[dict[str, type[JobSpec]]] = {name: method.spec for name, method in METHODS.items()} | {
    method_name(IngestSpec): IngestSpec
}


def methods_of(kind: JobKind) -> tuple[Method, ...]:
    """The methods of one kind, in their order."""
    return tuple(method for method in METHODS.values() if method.kind is kind)


def answering(question: str) -> tuple[Method, ...]:
    """The methods whose releases can be put to an audit or a question."""
    return tuple(method for method in METHODS.values() if question in method.answers)


def public_statistics(method: str, statistics: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What may be published of a method's statistics. Fields are listed, not left out: what is added stays restricted.

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
