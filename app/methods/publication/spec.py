"""Publishing a draft after something of the same data was published: it is composed again by a job."""

from typing import ClassVar, Literal

from pydantic import Field

from app.contracts.base import Contract, Short
from app.contracts.ids import DatasetId, ReleaseId
from app.contracts.jobs import JobKind, JobSpec, Queue
from app.contracts.releases import ReleaseReaders


class PublicationSpec(JobSpec):
    """A draft that is published once it was composed again."""

    kind: ClassVar[JobKind] = JobKind.PUBLICATION
    queue: ClassVar[Queue] = Queue.INTERACTIVE

    method: Literal["publication"] = Field(default="publication", description="Name of the method: publishing a draft.")
    dataset_id: DatasetId = Field(description="The data that it was made from.")
    release_id: ReleaseId = Field(description="Id of the draft to publish.")
    accept_findings: tuple[Short, ...] = Field(default=(), description="Audits whose findings are accepted.")
    readers: ReleaseReaders | None = Field(default=None, description="Further readers of the release.")


class PublicationResult(Contract):
    """Result of a `publication` job; the job's `findings` and the release's `state` state what came of it."""

    method: Literal["publication"] = Field(default="publication", description="Method of the job that has this result.")
    release_id: str = Field(description="The release.")
