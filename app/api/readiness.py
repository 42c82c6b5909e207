"""Whether every part of the service is there: database, broker, storage, and a worker on each queue."""

import json
import time
from collections.abc import Callable
from typing import Final

import anyio
import anyio.to_thread
import structlog
from fastapi import Request, Response

from app.api.deps import Resources
from app.api.problems import MEDIA_TYPE
from app.contracts.jobs import Queue
from app.db.repositories import workers
from app.errors import UnavailableError
from app.observability.job_metrics import WORKER_SECONDS

_PATIENCE_SECONDS: Final = 3.0
_FRESH_SECONDS: Final = 1.0

log = structlog.get_logger(__name__)


class Readiness:
    """Asks all parts at once, on threads of its own; an answer is good for a second, whoever asks."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._limiter = anyio.CapacityLimiter(6)
        self._lock = anyio.Lock()
        self._known: tuple[float, list[str]] = (-_FRESH_SECONDS, [])

    async def missing(self) -> list[str]:
        """The names of the parts that do not answer."""
        async with self._lock:
            if time.monotonic() - self._known[0] > _FRESH_SECONDS:
                self._known = (time.monotonic(), await self._ask())
            return self._known[1]

    def problem(self, missing: list[str], *, instance: str) -> Response:
        """503, naming the missing parts."""
        error = UnavailableError(f"missing: {', '.join(missing)}", retry_after=2)
        body = {**error.problem(instance), "unavailable": missing}
        return Response(json.dumps(body), status_code=error.status, media_type=MEDIA_TYPE, headers={"Retry-After": "2"})

    async def _ask(self) -> list[str]:
        parts: dict[str, Callable[[], list[str]]] = {
            "database": self._workers,
            "broker": lambda: _checked(self._resources.queue.check),
            "storage": lambda: _checked(self._resources.storage.check),
        }
        missing: dict[str, list[str]] = {name: [name] for name in parts}

        async def ask(name: str) -> None:
            try:
                missing[name] = await anyio.to_thread.run_sync(
                    parts[name], limiter=self._limiter, abandon_on_cancel=True
                )
            except Exception as error:  # noqa: BLE001 - whatever is wrong with a part, it is not ready
                log.warning("readiness.missing", part=name, error=type(error).__name__)

        with anyio.move_on_after(_PATIENCE_SECONDS):
            async with anyio.create_task_group() as group:
                for name in parts:
                    group.start_soon(ask, name)
        return [each for name in parts for each in missing[name]]

    def _workers(self) -> list[str]:
        with self._resources.database.read() as connection:
            present = {worker.queue for worker in workers.recent(connection, within_seconds=WORKER_SECONDS)}
        return [f"worker on queue {queue.value}" for queue in Queue if queue.value not in present]


def _checked(check: Callable[[], None]) -> list[str]:
    check()
    return []


async def get_readiness(request: Request) -> Readiness:
    """The readiness of this process; made at the first request."""
    state = request.app.state
    if not hasattr(state, "readiness"):
        state.readiness = Readiness(state.resources)
    readiness: Readiness = state.readiness
    return readiness
