"""The result of the job `swaps`; all of it is restricted to its owner, for it names exchanged records and places."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from app.methods.group.spec import SignalKind
from app.methods.microfile.attacks import ClassifierReport
from app.methods.swaps.result import (
    LISTED_SWAPS,
    AttackAfterSwaps,
    AttackAgain,
    FitnessByGeneration,
    MaskedGroup,
    RegionalChange,
    RegionalUtility,
    SignalCheck,
    SwapRun,
    SwapsResult,
)
from app.methods.swaps.spec import SwapsSpec
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.rules.rules import Rules
from workers.algorithms.groups.signals.criteria import Standing
from workers.algorithms.groups.signals.families import Families
from workers.algorithms.groups.signals.signals import signals
from workers.algorithms.groups.swaps.effect import after, together
from workers.algorithms.groups.swaps.problem import Problem, Swaps
from workers.algorithms.groups.swaps.regional import regional_changes
from workers.algorithms.groups.swaps.restrictions import Restriction
from workers.methods.microfile.attack import in_kind, stand_out
from workers.methods.microfile.microfile import Microfile
from workers.methods.microfile.standings import findings, standing_fields
from workers.methods.swaps.hiding import Hiding, exchanged_codes
from workers.methods.swaps.mask import Masking, metric_of
from workers.methods.swaps.search import Ran, Run
from workers.methods.swaps.setting import OtherGroup

#: Searches with more generations, all runs together, are reported in the whole result only, not in the job's summary.
SUMMARY_GENERATIONS: Final = 2_000


@dataclass(frozen=True, slots=True)
class View:
    """What some rules see: the grades of the in-range records.

    Attributes
    ----------
    rules : how they were found is said elsewhere.
    membership : (N,).
    families : their counts.
    """

    rules: Rules
    membership: FloatArray
    families: Families


@dataclass(frozen=True, slots=True)
class Swapped:
    """All that the report is made from.

    Attributes
    ----------
    microfile : the in-range records before.
    hiding : the regions to mask.
    problem, ran, bound : the search, what every run came to, and what the same numbers cost at least.
    decoys : swaps between unmasked places.
    others : further groups.
    values : (N, A), attributes of the in-range records, categories first, as the metric takes them.
    letter : the cheapest swaps that mask the members alone.
    old, new : what the rules see that were masked against, and those learned anew.
    learned : how the latter were found, or why there are none.
    classifiers : what they see.
    inconsistent_dependencies : published columns that betray swaps.
    """

    microfile: Microfile
    hiding: Hiding
    problem: Problem
    ran: Ran
    decoys: Swaps
    others: tuple[OtherGroup, ...]
    values: FloatArray
    bound: float
    letter: Swaps
    old: View
    new: View | None
    learned: str
    classifiers: tuple[ClassifierReport, ...]
    inconsistent_dependencies: Mapping[str, int]

    @property
    def masking(self) -> Masking:
        """Places and bounds as the specification has them."""
        return self.hiding.masking

    @property
    def region(self) -> IntArray:
        """(N,), submicrofile of each in-range record after."""
        return exchanged_codes(self.microfile.region, self.ran.chosen.swaps, self.decoys)


def result(spec: SwapsSpec, alpha: float, kind: SignalKind, done: Swapped) -> dict[str, Any]:
    """The whole result."""
    before, chosen = done.problem.crisp, done.ran.chosen.swaps
    crisp = after(done.problem, together((chosen, done.decoys)))
    sizes = np.bincount(done.region, minlength=len(before))
    outliers = stand_out(in_kind(crisp, sizes, kind), spec.outliers, done.masking.excluded)
    standings, groups = _standings(done, done.old), tuple(_masked(spec, done, one) for one in done.others)
    made = SwapsResult(
        records=len(done.microfile.rows) + done.microfile.left_out.records,
        in_range=len(done.microfile.rows),
        excluded=done.microfile.left_out,
        members=int(before.sum()),
        swap_count=len(done.ran.chosen.swaps.source),
        distortion=done.ran.chosen.swaps.distortion,
        assignment_distortion=done.bound,
        members_distortion=done.letter.distortion,
        distortion_ratio=chosen.distortion / done.letter.distortion if done.letter.distortion > 0.0 else None,
        decoys=len(done.decoys.source),
        decoy_distortion=done.decoys.distortion,
        protected_alphas=tuple(one for one in done.hiding.alphas if one in {alpha, *spec.protected_alphas}),
        fitness=done.ran.chosen.fitness,
        valid=done.hiding.is_valid(done.problem, chosen, done.decoys) and all(one.valid for one in groups),
        findings=() if done.hiding.letter else tuple(findings("swaps", "", standings, done.hiding.masked)),
        more_groups=groups,
        signal_kind=kind,
        utility=_utility(spec, done),
        regions=done.microfile.regions,
        region_sizes=_whole(sizes),
        masked_regions=done.hiding.masked,
        bounds=_bounds(done.problem.restrictions),
        signal_before=_whole(before),
        signal_after=_whole(crisp),
        outliers_before=done.masking.before.indexes,
        outliers_after=outliers.indexes,
        runs=tuple(_run(done, one) for one in done.ran.runs),
        fitness_by_generation=tuple(_generations(one.history) for one in done.ran.runs if len(one.history)),
        attack_again=_attack_again(spec, alpha, kind, done, standings),
        telltale_columns=dict(done.inconsistent_dependencies),
        swap_list=tuple(_pairs(done)[:LISTED_SWAPS]),
        swap_list_complete=len(chosen.source) + len(done.decoys.source) <= LISTED_SWAPS,
    )
    return made.model_dump(mode="json")


def _attack_again(
    spec: SwapsSpec, alpha: float, kind: SignalKind, done: Swapped, standings: tuple[Standing, ...]
) -> AttackAgain:
    """What old and new rules and classifiers see of the protected file; `standings` are the old rules'."""
    return AttackAgain(
        old_rules=_again(spec, alpha, kind, done, done.old),
        new_rules=None if done.new is None else _again(spec, alpha, kind, done, done.new),
        new_rules_source=done.learned,
        profile=tuple(_look(standings, done)),
        new_profile=() if done.new is None else tuple(_look(_standings(done, done.new), done)),
        classifiers=done.classifiers,
    )


def _standings(done: Swapped, view: View) -> tuple[Standing, ...]:
    return done.hiding.standings(done.ran.chosen.swaps, done.decoys, by=view.families)


def _look(standings: tuple[Standing, ...], done: Swapped) -> Iterator[SignalCheck]:
    for one in standings:
        yield SignalCheck(**standing_fields(one, done.hiding.masked), precision=max(one.highest, one.lowest))


def _run(done: Swapped, run: Run) -> SwapRun:
    return SwapRun(
        swap_count=len(run.swaps.source),
        distortion=run.swaps.distortion,
        fitness=run.fitness,
        valid=done.hiding.is_valid(done.problem, run.swaps),
        valid_share=run.valid_share,
        valid_mean_distortion=run.valid_distortion,
        added_swaps=run.added_swaps,
    )


def _masked(spec: SwapsSpec, done: Swapped, group: OtherGroup) -> MaskedGroup:
    """What became of a further group."""
    codes, places = (done.microfile.region, done.region), len(done.problem.crisp)
    before, now = (np.bincount(each[group.member], minlength=places) for each in codes)
    sizes = np.bincount(done.region, minlength=places)
    outliers = stand_out(in_kind(now, sizes, group.kind), spec.outliers, group.masking.excluded)
    return MaskedGroup(
        model_job_id=group.id,
        rule_count=group.rules,
        members=int(group.member.sum()),
        signal_kind=group.kind,
        masked_regions=tuple(one.element for one in group.masking.restrictions),
        bounds=_bounds(group.masking.restrictions),
        signal_before=_whole(before),
        signal_after=_whole(now),
        outliers_before=group.masking.before.indexes,
        outliers_after=outliers.indexes,
        valid=group.masking.hidden.isdisjoint(outliers.order),
    )


def _utility(spec: SwapsSpec, done: Swapped) -> RegionalUtility:
    """Statistics of both files by region (TC: the task's second demand), and how much is altered."""
    metric, values = metric_of(spec), done.values
    swaps = together((done.ran.chosen.swaps, done.decoys))
    names = [] if spec.metric is None else [*spec.metric.categorical, *spec.metric.ordinal]
    moved = np.concatenate([swaps.source_row, swaps.partner_row])
    changes = regional_changes(
        values, len(metric.categorical), done.microfile.region, done.region, moved, len(done.problem.crisp)
    )
    altered = int(np.count_nonzero(values[swaps.source_row] != values[swaps.partner_row]))
    records = len(done.microfile.rows) + done.microfile.left_out.records
    columns = [
        RegionalChange(column=name, statistic="mean" if one.mean_before is not None else "shares", **asdict(one))
        for name, one in zip(names, changes, strict=True)
    ]
    return RegionalUtility(
        exchanged_regions=len(np.unique(done.microfile.region[moved])),
        columns=tuple(sorted(columns, key=lambda one: -one.largest_change)),
        altered_values=altered,
        share_altered=altered / (values.shape[1] * records),
    )


def _pairs(done: Swapped) -> list[tuple[int, int]]:
    """Rows of the dataset that exchange their regions, decoys after the others."""
    swaps, rows = together((done.ran.chosen.swaps, done.decoys)), done.microfile.rows
    return list(zip(rows[swaps.source_row].tolist(), rows[swaps.partner_row].tolist(), strict=True))


def _again(spec: SwapsSpec, alpha: float, kind: SignalKind, done: Swapped, view: View) -> AttackAfterSwaps:
    seen = signals(done.region, len(done.problem.crisp), None, view.membership, alpha)
    signal = in_kind(seen.auxiliary, seen.sizes, kind)
    outliers = stand_out(signal, spec.outliers, done.masking.excluded)
    masked = set(done.hiding.masked)
    return AttackAfterSwaps(
        rule_count=len(view.rules),
        signal=tuple(float(value) for value in signal),
        crisp_signal=tuple(float(value) for value in in_kind(seen.crisp, seen.sizes, kind)),
        outliers=outliers.indexes,
        detected=tuple(place for place in outliers.indexes if place in masked),
    )


def _generations(history: FloatArray) -> FitnessByGeneration:
    best, mean, spread = (tuple(column.tolist()) for column in history.T)
    return FitnessByGeneration(best=best, mean=mean, spread=spread)


def _bounds(restrictions: Iterable[Restriction]) -> tuple[tuple[int | None, int | None], ...]:
    return tuple((one.bound, None) if one.raises else (None, one.bound) for one in restrictions)


def _whole(values: IntArray) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def summary(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The result without who was exchanged, and without the course of a long search."""
    hidden = {"swap_list", "swap_list_complete"}
    if sum(len(run["best"]) for run in whole["fitness_by_generation"]) > SUMMARY_GENERATIONS:
        hidden.add("fitness_by_generation")
    return {name: value for name, value in whole.items() if name not in hidden}


def learned_text(spec: SwapsSpec, search: str) -> str:
    """How rules were found anew (by which search), or why not."""
    if search:
        return (
            f"what the adversary can do: the search of the model's own job ({search}) again, on the auxiliary dataset "
            "and from another seed; its rules were then applied to the protected file"
        )
    if not spec.learn_again:
        return "not requested"
    return "not possible: the model was given, and with it nothing that new rules could be learned from"
