"""Headers that decide who asks, of whom, and for what occur once: of two, each reader takes another."""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.problems import problem_response
from app.errors import BadRequestError

#: Of these a request has one at most.
SINGLE: Final = (
    b"host",
    b"authorization",
    b"content-type",
    b"idempotency-key",
    b"last-event-id",
    b"range",
    b"if-range",
)
#: Versions of HTTP that know no Host.
_WITHOUT_HOST: Final = frozenset({"1.0", "0.9"})


class HeaderRules:
    """Answers 400 where a header occurs twice, or a request names no host (RFC 9112, section 3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        wrong = _wrong(scope) if scope["type"] == "http" else None
        if wrong is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(BadRequestError(wrong), instance=scope["path"])(scope, receive, send)


def _wrong(scope: Scope) -> str | None:
    names = [name for name, _ in scope["headers"]]
    for name in SINGLE:
        if (times := names.count(name)) > 1:
            return f"the header `{name.decode().title()}` is there {times} times: send it once"
    if b"host" not in names and scope["http_version"] not in _WITHOUT_HOST:
        return "the header `Host` is missing: HTTP/1.1 requires it"
    return None
