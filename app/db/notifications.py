"""Waiting for jobs without polling.

One connection per API process listens for the ids of changed jobs. Those of them that someone waits for are read
again, all together in one statement, and handed to everyone who waits: neither the number of waiters nor the time
they wait costs queries. The same happens for all waited jobs after a lost connection, and every few seconds in case
a notification was lost. Whoever waits keeps neither a database session nor a thread.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Self

import anyio.to_thread
import psycopg
import structlog
from anyio import CapacityLimiter
from psycopg import sql

from app.db.job_record import JobRecord
from app.db.repositories.job_history import CHANNEL, JobSnapshot, snapshots
from app.db.session import Database
from app.errors import TooManyRequestsError

#: Seconds between two readings of every waited job, whether or not notifications came.
SAFETY_SECONDS = 5.0
#: Least seconds between two readings: changes within are read together.
_GATHER_SECONDS = 0.01
_RECONNECT_SECONDS = (0.1, 2.0)
#: So that the connection can be distinguished from others in pg_stat_activity.
APPLICATION_NAME = "surebox-listen"

log = structlog.get_logger(__name__)


class Subscription:
    """One waiter of one job: the newest snapshot, and a way to wait for the next."""

    def __init__(self) -> None:
        self.snapshot: JobSnapshot | None = None
        self.gone = False
        self._news = asyncio.Event()

    def publish(self, snapshot: JobSnapshot | None) -> None:
        """Hand over the data that are read; None means that the job is no longer there.

        What is as it was is no news: a reader of a job that waits would otherwise never hear that the stream lives.
        """
        if snapshot is not None and snapshot == self.snapshot:
            return
        self.snapshot = snapshot or self.snapshot
        self.gone = snapshot is None
        self._news.set()

    async def changed(self, *, timeout: float) -> bool:  # noqa: ASYNC109 - the caller's deadline is its own business
        """Wait until something was read that was not yet looked at; False when the time is over."""
        try:
            async with asyncio.timeout(timeout):
                await self._news.wait()
        except TimeoutError:
            return False
        self._news.clear()
        return True


class Notifications:
    """The waiting room of one API process; lives on its event loop."""

    def __init__(self, database: Database, *, max_waiters: int = 1_000) -> None:
        self._database = database
        self._max_waiters = max_waiters
        self._waiters: dict[str, set[Subscription]] = {}
        self._count = 0
        self._stale: set[str] = set()
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.connected = False

    async def __aenter__(self) -> Self:
        """Begin to listen; a database that cannot be reached yet is tried again until it can."""
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._read())]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening and close the connection."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    @property
    def waiting(self) -> int:
        """How many wait at the moment."""
        return self._count

    @contextlib.contextmanager
    def subscribe(self, job_id: str) -> Iterator[Subscription]:
        """Wait for changes of a job; its present state is read and published first.

        Raises
        ------
        TooManyRequestsError
            If as many wait already as one process allows.
        """
        if self._count >= self._max_waiters:
            raise TooManyRequestsError("too many requests wait for jobs already; ask without waiting", retry_after=5)
        subscription = Subscription()
        self._waiters.setdefault(job_id, set()).add(subscription)
        self._count += 1
        self._mark({job_id})
        try:
            yield subscription
        finally:
            self._count -= 1
            others = self._waiters[job_id]
            others.discard(subscription)
            if not others:
                del self._waiters[job_id]

    async def finished(self, job_id: str, *, timeout: float) -> JobRecord | None:  # noqa: ASYNC109 - as above
        """The job once it has ended; None when the time is over before, or the job is gone."""
        try:
            async with asyncio.timeout(timeout):
                with self.subscribe(job_id) as subscription:
                    while await subscription.changed(timeout=timeout):
                        snapshot = subscription.snapshot
                        if subscription.gone or snapshot is None:
                            return None
                        if snapshot.record.finished:
                            return snapshot.record
        except TimeoutError:
            pass
        return None

    def _mark(self, job_ids: set[str]) -> None:
        if job_ids:
            self._stale |= job_ids
            self._wake.set()

    async def _listen(self) -> None:
        shortest, longest = _RECONNECT_SECONDS
        delay = shortest
        while True:
            try:
                async with await self._connect() as connection:
                    await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(CHANNEL)))
                    self.connected, delay = True, shortest
                    self._mark(set(self._waiters))  # what happened while no one listened
                    async for notice in connection.notifies():
                        self._mark({notice.payload} & self._waiters.keys())
            except (psycopg.Error, OSError) as error:
                if self.connected or delay == shortest:  # once an outage, not once a try
                    log.warning("notifications.lost", error=type(error).__name__)
            finally:
                self.connected = False
            await asyncio.sleep(delay)
            delay = min(2 * delay, longest)

    async def _connect(self) -> psycopg.AsyncConnection[tuple[object, ...]]:
        return await psycopg.AsyncConnection.connect(
            self._database.url,
            autocommit=True,
            connect_timeout=5,
            application_name=APPLICATION_NAME,
            keepalives_idle=10,
            keepalives_interval=5,
            keepalives_count=2,
        )

    async def _read(self) -> None:
        loop = asyncio.get_running_loop()
        thread = CapacityLimiter(1)  # its own, so that waiters are served when all threads are busy
        whole = loop.time() + SAFETY_SECONDS
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(whole):
                    await self._wake.wait()
            self._wake.clear()
            if loop.time() >= whole:
                self._stale |= self._waiters.keys()
                whole = loop.time() + SAFETY_SECONDS
            wanted, self._stale = self._stale & self._waiters.keys(), set()
            if wanted:
                try:
                    self._publish(wanted, await anyio.to_thread.run_sync(self._snapshots, wanted, limiter=thread))
                except Exception as error:  # noqa: BLE001 - whoever waits depends on this task: it outlives any error
                    log.warning("notifications.unread", jobs=len(wanted), error=type(error).__name__)
                    await asyncio.sleep(1)
                    self._mark(wanted)
                await asyncio.sleep(_GATHER_SECONDS)

    def _snapshots(self, job_ids: set[str]) -> dict[str, JobSnapshot]:
        with self._database.read() as connection:
            return snapshots(connection, job_ids=sorted(job_ids))

    def _publish(self, job_ids: set[str], by_id: dict[str, JobSnapshot]) -> None:
        for job_id in job_ids:
            for subscription in self._waiters.get(job_id, ()):
                subscription.publish(by_id.get(job_id))
