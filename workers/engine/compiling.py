"""`surebox kernels`: compile all that jobs need, once an installation, and say what is done.

Each method has a mark beside the kernels once it has been run through, so that a second call ends at once.
"""

import fcntl
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from surebox_verify.kernels import folder, is_there, remove_old, sources
from workers.engine.registry import RUNNERS, runner_for
from workers.methods.protocol import Warming

_MARKS = "done"


def main(methods: list[str]) -> None:
    """Compile what these methods (all, if none is named) need, and remove what older versions left."""
    compile_kernels(methods or list(RUNNERS), say=_say)
    remove_old(folder().parent, current=_current())


def compile_kernels(methods: Iterable[str], *, say: Callable[[str], None]) -> None:
    """Compile what is missing, one process at a time; the others then find what it made."""
    with _alone():
        for method in uncompiled(methods):
            say(f"  {method} …")
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="surebox-warming-") as scratch:
                runner = runner_for(method)
                if isinstance(runner, Warming):
                    runner.warm(Path(scratch))
            mark = _mark(method)
            mark.parent.mkdir(exist_ok=True)
            mark.touch()
            say(f"  {method}: {time.monotonic() - began:.0f} s")


def uncompiled(methods: Iterable[str]) -> list[str]:
    """Those of the methods that have not been run through with these sources and tools."""
    return [method for method in methods if not _mark(method).exists()]


def _mark(method: str) -> Path:
    module = RUNNERS[method].partition(":")[0]
    return folder() / _MARKS / f"{method}-{sources([module])}"


def _current() -> set[str]:
    """The names of folders that hold kernels of the sources as they are."""
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
