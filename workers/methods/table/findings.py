"""What the audit `table` demands and finds: each demand with its measurement, and what a steward must know anyway."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand
from app.methods.table.result import TableResult
from app.methods.table.spec import TableSpec
from app.sentences import listed

Measure = Callable[[TableResult], float | None]


def _sensitive(field: str) -> Measure:
    return lambda measured: max((float(getattr(one, field)) for one in measured.sensitive), default=None)


def _enhanced(measured: TableResult) -> float | None:
    """The beta for which enhanced likeness contains; infinite where none does."""
    if measured.beta is None:
        return None
    return measured.beta.basic if measured.beta.enhanced_holds else float("inf")


def _population_uniques(measured: TableResult) -> float | None:
    if measured.population_uniques is None:
        return None
    estimates = (measured.population_uniques.pitman, measured.population_uniques.zayatz)
    return max((one for one in estimates if one is not None), default=None)


#: Demand -> the measurement against it.
MEASURES: Final[Mapping[str, Measure]] = {
    "k": lambda measured: measured.k,
    "l": lambda measured: None if measured.l_diversity is None else measured.l_diversity.distinct,
    "entropy_l": lambda measured: None if measured.l_diversity is None else measured.l_diversity.entropy,
    "alpha": lambda measured: measured.alpha,
    "t": lambda measured: None if measured.t_closeness is None else measured.t_closeness.value,
    "delta": lambda measured: measured.delta_disclosure,
    "beta": lambda measured: None if measured.beta is None else measured.beta.basic,
    "enhanced_beta": _enhanced,
    "unique": lambda measured: measured.unique,
    "sample_uniques": lambda measured: measured.sample_uniques.records / measured.records,
    "dis_suda": lambda measured: measured.special_uniques.highest_risk or 0.0,
    "prosecutor": lambda measured: measured.risk.prosecutor.highest,
    "journalist": lambda measured: measured.risk.journalist.highest,
    "marketer": lambda measured: measured.risk.marketer.average,
    "population_k": lambda measured: measured.population_k,
    "population_uniques": _population_uniques,
    "region_population": lambda measured: None if measured.regions is None else measured.regions.smallest_region,
    "share_certain": _sensitive("share_certain"),
    "exact": lambda measured: max((one.exact for one in measured.value_disclosure.values()), default=None),
    "within": lambda measured: max((one.within or 0.0 for one in measured.value_disclosure.values()), default=None),
    "sensitive_cells": lambda measured: sum(one.sensitive_cells for one in measured.sums),
}
#: Demands that are met from a number on; all others up to one.
_AT_LEAST: Final = frozenset({"k", "l", "entropy_l", "population_k", "region_population"})
#: Share of the rows whose value everybody knows that is a finding.
_MANY_VALUES: Final = 0.05
#: Rounding of sums of shares.
_SLACK: Final = 1e-9


def demanded(
    spec: TableSpec, measured: TableResult, recursive: float | None
) -> tuple[dict[str, MeasuredDemand], list[Finding]]:
    """Each demand with its measurement, and a finding for each that is not met.

    Parameters
    ----------
    spec : with `require`.
    measured : the measurement.
    recursive : the c above which the table is recursively diverse for the l that is required; None: not requested.
    """
    demands: dict[str, MeasuredDemand] = {}
    failed = []
    for name in spec.demanded:
        figure, limit = _figure(name, spec, measured, recursive)
        met = figure is not None and _met(name, figure, limit)
        demands[name] = MeasuredDemand(required=limit, measured=_finite(figure), met=met)
        if not met:
            failed.append(_failed(name, figure, limit))
    return demands, failed


def _finite(figure: float | None) -> float | None:
    return figure if figure is not None and math.isfinite(figure) else None


def _figure(name: str, spec: TableSpec, measured: TableResult, recursive: float | None) -> tuple[float | None, float]:
    if name == "recursive" and spec.require is not None and spec.require.recursive is not None:
        return recursive, spec.require.recursive.c
    return MEASURES[name](measured), float(getattr(spec.require, name))


def _met(name: str, figure: float, limit: float) -> bool:
    if name == "recursive":
        return figure < limit
    if name in _AT_LEAST:
        return figure >= limit * (1.0 - _SLACK)
    return figure <= limit * (1.0 + _SLACK)


def _failed(name: str, figure: float | None, limit: float) -> Finding:
    finite = _finite(figure)
    shown = "no number" if finite is None else f"{finite:.6g}"
    side = "at least" if name in _AT_LEAST else "below" if name == "recursive" else "at most"
    detail = f"`{name}` is {shown}, and {side} {limit:.6g} is required"
    return Finding(audit="table", severity=FindingSeverity.HIGH, detail=detail, measured=finite, required=limit)


def noticed(spec: TableSpec, measured: TableResult, generalized: Collection[str]) -> Iterator[Finding]:
    """What a steward must know although no one demanded it; what is demanded is answered there.

    Parameters
    ----------
    spec, measured : the audit and what it measured.
    generalized : quasi-identifiers of which some cells leave more than one value.
    """
    demands = set(spec.demanded)
    yield from () if "exact" in demands else _given_away(measured, generalized)
    if measured.unique and not demands & {"k", "unique"}:
        share = measured.unique / measured.records
        yield Finding(
            audit="table",
            severity=FindingSeverity.HIGH if share >= 0.05 else FindingSeverity.MEDIUM,
            detail=f"{share:.1%} of the records are alone in their class: these columns identify them",
            measured=share,
            required=0.0,
        )
    for one in measured.sensitive:
        if one.share_certain > 0.0 and "share_certain" not in demands and "l" not in demands:
            yield Finding(
                audit="table",
                severity=FindingSeverity.MEDIUM,
                detail=f"{one.share_certain:.1%} of the records are in classes with a single value of {one.column!r}: "
                "it is learned without finding the record",
                measured=one.share_certain,
                required=0.0,
            )
    failing = sum(one.sensitive_cells for one in measured.sums)
    if failing and "sensitive_cells" not in demands:
        yield Finding(
            audit="table",
            severity=FindingSeverity.MEDIUM,
            detail=f"{failing} cells of the sums let a contributor compute another's share: merge or suppress those "
            "that `first_sensitive_cells` of `sums` lists",
            measured=float(failing),
            required=0.0,
        )


def _given_away(measured: TableResult, generalized: Collection[str]) -> Iterator[Finding]:
    """Yield a finding where cells of generalized columns leave one value of many records."""
    shares = {name: measured.value_disclosure[name].exact for name in generalized}
    often = sorted((name for name in shares if shares[name] >= _MANY_VALUES), key=lambda name: (-shares[name], name))
    if often:
        named = listed([f"{shares[name]:.1%} in {name!r}" for name in often])
        yield Finding(
            audit="table",
            severity=FindingSeverity.MEDIUM,
            detail=f"cells give away values of records whoever they are of: {named}",
            measured=shares[often[0]],
            required=0.0,
        )


def verdict(measured: TableResult) -> str:
    """The whole in a few sentences: singling out, inference, and whether the demands are met."""
    known = f"An attacker who knows {_few(measured.quasi_identifiers)} of a person"
    if measured.k > 1:
        whose = "records" if measured.k == measured.k_records else "persons"
        sentences = [f"{known} finds at least {measured.k} {whose} that could be theirs."]
    else:
        alone = measured.unique / measured.records
        sentences = [f"{known} can single out {alone:.1%} of the records."]
    certain = [one for one in measured.sensitive if one.share_certain > 0.0]
    if certain:
        worst = max(certain, key=lambda one: one.share_certain)
        sentences.append(
            f"For {worst.share_certain:.1%} of the records this reveals {worst.column} without finding the record."
        )
    elif measured.l_diversity is not None:
        sentences.append(f"At least {measured.l_diversity.distinct} values of each sensitive column remain possible.")
    failed = [f"`{name}`" for name, demand in measured.demands.items() if not demand.met]
    if failed:
        sentences.append(f"Requirements that fail: {_few(failed)}.")
    elif measured.passed is not None:
        sentences.append("All requirements are met.")
    return " ".join(sentences)


def _few(names: list[str] | tuple[str, ...]) -> str:
    return listed([*names[:5], *([f"{len(names) - 5} more"] if len(names) > 5 else [])])
