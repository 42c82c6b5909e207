"""Asking for an audit; in the OpenAPI document once there is one to ask for."""

from fastapi import APIRouter, Request, Response

from app.api.job_requests import AskerDep, answer
from app.api.problems import responses
from app.api.schemas.jobs import JOB_ANSWERS, AuditRequest, Job
from app.contracts.jobs import JobKind
from app.methods.catalogue import methods_of

router = APIRouter(tags=["audits"])


@router.post(
    "/audits",
    operation_id="create_audit",
    summary="Ask for an audit",
    status_code=202,
    response_model=Job,
    response_description="The job, queued.",
    responses=JOB_ANSWERS | responses(400, 409, 410, 413, 415, 422, 429),
    include_in_schema=bool(methods_of(JobKind.AUDIT)),
)
async def create_audit(request: Request, spec: AuditRequest, asker: AskerDep) -> Response:
    """Audit data or a release; the answer is a job, and its result once it has succeeded."""
    return await answer(request, asker, spec)
