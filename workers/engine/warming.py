"""What a fresh worker makes ready before a job needs it: methods are imported, their kernels compiled and loaded.

None of it happens next to a job of this machine: compiling is done by a process of its own that pauses while one
runs, and importing and loading go on once it has ended. One process at a time imports or loads, or a job that comes
meanwhile would share the cores with all of them. A job that comes first imports what it needs, and compiles it.
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
from functools import cache
from pathlib import Path

import structlog

from app.methods.catalogue import SPECS
from app.observability.logs import described
from app.processes.tied import tied_to_parent
from app.settings import Settings
from workers.engine.registry import RUNNERS, runner_for
from workers.methods.protocol import warm

_COMPILE = "import sys; from workers.engine.compiling import main; main(sys.argv[1:])"
#: How soon a job is noticed.
_LOOK_SECONDS = 0.1

log = structlog.get_logger(__name__)


@cache
def note_compilations() -> None:
    """Log every kernel that this process compiles from now on: after the set-up there should be none."""
    from numba.core import event

    class Noting(event.Listener):
        def on_start(self, event: object) -> None:
            pass

        def on_end(self, event: event.Event) -> None:
            kernel = event.data["dispatcher"].py_func
            if kernel.__module__.startswith(("workers.", "surebox_core.", "surebox_verify.")):
                log.info("kernel.compiled", kernel=f"{kernel.__module__}.{kernel.__qualname__}")

    event.register("numba:compile", Noting())  # type: ignore[no-untyped-call]


def make_ready_in_background(settings: Settings, queues: frozenset[str]) -> None:
    """Begin to make ready what jobs of these queues need; a failure costs the head start only, and is logged."""
    threading.Thread(target=_make_ready, args=(settings, queues), name="warming", daemon=True).start()


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


@contextmanager
def _turn(settings: Settings) -> Iterator[None]:
    """The turn of this process to make something ready, begun while no job runs."""
    with _lock(settings, "ahead").open("ab") as ahead:
        fcntl.flock(ahead, fcntl.LOCK_EX)
        while busy(settings):
            time.sleep(_LOOK_SECONDS)
        yield


def _make_ready(settings: Settings, queues: frozenset[str]) -> None:
    try:
        mine = [method for method in RUNNERS if SPECS[method].queue in queues]
        for method in mine:
            with _turn(settings):
                runner_for(method)
        if settings.warm_kernels:
            _make_kernels_ready(settings, mine)
    except Exception as error:  # noqa: BLE001 - whatever it is, the first job will reveal
        log.warning("warming.failed", **described(error))


def _make_kernels_ready(settings: Settings, methods: list[str]) -> None:
    from workers.engine.compiling import uncompiled

    missing = uncompiled(methods)
    if missing:
        _compile(settings, missing)
    for method in methods:
        with _turn(settings):
            warm(runner_for(method))
    log.info("warming.done", compiled=len(missing))


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
