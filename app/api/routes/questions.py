"""Asking releases."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from app.api.deps import ResourcesDep, require
from app.api.job_requests import Prefer
from app.api.problems import responses
from app.api.questions import PAST_THE_WAIT, answer_question
from app.api.routes.releases import ReleaseId
from app.auth.principal import Principal
from app.contracts.queries import Classified, ClassifyRequest, ClassifySpec, CountRequest, Counts, CountSpec

router = APIRouter(tags=["releases"])

Reader = Annotated[Principal, Depends(require("releases:read"))]


@router.post(
    "/releases/{release_id}/count",
    operation_id="count_release",
    summary="Count records by a release",
    response_model=Counts,
    response_description="One count a query.",
    responses=PAST_THE_WAIT | responses(400, 404, 409, 413, 415, 422, 429),
)
async def count_release(
    request: Request,
    release_id: ReleaseId,
    asked: CountRequest,
    resources: ResourcesDep,
    principal: Reader,
    prefer: Prefer = None,  # noqa: ARG001 - declared here, read whole from the request: it may come in several lines
) -> Response:
    """Estimate how many of the original records lie in boxes, from the release alone."""
    spec = CountSpec(release_id=release_id, queries=asked.queries)
    return await answer_question(request, resources=resources, principal=principal, spec=spec)


@router.post(
    "/releases/{release_id}/classify",
    operation_id="classify_by_release",
    summary="Classify points by a release",
    response_model=Classified,
    response_description="One label a point, and how probable each class is.",
    responses=PAST_THE_WAIT | responses(400, 404, 409, 413, 415, 422, 429),
)
async def classify_by_release(
    request: Request,
    release_id: ReleaseId,
    asked: ClassifyRequest,
    resources: ResourcesDep,
    principal: Reader,
    prefer: Prefer = None,  # noqa: ARG001 - as above
) -> Response:
    """Tell the class of points by the released records that fit them best."""
    spec = ClassifySpec(release_id=release_id, label=asked.label, neighbours=asked.neighbours, points=asked.points)
    return await answer_question(request, resources=resources, principal=principal, spec=spec)
