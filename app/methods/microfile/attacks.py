"""What attacks on a group's regions state, by rules and by classifiers; restricted, for it points to regions."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract


class SignalStanding(Contract):
    """What one signal of the profile of the rules states about the masked regions."""

    name: Literal[
        "members",
        "sum",
        "near",
        "near_ratio",
        "rules",
        "confident",
        "members_share",
        "rules_share",
        "confident_share",
        "outlier_count",
        "mean_rank",
        "best_rank",
        "worst_rank",
        "rank_spread",
        "top_count",
        "below_top",
        "rules_contrast",
        "confident_contrast",
        "grade_contrast",
        "number_contrast",
    ] = Field(
        description="Name of the signal. `members`: records with a grade of at least alpha. `sum`: the sum of their "
        "grades. `near`: records of them with a grade below the model's alpha. `near_ratio`: near / (members + 5). "
        "`rules`: records that fit at least `rules` rules. `confident`: records that fit one of the `rules` most "
        "confident rules. `..._share`: the same as a share of the region's records in range. `outlier_count`: signals "
        "in which the region is an outlier. The others are figures of its ranks in the nested sets: `mean_rank`, "
        "`best_rank`, `worst_rank`, `rank_spread`, `top_count` (ranks among the highest tenth), `below_top` (the mean "
        "where hardly any is among the two highest), and `..._contrast` (ranks by rules against members, confident "
        "rules against members, low against high grades, few against many rules)."
    )
    alpha: float = Field(description="The grade from which on it counts.")
    rules: int | None = Field(
        description="Least number of rules that a record fits, or how many of the most confident rules count; null: "
        "the signal goes by the best rule."
    )
    outliers: tuple[int, ...] = Field(description="Of the signal, high or low: indexes of regions.")
    detected: tuple[int, ...] = Field(description="Masked regions among the detected ones.")
    exposed: tuple[int, ...] = Field(
        description="Masked regions that are outliers of one of the group's own signals (`members`, `sum` and "
        "`members_share` at the model's alpha), which the attack looks at; where half of the values are equal, those "
        "above the second largest of the other regions. Empty of all other signals."
    )
    auc: float | None = Field(
        description="Probability that a masked region has the higher value than another one; null: there is none."
    )
    auc_deviation: float | None = Field(description="Its distance from 1/2, in standard deviations of chance.")
    highest: float | None = Field(description="Share of masked regions among as many of its highest values.")
    highest_deviation: float | None = Field(
        description="Its distance from chance, as a normal deviate of the same tail probability."
    )
    lowest: float | None = Field(description="Share of masked regions among as many of its lowest values.")
    lowest_deviation: float | None = Field(
        description="Its distance from chance, as a normal deviate of the same tail probability."
    )


class PrecisionAtRecall(Contract):
    """How many of those found are right, once a share of those who could be found is."""

    recall: float = Field(description="Share of the moved records that is found, from 0 to 1.")
    precision: float = Field(description="Share of those found that is right.")


class DrivingColumn(Contract):
    """A column that a classifier leans on."""

    column: str = Field(description="Name of the column.")
    auc_lost: float = Field(description="By how much the AUC falls when its values are permuted.")


class ClassifierScope(Contract):
    """What a classifier sees in some records: how many of the group it expects, region by region."""

    records: int = Field(description="Number of records that were scored.")
    signal: tuple[float, ...] = Field(description="Sum of the probabilities in each region.")
    outliers: tuple[int, ...] = Field(description="Of the signal: indexes of regions.")
    detected: tuple[int, ...] = Field(description="Masked regions among the detected ones.")
    ranks: tuple[float, ...] = Field(description="Of the masked regions, 1 the highest; in their order.")
    precision: float | None = Field(
        description="Share of masked regions among as many of the highest; null: none does."
    )


class MovedRecords(Contract):
    """Whether moved records can be distinguished from others that fit the rules, outside the masked regions."""

    records: int = Field(description="Records of the fuzzy group outside the masked regions.")
    moved: int = Field(description="Of these, moved there from a masked region.")
    auc: float | None = Field(description="Probability that a moved one has the higher score; null: none to compare.")
    precision_at_recall: tuple[PrecisionAtRecall, ...] = Field(description="Of telling who was moved.")


class ClassifierReport(Contract):
    """One classifier that was trained on the auxiliary data, on all columns that both files have."""

    name: Literal["naive_bayes", "gradient_boosting"] = Field(description="Which kind.")
    columns: tuple[str, ...] = Field(description="Columns that the classifier reads.")
    training_records: int = Field(description="Number of records that it was trained on.")
    training_members: int = Field(description="Number of these records that belong to the group.")
    auc: float | None = Field(description="Cross-validated on the auxiliary data: who is the group's.")
    precision_at_recall: tuple[PrecisionAtRecall, ...] = Field(description="Likewise, for the auxiliary population.")
    driving_columns: tuple[DrivingColumn, ...] = Field(description="What it leans on most.")
    all_records: ClassifierScope | None = Field(description="On all records that have a region.")
    out_of_range: ClassifierScope | None = Field(
        description="On those alone that rules never see, and swaps never move; null: there are none."
    )
    moved: MovedRecords | None = Field(description="Who was moved; null where that is not known, or none was.")
