"""Jobs: states, the table of allowed transitions, and what every job's specification shares."""

from enum import StrEnum
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, get_args

from pydantic import Field, WithJsonSchema

from app.contracts.base import Contract, Instant, Tags, one_of, without_default
from app.contracts.examples import Examples
from app.contracts.findings import Finding
from app.contracts.gate import GateDemand
from app.contracts.ids import DatasetId
from app.contracts.problems import Problem
from app.contracts.releases import DEFAULT_FORMATS, Delimiter, Formats, PublicationMode
from app.contracts.warnings import JobWarning


class JobState(StrEnum):
    """States of a job.

    `queued`: it waits for a worker. `running`: a worker has it. `succeeded`, `failed` and `cancelled`: it has
    ended.
    """

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
    """Endpoints that create jobs.

    `anonymization` and `audit`: yours. `query` and `report`: of a release or a job. `publication`: publishing
    again.
    """

    ANONYMIZATION = "anonymization"
    AUDIT = "audit"
    QUERY = "query"
    PUBLICATION = "publication"
    REPORT = "report"


class Queue(StrEnum):
    """Queues; each has processes of its own, so that an upload never waits behind a long job."""

    INTERACTIVE = "interactive"
    BATCH = "batch"


#: Stages of a job: before, while and after a worker has it, among them parts of the methods' work.
JobStage: TypeAlias = Literal[
    "queued", "starting", "waiting", "parts", "done", "failed", "cancelled",
    "read", "check", "gate", "composition", "release", "report",
    "influence", "partition", "bounds", "uncertainty", "ranges", "boxes", "places", "unions",
    "calibration", "groups", "records", "draw", "anonymity",
    "patterns", "search", "rules", "profile", "scores", "classifiers",
    "attack", "attack_again", "joint_attack", "assignment", "who_leaves", "nearest_partners", "generations",
    "classes", "classify", "count", "statistics", "uniques",
]  # fmt: skip
_DETAIL: Final = ": "

#: An attacker who knows a seed can undo the noise it makes: answers show that there was one.
Seed = Annotated[
    int,
    Field(strict=True, ge=0, lt=2**63),
    WithJsonSchema({"type": "string", "const": "given"}, mode="serialization"),
]


class JobSpec(Contract):
    """What every specification shares; one subclass a method, distinguished by `method`."""

    kind: ClassVar[JobKind]
    queue: ClassVar[Queue] = Queue.BATCH
    #: Raised with a change that workers of the version before would refuse or misread: they leave such jobs to others.
    version: ClassVar[int] = 1
    #: The oldest version that is still understood, for jobs that were accepted before an upgrade.
    oldest: ClassVar[int] = 1
    #: Fields that the specification carries for the worker, and no answer shows.
    carried: ClassVar[frozenset[str]] = frozenset()
    #: Bodies as someone might send them: the document shows them, tests send them.
    examples: ClassVar[Examples] = {}

    method: str = Field(description="Method of the job: specifications are distinguished by it.")
    seed: Seed | None = Field(
        default=None,
        description="For tests only: makes the release reproducible, and marks it so. Shown as `given`, never itself.",
    )
    tags: Tags = Field(
        default_factory=dict,
        description="Tags of the job and of its release; those whose names begin with `job.` are the job's alone.",
    )


class DatasetJobSpec(JobSpec):
    """A specification that works on one dataset."""

    dataset_id: DatasetId = Field(description="The dataset to work on.")


class ReleasingSpec(DatasetJobSpec):
    """A specification of a job that makes a release."""

    #: 2: `formats`; 3: `publish`, `gate`; 4, 5, 6: more of `gate`; 7: `csv.excel`, `delimiter`.
    version: ClassVar[int] = 7

    formats: Formats = Field(default=DEFAULT_FORMATS, json_schema_extra=without_default)
    delimiter: Delimiter = ","
    publish: PublicationMode = PublicationMode.DRAFT
    gate: Annotated[tuple[GateDemand, ...], Field(max_length=20)] = Field(
        default=(), description="Audits of the release before it is published, and what they must find."
    )
    accept_findings: Annotated[tuple[Literal["composition"], ...], Field(max_length=1)] = Field(
        default=(),
        description="`composition`: publish although releases of the same data leave fewer than k persons together; "
        "flagged.",
    )


class JobProgress(Contract):
    """How far a job has come."""

    fraction: float = Field(ge=0, le=1, description="Share of the work that is done, by estimate.")
    stage: Annotated[str, one_of(get_args(JobStage))] = Field(description="Current stage of the job.")
    detail: str | None = Field(
        default=None, description="More of the stage, such as the newest generation or what the job waits for."
    )

    @property
    def text(self) -> str:
        """Stage and detail as one text, as they are kept."""
        return self.stage if self.detail is None else f"{self.stage}{_DETAIL}{self.detail}"


def stage_and_detail(text: str) -> tuple[str, str | None]:
    """Part the text that a progress is kept as."""
    stage, _, detail = text.partition(_DETAIL)
    return stage, detail or None


class JobEstimate(Contract):
    """What a job is expected to need, from its specification and the profile of its data: right within a few times."""

    cpu_seconds: float = Field(description="Expected CPU seconds of one core.")
    memory_bytes: int = Field(description="Of the worker's process, beyond what it uses before it begins.")
    release_bytes: int | None = Field(
        default=None,
        description="Of the files of its release, in all their formats: 0 for what makes none; null: it was accepted "
        "before this was estimated.",
    )
    scratch_bytes: int | None = Field(
        default=None,
        description="Of temporary files on the worker's disk: what it reads and what it writes; null: it was accepted "
        "before this was estimated.",
    )


class JobEnvelope(Contract):
    """What jobs of all methods show alike; `method`, `spec` and `result` are each method's own."""

    id: str = Field(description="Names the job for as long as it is kept.")
    kind: JobKind = Field(description="Endpoint that created the job.")
    method: str = Field(description="Method of the job; it distinguishes kinds of jobs.")
    state: JobState = Field(description="`succeeded`, `failed` and `cancelled` are final.")
    tags: Tags = Field(description="As given with the specification.")
    progress: JobProgress = Field(description="How far it has come.")
    attempts: int = Field(description="How often a worker has begun with it.")
    created_at: Instant = Field(description="Time of creation, in UTC.")
    started_at: Instant | None = Field(description="When a worker last began with it; null: none has.")
    finished_at: Instant | None = Field(description="When it reached its final state; null: it has not.")
    spec: JobSpec | None = Field(
        description="The specification, defaults filled in; null without `jobs:read` (of a question, `releases:read`)."
    )
    result: Contract | None = Field(
        description="Summary of the result, without long lists. Null until the job has succeeded, after erasure, and "
        "for keys without the scope that shows `spec`."
    )
    warnings: tuple[JobWarning, ...] = Field(
        default=(),
        description="What succeeded but will disappoint or expose; like `result`, for keys with `jobs:read` only.",
    )
    release_id: str | None = Field(description="What it made; null: nothing, or nothing yet.")
    findings: tuple[Finding, ...] = Field(
        default=(), description="What the gate of its release found; like `result`, for keys with `jobs:read` only."
    )
    error: Problem | None = Field(description="Why it failed; null: it did not.")
    estimate: JobEstimate | None = Field(
        default=None,
        description="What it was expected to need when it was accepted; null: it is answered at once, or was accepted "
        "before there were estimates.",
    )
