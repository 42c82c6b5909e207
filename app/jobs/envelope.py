"""The JSON of a job, as `contracts.jobs.Job` declares it.

The database hands over its JSON columns as text, and they go out as they are: a job is read far more often than it is
made, and building and checking a model for every read costs more than the read itself.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from orjson import Fragment, dumps, loads

from app.contracts.base import rfc3339
from app.contracts.jobs import JobState, stage_and_detail
from app.db.job_record import JobRecord
from app.db.repositories.job_history import JobSnapshot, StateChange
from app.jobs.refusals import problem_without_figures
from app.methods.catalogue import METHODS


def job_json(record: JobRecord, *, whole: bool = True) -> str:
    """Render the job; its specification, result, warnings and findings only for who may see the `whole` of it.

    Others learn why it failed without figures of the data.
    """
    shown = {
        "id": record.id,
        "kind": record.kind,
        "method": record.method,
        "state": record.state,
        "tags": Fragment(record.tags_json),
        "progress": _progress(record),
        "attempts": record.attempts,
        "created_at": rfc3339(record.created_at),
        "started_at": _instant(record.started_at),
        "finished_at": _instant(record.finished_at),
        "spec": _spec(record) if whole else None,
        "result": _spliced(record.result_json) if whole else None,
        "warnings": Fragment(record.warnings_json if whole else "[]"),
        "release_id": record.release_id,
        "findings": Fragment(record.findings_json if whole else "[]"),
        "error": _spliced(record.error_json) if whole else _without_figures(record.error_json),
        "estimate": _estimate(record) if whole else None,
    }
    return dumps(shown).decode()


def list_json(jobs: Sequence[str], *, next_cursor: str | None) -> str:
    """Render one page of rendered jobs."""
    return dumps({"items": [Fragment(one) for one in jobs], "next_cursor": next_cursor}).decode()


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


def _spec(record: JobRecord) -> Fragment | dict[str, Any]:
    """The specification, without what it carries for the worker alone."""
    carried = METHODS[record.method].spec.carried if record.method in METHODS else frozenset()
    if not carried:
        return Fragment(record.spec_json)
    return {name: value for name, value in loads(record.spec_json).items() if name not in carried}


def _progress(record: JobRecord) -> dict[str, Any]:
    if record.state == JobState.SUCCEEDED:
        fraction, text = 1.0, "done"
    elif record.state == JobState.QUEUED:  # the row still contains how far an earlier attempt has come
        fraction, text = 0.0, record.stage or "queued"
    else:
        fraction, text = float(record.fraction or 0.0), record.stage or ""
    stage, detail = stage_and_detail(text)
    return {"fraction": fraction, "stage": stage, "detail": detail}


def _estimate(record: JobRecord) -> dict[str, float | int | None] | None:
    if record.estimated_seconds is None or record.estimated_bytes is None:
        return None
    return {
        "cpu_seconds": record.estimated_seconds,
        "memory_bytes": record.estimated_bytes,
        "release_bytes": record.estimated_release_bytes,
        "scratch_bytes": record.estimated_scratch_bytes,
    }


def _spliced(text: str | None) -> Fragment | None:
    return None if text is None else Fragment(text)


def _without_figures(text: str | None) -> dict[str, Any] | None:
    problem = None if text is None else loads(text)
    return None if problem is None else problem_without_figures(problem)


def _instant(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)


@dataclass(frozen=True, slots=True)
class JobEvent:
    """One event: `state` or `progress`, its number, and the job's JSON."""

    name: str
    id: int
    data: str


def events_after(
    snapshot: JobSnapshot, *, seen: int, render: Callable[[JobRecord], str] = job_json
) -> Iterator[JobEvent]:
    """Every change of state numbered above `seen`, oldest first, then the newest progress.

    Numbers of one job's events and progress come from one sequence and are drawn while its row is locked, so they
    increase in the order of the commits: nothing that a reader has not seen has a number below what it has seen.
    """
    record = snapshot.record
    last = snapshot.changes[-1] if snapshot.changes else None
    for change in snapshot.changes:
        if change.id > seen:
            yield JobEvent("state", change.id, render(record if change is last else as_of(record, change)))
            seen = change.id
    if record.state == JobState.RUNNING and record.version is not None and record.version > seen:
        yield JobEvent("progress", record.version, render(record))
