"""Answering a request for a job: accepted once per Idempotency-Key, waited for when that is preferred."""

from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.deps import Resources, ResourcesDep, require
from app.api.http_headers import wait_seconds
from app.api.idempotency import (
    REPLAYED,
    IdempotencyKey,
    Replay,
    Reservation,
    complete,
    given_back,
    take,
)
from app.api.sending import shown_job
from app.api.waiting import wait_finished
from app.auth.principal import Principal
from app.contracts.jobs import JobSpec
from app.db.job_record import JobRecord
from app.db.session import UnitOfWork
from app.errors import GoneError, NotFoundError
from app.jobs import read
from app.jobs.accept import accept
from app.methods.catalogue import METHODS

#: What a client that was not answered finally is requested to wait before it reads the job, in seconds.
RETRY_SECONDS: Final = 1


Prefer = Annotated[
    str | None,
    Header(
        alias="Prefer",
        description="`wait=N`: answer when the job has ended, or after N seconds (at most 30).",
        examples=["wait=10"],
    ),
]


@dataclass(frozen=True, slots=True)
class JobAsker:
    """Who asks for a job, and under which key the answer is remembered."""

    resources: Resources
    principal: Principal
    key: str | None


async def _asker(
    resources: ResourcesDep,
    principal: Annotated[Principal, Depends(require("jobs:write"))],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
) -> JobAsker:
    return JobAsker(resources, principal, idempotency_key)


#: All that a route which asks for a job declares besides its body.
AskerDep = Annotated[JobAsker, Depends(_asker)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """One request for a job, parsed."""

    resources: Resources
    principal: Principal
    spec: JobSpec
    body: Any


async def answer(request: Request, asker: JobAsker, spec: JobSpec) -> Response:
    """Accept the job, wait for its end if that is preferred, and answer."""
    job_request = JobRequest(
        resources=asker.resources,
        principal=asker.principal,
        spec=spec,
        body=await request.json(),
    )
    identity = (METHODS[spec.method].kind, job_request.body)
    taken = await run_in_threadpool(take, asker.resources, asker.principal, asker.key, *identity)
    if isinstance(taken, Replay):
        return await run_in_threadpool(_replay, job_request, taken)
    record = await run_in_threadpool(_accept, job_request, taken)
    seconds = wait_seconds(request.headers.getlist("prefer"))
    if seconds is None:
        return _response(job_request, record)
    ended = await wait_finished(request, job_request.resources.notifications, job_id=record.id, seconds=seconds)
    applied = {"Preference-Applied": f"wait={seconds}"}
    return await run_in_threadpool(_answer_waited, job_request, taken, record.id, ended, applied)


def _accept(job_request: JobRequest, taken: Reservation | None) -> JobRecord:
    resources = job_request.resources

    def remember(unit: UnitOfWork, record: JobRecord) -> None:
        if taken is not None:
            complete(unit.connection, taken, status=202, resource_id=record.id)

    with given_back(resources.database, taken):
        return accept(
            database=resources.database,
            broker=resources.queue,
            principal=job_request.principal,
            method=METHODS[job_request.spec.method],
            spec=job_request.spec,
            max_unfinished=resources.settings.max_unfinished_jobs,
            remember=remember,
            settings=resources.settings,
        )


def _answer_waited(
    job_request: JobRequest, taken: Reservation | None, job_id: str, ended: JobRecord | None, applied: dict[str, str]
) -> Response:
    """The job as it is once the wait is over, whether or not it has ended in time."""
    record = _read(job_request, job_id) if ended is None else ended
    if taken is not None and record.finished:  # the first answer is sent now: its status is the one that is replayed
        with job_request.resources.database.unit_of_work() as unit:
            complete(unit.connection, taken, status=200, resource_id=job_id)
    return _response(job_request, record, applied)


def _replay(job_request: JobRequest, replay: Replay) -> Response:
    """The job that was made, as it is now, under the status it was first answered with."""
    try:
        record = _read(job_request, replay.resource_id)
    except NotFoundError:
        detail = "the job that this Idempotency-Key represents was deleted; use a new key to ask for another"
        raise GoneError(detail) from None
    return _response(job_request, record, REPLAYED, status=replay.status)


def _read(job_request: JobRequest, job_id: str) -> JobRecord:
    return read.read_job(database=job_request.resources.database, owner=job_request.principal.owner, job_id=job_id)


def _headers(record: JobRecord) -> dict[str, str]:
    headers = {"Location": f"/v1/jobs/{record.id}"}
    return headers if record.finished else headers | {"Retry-After": str(RETRY_SECONDS)}


def _response(
    job_request: JobRequest, record: JobRecord, more: dict[str, str] | None = None, *, status: int | None = None
) -> Response:
    return Response(
        shown_job(record, job_request.principal),
        status_code=status or (200 if record.finished else 202),
        media_type="application/json",
        headers=_headers(record) | (more or {}),
    )
