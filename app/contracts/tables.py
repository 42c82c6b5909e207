"""Audit `table`: what the measures of the field say of a table, whoever anonymized it."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import ColumnName, Share, check_different
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec

Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
MOST_QUASI_IDENTIFIERS: Final = 60


class MissingCells(StrEnum):
    """What a missing value of a quasi-identifier is to an adversary."""

    OWN_VALUE = "own_value"
    MATCHES_ANYTHING = "matches_anything"
    DROP_RECORDS = "drop_records"


class RecursiveDemand(Contract):
    """Recursive (c, l)-diversity: r_1 < c (r_l + r_{l+1} + ...)."""

    c: float = Field(strict=True, gt=0, allow_inf_nan=False, description="c.")
    l: int = Field(strict=True, ge=1, description="l.")  # noqa: E741 - the field's own name


class SumsAudit(Contract):
    """A table of sums that is to be published: which of its cells a contributor could see through."""

    of: ColumnName = Field(description="The magnitude that is summed.")
    by: tuple[ColumnName, ...] = Field(min_length=1, max_length=10, description="Columns that make the cells.")
    p: float = Field(
        default=10.0,
        strict=True,
        gt=0,
        le=100,
        description="The p %-rule: nobody's contribution may be estimated within p %.",
    )
    n: int = Field(default=1, strict=True, ge=1, le=10, description="Dominance: the n largest contributors ...")
    percent: float = Field(default=75.0, strict=True, gt=0, le=100, description="... give at most so much of a cell.")


class TableDemands(Contract):
    """What is required of a table; what is not named is not looked at."""

    k: int | None = Field(default=None, strict=True, ge=1, description="Least records (persons, with `person`).")
    l: int | None = Field(default=None, strict=True, ge=1, description="Least distinct values.")  # noqa: E741
    entropy_l: Annotated[float, Field(strict=True, ge=1)] | None = Field(default=None, description="Entropy l.")
    recursive: RecursiveDemand | None = Field(default=None, description="Recursive (c, l)-diversity.")
    alpha: Share | None = Field(default=None, description="Largest share of one sensitive value in a class.")
    t: Amount | None = Field(default=None, description="Largest distance of a class to the table.")
    delta: Amount | None = Field(default=None, description="Delta-disclosure.")
    beta: Amount | None = Field(default=None, description="Basic beta-likeness.")
    enhanced_beta: Amount | None = Field(default=None, description="Enhanced beta-likeness.")
    unique: int | None = Field(default=None, strict=True, ge=0, description="Most records that are alone.")
    sample_uniques: Share | None = Field(
        default=None, description="Largest share of records that some three columns single out."
    )
    dis_suda: Share | None = Field(default=None, description="Largest risk of a record by its special uniques.")
    prosecutor: Share | None = Field(default=None, description="Largest risk of a record.")
    journalist: Share | None = Field(default=None, description="Largest risk of a record, in the population.")
    marketer: Share | None = Field(default=None, description="Largest expected share of records that are matched.")
    population_k: Amount | None = Field(default=None, description="Least persons of the population in a class.")
    population_uniques: Amount | None = Field(default=None, description="Most persons alone in the population.")
    region_population: Amount | None = Field(default=None, description="Least persons of the population in a region.")
    share_certain: Share | None = Field(
        default=None, description="Largest share of records whose class tells a sensitive value."
    )
    sensitive_cells: int | None = Field(default=None, strict=True, ge=0, description="Most cells of `sums` that fail.")


#: Demands that need another field of the specification.
NEEDED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("l", "entropy_l", "recursive", "alpha", "t", "delta", "beta", "enhanced_beta", "share_certain"), ("sensitive",)
    ),
    **dict.fromkeys(("population_k", "population_uniques"), ("sampling_fraction", "weight")),
    "region_population": ("region",),
    "sensitive_cells": ("sums",),
    "dis_suda": ("sampling_fraction", "weight"),
}


class TableSpec(JobSpec):
    """The measures of the field on a dataset or a release."""

    kind: ClassVar[JobKind] = JobKind.AUDIT

    method: Literal["table"] = Field(description="The measures of the field on one table.")
    dataset_id: DatasetId | None = Field(default=None, description="A table as it was uploaded, anonymized or not.")
    release_id: ReleaseId | None = Field(default=None, description="A release; one of the two.")
    quasi_identifiers: tuple[ColumnName, ...] = Field(
        min_length=1,
        max_length=MOST_QUASI_IDENTIFIERS,
        description="What an adversary may know. `age` also stands for `age_lo` and `age_hi`, or for `age_set`.",
    )
    sensitive: tuple[ColumnName, ...] = Field(
        default=(), max_length=50, description="What must not be learned of a person."
    )
    missing: MissingCells = Field(
        default=MissingCells.OWN_VALUE,
        description="What a missing quasi-identifier is to an adversary: a value as others, possibly any value, or a "
        "reason to leave the record out.",
    )
    sampling_fraction: Annotated[float, Field(strict=True, gt=0, le=1)] | None = Field(
        default=None, description="Share of the population that the table holds."
    )
    person: ColumnName | None = Field(
        default=None, description="Column that says whose record it is (or of which household); k counts these."
    )
    weight: ColumnName | None = Field(default=None, description="Persons of the population a record stands for.")
    region: tuple[ColumnName, ...] = Field(
        default=(), max_length=10, description="Columns that make regions, whose population is looked at."
    )
    sums: tuple[SumsAudit, ...] = Field(
        default=(), max_length=20, description="Tables of sums that are to be published."
    )
    threshold: float = Field(default=0.2, strict=True, gt=0, lt=1, description="Risk above which records are counted.")
    require: TableDemands | None = Field(default=None, description="Demands; each is answered in `passed`.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.dataset_id is None) == (self.release_id is None):
            msg = "one of `dataset_id` and `release_id` says what is audited"
            raise MisplacedError(msg, "dataset_id")
        check_different(field="quasi_identifiers", names=self.quasi_identifiers)
        check_different(field="sensitive", names=self.sensitive)
        for demand in self.demanded:
            needed = NEEDED.get(demand, ())
            if needed and not any(getattr(self, name) for name in needed):
                msg = f"this demand needs {' or '.join(f'`{name}`' for name in needed)}"
                raise MisplacedError(msg, "require", demand)
        return self

    @property
    def demanded(self) -> tuple[str, ...]:
        """The names of what is required."""
        if self.require is None:
            return ()
        return tuple(name for name in TableDemands.model_fields if getattr(self.require, name) is not None)
