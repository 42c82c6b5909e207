"""Anonymization `condensation`: groups of k similar records, published as made-up records with the group's moments."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from app.contracts.columns import ColumnName, Domain, MissingPolicy, SuppressedRecords, check_different
from app.contracts.examples import QUASI_IDENTIFIERS, Examples
from app.contracts.findings import ProtectionResult
from app.contracts.jobs import JobKind, ReleasingSpec


class CondensationSpec(ReleasingSpec):
    """Condensation (Aggarwal and Yu 2004): pseudo-records drawn with the mean and covariance of groups."""

    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION
    examples: ClassVar[Examples] = {
        "pseudo-records": {**QUASI_IDENTIFIERS, "k": 20},
        "with a column as it is": {
            **QUASI_IDENTIFIERS,
            "k": 20,
            "keep": ["way"],
            "tags": {"purpose": "teaching"},
        },
    }

    method: Literal["condensation"] = Field(description="Groups of k records, published as made-up records.")
    quasi_identifiers: tuple[ColumnName, ...] = Field(
        min_length=1, description="Names of the numeric quasi-identifiers, which are published condensed."
    )
    k: Annotated[int, Field(strict=True, ge=1, le=2**53)] = Field(description="Least number of records in a group.")
    keep: tuple[ColumnName, ...] = Field(
        default=(), description="Columns published unchanged, each row with the values of a record of its group."
    )
    missing_policy: MissingPolicy = Field(
        default=MissingPolicy.REFUSE, description="Whether a missing value in `quasi_identifiers` is refused."
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="quasi_identifiers", names=self.quasi_identifiers)
        check_different(field="keep", names=self.keep)
        return self

    @property
    def domains(self) -> dict[str, Domain]:
        """Condensed records know no limits."""
        return {}


class CondensationResult(ProtectionResult):
    """Result of a `condensation` job."""

    method: Literal["condensation"] = Field(
        default="condensation", description="Method of the job that has this result."
    )
    records: int = Field(description="Number of records of the dataset.")
    released: int = Field(description="Number of rows of the release.")
    suppressed: SuppressedRecords = Field(description="Records that are not released, by reason.")
    group_count: int = Field(description="Number of groups that were condensed.")
    smallest_group: int = Field(description="Records in the smallest one.")
    largest_group: int = Field(description="Records in the largest one.")
