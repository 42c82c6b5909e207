"""The only module that knows httpx: how its clients are made, requests written and answers read."""

import codecs
import os
import ssl
from collections.abc import Generator
from ipaddress import ip_address
from typing import Any, Final

import httpx
from httpx import AsyncClient, Client, TransportError
from httpx_sse._decoders import SSEDecoder, SSELineDecoder  # `EventSource` keeps comments to itself, which say: alive

from surebox_client.errors import ConnectionFailedError, SilentError, SureboxError
from surebox_client.steps import VERSION, Answer, Send, wire

__all__ = [
    "AsyncClient", "Client", "Events", "TransportError", "answer", "authorization", "failed", "request", "settings",
]  # fmt: skip

_AGENT: Final = f"surebox-client/{VERSION}"
_CONNECT_SECONDS: Final = 10.0


class _Key(httpx.Auth):
    """The API key, which neither `repr` nor a traceback shows; it is sent to the service alone."""

    def __init__(self, key: str | None) -> None:
        self._header = (lambda: f"Bearer {key}") if key else None

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if self._header is not None:
            request.headers["Authorization"] = self._header()
        yield request


def authorization(key: str | None) -> httpx.Auth:
    """Return the authentication that sends a key with each request."""
    return _Key(key)


def settings(
    url: str | None, key: str | None, ca_file: str | os.PathLike[str] | None, timeout: float
) -> dict[str, Any]:
    """How an httpx client is made.

    Raises
    ------
    SureboxError
        There is no address of a service.
    """
    address = (url or os.environ.get("SUREBOX_URL") or "").rstrip("/")
    try:
        host = httpx.URL(address).host
    except httpx.InvalidURL:
        host = ""
    if not host or not address.startswith(("http://", "https://")):
        raise SureboxError("Where is the service? Give its address (https://...), or set SUREBOX_URL.")
    plain = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without authorities, which take long to load
    context = ssl.create_default_context(cafile=ca_file) if address.startswith("https") else plain
    return {
        "base_url": address,
        "auth": authorization(key or os.environ.get("SUREBOX_API_KEY")),
        "headers": {"User-Agent": _AGENT},
        "timeout": httpx.Timeout(timeout, connect=_CONNECT_SECONDS),
        "verify": context,
        "trust_env": not is_loopback(host),  # no proxy between a machine and itself
    }


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class Events:
    """Server-sent events in the pieces of a stream; a piece may hold none, and says all the same: alive."""

    def __init__(self) -> None:
        self._text = codecs.getincrementaldecoder("utf-8")()
        self._lines, self._events = SSELineDecoder(), SSEDecoder()

    def of(self, piece: bytes) -> list[tuple[str, str]]:
        """Id and data of each event that a piece completes."""
        events = [self._events.decode(line) for line in self._lines.decode(self._text.decode(piece))]
        return [(each.id, each.data) for each in events if each is not None and each.data]


def request(client: Client | AsyncClient, step: Send, content: Any) -> httpx.Request:
    """The request of a step, with the pieces of its body."""
    timeout = client.timeout if step.silence is None else httpx.Timeout(step.silence, connect=_CONNECT_SECONDS)
    params = {name: wire(value) for name, value in step.params.items() if value is not None}
    body = {"content": content} if step.json is None else {"json": step.json}
    return client.build_request(step.method, step.path, params=params, headers=step.headers, timeout=timeout, **body)


def failed(error: TransportError) -> ConnectionFailedError:
    """The error of ours."""
    kind = SilentError if isinstance(error, httpx.ReadTimeout) else ConnectionFailedError
    return kind(f"The service at {error.request.url.host} cannot be reached: {error or type(error).__name__}.")


def answer(response: httpx.Response, pieces: Any, content: bytes | None) -> Answer:
    """The answer; without `content` it is held, for its body is still to come in `pieces`."""
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, content or b"", (response, pieces) if content is None else None)
