"""Reading and cancelling one's jobs."""

from datetime import datetime

from app.contracts.jobs import JobKind, JobState
from app.contracts.log import LogAction
from app.db.job_record import JobRecord
from app.db.repositories import audit, inputs, job_results, jobs
from app.db.repositories.job_results import StoredProvenance, StoredResult
from app.db.repositories.jobs import JobFilter
from app.db.repositories.release_access import Viewer
from app.db.session import Connection, Database
from app.errors import ForbiddenError, JobFailedError, JobUnfinishedError, NotFoundError, ResultExpiredError

_SHOWN = frozenset(JobKind)


def read_job(
    *, database: Database, owner: str, job_id: str, viewer: Viewer | None = None, answers_only: bool = False
) -> JobRecord:
    """The owner's job, listed or not.

    Parameters
    ----------
    database, owner, job_id
        Where, whose, which.
    viewer
        For whom releases are there: a question is answered as long as its release is; None: whatever it is.
    answers_only
        For a reader of releases: the job must be a question to one of them.

    Raises
    ------
    NotFoundError
        If there is no such job, it is another owner's, it is internal (the reading of an upload), or the release that
        was queried is not there for the viewer any more.
    ForbiddenError
        If a reader of releases asks for anything but a question, whether it is there or not.
    """
    with database.read() as connection:
        return _mine(connection, owner=owner, job_id=job_id, viewer=viewer, answers_only=answers_only)


def list_jobs(
    *, database: Database, owner: str, only: JobFilter, before: tuple[datetime, str] | None, limit: int
) -> list[JobRecord]:
    """The owner's listed jobs, newest first."""
    with database.read() as connection:
        return jobs.list_jobs(connection, owner=owner, only=only, before=before, limit=limit)


def cancel_job(
    *, database: Database, owner: str, job_id: str, viewer: Viewer | None = None, key_id: str | None = None
) -> tuple[JobRecord, bool]:
    """Ask for the end of a job; returns the job and whether there was anything left to cancel."""
    with database.unit_of_work() as unit:
        _mine(unit.connection, owner=owner, job_id=job_id, viewer=viewer)
        requested = jobs.request_cancel(unit.connection, owner=owner, job_id=job_id)
        if requested:
            audit.record(unit.connection, owner=owner, action=LogAction.CANCELLED, subject=job_id, key_id=key_id)
        return _mine(unit.connection, owner=owner, job_id=job_id, viewer=viewer), requested


def read_result(
    *, database: Database, owner: str, job_id: str, viewer: Viewer | None = None, answers_only: bool = False
) -> StoredResult:
    """Where the whole result is, and its checksum; parameters and errors as of `read_job`."""
    with database.read() as connection:
        record = _mine(connection, owner=owner, job_id=job_id, viewer=viewer, answers_only=answers_only)
        check_succeeded(record, what="result")
        result = job_results.get_result(connection, job_id=job_id)
    if record.result_erased_at is not None:
        raise ResultExpiredError("the result of this job was erased when its time had passed; run the job again")
    if result is None:
        raise JobFailedError(f"job {job_id} left no result")
    return result


def read_provenance(*, database: Database, owner: str, job_id: str) -> StoredProvenance:
    """The whole provenance of a succeeded job."""
    with database.read() as connection:
        record = _mine(connection, owner=owner, job_id=job_id)
        check_succeeded(record, what="provenance")
        provenance = job_results.get_provenance(connection, job_id=job_id)
    if provenance is None:
        raise NotFoundError(f"job {job_id} left no provenance")
    return provenance


def _mine(
    connection: Connection, *, owner: str, job_id: str, viewer: Viewer | None = None, answers_only: bool = False
) -> JobRecord:
    record = jobs.get(connection, owner=owner, job_id=job_id)
    if answers_only and (record is None or record.kind != JobKind.QUERY):
        raise ForbiddenError("this key lacks the scope jobs:read: it reads answers to questions only")
    if record is None or record.kind not in _SHOWN:
        raise NotFoundError("there is no job with this id")
    if record.kind != JobKind.QUERY or viewer is None:
        return record
    if not inputs.is_there(connection, job_id=job_id, viewer=viewer):
        raise NotFoundError("This key can no longer read the release.")
    return record


def check_succeeded(record: JobRecord, *, what: str) -> None:
    """Refuse what only a job that has succeeded has.

    Raises
    ------
    JobUnfinishedError, JobFailedError
        It has not ended; it ended without.
    """
    if not record.finished:
        raise JobUnfinishedError(f"the job is {record.state}: its {what} is there once it has succeeded", retry_after=1)
    if record.state != JobState.SUCCEEDED:
        raise JobFailedError(f"the job has {_ENDED[JobState(record.state)]}: it has no {what}")


_ENDED = {JobState.FAILED: "failed, its `error` states why", JobState.CANCELLED: "been cancelled"}
