"""What attacks on a group's places say, by rules and by classifiers; restricted, for it points to places."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract


class SignalStanding(Contract):
    """What one signal of the profile of the rules says of the places that matter."""

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
    ] = Field(
        description="Records with a grade of alpha at least; the sum of their grades; those of them below the model's "
        "alpha; as many to each member and five; records that fit so many rules at least; that fit one of so many most "
        "confident rules; three of these as shares of the place's records in range; and of how many of all these "
        "signals a place is an outlier."
    )
    alpha: float = Field(description="The grade from which on it counts.")
    rules: int | None = Field(
        description="Least number of rules that a record fits, or how many of the most confident rules count; null: "
        "the signal goes by the best rule."
    )
    outliers: tuple[int, ...] = Field(description="Of the signal, high or low, by place.")
    found: tuple[int, ...] = Field(description="Places that matter among them.")
    exposed: tuple[int, ...] = Field(
        description="Places that matter that are outliers of it, or have one of the highest ranks of a set of records; "
        "where half of the values are equal, those above the second largest of the other places."
    )
    auc: float | None = Field(
        description="Probability that a place that matters has the higher value than another one; null: there is none."
    )
    auc_deviation: float | None = Field(description="Its distance from 1/2, in standard deviations of chance.")
    highest: float | None = Field(description="Share of places that matter among as many of its highest values.")
    highest_deviation: float | None = Field(description="Its distance from chance, in standard deviations.")
    lowest: float | None = Field(description="Share of places that matter among as many of its lowest values.")
    lowest_deviation: float | None = Field(description="Its distance from chance, in standard deviations.")


class PrecisionAtRecall(Contract):
    """How many of those found are right, once a share of those who could be found is."""

    recall: float = Field(description="Share that is found.")
    precision: float = Field(description="Share of those found that is right.")


class DrivingColumn(Contract):
    """A column that a classifier leans on."""

    column: str = Field(description="The column.")
    auc_lost: float = Field(description="By how much the AUC falls when its values are permuted.")


class ClassifierScope(Contract):
    """What a classifier sees in some records: how many of the group it expects, place by place."""

    records: int = Field(description="Records that were scored.")
    signal: tuple[float, ...] = Field(description="Sum of the probabilities at each place.")
    outliers: tuple[int, ...] = Field(description="Of the signal, by place.")
    found: tuple[int, ...] = Field(description="Places that matter among them.")
    ranks: tuple[float, ...] = Field(description="Of the places that matter, 1 the highest; in the order of those.")
    precision: float | None = Field(
        description="Share of places that matter among as many of the highest; null: none does."
    )


class MovedRecords(Contract):
    """Whether records that were moved can be told from others that fit the rules, outside the masked places."""

    records: int = Field(description="Records of the fuzzy group outside the masked places.")
    moved: int = Field(description="Of these, moved there from a masked place.")
    auc: float | None = Field(description="Probability that a moved one has the higher score; null: none to compare.")
    precision_at_recall: tuple[PrecisionAtRecall, ...] = Field(description="Of telling who was moved.")


class ClassifierReport(Contract):
    """One classifier that was trained on the auxiliary data, on all columns that both files have."""

    name: Literal["naive_bayes", "gradient_boosting"] = Field(description="Which kind.")
    columns: tuple[str, ...] = Field(description="What it reads.")
    trained_on: int = Field(description="Sampled records.")
    of_the_group: int = Field(description="Of these, the group's.")
    auc: float | None = Field(description="Cross-validated on the auxiliary data: who is the group's.")
    precision_at_recall: tuple[PrecisionAtRecall, ...] = Field(description="Likewise, for the auxiliary population.")
    driving_columns: tuple[DrivingColumn, ...] = Field(description="What it leans on most.")
    all_records: ClassifierScope | None = Field(description="On all records that have a place.")
    out_of_range: ClassifierScope | None = Field(
        description="On those alone that rules never see, and swaps never move; null: there are none."
    )
    moved: MovedRecords | None = Field(description="Who was moved; null where that is not known, or nobody was.")
