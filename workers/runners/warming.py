"""Compiling before the first job needs it: a thread of a fresh worker runs a few made-up records through its methods.

Compiled kernels are kept in one folder a machine, so that the whole of it is paid once; afterwards a fresh process only
loads them. One process compiles at a time, the others then find what it made. A job that arrives in the middle waits
for no more than it needs anyway.
"""

import fcntl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, runtime_checkable

import structlog

from app.contracts.jobs import Queue
from app.jobs.methods import METHODS
from app.observability.logs import described
from workers.runners.registry import RUNNERS, runner_for

log = structlog.get_logger(__name__)


@runtime_checkable
class Warming(Protocol):
    """A runner with kernels to compile."""

    def warm(self, scratch: Path) -> None:
        """Run what every job runs on a handful of records; `scratch` is removed afterwards."""
        ...


def warm_in_background(queues: frozenset[str]) -> None:
    """Begin to compile what jobs of these queues need; a failure costs the head start only, and is logged."""
    threading.Thread(target=_warm, args=(queues,), name="warming", daemon=True).start()


def _warm(queues: frozenset[str]) -> None:
    try:
        with _alone(), tempfile.TemporaryDirectory(prefix="surebox-warming-") as scratch:
            for method in RUNNERS:
                runner = runner_for(method)
                if _queue_of(method) in queues and isinstance(runner, Warming):
                    runner.warm(Path(scratch))
    except Exception as error:  # noqa: BLE001 - whatever it is, the first job will tell
        log.warning("warming.failed", **described(error))


def _queue_of(method: str) -> Queue:
    """Methods that are not asked for by name (reading an upload) are interactive."""
    return METHODS[method].queue if method in METHODS else Queue.INTERACTIVE


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time in the folder of compiled kernels."""
    from numba import config

    folder = Path(getattr(config, "CACHE_DIR", "") or tempfile.gettempdir())
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "warming.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
