"""Placing of jobs: moves one that turns out to be longer than what its process is for.

An estimate is right within a few times, and now and then it is not. So a question that has taken much more CPU than the
interactive queue is for goes on in the batch queue; and a job that was expected to be short, has run for long, and has
with other long ones every process of its queue, gives its process back to those who wait. Neither spends an attempt,
and each is known to be long from then on.
"""

import time
from typing import Final

from app.contracts.jobs import Queue
from app.db.repositories import claims, turns
from app.db.repositories.claims import Claim, QueuedJob
from app.db.session import Connection
from app.errors import UnavailableError
from app.methods.ingest.spec import INGEST
from app.observability.job_metrics import WORKER_SECONDS
from app.processes.memory import SHORT
from app.settings import Settings
from workers.engine.resources import WorkerResources

#: So many times what was the limit may be taken before a job is moved: estimates are right within a few times.
_FEW: Final = 2.0
#: Between two looks at who else waits.
_LOOK_SECONDS: Final = 2.0


def lane_of(settings: Settings) -> turns.Lane:
    """The limits from which jobs are long, by the settings of a worker."""
    return turns.Lane(settings.long_job_seconds, seen_seconds=WORKER_SECONDS, long_bytes=SHORT)


class Placement:
    """The place of a claimed job, by what it has taken."""

    def __init__(self, claimed: Claim, resources: WorkerResources) -> None:
        self._claimed, self._resources = claimed, resources
        self._settings, self._lane = resources.settings, lane_of(resources.settings)
        self._began, self._cpu, self._looked_at = time.monotonic(), time.process_time(), 0.0

    @property
    def is_question(self) -> bool:
        """Return whether someone waits for it on the interactive queue, uploads aside."""
        return self._claimed.queue == Queue.INTERACTIVE and self._claimed.kind != INGEST

    def misplaced(self) -> bool:
        """Return whether the job is longer than what its process is for."""
        if self.is_question:
            return time.process_time() - self._cpu > _FEW * self._settings.long_question_seconds
        return self._was_short and self._holds_up_others()

    def move(self, connection: Connection) -> QueuedJob:
        """Queue the job where long ones are, as a long one."""
        claimed, queue = self._claimed, Queue.BATCH.value
        at_least = self._settings.long_question_seconds if self.is_question else self._settings.long_job_seconds
        claims.move(
            connection, job_id=claimed.id, attempt=claimed.attempt, queue=queue, seconds=_FEW * at_least
        )  # fmt: skip
        return QueuedJob(claimed.id, claimed.method, queue)

    @property
    def _was_short(self) -> bool:
        """Return whether it was expected to be short; parts are of a size that suits everyone."""
        claimed = self._claimed
        expected = claimed.estimated_seconds or 0.0, claimed.estimated_bytes or 0
        return claimed.queue == Queue.BATCH and claimed.part is None and not self._lane.is_long(*expected)

    def _holds_up_others(self) -> bool:
        now = time.monotonic()
        if now - self._began < _FEW * self._lane.long_seconds or now - self._looked_at < _LOOK_SECONDS:
            return False
        self._looked_at = now
        with self._resources.heartbeat_database.read() as connection:
            return turns.crowded(connection, queue=self._claimed.queue, owner=self._claimed.owner, lane=self._lane)


def send_passed_over(claimed: Claim, resources: WorkerResources, *, seconds: float) -> None:
    """A job that had to leave its ticket to others gets another, now that the one it waited for has ended.

    Parameters
    ----------
    claimed, seconds
        The job that has ended here, and how long it ran.
    resources
        Of this process.
    """
    try:
        with resources.database.read() as connection:
            waiting = _passed_over(connection, claimed, lane_of(resources.settings), seconds)
    except UnavailableError:  # housekeeping sends it
        return
    if waiting is not None:
        resources.queue.enqueue(waiting.id, method=waiting.method, queue=waiting.queue)


def _passed_over(connection: Connection, claimed: Claim, lane: turns.Lane, seconds: float) -> QueuedJob | None:
    if claimed.queue == Queue.INTERACTIVE:
        mine = turns.waiting(connection, queue=claimed.queue, owner=claimed.owner)
        if mine is not None:
            return mine
    expected = claimed.estimated_seconds or 0.0, claimed.estimated_bytes or 0
    if claimed.part is not None or seconds >= lane.long_seconds or lane.is_long(*expected):
        return turns.waiting(connection, queue=claimed.queue, long=lane)
    return None
