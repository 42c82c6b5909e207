"""A job's row with its progress, as read from the database in one statement.

The JSON columns are kept as text: a job is mostly read to be sent, and text needs no decoding on the way.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, cast, func, select

from app.contracts.jobs import FINISHED, JobState
from app.db.tables.jobs import job, job_progress


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job; fields ending in `_json` are JSON text. The fields are in the order of `COLUMNS`."""

    id: str
    owner: str
    kind: str
    method: str
    queue: str
    listed: bool
    state: str
    tags_json: str
    spec_json: str
    result_json: str | None
    warnings_json: str
    release_id: str | None
    findings_json: str
    error_json: str | None
    attempt: int
    given_back: int
    cancel_requested_at: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    fraction: float | None
    stage: str | None
    version: int | None
    result_erased_at: datetime | None
    estimated_seconds: float | None
    estimated_bytes: int | None
    estimated_release_bytes: int | None
    estimated_scratch_bytes: int | None

    @property
    def attempts(self) -> int:
        """Attempts that count: claims that a worker gave back unharmed do not."""
        return self.attempt - self.given_back

    @property
    def finished(self) -> bool:
        """Whether the row can no longer change."""
        return JobState(self.state) in FINISHED


COLUMNS: tuple[ColumnElement[Any], ...] = (
    job.c.id,
    job.c.owner,
    job.c.kind,
    job.c.method,
    job.c.queue,
    job.c.listed,
    job.c.state,
    cast(job.c.tags, Text),
    # Of an erased job only a part of `spec` is left.
    func.coalesce(cast(job.c.spec_shown, Text), cast(job.c.spec, Text)),
    func.coalesce(cast(job.c.result_shown, Text), cast(job.c.result, Text)),
    cast(job.c.warnings, Text),
    job.c.release_id,
    cast(job.c.findings, Text),
    cast(job.c.error, Text),
    job.c.attempt,
    job.c.given_back,
    job.c.cancel_requested_at,
    job.c.created_at,
    job.c.started_at,
    job.c.finished_at,
    job_progress.c.fraction,
    job_progress.c.stage,
    job_progress.c.version,
    job.c.result_erased_at,
    job.c.estimated_seconds,
    job.c.estimated_bytes,
    job.c.estimated_release_bytes,
    job.c.estimated_scratch_bytes,
)


def select_jobs() -> Select[*tuple[Any, ...]]:
    """Select what a `JobRecord` holds, of all jobs."""
    return select(*COLUMNS).select_from(job.outerjoin(job_progress, job_progress.c.job_id == job.c.id))
