"""What signals of a profile state about places that matter, as contracts have it."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from app.contracts.findings import Finding, FindingSeverity
from app.methods.microfile.spec import OutlierOptions
from workers.algorithms.groups.signals.criteria import Judge, Standing, failing, known_among
from workers.methods.microfile.attack import Places


def judge_of(options: OutlierOptions, places: tuple[int, ...], values: Places, *, low: bool = True) -> Judge:
    """How places are judged that must not stand out; those that an expert excludes are not compared."""
    known = known_among(values.known(options.ignore), places)
    return Judge(places, known, options.significance_level, options.robust, low, options.test)


def standing_fields(standing: Standing, places: tuple[int, ...]) -> dict[str, Any]:
    """Fields of `SignalStanding`; figures of the places are null where there are none."""
    signal = standing.signal
    figures = ("auc", "auc_deviation", "highest", "highest_deviation", "lowest", "lowest_deviation")
    return {
        "name": signal.name,
        "alpha": signal.alpha,
        "rules": signal.rules,
        "outliers": standing.outliers.indexes,
        "detected": tuple(place for place in standing.outliers.indexes if place in places),
        "exposed": tuple(sorted(standing.exposed)),
        **{name: getattr(standing, name) if places else None for name in figures},
    }


def findings(audit: str, where: str, standings: Iterable[Standing], places: tuple[int, ...]) -> Iterator[Finding]:
    """A finding for each signal that reveals, and which places: those that stand out, else the one farthest out."""
    judged = tuple(standings)
    if lying_low := sum(not one.low and not one.not_low for one in judged):
        detail = (
            f"{where}bounds that were given set places low: of {lying_low} signals they are the lowest, as by chance"
        )
        advice = " they would not be; `mask: outliers` lets them be like others"
        yield Finding(
            audit=audit, severity=FindingSeverity.LOW, detail=detail + advice, measured=float(lying_low), required=0.0
        )
    for one in failing(judged):
        rules = "" if one.signal.rules is None else f", {one.signal.rules} rules"
        signal = f"{where}`{one.signal.name}` (from grade {one.signal.alpha} on{rules})"
        if one.exposed:
            some = ", ".join(map(str, sorted(one.exposed)))
            detail = f"{signal}: places that must not stand out do: {some} among the regions, from 0"
            yield _finding(audit, detail, float(len(one.exposed)), 0.0)
        elif not one.by_chance:
            deviations = (one.auc_deviation, one.highest_deviation, -one.lowest_deviation)
            most = max(deviations, key=abs)
            values = one.signal.values[list(places)]
            place = places[int(np.argmax(values) if most > 0 else np.argmin(values))]
            detail = (
                f"{signal}: places that must not stand out are together as by chance they would not, "
                f"{'high' if most > 0 else 'low'}; farthest out is {place} among the regions, from 0"
            )
            yield _finding(audit, detail, abs(most), 2.5)


def _finding(audit: str, detail: str, figure: float, limit: float) -> Finding:
    advice = "; aggregate regions, mask fewer of them, or drop columns that the rules read"
    return Finding(audit=audit, severity=FindingSeverity.HIGH, detail=detail + advice, measured=figure, required=limit)
