"""Every error as RFC 9457 problem+json: never HTML, a traceback, or a value someone sent."""

import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from app.api.invalid import field_errors
from app.api.known_fields import fields_at, parameters_of
from app.errors import (
    PHRASES,
    BadRequestError,
    ForbiddenError,
    InvalidError,
    MethodNotAllowedError,
    NotAcceptableError,
    NotFoundError,
    SureboxError,
    TooLargeError,
    UnauthorizedError,
    UnsupportedMediaTypeError,
)
from app.observability import logs

MEDIA_TYPE: Final = "application/problem+json"
_BY_STATUS: Final[Mapping[int, type[SureboxError]]] = {
    kind.status: kind
    for kind in (
        BadRequestError, UnauthorizedError, ForbiddenError, NotFoundError, MethodNotAllowedError, NotAcceptableError,
        TooLargeError, UnsupportedMediaTypeError, InvalidError,
    )
}  # fmt: skip

log = structlog.get_logger(__name__)


def problem_response(
    error: SureboxError, *, instance: str | None, headers: Mapping[str, str] | None = None
) -> Response:
    """An error of ours as a response."""
    body = json.dumps(error.problem(instance), ensure_ascii=False, separators=(",", ":")).encode()
    sent = dict(headers or {})
    if error.retry_after is not None:
        sent["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    if isinstance(error, UnauthorizedError):
        sent["WWW-Authenticate"] = 'Bearer realm="surebox"'
    return Response(body, status_code=error.status, media_type=MEDIA_TYPE, headers=sent)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Problem responses a route declares: `responses=responses(409, 413)`. What every route may answer is added."""
    return {status: described(PHRASES[status]) for status in statuses}


def described(description: str) -> dict[str, Any]:
    """A problem response as the OpenAPI document has it."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {MEDIA_TYPE: {"schema": schema}}}


def log_unexpected(error: BaseException) -> None:
    """Log what no one foresaw: its type and where it arose, never its message, which may quote data."""
    log.error("request.crashed", **logs.described(error))


def install(app: FastAPI) -> None:
    """Register the handlers."""
    app.add_exception_handler(SureboxError, _ours)
    app.add_exception_handler(RequestValidationError, _not_valid)
    app.add_exception_handler(HTTPException, _of_starlette)


async def _ours(request: Request, error: Exception) -> Response:
    if not isinstance(error, SureboxError):  # pragma: no cover - registered for nothing else
        raise error
    if error.status >= 500 and type(error).status == SureboxError.status:
        log_unexpected(error)
    return problem_response(error, instance=request.url.path)


async def _not_valid(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):  # pragma: no cover - registered for nothing else
        raise error
    return problem_response(translated(error, request.scope["route"]), instance=request.url.path)


def translated(error: RequestValidationError, route: APIRoute) -> SureboxError:
    """The faults of a request, in words of ours.

    Parameters
    ----------
    error
        As pydantic found it, with the body that was sent.
    route
        Whose body it is.
    """
    raw_errors = error.errors()
    malformed = next((e for e in raw_errors if e["type"] == "json_invalid"), None)
    if malformed is not None:
        return BadRequestError(f"the body is not JSON: it ends or breaks at character {malformed['loc'][-1]}")
    if isinstance(error.body, bytes) and any(e["loc"][0] == "body" for e in raw_errors):
        return UnsupportedMediaTypeError("send the body as JSON with `Content-Type: application/json`")
    known = partial(fields_at, route, error.body)
    errors = field_errors(raw_errors, body=error.body, known=known, parameters=sorted(parameters_of(route.dependant)))
    return InvalidError.of(errors)


async def _of_starlette(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):  # pragma: no cover - registered for nothing else
        raise error
    headers = dict(error.headers or {})
    ours: SureboxError
    if error.status_code == MethodNotAllowedError.status:
        allowed = sorted(_allowed(request))
        headers["Allow"] = ", ".join(allowed)
        ours = MethodNotAllowedError(f"{request.method} is not allowed here; allowed: {', '.join(allowed)}")
    elif error.status_code == NotFoundError.status:
        ours = NotFoundError("there is nothing at this path; /docs lists what there is")
    elif error.status_code == TooLargeError.status:
        ours = TooLargeError(error.detail)
    elif error.status_code == BadRequestError.status:
        ours = BadRequestError("the body cannot be read as JSON in UTF-8")
    else:
        ours = _BY_STATUS.get(error.status_code, SureboxError if error.status_code >= 500 else BadRequestError)()
    return problem_response(ours, instance=request.url.path, headers=headers)


def _allowed(request: Request) -> set[str]:
    """Methods of the path as the document has it: one without templates is not one of those that match it too."""
    own: set[str] = set()
    others: set[str] = set()
    for context in iter_route_contexts(request.app.routes):
        path: Any = context.path
        if path and context.methods and compile_path(path)[0].match(request.url.path):
            if path == request.url.path:
                own |= context.methods
            others |= context.methods
    return own or others
