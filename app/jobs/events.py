"""What an event stream of a job tells, given what its reader has seen."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from app.contracts.jobs import JobState
from app.db.job_record import JobRecord
from app.db.repositories.job_history import JobSnapshot
from app.jobs.envelope import as_of, job_json


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
