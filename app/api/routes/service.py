"""What operators and their tools ask: alive, ready, numbers. Open to all who reach the port; nothing of data."""

import re
from html import escape
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Path, Request, Response
from prometheus_client.exposition import choose_encoder

from app.api.bodies import JsonRoute
from app.api.http_headers import prefers_html
from app.api.kinds import CAUSE_AND_REMEDY
from app.api.problems import described
from app.api.readiness import Readiness, get_readiness
from app.api.schemas.service import Health, ProblemKind, ServiceReady
from app.errors import NotFoundError, SureboxError
from app.observability.metrics import Metrics

_CODE: Final = re.compile(r"`([^`]+)`")

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
    responses={200: {"content": {"text/html": {"schema": {"type": "string"}}}}},
    summary="Explain a kind of problem",
)
async def get_problem(
    code: Annotated[str, Path(description="The last part of a problem's `type`, such as `not-found`.")],
    request: Request,
) -> Response:
    """Explain the cause and the remedy of a kind of problem: as JSON, or as a page if you accept that more."""
    kind = _explained(code)
    page = prefers_html(request.headers.getlist("accept"))
    body = _page(kind) if page else kind.model_dump_json()
    headers = {"Vary": "Accept"} | ({"Content-Security-Policy": "default-src 'none'"} if page else {})
    return Response(body, media_type="text/html; charset=utf-8" if page else "application/json", headers=headers)


def _explained(code: str) -> ProblemKind:
    kinds: list[type[SureboxError]] = [SureboxError]
    for kind in kinds:
        if kind.code == code:
            cause, remedy = CAUSE_AND_REMEDY[code]
            return ProblemKind(
                type=f"/problems/{code}", title=kind().title, status=kind.status, cause=cause, remedy=remedy
            )
        kinds.extend(kind.__subclasses__())
    raise NotFoundError("no problem of this service has this type")


def _page(kind: ProblemKind) -> str:
    """A kind of problem for people who follow its `type` in a browser."""
    title, cause, remedy = (
        _CODE.sub(r"<code>\1</code>", escape(text)) for text in (kind.title, kind.cause, kind.remedy)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>'
        f"<h1>{title}</h1><p>Status {kind.status}, <code>{escape(kind.type)}</code></p>"
        f"<h2>Cause</h2><p>{cause}</p><h2>What to do</h2><p>{remedy}</p></body></html>\n"
    )
