"""Asking for an anonymization."""

from fastapi import APIRouter, Request, Response

from app.api.bodies import JsonRoute
from app.api.job_requests import AskerDep, answer
from app.api.problems import responses
from app.api.schemas.jobs import JOB_ANSWERS, AnonymizationRequest, Job

router = APIRouter(route_class=JsonRoute, tags=["anonymizations"])


@router.post(
    "/anonymizations",
    operation_id="create_anonymization",
    summary="Create an anonymization job",
    status_code=202,
    response_model=Job,
    response_description="The job, queued; follow its `Location`.",
    responses=JOB_ANSWERS | responses(400, 409, 410, 413, 415, 422, 429),
)
async def create_anonymization(request: Request, spec: AnonymizationRequest, asker: AskerDep) -> Response:
    """Validate the request and queue a job. When it succeeds, `release_id` names its release."""
    return await answer(request, asker, spec)
