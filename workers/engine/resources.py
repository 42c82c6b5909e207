"""What a worker's process holds for all its jobs; made after the fork, for connections do not survive one."""

import os
import signal
from dataclasses import dataclass
from typing import Self

from app.db.digests import DatabaseDigests
from app.db.session import Database
from app.processes.place import here
from app.queue import JobQueue
from app.settings import Settings
from app.storage.factory import open_storage
from app.storage.protocol import Storage
from workers.frames.memory import Held

#: Sent by the worker's main process to its children when it is instructed to stop. It is blocked everywhere and never
#: handled: a pending signal is a flag that a thread can read while the main thread is inside a native kernel. A main
#: process that dies takes its children with it: on Linux Celery asks the kernel for that, elsewhere they end their job.
STOP_SIGNAL = signal.SIGUSR2


@dataclass(frozen=True, slots=True)
class WorkerResources:
    """Connections of one child; heartbeats have a pool of their own, so that no job can keep one from them."""

    settings: Settings
    database: Database
    heartbeat_database: Database
    storage: Storage
    queue: JobQueue
    worker: str
    threads: int
    queues: frozenset[str]
    held: Held

    @classmethod
    def open(cls, settings: Settings, *, threads: int, queues: frozenset[str] = frozenset()) -> Self:
        """Open the resources of this process."""
        database = Database(settings.database_url, pool_size=2)
        return cls(
            settings=settings,
            database=database,
            heartbeat_database=Database(settings.database_url, pool_size=1),
            storage=open_storage(settings, DatabaseDigests(database)),
            queue=JobQueue(settings),
            worker=f"{here()}:{os.getpid()}",
            threads=threads,
            queues=queues,
            held=Held(),
        )

    def stopping(self) -> bool:
        """Whether the worker was instructed to stop."""
        return STOP_SIGNAL in signal.sigpending()

    def close(self) -> None:
        """Close the connections."""
        self.database.close()
        self.heartbeat_database.close()


_of_this_process: list[WorkerResources] = []


def open_resources(settings: Settings, *, threads: int, queues: frozenset[str]) -> None:
    """Open what this process needs; called once in every child."""
    _of_this_process.append(WorkerResources.open(settings, threads=threads, queues=queues))


def resources() -> WorkerResources:
    """The resources of this process."""
    return _of_this_process[-1]
