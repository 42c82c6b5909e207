"""Audit `group`: whether an attack can find a group's regions although the columns that name the group are gone."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import ConfigDict, Field, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError, may_lack, one_of
from app.contracts.columns import ColumnName, check_different
from app.contracts.examples import DATASET, VARIABLES, Examples
from app.contracts.findings import AuditResult
from app.contracts.ids import DatasetId
from app.contracts.jobs import JobKind, JobSpec
from app.methods.microfile.spec import (
    MOST_VARIABLES,
    CellValue,
    ExcludedRecords,
    FuzzyVariable,
    GroupCondition,
    HiddenGroup,
    OutlierOptions,
    Recode,
    Recodings,
    check_variables,
)

#: Rules that all runs of an evolution may make together: each that is new is remembered.
MOST_RULES: Final = 10_000_000


class EvolutionSearch(Contract):
    """Rules evolved: tournaments, uniform crossover, random resetting; every rule seen counts."""

    method: Literal["evolution"] = Field(description="Search for rules by evolution.")
    population: int = Field(default=100, strict=True, ge=2, le=10_000, description="Number of rules in a generation.")
    replaced: int = Field(
        default=40, strict=True, ge=1, le=10_000, description="Number of worst rules that each generation replaces."
    )
    tournament: int = Field(
        default=10, strict=True, ge=1, le=10_000, description="Number of rules drawn at random, whose best is a parent."
    )
    crossover: float = Field(default=1.0, strict=True, ge=0, le=1, description="Probability per pair of parents.")
    mutation: float = Field(
        default=0.05, strict=True, ge=0, le=1, description="Probability of a mutation per gene, from 0 to 1."
    )
    generations: int = Field(
        default=100, strict=True, ge=1, le=100_000, description="Largest number of generations of a run."
    )
    runs: int = Field(
        default=10, strict=True, ge=1, le=1_000, description="Number of independent runs of the evolution."
    )
    diversity: bool = Field(
        default=True,
        strict=True,
        description="False: the paper's evolution, whose runs resemble each other, but for `denominator_floor` in "
        "its fitness.",
    )
    paper: bool = Field(
        default=False,
        strict=True,
        description="The paper's evolution to the letter: no `diversity`, and no `denominator_floor` in its fitness, "
        "so that rules that no outsider fits come first.",
    )

    @model_validator(mode="before")
    @classmethod
    def _to_the_letter(cls, given: Any) -> Any:
        """`paper` decides `diversity` where that is left out."""
        return {"diversity": False, **given} if isinstance(given, dict) and given.get("paper") is True else given

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if self.paper and self.diversity:
            msg = "the paper's evolution keeps no diversity: leave `diversity` out, or `paper`"
            raise MisplacedError(msg, "diversity")
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
    Annotated[EvolutionSearch | ExhaustiveSearch, Field(discriminator="method", description="Search for rules.")],
)


class SignalKind(StrEnum):
    """Quantities that a signal counts in each region.

    `quantity`: members. `concentration`: members as a share of the records of the region.
    """

    QUANTITY = "quantity"
    CONCENTRATION = "concentration"


class GroupSpec(JobSpec):
    """The attack on a group's anonymity: learn rules from one microfile, find outlier regions in another."""

    kind: ClassVar[JobKind] = JobKind.AUDIT
    version: ClassVar[int] = 3  # 2: `search.paper`, `outliers.test`; 3: small `significance_level`
    examples: ClassVar[Examples] = {
        "can soldiers' regions be found?": {
            "auxiliary_dataset_id": DATASET,
            "hidden_group": {"column": "job", "values": ["army"]},
            "region_columns": ["region"],
            "variables": VARIABLES,
            "search": {"method": "exhaustive"},
        },
        "soldiers of one sex, rules evolved": {
            "auxiliary_dataset_id": DATASET,
            "target_dataset_id": DATASET,
            "hidden_group": [{"column": "job", "values": ["army"]}, {"column": "sex", "values": [1]}],
            "region_columns": ["region"],
            "variables": VARIABLES,
            "recode": {"auxiliary": {"way": {"2": 1}}, "target": {"way": {"2": 1}}},
            "search": {"method": "evolution", "generations": 20, "runs": 2},
            "outliers": {"ignore": [["R00"]]},
        },
    }

    method: Literal["group"] = Field(description="The attack on a group's anonymity.")
    auxiliary_dataset_id: DatasetId = Field(
        description="Where rules are learned; it has the columns that name the group."
    )
    target_dataset_id: DatasetId | None = Field(
        default=None, description="Id of the dataset to attack. Default: the auxiliary one."
    )
    hidden_group: HiddenGroup = Field(description="Who belongs to the group.")
    region_columns: tuple[ColumnName, ...] = Field(
        min_length=1,
        max_length=20,
        description="Columns whose values, taken together, are the regions that divide the microfile.",
    )
    variables: tuple[FuzzyVariable, ...] = Field(
        min_length=1, max_length=MOST_VARIABLES, description="What rules may speak of, and which records count."
    )
    recode: Recode = Field(default_factory=Recode, description="Recoding of columns, for each dataset.")
    min_membership: float = Field(
        default=0.5, strict=True, gt=0, le=1, description="Least grade of membership that counts."
    )
    min_relative_confidence: float = Field(
        default=0.75, strict=True, ge=0, allow_inf_nan=False, description="Least relative confidence of a rule."
    )
    min_support: float = Field(default=0.001, strict=True, ge=0, lt=1, description="A rule's support must exceed this.")
    search: GroupSearch = Field(
        default_factory=lambda: EvolutionSearch(method="evolution"), description="Search for rules."
    )
    outliers: OutlierOptions = Field(default_factory=OutlierOptions, description="What stands out of a signal.")
    signal: SignalKind = Field(default=SignalKind.QUANTITY, description="Quantity that the signals count per region.")
    split_column: ColumnName | None = Field(
        default=None,
        description="Outliers also within each value of this column, for example within each state.",
    )
    min_split_share: float = Field(
        default=0.005,
        strict=True,
        ge=0,
        lt=1,
        description="Parts with no more than this share of the group are not shown.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="region_columns", names=self.region_columns)
        check_different(field="hidden_group", names=tuple(one.column for one in self.conditions), inner="column")
        check_variables(self.variables)
        return self

    @property
    def conditions(self) -> tuple[GroupCondition, ...]:
        """Conditions that must all be true for a record to be the group's."""
        return self.hidden_group if isinstance(self.hidden_group, tuple) else (self.hidden_group,)

    @property
    def recode_of_target(self) -> Recodings:
        """How the target is harmonised: as it states, or as the auxiliary dataset where it is that."""
        if self.target_dataset_id in {None, self.auxiliary_dataset_id} and not self.recode.target:
            return self.recode.auxiliary
        return self.recode.target


class FuzzyRule(Contract):
    """One rule of the model: terms by place among the variables that have terms, 0 = any."""

    terms: tuple[int, ...] = Field(description="Places among the terms of each variable, from 1; 0 = any.")
    text: str = Field(description="The rule as a sentence.")
    discriminative_factor: float = Field(description="Share of the group that fits it, less that of all records.")
    relative_confidence_factor: float | None = Field(description="Null with `infinite` where no outsider fits.")
    infinite: bool = Field(default=False, description="No outsider fits: the relative confidence is infinite.")
    support: float = Field(description="Share of the group that fits it.")


class SignalAdequacy(Contract):
    """How well the outliers of the auxiliary signal are those of the signal itself."""

    hits: int = Field(description="Number of outliers of both signals.")
    misses: int = Field(description="Outliers of the signal that the auxiliary one misses; the paper's FP.")
    false_alarms: int = Field(description="Outliers of the auxiliary signal alone; the paper's FN.")
    correct_rejections: int = Field(description="Regions that are outliers of neither.")
    prediction_accuracy: float | None = Field(description="Share of the regions that are judged rightly.")
    log_bayes_factor: float | None = Field(
        description="Evidence of dependence: natural logarithm of the Bayes factor, least over the priors (the paper's "
        "MB)."
    )
    bayes_t1: int | None = Field(description="The prior at which it is least.")
    bayes_t2: int | None = Field(description="The other parameter of that prior.")
    interpretation: str | None = Field(description="What that evidence amounts to, in words.")
    sensitivity: float | None = Field(description="Share of the signal's outliers that are found.")
    specificity: float | None = Field(description="Share of the other regions that are left alone.")
    precision: float | None = Field(description="Share of the detections that are right.")
    informedness: float | None = Field(description="Sensitivity + specificity - 1: Youden's J.")
    markedness: float | None = Field(
        description="Precision + share of the regions not detected that are no outliers - 1 (the paper's J)."
    )


class GroupRecordCounts(Contract):
    """In-range records, and those left out."""

    auxiliary: int = Field(description="Number of records of the auxiliary microfile.")
    members: int = Field(description="Number of these records that belong to the group.")
    target: int = Field(description="Number of records of the target microfile.")
    target_members: int | None = Field(description="Of these, the group's; null where the target lacks its columns.")
    excluded: dict[str, ExcludedRecords] = Field(description="By dataset, `auxiliary` and `target`.")


class RegionSplitPart(Contract):
    """One part of the regions, as a line of the paper's tables 6 and 7."""

    value: CellValue = Field(description="The value of the column that splits.")
    group_share: float = Field(description="Share of the group (of the auxiliary signal, where it is not known).")
    outliers: tuple[int, ...] | None = Field(description="Of the signal: indexes of regions.")
    misses: tuple[int, ...] | None = Field(description="Outliers of the signal that the auxiliary one misses.")
    auxiliary_outliers: tuple[int, ...] = Field(description="Outliers of the auxiliary signal, as indexes of regions.")
    false_alarms: tuple[int, ...] | None = Field(description="Outliers of the auxiliary signal alone.")


class RegionSplit(Contract):
    """Outliers within each part, and the totals of the parts shown."""

    column: str = Field(description="Name of the column that splits the regions.")
    min_share: float = Field(description="Share of the group above which a part is shown.")
    shown: int = Field(description="Number of parts that are shown.")
    not_shown: int = Field(description="Parts with too small a share of the group.")
    parts: tuple[RegionSplitPart, ...] = Field(description="The parts that are shown.")
    total: dict[str, int | None] = Field(description="Outliers of all parts shown, by kind.")
    adequacy: SignalAdequacy | None = Field(
        description="Over all parts shown; null where the target lacks the group's columns."
    )


class UnreachedTerm(Contract):
    """A term that no record reaches with a grade of `min_membership`."""

    column: str = Field(description="Name of the variable's column.")
    term: str = Field(description="Name of the linguistic term.")
    dataset: Literal["auxiliary", "target"] = Field(description="Where no record reaches it.")


class ColumnLikeness(Contract):
    """How far the two datasets are apart in one variable."""

    column: str = Field(description="Name of the variable's column.")
    distance: float = Field(
        description="Largest difference of the shares of records up to a value, over all values (Kolmogorov, Smirnov)."
    )
    by_chance: float = Field(description="What two samples of one population exceed once in a hundred times.")
    members_distance: float | None = Field(
        description="The distance of the group's records; null where the target lacks the group's columns, or members."
    )
    members_by_chance: float | None = Field(
        default=None,
        description="Distance that chance alone exceeds once in a hundred times; null without `members_distance`.",
    )


class GroupLikeness(Contract):
    """Whether the auxiliary dataset is drawn from a distribution like the target's, as the attack supposes."""

    columns: tuple[ColumnLikeness, ...] = Field(description="Of the records in range, the least alike first.")
    unlike_columns: int = Field(description="Number of columns whose distance is more than chance.")
    detail: str = Field(description="The finding as one sentence.")


class GroupResult(AuditResult):
    """Result of a `group` job; restricted to its owner, for it points to regions."""

    method: Literal["group"] = Field(default="group", description="Method of the job that has this result.")
    record_counts: GroupRecordCounts = Field(description="How many records took part, and how many were left out.")
    rules: tuple[FuzzyRule, ...] = Field(description="The most general rules over the thresholds, best support first.")
    common: tuple[str, ...] = Field(description="What all rules, or most of them, have in common.")
    unreached_terms: tuple[UnreachedTerm, ...] = Field(
        description="Terms that no rule can use, for no record fits them."
    )
    likeness: GroupLikeness | None = Field(
        description="How alike the two datasets are; null where the auxiliary dataset itself is attacked."
    )
    rules_over_thresholds: int = Field(description="All rules that were found, the less general ones included.")
    evaluation_count: int = Field(description="Rules that were looked at.")
    search: Annotated[str, one_of(("evolution", "exhaustive"))] = Field(description="The method of the search.")
    denominator_floor: float = Field(description="Least denominator of the relative confidence in a rule's fitness.")
    region_columns: tuple[str, ...] = Field(description="As in the specification.")
    regions: tuple[tuple[CellValue, ...], ...] = Field(
        description="The regions: signals are in their order, outliers are indexes into them, from 0."
    )
    region_sizes: tuple[int, ...] = Field(description="In-range records of each region.")
    signal_kind: SignalKind = Field(description="As in the specification.")
    signal: tuple[float, ...] | None = Field(description="The group's; null where the target lacks its columns.")
    auxiliary_signal: tuple[float, ...] = Field(description="Sum of memberships in each region, by the rules.")
    crisp_auxiliary_signal: tuple[float, ...] = Field(description="Records whose grade is at least `min_membership`.")
    outliers: tuple[int, ...] | None = Field(description="Of the signal; null as it is.")
    auxiliary_outliers: tuple[int, ...] = Field(description="Outliers of the auxiliary signal, as indexes of regions.")
    degenerate: bool = Field(description="Half of a signal's values are equal: whatever differs is an outlier.")
    adequacy: SignalAdequacy | None = Field(
        description="How well the attack did; null where the target lacks the group's columns."
    )
    split: RegionSplit | None = Field(description="Outliers within each value of `split_column`; null without one.")

    @classmethod
    def long(cls) -> tuple[str, ...]:
        """Fields that may be long lists."""
        return tuple(
            name
            for name, field in cls.model_fields.items()
            if "tuple" in str(field.annotation) and name not in AuditResult.model_fields
        )


class GroupSummary(GroupResult):
    """Result of a `group` job without its longest lists: those over 1,000 entries are in the whole result only."""

    model_config = ConfigDict(json_schema_extra=may_lack(*GroupResult.long()))


def group_spec(stored: Any) -> GroupSpec:
    """The specification of a `group` job as it is kept: its seed is not."""
    return GroupSpec.model_validate({**stored, "seed": None})
