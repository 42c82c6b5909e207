"""The result of the job `group` in words and numbers; all of it is restricted to its owner, for it points to places."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from app.contracts.findings import Finding, FindingSeverity
from app.errors import InfeasibleError
from app.methods.group.spec import (
    ColumnLikeness,
    FuzzyRule,
    GroupLikeness,
    GroupRecordCounts,
    GroupResult,
    GroupSpec,
    RegionSplit,
    RegionSplitPart,
    SignalAdequacy,
    SignalKind,
    UnreachedTerm,
)
from app.methods.microfile.spec import FuzzyVariable
from surebox_core.types import FloatArray, IntArray
from workers.algorithms.groups.rules.generality import SearchOutcome
from workers.algorithms.groups.signals.adequacy import Adequacy as Judged
from workers.algorithms.groups.signals.adequacy import adequacy, from_counts
from workers.algorithms.groups.signals.likeness import by_chance, distance
from workers.algorithms.groups.signals.outliers import Outliers
from workers.methods.microfile.attack import Attack, Places, in_kind, sentence, stand_out, with_terms
from workers.methods.microfile.microfile import Microfile

#: Lists longer than this are in the whole result only, not in the job's summary.
SUMMARY_LENGTH: Final = 1_000
#: A term that so many of the rules share is worth a sentence.
_MOST: Final = 0.75


@dataclass(frozen=True, slots=True)
class Attacked:
    """All that the report is made from.

    Attributes
    ----------
    ruleset : the rules.
    auxiliary : where they were learned.
    target : the attacked data.
    attack : the rules' view of it.
    unreached : terms that no record reaches: variable, term, dataset.
    likeness : of the two microfiles; None where they are one.
    """

    ruleset: SearchOutcome
    auxiliary: Microfile
    target: Microfile
    attack: Attack
    unreached: tuple[UnreachedTerm, ...]
    likeness: GroupLikeness | None


def result(spec: GroupSpec, attacked: Attacked, *, guard: float) -> dict[str, Any]:
    """The whole result."""
    target, signals = attacked.target, attacked.attack.signals
    excluded = Places(target.regions).known(spec.outliers.ignore)
    auxiliary = stand_out(in_kind(signals.auxiliary, signals.sizes, spec.signal), spec.outliers, excluded)
    true = None
    if signals.quantity is not None:
        true = stand_out(in_kind(signals.quantity, signals.sizes, spec.signal), spec.outliers, excluded)
    made = GroupResult(
        **_judgement(attacked, auxiliary, true),
        record_counts=_records(attacked),
        rules=tuple(_rules(attacked.ruleset, spec.variables)),
        common=tuple(common(attacked.ruleset.rules, spec.variables)),
        unreached_terms=attacked.unreached,
        likeness=attacked.likeness,
        rules_over_thresholds=attacked.ruleset.over_thresholds,
        evaluation_count=attacked.ruleset.evaluations,
        search=spec.search.method,
        denominator_floor=guard,
        region_columns=spec.region_columns,
        regions=target.regions,
        region_sizes=_whole(signals.sizes),
        signal_kind=spec.signal,
        signal=None if signals.quantity is None else _shown(signals.quantity, signals.sizes, spec.signal),
        auxiliary_signal=_shown(signals.auxiliary, signals.sizes, spec.signal),
        crisp_auxiliary_signal=_shown(signals.crisp, signals.sizes, spec.signal),
        outliers=None if true is None else true.indexes,
        auxiliary_outliers=auxiliary.indexes,
        degenerate=auxiliary.degenerate or (true is not None and true.degenerate),
        adequacy=None if true is None else _judged(_adequacy(true, auxiliary, len(signals.sizes))),
        split=None if spec.split_column is None else split(spec, attacked, excluded),
    )
    return made.model_dump(mode="json")


def _judgement(attacked: Attacked, auxiliary: Outliers, true: Outliers | None) -> dict[str, Any]:
    """What the attack comes to. Nothing can be required of it, for which places matter is what it is to find out."""
    seen, rules, places = len(auxiliary.indexes), len(attacked.ruleset.rules), len(attacked.target.regions)
    learned = f"Rules that do not name the group ({rules}) point to {seen} of {places} places"
    if true is None:
        verdict, hit, severity = (
            f"{learned}; the target does not show whether this is right.",
            seen,
            FindingSeverity.MEDIUM,
        )
    else:
        hit, severity = len(set(auxiliary.indexes) & set(true.indexes)), FindingSeverity.HIGH
        verdict = f"{learned}; {hit} of the {len(true.indexes)} where the group stands out are among them."
    if not hit:
        unlike = "" if attacked.likeness is None else f" {attacked.likeness.detail}"
        return {"passed": None, "demands": {}, "findings": (), "verdict": verdict + unlike}
    remedy = "`swaps` masks places; coarser places or fewer columns show less"
    finding = Finding(
        audit="group", severity=severity, detail=f"{verdict.rstrip('.')}: {remedy}", measured=float(hit), required=0.0
    )
    return {"passed": None, "demands": {}, "findings": (finding,), "verdict": verdict}


def likeness(variables: Sequence[FuzzyVariable], auxiliary: Microfile, target: Microfile) -> GroupLikeness:
    """How far the in-range records of both files are apart, variable by variable, the least alike first."""
    chance = by_chance(len(auxiliary.rows), len(target.rows))
    ours, theirs = auxiliary.vital, target.vital
    members_chance = None
    if ours is not None and theirs is not None and ours.any() and theirs.any():
        members_chance = by_chance(int(ours.sum()), int(theirs.sum()))
    pairs = zip(with_terms(variables), auxiliary.variables, target.variables, strict=True)
    columns = sorted(
        (
            ColumnLikeness(
                column=one.column,
                distance=distance(x, y),
                by_chance=chance,
                members_distance=None if members_chance is None else distance(x[ours], y[theirs]),
                members_by_chance=members_chance,
            )
            for one, x, y in pairs
        ),
        key=lambda one: -one.distance,
    )
    unlike, worst = sum(one.distance > chance for one in columns), columns[0]
    text = (
        f"The files differ by more than chance in {unlike} of {len(columns)} variables, most in {worst.column!r} "
        f"(distance {worst.distance:.3f}, chance {chance:.3f}): rules of data more alike may see more."
        if unlike
        else f"The files do not differ by more than chance in any of {len(columns)} variables."
    )
    return GroupLikeness(columns=tuple(columns), unlike_columns=unlike, detail=text)


def summary(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The result without its longest lists."""
    return {
        name: value for name, value in whole.items() if not (isinstance(value, list) and len(value) > SUMMARY_LENGTH)
    }


def unreached(
    variables: Sequence[FuzzyVariable], reach: Sequence[FloatArray], alpha: float, dataset: Any
) -> Iterator[Any]:
    """Terms that no record reaches with a grade of alpha."""
    for variable, highest in zip(with_terms(variables), reach, strict=True):
        for term, grade in zip(variable.terms, highest, strict=True):
            if grade < alpha:
                yield UnreachedTerm(column=variable.column, term=term.name, dataset=dataset)


def common(rules: np.ndarray[Any, Any], variables: Sequence[FuzzyVariable]) -> Iterator[str]:
    """What all or most rules state, and what they all leave open, in sentences."""
    count = len(rules)
    if count < 2:
        return
    for place, variable in enumerate(with_terms(variables)):
        for number, term in enumerate(variable.terms, start=1):
            share = int(np.count_nonzero(rules[:, place] == number))
            if share == count:
                yield f"all {count} rules state that {variable.column} is {term.name}"
            elif share >= _MOST * count:
                yield f"{share} of {count} rules state that {variable.column} is {term.name}"
        if not rules[:, place].any():
            yield f"no rule asks for {variable.column}"


def _records(attacked: Attacked) -> GroupRecordCounts:
    auxiliary, target = attacked.auxiliary, attacked.target
    return GroupRecordCounts(
        auxiliary=len(auxiliary.rows),
        members=0 if auxiliary.vital is None else int(auxiliary.vital.sum()),
        target=len(target.rows),
        target_members=None if target.vital is None else int(target.vital.sum()),
        excluded={"auxiliary": auxiliary.left_out, "target": target.left_out},
    )


def _rules(ruleset: SearchOutcome, variables: Sequence[FuzzyVariable]) -> Iterator[FuzzyRule]:
    metrics = ruleset.metrics
    for place, rule in enumerate(ruleset.rules):
        terms = tuple(int(term) for term in rule)
        factor = float(metrics.relative_confidence_factor[place])
        infinite = bool(np.isinf(factor))
        yield FuzzyRule(
            terms=terms,
            text=sentence(terms, variables),
            discriminative_factor=float(metrics.discriminative_factor[place]),
            relative_confidence_factor=None if infinite else factor,
            infinite=infinite,
            support=float(metrics.support[place]),
        )


def _whole(values: IntArray) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _shown(signal: FloatArray | IntArray, sizes: IntArray, kind: SignalKind) -> tuple[float, ...]:
    return tuple(float(value) for value in in_kind(signal, sizes, kind))


def _adequacy(true: Outliers, auxiliary: Outliers, m: int) -> Judged:
    return adequacy(true.indexes, auxiliary.indexes, m)


def _judged(judged: Judged) -> SignalAdequacy:
    """The paper's FP are misses and its FN false alarms: the result names them by what they are."""
    names = {"tp": "hits", "fp": "misses", "fn": "false_alarms", "tn": "correct_rejections"}
    return SignalAdequacy(**{names.get(name, name): value for name, value in asdict(judged).items()})


def split(spec: GroupSpec, attacked: Attacked, excluded: Sequence[int]) -> RegionSplit:
    """Outliers within each value of a column, as the paper's tables 6 and 7 show them.

    Raises
    ------
    InfeasibleError
        A region is in several parts.
    """
    parts = _parts(spec, attacked.target)
    signals = attacked.attack.signals
    group: FloatArray | IntArray = signals.auxiliary if signals.quantity is None else signals.quantity
    total = float(group.sum())
    shares = {value: float(group[places].sum()) / total if total else 0.0 for value, places in parts.items()}
    shown = [
        _part(spec, attacked, (value, parts[value]), shares[value], frozenset(excluded))
        for value in parts
        if shares[value] > spec.min_split_share
    ]
    sums = _totals(shown, sum(len(parts[part.value]) for part in shown))
    known = signals.quantity is not None
    return RegionSplit(
        column=spec.split_column or "",
        min_share=spec.min_split_share,
        shown=len(shown),
        not_shown=len(parts) - len(shown),
        parts=tuple(shown),
        total=sums,
        adequacy=_judged(_from_totals(sums)) if known else None,
    )


def _part(
    spec: GroupSpec,
    attacked: Attacked,
    part: tuple[str | int | float | bool, IntArray],
    share: float,
    excluded: frozenset[int],
) -> RegionSplitPart:
    value, places = part
    signals = attacked.attack.signals
    own = [index for index, place in enumerate(places.tolist()) if place in excluded]

    def within(signal: FloatArray | IntArray) -> tuple[int, ...]:
        there = in_kind(signal[places], signals.sizes[places], spec.signal)
        return tuple(int(places[index]) for index in stand_out(there, spec.outliers, own).indexes)

    auxiliary = within(signals.auxiliary)
    true = None if signals.quantity is None else within(signals.quantity)
    return RegionSplitPart(
        value=value,
        group_share=share,
        outliers=true,
        misses=None if true is None else tuple(place for place in true if place not in auxiliary),
        auxiliary_outliers=auxiliary,
        false_alarms=None if true is None else tuple(place for place in auxiliary if place not in true),
    )


def _totals(shown: Sequence[RegionSplitPart], m: int) -> dict[str, int | None]:
    known = all(part.outliers is not None for part in shown)

    def total(field: str) -> int:
        return sum(len(getattr(part, field) or ()) for part in shown)

    return {
        "regions": m,
        "outliers": total("outliers") if known else None,
        "misses": total("misses") if known else None,
        "auxiliary_outliers": total("auxiliary_outliers"),
        "false_alarms": total("false_alarms") if known else None,
    }


def _from_totals(sums: Mapping[str, int | None]) -> Judged:
    misses, false_alarms = sums["misses"] or 0, sums["false_alarms"] or 0
    hits = (sums["outliers"] or 0) - misses
    return from_counts(hits, misses, false_alarms, (sums["regions"] or 0) - hits - misses - false_alarms)


def _parts(spec: GroupSpec, target: Microfile) -> dict[str | int | float | bool, IntArray]:
    """Regions by the part that they are in."""
    if spec.split_column in spec.region_columns:
        column = spec.region_columns.index(spec.split_column)
        of_value = [value[column] for value in target.regions]
    else:
        codes = _only_code(target)
        of_value = [target.category_values[0][code] if code >= 0 else "" for code in codes.tolist()]
    places_by_value: dict[str | int | float | bool, list[int]] = {}
    for place, value in enumerate(of_value):
        places_by_value.setdefault(value, []).append(place)
    return {value: np.array(places, dtype=np.int64) for value, places in places_by_value.items()}


def _only_code(target: Microfile) -> IntArray:
    codes = np.full(len(target.regions), -1, dtype=np.int64)
    column = target.categories[:, 0]
    np.maximum.at(codes, target.region, column)
    several = int(np.count_nonzero((column >= 0) & (codes[target.region] != column)))
    if several:
        detail = "some regions are in several parts: name a column that each of them has one value of"
        raise InfeasibleError.at("/split_column", detail)
    return codes
