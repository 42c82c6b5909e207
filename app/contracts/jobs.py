"""Jobs: states, the table of allowed transitions, and what every job's specification shares."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar

from pydantic import Field

from app.contracts.base import Contract, Id, Instant, Labels
from app.contracts.warnings import Warning  # noqa: A004 - the word of the HTTP contract


class JobState(StrEnum):
    """States of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


#: state -> states it may become; a finished row never changes.
TRANSITIONS: dict[JobState, frozenset[JobState]] = {
    JobState.QUEUED: frozenset({JobState.RUNNING, JobState.CANCELLED, JobState.FAILED}),
    JobState.RUNNING: frozenset({JobState.QUEUED, JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED}),
    JobState.SUCCEEDED: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}
FINISHED = frozenset(state for state, following in TRANSITIONS.items() if not following)


class JobKind(StrEnum):
    """Families of endpoints that create jobs."""

    ANONYMIZATION = "anonymization"
    AUDIT = "audit"
    QUERY = "query"


class Queue(StrEnum):
    """Queues; each has processes of its own, so that an upload never waits behind a long job."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


class JobSpec(Contract):
    """What every specification shares; one subclass a method, told apart by `method`."""

    kind: ClassVar[JobKind]
    #: Raised with a change that workers of the version before would refuse or misread: they leave such jobs to others.
    version: ClassVar[int] = 1
    #: The oldest version that is still understood, for jobs that were accepted before an upgrade.
    oldest: ClassVar[int] = 1

    method: str
    seed: Annotated[int, Field(strict=True, ge=0, lt=2**63)] | None = Field(
        default=None, description="For tests only: makes the release reproducible, and marks it so."
    )
    labels: Labels = Field(default_factory=dict, description="Labels of the job and of its release.")


class DatasetJobSpec(JobSpec):
    """A specification that works on one dataset."""

    dataset_id: Id = Field(description="The dataset to work on.")


class Progress(Contract):
    """How far a job has come."""

    fraction: float = Field(ge=0, le=1)
    stage: str


class Job(Contract):
    """A job as its owner sees it."""

    id: str
    kind: JobKind
    method: str
    state: JobState
    labels: Labels
    progress: Progress
    attempts: int
    created_at: Instant
    started_at: Instant | None
    finished_at: Instant | None
    spec: dict[str, Any]
    result: dict[str, Any] | None
    warnings: tuple[Warning, ...] = Field(
        default=(),
        description="What succeeded but will disappoint or expose; like `result`, for keys with `jobs:read` only.",
    )
    release_id: str | None
    error: dict[str, Any] | None
