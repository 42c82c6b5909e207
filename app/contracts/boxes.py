"""Anonymization `boxes`: numeric k-anonymity by subdividing the data space."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import LARGEST, ColumnName, Domain, Missing, check_different, check_domains
from app.contracts.jobs import JobKind, ReleasingSpec


class StatisticKind(StrEnum):
    """Statistics that a release can be made narrow for."""

    MEAN = "mean"
    VARIANCE = "variance"
    STANDARD_DEVIATION = "standard_deviation"
    COVARIANCE = "covariance"
    CORRELATION = "correlation"
    REGRESSION = "regression"


#: kind -> least and greatest number of columns in `of`
ARITY: dict[StatisticKind, tuple[int, int | None]] = {
    StatisticKind.MEAN: (1, 1),
    StatisticKind.VARIANCE: (1, 1),
    StatisticKind.STANDARD_DEVIATION: (1, 1),
    StatisticKind.COVARIANCE: (2, 2),
    StatisticKind.CORRELATION: (2, 2),
    StatisticKind.REGRESSION: (2, None),
}


#: Kinds whose sample form (divisor N - 1) differs from their population form.
WITH_SAMPLE_FORM = frozenset({StatisticKind.VARIANCE, StatisticKind.STANDARD_DEVIATION, StatisticKind.COVARIANCE})

#: Statistics of one specification.
MOST_STATISTICS = 10_000


class Statistic(Contract):
    """A statistic whose range is to be narrow."""

    kind: StatisticKind = Field(description="Which statistic.")
    of: tuple[ColumnName, ...] = Field(min_length=1, description="Its columns; regression: the target first.")
    weight: Annotated[float, Field(strict=True, ge=0, le=LARGEST)] | None = Field(
        default=None, description="How much it matters; omitted: 1 over its natural scale."
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


class Bounds(StrEnum):
    """What the bounds of a box are."""

    CELLS = "cells"
    TIGHT = "tight"


class RareRecords(StrEnum):
    """What becomes of records that make statistics wide."""

    KEEP = "keep"
    DISMISS = "dismiss"
    WEIGH = "weigh"


class Partition(StrEnum):
    """How the data space is subdivided."""

    OPTIMAL = "optimal"
    FAST = "fast"
    MONDRIAN = "mondrian"


class BoxesSpec(ReleasingSpec):
    """Numeric k-anonymity and l-diversity by boxes that keep chosen statistics narrow."""

    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION
    version: ClassVar[int] = 3  # 2: floor; 3: as all that make releases

    method: Literal["boxes"] = Field(description="Numeric k-anonymity by boxes.")
    columns: tuple[ColumnName, ...] = Field(min_length=1, description="Numeric quasi-identifiers, published as boxes.")
    k: Annotated[int, Field(strict=True, ge=1, le=2**53)] = Field(description="Least number of records in a box.")
    statistics: tuple[Statistic, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_STATISTICS,
        description="What to keep narrow; default: all means, variances and correlations of `columns`.",
    )
    floor: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        default=0.03,
        description="Weight of every column that no statistic names, as a share of the least one named (in natural "
        "scales), so that it is cut too; 0 leaves such columns whole.",
    )
    ddof: Annotated[int, Field(strict=True, ge=0, le=1)] = Field(
        default=0,
        description="Variances, standard deviations and covariances have the divisor N - ddof, N the release's rows.",
    )
    l: Annotated[int, Field(strict=True, ge=1)] | None = Field(  # noqa: E741  (the field's name in the literature)
        default=None,
        description="Least number of distinct values in a box, of each column of `sensitive` and `epsilon`.",
    )
    epsilon: dict[ColumnName, Annotated[float, Field(strict=True, gt=0)]] = Field(
        default_factory=dict, description="Columns whose `l` values must lie this far apart, pairwise."
    )
    sensitive: tuple[ColumnName, ...] = Field(default=(), description="Columns that need `l` distinct values in a box.")
    domains: dict[ColumnName, Domain] = Field(
        default_factory=dict, description="Public limits of columns: the outer bounds of the boxes."
    )
    bounds: Bounds = Field(default=Bounds.CELLS, description="`tight` bounds are somebody's values.")
    rare_records: RareRecords = Field(
        default=RareRecords.KEEP, description="What becomes of records that make the statistics wide."
    )
    confidence: float = Field(
        default=0.95, strict=True, gt=0, lt=1, description="Level of the statistical uncertainty."
    )
    partition: Partition = Field(default=Partition.OPTIMAL, description="`mondrian` is for comparison.")
    keep: tuple[ColumnName, ...] = Field(default=(), description="Columns published unchanged, beside the box.")
    count_keep: bool = Field(default=False, strict=True, description="Count k over box and kept columns together.")
    missing: Missing = Field(default=Missing.REFUSE, description="Whether a missing value in `columns` is refused.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in ("columns", "keep", "sensitive"):
            check_different(field=name, names=getattr(self, name))
        check_domains(self.domains)
        if (self.epsilon or self.sensitive) and self.l is None:
            msg = "`epsilon` and `sensitive` need `l`"
            raise MisplacedError(msg, "l")
        if self.l is not None and not (self.epsilon or self.sensitive):
            msg = "`l` needs `sensitive` or `epsilon` columns that it counts"
            raise MisplacedError(msg, "l")
        return self


Range = TypeAliasType(
    "Range", Annotated[tuple[float, float], Field(description="Least and greatest value, both included.")]
)
Estimate = TypeAliasType(
    "Estimate",
    Annotated[
        float | tuple[float | None, ...],
        Field(description="A number; of a regression one per coefficient, the intercept first."),
    ],
)
Ranges = TypeAliasType(
    "Ranges",
    Annotated[
        Range | tuple[Range | None, ...],
        Field(description="A range; of a regression one per coefficient, the intercept first."),
    ],
)


class StatisticResult(Contract):
    """One statistic of a box release: its estimate and its ranges (lists for a regression, intercept first)."""

    kind: StatisticKind = Field(description="Which statistic.")
    of: tuple[str, ...] = Field(description="Its columns; regression: the target first.")
    weight: float = Field(description="How much it mattered: as given, or 1 over its natural scale.")
    ddof: int | None = Field(
        default=None, description="Its divisor is N - ddof, N the release's rows; null where that changes nothing."
    )
    estimate: Estimate | None = Field(description="Its value by the boxes; null where it is undefined.")
    linear: Ranges | None = Field(description="Range by the linear approximation.")
    guaranteed: Ranges | None = Field(description="Certain to hold the kept records' value.")
    inner: Ranges | None = Field(description="Reached by data consistent with the boxes.")
    exact: bool = Field(description="Whether `guaranteed` is reached: a gap below 1e-9.")
    gap: float | None = Field(description="Relative excess of `guaranteed` over `inner`.")


class RestrictedStatistic(StatisticResult):
    """What only the job's owner sees beside it."""

    true_value: Estimate | None = Field(description="The kept records' value.")
    shift: Estimate | None = Field(description="All records' value less the kept records'.")
    delta_at_records: Estimate | None = Field(
        default=None, description="Linear half-width with influences at the true records."
    )


class BoxesResult(Contract):
    """Result of a `boxes` job."""

    method: Literal["boxes"] = Field(default="boxes", description="The job's method.")
    records: int = Field(description="Of the dataset.")
    kept: int = Field(description="Records that are released.")
    dismissed: int = Field(description="Rare records left out.")
    dropped: int = Field(description="Records left out for a missing value.")
    boxes: int = Field(description="Boxes that are released.")
    smallest_box: int = Field(description="Records in the smallest one.")
    largest_box: int = Field(description="Records in the largest one.")
    k_with_keep: int = Field(description="Least number of rows that agree in box and kept columns.")
    privacy_uncertainty: float | None = Field(
        description="What the boxes' widths may move the statistics by, weighted: Delta."
    )
    asymptotic_uncertainty: float | None = Field(description="The same at optimal widths: a guide, not a bound.")
    statistical_uncertainty: float | None = Field(description="What sampling alone moves them by, at `confidence`.")
    lambda_: float | None = Field(
        alias="lambda",
        default=None,
        description="Lambda, where rare records are dismissed or weighed; else null.",
    )
    statistics: tuple[RestrictedStatistic, ...] = Field(description="As asked, in that order.")
