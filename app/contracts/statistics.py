"""Statistics of a table by name, as a release publishes them."""

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import ConfigDict, Field, field_validator, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError, may_lack
from app.contracts.columns import (
    LARGEST,
    ColumnName,
    ColumnValue,
    Interval,
    IntervalEnd,
    ValueName,
    ValueNames,
    check_values,
)


class StatisticKind(StrEnum):
    """Kinds of statistics.

    `mean`, `variance`, `standard_deviation`, `quantile` of one column; `covariance`, `correlation`, `crosstab`
    of two; `share`: records with listed values; `domain_mean`: a mean within values of another column;
    `regression`: a linear model; `prediction`: its line at given values.
    """

    MEAN = "mean"
    VARIANCE = "variance"
    STANDARD_DEVIATION = "standard_deviation"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    REGRESSION = "regression"
    PREDICTION = "prediction"
    SHARE = "share"
    CROSSTAB = "crosstab"
    DOMAIN_MEAN = "domain_mean"
    QUANTILE = "quantile"


#: kind -> least and greatest number of columns in `of`
ARITY: dict[StatisticKind, tuple[int, int | None]] = {
    StatisticKind.MEAN: (1, 1),
    StatisticKind.VARIANCE: (1, 1),
    StatisticKind.STANDARD_DEVIATION: (1, 1),
    StatisticKind.COVARIANCE: (2, 2),
    StatisticKind.CORRELATION: (2, 2),
    StatisticKind.REGRESSION: (2, None),
    StatisticKind.PREDICTION: (2, None),
    StatisticKind.SHARE: (1, 1),
    StatisticKind.CROSSTAB: (2, 2),
    StatisticKind.DOMAIN_MEAN: (2, 2),
    StatisticKind.QUANTILE: (1, 1),
}


#: Kinds whose sample form (divisor N - 1) differs from their population form.
WITH_SAMPLE_FORM = frozenset({StatisticKind.VARIANCE, StatisticKind.STANDARD_DEVIATION, StatisticKind.COVARIANCE})
#: Kinds about a set of values of a column without numbers; and the place of that column in `of`.
ABOUT_VALUES: Final = {StatisticKind.SHARE: (0,), StatisticKind.CROSSTAB: (0, 1), StatisticKind.DOMAIN_MEAN: (1,)}

#: Kinds that take columns without order too: one of two values as 0 or 1, the first in ascending order 0; a predictor
#: of more values as one such number for each but the first.
WITH_INDICATORS: Final = frozenset(
    {StatisticKind.COVARIANCE, StatisticKind.CORRELATION, StatisticKind.REGRESSION, StatisticKind.PREDICTION}
)

#: Statistics of one specification.
MOST_STATISTICS = 10_000


class Statistic(Contract):
    """A statistic whose range is kept narrow."""

    kind: StatisticKind = Field(description="Kind of the statistic.")
    of: tuple[ColumnName, ...] = Field(
        min_length=1,
        description="Its columns; regression, prediction: the target first; domain_mean: the averaged column first.",
    )
    weight: Annotated[float, Field(strict=True, ge=0, le=LARGEST)] | None = Field(
        default=None, description="How much it matters; omitted: 1 over its natural scale."
    )
    values: ValueNames | None = Field(
        default=None,
        description="share, domain_mean: the values whose records are counted or averaged; omitted: a statistic for "
        "each value of the column.",
    )
    interval: Interval | None = Field(
        default=None,
        description="share, domain_mean: in the place of `values`, of a last column of numbers or days: a closed "
        "interval, null for an open end.",
    )
    p: Annotated[float, Field(strict=True, gt=0, lt=1)] | None = Field(
        default=None, description="quantile: the share of records at or below it."
    )
    at: tuple[ValueName, ...] | None = Field(
        default=None,
        max_length=1_000,
        description="prediction: a value of each predictor, in the order of `of`; the statistic is the fitted line "
        "there, not what a person with these values has.",
    )

    @field_validator("weight")
    @classmethod
    def _not_all_but_zero(cls, weight: float | None) -> float | None:
        if weight is not None and 0 < weight < 1 / LARGEST:
            msg = f"a weight is 0 or at least {1 / LARGEST:g}"
            raise ValueError(msg)
        return weight

    @model_validator(mode="after")
    def _right_number_of_columns(self) -> Self:
        least, most = ARITY[self.kind]
        if len(set(self.of)) != len(self.of):
            msg = f"{self.kind} takes different columns in `of`"
            raise MisplacedError(msg, "of")
        if len(self.of) < least or (most is not None and len(self.of) > most):
            wanted = str(least) if least == most else f"{least} or more"
            msg = f"{self.kind} takes {wanted} columns in `of`, {len(self.of)} given"
            raise MisplacedError(msg, "of")
        return self

    @model_validator(mode="after")
    def _right_fields(self) -> Self:
        if self.values is not None and self.kind not in (StatisticKind.SHARE, StatisticKind.DOMAIN_MEAN):
            msg = f"{self.kind} takes no `values`"
            raise MisplacedError(msg, "values")
        check_values("values", self.values or ())
        if self.interval is not None and self.kind not in (StatisticKind.SHARE, StatisticKind.DOMAIN_MEAN):
            msg = f"{self.kind} takes no `interval`"
            raise MisplacedError(msg, "interval")
        if self.interval is not None and self.values is not None:
            msg = "a statistic is about `values` or about an `interval`"
            raise MisplacedError(msg, "interval")
        if self.interval == (None, None):
            msg = "an `interval` has one end at least"
            raise MisplacedError(msg, "interval")
        if (self.p is None) is (self.kind is StatisticKind.QUANTILE):
            msg = "quantile takes `p`, the share of records at or below it" if self.p is None else "only quantile has p"
            raise MisplacedError(msg, "p")
        return self

    @model_validator(mode="after")
    def _at_every_predictor(self) -> Self:
        if self.kind is not StatisticKind.PREDICTION:
            if self.at is not None:
                msg = "only a prediction is `at` values"
                raise MisplacedError(msg, "at")
        elif self.at is None or len(self.at) != len(self.of) - 1:
            msg = f"a prediction is `at` a value of each of its {len(self.of) - 1} predictors"
            raise MisplacedError(msg, "at")
        for index, value in enumerate(self.at or ()):
            if isinstance(value, (int, float)) and abs(value) > LARGEST:
                msg = f"a prediction is at numbers of at most {LARGEST:g} in size"
                raise MisplacedError(msg, "at", index)
        return self


def steers(statistic: Statistic, columns: Collection[str]) -> bool:
    """Whether boxes are made narrow for a statistic; all others are answered from the boxes once they are there.

    What kept columns have is published as it is, and an interval of a column is no function of where its boxes are cut.
    A statistic that concerns them has a range from the release alone, as any later question.

    Parameters
    ----------
    statistic
        One of a specification.
    columns
        Its quasi-identifiers.
    """
    return statistic.interval is None and all(name in columns for name in statistic.of)


class RegressionTerm(Contract):
    """Term that a coefficient of a regression belongs to."""

    column: str | None = Field(description="The predictor; null for the intercept.")
    value: ValueName | None = Field(
        default=None, description="Of a nominal predictor the value that it is about, compared with the first one."
    )


ValueRange = TypeAliasType(
    "ValueRange", Annotated[tuple[float, float], Field(description="Least and greatest value, both included.")]
)
EstimatedValue = TypeAliasType(
    "EstimatedValue",
    Annotated[
        float | tuple[float | None, ...],
        Field(description="A number; of a regression one per coefficient, the intercept first."),
    ],
)
StatisticRanges = TypeAliasType(
    "StatisticRanges",
    Annotated[
        ValueRange | tuple[ValueRange | None, ...],
        Field(description="A range; of a regression one per coefficient, the intercept first."),
    ],
)


class QuantileLabels(Contract):
    """A quantile of values in an order that are no numbers, as the values that it is."""

    estimate: ColumnValue | None = Field(description="The value at the rank `estimate`.")
    guaranteed: tuple[ColumnValue, ColumnValue] | None = Field(description="The values at the ranks `guaranteed`.")
    attained: tuple[ColumnValue, ColumnValue] | None = Field(description="The values at the ranks `attained`.")


class StatisticBase(StrEnum):
    """Released records that a statistic counts.

    `records`: all of them, each once; `records_with_value`: those with a value in each of its columns; `weighted`,
    `weighted_with_value`: the same by their weights, so that the number of a cross-table is a sum of weights.
    """

    RECORDS = "records"
    RECORDS_WITH_VALUE = "records_with_value"
    WEIGHTED = "weighted"
    WEIGHTED_WITH_VALUE = "weighted_with_value"


class AboutRange(Contract):
    """Width of a range, the reason where there is none, and the records that it is about."""

    labels: QuantileLabels | None = Field(
        default=None,
        description="quantile of an ordinal column whose values are no numbers: the values at these ranks; else null.",
    )

    sharp: bool = Field(
        description="Whether `guaranteed` is reached (a gap below 1e-9): no narrower range follows from the release. "
        "Not that the value is known: a sharp range may be wide (`value_known`)."
    )
    gap: float | None = Field(description="Relative excess of `guaranteed` over `attained`.")
    value_known: bool | None = Field(
        default=None,
        description="Whether `guaranteed` is one value (of a regression each of them): then the release "
        "determines the statistic. `sharp` does not state this. Null where the release is older than this field.",
    )
    reason: str | None = Field(
        default=None,
        description="Why there is no range (of a regression: not for every coefficient) or no estimate; null where "
        "there are both, and where the release is older than this field.",
    )
    base: StatisticBase | None = Field(
        default=None,
        description="Records that the statistic counts; null where it has no answer, or the release is older than this "
        "field.",
    )
    n: int | None = Field(
        default=None,
        description="Number of released records that the statistic is about, each counted once: those with a value in "
        "each of its columns. Null like `base`.",
    )


class NamedStatistic(Contract):
    """Which statistic an answer is about."""

    model_config = ConfigDict(json_schema_extra=may_lack("interval", "at", "called"))

    kind: StatisticKind = Field(description="Kind of the statistic.")
    of: tuple[str, ...] = Field(description="Its columns; regression, prediction: the target first.")
    values: tuple[ValueName, ...] | None = Field(
        default=None,
        description="share, domain_mean: the values it is about; crosstab: the cell, a value of each column.",
    )
    interval: tuple[IntervalEnd, IntervalEnd] | None = Field(
        default=None, description="share, domain_mean: the interval it is about; null where it is about values."
    )
    p: float | None = Field(default=None, description="quantile: the share of records at or below it.")
    at: tuple[ValueName, ...] | None = Field(
        default=None, description="prediction: the value of each predictor at which the fitted line is taken."
    )
    called: str | None = Field(
        default=None,
        description="Name of the number where ordinal columns count by rank, such as `mean rank (1 = low)`; null where "
        "numbers are those of the columns.",
    )
    terms: tuple[RegressionTerm, ...] | None = Field(
        default=None,
        description="What the coefficients of a regression are of, where a predictor is nominal and has several.",
    )
