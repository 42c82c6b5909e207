"""Statistics that a release was not made for: computed from what it publishes, and from nothing else."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import ConfigDict, Field

from app.contracts.base import Contract, may_lack
from app.contracts.ids import Named
from app.contracts.jobs import JobKind, JobSpec, Queue
from app.contracts.statistics import AboutRange, EstimatedValue, NamedStatistic, Statistic, StatisticRanges

#: Statistics of one question.
MOST_COMPUTED: Final = 100

Statistics = Annotated[tuple[Statistic, ...], Field(min_length=1, max_length=MOST_COMPUTED)]
Ddof = Annotated[int, Field(strict=True, ge=0, le=1)]


class StatisticsRequest(Contract):
    """Which statistics of the released records, by their boxes alone."""

    statistics: Statistics = Field(description="Over columns that were anonymized or kept; a weight changes nothing.")
    ddof: Ddof | None = Field(default=None, description="Divisor N - ddof; default: that of the release.")


class ComputedStatistic(AboutRange, NamedStatistic):
    """One statistic as the boxes give it; lists for a regression, intercept first."""

    ddof: int | None = Field(description="Its divisor is N - ddof; null where that changes nothing.")
    estimate: EstimatedValue | None = Field(description="Its value by the boxes; null where it is undefined.")
    first_order: StatisticRanges | None = Field(description="Range by the linear approximation.")
    guaranteed: StatisticRanges | None = Field(description="Certain to hold the released records' value.")
    attained: StatisticRanges | None = Field(description="Reached by data consistent with the boxes.")
    domain_may_be_empty: bool | None = Field(
        default=None,
        description="domain_mean: whether the release may have no record with the values, as far as the boxes show: "
        "the ranges are then about the mean if there is one. Null of other statistics.",
    )
    value_known: bool = Field(
        description="Whether `guaranteed` is one value (of a regression each of them): then the release "
        "determines the statistic. `sharp` does not say this.",
    )
    reason: str | None = Field(
        description="Why there is no range (of a regression: not for every coefficient) or no estimate; null where "
        "there are both."
    )


class ComputedStatistics(Contract):
    """One answer a statistic, in their order; of a share, a mean within values or a cross-table one for each value."""

    method: Literal["statistics"] = Field(default="statistics", description="The method.")
    statistics: tuple[ComputedStatistic, ...] = Field(
        description="In the order of the request; where no value was named, one for each, named in `values`."
    )
    share_single_value: dict[str, float] = Field(
        description="Of each column of the boxes that a statistic is about, the share of rows whose box leaves one "
        "value: these values are published. Kept columns are published as they are."
    )


class ComputedSummary(ComputedStatistics):
    """Answer in a job: the statistics are in its whole result."""

    model_config = ConfigDict(json_schema_extra=may_lack("statistics", "share_single_value"))


class StatisticsSpec(JobSpec):
    """The unlisted job that computes them."""

    kind: ClassVar[JobKind] = JobKind.QUERY
    queue: ClassVar[Queue] = Queue.INTERACTIVE

    method: Literal["statistics"] = Field(default="statistics", description="The method.")
    release_id: Annotated[str, Named.RELEASE] = Field(description="The release.")
    statistics: Statistics = Field(description="Over columns that were anonymized or kept.")
    ddof: Ddof | None = Field(default=None, description="Divisor N - ddof; default: that of the release.")
