"""One API process."""

import resource
import socket
from contextlib import ExitStack
from functools import partial
from typing import Any, cast

import uvicorn

from app.api.protocol import Limits, ProblemProtocol
from app.embedded.listening import listen
from app.errors import CannotStartError
from app.observability.logs import configure_logging
from app.settings import get_settings

#: Seconds in which requests may end once we are instructed to stop.
GRACE_SECONDS = 3
#: Every connection is an open file, and many systems begin with 1,024.
OPEN_FILES = 65_536


def serve_api(listener: socket.socket | int) -> None:
    """Serve the API on a bound socket (or its inherited descriptor) until SIGTERM or SIGINT."""
    settings = get_settings()
    configure_logging(settings)
    _allow_connections()
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        loop="auto",
        http=cast("Any", partial(ProblemProtocol, limits=Limits.of(settings))),  # uvicorn only calls it
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    with ExitStack() as open_sockets:
        bound = open_sockets.enter_context(socket.socket(fileno=listener) if isinstance(listener, int) else listener)
        sockets = [bound]
        if settings.operations_address is not None:
            sockets.append(open_sockets.enter_context(_listen_apart(bound, *settings.operations_address)))
        uvicorn.Server(config).run(sockets=sockets)


def _listen_apart(public: socket.socket, host: str, port: int) -> socket.socket:
    """Bind the socket of the operations: its port distinguishes it from the public one."""
    if port in (0, public.getsockname()[1]):
        raise CannotStartError(
            f"SUREBOX_OPERATIONS_LISTEN names port {port}: name one of its own, other than that of the API"
        )
    return listen(host, port)


def _allow_connections() -> None:
    """Take as many open files as we may, within reason: slow clients shall not keep others out."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
