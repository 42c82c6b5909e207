"""Who asks is found out before a byte of the body is read; what they may do is `deps.require`'s business."""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.deps import PRINCIPAL, Resources
from app.api.problems import problem_response
from app.errors import SureboxError

PREFIX: Final = "/v1/"
_BODIED: Final = frozenset({"POST", "PUT", "PATCH"})


class Authenticate:
    """Leaves a Principal, or the error that reveals why there is none, in the scope.

    Without a valid key a request with a body is answered here. Other requests go on: an unknown path stays a 404.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"].startswith(PREFIX):
            resources: Resources = scope["app"].state.resources
            try:
                scope[PRINCIPAL] = await resources.authenticator.principal(_authorization(scope))
            except SureboxError as error:
                scope[PRINCIPAL] = error
                if scope["method"] in _BODIED:
                    await problem_response(error, instance=scope["path"])(scope, receive, send)
                    return
        await self._app(scope, receive, send)


def _authorization(scope: Scope) -> str | None:
    for name, value in scope["headers"]:
        if name == b"authorization":
            return str(value.decode("latin-1"))
    return None
