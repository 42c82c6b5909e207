"""Accepting a job: one function for anonymizations, audits and the reading of uploads."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.contracts.base import new_id
from app.contracts.ids import references
from app.contracts.jobs import JobSpec
from app.db.repositories import jobs
from app.db.repositories.inputs import insert_inputs
from app.db.session import UnitOfWork
from app.errors import TooManyJobsError
from app.jobs.needs import Estimate
from app.methods.rules import RULES
from app.queue import JobQueue

#: A client that met the limit is requested to come back after this many seconds.
_RETRY_SECONDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """One job to be accepted."""

    owner: str
    key_id: str | None
    spec: JobSpec
    kind: str
    queue: str
    draw: int = 1
    listed: bool = True
    expires_at: datetime | None = None
    estimate: Estimate | None = None


def submit(unit: UnitOfWork, *, submission: Submission, broker: JobQueue, max_unfinished: int) -> str:
    """Write a queued job in the caller's unit of work and send its id once that is committed.

    Parameters
    ----------
    unit
        The caller's unit of work, in which submissions of the owner are locked (`jobs.lock_submissions`); what else the
        job needs (a dataset's row) is written in it too.
    submission
        Who asks for what.
    broker
        Where the id is sent; a broker that is down loses nothing, housekeeping sends the id later.
    max_unfinished
        Queued and running jobs an owner may have.

    Returns
    -------
    str
        The job's id.

    Raises
    ------
    TooManyJobsError
        If the owner has that many unfinished jobs already.
    """
    _check_limit(unit, owner=submission.owner, max_unfinished=max_unfinished)
    job_id = new_id("job")
    spec = submission.spec
    jobs.insert_job(
        unit.connection,
        new=jobs.NewJob(
            id=job_id,
            owner=submission.owner,
            kind=submission.kind,
            method=spec.method,
            spec_version=spec.version,
            queue=submission.queue,
            listed=submission.listed,
            tags=spec.tags,
            spec=echo(spec),
            seed=spec.seed,
            draw=submission.draw,
            requested_by=submission.key_id,
            expires_at=submission.expires_at,
            **_expected(submission.estimate),
            warnings=RULES[spec.method].foreseen(spec) if spec.method in RULES else (),
        ),
    )
    insert_inputs(unit.connection, job_id=job_id, inputs=references(spec))
    unit.after_commit(lambda: _send(broker, job_id, spec.method, submission.queue))
    return job_id


def _expected(need: Estimate | None) -> dict[str, Any]:
    """The columns of an estimate."""
    if need is None:
        return {}
    return {
        "estimated_seconds": need.seconds,
        "estimated_bytes": int(need.bytes),
        "estimated_release_bytes": int(need.written),
        "estimated_scratch_bytes": int(need.scratch),
    }


def echo(spec: JobSpec) -> dict[str, Any]:
    """The request, defaults filled in; a seed would undo the noise it makes, so only that it was given is kept."""
    shown = spec.model_dump(mode="json")
    if shown["seed"] is not None:
        shown["seed"] = "given"
    return shown


def _check_limit(unit: UnitOfWork, *, owner: str, max_unfinished: int) -> None:
    if jobs.count_unfinished(unit.connection, owner=owner, at_most=max_unfinished) >= max_unfinished:
        raise TooManyJobsError(
            f"{max_unfinished} jobs of this owner are queued or running, which is the limit; "
            "wait until one has ended or cancel one",
            retry_after=_RETRY_SECONDS,
        )


def _send(broker: JobQueue, job_id: str, method: str, queue: str) -> None:
    broker.enqueue(job_id, method=method, queue=queue)
