"""Result of a `boxes` job."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract
from app.contracts.box_statistics import RestrictedStatistic


class BoxesResult(Contract):
    """Result of a `boxes` job."""

    method: Literal["boxes"] = Field(default="boxes", description="The job's method.")
    records: int = Field(description="Of the dataset.")
    kept: int = Field(description="Records that are released.")
    dismissed: int = Field(description="Rare records left out.")
    dropped: int = Field(description="Records left out for a missing value.")
    suppressed: int = Field(
        default=0,
        description="Records left out because their kept values, or what they lack, are too rare for a box, "
        "or a value of theirs for a codebook from the data.",
    )
    blanked: int = Field(default=0, description="Values published as missing so that records find others like them.")
    waiting: int | None = Field(
        default=None, description="Of a new version: boxes whose changes wait, for too few changed; else null."
    )
    outside: int | None = Field(
        default=None, description="Of a new version: records that lie in no box and wait, fewer than k; else null."
    )
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
    mean_width: dict[str, float] = Field(
        description="Of columns with two ends: width of a row's box, on average (ordinal ones: in ranks)."
    )
    share_determined: dict[str, float] = Field(description="Share of rows, by column, whose box leaves one value.")
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
    t: dict[str, float] = Field(
        default_factory=dict,
        description="Largest distance, by sensitive column, of the values in a box from those in all boxes.",
    )
    statistics: tuple[RestrictedStatistic, ...] = Field(
        description="As asked, in that order; one without `values` has one for each value."
    )
