"""Sockets that the API listens at, and asking it through one of them."""

import http.client
import json
import os
import socket

from app.errors import CannotStartError

#: How `/readyz` begins the name of a worker that is missing; see `app.api.readiness`.
WORKER = "worker on queue "


def listen(host: str, port: int) -> socket.socket:
    """Bind the socket of the API.

    Raises
    ------
    CannotStartError
        The port is in use or the host is not one of this machine.
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server(place[:2], family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number and not isinstance(error, socket.gaierror) else str(error)
        raise CannotStartError(
            f"Cannot listen at {host} port {port}: {reason}. Choose another --port (0: any free one) or --host."
        ) from error
    listener.set_inheritable(False)
    return listener


def address(listener: socket.socket) -> str:
    """Return the URL of a bound socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def parts_missing(host: str, port: int) -> list[str] | None:
    """Ask the API which parts of the service are missing; None where it does not answer yet."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(host, port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return [] if answer.status == http.HTTPStatus.OK else list(json.loads(answer.read())["unavailable"])
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        connection.close()


def are_workers(missing: list[str] | None) -> bool:
    """Whether nothing is missing but workers: what is asked of the service now waits for them."""
    return missing is not None and all(part.startswith(WORKER) for part in missing)
