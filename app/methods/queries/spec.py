"""Questions to a release: how many records are in a box, which class points belong to, and statistics."""

from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag, with_config
from typing_extensions import TypeAliasType, TypedDict

from app.contracts.base import Contract, may_lack
from app.contracts.columns import ColumnName, Interval, ValueDisclosure, ValueName, ValueNames, is_day
from app.contracts.ids import Named
from app.contracts.jobs import JobKind, JobSpec, Queue
from app.contracts.statistics import (
    AboutRange,
    EstimatedValue,
    NamedStatistic,
    Statistic,
    StatisticBase,
    StatisticRanges,
)

#: Queries or points of one question.
MOST_QUERIES: Final = 10_000


_ENDS: Final = 2
_OF_VALUES: Final = "Values of a column without numbers: a record counts if it has one of them."


@with_config(ConfigDict(extra="forbid", json_schema_extra={"description": _OF_VALUES}))
class ValueSet(TypedDict):
    """Values of a column without numbers; a plain dictionary, for there may be many."""

    values: Annotated[ValueNames, Field(description="The values; a record counts that has one of them.")]


def _with_two_ends(value: Any) -> Any:
    """Refuse a list of values by saying how they are written."""
    if not isinstance(value, list) or (len(value) == _ENDS and not any(map(_is_no_end, value))):
        return value
    msg = 'an interval has two ends: numbers, days as YYYY-MM-DD, or null; values are written {"values": [...]}'
    raise ValueError(msg)


def _is_no_end(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and not is_day(value))


def _restriction(value: Any) -> str:
    return "values" if isinstance(value, dict) else "interval"


ColumnRestriction = TypeAliasType(
    "ColumnRestriction",
    Annotated[
        Annotated[Interval, BeforeValidator(_with_two_ends), Tag("interval")] | Annotated[ValueSet, Tag("values")],
        Discriminator(_restriction),
        Field(description='A closed interval, null for an open end; or `{"values": [values]}`.'),
    ],
)
Query = dict[ColumnName, ColumnRestriction]
Point = dict[ColumnName, ValueName]
Queries = Annotated[tuple[Query, ...], Field(min_length=1, max_length=MOST_QUERIES)]
Points = Annotated[tuple[Point, ...], Field(min_length=1, max_length=MOST_QUERIES)]
Neighbours = Annotated[int, Field(strict=True, ge=1, le=1_000)]


class CountRequest(Contract):
    """How many records are in each of these boxes."""

    queries: Queries = Field(
        description="Per column a closed interval, null for an open end, or values; columns that are not named are not "
        "restricted."
    )


class QueryCount(Contract):
    """How many of the released records' originals are in a box."""

    estimate: float = Field(description="Expected number of records that match.")
    standard_error: float | None = Field(description="Null where the model gives none.")
    guaranteed: tuple[int, int] | None = Field(description="Certain to contain the number; null: nothing is certain.")


class CountResult(Contract):
    """One count a query, in their order."""

    method: Literal["count"] = Field(default="count", description="Name of the method.")
    counts: tuple[QueryCount, ...] = Field(description="One a query, in their order.")
    base: Literal[StatisticBase.RECORDS] = Field(
        default=StatisticBase.RECORDS, description="Counts are of released records, each once, whatever its weight."
    )
    n: int | None = Field(
        default=None,
        description="Number of released records, with and without values in the columns of a query. Null of an answer "
        "that is older than this field.",
    )


class CountSummary(CountResult):
    """Answer in a job: the counts are in its whole result; jobs that are older than `base` and `n` lack these too."""

    model_config = ConfigDict(json_schema_extra=may_lack("counts", "base", "n"))


class ClassifyRequest(Contract):
    """Which class of a kept column each of these points belongs to."""

    target: ColumnName = Field(description="A column that the release keeps unchanged.")
    neighbours: Neighbours = Field(default=10, description="Released records that fit a point best, and vote.")
    points: Points = Field(description="A value for each quasi-identifier of the release, by name.")


class ClassifyResult(Contract):
    """The most probable class of each point, and the probability of every class: estimates, none of them certain."""

    method: Literal["classify"] = Field(default="classify", description="Name of the method.")
    classes: tuple[str, ...] = Field(description="The most probable class of each point, in their order.")
    probabilities: tuple[dict[str, float], ...] = Field(description="By class; classes of probability 0 left out.")


class ClassifySummary(ClassifyResult):
    """Answer in a job: classes and probabilities are in its whole result."""

    model_config = ConfigDict(json_schema_extra=may_lack("classes", "probabilities"))


class CountSpec(JobSpec):
    """The unlisted job that counts."""

    kind: ClassVar[JobKind] = JobKind.QUERY
    queue: ClassVar[Queue] = Queue.INTERACTIVE

    method: Literal["count"] = Field(default="count", description="Name of the method.")
    release_id: Annotated[str, Named.RELEASE] = Field(description="The release.")
    queries: Queries = Field(description="Per column a closed interval, null for an open end, or values.")


class ClassifySpec(JobSpec):
    """The unlisted job that classifies."""

    kind: ClassVar[JobKind] = JobKind.QUERY
    queue: ClassVar[Queue] = Queue.INTERACTIVE

    method: Literal["classify"] = Field(default="classify", description="Name of the method.")
    release_id: Annotated[str, Named.RELEASE] = Field(description="The release.")
    target: ColumnName = Field(description="A column that the release keeps unchanged.")
    neighbours: Neighbours = Field(description="Released records that fit a point best, and vote.")
    points: Points = Field(description="A value for each quasi-identifier of the release, by name.")


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
    guaranteed: StatisticRanges | None = Field(description="Certain to contain the released records' value.")
    attained: StatisticRanges | None = Field(description="Reached by data consistent with the boxes.")
    domain_may_be_empty: bool | None = Field(
        default=None,
        description="domain_mean: whether the release may have no record with the values, as far as the boxes show: "
        "the ranges are then about the mean if there is one. Null of other statistics.",
    )
    value_known: bool = Field(
        description="Whether `guaranteed` is one value (of a regression each of them): then the release "
        "determines the statistic. `sharp` does not state this.",
    )
    reason: str | None = Field(
        description="Why there is no range (of a regression: not for every coefficient) or no estimate; null where "
        "there are both."
    )


class StatisticsResult(Contract):
    """One answer a statistic, in their order; of a share, a mean within values or a cross-table one for each value."""

    method: Literal["statistics"] = Field(default="statistics", description="Name of the method.")
    statistics: tuple[ComputedStatistic, ...] = Field(
        description="In the order of the request; where no value was named, one for each, named in `values`."
    )
    value_disclosure: dict[str, ValueDisclosure] = Field(
        description="Values that the release gives away, by column of the boxes that a statistic is about. Kept "
        "columns are published as they are."
    )


class StatisticsSummary(StatisticsResult):
    """Answer in a job: the statistics are in its whole result."""

    model_config = ConfigDict(json_schema_extra=may_lack("statistics", "value_disclosure"))


class StatisticsSpec(JobSpec):
    """The unlisted job that computes them."""

    kind: ClassVar[JobKind] = JobKind.QUERY
    queue: ClassVar[Queue] = Queue.INTERACTIVE
    version: ClassVar[int] = 2  # 2: predictions

    method: Literal["statistics"] = Field(default="statistics", description="Name of the method.")
    release_id: Annotated[str, Named.RELEASE] = Field(description="The release.")
    statistics: Statistics = Field(description="Over columns that were anonymized or kept.")
    ddof: Ddof | None = Field(default=None, description="Divisor N - ddof; default: that of the release.")
