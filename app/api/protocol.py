"""What a connection may cost before its request is understood: bytes that are no body, and time.

Whoever asks is known only once the head is whole, so these limits are valid for everyone. What exceeds them, and HTTP
that cannot even be parsed, is answered like every other mistake: with a problem, not with a line of text.

Clients that offer another protocol in a request (Java's and curl's HTTP/2) are answered in this one, as section 7.8 of
RFC 9110 has it. The parser ends such a request with its head; another one takes its body.
"""

import asyncio
import json
from asyncio.events import TimerHandle
from dataclasses import dataclass
from typing import Any, Final, Self

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser
from uvicorn._types import ASGI3Application
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.api.problems import MEDIA_TYPE
from app.errors import PHRASES, BadRequestError, HeadTooLargeError, RequestTimeoutError, SureboxError
from app.settings import Settings

#: Attributes of uvicorn's protocol and of its cycle (a request with its answer) that are used or replaced here.
UVICORN: Final = {
    "protocol": (
        "_start_asgi_task", "_unset_keepalive_if_required", "connection_lost", "connection_made", "cycle",
        "data_received", "flow", "headers", "loop", "on_body", "on_header", "on_headers_complete", "on_message_begin",
        "on_message_complete", "on_response_complete", "on_url", "parser", "pipeline", "send_400_response",
        "timeout_keep_alive", "timeout_keep_alive_handler", "timeout_keep_alive_task", "transport",
    ),
    "cycle": (
        "disconnected", "keep_alive", "message_event", "more_body", "response_complete", "response_started",
        "waiting_for_100_continue",
    ),
    "flow": ("read_paused",),
}  # fmt: skip
#: The parser is fed so many bytes at a time: by so many may a head be longer than its limit.
PIECE_BYTES: Final = 16_384
#: A refused client may still be sending: what it sends is dropped for so long, and up to so many bytes, that it may
#: read why. Closed at once, the connection would be reset, and many a client then drops the answer that it has.
_LINGER_SECONDS: Final = 2.0
_LINGER_BYTES: Final = 64_000_000
#: A connection is worth reading so much of a body that was answered before it had ended; after more it is closed.
_WORTH_BYTES: Final = 65_536
#: Headers that say where a body ends.
_FRAMING: Final = (b"content-length", b"transfer-encoding")


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one connection; what each means is said in `app.settings`."""

    head_bytes: int = 65_536
    head_seconds: float = 10.0
    idle_seconds: float = 15.0
    body_seconds: float = 60.0

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The limits that an operator has set."""
        return cls(
            head_bytes=settings.max_head_bytes,
            head_seconds=settings.head_timeout_seconds,
            idle_seconds=settings.idle_timeout_seconds,
            body_seconds=settings.body_timeout_seconds,
        )


class ProblemProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with limits, and with its one answer of its own replaced.

    Bytes are counted since the parser last understood something: the end of a head, a piece of a body, the end of a
    message. Whatever is between two of these is held in memory, whether it is a head, trailers or the extensions of
    a chunk.
    """

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: Limits = Limits(),
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.timeout_keep_alive = limits.idle_seconds  # type: ignore[assignment] # a float does as well
        self._limits = limits
        self._not_understood = 0
        self._receiving = False  # between the end of a head and the end of its message
        self._offered = False  # another protocol, by the request whose head has ended
        self._again = False  # the head of that request is parsed a second time
        self._refused = False
        self._dropped = 0
        self._heard_at = 0.0
        self._head_due: TimerHandle | None = None
        self._body_due: TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give a new connection as long for its first head as any later one has."""
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget every deadline."""
        self._forget_deadlines()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser piece by piece, until it has been fed too much that it did not understand."""
        self._heard_at = self.loop.time()
        if self._refused:
            self._dropped += len(data)
            if self._dropped > _LINGER_BYTES:
                self.transport.close()
            return
        self._expect_head()
        for start in range(0, len(data), PIECE_BYTES):
            if self._refused or self.transport.is_closing():
                return
            piece = data[start : start + PIECE_BYTES]
            self._not_understood += len(piece)
            self._feed(piece)
            if self._not_understood > self._limits.head_bytes:
                at_most = self._limits.head_bytes
                self._refuse(
                    HeadTooLargeError(f"address and headers, or what follows them, have at most {at_most} bytes")
                )
        if self._receiving and self._body_due is None and not self._refused:
            self._body_due = self.loop.call_later(self._limits.body_seconds, self._look_after_body)

    def _feed(self, piece: bytes) -> None:
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(piece)
        except HttpParserError:
            self.send_400_response("")
        except HttpParserUpgrade as offer:
            self._go_on(piece[offer.args[0] :])

    def _go_on(self, rest: bytes) -> None:
        """Parse what follows the head of a request that offered another protocol, as if it had not."""
        framing = b"".join(b"%b: %b\r\n" % one for one in self.headers if one[0] in _FRAMING)
        self.parser, self._offered, self._again = HttpRequestParser(self), False, True
        self._feed(b"POST / HTTP/1.1\r\n" + framing + b"\r\n")
        self._again = False
        if rest and not self._refused:
            self._feed(rest)

    def on_message_begin(self) -> None:
        """Take a new head, unless it is that of a request that is there."""
        if not self._again:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Take a piece of the address."""
        if not self._again:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        if not self._again:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """End the clock of the head."""
        if self._again:
            return
        self._not_understood, self._receiving = 0, True
        self._offered = self.parser.should_upgrade()
        self._cancel_head()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._not_understood = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next request, if this one was answered before it had ended."""
        if self._offered:  # it is the parser that ends here, not the message
            return
        self._not_understood, self._receiving = 0, False
        super().on_message_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self._cancel_head()
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        """Hang up where the answer said so."""
        super().on_response_complete()
        if self._refused and not self.transport.is_closing():
            self._hang_up()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        """Have an answer to a body that has not been received end the connection, in its head and then in deed."""

        async def answering(scope: Any, receive: Any, send: Any) -> None:
            async def ending(message: Any) -> None:
                ends = message["type"] == "http.response.start" and cycle.more_body and _is_long(scope)
                if ends:
                    message = message | {"headers": [*message.get("headers", ()), (b"connection", b"close")]}
                    self._refused = True
                    self._forget_deadlines()
                await send(message)
                if ends:
                    cycle.keep_alive = True  # uvicorn would close the connection at once

            await app(scope, receive, ending)

        super()._start_asgi_task(cycle, answering)

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's text reveals nothing that helps
        """Answer what cannot be parsed."""
        self._refuse(BadRequestError("this is not HTTP/1.1 that can be read"))

    def _expect_head(self) -> None:
        """Start the clock of a head, unless it runs or a request is being answered."""
        if self._head_due is None and (self.cycle is None or self.cycle.response_complete):
            self._head_due = self.loop.call_later(self._limits.head_seconds, self._head_overdue)

    def _head_overdue(self) -> None:
        if self._receiving or not self._not_understood:  # the rest of an old answer, or nothing at all
            self.transport.close()
        else:
            self._refuse(RequestTimeoutError(f"a request's head arrives within {self._limits.head_seconds:g} s here"))

    def _look_after_body(self) -> None:
        """End a request whose body has stood still for too long, unless it is we who do not read it."""
        self._body_due = None
        if not self._receiving or self.cycle.response_complete:
            return
        now = self.loop.time()
        if self.flow.read_paused or self.cycle.waiting_for_100_continue:
            self._heard_at = now
        left = self._heard_at + self._limits.body_seconds - now
        if left > 0:
            self._body_due = self.loop.call_later(left, self._look_after_body)
        else:
            self._refuse(RequestTimeoutError(f"nothing of the body arrived for {self._limits.body_seconds:g} s"))

    def _refuse(self, error: SureboxError) -> None:
        """Answer, unless an answer is on its way, and hang up: nothing after this can be understood."""
        self._refused = True
        cycle = self.cycle
        if self.pipeline or (cycle and cycle.response_started and (self._receiving or not cycle.response_complete)):
            self.transport.close()
            return
        if cycle and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        self.transport.write(_answer(error))
        self._hang_up()

    def _hang_up(self) -> None:
        """End our side, and the connection after a while in which what comes is dropped."""
        self._refused = True
        self._forget_deadlines()
        self._unset_keepalive_if_required()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.loop.call_later(_LINGER_SECONDS, self.transport.close)

    def _cancel_head(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _forget_deadlines(self) -> None:
        self._cancel_head()
        if self._body_due is not None:
            self._body_due.cancel()
            self._body_due = None


def _is_long(scope: Any) -> bool:
    """Return whether the body of a request may be longer than its connection is worth."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return not declared.isdigit() or int(declared) > _WORTH_BYTES


def _answer(error: SureboxError) -> bytes:
    body = json.dumps(error.problem(None)).encode()
    head = (
        f"HTTP/1.1 {error.status} {PHRASES[error.status]}\r\ncontent-type: {MEDIA_TYPE}\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
