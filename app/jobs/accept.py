"""Accepting an anonymization or an audit: what it names is looked at and the job is written in one transaction."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from app.auth.principal import Principal
from app.contracts.inputs import DatasetInput, Given
from app.contracts.jobs import JobSpec
from app.contracts.log import LogAction
from app.db.job_record import JobRecord
from app.db.repositories import audit, draws, families, jobs
from app.db.repositories.release_access import Viewer
from app.db.session import Database, UnitOfWork
from app.errors import FieldError, ForbiddenError, InvalidError, NotFoundError
from app.jobs.admission import admitted
from app.jobs.inputs import LookUp
from app.jobs.refusals import refusals, withheld
from app.jobs.submit import Submission, submit
from app.methods.method import Method
from app.methods.rules import RULES, Rules, wrong_gate, wrong_releases
from app.queue import JobQueue
from app.settings import Settings


def accept(
    *,
    database: Database,
    broker: JobQueue,
    principal: Principal,
    method: Method,
    spec: JobSpec,
    max_unfinished: int,
    rules: Rules | None = None,
    remember: Callable[[UnitOfWork, JobRecord], None] | None = None,
    forgotten_at: datetime | None = None,
    viewer: Viewer | None = None,
    settings: Settings | None = None,
) -> JobRecord:
    """Check the specification against what it names, write the job, and send its id once that is committed.

    Parameters
    ----------
    database, broker
        Where the job is written, and where its id is sent.
    principal
        Who asks.
    method, spec
        What is asked for.
    max_unfinished
        Queued and running jobs an owner may have.
    rules
        What is filled in and refused; by default that of the method.
    remember
        Called with the job in the same transaction: what is to be replayed for an Idempotency-Key.
    forgotten_at
        Makes the job an unlisted one that is removed then.
    viewer
        For whom releases are there, where they are only asked; by default they are the principal's own.
    settings
        What a job may take; None for what is answered at once.

    Raises
    ------
    ForbiddenError
        If it says what is for keepers to say.
    InvalidError
        If the specification does not fit what it names, or that is not there, or it needs more than a job may take.
    TooManyJobsError
        If the owner has too many unfinished jobs.
    TooMuchWorkError
        If the owner's jobs of the day take too long.
    """
    if getattr(spec, "accept_findings", ()) and not principal.is_keeper:
        raise ForbiddenError("`accept_findings` is for keepers of the data: this key lacks the scope jobs:read")
    with database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=principal.owner)
        named = LookUp(unit.connection, owner=principal.owner, viewer=viewer)
        submission = replace(
            _submission(unit, named, principal=principal, method=method, rules=rules or RULES[method.name], spec=spec),
            listed=forgotten_at is None,
            expires_at=forgotten_at,
        )
        if settings is not None:
            given = named.given(submission.spec)
            need = admitted(unit.connection, submission.spec, given, principal=principal, settings=settings)
            submission = replace(submission, estimate=need)
        job_id = submit(unit, submission=submission, broker=broker, max_unfinished=max_unfinished)
        record = jobs.get(unit.connection, owner=principal.owner, job_id=job_id)
        if record is None:
            raise NotFoundError(f"there is no job {job_id}")
        if remember is not None:
            remember(unit, record)
        if submission.listed:
            audit.record(
                unit.connection, owner=principal.owner, action=LogAction.SUBMITTED, subject=job_id,
                key_id=principal.key_id, facts={"method": method.name},
            )  # fmt: skip
    return record


def _submission(
    unit: UnitOfWork, named: LookUp, *, principal: Principal, method: Method, rules: Rules, spec: JobSpec
) -> Submission:
    """The specification filled in, with what it names, once nothing is wrong with either."""
    named.look(spec)
    _refuse(named.errors)
    _refuse(list(wrong_releases(method, named.given(spec))))
    filled = _filled(rules, spec, named.given(spec), keeper=principal.is_keeper)
    named.look(filled, by_default=True)
    _refuse(named.errors)
    made_from = named.given(filled).dataset
    earlier = _earlier_draws(unit, principal=principal, method=method, made_from=made_from)
    given = named.given(filled, earlier_draws=earlier)
    wrong = refusals(rules.check, filled, given, keeper=principal.is_keeper)
    _refuse([*wrong, *wrong_gate(method, filled)])
    return Submission(
        owner=principal.owner,
        key_id=principal.key_id,
        spec=filled,
        kind=method.kind,
        queue=method.queue,
        draw=earlier + 1,
    )


def _filled(rules: Rules, spec: JobSpec, given: Given, *, keeper: bool) -> JobSpec:
    try:
        filled: JobSpec = rules.fill(spec, given)
    except InvalidError as error:
        if keeper:
            raise
        raise withheld(error) from None
    return filled


def _earlier_draws(unit: UnitOfWork, *, principal: Principal, method: Method, made_from: DatasetInput | None) -> int:
    if not method.draws or made_from is None:
        return 0
    return draws.count_published(unit.connection, owner=principal.owner, method=method.name, made_from=made_from)


def _refuse(errors: list[FieldError]) -> None:
    """One error that lists all of them, in words and by pointer."""
    if errors:
        detail = "; ".join(f"{error.pointer or 'body'}: {error.detail}" for error in errors[:5])
        raise InvalidError(detail + ("; …" if len(errors) > 5 else ""), errors=errors)
