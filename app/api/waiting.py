"""`Prefer: wait`: a request that waits keeps neither a thread nor a session, and ends when its client leaves."""

import asyncio

from fastapi import Request

from app.db.job_record import JobRecord
from app.db.notifications import Notifications
from app.errors import TooManyRequestsError


async def wait_finished(
    request: Request, notifications: Notifications, *, job_id: str, seconds: float
) -> JobRecord | None:
    """The job, if it ends within the time; None if not, if the client leaves, or if too many wait already."""
    waiter = asyncio.create_task(notifications.finished(job_id, timeout=seconds))
    client = asyncio.create_task(_left(request))
    try:
        await asyncio.wait({waiter, client}, return_when=asyncio.FIRST_COMPLETED)
        return waiter.result() if waiter.done() else None
    except TooManyRequestsError:
        return None
    finally:
        for task in (waiter, client):
            task.cancel()
        await asyncio.gather(waiter, client, return_exceptions=True)


async def _left(request: Request) -> None:
    """Return when the client has closed the connection; the body was read before."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
