"""The JSON of a job, as `contracts.jobs.Job` declares it.

Built as text: the database hands over its JSON columns as text, a job is read far more often than it is made, and
building and checking a model for every read costs more than the read itself.
"""

import json
from collections.abc import Sequence
from dataclasses import replace

from app.contracts.base import rfc3339
from app.contracts.jobs import JobState
from app.db.job_record import JobRecord
from app.db.repositories.job_history import StateChange

_SUCCEEDED_PROGRESS = '{"fraction":1.0,"stage":"done"}'


def job_json(record: JobRecord, *, whole: bool = True) -> str:
    """Render the job; its specification, result and warnings only for who may see the `whole` of it."""
    spec, result, warnings = record.spec_json, record.result_json or "null", record.warnings_json
    findings = record.findings_json
    if not whole:
        spec, result, warnings, findings = "null", "null", "[]", "[]"
    started, finished, release = record.started_at, record.finished_at, record.release_id
    return (
        f'{{"id":"{record.id}","kind":"{record.kind}","method":"{record.method}","state":"{record.state}",'
        f'"labels":{record.labels_json},"progress":{_progress(record)},"attempts":{record.attempts},'
        f'"created_at":"{rfc3339(record.created_at)}",'
        f'"started_at":{_quoted(rfc3339(started) if started else None)},'
        f'"finished_at":{_quoted(rfc3339(finished) if finished else None)},'
        f'"spec":{spec},"result":{result},"warnings":{warnings},'
        f'"release_id":{_quoted(release)},"findings":{findings},"error":{record.error_json or "null"}}}'
    )


def list_json(jobs: Sequence[str], *, next_cursor: str | None) -> str:
    """Render one page of rendered jobs."""
    return f'{{"items":[{",".join(jobs)}],"next_cursor":{_quoted(next_cursor)}}}'


def as_of(record: JobRecord, change: StateChange) -> JobRecord:
    """The job as it was right after an earlier change of its state."""
    return replace(
        record,
        state=change.state,
        attempt=min(change.attempt, record.attempts),
        given_back=0,
        started_at=record.started_at if change.attempt else None,
        finished_at=None,
        fraction=0.0,
        stage=JobState.QUEUED if change.state == JobState.QUEUED else "starting",
        result_json=None,
        warnings_json="[]",
        release_id=None,
        findings_json="[]",
        error_json=None,
    )


def _progress(record: JobRecord) -> str:
    if record.state == JobState.SUCCEEDED:
        return _SUCCEEDED_PROGRESS
    if record.state == JobState.QUEUED:  # the row still holds how far an earlier attempt has come
        return f'{{"fraction":0.0,"stage":{json.dumps(record.stage or "queued")}}}'
    return f'{{"fraction":{float(record.fraction or 0.0)!r},"stage":{json.dumps(record.stage or "")}}}'


def _quoted(text: str | None) -> str:
    return "null" if text is None else f'"{text}"'
