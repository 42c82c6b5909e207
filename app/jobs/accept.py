"""Accepting an anonymization or an audit: what it names is looked at and the job is written in one transaction."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, TypeVar

from app.auth.principal import Principal
from app.contracts.datasets import DatasetState
from app.contracts.ids import Named, Reference, references
from app.contracts.inputs import DatasetInput, Given, JobInput, ReleaseInput
from app.contracts.jobs import JobSpec
from app.contracts.log import LogAction
from app.db.job_record import JobRecord
from app.db.repositories import audit, draws, families, inputs, jobs
from app.db.repositories.release_access import Viewer
from app.db.session import Connection, Database, UnitOfWork
from app.errors import FieldError, ForbiddenError, InvalidError, NotFoundError
from app.jobs.admission import admitted
from app.jobs.refusals import refusals, withheld
from app.jobs.submit import Submission, submit
from app.methods.catalogue import Method
from app.methods.frequencies import counted
from app.methods.rules import RULES, Rules, wrong_gate, wrong_releases
from app.queue import JobQueue
from app.settings import Settings

T = TypeVar("T")

#: Fields by which a keeper answers for the data.
_OF_KEEPERS: Final = ("accept_findings", "frequencies_are_exact")
_NOT_READY: Final = {
    DatasetState.INGESTING: "the dataset is still being read; ask again once its state is `ready`",
    DatasetState.FAILED: "the dataset could not be read; its `error` states why",
}


class LookUp:
    """Looks ids up in one transaction, in which nothing that it has found can be deleted.

    Parameters
    ----------
    connection
        Of that transaction.
    owner
        Whose datasets, releases and jobs are there.
    viewer
        Where releases are only queried: for whom they are there, instead of their owner.
    """

    def __init__(self, connection: Connection, *, owner: str, viewer: Viewer | None = None) -> None:
        self._connection, self._owner, self._viewer = connection, owner, viewer
        self._inputs: dict[str, DatasetInput | ReleaseInput | JobInput] = {}
        self.errors: list[FieldError] = []

    def given(self, spec: JobSpec, *, earlier_draws: int = 0) -> Given:
        """What of the specification has been found, in the order of its fields."""
        by_role = {one.role: self._inputs[one.role] for one in references(spec) if one.role in self._inputs}
        return Given(
            _of(DatasetInput, by_role), _of(ReleaseInput, by_role), _of(JobInput, by_role), earlier_draws=earlier_draws
        )

    def look(self, spec: JobSpec, *, by_default: bool = False) -> None:
        """Look up what the specification names and was not looked up yet; absent ones go to `errors`.

        Parameters
        ----------
        spec
            The specification.
        by_default
            Whether the ids that are new were filled in, not requested.
        """
        for one in references(spec):
            wrong = None if one.role in self._inputs else self._find(one)
            if wrong is not None:
                detail = f"by default this is {one.id}, but {wrong}; name another" if by_default else wrong
                self.errors.append(FieldError(one.pointer, detail))

    def _find(self, one: Reference) -> str | None:
        resource = self._lock(one)
        wrong = f"there is no {one.kind} with this id" if resource is None else None
        if isinstance(resource, DatasetInput) and resource.state is not DatasetState.READY:
            wrong = _NOT_READY[resource.state]
        if isinstance(resource, JobInput) and resource.erased:
            wrong = "the result of this job was erased when its time had passed; run it again"
        if resource is not None and wrong is None:
            self._inputs[one.role] = resource
        return wrong

    def _lock(self, one: Reference) -> DatasetInput | ReleaseInput | JobInput | None:
        mine: dict[str, Any] = {"connection": self._connection, "owner": self._owner}
        if one.kind is Named.DATASET:
            return inputs.lock_dataset(**mine, dataset_id=one.id)
        if one.kind is Named.JOB:
            return inputs.lock_job(**mine, job_id=one.id)
        if self._viewer is not None:
            return inputs.lock_readable(self._connection, viewer=self._viewer, release_id=one.id)
        return inputs.lock_release(**mine, release_id=one.id)


def _of(kind: type[T], by_role: Mapping[str, object]) -> dict[str, T]:
    return {role: one for role, one in by_role.items() if isinstance(one, kind)}


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
        The request.
    max_unfinished
        Queued and running jobs an owner may have.
    rules
        Defaults and refusals; by default that of the method.
    remember
        Called with the job in the same transaction: the answer to replay for an Idempotency-Key.
    forgotten_at
        Makes the job an unlisted one that is removed then.
    viewer
        For whom releases are there, where they are only requested; by default they are the principal's own.
    settings
        What a job may take; None where no one asks for the job itself.

    Raises
    ------
    ForbiddenError
        If it states what is for keepers to state.
    InvalidError
        If the specification does not fit what it names, or that is not there, or it needs more than a job may take.
    TooManyJobsError
        If the owner has too many unfinished jobs.
    TooMuchWorkError
        If the owner's jobs of the day take too long.
    """
    if not principal.is_keeper and (stated := next((one for one in _OF_KEEPERS if getattr(spec, one, None)), None)):
        raise ForbiddenError(f"`{stated}` takes the scope jobs:read, which this key lacks")
    with database.unit_of_work() as unit:
        families.lock_joining(unit.connection, owner=principal.owner)
        named = LookUp(unit.connection, owner=principal.owner, viewer=viewer)
        submission = replace(
            _submission(unit, named, principal=principal, method=method, rules=rules or RULES[method.name], spec=spec),
            listed=forgotten_at is None,
            expires_at=forgotten_at,
        )
        jobs.lock_submissions(unit.connection, owner=principal.owner)
        if settings is not None:
            given = counted(named.given(submission.spec), dict(submission.spec))
            place = admitted(unit.connection, submission.spec, given, principal=principal, settings=settings)
            submission = replace(submission, estimate=place.need, queue=place.queue)
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
        raise InvalidError.of(errors)
