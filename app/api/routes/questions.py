"""Asking releases."""

from typing import Annotated

from fastapi import APIRouter, Body, Response

from app.api.bodies import JsonRoute
from app.api.problems import responses
from app.api.questions import PAST_THE_WAIT, QuestionerDep, answer_question
from app.api.routes.releases import ReleaseId
from app.api.schemas.examples import CLASSES, COUNTS, MORE_STATISTICS
from app.methods.queries.spec import (
    ClassifyRequest,
    ClassifyResult,
    ClassifySpec,
    CountRequest,
    CountResult,
    CountSpec,
    StatisticsRequest,
    StatisticsResult,
    StatisticsSpec,
)

router = APIRouter(route_class=JsonRoute, tags=["queries"])

CountBody = Annotated[CountRequest, Body(openapi_examples=COUNTS)]
ClassifyBody = Annotated[ClassifyRequest, Body(openapi_examples=CLASSES)]
StatisticsBody = Annotated[StatisticsRequest, Body(openapi_examples=MORE_STATISTICS)]
_ANSWERS = PAST_THE_WAIT | responses(400, 404, 409, 413, 415, 422, 429)


@router.post(
    "/releases/{release_id}/count",
    operation_id="count_release",
    summary="Estimate counts from a release",
    response_model=CountResult,
    response_description="One count for each query.",
    responses=_ANSWERS,
)
async def count_release(release_id: ReleaseId, body: CountBody, questioner: QuestionerDep) -> Response:
    """Estimate how many records match each query; for boxes with a guaranteed range."""
    spec = CountSpec(release_id=release_id, queries=body.queries)
    return await answer_question(questioner, spec)


@router.post(
    "/releases/{release_id}/classify",
    operation_id="classify_by_release",
    summary="Classify points by a release",
    response_model=ClassifyResult,
    response_description="A class for each point, and how probable each class is.",
    responses=_ANSWERS,
)
async def classify_by_release(release_id: ReleaseId, body: ClassifyBody, questioner: QuestionerDep) -> Response:
    """Classify points by the released rows that fit them best."""
    spec = ClassifySpec(release_id=release_id, target=body.target, neighbours=body.neighbours, points=body.points)
    return await answer_question(questioner, spec)


@router.post(
    "/releases/{release_id}/statistics",
    operation_id="compute_release_statistics",
    summary="Compute statistics from a release",
    response_model=StatisticsResult,
    response_description="One answer for each statistic.",
    responses=_ANSWERS,
)
async def compute_release_statistics(
    release_id: ReleaseId, body: StatisticsBody, questioner: QuestionerDep
) -> Response:
    """Compute guaranteed ranges of statistics that you name, from the published rows alone."""
    spec = StatisticsSpec(release_id=release_id, statistics=body.statistics, ddof=body.ddof)
    return await answer_question(questioner, spec)
