"""Runner of the audit `frontier`: boxes for one k after the other, of which nothing is published."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.contracts.datasets import ColumnType
from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.contracts.releases import ReleaseFormat
from app.contracts.statistics import NamedStatistic, Statistic
from app.errors import SureboxError
from app.methods.boxes.spec import BoxBounds, BoxesSpec
from app.methods.columns import types_of
from app.methods.frontier.spec import (
    FrontierMeans,
    FrontierPoint,
    FrontierRecordCounts,
    FrontierRecords,
    FrontierResult,
    FrontierSpec,
    FrontierStatistic,
    FrontierSummary,
    RecordHalfWidths,
    measured_columns,
    measured_statistics,
)
from surebox_core.errors import UndefinedStatisticError
from surebox_core.influence import Influences, influences
from surebox_core.moments import moments
from surebox_core.statistics import Statistic as CoreStatistic
from surebox_verify.released.intervals import number_of
from workers.algorithms.boxes.half_widths import Surroundings, densest, surroundings
from workers.frames.columns import numeric_columns
from workers.methods.context import JobContext
from workers.methods.determination.measuring import Described, read_file
from workers.methods.frontier.trials import Trial, means_possible, tried
from workers.methods.outcome import Outcome

MEANING = {
    "width": "How far the guaranteed range of a statistic reaches: what readers are left uncertain about.",
    "ncp": "How much of each cell is left open, on average: 0 nothing, 1 the whole column.",
    "value_disclosure": "Rows whose value every reader would know: a small k may hide who, and still show what.",
    "with_means": "Boxes of the same k with an interval for the mean of each: ranges get narrower, and somebody who "
    "knows all other records of a box is left with a part of its side (`left_to_insider`) in the place of all of it.",
    "box_count": "How many boxes the records fall into.",
    "records": "Which records cost most: c is what a column of the best box about a record adds to the uncertainty. It "
    "is large where few records are near (density) or where the record weighs on a statistic (influence). "
    "Where so many records are near that a box is as narrow as values are apart, c is at the resolution of the "
    "columns.",
}
_OURS = 500
_LISTED = 1_000
_AT_ONCE = 20_000  # records between two ticks
_LARGEST = 700.0  # logarithm of the largest number


class FrontierRunner:
    """Runs `boxes`."""

    def run(self, job: JobContext) -> Outcome:
        """Try one k after the other, and report; there is no release."""
        spec = job.specification(FrontierSpec)
        points = tuple(_point(job, spec, k, share=at / len(spec.k)) for at, k in enumerate(spec.k))
        records = None if spec.records is None else rare_records(job, spec)
        made = _result(points, records)
        return Outcome(summary=_summary(made), result=made.model_dump(mode="json"))


def _summary(whole: FrontierResult) -> dict[str, Any]:
    """The result without single records: what a job shows is read without an entry in the log."""
    return FrontierSummary.model_validate(
        whole.model_dump(mode="json") | {"records": None if whole.records is None else _counts(whole.records)}
    ).model_dump(mode="json")


def _counts(records: FrontierRecords) -> dict[str, Any]:
    return {name: getattr(records, name) for name in FrontierRecordCounts.model_fields}


def _point(job: JobContext, spec: FrontierSpec, k: int, *, share: float) -> FrontierPoint:
    job.tick(share, "boxes")
    own, averaged = spec.at(k), spec.with_means(k)
    try:
        made = tried(job, own, share)
        if averaged is None or not means_possible(averaged, types_of(job.datasets["dataset_id"].profile)):
            return _frontier_point(own, made, None)
        job.tick(share + 0.5 / len(spec.k), "boxes")
        return _frontier_point(own, made, made if averaged.box_means is own.box_means else tried(job, averaged, share))
    except SureboxError as error:
        if error.status >= _OURS:
            raise
        return FrontierPoint(
            k=k, box_count=None, released=None, ncp=None, value_disclosure=None, statistics=(), reason=str(error)
        )


def _frontier_point(spec: BoxesSpec, made: Trial, averaged: Trial | None) -> FrontierPoint:
    types = {str(one["name"]): str(one["type"]) for one in made.draft.columns}
    described = Described("", spec.model_dump(mode="json", by_alias=True), types)
    released = read_file(made.draft.files[ReleaseFormat.PARQUET].path, described)
    entries = made.result["statistics"]
    of_means = [None] * len(entries) if averaged is None else averaged.result["statistics"]
    return FrontierPoint(
        k=spec.k,
        box_count=int(made.result["box_count"]),
        released=int(made.result["released"]),
        ncp=released.ncp,
        value_disclosure=made.result["value_disclosure"],
        guessed=made.result["guessed"],
        with_means=None
        if averaged is None
        else FrontierMeans(
            value_disclosure=averaged.result["value_disclosure"], left_to_insider=averaged.left_to_insider
        ),
        statistics=tuple(
            FrontierStatistic(
                **{name: one[name] for name in NamedStatistic.model_fields},
                width=_width(one["guaranteed"]),
                width_with_means=None if other is None else _width(other["guaranteed"]),
                base=one["base"],
                n=one["n"],
            )
            for one, other in zip(entries, of_means, strict=True)
        ),
        reason=None,
    )


def _width(guaranteed: Any) -> float | None:
    """Of a range, or of the widest of several; None where one is unbounded."""
    if guaranteed is None:
        return None
    ranges = guaranteed if isinstance(guaranteed[0], list | tuple) or guaranteed[0] is None else [guaranteed]
    widths = [None if one is None else float(one[1]) - float(one[0]) for one in ranges]
    return None if any(one is None for one in widths) else max(one for one in widths if one is not None)


def _result(points: tuple[FrontierPoint, ...], records: FrontierRecords | None) -> FrontierResult:
    lost = [one for one in points if one.reason is not None]
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
                detail=one.reason or "",
                measured=float(one.k),
                required=float(max((had_one.k for had_one in had), default=0)),
            )
            for one in lost
        ),
        verdict=verdict,
        meaning=MEANING,
    )


def rare_records(job: JobContext, spec: FrontierSpec) -> FrontierRecords | None:
    """Half-widths, c and density of the records that a specification names.

    Parameters
    ----------
    job : gives the dataset, and hears of the progress.
    spec : with `records`.

    Notes
    -----
    science.md section 1, "Half-widths around a point". Records that lack one of the columns are left out.
    """
    first = spec.at(spec.k[0])
    names = measured_columns(first, job.datasets["dataset_id"].profile)
    values = numeric_columns(job.dataset_path(), names).values
    complete = np.flatnonzero(~np.isnan(values).any(axis=1))
    x = np.ascontiguousarray(values[complete])
    chosen = np.arange(len(x))
    if spec.records is not None and spec.records != "all":
        chosen = np.flatnonzero(np.isin(complete, spec.records))
    field = _influences(measured_statistics(first, names), names, x)
    if field is None or not len(chosen):
        return None
    types = types_of(job.datasets["dataset_id"].profile)
    steps = [_resolution(first, name, types[name], column) for name, column in zip(names, x.T, strict=True)]
    log_densest = densest(x, ~field.free, np.array(steps))
    parts: list[Surroundings] = []
    for start in range(0, len(chosen), _AT_ONCE):
        job.tick(0.98, "records")
        near = surroundings(x, field, np.random.default_rng(0), chosen[start : start + _AT_ONCE], log_densest)
        if near is None:
            return None
        parts.append(near[0])
    return _records(parts, first, names, complete[chosen])


def _resolution(spec: BoxesSpec, name: str, kind: ColumnType, values: NDArray[np.float64]) -> float:
    """The step of a column's values; of other numbers the least distance of two of them, 1 where all are equal."""
    if spec.bounds is not BoxBounds.GRID and name in spec.value_step:
        return float(spec.value_step[name])
    if kind is not ColumnType.NUMBER:
        return 1.0
    gaps = np.diff(np.unique(values))
    return float(gaps.min()) if len(gaps) else 1.0


def _influences(statistics: Sequence[Statistic], names: Sequence[str], x: NDArray[np.float64]) -> Influences | None:
    """Derivatives of those that the records leave defined; None of none."""
    place = {name: index for index, name in enumerate(names)}
    at = moments(x) if len(x) else None
    defined = []
    for one in statistics:
        where = tuple(float(number_of(value)) for value in one.at or ())
        core = CoreStatistic(one.kind.value, tuple(place[name] for name in one.of), one.weight, at=where)
        try:
            if at is not None:
                influences([core], at)
                defined.append(core)
        except UndefinedStatisticError:
            continue
    return influences(defined, at) if defined and at is not None else None


def _records(
    parts: Sequence[Surroundings], spec: BoxesSpec, names: Sequence[str], rows: NDArray[np.int64]
) -> FrontierRecords:
    """The rarest first; nothing of it follows the order of the rows but their numbers."""
    one = parts[0]
    used = [name for name, is_used in zip(names, one.used, strict=True) if is_used]
    c = np.concatenate([part.c(spec.k) for part in parts]) * one.largest
    log_density = np.concatenate([part.log_density for part in parts])
    least = 0.5 * (spec.l or 0) * np.array([spec.min_separation.get(name, 0.0) for name in used]) / one.unit
    half = np.concatenate([part.half_widths(spec.k, least) for part in parts]) * one.unit
    at_resolution = np.concatenate([part.at_resolution for part in parts])
    median = float(np.median(c))
    log_rare = (np.median(log_density) - log_density) / len(used)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weighty = np.nan_to_num(np.log(c) - np.log(median) - log_rare, nan=0.0)
    by_density, by_influence = (np.exp(np.clip(each, -_LARGEST, _LARGEST)) for each in (log_rare, log_weighty))
    in_units = log_density - np.log(one.unit).sum()
    listed = [
        RecordHalfWidths(
            row=int(rows[place]),
            cost=float(c[place]),
            density=float(np.exp(in_units[place])) if in_units[place] < _LARGEST else None,
            half_widths=dict(zip(used, half[place].tolist(), strict=True)),
            rare_by_density=float(by_density[place]),
            rare_by_influence=float(by_influence[place]),
            at_resolution=bool(at_resolution[place]),
        )
        for place in np.lexsort((rows, -c))[:_LISTED]
    ]
    return FrontierRecords(
        k=spec.k,
        measured=len(rows),
        median_cost=median,
        share_at_resolution=float(at_resolution.mean()),
        listed=tuple(listed),
    )
