"""How a worker process is started: its threads, its priority, its cache of compiled kernels; then it is Celery's."""

import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import EntryPoint, distribution
from pathlib import Path
from typing import NoReturn

from app.embedded.child import surebox
from app.errors import CannotStartError
from app.processes.cores import threads_each, usable_cores
from app.processes.place import here
from app.processes.processor import processor_flags, processor_settings
from app.settings import Settings

#: Jobs may take long and must not slow down what someone waits for.
BATCH_NICENESS = 10
#: Entry points of the distribution: `worker`, what it imports before it forks, and the `compiler` of its kernels. No
#: name of `workers` is written here.
PROGRAMS = "surebox.programs"


def _program(name: str) -> EntryPoint:
    """Return one of the distribution's programs.

    Raises
    ------
    CannotStartError
        The installation does not have it.
    """
    named = list(distribution("surebox").entry_points.select(group=PROGRAMS, name=name))
    if not named:
        raise CannotStartError(
            f"The installation is older than its source and lacks the program {name}: install it again."
        )
    return named[0]


def thread_settings(*, each: int) -> dict[str, str]:
    """Return the environment that keeps processes with so many threads each from fighting over the cores.

    BLAS gets one thread each: our own kernels and frames are what runs in parallel.
    """
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")
    return {**one, "NUMBA_NUM_THREADS": str(each), "POLARS_MAX_THREADS": str(each)}


def kernel_settings(settings: Settings) -> dict[str, str]:
    """Return the environment that states where kernels go that the installation lacks, and for which processors."""
    where = {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR") or str(kernel_cache(settings))}
    return where | (processor_settings(processor_flags()) if settings.portable_kernels else {})


def kernel_cache(settings: Settings) -> Path:
    """Return the folder of compiled kernels where the installation's cannot be written.

    It is ours alone, since its content is run.

    Raises
    ------
    CannotStartError
        The folder belongs to someone else or can be written by others.
    """
    parent = settings.staging_dir or Path(tempfile.gettempdir()) / f"surebox-{os.geteuid()}"
    folder = parent / "kernels"
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise CannotStartError(f"{folder} cannot be made: {error.strerror}. Set SUREBOX_STAGING_DIR.") from error
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o022:
        raise CannotStartError(f"{folder} can be written by others, and code in it is run. Set SUREBOX_STAGING_DIR.")
    return folder


def celery_arguments(*, queue: str, concurrency: int, log_level: str) -> list[str]:
    """Return the arguments of the Celery worker."""
    return [
        *("worker", "--queues", queue, "--hostname", f"{queue}-{os.getpid()}@{here()}", "--pool", "prefork"),
        *("--concurrency", str(concurrency), "--prefetch-multiplier", "1", "--loglevel", log_level.upper()),
        *("--without-gossip", "--without-mingle"),
    ]


def prepare_to_fork(settings: Settings, *, threads: int) -> None:
    """Import what every worker needs, so that forks of this process have it; with the environment that it reads."""
    os.environ.update(thread_settings(each=threads) | kernel_settings(settings))
    _program("before-fork").load()()


def run_worker(settings: Settings, *, queue: str, concurrency: int) -> None:
    """Run the Celery worker of a queue in this process until it is instructed to stop."""
    threads = threads_each(queue=queue, concurrency=concurrency, cores=usable_cores())
    os.environ.update(thread_settings(each=threads) | kernel_settings(settings))
    if queue == "batch":
        os.nice(BATCH_NICENESS)
    # Celery's own command would put the current folder in front of the import path, where `workers` may be anyone's.
    _program("worker").load()(celery_arguments(queue=queue, concurrency=concurrency, log_level=settings.log_level))


def become_worker(*, queue: str, concurrency: int) -> NoReturn:
    """Replace this process by a worker that compares nothing: what comparing has opened has threads, and forks none."""
    command = surebox("worker", "--compared", "--queue", queue, "--concurrency", str(concurrency))
    os.execv(command[0], command)  # noqa: S606


def become_compiler(settings: Settings, *, methods: Sequence[str], missing: bool = False) -> NoReturn:
    """Replace this process by one that compiles what the installation lacks, or states what that is."""
    environment = {**os.environ, **thread_settings(each=usable_cores()), **kernel_settings(settings)}
    named = _program("missing-kernels" if missing else "compiler")
    module, function = named.module, named.attr
    code = f"import sys, {module}; {module}.{function}(sys.argv[1:])"
    os.execve(sys.executable, [sys.executable, "-P", "-c", code, *methods], environment)  # noqa: S606
