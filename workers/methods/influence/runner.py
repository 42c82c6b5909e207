"""Runner of the audit `influence`: a release's job again without each extreme record, and with it moved."""

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from app.contracts.columns import LARGEST
from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.contracts.inputs import ReleaseInput, listed
from app.contracts.releases import ReleaseFormat
from app.errors import SureboxError
from app.methods.influence.spec import (
    InfluenceDemands,
    InfluencedRelease,
    InfluencedStatistic,
    InfluenceResult,
    InfluenceSpec,
)
from surebox_verify.questions import name_of
from workers.frames.columns import numeric_columns
from workers.frames.variants import Variants, released_numbers
from workers.methods.boxes.runner import BoxesRunner
from workers.methods.condensation.runner import CondensationRunner
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.protocol import AnyRunner
from workers.methods.rerun import Again, run_again
from workers.methods.uncertain.runner import UncertainRunner

#: Errors from here on are not about the specification and its data.
_OURS: Final = 500
_RUNNERS: Final[dict[str, type[AnyRunner]]] = {
    "boxes": BoxesRunner,
    "condensation": CondensationRunner,
    "uncertain": UncertainRunner,
}
MEANING: Final = {
    "change": "A published number that changes much without one record reveals whether that record is in the data.",
    "slope": "A published number that moves as one record is moved reveals that record's value.",
    "records": "How many of the records tried change the number by the limit or more.",
    "failed": "Without some records the job cannot be done at all: that it was done reveals that they are there.",
}
_DEFAULT: Final = InfluenceDemands(slope=0.5, change=0.1)
_SHOWN: Final = 200
#: What states which statistic a published one is.
_ABOUT: Final = frozenset({"kind", "of", "weight", "ddof", "values", "interval", "p", "at", "terms"})
#: A record is moved outwards by so much of its distance from the median.
_FURTHER: Final = 0.25


@dataclass(frozen=True, slots=True)
class Extreme:
    """A record that is tried: its place, the column it is most extreme in, its value and where that is moved to."""

    row: int
    column: str
    value: float
    to: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What one record does to one number: by what share it changes without it, what share of a move it follows."""

    change: float
    slope: float


@dataclass(frozen=True, slots=True)
class Figure:
    """A published number and, of a statistic, the records that it is about, as the job states them."""

    value: float
    base: str | None = None
    n: int | None = None


TriedRelease = tuple[str, Mapping[str, Figure], Sequence[Mapping[str, Effect]], int]


@dataclass(frozen=True, slots=True)
class Tried:
    """One release: what it publishes on all records, and what each record tried does to it."""

    release: ReleaseInput
    extremes: tuple[Extreme, ...]
    whole: Mapping[str, Figure]
    effects: tuple[Mapping[str, Effect], ...] = ()
    failed: int = 0


@dataclass(frozen=True, slots=True)
class _Trying:
    """What all runs share, and how much of the audit is done."""

    job: JobContext
    variants: Variants
    share: float = 0.0


class InfluenceRunner:
    """Runs other runners."""

    def run(self, job: JobContext) -> Outcome:
        """Make every release once more on all records, then without each of the chosen ones, and with it moved."""
        job.tick(0.0, "read")
        spec = job.specification(InfluenceSpec)
        trying, tried = _Trying(job, Variants(job.dataset_path())), []
        for release in listed(job.releases, "release_ids").values():
            names = tuple(name for name in release.made.quasi_identifiers if name in job.datasets["dataset_id"].numeric)
            chosen = extremes(job.dataset_path(), names, spec.records)
            tried.append(Tried(release, tuple(chosen), _numbers(trying, release, job.dataset_path())))
        for index, one in enumerate(tried):
            for _ in one.extremes:
                done = sum(len(each.effects) for each in tried)
                trying = replace(trying, share=done / sum(len(each.extremes) for each in tried))
                job.tick(trying.share, "records")
                tried[index] = _one_more(trying, tried[index])
        releases = [(one.release.id, one.whole, one.effects, one.failed) for one in tried]
        made = result(spec, releases).model_dump(mode="json")
        return Outcome(summary=made, result=made)


def _one_more(trying: _Trying, tried: Tried) -> Tried:
    """The next record."""
    one = tried.extremes[len(tried.effects)]
    file = trying.job.scratch / "variant.parquet"
    runs: list[Mapping[str, Figure] | None] = []
    for path in (trying.variants.without(one.row, file), None):
        made = path or trying.variants.moved(one.row, one.column, one.to, file)
        try:
            runs.append(_numbers(trying, tried.release, made))
        except SureboxError as error:  # without this record the job cannot be done: that is counted, not repeated
            if error.status >= _OURS:
                raise
            runs.append(None)
    changes = effects(tried.whole, runs[0], runs[1], one)
    return replace(tried, effects=(*tried.effects, changes), failed=tried.failed + runs.count(None))


def _numbers(trying: _Trying, release: ReleaseInput, path: Path) -> Mapping[str, Figure]:
    job = trying.job
    again = Again(release.method, release.spec, job.datasets["dataset_id"], path, job.scratch / "again")
    made = run_again(_RUNNERS[release.method](), job, again, fraction=trying.share, stage="records")
    return published_numbers(made)


def result(spec: InfluenceSpec, releases: Sequence[TriedRelease]) -> InfluenceResult:
    """The job's result.

    Parameters
    ----------
    spec : with `require`.
    releases : of each release its id, its numbers on all records, the effects of every record tried, and failed runs.
    """
    require = spec.require or _DEFAULT
    whole = tuple(_release(one, require) for one in releases)
    findings = tuple(sorted(_findings(whole, require), key=lambda one: -(one.measured or 0.0)))
    demands = dict(_demands(whole, require))
    return InfluenceResult(
        releases=tuple(one.model_copy(update={"numbers": one.numbers[:_SHOWN]}) for one in whole),
        passed=all_met(demands),
        demands=demands,
        findings=findings,
        verdict=_verdict(findings, spec.records),
        meaning=MEANING,
    )


def _release(tried_release: TriedRelease, require: InfluenceDemands) -> InfluencedRelease:
    release_id, whole, tried, failed = tried_release
    numbers = [
        InfluencedStatistic(
            published_figure=name,
            value=figure.value,
            base=figure.base,
            n=figure.n,
            change=max((one[name].change for one in tried), default=0.0),
            slope=max((one[name].slope for one in tried), default=0.0),
            records=sum(one[name].change >= (require.change or 0.1) for one in tried),
        )
        for name, figure in whole.items()
    ]
    numbers.sort(key=lambda one: (-one.slope, -one.change, one.published_figure))
    return InfluencedRelease(release_id=release_id, runs=1 + 2 * len(tried), failed=failed, numbers=tuple(numbers))


def _demands(releases: Sequence[InfluencedRelease], require: InfluenceDemands) -> Iterator[tuple[str, MeasuredDemand]]:
    """Each demand, with the worst of all numbers."""
    for name in InfluenceDemands.model_fields:
        limit = getattr(require, name)
        if limit is not None:
            worst = max((getattr(one, name) for release in releases for one in release.numbers), default=0.0)
            yield name, MeasuredDemand(required=limit, measured=worst, met=worst <= limit)


def _findings(releases: Sequence[InfluencedRelease], require: InfluenceDemands) -> Iterator[Finding]:
    for release in releases:
        for one in release.numbers:
            if require.slope is not None and one.slope > require.slope:
                detail = (
                    f"{one.published_figure} in {release.release_id} follows one record's value: it moves by "
                    f"{one.slope:.0%} of what the record is moved; declare `domains`, or leave rare records out"
                )
                yield _finding(FindingSeverity.HIGH, detail, one.slope, require.slope)
            elif require.change is not None and one.change > require.change:
                detail = (
                    f"{one.published_figure} in {release.release_id} changes by {one.change:.0%} without one record: "
                    "it shows that the record is there"
                )
                yield _finding(FindingSeverity.MEDIUM, detail, one.change, require.change)


def _finding(severity: FindingSeverity, detail: str, figure: float, limit: float) -> Finding:
    return Finding(audit="influence", severity=severity, detail=detail, measured=figure, required=limit)


def _verdict(findings: Sequence[Finding], records: int) -> str:
    if not findings:
        return f"None of the {records} most extreme records decides a published number."
    more = f", and one record decides {len(findings) - 1} more numbers" if len(findings) > 1 else ""
    return f"{findings[0].detail}{more}."


def extremes(path: Path, names: Sequence[str], count: int) -> list[Extreme]:
    """The most extreme records: farthest from the median in some column, in units of its typical distance.

    Parameters
    ----------
    path : the original.
    names : its numeric columns that are published in some way.
    count : records at most.
    """
    values = numeric_columns(path, names).values
    there = np.asarray(np.isfinite(values).any(axis=0))
    values, names = values[:, there], [name for name, held in zip(names, there.tolist(), strict=True) if held]
    if not names:
        return []
    centre = np.nanmedian(values, axis=0)
    distance = np.abs(values - centre)
    typical = np.nanmedian(distance, axis=0)
    spread = np.where(typical > 0.0, typical, np.nanstd(values, axis=0))
    with np.errstate(over="ignore"):  # then the record is the most extreme, and is moved as far as a double goes
        score = np.nan_to_num(distance / np.where(spread > 0.0, spread, np.inf), nan=-1.0)
    farthest = score.max(axis=1)
    records = []
    for row in np.argsort(-farthest, kind="stable")[:count]:
        if farthest[row] < 0.0:  # the record has none of the columns, nor have those after it
            break
        column = int(score[row].argmax())
        value = float(values[row, column])
        step = (value - float(centre[column])) * _FURTHER or float(spread[column])
        to = min(max(value + step, -LARGEST), LARGEST)
        records.append(Extreme(int(row), names[column], value, (0.5 * value or 1.0) if to == value else to))
    return records


def published_numbers(outcome: Outcome) -> dict[str, Figure]:
    """Every number that a run would publish of the data as a whole, by what it is."""
    draft = outcome.release
    if draft is None:
        return {}
    numbers = released_numbers(draft.files[ReleaseFormat.PARQUET].path) | {"rows": float(draft.rows)}
    figures = {name: Figure(value) for name, value in numbers.items()}
    for one in draft.statistics:
        parts = _parts(name_of(one), {part: value for part, value in one.items() if part not in _ABOUT})
        figures |= {name: Figure(value, one.get("base"), one.get("n")) for name, value in parts.items()}
    return {name: figure for name, figure in figures.items() if math.isfinite(figure.value)}


def _parts(name: str, parts: Mapping[str, Any]) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for part, value in parts.items():
        if isinstance(value, bool) or value is None:
            continue
        if isinstance(value, int | float):
            numbers[f"{name} {part}"] = float(value)
        elif isinstance(value, list | tuple):
            numbers |= _parts(f"{name} {part}", {str(place): one for place, one in enumerate(value)})
    return numbers


def effects(
    whole: Mapping[str, Figure], without: Mapping[str, Figure] | None, moved: Mapping[str, Figure] | None, one: Extreme
) -> dict[str, Effect]:
    """The effects of one record on every number of a release."""
    changes = {}
    for name, figure in whole.items():
        change, slope, value = 0.0, 0.0, figure.value
        if without is not None and name in without:
            other = without[name].value
            size = max(abs(value), abs(other))
            change = abs(value / size - other / size) if size > 0.0 else 0.0
        if moved is not None and name in moved:
            slope = min(abs(moved[name].value - value) / abs(one.to - one.value), sys.float_info.max)
        changes[name] = Effect(change, slope)
    return changes
