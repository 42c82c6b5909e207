"""Reports: pages for people. That of a release is for its readers; that of a job shows true values, to its owner.

What the jobs carry for themselves is in no answer, and not in the document: no client needs it.
"""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from app.contracts.base import Contract, may_lack
from app.contracts.ids import JobId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec, Queue


class Page(Contract):
    """A page that asks nothing of the network."""

    html: str = Field(description="The page, as one HTML document.")
    policy: SkipJsonSchema[str] = Field(description="The Content-Security-Policy that it is made for.")


class ReleaseReportResult(Page):
    """The report of a release, for all who may read the release."""

    method: Literal["release_report"] = Field(default="release_report", description="Name of the method.")


class JobReportResult(Page):
    """The report of a job, for all who may read the job."""

    method: Literal["job_report"] = Field(default="job_report", description="Name of the method.")


class ReleaseReportSummary(ReleaseReportResult):
    """Answer in a job: the page is in its whole result."""

    model_config = ConfigDict(json_schema_extra=may_lack("html"))


class JobReportSummary(JobReportResult):
    """Answer in a job: the page is in its whole result."""

    model_config = ConfigDict(json_schema_extra=may_lack("html"))


class ReleaseReportSpec(JobSpec):
    """The unlisted job that writes the report of a release, from the published part of it alone."""

    kind: ClassVar[JobKind] = JobKind.QUERY
    queue: ClassVar[Queue] = Queue.INTERACTIVE
    carried: ClassVar[frozenset[str]] = frozenset({"release", "statistics", "parameters", "software"})

    method: Literal["release_report"] = Field(default="release_report", description="Name of the method.")
    release_id: ReleaseId = Field(description="The release.")
    release: SkipJsonSchema[dict[str, Any]] = Field(description="The release as its readers see it.")
    statistics: SkipJsonSchema[tuple[dict[str, Any], ...]] = Field(
        description="Its statistics as its readers see them."
    )
    parameters: SkipJsonSchema[dict[str, Any]] = Field(
        description="What its provenance publishes of the specification."
    )
    software: SkipJsonSchema[dict[str, Annotated[str, Field(max_length=200)]]] = Field(
        description="Versions, as its provenance names them."
    )


class JobReportSpec(JobSpec):
    """The unlisted job that writes the report of a job; like the job's result it is for who reads jobs."""

    kind: ClassVar[JobKind] = JobKind.REPORT
    queue: ClassVar[Queue] = Queue.INTERACTIVE
    version: ClassVar[int] = 2  # 2: `release_id`
    carried: ClassVar[frozenset[str]] = frozenset({"job", "release"})

    method: Literal["job_report"] = Field(default="job_report", description="Name of the method.")
    job_id: JobId = Field(description="The job.")
    job: SkipJsonSchema[dict[str, Any]] = Field(description="The job's times, attempts and warnings.")
    release: SkipJsonSchema[ReleaseReportSpec | None] = Field(
        default=None, description="What it published, while that is there."
    )
    release_id: ReleaseId | None = Field(default=None, description="Its release, whose boxes are shown.")
