"""Kernels of a fresh worker: what the installation lacks is compiled, the rest is loaded before the first job needs it.

Neither happens next to a job: compiling is done by a process of its own that stands still while a job of this machine
runs, and loading goes on once it has ended. A job that needs a kernel before it is there compiles it itself.
"""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from app.methods.catalogue import SPECS
from app.observability.logs import described
from app.processes.tied import tied_to_parent
from app.settings import Settings
from workers.engine.registry import RUNNERS, runner_for
from workers.methods.protocol import warmings_of

_COMPILE = "import sys; from workers.engine.compiling import main; main(sys.argv[1:])"
#: How soon a job is noticed.
_LOOK_SECONDS = 0.1

log = structlog.get_logger(__name__)


def note_compilations() -> None:
    """Log every kernel that this process compiles: after the set-up there should be none."""
    if "numba" not in sys.modules:  # no method of this worker has kernels
        return
    from numba.core import event

    class Noting(event.Listener):
        def on_start(self, event: object) -> None:
            pass

        def on_end(self, event: event.Event) -> None:
            kernel = event.data["dispatcher"].py_func
            if kernel.__module__.startswith(("workers.", "surebox_core.", "surebox_verify.")):
                log.info("kernel.compiled", kernel=f"{kernel.__module__}.{kernel.__qualname__}")

    event.register("numba:compile", Noting())  # type: ignore[no-untyped-call]


def warm_in_background(settings: Settings, queues: frozenset[str]) -> None:
    """Begin to make ready what jobs of these queues need; a failure costs the head start only, and is logged."""
    threading.Thread(target=_warm, args=(settings, queues), name="warming", daemon=True).start()


@contextmanager
def at_work(settings: Settings) -> Iterator[None]:
    """While a job runs: nothing is compiled or loaded next to it."""
    with _lock(settings, "jobs").open("ab") as jobs:
        fcntl.flock(jobs, fcntl.LOCK_SH)
        yield


def busy(settings: Settings) -> bool:
    """Whether a job runs on this machine.

    Who looks holds the lock of jobs alone for a moment: one at a time, or two that look would take each other for jobs.
    """
    with _lock(settings, "looks").open("ab") as looks, _lock(settings, "jobs").open("ab") as jobs:
        fcntl.flock(looks, fcntl.LOCK_EX)
        try:
            fcntl.flock(jobs, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _warm(settings: Settings, queues: frozenset[str]) -> None:
    from workers.engine.compiling import uncompiled

    try:
        mine = [method for method in RUNNERS if SPECS[method].queue in queues]
        missing = uncompiled(mine)
        if missing:
            _compile(settings, missing)
        for method in mine:
            for warm in warmings_of(runner_for(method)):
                while busy(settings):
                    time.sleep(_LOOK_SECONDS)
                warm()
        log.info("warming.done", compiled=len(missing))
    except Exception as error:  # noqa: BLE001 - whatever it is, the first job will reveal
        log.warning("warming.failed", **described(error))


def _compile(settings: Settings, methods: list[str]) -> None:
    """Compile in a process that stands still while a job runs."""
    command = tied_to_parent([sys.executable, "-P", "-c", _COMPILE, *methods], death_signal=signal.SIGKILL)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    wait_beside_jobs(process, settings)
    if process.returncode:
        log.warning("compiling.failed", status=process.returncode)


def wait_beside_jobs(process: subprocess.Popen[bytes], settings: Settings) -> None:
    """Wait for the end of a process, the leader of its group; while a job runs it stands still."""
    standing = False
    while process.poll() is None:
        if busy(settings) != standing:
            standing = not standing
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGSTOP if standing else signal.SIGCONT)
        time.sleep(_LOOK_SECONDS)


def _lock(settings: Settings, name: str) -> Path:
    """Of all workers that share a folder for scratch files: those of one machine."""
    folder = settings.staging_dir or Path(tempfile.gettempdir()) / f"surebox-{os.geteuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{name}.lock"
