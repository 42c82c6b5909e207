"""Anonymization `swaps`: a group's outlier regions masked by records that exchange their regions."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypeAliasType

from app.contracts.base import Contract, MisplacedError
from app.contracts.columns import ColumnName, check_different
from app.contracts.examples import DATASET, GROUP_JOB, VARIABLES, Examples
from app.contracts.ids import DatasetId, JobId
from app.contracts.jobs import JobKind, ReleasingSpec
from app.methods.group.spec import GroupSpec, SignalKind
from app.methods.microfile.spec import (
    MOST_VALUES,
    DerivedColumn,
    FuzzyVariable,
    OutlierOptions,
    Recodings,
    Region,
    RulesModel,
)

#: Generations of all runs together: the result reveals the course of each.
MOST_GENERATIONS: Final = 1_000_000
_Weight = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class RegionMask(Contract):
    """A bound on the crisp auxiliary signal of one region: at most a number, or at least one."""

    region: Region = Field(description="The region that is masked.")
    at_most: Annotated[int, Field(strict=True, ge=0, le=2**53)] | None = Field(
        default=None, description="Largest signal that meets the mask, to lower the signal."
    )
    zero_at: Annotated[int, Field(strict=True, ge=1, le=2**53)] | None = Field(
        default=None, description="Signal at which fitness reaches 0 (it is 1 at `at_most`). Default: the value now."
    )
    at_least: Annotated[int, Field(strict=True, ge=1, le=2**53)] | None = Field(
        default=None, description="Least signal that meets the mask, to raise the signal."
    )
    zero_below: Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)] | None = Field(
        default=None, description="Signal up to which fitness is 0 (it is 1 at `at_least`). Default: the value now."
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


class RegionCeiling(Contract):
    """What the crisp auxiliary signal may at most become at a target."""

    region: Region = Field(description="Region to bound, by its values.")
    at_most: Annotated[int, Field(strict=True, ge=0, le=2**53)] = Field(
        description="Largest value at which the ceiling is met."
    )


class RecordDistance(Contract):
    """How far two records are apart: columns that count, and how much a difference there weighs."""

    ordinal: dict[ColumnName, _Weight] = Field(
        default_factory=dict, description="Columns compared by squared relative difference."
    )
    categorical: dict[ColumnName, _Weight] = Field(default_factory=dict, description="Columns compared by equality.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if both := set(self.ordinal) & set(self.categorical):
            msg = f"{min(both)!r} cannot be ordinal and categorical at once"
            raise MisplacedError(msg, "categorical", min(both))
        if not any((*self.ordinal.values(), *self.categorical.values())):
            msg = "some column must have a weight above 0"
            raise ValueError(msg)
        return self


#: Further groups that one job masks.
MOST_GROUPS: Final = 20
_Probability = Annotated[float, Field(strict=True, ge=0, le=1)]
MutationProbability = TypeAliasType(
    "MutationProbability",
    Annotated[
        _Probability | tuple[_Probability, _Probability, _Probability, _Probability],
        Field(
            description="Per row, of each of the four mutations, or of one after the other (the paper's M1 to M4): two "
            "rows exchange who leaves; two rows exchange who comes; another record of the same source; another "
            "partner in the same target."
        ),
    ],
)


class MemeticSearch(Contract):
    """Evolution of sets of swaps with local search for the nearest partner."""

    method: Literal["memetic"] = Field(description="Search for swaps by evolution with local search.")
    population: int = Field(
        default=100, strict=True, ge=2, le=10_000, description="Number of sets of swaps in a generation."
    )
    pairs: int = Field(
        default=40, strict=True, ge=1, le=10_000, description="Number of pairs of parents in a generation."
    )
    tournament: int = Field(
        default=5, strict=True, ge=1, le=10_000, description="Number of sets drawn at random, whose best is a parent."
    )
    generations: int = Field(
        default=1000, strict=True, ge=1, le=MOST_GENERATIONS, description="Largest number of generations of a run."
    )
    crossover: float = Field(default=1.0, strict=True, ge=0, le=1, description="Probability per pair of parents.")
    mutation: MutationProbability = 0.001
    local_search: float = Field(
        default=0.75, strict=True, ge=0, le=1, description="Probability that a swap takes the nearest partner."
    )
    runs: int = Field(
        default=1, strict=True, ge=1, le=1_000, description="Number of independent searches; the best one counts."
    )
    paper: bool = Field(
        default=False,
        strict=True,
        description="The paper's search to the letter: a row keeps its target for good, the members alone are masked "
        "(`protected_alphas`), and nothing else is swapped (`decoys`).",
    )

    @property
    def mutations(self) -> tuple[float, float, float, float]:
        """Of M1 to M4."""
        return self.mutation if isinstance(self.mutation, tuple) else (self.mutation,) * 4

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        made = self.runs * self.generations
        if made > MOST_GENERATIONS:
            msg = f"runs * generations is {made:,}; at most {MOST_GENERATIONS:,} are bred"
            raise ValueError(msg)
        return self


class AssignmentSearch(Contract):
    """Search for the provably cheapest swaps."""

    method: Literal["assignment"] = Field(description="Search for the provably cheapest swaps.")


SwapSearch = TypeAliasType(
    "SwapSearch",
    Annotated[MemeticSearch | AssignmentSearch, Field(discriminator="method", description="Search for swaps.")],
)
SwapMask = TypeAliasType(
    "SwapMask",
    Annotated[
        Literal["outliers"] | Annotated[tuple[RegionMask, ...], Field(min_length=1, max_length=MOST_VALUES)],
        Field(description="Regions to mask: every outlier, or a list."),
    ],
)


class SwapsSpec(ReleasingSpec):
    """Masks a group's outlier regions: the fewest, least noticeable exchanges of regions between records."""

    kind: ClassVar[JobKind] = JobKind.ANONYMIZATION
    #: 3: `protected_alphas`, `decoys`; 4: as all releases; 5: by how many rules fit; 6: `search.paper`, `signal`;
    #: 7: small `significance_level`, of which a worker of before takes every region for an outlier
    version: ClassVar[int] = 7
    examples: ClassVar[Examples] = {
        "every outlier that a group job found": {
            "dataset_id": DATASET,
            "region_columns": ["region"],
            "model_job_id": GROUP_JOB,
            "search": {"method": "assignment"},
        },
        "one region, by a rule of one's own": {
            "dataset_id": DATASET,
            "region_columns": ["region"],
            "rules_model": {"variables": VARIABLES, "rules": [{"terms": [1, 2, 1]}]},
            "mask": [{"region": "R04", "at_most": 12}],
            "drop": ["job"],
            "search": {"method": "memetic", "population": 30, "pairs": 12, "generations": 50},
        },
    }

    method: Literal["swaps"] = Field(description="Outlier regions masked by records that exchange their regions.")
    region_columns: tuple[ColumnName, ...] = Field(
        min_length=1, max_length=20, description="Columns whose values, taken together, are exchanged."
    )
    model_job_id: JobId | None = Field(default=None, description="A `group` job whose rules are the model.")
    rules_model: RulesModel | None = Field(default=None, description="A model that was learned elsewhere.")
    more_model_job_ids: tuple[JobId, ...] = Field(
        default=(),
        max_length=MOST_GROUPS,
        description="Further `group` jobs, of the same variables, whose groups are masked by the same exchanges: of "
        "each every outlier of its own signal. By `assignment`, members alone (`protected_alphas`), without `decoys`.",
    )
    auxiliary_dataset_id: DatasetId | None = Field(
        default=None,
        description="Where the attack afterwards learns new rules; default: as the model's.",
    )
    learn_again: bool = Field(
        default=True,
        strict=True,
        description="Whether the attack afterwards learns new rules; takes a model of a `group` job.",
    )
    mask: SwapMask = Field(
        default="outliers",
        description="The masked regions; `outliers`: every outlier but those of `outliers.ignore`, down to the largest "
        "value that is none.",
    )
    protected_alphas: tuple[Annotated[float, Field(strict=True, gt=0, le=1)], ...] = Field(
        default=(0.5, 0.4, 0.3, 0.2, 0.1),
        min_length=1,
        max_length=20,
        description="Alphas at which masked regions must not stand out, nor by those who almost reach the model's own, "
        "nor by who fits many rules or the most confident ones. The model's alpha alone, with `decoys` 0, masks "
        "what the paper masks; that is the default where `search.paper` is true.",
    )
    decoys: float = Field(
        default=0.1,
        strict=True,
        ge=0,
        le=10,
        description="Swaps between unmasked regions, as a share of those that mask; at 1 it is an even chance that a "
        "moved member comes from a masked region.",
    )
    signal: SignalKind | None = Field(
        default=None,
        description="Signal that is masked: how many members a region has, or which share of its records. Default: the "
        "signal of the model's job; of a given model, the number. Bounds of `mask` are numbers in any case.",
    )
    sources: tuple[Region, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_VALUES,
        description="Where members leave; default: lowered regions.",
    )
    targets: tuple[Region, ...] | None = Field(
        default=None, min_length=1, max_length=MOST_VALUES, description="Where they go; default: all others."
    )
    ceilings: tuple[RegionCeiling, ...] = Field(
        default=(), max_length=MOST_VALUES, description="Targets that must not rise above a value of their own."
    )
    drop: tuple[ColumnName, ...] = Field(
        default=(), description="Columns left out of the release; those that name the group always are."
    )
    metric: RecordDistance | None = Field(default=None, description="Default: all variables, by their columns' types.")
    search: SwapSearch = Field(
        default_factory=lambda: MemeticSearch(method="memetic"), description="How the swaps are found."
    )
    outliers: OutlierOptions = Field(default_factory=OutlierOptions, description="What stands out of a signal.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        check_different(field="region_columns", names=self.region_columns)
        check_different(field="drop", names=self.drop)
        check_different(field="more_model_job_ids", names=self.more_model_job_ids)
        if self.model_job_id in self.more_model_job_ids:
            index = self.more_model_job_ids.index(self.model_job_id)
            raise MisplacedError("this is `model_job_id`, the first group: leave it out", "more_model_job_ids", index)
        if self.more_model_job_ids and (self.sources is not None or self.targets is not None):
            name = "sources" if self.sources is not None else "targets"
            raise MisplacedError("of several groups each has its own: leave this out", name)
        if self.more_model_job_ids and not isinstance(self.search, AssignmentSearch):
            raise MisplacedError("several groups are masked by the search `assignment` only", "search")
        if len(set(self.protected_alphas)) < len(self.protected_alphas):
            raise MisplacedError("an alpha is listed twice", "protected_alphas")
        if (self.model_job_id is None) == (self.rules_model is None):
            msg = "either `model_job_id` or `rules_model` is needed"
            raise MisplacedError(msg, "model_job_id" if self.rules_model is None else "rules_model")
        return self


@dataclass(frozen=True, slots=True)
class RecordModel:
    """What a model states about the records, wherever it comes from; its rules are in a result."""

    variables: tuple[FuzzyVariable, ...]
    recode: Recodings
    group_columns: tuple[str, ...]
    where: str


def model_of(spec: SwapsSpec, learned: GroupSpec | None) -> RecordModel | None:
    """The model that a specification names; None where the job it names is no `group` job."""
    if spec.rules_model is not None:
        return RecordModel(spec.rules_model.variables, spec.rules_model.recode, (), "/rules_model/variables")
    if learned is None:
        return None
    is_auxiliary = spec.dataset_id == learned.auxiliary_dataset_id and spec.dataset_id != learned.target_dataset_id
    recode = learned.recode.auxiliary if is_auxiliary else learned.recode_of_target
    return RecordModel(learned.variables, recode, tuple(_naming(learned)), "/model_job_id")


def _naming(learned: GroupSpec) -> dict[str, None]:
    """All columns that name the group, in order: under its own name, and raw, in whichever dataset it is made of them.

    A target that is attacked without the group needs no recoding of it, and may have the raw columns all the same.
    """
    both = (learned.recode.auxiliary, learned.recode.target)
    raw = (column for one in learned.conditions for recode in both for column in _raw(one.column, recode))
    return dict.fromkeys([*raw, *(one.column for one in learned.conditions)])


def _raw(name: str, recode: Recodings) -> tuple[str, ...]:
    recoding = recode.get(name)
    return recoding.columns if isinstance(recoding, DerivedColumn) else (name,)
