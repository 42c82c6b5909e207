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
from collections import Counter
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
from workers.methods.protocol import warmings_of

_MARKS: Final = "done"
_MOST_PROCESSES: Final = 4  # the longest part takes a third of all
#: What compiling takes of one core (of a server, 2026), where it is much.
_ABOUT_SECONDS: Final = {"boxes": 55.0, "group": 40.0, "ingest": 15.0, "swaps": 20.0, "uncertain": 20.0}
_USUAL_SECONDS: Final = 8.0
#: When garbage is sought: a compiler makes little of it, and looking takes a twentieth of its time at Python's usual.
_SELDOM: Final = (100_000, 50, 100)


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
    """Compile the missing parts, on all cores; who calls meanwhile waits, and finds the result."""
    with _alone():
        missing = uncompiled(methods)
        parts = [(method, part) for method in missing for part in range(len(warmings_of(runner_for(method))))]
        left = Counter(method for method, _ in parts)
        seconds = Counter[str]()
        for method in missing:
            if method not in left:
                _mark_done(method)
        for method, took in _compiled(parts):
            left[method] -= 1
            seconds[method] += round(took)
            if not left[method]:
                _mark_done(method)
                say(f"  {method}: {seconds[method]} s of one core")


def _compiled(parts: Sequence[tuple[str, int]]) -> Iterator[tuple[str, float]]:
    """Compile parts of methods side by side; their methods, and what they took, as they end."""
    if not parts:
        return
    with ProcessPoolExecutor(
        min(usable_cores(), _MOST_PROCESSES, len(parts)),
        mp_context=get_context("spawn"),
        initializer=die_with,
        initargs=(os.getpid(), signal.SIGKILL),
    ) as pool:
        yield from (each.result() for each in as_completed([pool.submit(_compile, *part) for part in parts]))


def _compile(method: str, part: int) -> tuple[str, float]:
    """Run through one part of what a method's jobs need; the method, and the seconds it took."""
    began = time.monotonic()
    warming = warmings_of(runner_for(method))[part]
    gc.freeze()
    gc.set_threshold(*_SELDOM)
    warming()
    return method, time.monotonic() - began


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
