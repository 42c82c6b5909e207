"""Audit `group`: whether a group's places can be found although the columns that name the group are gone."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError, may_lack
from app.contracts.columns import ColumnName, check_different
from app.contracts.examples import DATASET, VARIABLES, Examples
from app.contracts.findings import AuditResult
from app.contracts.ids import DatasetId
from app.contracts.jobs import JobKind, JobSpec
from app.contracts.microfiles import (
    MOST_VARIABLES,
    CellValue,
    OutlierOptions,
    Recode,
    Recodings,
    RecordCounts,
    Variable,
    Vital,
    VitalSet,
    check_variables,
)

#: Rules that all runs of an evolution may make together: each that is new is remembered.
MOST_RULES: Final = 10_000_000


class EvolutionSearch(Contract):
    """Rules evolved: tournaments, uniform crossover, random resetting; every rule seen counts."""

    method: Literal["evolution"] = Field(description="Rules evolved.")
    population: int = Field(default=100, strict=True, ge=2, le=10_000, description="Rules of a generation.")
    replaced: int = Field(default=40, strict=True, ge=1, le=10_000, description="Worst rules replaced each generation.")
    tournament: int = Field(default=10, strict=True, ge=1, le=10_000, description="Rules; the best is a parent.")
    crossover: float = Field(default=1.0, strict=True, ge=0, le=1, description="Probability per pair of parents.")
    mutation: float = Field(default=0.05, strict=True, ge=0, le=1, description="Probability per gene.")
    generations: int = Field(default=100, strict=True, ge=1, le=100_000, description="Generations of a run.")
    runs: int = Field(default=10, strict=True, ge=1, le=1_000, description="Independent evolutions.")
    diversity: bool = Field(
        default=True,
        strict=True,
        description="False: the paper's evolution, whose runs resemble each other, but for `guard` in its fitness.",
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

    method: Literal["exhaustive"] = Field(description="Every rule over the thresholds.")


GroupSearch = TypeAliasType(
    "GroupSearch",
    Annotated[EvolutionSearch | ExhaustiveSearch, Field(discriminator="method", description="How rules are found.")],
)


class SignalKind(StrEnum):
    """What a signal counts: records, or records relative to the size of their submicrofile."""

    QUANTITY = "quantity"
    CONCENTRATION = "concentration"


class GroupSpec(JobSpec):
    """The attack on a group's anonymity: learn rules from one microfile, find outlier regions in another."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    examples: ClassVar[Examples] = {
        "can soldiers' regions be found?": {
            "auxiliary_dataset_id": DATASET,
            "vital": {"column": "job", "values": ["army"]},
            "parameter": ["region"],
            "variables": VARIABLES,
            "search": {"method": "exhaustive"},
        },
        "soldiers of one sex, rules evolved": {
            "auxiliary_dataset_id": DATASET,
            "target_dataset_id": DATASET,
            "vital": [{"column": "job", "values": ["army"]}, {"column": "sex", "values": [1]}],
            "parameter": ["region"],
            "variables": VARIABLES,
            "recode": {"auxiliary": {"way": {"2": 1}}, "target": {"way": {"2": 1}}},
            "search": {"method": "evolution", "generations": 20, "runs": 2},
            "outliers": {"exclude": [["R00"]]},
        },
    }

    method: Literal["group"] = Field(description="The attack on a group's anonymity.")
    auxiliary_dataset_id: DatasetId = Field(
        description="Where rules are learned; it has the columns that name the group."
    )
    target_dataset_id: DatasetId | None = Field(
        default=None, description="What is attacked; default: the auxiliary one."
    )
    vital: VitalSet = Field(description="Who belongs to the group.")
    parameter: tuple[ColumnName, ...] = Field(
        min_length=1, max_length=20, description="Columns whose values, taken together, divide the microfile."
    )
    variables: tuple[Variable, ...] = Field(
        min_length=1, max_length=MOST_VARIABLES, description="What rules may speak of, and which records count."
    )
    recode: Recode = Field(default_factory=Recode, description="Harmonisation, per dataset.")
    alpha: float = Field(default=0.5, strict=True, gt=0, le=1, description="Least grade of membership that counts.")
    gamma: float = Field(
        default=0.75, strict=True, ge=0, allow_inf_nan=False, description="Least relative confidence of a rule."
    )
    kappa: float = Field(default=0.001, strict=True, ge=0, lt=1, description="A rule's support must exceed this.")
    search: GroupSearch = Field(
        default_factory=lambda: EvolutionSearch(method="evolution"), description="How rules are found."
    )
    outliers: OutlierOptions = Field(default_factory=OutlierOptions, description="What stands out of a signal.")
    signal: SignalKind = Field(default=SignalKind.QUANTITY, description="What the signals count.")
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

    @property
    def recode_of_target(self) -> Recodings:
        """How the target is harmonised: as it says, or as the auxiliary dataset where it is that."""
        if self.target_dataset_id in {None, self.auxiliary_dataset_id} and not self.recode.target:
            return self.recode.auxiliary
        return self.recode.target


class Rule(Contract):
    """One rule of the model: terms by place among the variables that have terms, 0 = any."""

    terms: tuple[int, ...] = Field(description="Places among the terms of each variable, from 1; 0 = any.")
    text: str = Field(description="The rule as a sentence.")
    discriminative_factor: float = Field(description="Share of the group that fits it, less that of all records.")
    relative_confidence_factor: float | None = Field(description="Null with `infinite` where no outsider fits.")
    infinite: bool = Field(default=False, description="No outsider fits: the relative confidence is infinite.")
    support: float = Field(description="Share of the group that fits it.")


class Adequacy(Contract):
    """How well the outliers of the auxiliary signal are those of the signal itself."""

    tp: int = Field(description="Outliers of both signals.")
    fp: int = Field(description="Outliers of the signal that the auxiliary one misses: the paper's name.")
    fn: int = Field(description="Outliers of the auxiliary signal alone: the paper's name.")
    tn: int = Field(description="Places that stand out of neither.")
    prediction_accuracy: float | None = Field(description="Share of the places that are judged rightly.")
    youden_j: float | None = Field(description="As the paper counts; conventionally this is markedness.")
    bayes_mb: float | None = Field(description="Evidence of dependence, natural logarithm, least over the priors.")
    bayes_t1: int | None = Field(description="The prior at which it is least.")
    bayes_t2: int | None = Field(description="The other parameter of that prior.")
    interpretation: str | None = Field(description="What that evidence amounts to, in words.")
    sensitivity: float | None = Field(description="Share of the signal's outliers that are found.")
    specificity: float | None = Field(description="Share of the other places that are left alone.")
    precision: float | None = Field(description="Share of what is found that is right.")
    youden_conventional: float | None = Field(description="Sensitivity + specificity - 1.")
    markedness: float | None = Field(description="How far the judgement can be relied on, either way.")


class Records(Contract):
    """In-range records, and those left out."""

    auxiliary: int = Field(description="Of the auxiliary microfile.")
    vital: int = Field(description="Of these, the group's.")
    target: int = Field(description="Of what is attacked.")
    target_vital: int | None = Field(description="Of these, the group's; null where nobody can tell.")
    left_out: dict[str, RecordCounts] = Field(description="By dataset, `auxiliary` and `target`.")


class SplitPart(Contract):
    """One part of the parameter's values, as a line of the paper's tables 6 and 7."""

    value: CellValue = Field(description="The value of the column that splits.")
    group_share: float = Field(description="Share of the group (of the auxiliary signal, where it is not known).")
    outliers: tuple[int, ...] | None = Field(description="Of the signal, by place among the parameter values.")
    undisclosed: tuple[int, ...] | None = Field(description="Outliers of the signal that the auxiliary one misses.")
    auxiliary_outliers: tuple[int, ...] = Field(description="Of the auxiliary signal.")
    false: tuple[int, ...] | None = Field(description="Outliers of the auxiliary signal alone.")


class Split(Contract):
    """Outliers within each part, and the totals of the parts shown."""

    column: str = Field(description="The column that splits.")
    minimum: float = Field(description="Share of the group above which a part is shown.")
    shown: int = Field(description="Parts that are shown.")
    left_out: int = Field(description="Parts with too small a share of the group.")
    parts: tuple[SplitPart, ...] = Field(description="The parts that are shown.")
    total: dict[str, int | None] = Field(description="Outliers of all parts shown, by kind.")
    adequacy: Adequacy | None = Field(description="Over all parts shown; null where the target cannot tell.")


class UnreachedTerm(Contract):
    """A term that no record reaches with a grade of alpha."""

    column: str = Field(description="The variable's column.")
    term: str = Field(description="The term's name.")
    dataset: Literal["auxiliary", "target"] = Field(description="Where no record reaches it.")


class GroupResult(AuditResult):
    """Result of a `group` job; restricted to its owner, for it points to places."""

    method: Literal["group"] = Field(default="group", description="The job's method.")
    records: Records = Field(description="How many records took part, and how many were left out.")
    rules: tuple[Rule, ...] = Field(description="The most general rules over the thresholds, best support first.")
    common: tuple[str, ...] = Field(description="What all rules, or most of them, have in common.")
    unreached_terms: tuple[UnreachedTerm, ...] = Field(description="Terms that no rule can use, for nobody fits them.")
    rules_over_thresholds: int = Field(description="All rules that were found, the less general ones included.")
    evaluations: int = Field(description="Rules that were looked at.")
    search: str = Field(description="The method of the search.")
    guard: float = Field(description="Least denominator of the relative confidence in a rule's fitness.")
    parameter: tuple[str, ...] = Field(description="As asked.")
    parameter_values: tuple[tuple[CellValue, ...], ...] = Field(
        description="The places: signals are in their order, outliers are indexes into them, from 0."
    )
    sizes: tuple[int, ...] = Field(description="In-range records per parameter value.")
    signal_kind: SignalKind = Field(description="As asked.")
    signal: tuple[float, ...] | None = Field(description="The group's; null where the target lacks its columns.")
    auxiliary_signal: tuple[float, ...] = Field(description="Grades of membership, summed.")
    crisp_auxiliary_signal: tuple[float, ...] = Field(description="Records whose grade is at least alpha.")
    outliers: tuple[int, ...] | None = Field(description="Of the signal; null as it is.")
    auxiliary_outliers: tuple[int, ...] = Field(description="Of the auxiliary signal.")
    degenerate: bool = Field(description="Half of a signal's values are equal: whatever differs is an outlier.")
    adequacy: Adequacy | None = Field(description="How well the attack did; null where the target cannot tell.")
    split: Split | None = Field(description="Outliers within each value of `split_by`; null where none was asked for.")

    @classmethod
    def long(cls) -> tuple[str, ...]:
        """Fields that may be long lists."""
        return tuple(
            name
            for name, field in cls.model_fields.items()
            if "tuple" in str(field.annotation) and name not in AuditResult.model_fields
        )


class GroupSummary(GroupResult):
    """Result of a `group` job without its longest lists: those over 1,000 entries stand in the whole result only."""

    model_config = ConfigDict(json_schema_extra=may_lack(*GroupResult.long()))
