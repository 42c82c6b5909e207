"""A daemon thread per running job: it beats, carries progress, and sees why the job must stop.

The job's own thread asks `check` between steps and inside long ones. A step that does not come back in time, be it a
minute inside a native kernel, is not waited for: the thread writes the ending itself and leaves the process at once.
"""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from types import TracebackType
from typing import Self

import structlog

from app.contracts.jobs import JobProgress
from app.db.repositories import claims, parts
from app.db.session import Database
from app.errors import FencedError, TimeLimitError, UnavailableError
from app.settings import Settings
from workers.methods.context import CancelRequestedError, MisplacedError, ShutdownRequestedError

#: A step may take half a second; one that is not back this long after it was to stop overruns.
GRACE_SECONDS = 0.75
#: Progress is written at most this often.
PROGRESS_SECONDS = 0.5

log = structlog.get_logger(__name__)


class StopReason(Enum):
    """Why a job must not go on here."""

    CANCELLED = auto()
    FENCED = auto()
    TIME_LIMIT = auto()
    SHUTDOWN = auto()
    MISPLACED = auto()


class Heartbeat:
    """The heartbeat of one attempt, for the time of a `with` block."""

    def __init__(
        self,
        *,
        job_id: str,
        attempt: int,
        parent_id: str | None,
        database: Database,
        settings: Settings,
        stopping: Callable[[], bool],
        misplaced: Callable[[], bool],
        overrun: Callable[[StopReason], None],
    ) -> None:
        self._job_id, self._attempt, self._parent_id = job_id, attempt, parent_id
        self._database, self._settings = database, settings
        self._stopping, self._misplaced, self._overrun = stopping, misplaced, overrun
        self._deadline = time.monotonic() + settings.job_time_limit_seconds
        self._pause = min(settings.heartbeat_seconds, settings.cancel_poll_seconds, PROGRESS_SECONDS)
        self._beat_at = self._looked_at = self._reported_at = time.monotonic()
        self._progress: JobProgress | None = None
        self._reported: JobProgress | None = None
        self._verdict: StopReason | None = None
        self._judged_at = 0.0
        self._quit = threading.Event()
        self._ending = threading.Lock()
        self._ended = False
        self._thread = threading.Thread(target=self._beat_until_quit, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._quit.set()
        self._thread.join()

    def report(self, progress: JobProgress) -> None:
        """Leave the progress for the next beat."""
        self._progress = progress

    def check(self) -> None:
        """Raise what ends the job here, if anything does."""
        match self._verdict:
            case None:
                return
            case StopReason.CANCELLED:
                raise CancelRequestedError
            case StopReason.FENCED:
                raise FencedError(f"attempt {self._attempt} of job {self._job_id} has lost it")
            case StopReason.TIME_LIMIT:
                raise time_limit_error(self._settings)
            case StopReason.SHUTDOWN:
                raise ShutdownRequestedError
            case StopReason.MISPLACED:
                raise MisplacedError

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Time that the job's limit does not count: its result waits for a database that is away."""
        began = time.monotonic()
        deadline, self._deadline = self._deadline, math.inf
        try:
            yield
        finally:
            self._deadline = deadline + time.monotonic() - began

    @contextmanager
    def ending(self) -> Iterator[None]:
        """The job's own thread writes the ending: from here the process is not left any more."""
        with self._ending:
            self._ended = True
            yield

    def _beat_until_quit(self) -> None:
        while not self._quit.wait(self._pause):
            try:
                self._round()
            except UnavailableError:
                log.warning("heartbeat.database_unavailable", job_id=self._job_id)
            except Exception as error:  # noqa: BLE001 - a heartbeat that ends would leave the job to the reaper
                log.warning("heartbeat.failed", job_id=self._job_id, error=type(error).__name__)

    def _round(self) -> None:
        if self._verdict is None:
            self._judge()
        elif time.monotonic() - self._judged_at > GRACE_SECONDS:
            with self._ending:
                if not self._ended:
                    self._overrun(self._verdict)

    def _judge(self) -> None:
        verdict: StopReason | None = None
        if self._stopping():
            verdict = StopReason.SHUTDOWN
        elif time.monotonic() > self._deadline:
            verdict = StopReason.TIME_LIMIT
        else:
            reply = self._reply()
            if reply.fenced:
                verdict = StopReason.FENCED
            elif reply.cancel_requested:
                verdict = StopReason.CANCELLED
            elif self._misplaced():
                verdict = StopReason.MISPLACED
        if verdict is not None:
            self._judged_at, self._verdict = time.monotonic(), verdict

    def _reply(self) -> claims.HeartbeatReply:
        now = time.monotonic()
        news = self._progress
        is_due = news is not None and news != self._reported and now - self._reported_at >= PROGRESS_SECONDS
        if not is_due and now - self._beat_at < self._settings.heartbeat_seconds:
            if now - self._looked_at < self._settings.cancel_poll_seconds:
                return claims.HeartbeatReply()
            self._looked_at = now
            with self._database.read() as connection:
                return claims.look(connection, job_id=self._job_id, attempt=self._attempt)
        with self._database.unit_of_work() as unit:
            reply = claims.heartbeat(
                unit.connection, job_id=self._job_id, attempt=self._attempt, progress=news if is_due else None
            )
            if is_due and self._parent_id is not None and not reply.fenced:
                parts.report(unit.connection, parent_id=self._parent_id)
        self._beat_at = self._looked_at = now
        if is_due:
            self._reported, self._reported_at = news, now
        return reply


def time_limit_error(settings: Settings) -> TimeLimitError:
    """The problem of a job that took too long."""
    return TimeLimitError(
        f"the job did not end within {settings.job_time_limit_seconds:g} s; "
        "ask for less work (fewer records, columns or generations)"
    )
