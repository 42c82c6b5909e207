"""Result of a `boxes` job."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract
from app.contracts.columns import SuppressedRecords
from app.contracts.statistics import RestrictedStatistic


class PendingChanges(Contract):
    """What a new version does not show yet: too few records have changed."""

    boxes: int = Field(description="Boxes whose changes wait.")
    records_in_no_box: int = Field(description="Records that are in no box and wait, fewer than k.")


class Uncertainty(Contract):
    """How far the statistics may be off, each divided by its natural scale and weighted."""

    privacy: float = Field(description="Because values are hidden in boxes: half of what their widths leave open.")
    statistical: float = Field(description="Because the records are a sample, at the level `confidence`.")
    asymptotic: float | None = Field(
        description="What `privacy` would be with boxes of the best shape: a guide, no bound; null: not computed."
    )


class BoxesResult(Contract):
    """Result of a `boxes` job."""

    method: Literal["boxes"] = Field(default="boxes", description="The job's method.")
    records: int = Field(description="Of the dataset.")
    released: int = Field(description="Records that are released.")
    suppressed: SuppressedRecords = Field(description="Records that are not released, by reason.")
    suppressed_cells: int = Field(
        default=0, description="Values published as missing so that records find others like them."
    )
    pending: PendingChanges | None = Field(
        default=None, description="Of a new version: what waits for a later one; else null."
    )
    box_count: int = Field(description="Boxes that are released.")
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
        description="Of columns with two ends: width of a row's box, on average (ordinal ones: in ranks)."
    )
    share_single_value: dict[str, float] = Field(description="Share of rows, by column, whose box leaves one value.")
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
    t_closeness: dict[str, float] = Field(
        default_factory=dict,
        description="Largest distance, by sensitive column, of the values in a box from those in all boxes.",
    )
    statistics: tuple[RestrictedStatistic, ...] = Field(
        description="In the order of the specification; one without `values` has one for each value."
    )
