"""One API process."""

import resource
import socket
from functools import partial
from typing import Any, cast

import uvicorn

from app.embedded.protocol import Limits, ProblemProtocol
from app.observability.logs import configure_logging
from app.settings import get_settings

#: Seconds in which requests may end once we are told to stop.
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
    bound = socket.socket(fileno=listener) if isinstance(listener, int) else listener
    with bound:
        uvicorn.Server(config).run(sockets=[bound])


def _allow_connections() -> None:
    """Take as many open files as we may, within reason: slow clients shall not keep others out."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
