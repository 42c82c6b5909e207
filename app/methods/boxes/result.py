"""Result of a `boxes` job, and what its release states about statistics."""

from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, Field

from app.contracts.base import Contract, may_lack
from app.contracts.columns import ColumnValue, GuessedValues, SuppressedRecords, ValueDisclosure
from app.contracts.findings import ProtectionResult
from app.contracts.statistics import AboutRange, EstimatedValue, NamedStatistic, StatisticRanges


class CoreStatistic(AboutRange):
    """What a release with marked boxes states about a statistic over the records of its core."""

    model_config = ConfigDict(
        json_schema_extra=may_lack("domain_may_be_empty", "value_known", "reason", "labels", "base", "n")
    )

    estimate: EstimatedValue | None = Field(description="Its value by the boxes; null where it is undefined.")
    first_order: StatisticRanges | None = Field(description="Range by the linear approximation.")
    guaranteed: StatisticRanges | None = Field(description="Certain to contain the value over the core's records.")
    attained: StatisticRanges | None = Field(description="Reached by data consistent with the core's boxes.")
    domain_may_be_empty: bool | None = Field(
        default=None,
        description="domain_mean: whether the core may have no record with the values, as far as the "
        "boxes show: the ranges are then about the mean if there is one, and null where no box can have such a record. "
        "Null of other statistics, and where the release is older than this field.",
    )


class BoxStatistic(AboutRange, NamedStatistic):
    """One statistic of a box release: its estimate and its ranges (lists for a regression, intercept first)."""

    model_config = ConfigDict(
        json_schema_extra=may_lack(
            "domain_may_be_empty", "value_known", "reason", "labels", "base", "n", "interval", "at", "called"
        )
    )

    weight: float = Field(
        description="How much it mattered: as given, or 1 over its natural scale; 0 of kept columns and of intervals, "
        "which are answered from the boxes once they are there."
    )
    ddof: int | None = Field(
        default=None, description="Its divisor is N - ddof, N the release's rows; null where that changes nothing."
    )
    estimate: EstimatedValue | None = Field(description="Its value by the boxes; null where it is undefined.")
    first_order: StatisticRanges | None = Field(description="Range by the linear approximation.")
    guaranteed: StatisticRanges | None = Field(description="Certain to contain the kept records' value.")
    attained: StatisticRanges | None = Field(description="Reached by data consistent with the boxes.")
    domain_may_be_empty: bool | None = Field(
        default=None,
        description="domain_mean: whether the release may have no record with the values, as far as the "
        "boxes show: the ranges are then about the mean if there is one, and null where no box can have such a record. "
        "Null of other statistics, and where the release is older than this field.",
    )
    core: CoreStatistic | None = Field(
        default=None, description="The same about the core alone, where boxes are marked; else null."
    )


class RestrictedStatistic(BoxStatistic):
    """What only the job's owner sees too; null of statistics that are answered from the release alone."""

    true_value: EstimatedValue | None = Field(description="True value over the released records.")
    true_label: ColumnValue | None = Field(
        default=None, description="quantile of an ordinal column whose values are no numbers: the value at this rank."
    )
    shift: EstimatedValue | None = Field(description="All records' value less the kept records'.")
    delta_at_records: EstimatedValue | None = Field(
        default=None, description="Linear half-width with influences at the true records."
    )


class PendingChanges(Contract):
    """What a new version does not show yet: too few records have changed."""

    boxes: int = Field(description="Number of boxes whose changes are not shown yet.")
    records_in_no_box: int = Field(description="Records that are in no box and wait, fewer than k.")


class WidthSource(StrEnum):
    """Origins of a least width.

    `named`: by `min_width`. `scale`: a quarter of the column's natural scale. `family`: an earlier release of the same
    data, which had it, or none.
    """

    NAMED = "named"
    SCALE = "scale"
    FAMILY = "family"


class WidthExemption(StrEnum):
    """Reasons why no least width is demanded of a column that has none named.

    `few_values`: it has fewer than 8 values. `one_value`: its values are all the same, or all but few. `settings`:
    `rare_records: weigh` or `objective: paper` cannot have it with these bounds or means. `family`: an earlier release
    of the same data had none. `not_demanded`: `least_widths` is `none`.
    """

    FEW_VALUES = "few_values"
    ONE_VALUE = "one_value"
    SETTINGS = "settings"
    FAMILY = "family"
    NOT_DEMANDED = "not_demanded"


class LeastWidth(Contract):
    """Least width of the boxes in one column, as it was demanded and as it is."""

    width: float = Field(description="Width that every box has at least, in the column's units; 0: none.")
    demanded: float = Field(description="Width demanded at first; `width` is less where no two boxes had it.")
    source: WidthSource | None = Field(description="Origin of the width demanded; null: none was.")
    exempt: WidthExemption | None = Field(description="Reason why none was demanded; null: one was.")
    spike: ColumnValue | None = Field(
        description="Value that all records of a box may have, whatever its width: more than half of all have it; "
        "null: none."
    )
    spike_share: float | None = Field(
        description="Share of the rows in boxes all of whose records have this value; null where that is not known."
    )


class Uncertainty(Contract):
    """How far the statistics may be off, each divided by its natural scale and weighted."""

    privacy: float = Field(description="Because values are hidden in boxes: half of what their widths leave open.")
    statistical: float = Field(description="Because the records are a sample, at the level `confidence`.")
    asymptotic: float | None = Field(
        description="What `privacy` would be with boxes of the best shape: a guide, no bound; null: not computed."
    )


class BoxesResult(ProtectionResult):
    """Result of a `boxes` job."""

    method: Literal["boxes"] = Field(default="boxes", description="Method of the job that has this result.")
    records: int = Field(description="Number of records of the dataset.")
    released: int = Field(description="Number of records that are released.")
    suppressed: SuppressedRecords = Field(description="Records that are not released, by reason.")
    suppressed_cells: int = Field(
        default=0, description="Values published as missing so that records find others like them."
    )
    pending: PendingChanges | None = Field(
        default=None, description="Of a new version: what waits for a later one; else null."
    )
    box_count: int = Field(description="Number of boxes that are released.")
    smallest_box: int = Field(description="Records in the smallest one.")
    largest_box: int = Field(description="Records in the largest one.")
    k_with_kept: int = Field(description="Least number of rows that agree in box and kept columns.")
    uncertainty: Uncertainty | None = Field(
        description="How far the statistics may be off, summed by their weights; null where it cannot be computed."
    )
    weight_cutoff: float | None = Field(
        default=None,
        description="Cost above which a box has no weight (the papers' lambda); null: there is none.",
    )
    mean_width: dict[str, float] = Field(
        description="Of columns with two ends: width of a row's box, on average (of ordinal ones whose values are no "
        "numbers: in ranks)."
    )
    value_disclosure: dict[str, ValueDisclosure] = Field(
        description="Values that the release gives away, by column of the boxes; kept columns stand as they are."
    )
    least_widths: dict[str, LeastWidth] = Field(
        default_factory=dict,
        description="By column of numbers, days and ordered values: the least width of its boxes, and its origin.",
    )
    guessed: dict[str, GuessedValues] | None = Field(
        default=None,
        description="How often a best guess of the released rows' values is right, by column; null of later releases "
        "of a series and of new versions, and where the job is older than this field.",
    )
    ncp: dict[str, float] = Field(
        description="Normalized certainty penalty, by column: width over the column's range, or share of the codebook "
        "that the box leaves, 0 where that is one value; on average over rows."
    )
    share_certain: dict[str, float] = Field(
        default_factory=dict, description="Share of rows, by sensitive column, whose box has one value."
    )
    share_nearly_certain: dict[str, float] = Field(
        default_factory=dict, description="Share of rows, by sensitive column, whose box has one value in 9 of 10 rows."
    )
    largest_share: dict[str, float] = Field(
        default_factory=dict,
        description="Largest share, by sensitive column, that one value has of the records of a box that have one: how "
        "often a guess can be right. A certificate has it of published columns.",
    )
    share_above_60_percent: dict[str, float] = Field(
        default_factory=dict,
        description="Share of rows, by sensitive column, in boxes where one value has more than 60 % of the records "
        "that have one. A certificate has it of published columns.",
    )
    t_closeness: dict[str, float] = Field(
        default_factory=dict,
        description="Largest distance, by sensitive column, of the values in a box from those in all boxes.",
    )
    statistics: tuple[RestrictedStatistic, ...] = Field(
        description="In the order of the specification; one without `values` has one for each value."
    )
