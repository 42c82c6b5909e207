"""Runners of reports: facts in, a page out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from app.contracts.jobs import Progress
from app.contracts.reports import JobReportSpec, ReleaseReportSpec
from workers.methods.context import JobContext
from workers.methods.outcome import Outcome
from workers.methods.report import writing
from workers.methods.report.facts import JobFacts, ReleaseFacts
from workers.methods.report.page import Page, policy, rendered


@dataclass(frozen=True, slots=True)
class Writing:
    """A page that is written in one step."""

    page: Page
    html: str | None = None


class _ReportRunner:
    """What both reports share: a page of a few figures is written in one step of less than half a second."""

    def step(self, state: Writing, *, rng: np.random.Generator) -> Writing:  # noqa: ARG002 - nothing here is random
        """Write the page."""
        return Writing(state.page, rendered(state.page))

    def done(self, state: Writing) -> bool:
        """Whether it is written."""
        return state.html is not None

    def progress(self, state: Writing) -> Progress:
        """Not begun, or done."""
        return Progress(fraction=float(self.done(state)), stage="report")

    def finish(self, state: Writing, job: JobContext, *, rng: np.random.Generator) -> Outcome:  # noqa: ARG002
        """The page as the answer."""
        return Outcome(summary={}, result={"method": job.method, "html": state.html, "policy": policy()})


class ReleaseReportRunner(_ReportRunner):
    """Writes the public report of a release."""

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Writing:  # noqa: ARG002
        """Gather what is public."""
        spec = ReleaseReportSpec.model_validate(job.spec)
        return Writing(writing.of_release(_facts(spec, job.release_path())))


class JobReportRunner(_ReportRunner):
    """Writes the restricted report of a job."""

    def init(self, job: JobContext, *, rng: np.random.Generator) -> Writing:  # noqa: ARG002
        """Gather what the owner may read."""
        spec = JobReportSpec.model_validate(job.spec)
        reported = job.jobs["job_id"]
        told = {**spec.told, "id": reported.id, "method": reported.method, "spec": reported.spec}
        result = job.job_result("job_id")
        told["result"] = {**result, "findings": result.get("findings") or spec.told.get("findings") or []}
        release = None if spec.release is None else _facts(spec.release, None)
        return Writing(writing.of_job(JobFacts(told, release)))


def _facts(spec: ReleaseReportSpec, data: Path | None) -> ReleaseFacts:
    statistics: list[dict[str, Any]] = list(spec.statistics)
    return ReleaseFacts(spec.release, spec.parameters, statistics, spec.software, data)
