"""The kernels that the demo's jobs need, compiled beside the start of the service."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from app.errors import CannotStartError
from app.processes.tied import tied_to_parent

#: Methods that the demo's uploads and jobs run; `make install` compiles all.
_METHODS = ("boxes", "ingest", "publication")


@contextmanager
def compiling() -> Iterator["Compilation"]:
    """Begin to compile what this installation lacks; at the end nothing of it is left running."""
    command = [sys.executable, "-m", "app.cli", "kernels", *_METHODS]
    with subprocess.Popen(
        tied_to_parent(command, death_signal=signal.SIGTERM),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            yield Compilation(process)
        finally:
            process.terminate()


class Compilation:
    """A compiler at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def wait(self, console: Console) -> None:
        """Wait for its end, and print what it says meanwhile.

        Raises
        ------
        CannotStartError
            It failed; what it said last.
        """
        line = "no message"
        with console.status("Compiling what the demo needs for this machine …"):
            for line in self._process.stdout or ():
                console.print(line.rstrip(), highlight=False)
        if self._process.wait():
            raise CannotStartError(f"The algorithms could not be compiled: {line.strip()}")
