"""Anonymization `boxes`: k-anonymity of tables by subdividing the data space."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from app.contracts.base import MisplacedError
from app.contracts.box_columns import BoxDomain, NominalColumn, Values, Width, check_values
from app.contracts.box_statistics import MOST_STATISTICS, Statistic
from app.contracts.columns import ColumnName, check_different
from app.contracts.examples import QUASI_IDENTIFIERS, Examples
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, ReleasingSpec

#: Who knows all but one record of a box has that one's values from an exact mean.
_LEAST_K_OF_MEANS = 4


class Bounds(StrEnum):
    """What the bounds of a box are."""

    CELLS = "cells"
    SNUG = "snug"
    TIGHT = "tight"


class Content(StrEnum):
    """What a release says of the records in a box beside its bounds."""

    BOUNDS = "bounds"
    ROUNDED_MEANS = "rounded_means"
    MEANS = "means"


class RareRecords(StrEnum):
    """What becomes of records that make statistics wide."""

    KEEP = "keep"
    MARK = "mark"
    DISMISS = "dismiss"
    WEIGH = "weigh"


class Objective(StrEnum):
    """What is weighed against what when rare records are left out."""

    WITH_SHIFT = "with_shift"
    PAPER = "paper"


class Partition(StrEnum):
    """How the data space is subdivided."""

    OPTIMAL = "optimal"
    FAST = "fast"
    MONDRIAN = "mondrian"


class MissingValues(StrEnum):
    """What becomes of records with a missing value in `columns`."""

    REFUSE = "refuse"
    DROP = "drop"
    PATTERN = "pattern"


class Distance(StrEnum):
    """How far two distributions of a sensitive column are apart, for `t`."""

    EQUAL = "equal"
    ORDERED = "ordered"


class ReleasedWeights(StrEnum):
    """What a release says of the weights of its records."""

    BOX = "box"
    ROW = "row"


class BoxesSpec(ReleasingSpec):
    """k-anonymity, l-diversity and t-closeness by boxes that keep chosen statistics narrow."""

    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION
    # 2: floor; 3, 7, 8: as all releases; 4: columns of all types; 5: series; 6: versions; 9: cut by winsorized values,
    # without which a worker publishes what one value does to all boxes
    version: ClassVar[int] = 9
    examples: ClassVar[Examples] = {
        "means, variances and correlations": {**QUASI_IDENTIFIERS, "k": 5},
        "chosen statistics, rare records left out": {
            **QUASI_IDENTIFIERS,
            "k": 5,
            "statistics": [
                {"kind": "mean", "of": ["income"], "weight": 2.0},
                {"kind": "regression", "of": ["income", "age"]},
            ],
            "rare_records": "dismiss",
            "domains": {"age": [0, 120]},
            "keep": ["job"],
        },
    }

    method: Literal["boxes"] = Field(description="k-anonymity by boxes.")
    dataset_id: DatasetId | None = Field(  # type: ignore[assignment]  # what all others need, a series must not have
        default=None, description="The dataset to work on; required, and absent with `base_release_id`."
    )
    base_release_id: ReleaseId | None = Field(
        default=None,
        description="A published release of boxes: the new one is a later release of its series, made from what it "
        "publishes and from nothing else. `columns` and `keep` are among the base's, `k` is at least the base's; all "
        "else but `statistics` and `ddof` is the base's and may be left out.",
    )
    previous_release_id: ReleaseId | None = Field(
        default=None,
        description="A published release of boxes of the data that the dataset is a new version of (`version_of`): the "
        "new one has its boxes, and shows additions and removals only where none or at least k rows changed; "
        "`columns`, `keep` and `k` are the same, all else but `statistics` and `ddof` may be left out. Default: the "
        "last one with these `columns`, `keep` and `k`, where the dataset is a new version; null: none.",
    )
    columns: tuple[ColumnName, ...] = Field(
        min_length=1, description="Quasi-identifiers, published as boxes: numbers, days, texts, booleans."
    )
    nominal: dict[ColumnName, NominalColumn] = Field(
        default_factory=dict,
        description="Columns whose values have no order; texts and booleans are nominal unless they are `ordinal`.",
    )
    ordinal: dict[ColumnName, Values] = Field(
        default_factory=dict, description="Columns whose values have this order; published as first and last value."
    )
    k: Annotated[int, Field(strict=True, ge=1, le=2**53)] = Field(
        description="Least number of records (with `person`, of persons) in a box."
    )
    person: ColumnName | None = Field(
        default=None, description="Who a record is of, where persons have several: k counts persons."
    )
    statistics: tuple[Statistic, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_STATISTICS,
        description="What to keep narrow; default: all means, variances and correlations of numeric `columns`, and all "
        "shares of nominal ones.",
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
    t: Annotated[float, Field(strict=True, ge=0, le=1)] | None = Field(
        default=None,
        description="Largest distance between the distribution of a `sensitive` column in a box and in all boxes.",
    )
    t_distance: dict[ColumnName, Distance] = Field(
        default_factory=dict,
        description="How `t` measures a column; default: `ordered` where it is numeric or ordinal, else `equal`.",
    )
    alpha: Annotated[float, Field(strict=True, gt=0, le=1)] | None = Field(
        default=None, description="Largest share of a box that one value of a `sensitive` column may have."
    )
    epsilon: dict[ColumnName, Annotated[float, Field(strict=True, gt=0)]] = Field(
        default_factory=dict, description="Columns whose `l` values must lie this far apart, pairwise."
    )
    sensitive: tuple[ColumnName, ...] = Field(default=(), description="Columns that `l`, `t` and `alpha` are about.")
    domains: dict[ColumnName, BoxDomain] = Field(
        default_factory=dict, description="Public limits of columns: the outer bounds of the boxes."
    )
    bounds: Bounds = Field(
        default=Bounds.CELLS,
        description="`cells` tile the space; `snug` ones are narrowed to a grid; `tight` ones are somebody's values.",
    )
    grid: dict[ColumnName, Width] = Field(
        default_factory=dict,
        description="Steps of columns: what their values are multiples of, and where `snug` bounds may lie.",
    )
    snug_records: Annotated[int, Field(strict=True, ge=1, le=2)] = Field(
        default=1, description="Records that share the last step of the grid at a `snug` bound."
    )
    minimum_width: dict[ColumnName, Width] = Field(
        default_factory=dict, description="Least width of a box in a column, so that it leaves more than one value."
    )
    content: Content = Field(
        default=Content.BOUNDS, description="Whether boxes also have the means of their records, or intervals for them."
    )
    mean_rounding: Annotated[float, Field(strict=True, gt=0, le=100)] = Field(
        default=1.0, description="`rounded_means`: width of the interval of a sum, in widths of its box."
    )
    p: Annotated[float, Field(strict=True, gt=0, le=100)] = Field(
        default=10.0,
        description="Means are left out where the largest value could be told within this percentage.",
    )
    rare_records: RareRecords = Field(
        default=RareRecords.KEEP, description="What becomes of records that make the statistics wide."
    )
    dismiss_at_most: Annotated[float, Field(strict=True, ge=0, le=1)] = Field(
        default=0.05,
        description="Largest share of records, whatever they weigh, that are left out (`dismiss`, `weigh`), or not of "
        "the core (`mark`).",
    )
    objective: Objective = Field(
        default=Objective.WITH_SHIFT,
        description="`dismiss`, `weigh`: whether leaving records out, or giving them less weight, is weighed against "
        "how it shifts the statistics, or not (`paper`: then `dismiss_at_most` does not count either).",
    )
    confidence: float = Field(
        default=0.95, strict=True, gt=0, lt=1, description="Level of the statistical uncertainty."
    )
    partition: Partition = Field(default=Partition.OPTIMAL, description="`mondrian` is for comparison.")
    keep: tuple[ColumnName, ...] = Field(default=(), description="Columns published unchanged, beside the box.")
    count_keep: bool = Field(default=False, strict=True, description="Count k over box and kept columns together.")
    suppress_at_most: Annotated[float, Field(strict=True, ge=0, lt=1)] = Field(
        default=0.02,
        description="Largest share of records left out because their kept values are too rare (`count_keep`), and "
        "largest share left out because fewer than k have a value of a column whose codebook is taken from the data.",
    )
    survey_weight: ColumnName | None = Field(
        default=None, description="Design weights, above 0, that all statistics count records with."
    )
    weights: ReleasedWeights = Field(
        default=ReleasedWeights.BOX,
        description="`box`: rows carry an interval that holds the mean weight of their box; `row`: their own, which "
        "identifies like a kept column: it is put among `keep`, and k counts it with all of these (`count_keep`).",
    )
    missing: MissingValues = Field(
        default=MissingValues.REFUSE,
        description="Whether a missing value in `columns` is refused, its record left out, or missing in the release.",
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
        for name in ("columns", "keep", "sensitive"):
            check_different(field=name, names=getattr(self, name))
        _check_domains(self.domains)
        for name, values in self.ordinal.items():
            check_values("ordinal", values, name)
            if name in self.nominal:
                msg = f"{name!r} is either ordinal or nominal"
                raise MisplacedError(msg, "ordinal", name)
        return self

    @model_validator(mode="after")
    def _sensitive_columns(self) -> Self:
        asked = self.l is not None or self.t is not None or self.alpha is not None
        if self.sensitive and not asked:
            msg = "`sensitive` columns need `l`, `t` or `alpha`"
            raise MisplacedError(msg, "l")
        if self.epsilon and self.l is None:
            msg = "columns of `epsilon` need `l`"
            raise MisplacedError(msg, "l")
        if self.l is not None and not (self.epsilon or self.sensitive):
            msg = "`l` needs `sensitive` or `epsilon` columns that it counts"
            raise MisplacedError(msg, "l")
        for name in ("t", "alpha"):
            if getattr(self, name) is not None and not self.sensitive:
                msg = f"`{name}` needs `sensitive` columns that it is about"
                raise MisplacedError(msg, name)
        return self

    @model_validator(mode="after")
    def _content(self) -> Self:
        if self.content is Content.MEANS and self.k < _LEAST_K_OF_MEANS:
            msg = f"exact means need k of {_LEAST_K_OF_MEANS} or more: who knows the others has the last one's values"
            raise MisplacedError(msg, "k")
        return self


def _check_domains(domains: dict[str, BoxDomain]) -> None:
    """Raise an error when a domain is empty."""
    for column, (lo, hi) in domains.items():
        if not lo < hi:  # type: ignore[operator]  # both of one kind
            msg = f"the domain of {column!r} must be [lo, hi] with lo below hi"
            raise MisplacedError(msg, "domains", column)
