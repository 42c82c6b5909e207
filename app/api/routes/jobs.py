"""Reading, following and cancelling jobs."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.bodies import JsonRoute
from app.api.deps import Resources, ResourcesDep, require
from app.api.filters import JobFilterDep
from app.api.http_headers import etag_of, is_fresh, wait_seconds
from app.api.job_requests import Prefer
from app.api.pagination import After, PageDep, page
from app.api.problems import responses
from app.api.schemas.jobs import ETAG_HEADERS, EVENTS, READ_HEADERS, Job, JobList, JobResult
from app.api.sending import JobStream, is_question, last_event_id, reads_all, shown_job, stored_response
from app.api.waiting import wait_finished
from app.auth.principal import Principal
from app.db.job_record import JobRecord
from app.errors import UnavailableError
from app.jobs import erase, read
from app.jobs.envelope import events_after, list_json
from app.releases import log
from app.releases.access import viewer_of

router = APIRouter(route_class=JsonRoute, tags=["jobs"])

JobId = Annotated[str, Path(description="Id of a job.")]
#: Whoever may ask a release a question may read its job, and no other.
ANSWERS: Final = ("releases:read",)
StateReader = Annotated[Principal, Depends(require("jobs:read", limited=False, instead=ANSWERS))]
ResultReader = Annotated[Principal, Depends(require("jobs:read", instead=ANSWERS))]
Reader = Annotated[Principal, Depends(require("jobs:read"))]
Writer = Annotated[Principal, Depends(require("jobs:write"))]
IfNoneMatch = Annotated[
    str | None, Header(alias="If-None-Match", description="ETags that are known already: 304 if it is one of them.")
]

_FIRST_READ_SECONDS: Final = 10.0
_ARTIFACT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"headers": ETAG_HEADERS},
    304: {"description": "Unchanged since the `ETag` that you sent.", "headers": ETAG_HEADERS},
    **responses(404, 409, 422),
}


def _json(text: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(text, status_code=status, media_type="application/json", headers=headers)


@router.get(
    "/jobs", operation_id="list_jobs", summary="List jobs", response_model=JobList, responses=responses(422, 429)
)
def list_jobs(resources: ResourcesDep, principal: Reader, paging: PageDep, only: JobFilterDep) -> Response:
    """List your jobs, newest first."""
    before = None if paging.after is None else (paging.after.created_at, paging.after.id)
    rows = read.list_jobs(
        database=resources.database, owner=principal.owner, only=only, before=before, limit=paging.fetch
    )
    render = partial(shown_job, principal=principal)
    shown = page(rows, paging=paging, item=render, place=lambda row: After(row.created_at, row.id))
    return _json(list_json(shown["items"], next_cursor=shown["next_cursor"]))


@router.get(
    "/jobs/{job_id}",
    operation_id="get_job",
    summary="Get a job",
    response_model=Job,
    responses={200: {"headers": READ_HEADERS}, **responses(404, 422)},
)
async def get_job(
    request: Request,
    job_id: JobId,
    resources: ResourcesDep,
    principal: StateReader,
    prefer: Prefer = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
) -> Response:
    """Get your job: at once, or with `Prefer: wait=N` when it has ended or after N seconds."""
    record = await run_in_threadpool(_read, resources, principal, job_id)
    if "prefer" not in request.headers or (seconds := wait_seconds(request.headers.getlist("prefer"))) is None:
        return _json(shown_job(record, principal))
    if not record.finished:
        ended = await wait_finished(request, resources.notifications, job_id=job_id, seconds=seconds)
        record = await run_in_threadpool(_read, resources, principal, job_id) if ended is None else ended
    return _json(shown_job(record, principal), headers={"Preference-Applied": f"wait={seconds}"})


@router.post(
    "/jobs/{job_id}/cancel",
    operation_id="cancel_job",
    summary="Cancel a job",
    status_code=202,
    response_model=Job,
    response_description="The job, cancelled or about to be.",
    responses={200: {"model": Job, "description": "The job had ended; unchanged."}, **responses(404, 422, 429)},
)
def cancel_job(job_id: JobId, resources: ResourcesDep, principal: Writer) -> Response:
    """Cancel a job: a queued one at once, a running one within seconds."""
    record, requested = read.cancel_job(
        database=resources.database,
        owner=principal.owner,
        job_id=job_id,
        viewer=viewer_of(principal),
        key_id=principal.key_id,
    )
    return _json(shown_job(record, principal), status=202 if requested else 200)


@router.delete(
    "/jobs/{job_id}",
    operation_id="delete_job",
    summary="Delete a job",
    status_code=204,
    response_class=Response,
    responses={204: {"description": "All that was restricted is gone; its release stays."}, **responses(404, 409, 429)},
)
def delete_job(job_id: JobId, resources: ResourcesDep, principal: Writer) -> Response:
    """Erase a job for good: specification, result, restricted provenance, and which record a released row represents.

    Its release remains, with the public part of it. A job that has not ended, or that an unfinished one uses, is a
    conflict. Afterwards the job is 404, and its Idempotency-Key 410.
    """
    erase.delete_job(
        database=resources.database,
        storage=resources.storage,
        owner=principal.owner,
        job_id=job_id,
        key_id=principal.key_id,
    )
    return Response(status_code=204)


@router.get(
    "/jobs/{job_id}/result",
    operation_id="get_job_result",
    summary="Get the result of a job",
    response_model=JobResult,
    responses=_ARTIFACT | responses(410),
)
def get_job_result(
    job_id: JobId, resources: ResourcesDep, principal: ResultReader, if_none_match: IfNoneMatch = None
) -> Response:
    """Get the whole result, a superset of the job's `result`, restricted facts included."""
    result = read.read_result(
        database=resources.database,
        owner=principal.owner,
        job_id=job_id,
        viewer=viewer_of(principal),
        answers_only=not reads_all(principal),
    )
    headers = {"ETag": etag_of(result.sha256)}
    if is_fresh(if_none_match, result.sha256):
        return Response(status_code=304, headers=headers)
    if reads_all(principal):
        _log(resources, principal, job_id, "result")
    return stored_response(resources.storage, result, headers=headers)


@router.get(
    "/jobs/{job_id}/provenance",
    operation_id="get_job_provenance",
    summary="Get the provenance of a job",
    response_model=dict[str, Any],
    responses=_ARTIFACT,
)
def get_job_provenance(
    job_id: JobId, resources: ResourcesDep, principal: Reader, if_none_match: IfNoneMatch = None
) -> Response:
    """Get the request, times, data, code and outcome of the job, restricted facts included (W3C PROV-JSON)."""
    provenance = read.read_provenance(database=resources.database, owner=principal.owner, job_id=job_id)
    headers = {"ETag": etag_of(provenance.sha256)}
    if is_fresh(if_none_match, provenance.sha256):
        return Response(status_code=304, headers=headers)
    _log(resources, principal, job_id, "provenance")
    return _json(provenance.json, headers=headers)


@router.get(
    "/jobs/{job_id}/events",
    operation_id="follow_job",
    summary="Stream the events of a job",
    response_class=Response,
    response_description="Events `state` and `progress`; data is the job. The stream closes after the final state.",
    responses={
        200: EVENTS,
        204: {"description": "The job has ended and its last event was seen: do not connect again."},
        **responses(404, 422, 429),
    },
)
async def follow_job(
    job_id: JobId,
    resources: ResourcesDep,
    principal: StateReader,
    after: Annotated[
        str | None, Header(alias="Last-Event-ID", description="Number of the last event seen: go on after it.")
    ] = None,
) -> Response:
    """Stream changes of the job's state and progress as server-sent events. Resume with `Last-Event-ID`."""
    record = await run_in_threadpool(_read, resources, principal, job_id)
    seen = last_event_id(after)
    with ExitStack() as held:
        held.enter_context(resources.streams.hold(principal.owner, at_most=resources.settings.max_streams))
        subscription = held.enter_context(resources.notifications.subscribe(job_id))
        if not await subscription.changed(timeout=_FIRST_READ_SECONDS):
            raise UnavailableError("the job cannot be read now; try again in a moment", retry_after=2)
        snapshot = subscription.snapshot
        if snapshot is not None and snapshot.record.finished and not any(events_after(snapshot, seen=seen)):
            return Response(status_code=204)
        # an answer is read by itself: its release may be taken back while the stream is open
        render = partial(shown_job, principal=principal, answers=not is_question(record))
        return JobStream(subscription, seen=seen, render=render, held=held.pop_all())


def _log(resources: Resources, principal: Principal, job_id: str, what: str) -> None:
    reader = {"owner": principal.owner, "key_id": principal.key_id}
    log.record_read(database=resources.database, **reader, subject=job_id, what=what)


def _read(resources: Resources, principal: Principal, job_id: str) -> JobRecord:
    return read.read_job(
        database=resources.database,
        owner=principal.owner,
        job_id=job_id,
        viewer=viewer_of(principal),
        answers_only=not reads_all(principal),
    )
