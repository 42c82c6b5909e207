"""One API process."""

import socket

import uvicorn

#: Seconds in which requests may end once we are told to stop.
GRACE_SECONDS = 3


def serve_api(listener: socket.socket | int) -> None:
    """Serve the API on a bound socket (or its inherited descriptor) until SIGTERM or SIGINT."""
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        loop="auto",
        http="auto",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    bound = socket.socket(fileno=listener) if isinstance(listener, int) else listener
    with bound:
        uvicorn.Server(config).run(sockets=[bound])
