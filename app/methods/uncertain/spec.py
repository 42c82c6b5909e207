"""Anonymization `uncertain`: every record published as a density that k records of the original fit, in expectation."""

from enum import StrEnum
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError, one_of
from app.contracts.columns import (
    LARGEST,
    ColumnName,
    Domain,
    MissingPolicy,
    SuppressedRecords,
    check_different,
    check_domains,
)
from app.contracts.examples import QUASI_IDENTIFIERS, Examples
from app.contracts.findings import ProtectionResult
from app.contracts.jobs import JobKind, ReleasingSpec
from app.contracts.statistics import StatisticBase

NotNegative = Annotated[float, Field(strict=True, ge=0, le=LARGEST)]
MinScale = TypeAliasType(
    "MinScale",
    Annotated[
        NotNegative | dict[ColumnName, NotNegative],
        Field(description="Least scale, in the columns' own units: one for all columns, or for each."),
    ],
)


class DensityFamily(StrEnum):
    """Families of densities of uncertain records.

    `gaussian`: normal noise. `uniform`: noise from an interval.
    """

    GAUSSIAN = "gaussian"
    UNIFORM = "uniform"


class ScaleSharing(StrEnum):
    """Records that share a scale of noise. A scale of its own identifies a record to an adversary with the original.

    `levels`: records of like density, on the same rung of a fixed ladder, among which k are counted. `common`: all
    records. `shared`: cells of records. `per_record`: each has its own, the smallest.
    """

    COMMON = "common"
    LEVELS = "levels"
    SHARED = "shared"
    PER_RECORD = "per_record"


class DensityAxes(StrEnum):
    """Axes of the densities of uncertain records.

    `global`: the columns in their own units. `local`: scaled by the neighbours of the record. `rotated`: the
    main axes of the neighbours.
    """

    GLOBAL = "global"
    LOCAL = "local"
    ROTATED = "rotated"


#: Share of rare records that is left out where nothing else is requested.
DISMISS = 0.01
#: Kind of the entry among the public statistics that gives a column's unit in scaled space.
SCALING_UNIT = "scaling_unit"
_ESTIMATED = ("mean", "variance", "covariance", "correlation", SCALING_UNIT)
#: Least number of records in a cell of `shared`, in units of k.
CELL = 8


class UncertainSpec(ReleasingSpec):
    """Uncertain k-anonymity: noise just large enough that k records fit, published with its size."""

    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION
    examples: ClassVar[Examples] = {
        "noise of one size for all": {
            **QUASI_IDENTIFIERS,
            "k": 5,
            "scales": "common",
        },
        "uniform noise, fitted to cells of the data": {
            **QUASI_IDENTIFIERS,
            "k": 5,
            "density": "uniform",
            "scales": "shared",
            "min_scale": {"income": 100.0},
            "accept_findings": ["composition"],
        },
    }

    method: Literal["uncertain"] = Field(description="Uncertain k-anonymity: noise, published with its size.")
    quasi_identifiers: tuple[ColumnName, ...] = Field(
        min_length=1, description="Names of the numeric quasi-identifiers, to which noise is added."
    )
    k: Annotated[float, Field(strict=True, ge=1, le=2**53, allow_inf_nan=False)] | None = Field(
        default=None, description="Expected number of records that fit a released one; may be fractional."
    )
    k_column: ColumnName | None = Field(
        default=None, description="A numeric column with the k of each record; it wins over `k`."
    )
    density: DensityFamily = Field(default=DensityFamily.GAUSSIAN, description="`uniform`: a cube instead of a bell.")
    scales: ScaleSharing = ScaleSharing.LEVELS
    suppress_share: Annotated[float, Field(strict=True, ge=0, lt=1)] | None = Field(
        default=None,
        description="Share of rare records left out; default 0.01 with `common` and `shared`, none with `levels`; "
        "not with `per_record`.",
    )
    cell_size: Annotated[int, Field(strict=True, ge=1, le=2**53)] | None = Field(
        default=None, description="Least number of records that share a scale under `shared`; default 8 k."
    )
    axes: DensityAxes = Field(
        default=DensityAxes.GLOBAL, description="`local` and `rotated` not with `common` and `levels`."
    )
    min_scale: MinScale = Field(
        default=0.0, description="Least scale, in the columns' own units: one for all columns, or for each."
    )
    domains: dict[ColumnName, Domain] = Field(
        default_factory=dict, description="Public limits of columns; counts are conditioned on them."
    )
    keep: tuple[ColumnName, ...] = Field(default=(), description="Columns published unchanged, besides the noisy ones.")
    missing_policy: MissingPolicy = Field(
        default=MissingPolicy.REFUSE, description="Whether a missing value in `quasi_identifiers` is refused."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.k is None and self.k_column is None:
            msg = "`k` or `k_column` is needed"
            raise MisplacedError(msg, "k")
        check_different(field="quasi_identifiers", names=self.quasi_identifiers)
        check_different(field="keep", names=self.keep)
        check_domains(self.domains)
        return self


class Anonymity(Contract):
    """Expected number of records that fit a released one at least as well as its own: over the released records."""

    min: float = Field(description="Least value over all records.")
    mean: float = Field(description="Mean value over all records.")
    max: float = Field(description="Greatest value over all records.")
    evaluated: int = Field(description="Records it was computed for: all, or of very many a sample.")


class UncertainResult(ProtectionResult):
    """Result of an `uncertain` job."""

    method: Literal["uncertain"] = Field(default="uncertain", description="Method of the job that has this result.")
    records: int = Field(description="Number of records of the dataset.")
    released: int = Field(description="Number of rows of the release.")
    suppressed: SuppressedRecords = Field(description="Records that are not released, by reason.")
    k: float | None = Field(description="Of the specification; null where each record has its own.")
    density: DensityFamily = Field(description="As in the specification.")
    scales: ScaleSharing = Field(description="As in the specification.")
    axes: DensityAxes = Field(description="As in the specification.")
    expected_anonymity: Anonymity = Field(description="Never above the true one; `min` holds for every record.")
    certified_error: float = Field(description="Most by which the true expected anonymity exceeds it.")
    zero_scale_records: int = Field(description="Records published as they are.")
    mean_scale: dict[str, float] = Field(description="By column, over the released records.")
    cell_count: int | None = Field(description="Sets of records that share a scale; null where none do.")
    expected_anonymity_with_kept: Anonymity | None = Field(
        default=None, description="Counted among records that agree in the kept columns; null where none is kept."
    )
    release_number: int = Field(description="1: the first release of these data; 2: the second, and so on.")
    expected_anonymity_of_all_releases: Anonymity | None = Field(
        default=None,
        description="At least so many fit all releases together, had all the same scales; null at the first.",
    )


class EstimatedStatistic(Contract):
    """A statistic of the original, estimated from the published data alone."""

    kind: Annotated[str, one_of(_ESTIMATED)] = Field(
        description="Which statistic; `scaling_unit`: a column's unit in scaled space."
    )
    of: tuple[str, ...] = Field(description="Columns of the statistic.")
    estimate: float | None = Field(description="Unbiased; null where it is undefined.")
    standard_error: float | None = Field(description="Of the noise: how far the released records' own value may be.")
    base: StatisticBase | None = Field(
        default=None, description="Records that the statistic counts: `records`, each of the released ones once."
    )
    n: int | None = Field(default=None, description="Number of released records that the statistic is about.")
