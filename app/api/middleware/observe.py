"""The outermost middleware: request id, access log, metrics, security headers, and the last resort for crashes.

Logs and counts have the route's template, never the URL that was requested, a query or a body.
"""

import re
import secrets
import time
from collections.abc import Iterable, Mapping
from typing import Final

import structlog
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.deps import ALLOWANCE, PRINCIPAL, Resources
from app.api.problems import log_unexpected, problem_response
from app.api.rates import Allowance
from app.auth.principal import Principal
from app.errors import SureboxError
from app.observability.metrics import Metrics

UNMATCHED: Final = "unmatched"
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._:-]{1,100}")
_OBJECT: Final = re.compile(r"[a-z]{2,8}_[0-9a-f]{24}")
_REFUSED: Final = frozenset({401, 403})
_PROBES: Final = frozenset({"/healthz", "/readyz", "/metrics"})
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_HEADERS: Final = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]
_POLICY: Final = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_UNCACHED: Final = (b"cache-control", b"no-store")
_VALIDATED: Final = (b"cache-control", b"private, no-cache")

log = structlog.get_logger("surebox.access")


class Templates:
    """From the route that served a request to its path template.

    It is made when all routes are there, before the first request: FastAPI completes routes when they are first looked
    at, under `warnings.catch_warnings`, which is not safe next to other threads.
    """

    def __init__(self, app: FastAPI) -> None:
        self._known = {id(each.original_route): str(each.path) for each in iter_route_contexts(app.routes) if each.path}

    def of(self, scope: Scope) -> str:
        """The template of the route that served this request."""
        return self._known.get(id(scope.get("route")), UNMATCHED)


class Observe:
    """Pure ASGI: it adds a wrapper around `send` and nothing else to a request."""

    def __init__(self, app: ASGIApp, *, templates: Templates, metrics: Metrics) -> None:
        self._app = app
        self._templates = templates
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = _request_id(scope)
        status, made = 0, ""

        async def sending(message: Message) -> None:
            nonlocal status, made
            if message["type"] == "http.response.start":
                status, made = message["status"], _object_made(message.get("headers", []))
                message["headers"] = _headers(message.get("headers", []), request_id, scope.get(ALLOWANCE))
            await send(message)

        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id.decode())
        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # noqa: BLE001 - the server would log its message, which may quote data
            log_unexpected(error)
            if status:  # too late for another answer: the connection has to break
                raise ConnectionAbortedError("the response broke off; the log states where") from None
            await problem_response(SureboxError(), instance=scope["path"])(scope, receive, sending)
        finally:
            self._note(scope, status, time.perf_counter() - started, _object_of(scope) or made)

    def _note(self, scope: Scope, status: int, seconds: float, named: str) -> None:
        route = self._templates.of(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.request(route=route, method=method, status=status, seconds=seconds)
        principal = scope.get(PRINCIPAL)
        who = {"owner": principal.owner, "key_id": principal.key_id} if isinstance(principal, Principal) else {}
        if status in _REFUSED:
            _count_refusal(scope, status, route, who, named)
        if named:
            who["object"] = named
        note = log.debug if route in _PROBES else log.info
        note("request", method=method, route=route, status=status, seconds=round(seconds, 6), **who)


def _count_refusal(scope: Scope, status: int, route: str, who: Mapping[str, str], named: str) -> None:
    resources: Resources | None = getattr(scope["app"].state, "resources", None)
    if resources is not None:
        client = scope.get("client")
        resources.tally.refused(
            status=status,
            owner=who.get("owner"),
            key_id=who.get("key_id"),
            address="" if client is None else client[0],
            route=route,
            subject=named,
        )


def _object_of(scope: Scope) -> str:
    """The id that the path names, if it has the form of one: whatever else a client writes there is not logged."""
    named = (value for value in scope.get("path_params", {}).values() if _OBJECT.fullmatch(str(value)))
    return next(named, "")


def _object_made(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The id of the made object, which `Location` names."""
    location = next((value for name, value in headers if name.lower() == b"location"), b"")
    last = location.rpartition(b"/")[2].decode("latin-1")
    return last if _OBJECT.fullmatch(last) else ""


def _request_id(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return bytes(value)
    return secrets.token_hex(8).encode()


def _headers(
    given: list[tuple[bytes, bytes]], request_id: bytes, allowance: Allowance | None
) -> list[tuple[bytes, bytes]]:
    names = {name.lower() for name, _ in given}
    headers = [*given, (b"x-request-id", request_id), *_HEADERS]
    if allowance is not None:
        headers += allowance.headers
    if b"cache-control" not in names:
        headers.append(_VALIDATED if b"etag" in names else _UNCACHED)
    if _POLICY[0] not in names:  # browsers enforce every policy that is sent
        headers.append(_POLICY)
    return headers
