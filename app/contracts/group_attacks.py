"""What attacks on a group's places say, by rules and by classifiers; restricted, for it points to places."""

from typing import Literal

from pydantic import Field

from app.contracts.base import Contract


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
