"""One API process."""

import socket

import uvicorn

from app.embedded.protocol import ProblemProtocol
from app.observability.logs import configure_logging
from app.settings import get_settings

#: Seconds in which requests may end once we are told to stop.
GRACE_SECONDS = 3


def serve_api(listener: socket.socket | int) -> None:
    """Serve the API on a bound socket (or its inherited descriptor) until SIGTERM or SIGINT."""
    configure_logging(get_settings())
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        loop="auto",
        http=ProblemProtocol,
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    bound = socket.socket(fileno=listener) if isinstance(listener, int) else listener
    with bound:
        uvicorn.Server(config).run(sockets=[bound])
