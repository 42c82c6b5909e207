"""Audit `table`: what the measures of the field state about a table, whoever anonymized it."""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import ColumnName, check_different
from app.contracts.examples import DATASET, Examples
from app.contracts.gate import Amount, MissingMatches, TableDemands, unmet_needs
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec

MOST_QUASI_IDENTIFIERS: Final = 60


#: Most people that a table can be a sample of.
MOST_PEOPLE: Final = 2**53


class DominanceRule(Contract):
    """The rule of dominance: the largest contributors may not make up most of a cell."""

    n: int = Field(default=1, strict=True, ge=1, le=10, description="How many of the largest contributors.")
    percent: float = Field(
        default=75.0,
        strict=True,
        gt=0,
        le=100,
        description="Largest share of a cell that they may make up, in percent.",
    )


class SumsAudit(Contract):
    """A table of sums for publication, with the cells that a contributor could see through."""

    of: ColumnName = Field(description="The magnitude that is summed.")
    by: tuple[ColumnName, ...] = Field(min_length=1, max_length=10, description="Columns that make the cells.")
    p_percent: float = Field(
        default=10.0,
        strict=True,
        gt=0,
        le=100,
        description="The p %-rule: no contribution may be estimated within p %.",
    )
    dominance: DominanceRule = Field(default_factory=DominanceRule, description="Dominance rule that was applied.")


NOT_NAMED: Final = "demands are checked on quasi-identifiers that you name: without them some are only proposed"


class TableSpec(JobSpec):
    """The measures of the field on a dataset or a release."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    version: ClassVar[int] = 2  # 2: `frequency_column`
    examples: ClassVar[Examples] = {
        "the demands on a table that others anonymized": {
            "dataset_id": DATASET,
            "quasi_identifiers": ["region", "age", "sex"],
            "sensitive": ["job"],
            "require": {"k": 5, "l": 2, "t": 0.3},
        },
        "a sample, and sums by region for publication": {
            "dataset_id": DATASET,
            "quasi_identifiers": ["region", "age"],
            "missing_matches": "matches_anything",
            "sampling_fraction": 0.01,
            "sums": [{"of": "income", "by": ["region"]}],
        },
    }

    method: Literal["table"] = Field(description="The measures of the field on one table.")
    dataset_id: DatasetId | None = Field(default=None, description="A table as it was uploaded, anonymized or not.")
    release_id: ReleaseId | None = Field(default=None, description="A release; one of the two.")
    quasi_identifiers: tuple[ColumnName, ...] = Field(
        default=(),
        max_length=MOST_QUASI_IDENTIFIERS,
        description="What an attacker may know; left out: those that a release was made by, else some are proposed. "
        "`age` also covers the pair `age_lo`, `age_hi` and the set `age_set`.",
    )
    sensitive: tuple[ColumnName, ...] = Field(
        default=(),
        max_length=50,
        description="Names of the sensitive columns, which must not be learned about a person.",
    )
    missing_matches: MissingMatches = MissingMatches.OWN_VALUE
    sampling_fraction: Annotated[float, Field(strict=True, gt=0, le=1)] | None = Field(
        default=None, description="Share of the population that is in the table, above 0 and at most 1."
    )
    person_column: ColumnName | None = Field(
        default=None, description="Column that states whose record it is (or of which household); k counts these."
    )
    frequency_column: ColumnName | None = Field(
        default=None,
        description="Number of persons that a row of the dataset represents, alike in all other columns: a whole "
        "number of at least 1. The audit is that of the table with a row for each person and without this column.",
    )
    frequencies_are_exact: bool = Field(
        default=False,
        strict=True,
        description="True to confirm that the counts of `frequency_column` were neither rounded nor suppressed, where "
        "none is 1. Needs `jobs:read`.",
    )
    survey_weight_column: ColumnName | None = Field(
        default=None, description="Number of persons of the population that a record represents."
    )
    region_columns: tuple[ColumnName, ...] = Field(
        default=(), max_length=10, description="Columns that make regions, whose population is looked at."
    )
    sums: tuple[SumsAudit, ...] = Field(default=(), max_length=20, description="Tables of sums for publication.")
    tolerances: dict[ColumnName, Amount] = Field(
        default_factory=dict,
        description="By quasi-identifier, the accuracy from which on a value counts as known (`value_disclosure`); "
        "default: a tenth of the column's natural scale.",
    )
    microaggregated: tuple[ColumnName, ...] = Field(
        default=(),
        max_length=MOST_QUASI_IDENTIFIERS,
        description="Quasi-identifiers whose cells are means or medians of several records, as microaggregation writes "
        "them: nobody knows a value for certain from one.",
    )
    threshold: float = Field(default=0.2, strict=True, gt=0, lt=1, description="Risk above which records are counted.")
    require: TableDemands | None = Field(default=None, description="Demands; each is answered in `demands`.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.dataset_id is None) == (self.release_id is None):
            msg = "one of `dataset_id` and `release_id` states the audited data"
            raise MisplacedError(msg, "dataset_id")
        check_different(field="quasi_identifiers", names=self.quasi_identifiers)
        check_different(field="sensitive", names=self.sensitive)
        check_different(field="microaggregated", names=self.microaggregated)
        if self.demanded and not self.quasi_identifiers and self.release_id is None:
            raise MisplacedError(NOT_NAMED, "require")
        unmet_needs(self.require, self)
        return self

    @property
    def demanded(self) -> tuple[str, ...]:
        """The names of the requirements."""
        if self.require is None:
            return ()
        return tuple(name for name in TableDemands.model_fields if getattr(self.require, name) is not None)
