"""What audits may be required to find, by whoever asks them or as the gate of a release."""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import ColumnName, Share, check_different

Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class MissingMatches(StrEnum):
    """Meanings of a missing quasi-identifier to an adversary.

    `own_value`: a value like others. `matches_anything`: possibly any value. `drop_records`: such records are
    not counted.
    """

    OWN_VALUE = "own_value"
    MATCHES_ANYTHING = "matches_anything"
    DROP_RECORDS = "drop_records"


class RecursiveDemand(Contract):
    """Recursive (c, l)-diversity: r_1 < c (r_l + r_{l+1} + ...)."""

    c: float = Field(
        strict=True, gt=0, allow_inf_nan=False, description="Factor c of recursive (c, l)-diversity, above 0."
    )
    l: int = Field(strict=True, ge=1, description="Parameter l of recursive (c, l)-diversity, at least 1.")  # noqa: E741 - the field's own name


class TableDemands(Contract):
    """The requirements on a table; unnamed measures are not examined."""

    k: int | None = Field(default=None, strict=True, ge=1, description="Least records (persons, with `person_column`).")
    l: int | None = Field(default=None, strict=True, ge=1, description="Least number of distinct values per class.")  # noqa: E741
    entropy_l: Annotated[float, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Least entropy l-diversity of each sensitive column."
    )
    recursive: RecursiveDemand | None = Field(
        default=None, description="Recursive (c, l)-diversity of each sensitive column."
    )
    alpha: Share | None = Field(
        default=None, description="Largest share of one sensitive value among the records of a class that have one."
    )
    t: Amount | None = Field(default=None, description="Largest distance of a class to the table.")
    delta: Amount | None = Field(default=None, description="Largest delta-disclosure of each sensitive column.")
    beta: Amount | None = Field(default=None, description="Largest basic beta-likeness of each sensitive column.")
    enhanced_beta: Amount | None = Field(
        default=None, description="Largest enhanced beta-likeness of each sensitive column."
    )
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
        default=None, description="Largest share of records whose class reveals a sensitive value."
    )
    sensitive_cells: int | None = Field(default=None, strict=True, ge=0, description="Most cells of `sums` that fail.")
    exact: Share | None = Field(
        default=None, description="Largest share of rows, of any quasi-identifier, whose value every reader knows."
    )
    within: Share | None = Field(
        default=None,
        description="Largest share of rows whose value every reader knows to within the column's tolerance "
        "(`value_disclosure`).",
    )


#: Demands that need another field of the specification.
NEEDED: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("l", "entropy_l", "recursive", "alpha", "t", "delta", "beta", "enhanced_beta", "share_certain"), ("sensitive",)
    ),
    **dict.fromkeys(("population_k", "population_uniques"), ("sampling_fraction", "survey_weight_column")),
    "region_population": ("region_columns",),
    "sensitive_cells": ("sums",),
    "dis_suda": ("sampling_fraction", "survey_weight_column"),
}


def unmet_needs(require: TableDemands | None, given: Any) -> None:
    """Raise an error where a demand needs a field that a specification, or a gate, does not have."""
    for demand in () if require is None else TableDemands.model_fields:
        needed = NEEDED.get(demand, ())
        if getattr(require, demand) is not None and needed and not any(getattr(given, name, ()) for name in needed):
            msg = f"this demand needs {' or '.join(f'`{name}`' for name in needed)}"
            raise MisplacedError(msg, "require", demand)


class DeterminationDemands(Contract):
    """The requirements on the cells of a release."""

    share_single_value: Share | None = Field(default=None, description="Largest share of a column's cells.")
    share_certain: Share | None = Field(
        default=None, description="Largest share of rows whose kept value a box reveals."
    )
    share_nearly_certain: Share | None = Field(default=None, description="The same with probability 0.9 or more.")
    t: Annotated[float, Field(strict=True, ge=0)] | None = Field(
        default=None, description="Largest distance from the whole table, from 0 to 1."
    )


class LinkageDemands(Contract):
    """The requirements on the attack of an adversary who knows the records, in the strongest form that is tried.

    Forms are by fit alone, with the scales matched, and of all rows at once (`joint`).
    """

    mean_rank: Annotated[float, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Least mean place of the true record; 1: it always fits best."
    )
    share_rank_1: Share | None = Field(
        default=None, description="Largest share of rows whose true record fits better than every other one."
    )
    share_below_k: Share | None = Field(
        default=None, description="Largest share of rows that fewer than the release's k known records fit as well."
    )
    mean_posterior: Share | None = Field(default=None, description="Largest mean probability of the true record.")
    share_posterior_above_half: Share | None = Field(
        default=None, description="Largest share of rows with a record that is more probable than not."
    )


class ComposedDemands(Contract):
    """The requirements on all releases of the same data together."""

    k: Annotated[float, Field(strict=True, ge=1)] = Field(description="Least persons that they leave.")


class CompositionGate(Contract):
    """What all that was published of the same data must leave."""

    method: Literal["composition"] = Field(description="The audit that the gate runs.")
    require: ComposedDemands = Field(description="Demands that the audit must meet.")
    join_columns: dict[ColumnName, ColumnName] = Field(
        default_factory=dict,
        max_length=60,
        description="By the names of earlier data, columns of these that are the same under other names or in other "
        "values: whether they can be is checked.",
    )


class TableGate(Contract):
    """Demands on the measures of the field that the release must meet."""

    method: Literal["table"] = Field(description="The audit that the gate runs.")
    require: TableDemands = Field(description="Demands that the audit must meet.")
    quasi_identifiers: tuple[ColumnName, ...] = Field(
        default=(), max_length=60, description="What an adversary may know; default: the job's `quasi_identifiers`."
    )
    sensitive: tuple[ColumnName, ...] = Field(
        default=(), max_length=50, description="Columns of the release that must not be learned of a person."
    )
    missing_matches: MissingMatches = MissingMatches.OWN_VALUE
    sampling_fraction: Annotated[float, Field(strict=True, gt=0, le=1)] | None = Field(
        default=None, description="Share of the population that is in the release, above 0 and at most 1."
    )
    survey_weight_column: ColumnName | None = Field(
        default=None, description="Number of persons of the population that a row represents."
    )
    person_column: ColumnName | None = Field(
        default=None, description="Name of the column of the release that identifies the person of a row."
    )
    tolerances: dict[ColumnName, Amount] = Field(
        default_factory=dict,
        description="By column, the accuracy from which on a value counts as known; default: a tenth of the column's "
        "natural scale.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="quasi_identifiers", names=self.quasi_identifiers)
        check_different(field="sensitive", names=self.sensitive)
        unmet_needs(self.require, self)
        return self


class DeterminationGate(Contract):
    """What the release may give away."""

    method: Literal["determination"] = Field(description="The audit that the gate runs.")
    require: DeterminationDemands = Field(description="Demands that the audit must meet.")
    value_step: dict[ColumnName, Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="Steps that the values of columns are multiples of; whole numbers and days have 1.",
    )


class LinkageGate(Contract):
    """What an adversary who knows the original may find of it in the release."""

    method: Literal["linkage"] = Field(description="The audit that the gate runs.")
    require: LinkageDemands = Field(description="Demands that the audit must meet.")


#: What must be found before a release is published; other audits are put to a draft.
GateDemand = TypeAliasType(
    "GateDemand",
    Annotated[
        CompositionGate | TableGate | DeterminationGate | LinkageGate,
        Field(discriminator="method", description="What an audit must find before the release is published."),
    ],
)
