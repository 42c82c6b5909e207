"""Runs of one evolution in parts: when they are worth processes of their own, and what parts hand on."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from app.methods.group.spec import EvolutionSearch, GroupSpec
from surebox_core.types import BoolArray
from workers.algorithms.groups.rules.fuzzified import Fuzzified
from workers.algorithms.groups.rules.generality import Kept
from workers.algorithms.groups.rules.rules import evaluate
from workers.methods.context import JobPart
from workers.methods.microfile.rule_search import denominator_floor

#: Judging one rule on one record takes about this long where few records are alike, by benchmarks/group_attack.py.
_SECONDS: Final = 5e-10


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
