"""Anonymization `boxes`: k-anonymity of tables by subdividing the data space."""

from collections.abc import Mapping
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, Self

from pydantic import (
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from typing_extensions import TypeAliasType

from app.contracts.base import MisplacedError
from app.contracts.columns import (
    LARGEST,
    ColumnKind,
    ColumnName,
    ColumnValue,
    Day,
    Domain,
    Values,
    check_different,
    check_order,
    check_values,
    plain_kind,
)
from app.contracts.datasets import ColumnType
from app.contracts.examples import QUASI_IDENTIFIERS, Examples
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, ReleasingSpec
from app.contracts.statistics import MOST_STATISTICS, Statistic
from app.methods.boxes.nominal import NominalColumn

#: Who knows all but one record of a box has that one's values from an exact mean.
LEAST_K_OF_MEANS: Final = 4

Days = tuple[Day, Day]


def _ends(domain: Any) -> str:
    ends = domain if isinstance(domain, (list, tuple)) else ()
    return "days" if any(isinstance(end, (str, date)) for end in ends) else "numbers"


BoxDomain = TypeAliasType(
    "BoxDomain",
    Annotated[
        Annotated[Domain, Tag("numbers")] | Annotated[Days, Tag("days")],
        Discriminator(_ends),
        Field(description="Least and greatest value, both included; days as text."),
    ],
)

Width = Annotated[float, Field(strict=True, gt=0, le=LARGEST)]


class OfKinds(Protocol):
    """Specifications that state which columns are nominal or ordinal."""

    @property
    def nominal(self) -> dict[str, NominalColumn]:
        """Columns whose values have no order."""

    @property
    def ordinal(self) -> dict[str, tuple[Any, ...]]:
        """Columns whose values have a declared order."""


def kind_of(spec: OfKinds, name: str, column: ColumnType) -> ColumnKind:
    """How a column is cut and published: as declared, else by its type."""
    if name in spec.ordinal:
        return ColumnKind.ORDINAL
    return ColumnKind.NOMINAL if name in spec.nominal else plain_kind(column)


def kinds_of(spec: "BoxesSpec", types: Mapping[str, ColumnType]) -> dict[str, ColumnKind]:
    """How each quasi-identifier that the dataset has is cut and published."""
    return {name: kind_of(spec, name, types[name]) for name in spec.quasi_identifiers if name in types}


class BoxBounds(StrEnum):
    """Bounds of boxes.

    `cells`: the cuts, at secret places, which tile the space. `grid`: narrowed to steps of a public grid. `tight`: the
    least and greatest values of the records of the box.
    """

    CELLS = "cells"
    GRID = "grid"
    TIGHT = "tight"


class BoxMeans(StrEnum):
    """Means of the records of a box that are published.

    `none`: no means. `rounded`: an interval for each mean. `exact`: the means themselves, which can reveal a
    record.
    """

    NONE = "none"
    ROUNDED = "rounded"
    EXACT = "exact"


class RareRecords(StrEnum):
    """Treatment of records that make statistics wide.

    `keep`: they are published. `mark`: they are published outside a marked core. `suppress`: they are left out.
    `weigh`: they count less.
    """

    KEEP = "keep"
    MARK = "mark"
    SUPPRESS = "suppress"
    WEIGH = "weigh"


class SuppressionObjective(StrEnum):
    """Objectives of suppressing rare records.

    `bias_aware`: narrower ranges, weighed against the shift of the statistics. `paper`: narrower ranges alone.
    """

    BIAS_AWARE = "bias_aware"
    PAPER = "paper"


class PartitionMethod(StrEnum):
    """Ways to divide the records into boxes.

    `optimal`: the narrowest ranges. `fast`: nearly as narrow, in less time. `mondrian`: medians of the widest
    column, for comparison.
    """

    OPTIMAL = "optimal"
    FAST = "fast"
    MONDRIAN = "mondrian"


class BoxesMissingPolicy(StrEnum):
    """Treatment of records with a missing value in `quasi_identifiers`.

    `refuse`: the request is refused. `drop`: the record is suppressed. `pattern`: boxes are cut within patterns of
    missing values.
    """

    REFUSE = "refuse"
    DROP = "drop"
    PATTERN = "pattern"


class DistributionDistance(StrEnum):
    """Distances between distributions of a sensitive column, for `t`.

    `equal`: all values are equally far apart. `ordered`: values are as far apart as their ranks.
    """

    EQUAL = "equal"
    ORDERED = "ordered"


class ReleasedWeights(StrEnum):
    """Weights of records that a release publishes.

    `box`: rows carry an interval that contains the mean weight of their box. `row`: their own, which identifies like a
    kept column: it is put among `keep`, and k counts it with all of these (`k_counts_kept`).
    """

    BOX = "box"
    ROW = "row"


class LeastWidths(StrEnum):
    """Least widths of boxes in columns of numbers, days and ordered values that `min_width` does not name.

    `auto`: a quarter of the column's natural scale, so that boxes give no value away. `none`: none.
    """

    AUTO = "auto"
    NONE = "none"


class BoxesSpec(ReleasingSpec):
    """k-anonymity, l-diversity and t-closeness by boxes that keep chosen statistics narrow."""

    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION
    # 2: floor; 3, 7, 8: as all releases; 4: columns of all types; 5: series; 6: versions; 9: cut by winsorized values,
    # without which a worker publishes what one value does to all boxes; 10: other cuts of more than 300,000 records of
    # numbers, and of numbers with `min_separation`; `fast` takes the upper of two places equally far from the middle;
    # 11: predictions among `statistics`; 12: other cuts with `min_width`; 13: `withheld`, least widths that none names,
    # other cuts with `box_means`; 14: `frequency_column`
    version: ClassVar[int] = 14
    examples: ClassVar[Examples] = {
        "means, variances and correlations": {**QUASI_IDENTIFIERS, "k": 5},
        "chosen statistics, rare records left out": {
            **QUASI_IDENTIFIERS,
            "k": 5,
            "statistics": [
                {"kind": "mean", "of": ["income"], "weight": 2.0},
                {"kind": "regression", "of": ["income", "age"]},
            ],
            "rare_records": "suppress",
            "domains": {"age": [0, 120]},
            "keep": ["job"],
        },
    }

    method: Literal["boxes"] = Field(description="Name of the method: k-anonymity by boxes.")
    dataset_id: DatasetId | None = Field(  # type: ignore[assignment]  # what all others need, a series must not have
        default=None, description="The dataset to work on; required, and absent with `base_release_id`."
    )
    base_release_id: ReleaseId | None = Field(
        default=None,
        description="A published release of boxes: the new one is a later release of its series, made from what it "
        "publishes and from nothing else. `quasi_identifiers` and `keep` are among the base's, `k` is at least the "
        "base's; all else but `statistics` and `ddof` is the base's and may be left out.",
    )
    previous_release_id: ReleaseId | None = Field(
        default=None,
        description="A published release of boxes of the data that the dataset is a new version of "
        "(`version_of_dataset_id`): the new one has its boxes, and shows additions and removals only where none or at "
        "least k rows changed; "
        "`quasi_identifiers`, `keep` and `k` are the same, all else but `statistics`, `ddof` and "
        "`frequencies_are_exact` may be left out. "
        "Default: the last one with these `quasi_identifiers`, `keep` and `k`, where the dataset is a new version; "
        "null: none.",
    )
    quasi_identifiers: tuple[ColumnName, ...] = Field(
        min_length=1, description="Quasi-identifiers, published as boxes: numbers, days, texts, booleans."
    )
    nominal: dict[ColumnName, NominalColumn] = Field(
        default_factory=dict,
        description="Columns whose values have no order; texts and booleans are nominal unless they are `ordinal`.",
    )
    ordinal: dict[ColumnName, Values] = Field(
        default_factory=dict,
        description="Columns whose values have this order; published as first and last value. Values that are all "
        "numbers, as texts too, or all days, ascend and count as these in statistics; others count by rank from 1.",
    )
    k: Annotated[int, Field(strict=True, ge=1, le=2**53)] = Field(
        description="Least number of records (with `person_column`, of persons) in a box."
    )
    person_column: ColumnName | None = Field(
        default=None, description="Who a record is of, where persons have several: k counts persons."
    )
    frequency_column: ColumnName | None = Field(
        default=None,
        description="Number of persons that a row represents, alike in all other columns: a whole number of at least "
        "1. The job is that of the table with a row for each person and without this column. Not with "
        "`person_column`.",
    )
    frequencies_are_exact: bool = Field(
        default=False,
        strict=True,
        description="True to confirm that the counts of `frequency_column` were neither rounded nor suppressed, where "
        "none is 1; `k` rests on them. Needs `jobs:read`.",
    )
    statistics: tuple[Statistic, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_STATISTICS,
        description="What to keep narrow; default: all means, variances and correlations of numeric "
        "`quasi_identifiers`, and all shares of nominal ones.",
    )
    unlisted_column_weight: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
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
        description="Least number of distinct values in a box, of each column of `sensitive` and `min_separation`. A "
        "missing value is none, and texts that differ in case, blanks or look-alike characters alone are one.",
    )
    t: Annotated[float, Field(strict=True, ge=0, le=1)] | None = Field(
        default=None,
        description="Largest distance between the distribution of a `sensitive` column in a box and in all boxes.",
    )
    t_distance: dict[ColumnName, DistributionDistance] = Field(
        default_factory=dict,
        description="How `t` measures a column; default: `ordered` where it is numeric or ordinal, else `equal`.",
    )
    alpha: Annotated[float, Field(strict=True, gt=0, le=1)] | None = Field(
        default=None,
        description="Largest share that one value of a `sensitive` column may have, of the records of a box that have "
        "one; values as `l` counts them.",
    )
    min_separation: dict[ColumnName, Annotated[float, Field(strict=True, gt=0)]] = Field(
        default_factory=dict, description="Columns whose `l` values must be this far apart, pairwise."
    )
    sensitive: tuple[ColumnName, ...] = Field(
        default=(),
        description="Columns that `l`, `t` and `alpha` are about, published unchanged as those of `keep`, where the "
        "stored specification has them. If something was published of these data, only columns that it shows are "
        "published; others count as `withheld`, with a warning.",
    )
    withheld: tuple[ColumnName, ...] = Field(
        default=(), description="Columns of `sensitive` that `l`, `t` and `alpha` count and the release does not show."
    )
    domains: dict[ColumnName, BoxDomain] = Field(
        default_factory=dict, description="Public limits of columns: the outer bounds of the boxes."
    )
    bounds: BoxBounds = BoxBounds.CELLS
    value_step: dict[ColumnName, Width] = Field(
        default_factory=dict,
        description="Steps of columns: values are multiples of them (3 * 0.1 in doubles is none), `grid` bounds too.",
    )
    min_records_at_bound: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None,
        description="Fewest records of a box in the last step of the grid at a `grid` bound that moved, and of all "
        "boxes in this step or beyond it: 1 to `k`. Persons with `person_column`. Null: 2 of the box, `k` of all.",
    )
    min_width: dict[ColumnName, Width] = Field(
        default_factory=dict, description="Least width of a box in a column, so that it leaves more than one value."
    )
    spikes: dict[ColumnName, ColumnValue] = Field(
        default_factory=dict,
        description="Values that all records of a box may have, whatever `min_width` of the column is. With "
        "`least_widths: auto` it is the one that more than half of the records have.",
    )
    least_widths: LeastWidths = Field(
        default=LeastWidths.AUTO,
        description="Least widths in columns that `min_width` does not name. `auto`: a quarter of the column's natural "
        "scale; none where it has fewer than 8 values. An earlier release of the same data decides for its columns. It "
        "is halved, then dropped, where no two boxes have it; the result states it.",
    )
    box_means: BoxMeans = Field(
        default=BoxMeans.NONE, description="Whether boxes also have the means of their records, or intervals for them."
    )
    mean_interval_in_boxes: Annotated[float, Field(strict=True, gt=0, le=100)] = Field(
        default=1.0, description="For `rounded` means: width of the interval of a sum, in widths of its box."
    )
    p_percent: Annotated[float, Field(strict=True, gt=0, le=100)] = Field(
        default=10.0,
        description="Means are left out where the largest value could be estimated within this percentage.",
    )
    rare_records: RareRecords = Field(
        default=RareRecords.KEEP, description="Treatment of records that make the statistics wide."
    )
    max_suppressed: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        default=0.05,
        description="Largest share of records, whatever they weigh, that are left out (`suppress`, `weigh`), or not of "
        "the core (`mark`).",
    )
    objective: SuppressionObjective = Field(
        default=SuppressionObjective.BIAS_AWARE,
        description="`suppress`, `weigh`: whether leaving records out, or giving them less weight, is weighed against "
        "how it shifts the statistics, or not (`paper`: then `max_suppressed` does not count either).",
    )
    confidence: float = Field(
        default=0.95, strict=True, gt=0, lt=1, description="Level of the statistical uncertainty."
    )
    partition: PartitionMethod = PartitionMethod.OPTIMAL
    keep: tuple[ColumnName, ...] = Field(default=(), description="Columns published unchanged, besides the box.")
    k_counts_kept: bool = Field(default=False, strict=True, description="Count k over box and kept columns together.")
    max_suppressed_classes: Annotated[float, Field(strict=True, ge=0, lt=1)] = Field(
        default=0.02,
        description="Largest share of records left out because their kept values are too rare (`k_counts_kept`), and "
        "largest share left out because fewer than k have a value of a column whose codebook is taken from the data.",
    )
    survey_weight_column: ColumnName | None = Field(
        default=None, description="Design weights, above 0, that all statistics count records with."
    )
    released_weights: ReleasedWeights = ReleasedWeights.BOX
    missing_policy: BoxesMissingPolicy = Field(
        default=BoxesMissingPolicy.REFUSE,
        description="Whether a missing value in `quasi_identifiers` is refused, its record left out, or missing in "
        "the release.",
    )

    @model_validator(mode="after")
    def _made_from(self) -> Self:
        if self.dataset_id is None and self.base_release_id is None:
            msg = "field required: the dataset to work on, or `base_release_id` for a later release of a series"
            raise MisplacedError(msg, "dataset_id")
        if self.dataset_id is not None and self.base_release_id is not None:
            msg = "a later release of a series is made from its base alone, no dataset is read: leave it out"
            raise MisplacedError(msg, "dataset_id")
        if self.previous_release_id is not None and self.base_release_id is not None:
            msg = "a release is made of new data in earlier boxes, or of its base alone: name one of both"
            raise MisplacedError(msg, "previous_release_id")
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for name in ("quasi_identifiers", "keep", "sensitive", "withheld"):
            check_different(field=name, names=getattr(self, name))
        _check_domains(self.domains)
        for name in self.spikes:
            if name not in self.min_width:
                raise MisplacedError(f"{name!r} has no `min_width`, which alone asks for more values", "spikes", name)
        if self.min_records_at_bound is not None and self.min_records_at_bound > self.k:
            raise MisplacedError(f"at most k = {self.k}: a box may have no more records", "min_records_at_bound")
        for name, values in self.ordinal.items():
            check_values("ordinal", values, name)
            if name in self.quasi_identifiers:
                check_order(values, name)
            if name in self.nominal:
                raise MisplacedError(f"{name!r} is either ordinal or nominal", "ordinal", name)
        return self

    @model_validator(mode="after")
    def _sensitive_columns(self) -> Self:
        constrained = self.l is not None or self.t is not None or self.alpha is not None
        if self.sensitive and not constrained:
            msg = "`sensitive` columns need `l`, `t` or `alpha`"
            raise MisplacedError(msg, "l")
        if self.min_separation and self.l is None:
            msg = "columns of `min_separation` need `l`"
            raise MisplacedError(msg, "l")
        if self.l is not None and not (self.min_separation or self.sensitive):
            msg = "`l` needs `sensitive` or `min_separation` columns that it counts"
            raise MisplacedError(msg, "l")
        for name in ("t", "alpha"):
            if getattr(self, name) is not None and not self.sensitive:
                msg = f"`{name}` needs `sensitive` columns that it is about"
                raise MisplacedError(msg, name)
        return self

    @model_validator(mode="after")
    def _exact_means(self) -> Self:
        if self.box_means is BoxMeans.EXACT and self.k < LEAST_K_OF_MEANS:
            msg = f"exact means need k of {LEAST_K_OF_MEANS} or more: the other records of a box reveal the last one"
            raise MisplacedError(msg, "k")
        return self


def _check_domains(domains: dict[str, BoxDomain]) -> None:
    """Raise an error when a domain is empty."""
    for column, (lo, hi) in domains.items():
        if not lo < hi:  # type: ignore[operator]  # both of one kind
            msg = f"the domain of {column!r} must be [lo, hi] with lo below hi"
            raise MisplacedError(msg, "domains", column)
