"""Runner of the audit `determination`: what boxes and kept columns of releases give away, one by one."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.contracts.gate import DeterminationDemands
from app.contracts.inputs import listed
from app.methods.determination.spec import DeterminationResult, DeterminationSpec, DeterminedRelease
from workers.algorithms.tables.homogeneity import homogeneity
from workers.methods.context import JobContext
from workers.methods.determination.measuring import determined, read
from workers.methods.outcome import Outcome

MEANING: Final = {
    "share_single_value": "A cell that contains one value only (a whole number, a day, a set of one) shows it.",
    "mean_values": "How many values a cell leaves on average.",
    "share_certain": "Rows of a box that all have one kept value: anyone who knows a person's box learns it.",
    "share_nearly_certain": "The same where nine of ten rows have it.",
    "t_closeness": "The distance between the kept values of a box and of the whole release: 0 is no difference.",
    "attribution": "How often a guess drawn from a person's box is right; `baseline` is a guess without the box.",
}
#: Above this share a finding that no one demanded is more than a remark.
_MUCH: Final = 0.05
#: Rounding of shares.
_SLACK: Final = 1e-12


class DeterminationRunner:
    """Measures what releases give away."""

    def warm(self) -> None:
        """Measure a few made-up rows."""
        homogeneity(np.array([0, 0, 1]), np.array([0, 1, 1]))

    def run(self, job: JobContext) -> Outcome:
        """Read the releases, measure one after the other, and report; there is no release."""
        job.tick(0.0, "read")
        spec = job.specification(DeterminationSpec)
        releases = [read(job, role) for role in listed(job.releases, "release_ids")]
        measured = []
        for index, one in enumerate(releases):
            job.tick(0.1 + 0.8 * index / len(releases), "boxes")
            measured.append(determined(one, spec.value_step))
        made = result(spec, measured).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def result(spec: DeterminationSpec, measured: Sequence[DeterminedRelease]) -> DeterminationResult:
    """The job's result."""
    findings = tuple(_findings(spec.require, measured))
    demands = dict(_demands(spec.require, measured))
    worst = max(findings, key=lambda one: one.measured or 0.0, default=None)
    many = f"The {len(measured)} releases" if len(measured) > 1 else "The release"
    verdict = f"{many} give{'' if len(measured) > 1 else 's'} no value away." if worst is None else f"{worst.detail}."
    return DeterminationResult(
        releases=tuple(measured),
        passed=all_met(demands),
        demands=demands,
        findings=findings,
        verdict=verdict,
        meaning=MEANING,
    )


def _demands(
    require: DeterminationDemands | None, measured: Sequence[DeterminedRelease]
) -> Iterator[tuple[str, MeasuredDemand]]:
    """Each demand, with the worst of all columns of all releases; where there are none nothing is given away."""
    for name in () if require is None else DeterminationDemands.model_fields:
        limit = getattr(require, name)
        if limit is not None:
            parts = [part for release in measured for part in (*release.columns, *release.kept_columns)]
            figure = "t_closeness" if name == "t" else name
            worst = max((getattr(part, figure) for part in parts if hasattr(part, figure)), default=0.0)
            yield name, MeasuredDemand(required=limit, measured=worst, met=worst <= limit + _SLACK)


def _findings(require: DeterminationDemands | None, measured: Sequence[DeterminedRelease]) -> Iterator[Finding]:
    for release in measured:
        for column in release.columns:
            what = (
                f"of the cells of {column.column!r} in {release.release_id} show a value; a larger `k` leaves more, "
                "and `min_width` of numbers"
            )
            yield from _judged("share_single_value", column.share_single_value, what, require)
        for kept in release.kept_columns:
            where = f"in {release.release_id}"
            certain = f"of the rows {where} are in boxes with one value of {kept.column!r}; `l` asks for several"
            yield from _judged("share_certain", kept.share_certain, certain, require)
            nearly = (
                f"of the rows {where} have a box that reveals {kept.column!r} with probability 0.9; `alpha` bounds it"
            )
            yield from _judged("share_nearly_certain", kept.share_nearly_certain, nearly, require, silent=True)
            far = f"is how far a box {where} is from the whole in {kept.column!r}; `t` bounds it"
            yield from _judged("t", kept.t_closeness, far, require, silent=True)


def _judged(
    name: str, figure: float, what: str, require: DeterminationDemands | None, *, silent: bool = False
) -> Iterator[Finding]:
    """A finding where a figure is above the requirement; where nothing is, above 0, unless that is to be expected."""
    limit = None if require is None else getattr(require, name)
    if limit is None and (require is not None or silent):
        return
    if figure > (limit or 0.0) + _SLACK:
        shown = f"{figure:.3g}" if name == "t" else f"{figure:.1%}"
        demanded = limit is not None
        severity = (
            FindingSeverity.HIGH if demanded else FindingSeverity.MEDIUM if figure > _MUCH else FindingSeverity.LOW
        )
        yield Finding(
            audit="determination", severity=severity, detail=f"{shown} {what}", measured=figure, required=limit or 0.0
        )
