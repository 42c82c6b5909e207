"""Runners of reports: facts in, a page out."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from app.methods.report.spec import JobReportSpec, ReleaseReportSpec
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.report import attacks, audits, boxes, coverage, statistics, summary, words
from workers.methods.report.facts import JobFacts, JsonObject, ReleaseFacts
from workers.methods.report.former_names import with_present_names
from workers.methods.report.page import Page, Section, Table, pairs, policy, rendered

_REQUESTS: Final[Mapping[str, Callable[[JsonObject], Section]]] = {
    "uncertain": words.uncertain,
    "condensation": words.condensation,
    "swaps": words.swaps,
}
#: Parts of a result that have a section of their own, or are too long to be read.
_SHOWN_ELSEWHERE: Final = (
    "method", "statistics", "findings", "passed", "demands", "verdict", "meaning", "rules", "regions",
    "signal", "signal_before", "signal_after", "auxiliary_signal", "crisp_auxiliary_signal", "region_sizes",
    "masked_regions", "outliers", "outliers_before", "outliers_after", "auxiliary_outliers", "fitness_by_generation",
    "swap_list", "rank_quantiles", "guessed",
)  # fmt: skip


class ReleaseReportRunner:
    """Writes the public report of a release."""

    def run(self, job: JobContext) -> Outcome:
        """Gather public data."""
        spec = ReleaseReportSpec.model_validate(job.spec)
        return _answer(job, of_release(_facts(spec, job.release_path())))


class JobReportRunner:
    """Writes the restricted report of a job."""

    def run(self, job: JobContext) -> Outcome:
        """Gather what the owner may read."""
        spec = JobReportSpec.model_validate(job.spec)
        reported = job.jobs["job_id"]
        document = {**spec.job, "id": reported.id, "method": reported.method, "spec": reported.spec}
        result = with_present_names(reported.method, job.job_result("job_id"))
        document["result"] = {**result, "findings": result.get("findings") or spec.job.get("findings") or []}
        data = None if spec.release_id is None else job.release_path()
        release = None if spec.release is None else _facts(spec.release, data)
        return _answer(job, of_job(JobFacts(document, release)))


def _answer(job: JobContext, page: Page) -> Outcome:
    """A page of a few figures is written in less than half a second."""
    return Outcome(summary={}, result={"method": job.method, "html": rendered(page), "policy": policy()})


def _facts(spec: ReleaseReportSpec, data: Path | None) -> ReleaseFacts:
    statistics: list[dict[str, Any]] = list(spec.statistics)
    return ReleaseFacts(spec.release, spec.parameters, statistics, spec.software, data)


def of_release(facts: ReleaseFacts) -> Page:
    """What anyone may read of a release: from the release alone."""
    release = facts.release
    return Page(
        title=f"Release {release.get('name') or release['id']}",
        lead=f"The protection, cost and limits of this release of {release['rows']:,} rows, and how to verify it.",
        mark="Public report. It contains nothing that the release does not publish.",
        sections=[
            summary.at_a_glance(facts),
            _request(facts),
            statistics.certain(facts.statistics, restricted=False),
            statistics.estimated(facts.statistics),
            *_about(facts),
            _dated(release),
            _warned(release),
            _verified(facts),
        ],
        foot=_foot(facts.software),
    )


def of_job(facts: JobFacts) -> Page:
    """What only the owner reads of a job: true values, findings, signals, ranks."""
    job, release = facts.job, facts.release
    result: JsonObject = job.get("result") or {}
    own = [
        attacks.findings(result),
        attacks.published(job),
        boxes.guessed(result),
        statistics.certain(result.get("statistics") or (), restricted=True),
        attacks.signals(result),
        attacks.group(result),
        attacks.rules(result),
        attacks.linkage(result),
        *audits.sections(str(job["method"]), result),
        words.figures(_others(str(job["method"]), result), title="All figures"),
        words.meanings(result),
        _timed(job),
    ]
    before = [words.other(job.get("spec") or {})] if release is None else [_request(release)]
    after = [] if release is None else [*_about(release), _verified(release)]
    return Page(
        title=f"{str(job['kind']).capitalize()} {job['method']}, job {job['id']}",
        lead="The request, the findings and the release of this job.",
        mark="Restricted report: it contains true values. For the owner only.",
        sections=[
            summary.job_at_a_glance(facts),
            coverage.left_out(result, counted=(job.get("spec") or {}).get("frequency_column") is not None),
            *before,
            *own[:8],
            *after,
            *own[8:],
            _warned(job),
        ],
        foot=_foot({} if release is None else release.software),
    )


def _others(method: str, result: JsonObject) -> JsonObject:
    """What has no section of its own."""
    if audits.sections(method, result):
        result = {name: value for name, value in result.items() if name not in audits.SHOWN}
    return {name: value for name, value in result.items() if name not in _SHOWN_ELSEWHERE}


def _request(facts: ReleaseFacts) -> Section:
    method = str(facts.release["method"])
    if method == "boxes":
        return boxes.request_section(facts)
    return _REQUESTS.get(method, words.other)(facts.parameters)


def _about(facts: ReleaseFacts) -> list[Section]:
    if facts.release["method"] != "boxes":
        return [_columns(facts)]
    return [
        boxes.sizes(facts.data),
        boxes.columns(facts),
        boxes.sets(facts),
        _columns(facts),
        boxes.still_computable(facts),
    ]


def _columns(facts: ReleaseFacts) -> Section:
    rows = tuple((column["name"], column["type"]) for column in facts.release["columns"])
    return Section("Columns of the files", tables=(Table("Columns", ("Column", "Type"), rows),))


def _warned(document: JsonObject) -> Section:
    points = [str(one["detail"]) for one in document.get("warnings") or ()]
    flags = [f"Flag: {words.spoken(str(flag).replace('-', ' '))}." for flag in document.get("flags") or ()]
    return Section("Warnings", points=(*points, *flags))


def _timed(job: JsonObject) -> Section:
    rows: list[tuple[str, Any]] = [
        (title, job.get(name))
        for title, name in (
            ("Asked", "created_at"),
            ("Begun", "started_at"),
            ("Ended", "finished_at"),
            ("Seconds from begin to end", "seconds"),
            ("Attempts", "attempts"),
        )
    ]
    return Section("Timings", tables=(pairs("Times are UTC", rows),))


def _dated(release: JsonObject) -> Section:
    """When it came to be. How long that took is for the owner only: it grows with the withheld part."""
    rows = [
        (title, release.get(name))
        for title, name in (
            ("Made", "created_at"),
            ("Published", "published_at"),
            ("Certified", "certified_at"),
            ("Certificate seen by a timestamping authority", "timestamped_at"),
        )
    ]
    table = pairs("Times are UTC", rows)
    return Section("Dates", tables=(table,) if table.rows else ())


def _verified(facts: ReleaseFacts) -> Section:
    rows = tuple((name, file["sha256"]) for name, file in sorted(facts.release["files"].items()))
    return Section(
        "How to verify",
        sentences=(
            (
                "Each file has the SHA-256 below. The certificate of the release signs them; `surebox-verify` checks "
                "the signature offline and computes every range again from the file alone."
            ),
        ),
        tables=(Table("SHA-256 of the files", ("Format", "SHA-256"), rows),),
    )


def _foot(software: Mapping[str, str]) -> str:
    own = software.get("surebox")
    return f"Written by Surebox {own}." if own else "Written by Surebox."
