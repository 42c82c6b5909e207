"""Anonymization `swaps`: a group's outlier regions masked by records that exchange their regions."""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator

from app.contracts.base import Contract, Id, MisplacedError
from app.contracts.columns import ColumnName, check_different
from app.contracts.jobs import DatasetJobSpec, JobKind
from app.contracts.microfiles import (
    MOST_VALUES,
    MOST_VARIABLES,
    OutlierOptions,
    ParameterValue,
    Recodings,
    RecordCounts,
    Variable,
    check_variables,
)

#: Swaps that the restricted result lists; there may be more.
LISTED_SWAPS: Final = 10_000
#: Generations of all runs together: the result tells the course of each.
MOST_GENERATIONS: Final = 1_000_000
_Weight = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class GivenRule(Contract):
    """A rule: terms by place among the variables that have terms, 0 = any."""

    terms: tuple[Annotated[int, Field(strict=True, ge=0)], ...] = Field(min_length=1, max_length=MOST_VARIABLES)


class GivenModel(Contract):
    """A fuzzy model of the group that was found elsewhere."""

    variables: tuple[Variable, ...] = Field(min_length=1, max_length=MOST_VARIABLES)
    rules: tuple[GivenRule, ...] = Field(min_length=1, max_length=MOST_VALUES)
    alpha: float = Field(default=0.5, strict=True, gt=0, le=1)
    recode: Recodings = Field(default_factory=dict, description="Harmonisation of the dataset, as in `group`.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_variables(self.variables)
        sizes = [len(variable.terms) for variable in self.variables if variable.terms]
        for index, rule in enumerate(self.rules):
            if len(rule.terms) != len(sizes):
                msg = f"rule {index} has {len(rule.terms)} terms; {len(sizes)} variables have terms"
                raise MisplacedError(msg, "rules", index, "terms")
            if not any(rule.terms):
                msg = f"rule {index} says nothing: every record would belong to the group"
                raise MisplacedError(msg, "rules", index, "terms")
            if any(term > most for term, most in zip(rule.terms, sizes, strict=True)):
                msg = f"rule {index} names a term that its variable does not have"
                raise MisplacedError(msg, "rules", index, "terms")
        return self


class Mask(Contract):
    """What the crisp auxiliary signal may be at one parameter value: at most a number, or at least one."""

    value: ParameterValue
    at_most: Annotated[int, Field(strict=True, ge=0, le=2**53)] | None = Field(default=None, description="Is met.")
    zero_at: Annotated[int, Field(strict=True, ge=1, le=2**53)] | None = Field(
        default=None, description="From here on the search sees no merit; default: the value now."
    )
    at_least: Annotated[int, Field(strict=True, ge=1, le=2**53)] | None = Field(default=None, description="Is met.")
    zero_below: Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | None = Field(
        default=None, description="Likewise, up to here."
    )

    @model_validator(mode="after")
    def _one_direction(self) -> Self:
        if (self.at_most is None) == (self.at_least is None):
            msg = "either `at_most` (to lower the signal) or `at_least` (to raise it) is needed"
            raise MisplacedError(msg, "at_most")
        if (self.zero_at is not None and self.at_most is None) or (
            self.zero_below is not None and self.at_least is None
        ):
            msg = "`zero_at` goes with `at_most`, `zero_below` with `at_least`"
            raise MisplacedError(msg, "zero_at" if self.at_most is None else "zero_below")
        if self.at_most is not None and self.zero_at is not None and self.zero_at <= self.at_most:
            msg = "`zero_at` must be above `at_most`"
            raise MisplacedError(msg, "zero_at")
        if self.at_least is not None and self.zero_below is not None and self.zero_below >= self.at_least:
            msg = "`zero_below` must be below `at_least`"
            raise MisplacedError(msg, "zero_below")
        return self


class Ceiling(Contract):
    """What the crisp auxiliary signal may at most become at a target."""

    value: ParameterValue
    at_most: Annotated[int, Field(strict=True, ge=0, le=2**53)]


class Metric(Contract):
    """How far two records are apart: columns that count, and how much a difference there weighs."""

    ordinal: dict[ColumnName, _Weight] = Field(default_factory=dict, description="Squared relative difference.")
    categorical: dict[ColumnName, _Weight] = Field(default_factory=dict, description="Whether they differ.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if both := set(self.ordinal) & set(self.categorical):
            msg = f"{min(both)!r} cannot be ordinal and categorical at once"
            raise MisplacedError(msg, "categorical", min(both))
        if not any((*self.ordinal.values(), *self.categorical.values())):
            msg = "some column must have a weight above 0"
            raise ValueError(msg)
        return self


class MemeticSearch(Contract):
    """Evolution of sets of swaps with local search for the nearest partner."""

    method: Literal["memetic"]
    population: int = Field(default=100, strict=True, ge=2, le=10_000)
    pairs: int = Field(default=40, strict=True, ge=1, le=10_000)
    tournament: int = Field(default=5, strict=True, ge=1, le=10_000)
    generations: int = Field(default=1000, strict=True, ge=1, le=MOST_GENERATIONS)
    mutation: float = Field(
        default=0.001, strict=True, ge=0, le=1, description="Probability of each mutation, per row."
    )
    local_search: float = Field(default=0.75, strict=True, ge=0, le=1)
    runs: int = Field(default=1, strict=True, ge=1, le=1_000)

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        made = self.runs * self.generations
        if made > MOST_GENERATIONS:
            msg = f"runs * generations is {made:,}; at most {MOST_GENERATIONS:,} are bred"
            raise ValueError(msg)
        return self


class AssignmentSearch(Contract):
    """The provably cheapest swaps."""

    method: Literal["assignment"]


Search = Annotated[MemeticSearch | AssignmentSearch, Field(discriminator="method")]


class SwapsSpec(DatasetJobSpec):
    """Masks a group's outlier regions: the fewest, least noticeable exchanges of regions between records."""

    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION

    method: Literal["swaps"]
    parameter: tuple[ColumnName, ...] = Field(min_length=1, max_length=20)
    model_job_id: Id | None = Field(default=None, description="A `group` job whose rules are the model.")
    model: GivenModel | None = None
    auxiliary_dataset_id: Id | None = Field(
        default=None,
        description="Where the attack afterwards learns new rules; default: as the model's.",
    )
    learn_again: bool = Field(
        default=True,
        strict=True,
        description="Whether the attack afterwards learns new rules; takes a model of a `group` job.",
    )
    mask: Literal["outliers"] | Annotated[tuple[Mask, ...], Field(min_length=1, max_length=MOST_VALUES)] = Field(
        default="outliers",
        description="What is masked; `outliers`: every outlier not excluded, down to the largest value that is none.",
    )
    sources: tuple[ParameterValue, ...] | None = Field(
        default=None, min_length=1, max_length=MOST_VALUES, description="Where members leave; default: what is lowered."
    )
    targets: tuple[ParameterValue, ...] | None = Field(
        default=None, min_length=1, max_length=MOST_VALUES, description="Where they go; default: all others."
    )
    ceilings: tuple[Ceiling, ...] = Field(
        default=(), max_length=MOST_VALUES, description="Targets that must not rise above a value of their own."
    )
    drop: tuple[ColumnName, ...] = Field(
        default=(), description="Columns left out of the release; those that name the group always are."
    )
    metric: Metric | None = Field(default=None, description="Default: all variables, by their columns' types.")
    search: Search = Field(default_factory=lambda: MemeticSearch(method="memetic"))
    outliers: OutlierOptions = Field(default_factory=OutlierOptions)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="parameter", names=self.parameter)
        check_different(field="drop", names=self.drop)
        if (self.model_job_id is None) == (self.model is None):
            msg = "either `model_job_id` or `model` is needed"
            raise MisplacedError(msg, "model_job_id" if self.model is None else "model")
        return self


class SwapRun(Contract):
    """What one run of the search came to."""

    swaps: int
    distortion: float
    fitness: float | None
    valid: bool
    valid_share: float | None = Field(description="Of its last population: individuals that mask every outlier.")
    completed: int = Field(description="Swaps added to meet every bound, where no individual met them by itself.")


class Generations(Contract):
    """Fitness of one run's population, generation by generation, the first one drawn at random."""

    best: tuple[float, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...] = Field(description="Standard deviation.")


class Again(Contract):
    """The attack on the protected file."""

    rules: int
    signal: tuple[float, ...] = Field(description="Auxiliary signal (summed grades) of the protected file.")
    crisp_signal: tuple[float, ...]
    outliers: tuple[int, ...]
    found: tuple[int, ...] = Field(description="Masked places that are outliers still, or again.")


class AttackAgain(Contract):
    """The attack again: with the rules that were masked against, and with rules learned anew."""

    old_rules: Again
    new_rules: Again | None
    learned: str = Field(description="How the new rules were found, or why there are none.")


class SwapsResult(Contract):
    """Result of a `swaps` job; restricted to its owner."""

    records: int
    in_range: int
    left_out: RecordCounts
    members: int = Field(description="Records of the fuzzy group.")
    swaps: int
    distortion: float
    assignment_distortion: float
    fitness: float | None
    valid: bool = Field(
        description="No outlier that was to be masked (of a given list, those that stood out) is one now."
    )
    parameter_values: tuple[tuple[str | int | float | bool, ...], ...]
    sizes: tuple[int, ...]
    masked: tuple[int, ...]
    bounds: tuple[tuple[int | None, int | None], ...] = Field(description="[at least, at most] of the masked ones.")
    signal_before: tuple[int, ...]
    signal_after: tuple[int, ...]
    outliers_before: tuple[int, ...]
    outliers_after: tuple[int, ...]
    runs: tuple[SwapRun, ...]
    generations: tuple[Generations, ...] = Field(description="Per run.")
    attack_again: AttackAgain
    telltale_columns: dict[str, int] = Field(
        description="Published columns that hang together with the parameter, and swapped records that contradict it."
    )
    swap_list: tuple[tuple[int, int], ...] = Field(description="Rows of the dataset that were exchanged, from 0.")
    swap_list_complete: bool
