"""A part of the service as a fork of this process: what it would import is there already.

Linux only: elsewhere the system's own libraries may be used before a fork or after it, and not both.
"""

import ctypes
import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from app.embedded.child import Announce
from app.processes.parent_death_signal import die_with, wait_for

#: Whether parts are forks here.
FORKS: Final[bool] = sys.platform == "linux"
_PR_SET_NAME: Final = 15
#: How often one looks whether a fork has ended.
_LOOK_SECONDS: Final = 0.01
#: What this process may handle in its own way, and a fork begins without.
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class ForkedProcess:
    """A fork of ours, with what is used of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end.

        Raises
        ------
        subprocess.TimeoutExpired
            It has not ended by then.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired(f"fork {self.pid}", timeout or 0.0)
            time.sleep(_LOOK_SECONDS)
        return code

    def send_signal(self, number: int) -> None:
        """Signal it, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


def fork(
    enter: Callable[[], object],
    *,
    name: str,
    outputs: tuple[int, int],
    environment: Mapping[str, str],
    keep_fds: Sequence[int] = (),
    announce: Announce | None = None,
) -> ForkedProcess:
    """Call a function in a fork, the leader of a session of its own, which is killed when this process dies.

    Call it from the main thread, while there is no other: only the thread that forks lives on in the fork.

    Parameters
    ----------
    enter
        What it does; its end is that of the fork.
    name
        What the system's lists of processes call it, of 15 bytes.
    outputs
        Descriptors of its standard output and its standard error.
    environment
        The whole environment.
    keep_fds
        Descriptors it keeps.
    announce
        As of `app.embedded.child.spawn`.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent, (waiting, go), (known, leads) = os.getpid(), os.pipe(), os.pipe()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    gc.freeze()  # what is here is not looked through by each fork, and stays shared
    try:
        pid = os.fork()
        if pid == 0:
            _live(enter, parent, waiting, leads, name=name, outputs=outputs, environment=environment, keep_fds=keep_fds)
        process = ForkedProcess(pid)
        for ours in (waiting, leads):
            os.close(ours)
        os.read(known, 1)  # from now on its group can be signalled
        if announce is not None:
            announce(process)
        with suppress(BrokenPipeError):  # it is dead already, which who watches it will see
            os.write(go, b"!")
    finally:
        gc.unfreeze()
        for ours in (go, known):
            os.close(ours)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def _live(
    enter: Callable[[], object],
    parent: int,
    waiting: int,
    leads: int,
    *,
    name: str,
    outputs: tuple[int, int],
    environment: Mapping[str, str],
    keep_fds: Sequence[int],
) -> NoReturn:
    """Be the fork: nothing of the parent's that could be mistaken for its own, then `enter`, then the end."""
    code = 1
    try:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        os.setsid()
        os.write(leads, b"!")
        die_with(parent, signal.SIGKILL)
        ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode()[:15], 0, 0, 0)
        for ours, standard in ((os.open(os.devnull, os.O_RDONLY), 0), (outputs[0], 1), (outputs[1], 2)):
            os.dup2(ours, standard)
        _keep_only({0, 1, 2, waiting, *keep_fds})
        wait_for(waiting)
        os.environ.clear()
        os.environ.update(environment)
        enter()
        code = 0
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else int(ending.code is not None)
        if isinstance(ending.code, str):
            sys.stderr.write(f"{ending.code}\n")
    except BaseException:  # noqa: BLE001 - it must not go on as a second parent
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _keep_only(kept: set[int]) -> None:
    """Close all other descriptors: locks, pipes and sockets that are the parent's."""
    for descriptor in {int(each.name) for each in Path("/proc/self/fd").iterdir()} - kept:
        with suppress(OSError):  # that of the listing is closed already
            os.close(descriptor)
