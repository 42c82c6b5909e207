"""`/metrics` and `/readyz` at an address of their own: what they show is the operator's, not the readers'.

Which socket a connection came in by is the server's knowledge, not the client's: no header of a request can change it.
"""

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.problems import problem_response
from app.errors import NotFoundError

#: Questions about the service as a machine; `/healthz` is answered everywhere.
OPERATIONS: Final = frozenset({"/metrics", "/readyz"})
_EVERYWHERE: Final = "/healthz"


class Operations:
    """Answers at each of the two addresses what belongs there, and 404 to the rest.

    Parameters
    ----------
    app
        The application.
    port
        That of the operations' socket; the public one has another.
    """

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        self._app, self._port = app, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http" and scope["path"] != _EVERYWHERE:
            here = (scope.get("server") or ("", None))[1] == self._port
            if here != (scope["path"] in OPERATIONS):
                where = "other addresses of this service" if here else "the address that its operator has given it"
                error = NotFoundError(f"this is answered at {where}")
                await problem_response(error, instance=scope["path"])(scope, receive, send)
                return
        await self._app(scope, receive, send)
