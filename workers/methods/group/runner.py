"""Runner of `group`: rules learned from one microfile, outlier regions found in another."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.jobs import JobProgress, JobStage
from app.methods.group.spec import EvolutionSearch, GroupLikeness, GroupSpec, UnreachedTerm
from surebox_core.types import BoolArray
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.generality import Kept
from workers.algorithms.groups.rules.rules import evaluate
from workers.frames.harmonised import column_names, sources
from workers.methods.context import JobContext, JobPart
from workers.methods.group import report as groups_report
from workers.methods.microfile.attack import attack, check_auxiliary, no_records, vital_of
from workers.methods.microfile.microfile import Microfile, Wanted, fuzzified, read
from workers.methods.microfile.rule_search import Search, denominator_floor, evolved, search_for, warm_search
from workers.methods.outcome import Outcome
from workers.methods.protocol import Arrays

#: Share of the whole job that is spent before the search and up to its end.
_READ, _SEARCHED = 0.05, 0.9
#: Judging one rule on one record takes about this long where few records are alike, by benchmarks/group_attack.py.
_SECONDS: Final = 5e-10


@dataclass(frozen=True, slots=True)
class Attacking:
    """State of the work.

    Attributes
    ----------
    auxiliary : who is in range there.
    target, seen : the attacked data, and as the rules see it.
    likeness : of the two; None where they are one.
    search : the search for rules on the auxiliary microfile.
    """

    spec: GroupSpec
    auxiliary: Microfile
    target: Microfile
    seen: Fuzzified
    unreached: tuple[UnreachedTerm, ...]
    likeness: GroupLikeness | None
    search: Search


class GroupRunner:
    """Learns rules, applies them, and reports which regions stand out."""

    #: Of what checkpoints contain.
    algorithm = 1

    def warm(self) -> None:
        """Run a few made-up records through both searches and the attack."""
        warm_search()

    def init(self, job: JobContext) -> Attacking:
        """Read both microfiles and begin to search.

        Raises
        ------
        InfeasibleError
            What follows from the records alone.
        """
        reading = _read(job)
        runs = runs_of(reading.spec, job.part)
        vital = vital_of(reading.auxiliary)
        return _attacking(
            reading, search_for(reading.spec, reading.seen, vital, rng=job.rng, runs=runs, threads=job.threads)
        )

    def parts(self, state: Attacking, job: JobContext, *, processes: int) -> int:
        """Runs of a long evolution are computed apart."""
        seconds = job.limits.split_seconds
        return part_count(
            state.spec, records=len(state.auxiliary.rows), processes=processes, threads=job.threads, seconds=seconds
        )

    def join(self, job: JobContext, parts: Sequence[Mapping[str, Any]]) -> Attacking:
        """The evolution again, as if all its runs had been computed here."""
        reading = _read(job)
        vital = vital_of(reading.auxiliary)
        job.tick(_READ, "rules")
        kept = merge_parts(parts, reading.seen, vital, reading.spec, threads=job.threads)
        return _attacking(reading, evolved(kept))

    def step(self, state: Attacking, job: JobContext) -> Attacking:  # noqa: ARG002 - runs have their own generators
        """Advance the search."""
        return replace(state, search=state.search.step())

    def done(self, state: Attacking) -> bool:
        """Whether the search has ended."""
        return state.search.done

    def progress(self, state: Attacking) -> JobProgress:
        """Stage of the search."""
        stage, share = state.search.progress
        return JobProgress(fraction=_READ + (_SEARCHED - _READ) * share, stage=stage)

    def finish(self, state: Attacking, job: JobContext) -> Outcome:
        """Apply the rules and report; there is no release. A part hands on its rules only."""
        ruleset = state.search.result()
        if job.part is not None and state.search.kept is not None:
            return Outcome(summary={}, result=dump_part(state.search.kept))
        made = attack(
            state.target, state.seen, ruleset.rules, state.spec.min_membership, tick=_ticking(job, "attack", _SEARCHED)
        )
        attacked = groups_report.Attacked(ruleset, state.auxiliary, state.target, made, state.unreached, state.likeness)
        whole = groups_report.result(state.spec, attacked, guard=denominator_floor(state.spec))
        return Outcome(summary=groups_report.summary(whole), result=whole)

    def pack(self, state: Attacking) -> Arrays:
        """The search's state; the microfiles are read again."""
        return state.search.pack()

    def unpack(self, job: JobContext, arrays: Arrays) -> Attacking:
        """Go on with a search."""
        reading = _read(job)
        vital = vital_of(reading.auxiliary)
        return _attacking(reading, search_for(reading.spec, reading.seen, vital, arrays=arrays, threads=job.threads))


@dataclass(frozen=True, slots=True)
class _Reading:
    spec: GroupSpec
    auxiliary: Microfile
    seen: Fuzzified
    target: Microfile
    target_seen: Fuzzified
    likeness: GroupLikeness | None


def _read(job: JobContext) -> _Reading:
    spec = job.specification(GroupSpec)
    job.tick(0.0, "read")
    shared = spec.target_dataset_id == spec.auxiliary_dataset_id and not spec.recode.target
    split = (
        (spec.split_column,) if spec.split_column is not None and spec.split_column not in spec.region_columns else ()
    )
    wanted = Wanted(spec.variables, spec.recode.auxiliary, vital=spec.conditions)
    if shared:
        wanted = replace(wanted, region_columns=spec.region_columns, categories=split)
    auxiliary = read(job.dataset_path("auxiliary_dataset_id"), wanted)
    check_auxiliary(auxiliary)
    seen = fuzzified(auxiliary, spec.variables)
    job.tick(_READ / 2, "read")
    if shared or job.part is not None:
        return _Reading(spec, auxiliary.counted(), seen, auxiliary, seen, None)
    path = job.dataset_path("target_dataset_id")
    vital = spec.conditions if _tells(path, spec) else None
    wanted = Wanted(
        spec.variables, spec.recode_of_target, vital=vital, region_columns=spec.region_columns, categories=split
    )
    target = read(path, wanted)
    if not len(target.rows):
        raise no_records("the target dataset", target, "/variables")
    likeness = groups_report.likeness(spec.variables, auxiliary, target)
    return _Reading(spec, auxiliary.counted(), seen, target, fuzzified(target, spec.variables), likeness)


def _tells(path: Path, spec: GroupSpec) -> bool:
    """Whether the target still has the columns that name the group."""
    names, recode = set(column_names(path)), spec.recode_of_target
    return all(names.issuperset(sources(one.column, recode)) for one in spec.conditions)


def _attacking(reading: _Reading, search: Search) -> Attacking:
    alpha, variables = reading.spec.min_membership, reading.spec.variables
    parts: list[tuple[Fuzzified, str]] = [(reading.seen, "auxiliary"), (reading.target_seen, "target")]
    unreached = [term for seen, name in parts for term in groups_report.unreached(variables, seen.reach(), alpha, name)]
    target = replace(reading.target, variables=())  # the rules see them as terms from here on
    return Attacking(
        reading.spec, reading.auxiliary, target, reading.target_seen, tuple(unreached), reading.likeness, search
    )


def _ticking(job: JobContext, stage: JobStage, start: float) -> Callable[[float], None]:
    return lambda share: job.tick(start + (1.0 - start) * share, stage)


def part_count(spec: GroupSpec, *, records: int, processes: int, threads: int, seconds: float) -> int:
    """Into how many parts a search is split: 1 where it takes less than `seconds` here, or is no evolution."""
    search = spec.search
    if not isinstance(search, EvolutionSearch):
        return 1
    rules = search.runs * (search.population + search.replaced * search.generations)
    return min(search.runs, processes) if rules * records * _SECONDS / threads > seconds else 1


def runs_of(spec: GroupSpec, part: JobPart | None) -> Sequence[int] | None:
    """The runs of a part: every so manieth; None for all."""
    if part is None or not isinstance(spec.search, EvolutionSearch):
        return None
    return range(part.index, spec.search.runs, part.of)


def dump_part(kept: Kept) -> dict[str, Any]:
    """What a part hands on."""
    return {"rules": kept.rules.tolist(), "evaluations": kept.evaluations}


def merge_parts(
    parts: Sequence[Mapping[str, Any]], seen: Fuzzified, vital: BoolArray, spec: GroupSpec, *, threads: int
) -> Kept:
    """The rules of all parts; metrics are computed again, for JSON has no infinity."""
    rule_sets = [np.array(each["rules"], dtype=np.int8).reshape(-1, len(seen.terms)) for each in parts]
    rules = np.unique(np.concatenate(rule_sets), axis=0)
    metrics = evaluate(seen, vital, rules, spec.min_membership, guard=denominator_floor(spec), threads=threads)
    return Kept(rules, metrics, sum(each["evaluations"] for each in parts))
