"""What the report of a job is written from; its result is read by the worker that writes."""

import json
from typing import Any, Final

from app.contracts.base import rfc3339
from app.contracts.jobs import JobKind
from app.contracts.log import LogAction
from app.db.job_record import JobRecord
from app.db.repositories import families, log
from app.db.repositories.release_access import keeper_of
from app.db.session import Database
from app.errors import NotFoundError, ResultExpiredError
from app.jobs.read import check_succeeded, read_job
from app.methods.report.spec import JobReportSpec, ReleaseReportSpec
from app.releases.report import release_report

_REPORTED: Final = frozenset({JobKind.ANONYMIZATION, JobKind.AUDIT})


def job_report(*, database: Database, owner: str, job_id: str) -> JobReportSpec:
    """The question for the restricted report of a job.

    Raises
    ------
    NotFoundError
        If there is no such job.
    JobUnfinishedError, JobFailedError, ResultExpiredError
        If it has no result: it has not ended, it failed, or its result was erased.
    """
    record = read_job(database=database, owner=owner, job_id=job_id)
    if record.kind not in _REPORTED or not record.listed:
        raise NotFoundError("there is no job with this id")
    check_succeeded(record, what="report")
    if record.result_erased_at is not None:
        raise ResultExpiredError("the result of this job was erased when its time had passed: there is no report")
    facts = _job_facts(record) | _published(database, record)
    release = _release(database, record)
    named = None if release is None else release.release_id
    return JobReportSpec(job_id=job_id, job=facts, release=release, release_id=named)


def _job_facts(record: JobRecord) -> dict[str, Any]:
    times = {"created_at": record.created_at, "started_at": record.started_at, "finished_at": record.finished_at}
    begun, ended = record.started_at, record.finished_at
    return {
        "seconds": None if begun is None or ended is None else round((ended - begun).total_seconds(), 3),
        "kind": record.kind,
        "attempts": record.attempts,
        "warnings": json.loads(record.warnings_json),
        "findings": json.loads(record.findings_json),
        **{name: None if at is None else rfc3339(at) for name, at in times.items()},
    }


def _published(database: Database, record: JobRecord) -> dict[str, Any]:
    """Findings that were accepted when its release was published, by whom, and what it leaves with earlier ones."""
    if record.release_id is None:
        return {}
    mine = {"owner": record.owner}
    with database.read() as connection:
        entries = log.of_subject(connection, **mine, subject=record.release_id, action=LogAction.PUBLISHED)
        composed = families.composed_of(connection, **mine, release_id=record.release_id)
    accepted = [
        {"audit": audit, "by": entry.key_id, "at": rfc3339(entry.created_at)}
        for entry in entries
        for audit in entry.facts.get("accepted", ())
    ]
    return {"accepted": accepted, "composed": None if composed is None else dict(composed)}


def _release(database: Database, record: JobRecord) -> ReleaseReportSpec | None:
    if record.release_id is None:
        return None
    try:
        return release_report(database=database, viewer=keeper_of(record.owner), release_id=record.release_id)
    except NotFoundError:  # deleted; the job remains
        return None
