"""Audit `group`: whether a group's places can be found although the columns that name the group are gone."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from app.contracts.base import Contract, Id, MisplacedError
from app.contracts.columns import ColumnName, check_different
from app.contracts.jobs import JobKind, JobSpec
from app.contracts.microfiles import (
    MOST_VARIABLES,
    OutlierOptions,
    Recode,
    RecordCounts,
    Variable,
    Vital,
    Vitals,
    check_variables,
)

#: Rules that all runs of an evolution may make together: each that is new is remembered.
MOST_RULES: Final = 10_000_000


class EvolutionSearch(Contract):
    """Rules evolved: tournaments, uniform crossover, random resetting; every rule seen counts."""

    method: Literal["evolution"]
    population: int = Field(default=100, strict=True, ge=2, le=10_000)
    replaced: int = Field(default=40, strict=True, ge=1, le=10_000, description="Worst rules replaced each generation.")
    tournament: int = Field(default=10, strict=True, ge=1, le=10_000)
    crossover: float = Field(default=1.0, strict=True, ge=0, le=1)
    mutation: float = Field(default=0.05, strict=True, ge=0, le=1, description="Probability per gene.")
    generations: int = Field(default=100, strict=True, ge=1, le=100_000)
    runs: int = Field(default=10, strict=True, ge=1, le=1_000)
    diversity: bool = Field(
        default=True, strict=True, description="False: the letter of the paper, whose runs resemble each other."
    )

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if self.replaced > self.population:
            msg = "more rules would be replaced than there are in the population"
            raise MisplacedError(msg, "replaced")
        made = self.runs * (self.population + self.replaced * self.generations)
        if made > MOST_RULES:
            msg = f"runs * (population + replaced * generations) is {made:,}; at most {MOST_RULES:,} rules are made"
            raise ValueError(msg)
        return self


class ExhaustiveSearch(Contract):
    """Every rule over the thresholds, by depth-first search; refused where that is too much."""

    method: Literal["exhaustive"]


Search = Annotated[EvolutionSearch | ExhaustiveSearch, Field(discriminator="method")]


class SignalKind(StrEnum):
    """What a signal counts: records, or records relative to the size of their submicrofile."""

    QUANTITY = "quantity"
    CONCENTRATION = "concentration"


class GroupSpec(JobSpec):
    """The attack on a group's anonymity: learn rules from one microfile, find outlier regions in another."""

    kind: ClassVar[JobKind] = JobKind.AUDIT

    method: Literal["group"]
    auxiliary_dataset_id: Id = Field(description="Where rules are learned; it has the columns that name the group.")
    target_dataset_id: Id | None = Field(default=None, description="What is attacked; default: the auxiliary one.")
    vital: Vitals = Field(description="Who belongs to the group.")
    parameter: tuple[ColumnName, ...] = Field(
        min_length=1, max_length=20, description="Columns whose values, taken together, divide the microfile."
    )
    variables: tuple[Variable, ...] = Field(min_length=1, max_length=MOST_VARIABLES)
    recode: Recode = Field(default_factory=Recode, description="Harmonisation, per dataset.")
    alpha: float = Field(default=0.5, strict=True, gt=0, le=1, description="Least grade of membership that counts.")
    gamma: float = Field(
        default=0.75, strict=True, ge=0, allow_inf_nan=False, description="Least relative confidence of a rule."
    )
    kappa: float = Field(default=0.001, strict=True, ge=0, lt=1, description="A rule's support must exceed this.")
    search: Search = Field(default_factory=lambda: EvolutionSearch(method="evolution"))
    outliers: OutlierOptions = Field(default_factory=OutlierOptions)
    signal: SignalKind = SignalKind.QUANTITY
    split_by: ColumnName | None = Field(
        default=None,
        description="Outliers also within each value of this column, say a state.",
    )
    split_minimum: float = Field(
        default=0.005,
        strict=True,
        ge=0,
        lt=1,
        description="Parts with no more than this share of the group are not shown.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="parameter", names=self.parameter)
        check_different(field="vital", names=tuple(one.column for one in self.conditions), inner="column")
        check_variables(self.variables)
        return self

    @property
    def conditions(self) -> tuple[Vital, ...]:
        """What must hold, all of it, for a record to be the group's."""
        return self.vital if isinstance(self.vital, tuple) else (self.vital,)


class Rule(Contract):
    """One rule of the model: terms by place among the variables that have terms, 0 = any."""

    terms: tuple[int, ...]
    text: str
    discriminative_factor: float
    relative_confidence_factor: float | None = Field(description="Null with `infinite` where no outsider fits.")
    infinite: bool = False
    support: float


class Adequacy(Contract):
    """How well the outliers of the auxiliary signal are those of the signal itself."""

    tp: int
    fp: int = Field(description="Outliers of the signal that the auxiliary one misses: the paper's name.")
    fn: int = Field(description="Outliers of the auxiliary signal alone: the paper's name.")
    tn: int
    prediction_accuracy: float | None
    youden_j: float | None = Field(description="As the paper counts; conventionally this is markedness.")
    bayes_mb: float | None = Field(description="Evidence of dependence, natural logarithm, least over the priors.")
    bayes_t1: int | None = Field(description="The prior at which it is least.")
    bayes_t2: int | None
    interpretation: str | None
    sensitivity: float | None
    specificity: float | None
    precision: float | None
    youden_conventional: float | None
    markedness: float | None


class Records(Contract):
    """In-range records, and those left out."""

    auxiliary: int
    vital: int
    target: int
    target_vital: int | None
    left_out: dict[str, RecordCounts]


class SplitPart(Contract):
    """One part of the parameter's values, as a line of the paper's tables 6 and 7."""

    value: str | int | float | bool
    group_share: float = Field(description="Share of the group (of the auxiliary signal, where it is not known).")
    outliers: tuple[int, ...] | None
    undisclosed: tuple[int, ...] | None = Field(description="Outliers of the signal that the auxiliary one misses.")
    auxiliary_outliers: tuple[int, ...]
    false: tuple[int, ...] | None = Field(description="Outliers of the auxiliary signal alone.")


class Split(Contract):
    """Outliers within each part, and the totals of the parts shown."""

    column: str
    minimum: float
    shown: int
    left_out: int = Field(description="Parts with too small a share of the group.")
    parts: tuple[SplitPart, ...]
    total: dict[str, int | None]
    adequacy: Adequacy | None


class UnreachedTerm(Contract):
    """A term that no record reaches with a grade of alpha."""

    column: str
    term: str
    dataset: Literal["auxiliary", "target"]


class GroupResult(Contract):
    """Result of a `group` job; restricted to its owner, for it points to places."""

    records: Records
    rules: tuple[Rule, ...] = Field(description="The most general rules over the thresholds, best support first.")
    common: tuple[str, ...] = Field(description="What all rules, or most of them, have in common.")
    unreached_terms: tuple[UnreachedTerm, ...]
    rules_over_thresholds: int
    evaluations: int
    search: str
    guard: float = Field(description="Least denominator of the relative confidence in a rule's fitness.")
    parameter: tuple[str, ...]
    parameter_values: tuple[tuple[str | int | float | bool, ...], ...]
    sizes: tuple[int, ...] = Field(description="In-range records per parameter value.")
    signal_kind: SignalKind
    signal: tuple[float, ...] | None
    auxiliary_signal: tuple[float, ...]
    crisp_auxiliary_signal: tuple[float, ...]
    outliers: tuple[int, ...] | None
    auxiliary_outliers: tuple[int, ...]
    degenerate: bool = Field(description="Half of a signal's values are equal: whatever differs is an outlier.")
    adequacy: Adequacy | None
    split: Split | None
