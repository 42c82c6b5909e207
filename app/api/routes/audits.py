"""Requests for audits."""

from fastapi import APIRouter, Request, Response

from app.api.bodies import JsonRoute
from app.api.job_requests import AskerDep, answer
from app.api.problems import responses
from app.api.schemas.jobs import JOB_ANSWERS, AuditRequest, Job
from app.contracts.jobs import JobKind
from app.methods.catalogue import methods_of

router = APIRouter(route_class=JsonRoute, tags=["audits"])


@router.post(
    "/audits",
    operation_id="create_audit",
    summary="Create an audit job",
    status_code=202,
    response_model=Job,
    response_description="The job, queued; follow its `Location`.",
    responses=JOB_ANSWERS | responses(400, 409, 410, 413, 415, 422, 429),
    include_in_schema=bool(methods_of(JobKind.AUDIT)),
)
async def create_audit(request: Request, spec: AuditRequest, asker: AskerDep) -> Response:
    """Validate the request and queue a job that audits data or a release."""
    return await answer(request, asker, spec)
