"""Audit `frontier`: boxes again and again, for what each k costs; which records are rare, and why."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, ValidationError, create_model, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import GuessedValues, ValueDisclosure
from app.contracts.datasets import NUMERIC, ColumnType, Profile
from app.contracts.examples import QUASI_IDENTIFIERS, Examples
from app.contracts.findings import AuditResult
from app.contracts.jobs import DatasetJobSpec, JobKind, ReleasingSpec
from app.contracts.statistics import ABOUT_VALUES, NamedStatistic, Statistic, StatisticBase, StatisticKind
from app.methods.boxes.spec import LEAST_K_OF_MEANS, BoxesSpec, BoxMeans

#: Statistics that have influences: functions of means and covariances.
OF_MOMENTS: Final = frozenset(StatisticKind) - frozenset(ABOUT_VALUES) - {StatisticKind.QUANTILE}

#: Rows of the dataset.
_Rows = Annotated[tuple[Annotated[int, Field(strict=True, ge=0)], ...], Field(min_length=1, max_length=1_000)]
MeasuredRows = TypeAliasType(
    "MeasuredRows",
    Annotated[_Rows | Literal["all"], Field(description="Rows of the dataset, counted from 0, or all of them.")],
)

#: A frontier takes the fields of `boxes` as they are, whatever is added to them.
_FIELDS: Final[dict[str, Any]] = {
    name: (field.annotation, field)
    for name, field in BoxesSpec.model_fields.items()
    if name not in ReleasingSpec.model_fields and name not in {"k", "base_release_id", "previous_release_id"}
}

_OfBoxes: Any = create_model("_OfBoxes", __base__=DatasetJobSpec, **_FIELDS)


class FrontierSpec(_OfBoxes):
    """Audit of the cost of each k: boxes for each k, nothing published."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    # 2: `records`, predictions among `statistics`; 3: `withheld`, `compare_means`; 4: `frequency_column`
    version: ClassVar[int] = 4
    examples: ClassVar[Examples] = {
        "what each k costs": {**QUASI_IDENTIFIERS, "k": [2, 3]},
        "for one mean, in public limits": {
            **QUASI_IDENTIFIERS,
            "k": [2, 4],
            "statistics": [{"kind": "mean", "of": ["income"]}],
            "domains": {"age": [0, 120]},
            "records": "all",
        },
    }

    method: Literal["frontier"] = Field(description="Name of the method: the cost of each k.")
    k: tuple[Annotated[int, Field(strict=True, ge=1, le=2**53)], ...] = Field(
        default=(2, 3, 5, 10, 20, 50, 100),
        min_length=1,
        max_length=20,
        description="Values of k to try. Each is a whole number of at least 1.",
    )
    records: MeasuredRows | None = Field(
        default=None,
        description="Rows of the dataset, counted from 0, or `all`, whose best half-widths, cost and density are "
        "measured in the numeric quasi-identifiers: which records are rare, and why. Null: of none.",
    )
    compare_means: bool = Field(
        default=True,
        strict=True,
        description="True if each `k` is also tried with rounded means, which takes longer.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for index, k in enumerate(self.k):
            try:
                self.at(k)
            except ValidationError as error:
                first = error.errors()[0]
                inner = first.get("ctx", {}).get("error")
                parts = inner.parts if isinstance(inner, MisplacedError) else first["loc"]
                detail = str(inner or "boxes do not take this")
                raise MisplacedError(detail, *(("k", index) if parts == ("k",) else parts)) from None
        return self

    def at(self, k: int) -> BoxesSpec:
        """The boxes with one k."""
        given = {name: getattr(self, name) for name in _FIELDS if name in self.model_fields_set}
        return BoxesSpec.model_validate(
            {**given, "method": "boxes", "dataset_id": self.dataset_id, "k": k, "formats": ("parquet",)}
        )

    def with_means(self, k: int) -> BoxesSpec | None:
        """The boxes with one k and rounded means; None where these are not compared, or not recommended."""
        if not self.compare_means or k < LEAST_K_OF_MEANS:
            return None
        return self.at(k).model_copy(update={"box_means": BoxMeans.ROUNDED})


def measured_columns(spec: BoxesSpec, profile: Profile) -> tuple[str, ...]:
    """The numeric quasi-identifiers that a statistic of moments is of, without those that are values."""
    types = {column.name: column.type for column in profile.columns}
    numbers = [
        name
        for name in spec.quasi_identifiers
        if types.get(name) in (*NUMERIC, ColumnType.DATE) and name not in spec.nominal
    ]
    of = {name for one in measured_statistics(spec, numbers) for name in one.of}
    return tuple(name for name in numbers if name in of)


def measured_statistics(spec: BoxesSpec, columns: Sequence[str]) -> tuple[Statistic, ...]:
    """The statistics of moments that are of some columns alone."""
    return tuple(
        one for one in spec.statistics or () if one.kind in OF_MOMENTS and all(name in columns for name in one.of)
    )


class RecordHalfWidths(Contract):
    """The best box about one record, and what makes it large."""

    row: int = Field(description="Row of the dataset, counted from 0.")
    cost: float = Field(
        description="Cost of each column of the box, in the natural scales of the statistics: half-width times "
        "influence (the papers' c)."
    )
    density: float | None = Field(
        description="Records per unit of volume of the columns in `half_widths`, at most those that share the record's "
        "values, each as wide as the step of its column. Null where it is too large for a number."
    )
    half_widths: dict[str, float] = Field(description="By column, half the side of the best box of k records.")
    rare_by_density: float = Field(
        description="Factor by which `cost` exceeds the median record's because few records are near."
    )
    rare_by_influence: float = Field(
        description="Factor by which it does because the record weighs on the statistics: `cost` is the median cost "
        "times both."
    )
    at_resolution: bool = Field(
        description="True if so many records are near that the box is as narrow as the values of the columns are "
        "apart: `cost` and `density` are then those of the record's values, each as wide as its step."
    )


class FrontierRecordCounts(Contract):
    """How many records were measured, without a figure of a single one."""

    k: int = Field(description="The k of their boxes: the first of the specification.")
    measured: int = Field(description="Records that have all of these columns, of those that were named.")


class FrontierRecords(FrontierRecordCounts):
    """Which records are rare, and why."""

    median_cost: float = Field(description="Median of `cost` over all records measured.")
    share_at_resolution: float = Field(
        description="Share of the records measured, from 0 to 1, whose box is as narrow as the values are apart."
    )
    listed: tuple[RecordHalfWidths, ...] = Field(description="The rarest of them, at most 1,000; the rarest first.")


class FrontierStatistic(NamedStatistic):
    """One statistic at one k."""

    width: float | None = Field(description="Of its guaranteed range (of a regression, of the widest coefficient's).")
    width_with_means: float | None = Field(
        default=None, description="Width of the range with rounded means inside boxes; null where `with_means` is."
    )
    base: StatisticBase | None = Field(
        default=None, description="Records that it counts; null where it has no answer, or the job is older than this."
    )
    n: int | None = Field(
        default=None,
        description="Number of records of it that would be released, each counted once. Null like `base`.",
    )


class FrontierMeans(Contract):
    """Value disclosure of the boxes of one k with rounded means."""

    value_disclosure: dict[str, ValueDisclosure] = Field(
        description="Rows whose value every reader would know, by column."
    )
    left_to_insider: dict[str, float | None] = Field(
        description="Share of a box that is left to who knows all its other records, by numeric column."
    )


class FrontierPoint(Contract):
    """Cost of one k in accuracy."""

    k: int = Field(description="As in the specification.")
    box_count: int | None = Field(description="Boxes; null where this k cannot be had.")
    released: int | None = Field(description="Records that would be released.")
    ncp: float | None = Field(description="Normalized certainty penalty: 0 nothing is lost, 1 all.")
    value_disclosure: dict[str, ValueDisclosure] | None = Field(
        description="Rows whose value every reader would know, by column."
    )
    guessed: dict[str, GuessedValues] | None = Field(
        default=None,
        description="By column, how often a best guess would be right; null where this k cannot be had, or the job is "
        "older than this field.",
    )
    with_means: FrontierMeans | None = Field(
        default=None,
        description="Boxes with rounded means; null where they are not compared, or `k` is below 4.",
    )
    statistics: tuple[FrontierStatistic, ...] = Field(description="As in the specification.")
    reason: str | None = Field(description="Why this k cannot be had; null: it can.")


class FrontierSummary(AuditResult):
    """Result of a `frontier` job without single records: those are in the whole result only, whose reads are logged."""

    method: Literal["frontier"] = Field(default="frontier", description="Method of the job that has this result.")
    points: tuple[FrontierPoint, ...] = Field(description="One for each k, in the order of the specification.")
    records: FrontierRecordCounts | None = Field(
        default=None,
        description="The records of `records`; null where none were named, or where these records give no density: "
        "fewer than three, or columns that no statistic depends on.",
    )
    meaning: dict[str, str] = Field(description="Meaning of each figure, one sentence each.")


class FrontierResult(FrontierSummary):
    """Result of a `frontier` job; restricted to its owner: nothing is published."""

    records: FrontierRecords | None = Field(
        default=None,
        description="The records of `records`, the rarest first; null where none were named, or where these records "
        "give no density: fewer than three, or columns that no statistic depends on.",
    )
