"""Runner of the audit `frontier`: boxes for one k after the other, of which nothing is published."""

from typing import Any

from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.contracts.releases import ReleaseFormat
from app.contracts.statistics import NamedStatistic
from app.errors import SureboxError
from app.methods.frontier.spec import FrontierPoint, FrontierRecords, FrontierResult, FrontierSpec, FrontierStatistic
from workers.methods.boxes.runner import BoxesRunner
from workers.methods.context import JobContext
from workers.methods.determination.measuring import Described, determined, read_file
from workers.methods.frontier.records import rare_records
from workers.methods.outcome import Outcome, ReleaseDraft
from workers.methods.rerun import Again, run_again

MEANING = {
    "width": "How far the guaranteed range of a statistic reaches: what readers are left uncertain about.",
    "ncp": "How much of each cell is left open, on average: 0 nothing, 1 the whole column.",
    "share_single_value": "Cells that leave one value only: a small k may hide who, and still show what.",
    "box_count": "How many boxes the records fall into.",
    "records": "Which records cost most: c is what a column of the best box about a record adds to the uncertainty. It "
    "is large where few records are near (density) or where the record weighs on a statistic (influence).",
}
_OURS = 500


class FrontierRunner:
    """Runs `boxes`."""

    def run(self, job: JobContext) -> Outcome:
        """Try one k after the other, and report; there is no release."""
        spec = job.specification(FrontierSpec)
        points = tuple(_point(job, spec, k, share=at / len(spec.k)) for at, k in enumerate(spec.k))
        records = None if spec.records is None else rare_records(job, spec)
        made = _result(points, records).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _point(job: JobContext, spec: FrontierSpec, k: int, *, share: float) -> FrontierPoint:
    job.tick(share, "boxes")
    dumped = spec.at(k).model_dump(mode="json", by_alias=True)
    again = Again("boxes", dumped, job.datasets["dataset_id"], job.dataset_path(), job.scratch / "again")
    try:
        made = run_again(BoxesRunner(), job, again, fraction=share, stage="boxes")
    except SureboxError as error:
        if error.status >= _OURS:
            raise
        return FrontierPoint(
            k=k, box_count=None, released=None, ncp=None, share_single_value=None, statistics=(), infeasible=str(error)
        )
    draft = made.release
    if draft is None:
        raise ValueError("boxes made no release")
    return _frontier_point(k, dumped, made, draft)


def _frontier_point(k: int, spec: dict[str, Any], made: Outcome, draft: ReleaseDraft) -> FrontierPoint:
    types = {str(one["name"]): str(one["type"]) for one in draft.columns}
    released = read_file(draft.files[ReleaseFormat.PARQUET].path, Described("", spec, types))
    measured = determined(released, {})
    return FrontierPoint(
        k=k,
        box_count=int(made.result["box_count"]),
        released=int(made.result["released"]),
        ncp=released.ncp,
        share_single_value={one.column: one.share_single_value for one in measured.columns},
        statistics=tuple(
            FrontierStatistic(
                **{name: one[name] for name in NamedStatistic.model_fields}, width=_width(one["guaranteed"])
            )
            for one in made.result["statistics"]
        ),
        infeasible=None,
    )


def _width(guaranteed: Any) -> float | None:
    """Of a range, or of the widest of several; None where one is unbounded."""
    if guaranteed is None:
        return None
    ranges = guaranteed if isinstance(guaranteed[0], list | tuple) or guaranteed[0] is None else [guaranteed]
    widths = [None if one is None else float(one[1]) - float(one[0]) for one in ranges]
    return None if any(one is None for one in widths) else max(one for one in widths if one is not None)


def _result(points: tuple[FrontierPoint, ...], records: FrontierRecords | None) -> FrontierResult:
    lost = [one for one in points if one.infeasible is not None]
    had = [one for one in points if one.ncp is not None]
    demands = {"feasible": MeasuredDemand(required=len(points), measured=len(had), met=not lost)}
    verdict = "No k can be had."
    if had:
        verdict = (
            f"From k = {had[0].k} to k = {had[-1].k} the share of each cell that is left open goes from "
            f"{had[0].ncp:.1%} to {had[-1].ncp:.1%}."
        )
    return FrontierResult(
        points=points,
        records=records,
        passed=all_met(demands),
        demands=demands,
        findings=tuple(
            Finding(
                audit="frontier",
                severity=FindingSeverity.LOW,
                detail=one.infeasible or "",
                measured=float(one.k),
                required=float(max((had_one.k for had_one in had), default=0)),
            )
            for one in lost
        ),
        verdict=verdict,
        meaning=MEANING,
    )
