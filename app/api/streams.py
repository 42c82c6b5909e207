"""Server-sent events of one job."""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from typing import Final

from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Receive, Scope, Send

from app.db.job_record import JobRecord
from app.db.notifications import Subscription
from app.jobs.envelope import events_after

#: Seconds of silence after which a comment keeps proxies from closing the connection.
KEEPALIVE_SECONDS: Final = 15.0

_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


class JobStream(EventSourceResponse):
    """An open stream; whatever it holds is let go when it ends, and when its client leaves."""

    def __init__(
        self, subscription: Subscription, *, seen: int, render: Callable[[JobRecord], str], held: ExitStack
    ) -> None:
        super().__init__(_events(subscription, seen, render), headers=_HEADERS)
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve it."""
        with self._held:
            await super().__call__(scope, receive, send)


def last_event_id(header: str | None) -> int:
    """The number after which to go on; everything is told to who has none, or none of ours."""
    return int(header) if header is not None and header.isascii() and header.isdigit() and len(header) < 20 else -1


async def _events(subscription: Subscription, seen: int, render: Callable[[JobRecord], str]) -> AsyncIterator[bytes]:
    while True:
        snapshot = subscription.snapshot
        if subscription.gone or snapshot is None:
            return
        for event in events_after(snapshot, seen=seen, render=render):
            yield format_sse_event(event=event.name, data_str=event.data, id=str(event.id))
            seen = event.id
        if snapshot.record.finished:
            return
        while not await subscription.changed(timeout=KEEPALIVE_SECONDS):
            yield KEEPALIVE_COMMENT
