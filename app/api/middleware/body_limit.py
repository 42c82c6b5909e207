"""JSON bodies are read whole, so they are limited; uploads stream and have limits of their own.

FastAPI's `max_body_size` does not replace this: where the length is declared, it sends a line of text instead of any
answer of the application (Starlette's `RequestBodyLimitResponder.send_with_limit`), so no handler can make its 413 a
problem that names the limit.
"""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import problem_response
from app.errors import BadRequestError, TooLargeError

#: Routes that stream their body and count it themselves: (method, path).
STREAMED: Final = frozenset({("POST", "/v1/datasets")})


class BodyLimit:
    """Answers 413 at the first byte beyond the limit, or at once when the length is declared."""

    def __init__(self, app: ASGIApp, *, max_bytes: int) -> None:
        self._app = app
        self._max_bytes = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if (
            scope["type"] != "http"
            or (scope["method"], scope["path"]) in STREAMED
            or scope["method"] in {"GET", "HEAD"}
        ):
            await self._app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not declared.isdigit():
            refused = BadRequestError("Content-Length is not a number")
            await problem_response(refused, instance=scope["path"])(scope, receive, send)
            return
        if int(declared) > self._max_bytes:
            await problem_response(self._too_large(), instance=scope["path"])(scope, receive, send)
            return
        received = 0

        async def counting() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_bytes:
                # FastAPI turns whatever else is raised while it reads a body into a 400
                raise HTTPException(TooLargeError.status, detail=self._too_large().detail)
            return message

        await self._app(scope, counting, send)

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"a JSON body has at most {self._max_bytes} bytes here")
