"""The audit `influence`: numbers that follow a record, what is required of them, and the whole in a sentence."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from app.contracts.findings import Finding, FindingSeverity, MeasuredDemand, all_met
from app.methods.influence.spec import (
    InfluenceDemands,
    InfluencedRelease,
    InfluencedStatistic,
    InfluenceResult,
    InfluenceSpec,
)
from workers.methods.influence.trying import Effect

MEANING: Final = {
    "change": "A published number that changes much without one record tells whether that record is in the data.",
    "slope": "A published number that moves as one record is moved tells that record's value.",
    "records": "How many of the records tried change the number by the limit or more.",
    "failed": "Without some records the job cannot be done at all: that it was done tells that they are there.",
}
_DEFAULT: Final = InfluenceDemands(slope=0.5, change=0.1)
_SHOWN: Final = 200

TriedRelease = tuple[str, Mapping[str, float], Sequence[Mapping[str, Effect]], int]


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
            value=value,
            change=max((one[name].change for one in tried), default=0.0),
            slope=max((one[name].slope for one in tried), default=0.0),
            records=sum(one[name].change >= (require.change or 0.1) for one in tried),
        )
        for name, value in whole.items()
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
        return f"No published number is decided by one of the {records} most extreme records."
    more = f", and {len(findings) - 1} more numbers are decided by one record" if len(findings) > 1 else ""
    return f"{findings[0].detail}{more}."
