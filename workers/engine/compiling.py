"""`surebox kernels`: compile all that jobs need, once an installation, and state the progress.

Each method has a mark next to the kernels once it has been run through, so that a second call ends at once.
"""

import fcntl
import gc
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Final

from app.processes.cores import usable_cores
from app.processes.parent_death_signal import die_with
from surebox_core.compiling.cache import folder, is_there, remove_old, sources
from workers.engine.registry import RUNNERS, runner_for
from workers.methods.protocol import warm

_MARKS: Final = "done"
_MOST_PROCESSES: Final = 4  # boxes, in one, take a third of all
#: What compiling takes of one core (of a server, 2026), where it is much.
_ABOUT_SECONDS: Final = {"boxes": 25.0, "ingest": 15.0, "swaps": 15.0}
_USUAL_SECONDS: Final = 8.0


def main(methods: list[str]) -> None:
    """Compile what these methods (all, if none is named) need, and remove what older versions left."""
    compile_kernels(methods or list(RUNNERS), say=_say)
    remove_old(folder().parent, current=_current())


def say_missing(methods: list[str]) -> None:
    """State which of these methods (all, if none is named) are to be compiled, and about how long that takes."""
    missing = uncompiled(methods or list(RUNNERS))
    if missing:
        seconds = sum(_ABOUT_SECONDS.get(method, _USUAL_SECONDS) for method in missing)
        about = 10 * math.ceil(seconds / min(usable_cores(), _MOST_PROCESSES) / 10)
        _say(f"To be compiled for this machine, once: {', '.join(missing)}; that takes about {about} s")


def compile_kernels(methods: Iterable[str], *, say: Callable[[str], None]) -> None:
    """Compile what methods lack, on all cores; who calls meanwhile waits, and finds the result."""
    with _alone():
        for method, seconds in _compiled(uncompiled(methods)):
            _mark_done(method)
            say(f"  {method}: {seconds:.0f} s of one core")


def _compiled(methods: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Compile methods side by side; their names, and what each took, as they end."""
    processes = min(usable_cores(), _MOST_PROCESSES, len(methods))
    if processes < 2:
        yield from map(_compile, methods)
        return
    with ProcessPoolExecutor(
        processes,
        mp_context=get_context("spawn"),
        initializer=die_with,
        initargs=(os.getpid(), signal.SIGKILL),
    ) as pool:
        yield from (each.result() for each in as_completed([pool.submit(_compile, method) for method in methods]))


def _compile(method: str) -> tuple[str, float]:
    """Run through what a method's jobs need; its name, and the CPU seconds it took."""
    began = time.process_time()
    gc.disable()  # a compiler makes little garbage, and looking for it takes a twentieth of the time
    warm(runner_for(method))
    gc.freeze()  # nor is it looked for at the end of the process
    return method, time.process_time() - began


def uncompiled(methods: Iterable[str]) -> list[str]:
    """Those of the methods that have not been run through with these sources and tools."""
    return [method for method in methods if not _mark(method).exists()]


def _mark_done(method: str) -> None:
    mark = _mark(method)
    mark.parent.mkdir(exist_ok=True)
    mark.touch()


def _mark(method: str) -> Path:
    module = RUNNERS[method].partition(":")[0]
    return folder() / _MARKS / f"{method}-{sources([module])}"


def _current() -> set[str]:
    """The names of folders that contain kernels of the sources as they are."""
    modules = {path.name.rpartition("-")[0] for path in folder().iterdir() if "-" in path.name}
    return {_MARKS} | {f"{module}-{sources([module])}" for module in modules if is_there(module)}


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time in the folder of compiled kernels."""
    with (folder() / "compiling.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
