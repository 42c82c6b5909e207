"""Sending what a job has: the job as a key may see it, its whole result, its events; and the record of downloads.

A specification and a result are for who reads jobs. The bytes of a result come from its row, or from storage when there
are more of them.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from fastapi import Response
from fastapi.responses import StreamingResponse
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.types import Receive, Send
from starlette.types import Scope as ConnectionScope

from app.api.deps import Resources
from app.auth.principal import Principal, Scope
from app.contracts.jobs import JobKind
from app.db.job_record import JobRecord
from app.db.notifications import Subscription
from app.db.repositories.job_results import StoredResult
from app.errors import UnavailableError
from app.jobs.envelope import events_after, job_json
from app.releases import log
from app.storage.protocol import Storage

_RELEASES = frozenset({Scope.RELEASES_READ})
#: Seconds of silence after which a comment keeps proxies from closing the connection.
KEEPALIVE_SECONDS: Final = 15.0
_HEADERS: Final = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """The sent part of a release: a file of a format, or its bundle; `restricted` while it is not published."""

    release_id: str
    of_owner: str
    what: str
    restricted: bool


def record_download(resources: Resources, principal: Principal, sent: Download) -> None:
    """Enter restricted data in the log, before it is sent; count the rest."""
    if sent.restricted:
        reader = {"owner": principal.owner, "key_id": principal.key_id}
        what = "data of a release not published"
        log.record_read(database=resources.database, **reader, subject=sent.release_id, what=what)
    else:
        resources.tally.downloaded(
            release_id=sent.release_id,
            of_owner=sent.of_owner,
            what=sent.what,
            reader=principal.owner or None,
            key_id=principal.key_id or None,
        )


def stored_response(storage: Storage, result: StoredResult, *, headers: Mapping[str, str] | None = None) -> Response:
    """The result as the body of an answer."""
    if result.body is not None:
        return Response(result.body, media_type="application/json", headers=headers)
    if result.key is None:
        raise UnavailableError("the result cannot be found")
    return StreamingResponse(
        storage.chunks(result.key),
        media_type="application/json",
        headers={**(headers or {}), "Content-Length": str(result.bytes)},
    )


def shown_job(record: JobRecord, principal: Principal, *, answers: bool = True) -> str:
    """Render the job. Who reads releases sees the whole of questions to them; whichever route answers, this decides.

    Parameters
    ----------
    record, principal
        Which job, for whom.
    answers
        False: of a question only how far it has come.
    """
    if is_question(record):
        whole = answers and (reads_all(principal) or not principal.missing(_RELEASES))
    else:
        whole = reads_all(principal)
    return job_json(record, whole=whole)


def reads_all(principal: Principal) -> bool:
    """Whether this key reads jobs of every kind."""
    return principal.is_keeper


def is_question(record: JobRecord) -> bool:
    """Whether the job is a question to a release."""
    return record.kind == JobKind.QUERY


class JobStream(EventSourceResponse):
    """An open stream; whatever it contains is let go when it ends, and when its client leaves."""

    def __init__(
        self, subscription: Subscription, *, seen: int, render: Callable[[JobRecord], str], held: ExitStack
    ) -> None:
        super().__init__(_events(subscription, seen, render), headers=_HEADERS)
        self._held = held

    async def __call__(self, scope: ConnectionScope, receive: Receive, send: Send) -> None:
        """Serve it."""
        with self._held:
            await super().__call__(scope, receive, send)


def last_event_id(header: str | None) -> int:
    """The number after which to go on; everything is reported to who has none, or none of ours."""
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
