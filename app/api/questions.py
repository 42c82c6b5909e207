"""Answering a question to a release: its job is waited for, and what it computed is the answer itself.

A question that is expected to take long is a job of whoever asks, in turn with other jobs. Requests behave as with
`Prefer: wait=30`, unless they state otherwise. Past the wait the answer is the job, whose result is the body that would
have been sent.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Depends, Request, Response
from fastapi.concurrency import run_in_threadpool

from app.api.deps import Require, Resources, ResourcesDep, require
from app.api.http_headers import LONGEST_WAIT, respond_async, wait_seconds
from app.api.job_requests import RETRY_SECONDS, Prefer
from app.api.problems import MEDIA_TYPE
from app.api.schemas.jobs import Job
from app.api.sending import shown_job, stored_response
from app.api.waiting import wait_finished
from app.auth.principal import Principal
from app.contracts.jobs import JobSpec, JobState
from app.db.job_record import JobRecord
from app.db.repositories.job_results import StoredResult
from app.errors import ConflictError
from app.jobs import read
from app.releases import query
from app.releases.access import viewer_of
from app.storage.protocol import Storage

#: Answers to a question, besides problems and the body itself.
PAST_THE_WAIT: Final[dict[int | str, dict[str, Any]]] = {
    202: {
        "model": Job,
        "description": "The job, unlisted and kept for an hour; its result is the body of the answer. A long question "
        "waits its turn among jobs.",
        "headers": {
            "Location": {"schema": {"type": "string"}, "description": "Where the job is read."},
            "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds after which to ask again."},
            "Preference-Applied": {"schema": {"type": "string"}, "description": "The preference that was honoured."},
        },
    }
}


@dataclass(frozen=True, slots=True)
class Questioner:
    """Who asks, and by which request."""

    request: Request
    resources: Resources
    principal: Principal


def questioner_with(required: Require) -> Callable[..., Awaitable[Questioner]]:
    """A dependency: who asks, with a key such as is required."""

    async def get_questioner(
        request: Request,
        resources: ResourcesDep,
        principal: Annotated[Principal, Depends(required)],
        prefer: Prefer = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
    ) -> Questioner:
        return Questioner(request, resources, principal)

    return get_questioner


#: All that a route which answers a question declares besides its body.
QuestionerDep = Annotated[Questioner, Depends(questioner_with(require("releases:read")))]
#: How an answer is sent, given the stored result and the headers that it has in any case.
Sent = Callable[[Storage, StoredResult, Mapping[str, str]], Response]


def _as_json(storage: Storage, result: StoredResult, headers: Mapping[str, str]) -> Response:
    return stored_response(storage, result, headers=headers)


async def answer_question(questioner: Questioner, spec: JobSpec, *, sent: Sent = _as_json) -> Response:
    """Ask, wait, and answer what the job computed, or the problem it met."""
    request, resources, principal = questioner.request, questioner.resources, questioner.principal
    record = await run_in_threadpool(_ask, resources, principal, spec)
    seconds, applied = _patience(request.headers.getlist("prefer"))
    ended = None
    if seconds:
        ended = await wait_finished(request, resources.notifications, job_id=record.id, seconds=seconds)
        if ended is None:  # the answer is the job as it is now, and it may have ended just then
            record = await run_in_threadpool(_read, resources, principal, record.id)
            ended = record if record.finished else None
    if ended is None:
        headers = {"Location": f"/v1/jobs/{record.id}", "Retry-After": str(RETRY_SECONDS)} | applied
        return Response(shown_job(record, principal), status_code=202, media_type="application/json", headers=headers)
    if ended.state == JobState.SUCCEEDED:
        return await run_in_threadpool(_computed, questioner, ended, applied, sent)
    if ended.error_json is None:
        raise ConflictError("the question was cancelled; ask again")
    problem = json.loads(ended.error_json) | {"instance": request.url.path}
    return Response(json.dumps(problem), status_code=problem["status"], media_type=MEDIA_TYPE, headers=applied)


def _patience(headers: list[str]) -> tuple[int, dict[str, str]]:
    """Seconds to wait, and the header that states which preference that is."""
    seconds = wait_seconds(headers)
    if seconds is not None:
        return seconds, {"Preference-Applied": f"wait={seconds}"}
    if respond_async(headers):
        return 0, {"Preference-Applied": "respond-async"}
    return LONGEST_WAIT, {}


def _ask(resources: Resources, principal: Principal, spec: JobSpec) -> JobRecord:
    return query.ask(
        database=resources.database,
        broker=resources.queue,
        principal=principal,
        spec=spec,
        settings=resources.settings,
        now=resources.clock(),
    )


def _read(resources: Resources, principal: Principal, job_id: str) -> JobRecord:
    return read.read_job(database=resources.database, owner=principal.owner, job_id=job_id, viewer=viewer_of(principal))


def _computed(questioner: Questioner, record: JobRecord, applied: dict[str, str], sent: Sent) -> Response:
    resources, principal = questioner.resources, questioner.principal
    result = read.read_result(
        database=resources.database, owner=principal.owner, job_id=record.id, viewer=viewer_of(principal)
    )
    return sent(resources.storage, result, applied)
