"""Accepting an anonymization or an audit: the dataset is looked at and the job is written in one transaction."""

from collections.abc import Callable
from dataclasses import dataclass

from app.contracts.datasets import DatasetState, Profile
from app.contracts.jobs import JobSpec
from app.db.job_record import JobRecord
from app.db.repositories import inputs, jobs
from app.db.session import Connection, Database, UnitOfWork
from app.errors import FieldError, InvalidError, NotFoundError
from app.jobs.methods import Method
from app.jobs.submit import Submission, submit
from app.queue import JobQueue

_NOT_READY = {
    DatasetState.INGESTING: "the dataset is still being read; ask again once its state is `ready`",
    DatasetState.FAILED: "the dataset could not be read; its `error` says why",
}


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks for a job."""

    owner: str
    key_id: str


def accept(
    *,
    database: Database,
    broker: JobQueue,
    asker: Asker,
    method: Method,
    spec: JobSpec,
    max_unfinished: int,
    remember: Callable[[UnitOfWork, JobRecord], None] | None = None,
) -> JobRecord:
    """Check the specification against its dataset, write the job, and send its id once that is committed.

    Parameters
    ----------
    database, broker
        Where the job is written, and where its id is sent.
    asker
        Who asks.
    method, spec
        What is asked for.
    max_unfinished
        Queued and running jobs an owner may have.
    remember
        Called with the job in the same transaction: what is to be replayed for an Idempotency-Key.

    Raises
    ------
    InvalidError
        If the specification does not fit the dataset, or there is no such dataset that is ready.
    TooManyJobsError
        If the owner has too many unfinished jobs.
    """
    with database.unit_of_work() as unit:
        profile = _profile(unit.connection, owner=asker.owner, dataset_id=spec.dataset_id)
        filled = method.fill(spec, profile)
        if errors := method.check(filled, profile):
            raise _refused(errors)
        submission = Submission(
            owner=asker.owner,
            key_id=asker.key_id,
            spec=filled,
            kind=method.kind,
            queue=method.queue,
            dataset_id=spec.dataset_id,
        )
        job_id = submit(unit, submission=submission, broker=broker, max_unfinished=max_unfinished)
        record = jobs.get(unit.connection, owner=asker.owner, job_id=job_id)
        if record is None:
            raise NotFoundError(f"there is no job {job_id}")
        if remember is not None:
            remember(unit, record)
    return record


def _profile(connection: Connection, *, owner: str, dataset_id: str) -> Profile:
    found = inputs.lock_input(connection, owner=owner, dataset_id=dataset_id)
    if found is None:
        raise _refused([FieldError("/dataset_id", "there is no dataset with this id")])
    if found.profile is None:
        raise _refused([FieldError("/dataset_id", _NOT_READY[found.state])])
    return found.profile


def _refused(errors: list[FieldError]) -> InvalidError:
    """One error that tells all of them, in words and by pointer."""
    told = "; ".join(f"{error.pointer}: {error.detail}" for error in errors[:5])
    return InvalidError(told + ("; …" if len(errors) > 5 else ""), errors=errors)
