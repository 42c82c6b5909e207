"""Changes of jobs, for those who wait: who is woken by one, and jobs with all their changes, many in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ARRAY, Connection, String, any_, bindparam, func, select
from sqlalchemy.dialects.postgresql import JSON, aggregate_order_by

from app.db.job_record import JobRecord, select_jobs
from app.db.tables.jobs import job, job_event

#: The channel that API processes listen on; the payload is the job's id.
CHANNEL = "surebox_job"


@dataclass(frozen=True, slots=True)
class StateChange:
    """One entry of a job's log."""

    id: int
    state: str
    attempt: int


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """A job and its whole log at one instant."""

    record: JobRecord
    changes: tuple[StateChange, ...]


_LOG = (
    select(
        func.json_agg(
            aggregate_order_by(
                func.json_build_array(job_event.c.id, job_event.c.state, job_event.c.attempt), job_event.c.id
            ),
            type_=JSON,
        )
    )
    .where(job_event.c.job_id == job.c.id)
    .scalar_subquery()
)
_SNAPSHOTS = (
    select_jobs()
    .add_columns(_LOG)
    .where(job.c.id == any_(bindparam("job_ids", type_=ARRAY(String))), job.c.erased_at.is_(None))
)


def snapshots(connection: Connection, *, job_ids: Sequence[str]) -> dict[str, JobSnapshot]:
    """Those of the jobs that exist, with their logs, read in one statement and so at one instant."""
    by_id = {}
    for *columns, log in connection.execute(_SNAPSHOTS, {"job_ids": list(job_ids)}):
        record = JobRecord(*columns)
        by_id[record.id] = JobSnapshot(record, tuple(StateChange(*entry) for entry in log or ()))
    return by_id


def notify(connection: Connection, *, job_id: str) -> None:
    """Wake whoever waits for this job, in any process; Postgres does it once the transaction is committed."""
    connection.execute(select(func.pg_notify(CHANNEL, job_id)))
