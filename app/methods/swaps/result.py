"""The result of a `swaps` job; restricted to its owner, for it names the masked regions and the exchanges."""

from typing import Final, Literal

from pydantic import ConfigDict, Field

from app.contracts.base import Contract, may_lack
from app.contracts.findings import Finding, ProtectionResult
from app.methods.group.spec import SignalKind
from app.methods.microfile.attacks import ClassifierReport, SignalStanding
from app.methods.microfile.spec import CellValue, ExcludedRecords

#: Swaps that the restricted result lists; there may be more.
LISTED_SWAPS: Final = 10_000


class SwapRun(Contract):
    """Result of one run of the search."""

    swap_count: int = Field(description="Number of exchanges of regions.")
    distortion: float = Field(description="How far the partners are apart, over all exchanges.")
    fitness: float | None = Field(description="Of its best individual; null where nothing was evolved.")
    valid: bool = Field(description="No outlier that was to be masked is one after it.")
    valid_share: float | None = Field(description="Of its last population: individuals that mask every outlier.")
    valid_mean_distortion: float | None = Field(
        description="Mean distortion of those; null where nothing was evolved, or none is valid."
    )
    added_swaps: int = Field(
        description="Number of swaps added to meet every bound, where no individual met them by itself."
    )


class FitnessByGeneration(Contract):
    """Fitness of one run's population, generation by generation, the first one drawn at random."""

    best: tuple[float, ...] = Field(description="Greatest fitness of each generation.")
    mean: tuple[float, ...] = Field(description="Mean fitness of each generation.")
    spread: tuple[float, ...] = Field(description="Standard deviation of the fitness in each generation.")


class AttackAfterSwaps(Contract):
    """The attack on the protected file."""

    rule_count: int = Field(description="Number of rules that were learned.")
    signal: tuple[float, ...] = Field(description="Auxiliary signal (summed grades) of the protected file.")
    crisp_signal: tuple[float, ...] = Field(description="Records whose grade is at least `min_membership`.")
    outliers: tuple[int, ...] = Field(description="Of the signal: indexes of regions.")
    detected: tuple[int, ...] = Field(description="Masked regions that are outliers still, or again.")


class SignalCheck(SignalStanding):
    """One signal of the profile of the rules, on the protected file, and what it states about the masked regions."""

    precision: float = Field(
        description="Share of masked regions among as many of its highest, or of its lowest: the greater."
    )


class AttackAgain(Contract):
    """The attack again: with the rules that were masked against, their profile, and with new rules."""

    old_rules: AttackAfterSwaps = Field(description="With the rules that were masked against.")
    new_rules: AttackAfterSwaps | None = Field(description="With rules learned afterwards; null: there are none.")
    new_rules_source: str = Field(description="Source of the new rules, or the reason why there are none.")
    profile: tuple[SignalCheck, ...] = Field(
        description="What the old rules see, by grade, by number of fitting rules and by the most confident ones."
    )
    new_profile: tuple[SignalCheck, ...] = Field(
        description="What the new rules see likewise, whatever it is; empty: there are none."
    )
    classifiers: tuple[ClassifierReport, ...] = Field(
        description="What classifiers trained on the auxiliary data see, whatever it is; empty where nothing is "
        "learned again, or none could be trained (warning `classifiers_not_trained`)."
    )


class MaskedGroup(Contract):
    """A further group that the same exchanges mask."""

    model_job_id: str = Field(description="The job that its rules are of.")
    rule_count: int = Field(description="Number of rules that were learned.")
    members: int = Field(description="Number of members of the fuzzy group.")
    signal_kind: SignalKind = Field(description="Signal of the job whose regions were masked.")
    masked_regions: tuple[int, ...] = Field(description="Indexes of the regions that were to be masked.")
    bounds: tuple[tuple[int | None, int | None], ...] = Field(description="[at least, at most] of them.")
    signal_before: tuple[int, ...] = Field(description="Its crisp auxiliary signal in the dataset.")
    signal_after: tuple[int, ...] = Field(description="Signal of the release.")
    outliers_before: tuple[int, ...] = Field(description="Outliers of the signal before the swaps.")
    outliers_after: tuple[int, ...] = Field(description="Outliers of the signal after the swaps.")
    valid: bool = Field(description="No outlier that was to be masked is one now.")


class RegionalChange(Contract):
    """How far the exchanges move a statistic of a column, region by region."""

    column: str = Field(description="A column of the metric.")
    statistic: Literal["mean", "shares"] = Field(
        description="The mean of a number, its change in standard deviations of the column over all records in range; "
        "or the shares of the categories, their change as the share of records that would have to change theirs."
    )
    largest_change: float = Field(description="Largest change over all regions.")
    region_index: int = Field(description="Index of the region where it is, from 0.")
    mean_before: float | None = Field(description="Mean of that region before the exchanges; null of shares.")
    mean_after: float | None = Field(description="Mean of that region after the exchanges; null of shares.")
    median_change: float = Field(description="Median change over the regions that exchanged a record.")


class RegionalUtility(Contract):
    """Whether the original and the protected file give like results, region by region; of records in range."""

    exchanged_regions: int = Field(description="Number of regions that exchanged a record.")
    columns: tuple[RegionalChange, ...] = Field(description="By column of the metric, the largest change first.")
    altered_values: int = Field(
        description="Number of attribute values that differ between partners, over all exchanges."
    )
    share_altered: float = Field(description="Those, as a share of the attribute values of all records, from 0 to 1.")


class SwapsResult(ProtectionResult):
    """Result of a `swaps` job; restricted to its owner."""

    method: Literal["swaps"] = Field(default="swaps", description="Method of the job that has this result.")
    records: int = Field(description="Number of records of the dataset.")
    in_range: int = Field(description="Number of records that could be swapped.")
    excluded: ExcludedRecords = Field(description="Records that could not be swapped, by reason.")
    members: int = Field(description="Records of the fuzzy group.")
    swap_count: int = Field(description="Number of exchanges that mask regions.")
    distortion: float = Field(description="How far the partners are apart, over all these exchanges.")
    assignment_distortion: float = Field(
        description="Least possible for as many moves from each region and set of grades: a lower bound, whatever "
        "the number of rules that fit. Of several groups: the value of the linear program over all exchanges."
    )
    members_distortion: float = Field(
        description="Least distortion that masks the members alone, at the model's alpha, as in the paper."
    )
    distortion_ratio: float | None = Field(
        description="`distortion` divided by `members_distortion`: 1.6 is aimed at. Null where that is 0."
    )
    decoys: int = Field(description="Exchanges between unmasked regions; fewer than specified where members run out.")
    decoy_distortion: float = Field(description="How far their partners are apart.")
    protected_alphas: tuple[float, ...] = Field(
        description="Alphas that were masked; the model's alone where a region is raised, which only members can do."
    )
    fitness: float | None = Field(description="Of the run that was taken; null where nothing was evolved.")
    valid: bool = Field(
        description="No masked region is an outlier of the group's own signals; where they lie in each signal of the "
        "profile, and in all of them together, is as by chance. Where the members alone are masked: no outlier that "
        "was to be masked is one now, of any group."
    )
    findings: tuple[Finding, ...] = Field(
        description="Where that is not so: which signal shows it, and which region, by its index. That given "
        "bounds set regions low is a finding too, of low severity, which leaves `valid` as it is."
    )
    more_groups: tuple[MaskedGroup, ...] = Field(description="Results for `more_model_job_ids`, in their order.")
    signal_kind: SignalKind = Field(description="Signal that is masked: numbers of members, or shares of regions.")
    utility: RegionalUtility = Field(description="What the exchanges do to statistics by region.")
    regions: tuple[tuple[CellValue, ...], ...] = Field(
        description="The regions: signals are in their order, outliers are indexes into them, from 0."
    )
    region_sizes: tuple[int, ...] = Field(description="Records of each region, before and after.")
    masked_regions: tuple[int, ...] = Field(description="Indexes of the regions that were to be masked.")
    bounds: tuple[tuple[int | None, int | None], ...] = Field(description="[at least, at most] of the masked ones.")
    signal_before: tuple[int, ...] = Field(description="Crisp auxiliary signal of the dataset.")
    signal_after: tuple[int, ...] = Field(description="Crisp auxiliary signal of the release.")
    outliers_before: tuple[int, ...] = Field(description="Outliers of the signal before the swaps.")
    outliers_after: tuple[int, ...] = Field(description="Outliers of the signal after the swaps.")
    runs: tuple[SwapRun, ...] = Field(description="Results of each run of the search.")
    fitness_by_generation: tuple[FitnessByGeneration, ...] = Field(description="Fitness of each run's population.")
    attack_again: AttackAgain = Field(description="The attack on the released data.")
    telltale_columns: dict[str, int] = Field(
        description="Published columns that depend on the region columns, and swapped records that contradict that."
    )
    swap_list: tuple[tuple[int, int], ...] = Field(description="Rows of the dataset that were exchanged, from 0.")
    swap_list_complete: bool = Field(description="False: only the first 10,000 are listed.")


class SwapsSummary(SwapsResult):
    """Result of a `swaps` job without who was exchanged, nor the course of a long search."""

    model_config = ConfigDict(json_schema_extra=may_lack("fitness_by_generation", "swap_list", "swap_list_complete"))
