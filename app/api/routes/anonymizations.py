"""Asking for an anonymization."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request, Response

from app.api.deps import ResourcesDep, require
from app.api.idempotency import IdempotencyKey
from app.api.job_requests import JobRequest, answer
from app.api.problems import responses
from app.api.schemas.jobs import ACCEPTED_HEADERS, FINISHED_HEADERS, AnonymizationBody
from app.auth.principal import Principal
from app.contracts.jobs import Job

router = APIRouter(tags=["jobs"])

Prefer = Annotated[
    str | None,
    Header(
        description="`wait=N`: answer when the job has ended, or after N seconds (at most 30).", examples=["wait=10"]
    ),
]


@router.post(
    "/anonymizations",
    operation_id="create_anonymization",
    summary="Ask for an anonymization",
    status_code=202,
    response_model=Job,
    response_description="The job, queued.",
    responses={
        200: {"model": Job, "description": "The job, finished within the wait.", "headers": FINISHED_HEADERS},
        202: {"headers": ACCEPTED_HEADERS},
        **responses(400, 409, 413, 415, 422, 429),
    },
)
async def create_anonymization(
    request: Request,
    spec: AnonymizationBody,
    resources: ResourcesDep,
    principal: Annotated[Principal, Depends(require("jobs:write"))],
    idempotency_key: IdempotencyKey = None,
    prefer: Prefer = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
) -> Response:
    """Anonymize a dataset; the answer is a job, and a release once it has succeeded."""
    body = await request.json()
    asked = JobRequest(resources=resources, principal=principal, spec=spec, body=body, key=idempotency_key)
    return await answer(request, asked)
