"""Runners of reports: facts in, a page out."""

from pathlib import Path
from typing import Any

from app.methods.report.spec import JobReportSpec, ReleaseReportSpec
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.report import writing
from workers.methods.report.facts import JobFacts, ReleaseFacts
from workers.methods.report.page import Page, policy, rendered


class ReleaseReportRunner:
    """Writes the public report of a release."""

    def run(self, job: JobContext) -> Outcome:
        """Gather what is public."""
        spec = ReleaseReportSpec.model_validate(job.spec)
        return _answer(job, writing.of_release(_facts(spec, job.release_path())))


class JobReportRunner:
    """Writes the restricted report of a job."""

    def run(self, job: JobContext) -> Outcome:
        """Gather what the owner may read."""
        spec = JobReportSpec.model_validate(job.spec)
        reported = job.jobs["job_id"]
        document = {**spec.job, "id": reported.id, "method": reported.method, "spec": reported.spec}
        result = job.job_result("job_id")
        document["result"] = {**result, "findings": result.get("findings") or spec.job.get("findings") or []}
        data = None if spec.release_id is None else job.release_path()
        release = None if spec.release is None else _facts(spec.release, data)
        return _answer(job, writing.of_job(JobFacts(document, release)))


def _answer(job: JobContext, page: Page) -> Outcome:
    """A page of a few figures is written in less than half a second."""
    return Outcome(summary={}, result={"method": job.method, "html": rendered(page), "policy": policy()})


def _facts(spec: ReleaseReportSpec, data: Path | None) -> ReleaseFacts:
    statistics: list[dict[str, Any]] = list(spec.statistics)
    return ReleaseFacts(spec.release, spec.parameters, statistics, spec.software, data)
