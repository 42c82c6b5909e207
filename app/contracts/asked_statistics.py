"""Statistics of a release that nobody asked for at the time: computed from what it publishes, and from nothing else."""

from typing import Annotated, ClassVar, Final, Literal

from pydantic import ConfigDict, Field

from app.contracts.base import Contract, may_lack
from app.contracts.box_statistics import Estimate, NamedStatistic, Ranges, Statistic
from app.contracts.ids import Named
from app.contracts.jobs import JobKind, JobSpec, Queue

#: Statistics of one question.
MOST_ASKED: Final = 100

Asked = Annotated[tuple[Statistic, ...], Field(min_length=1, max_length=MOST_ASKED)]
Ddof = Annotated[int, Field(strict=True, ge=0, le=1)]


class StatisticsRequest(Contract):
    """Which statistics of the released records, by their boxes alone."""

    statistics: Asked = Field(description="Over columns that were anonymized or kept; a weight changes nothing.")
    ddof: Ddof | None = Field(default=None, description="Divisor N - ddof; default: as the release was asked for.")


class ComputedStatistic(NamedStatistic):
    """One statistic as the boxes give it; lists for a regression, intercept first."""

    ddof: int | None = Field(description="Its divisor is N - ddof; null where that changes nothing.")
    estimate: Estimate | None = Field(description="Its value by the boxes; null where it is undefined.")
    linear: Ranges | None = Field(description="Range by the linear approximation.")
    guaranteed: Ranges | None = Field(description="Certain to hold the released records' value.")
    inner: Ranges | None = Field(description="Reached by data consistent with the boxes.")
    exact: bool = Field(
        description="Whether `guaranteed` is reached (a gap below 1e-9): no narrower range follows from the release. "
        "Not that the value is known: an exact range may be wide (`value_known`)."
    )
    gap: float | None = Field(description="Relative excess of `guaranteed` over `inner`.")
    domain_may_be_empty: bool | None = Field(
        default=None,
        description="domain_mean: whether the release may have no record with the values, as far as the boxes tell: "
        "the ranges are then about the mean if there is one. Null of other statistics.",
    )
    value_known: bool = Field(
        description="Whether `guaranteed` is one value (of a regression each of them): then the release tells the "
        "statistic. `exact` does not say this.",
    )
    reason: str | None = Field(
        description="Why there is no range (of a regression: not for every coefficient) or no estimate; null where "
        "there are both."
    )


class ComputedStatistics(Contract):
    """One answer a statistic, in their order; of a share, a mean within values or a cross-table one for each value."""

    method: Literal["statistics"] = Field(default="statistics", description="What was asked.")
    statistics: tuple[ComputedStatistic, ...] = Field(
        description="In the order of what was asked; where no value was named one for each, which stands in `values`."
    )
    share_single_value: dict[str, float] = Field(
        description="Of each column of the boxes that is asked about, the share of rows whose box leaves one value: "
        "these values are published. Kept columns are published as they are."
    )


class ComputedSummary(ComputedStatistics):
    """Answer in a job: the statistics stand in its whole result."""

    model_config = ConfigDict(json_schema_extra=may_lack("statistics", "share_single_value"))


class StatisticsSpec(JobSpec):
    """The unlisted job that computes them."""

    kind: ClassVar[JobKind] = JobKind.QUERY
    queue: ClassVar[Queue] = Queue.INTERACTIVE

    method: Literal["statistics"] = Field(default="statistics", description="What is asked.")
    release_id: Annotated[str, Named.RELEASE] = Field(description="The release that is asked.")
    statistics: Asked = Field(description="Over columns that were anonymized or kept.")
    ddof: Ddof | None = Field(default=None, description="Divisor N - ddof; default: as the release was asked for.")
