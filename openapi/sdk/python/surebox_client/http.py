"""The only module that knows httpx: two drivers of plans, one that blocks and one that awaits."""

import os
import ssl
import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final

import httpx
from httpx_sse._decoders import SSEDecoder, SSELineDecoder  # `EventSource` keeps comments to itself, which say: alive

from surebox_client.errors import ConnectionFailedError, SilentError, SureboxError
from surebox_client.steps import VERSION, Answer, Close, Emit, Event, Next, Plan, Send, Sleep, Step, T

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
        "auth": _Key(key or os.environ.get("SUREBOX_API_KEY")),
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


def _arguments(request: Send, client: httpx.Client | httpx.AsyncClient) -> dict[str, Any]:
    timeout = client.timeout if request.silence is None else httpx.Timeout(request.silence, connect=_CONNECT_SECONDS)
    params = {name: _query(value) for name, value in request.params.items() if value is not None}
    known: dict[str, Any] = {"params": params, "headers": dict(request.headers), "timeout": timeout}
    return known | ({} if request.json is None else {"json": request.json})


def _query(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_query(each) for each in value]
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _failed(error: httpx.TransportError) -> ConnectionFailedError:
    kind = SilentError if isinstance(error, httpx.ReadTimeout) else ConnectionFailedError
    return kind(f"The service at {error.request.url.host} cannot be reached: {error or type(error).__name__}")


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, {name.lower(): value for name, value in response.headers.items()})


class _Lines:
    """Events in a text that comes in pieces; one without data for each piece: the connection is alive."""

    def __init__(self) -> None:
        self._lines, self._events = SSELineDecoder(), SSEDecoder()

    def events(self, text: str) -> list[Event]:
        events = [self._events.decode(line) for line in self._lines.decode(text)]
        return [*(Event(each.id, each.data) for each in events if each is not None), Event()]


@dataclass
class _Done:
    value: Any


def _advance(plan: Plan[Any], result: Any, failure: BaseException | None) -> Step | _Done:
    try:
        return plan.send(result) if failure is None else plan.throw(failure)
    except StopIteration as stop:
        return _Done(stop.value)


class Driver:
    """Runs plans; blocks."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.url = settings["base_url"]
        self._client = httpx.Client(**settings)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def run(self, plan: Plan[T]) -> T:
        """What a plan returns."""
        result: Any = None
        failure: BaseException | None = None
        while not isinstance(step := _advance(plan, result, failure), _Done):
            result, failure = self._tried(step)
        value: T = step.value
        return value

    def iterate(self, plan: Plan[Any]) -> Iterator[Any]:
        """What a plan emits."""
        result: Any = None
        failure: BaseException | None = None
        held = None
        try:
            while not isinstance(step := _advance(plan, result, failure), _Done):
                result, failure = (None, None) if isinstance(step, Emit) else self._tried(step)
                if isinstance(step, Emit):
                    yield step.value
                if isinstance(step, Send) and step.stream:
                    held = result
        finally:
            plan.close()
            if held is not None:
                self._tried(Close(held))

    def _tried(self, step: Step) -> tuple[Any, BaseException | None]:
        try:
            return self._do(step), None
        except httpx.TransportError as error:
            return None, _failed(error)
        except KeyboardInterrupt as error:
            return None, error

    def _do(self, step: Step) -> Any:
        match step:
            case Sleep(seconds):
                time.sleep(seconds)
            case Send():
                content = None if step.body is None else step.body.chunks()
                request = self._client.build_request(
                    step.method, step.path, content=content, **_arguments(step, self._client)
                )
                response = self._client.send(request, stream=step.stream)
                answer = _answer(response)
                if step.stream:
                    answer.held = (response, self._pieces(response))
                else:
                    answer.content = response.content
                return answer
            case Next(answer):
                return next(answer.held[1], None)
            case Close(answer):
                answer.held[0].close()
        return None

    def _pieces(self, response: httpx.Response) -> Iterator[bytes | Event]:
        if not _is_events(response):
            yield from response.iter_bytes()
            return
        lines = _Lines()
        for text in response.iter_text():
            yield from lines.events(text)


class AsyncDriver:
    """Runs plans; awaits."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.url = settings["base_url"]
        self._client = httpx.AsyncClient(**settings)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def run(self, plan: Plan[T]) -> T:
        """What a plan returns."""
        result: Any = None
        failure: BaseException | None = None
        while not isinstance(step := _advance(plan, result, failure), _Done):
            result, failure = await self._tried(step)
        value: T = step.value
        return value

    async def iterate(self, plan: Plan[Any]) -> AsyncIterator[Any]:
        """What a plan emits."""
        result: Any = None
        failure: BaseException | None = None
        held = None
        try:
            while not isinstance(step := _advance(plan, result, failure), _Done):
                result, failure = (None, None) if isinstance(step, Emit) else await self._tried(step)
                if isinstance(step, Emit):
                    yield step.value
                if isinstance(step, Send) and step.stream:
                    held = result
        finally:
            plan.close()
            if held is not None:
                await self._tried(Close(held))

    async def _tried(self, step: Step) -> tuple[Any, BaseException | None]:
        try:
            return await self._do(step), None
        except httpx.TransportError as error:
            return None, _failed(error)

    async def _do(self, step: Step) -> Any:
        match step:
            case Sleep(seconds):
                import asyncio

                await asyncio.sleep(seconds)
            case Send():
                content = None if step.body is None else _later(step.body.chunks())
                request = self._client.build_request(
                    step.method, step.path, content=content, **_arguments(step, self._client)
                )
                response = await self._client.send(request, stream=step.stream)
                answer = _answer(response)
                if step.stream:
                    answer.held = (response, self._pieces(response))
                else:
                    answer.content = response.content
                return answer
            case Next(answer):
                return await anext(answer.held[1], None)
            case Close(answer):
                await answer.held[0].aclose()
        return None

    async def _pieces(self, response: httpx.Response) -> AsyncIterator[bytes | Event]:
        if not _is_events(response):
            async for piece in response.aiter_bytes():
                yield piece
            return
        lines = _Lines()
        async for text in response.aiter_text():
            for event in lines.events(text):
                yield event


def _is_events(response: httpx.Response) -> bool:
    return str(response.headers.get("content-type", "")).startswith("text/event-stream")


async def _later(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for each in chunks:
        yield each
