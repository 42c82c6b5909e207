"""What the audit `table` demands and finds: each demand with what was measured, and what a steward must know anyway."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from app.contracts.findings import Finding, MeasuredDemand, Severity
from app.contracts.table_results import TableResult
from app.contracts.tables import TableSpec

Measure = Callable[[TableResult], float | None]


def _sensitive(field: str) -> Measure:
    return lambda found: max((float(getattr(one, field)) for one in found.sensitive), default=None)


def _enhanced(found: TableResult) -> float | None:
    """The beta for which enhanced likeness holds; infinite where none does."""
    if found.beta is None:
        return None
    return found.beta.basic if found.beta.enhanced_holds else float("inf")


def _population_uniques(found: TableResult) -> float | None:
    if found.population_uniques is None:
        return None
    estimates = (found.population_uniques.pitman, found.population_uniques.zayatz)
    return max((one for one in estimates if one is not None), default=None)


#: Demand -> what is measured against it.
MEASURES: Final[Mapping[str, Measure]] = {
    "k": lambda found: found.k,
    "l": lambda found: None if found.l is None else found.l.distinct,
    "entropy_l": lambda found: None if found.l is None else found.l.entropy,
    "alpha": lambda found: found.alpha,
    "t": lambda found: None if found.t is None else found.t.value,
    "delta": lambda found: found.delta_disclosure,
    "beta": lambda found: None if found.beta is None else found.beta.basic,
    "enhanced_beta": _enhanced,
    "unique": lambda found: found.unique,
    "sample_uniques": lambda found: found.sample_uniques.records / found.records,
    "dis_suda": lambda found: found.special_uniques.highest_risk or 0.0,
    "prosecutor": lambda found: found.risk.prosecutor.highest,
    "journalist": lambda found: found.risk.journalist.highest,
    "marketer": lambda found: found.risk.marketer.average,
    "population_k": lambda found: found.population_k,
    "population_uniques": _population_uniques,
    "region_population": lambda found: None if found.regions is None else found.regions.least,
    "share_certain": _sensitive("share_certain"),
    "sensitive_cells": lambda found: sum(one.failing for one in found.sums),
}
#: Demands that are met from a number on; all others up to one.
_AT_LEAST: Final = frozenset({"k", "l", "entropy_l", "population_k", "region_population"})
#: Rounding of sums of shares.
_SLACK: Final = 1e-9


def demanded(
    spec: TableSpec, found: TableResult, recursive: float | None
) -> tuple[dict[str, MeasuredDemand], list[Finding]]:
    """Each demand with what was measured, and a finding for each that is not met.

    Parameters
    ----------
    spec : with `require`.
    found : what was measured.
    recursive : the c above which the table is recursively diverse for the l that is required; None: not asked.
    """
    demands: dict[str, MeasuredDemand] = {}
    failed = []
    for name in spec.demanded:
        figure, limit = _figure(name, spec, found, recursive)
        met = figure is not None and _met(name, figure, limit)
        demands[name] = MeasuredDemand(required=limit, measured=_finite(figure), met=met)
        if not met:
            failed.append(_failed(name, figure, limit))
    return demands, failed


def _finite(figure: float | None) -> float | None:
    return figure if figure is not None and math.isfinite(figure) else None


def _figure(name: str, spec: TableSpec, found: TableResult, recursive: float | None) -> tuple[float | None, float]:
    if name == "recursive" and spec.require is not None and spec.require.recursive is not None:
        return recursive, spec.require.recursive.c
    return MEASURES[name](found), float(getattr(spec.require, name))


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
    return Finding(audit="table", severity=Severity.HIGH, detail=detail, figure=finite, limit=limit)


def noticed(spec: TableSpec, found: TableResult) -> Iterator[Finding]:
    """What a steward must know although nobody demanded it; what was demanded is answered there."""
    asked = set(spec.demanded)
    if found.unique and not asked & {"k", "unique"}:
        share = found.unique / found.records
        yield Finding(
            audit="table",
            severity=Severity.HIGH if share >= 0.05 else Severity.MEDIUM,
            detail=f"{share:.1%} of the records are alone in their class: who knows these columns has found them",
            figure=share,
            limit=0.0,
        )
    for one in found.sensitive:
        if one.share_certain > 0.0 and "share_certain" not in asked and "l" not in asked:
            yield Finding(
                audit="table",
                severity=Severity.MEDIUM,
                detail=f"{one.share_certain:.1%} of the records are in classes with a single value of {one.column!r}: "
                "it is learned without finding the record",
                figure=one.share_certain,
                limit=0.0,
            )
    failing = sum(one.failing for one in found.sums)
    if failing and "sensitive_cells" not in asked:
        yield Finding(
            audit="table",
            severity=Severity.MEDIUM,
            detail=f"{failing} cells of the sums let a contributor compute another's share: merge or suppress them",
            figure=float(failing),
            limit=0.0,
        )


def verdict(found: TableResult) -> str:
    """The whole in one sentence."""
    whose = "records" if found.k == found.k_records else "persons"
    told = f"Who knows {_listed(found.quasi_identifiers)} of a person finds "
    if found.k > 1:
        told += f"at least {found.k} {whose} that could be theirs"
    else:
        told += f"a single person's records, for {found.unique / found.records:.1%} of the records no other one"
    certain = [one for one in found.sensitive if one.share_certain > 0.0]
    if certain:
        worst = max(certain, key=lambda one: one.share_certain)
        told += f", and learns {worst.column} of {worst.share_certain:.1%} without finding the record"
    elif found.l is not None:
        told += f", and is left with at least {found.l.distinct} values to guess"
    failed = [name for name, demand in found.demands.items() if not demand.met]
    if found.passed is not None:
        told += (
            f"; {_listed(failed)} {'fails' if len(failed) == 1 else 'fail'} what is required"
            if failed
            else ("; all that is required is met")
        )
    return f"{told}."


def _listed(names: list[str] | tuple[str, ...]) -> str:
    shown = list(names[:5]) + ([f"{len(names) - 5} more"] if len(names) > 5 else [])
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
