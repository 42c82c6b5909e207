"""What operators and their tools ask: alive, ready, numbers. Open to all who reach the port; nothing of data."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request, Response
from prometheus_client.exposition import choose_encoder

from app.api.bodies import JsonRoute
from app.api.kinds import CAUSE_AND_REMEDY
from app.api.problems import described
from app.api.readiness import Readiness, get_readiness
from app.api.schemas.service import Health, ProblemKind, ServiceReady
from app.errors import NotFoundError, SureboxError
from app.observability.metrics import Metrics

router = APIRouter(route_class=JsonRoute, tags=["administration"])


@router.get("/healthz", operation_id="get_health", response_model=Health, summary="Check that the process is alive")
async def get_health() -> Health:
    """Answer without checking any other part of the service."""
    return Health()


@router.get(
    "/readyz",
    operation_id="get_readiness",
    response_model=ServiceReady,
    responses={503: described("A part is missing; `unavailable` names it.")},
    summary="Check readiness",
)
async def ready(readiness: Annotated[Readiness, Depends(get_readiness)], request: Request) -> Response:
    """Check the database, the broker, the storage, and that a worker listens on each queue."""
    missing = await readiness.missing()
    if not missing:
        return Response(ServiceReady().model_dump_json(), media_type="application/json")
    return readiness.problem(missing, instance=request.url.path)


@router.get(
    "/metrics",
    operation_id="get_metrics",
    response_class=Response,
    responses={
        200: {
            "content": {"text/plain": {"schema": {"type": "string"}}},
            "description": "Metrics in a Prometheus text format.",
        }
    },
    summary="Get metrics for Prometheus",
)
def metrics(request: Request) -> Response:
    """Requests by route, jobs by method and state, queue depth, seconds of jobs, memory of workers and of the API."""
    own: Metrics = request.app.state.metrics
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(own.registry), headers={"content-type": content_type})


@router.get(
    "/problems/{code}",
    operation_id="get_problem",
    response_model=ProblemKind,
    summary="Explain a kind of problem",
)
async def get_problem(
    code: Annotated[str, Path(description="The last part of a problem's `type`, such as `not-found`.")],
) -> ProblemKind:
    """Explain the cause and the remedy of a kind of problem."""
    kinds: list[type[SureboxError]] = [SureboxError]
    for kind in kinds:
        if kind.code == code:
            cause, remedy = CAUSE_AND_REMEDY[code]
            return ProblemKind(
                type=f"/problems/{code}", title=kind().title, status=kind.status, cause=cause, remedy=remedy
            )
        kinds.extend(kind.__subclasses__())
    raise NotFoundError("no problem of this service has this type")
