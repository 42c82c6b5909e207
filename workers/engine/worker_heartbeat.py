"""The worker's row: its main process states every few seconds that it lives, its memory and its room for files."""

import os
import threading
import time

import psutil
import structlog

from app.db.repositories import workers
from app.db.session import Database
from app.errors import UnavailableError
from app.processes.place import here
from app.settings import Settings
from workers.engine.registry import known
from workers.engine.scratch import room_each, sweep

#: Between two sightings; readiness calls a worker gone after several.
PRESENCE_SECONDS = 2.0
_SWEEP_SECONDS = 60.0

log = structlog.get_logger(__name__)


class Presence:
    """A daemon thread of the main process, which also removes scratch folders that killed children left."""

    def __init__(self, settings: Settings, *, queues: str, concurrency: int, memory_bytes: int | None) -> None:
        self._settings, self._queues, self._concurrency = settings, queues, concurrency
        self._memory_bytes = memory_bytes
        self._id = f"{here()}:{os.getpid()}:{queues}"
        self._process = psutil.Process()
        self._database = Database(settings.database_url, pool_size=1)
        self._quit = threading.Event()
        self._swept_at = 0.0
        self._thread = threading.Thread(target=self._run, name="presence", daemon=True)
        self._unforked = threading.Lock()

    def start(self) -> None:
        """Begin to be seen. No child is forked in the middle of a sighting: it would inherit locks no one frees."""
        free = self._unforked.release
        os.register_at_fork(before=self._unforked.acquire, after_in_parent=free, after_in_child=free)
        self._thread.start()

    def stop(self) -> None:
        """Be forgotten."""
        self._quit.set()
        self._thread.join(timeout=5)
        try:
            with self._database.unit_of_work() as unit:
                workers.forget(unit.connection, worker_id=self._id)
        except UnavailableError:
            log.warning("presence.not_forgotten", worker=self._id)
        self._database.close()

    def abandon(self) -> None:
        """In a forked child: the connections are the parent's."""
        self._database.close(forked=True)

    def _run(self) -> None:
        while True:
            try:
                with self._unforked:
                    self._see()
            except UnavailableError:
                log.warning("presence.database_unavailable")
            except Exception as error:  # noqa: BLE001 - a thread that ends would make a living worker look dead
                log.warning("presence.failed", error=type(error).__name__)
            if self._quit.wait(PRESENCE_SECONDS):
                return

    def _see(self) -> None:
        with self._database.unit_of_work() as unit:
            sighting = workers.Sighting(
                id=self._id,
                queue=self._queues,
                host=here(),
                pid=os.getpid(),
                rss_bytes=self._rss(),
                concurrency=self._concurrency,
                knows=sorted(known()),
                memory_bytes=self._memory_bytes,
                scratch_bytes=room_each(self._settings.staging_dir, concurrency=self._concurrency),
            )
            workers.seen(unit.connection, sighting=sighting)
        if time.monotonic() - self._swept_at > _SWEEP_SECONDS:
            self._swept_at = time.monotonic()
            sweep(self._settings.staging_dir)

    def _rss(self) -> int:
        total = 0
        for process in [self._process, *self._process.children(recursive=True)]:
            try:
                total += process.memory_info().rss
            except psutil.Error:  # gone meanwhile
                continue
        return total
