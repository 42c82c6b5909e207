"""Child processes that die with their parent."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from app.processes.tied import Identity, tied_to_parent

#: What a server of ours sees of the environment: nothing of the caller's (PGDATA, PGOPTIONS and the like included).
BARE_ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}


class Child(Protocol):
    """A process that we have started, as a program or as a fork."""

    @property
    def pid(self) -> int:
        """Its number, and that of its group."""

    @property
    def returncode(self) -> int | None:
        """As `poll` last found it."""

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""

    def send_signal(self, number: int, /) -> None:
        """Signal it, unless it has ended."""


#: Reported of a child before it runs.
Announce = Callable[[Child], None]


def spawn(
    command: Sequence[str],
    *,
    log: Path | None = None,
    environment: Mapping[str, str] | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
    identity: Identity | None = None,
    stdin: bytes = b"",
    keep_fds: Sequence[int] = (),
    announce: Announce | None = None,
) -> subprocess.Popen[bytes]:
    """Start a program as the leader of a session of its own, tied to this process.

    Call it from the main thread: the kernel counts the end of the thread that forked as the end of the parent.

    Parameters
    ----------
    command
        Program (an absolute path) and arguments.
    log
        File to which both outputs are appended; none: they are inherited.
    environment
        The whole environment; by default a bare one.
    death_signal
        What the kernel sends the child when this process dies.
    identity
        Who the child is, where not who we are.
    stdin
        What the child reads; secrets go this way, since command lines can be read by everyone.
    keep_fds
        Descriptors the child and its children inherit.
    announce
        Called before the program runs, so that nothing it starts is unknown to whoever must end it. When this process
        dies before, the program never runs.
    """
    output: IO[bytes] | None = None
    if log is not None:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        output = open(log, "ab", opener=private)  # noqa: SIM115  it is closed below, on every way out
    waiting, go = os.pipe() if announce else (None, None)
    kept = [*keep_fds, *([] if waiting is None else [waiting])]
    try:
        process = subprocess.Popen(
            tied_to_parent(command, death_signal=death_signal, identity=identity, wait_for=waiting),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            env=dict(BARE_ENVIRONMENT if environment is None else environment),
            pass_fds=tuple(kept),
            start_new_session=True,
        )
        if announce and go is not None:
            announce(process)
            with suppress(BrokenPipeError):
                os.write(go, b"!")
    finally:
        if output is not None:
            output.close()
        for end in (waiting, go):
            if end is not None:
                os.close(end)
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.write(stdin)
        with suppress(BrokenPipeError):
            process.stdin.close()
    return process


def surebox(*arguments: str) -> list[str]:
    """Return the command line of our own command, whatever `app` folder the current folder may hold."""
    return [sys.executable, "-P", "-m", "app.cli", *arguments]


def private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


def signal_group(process: Child, number: signal.Signals) -> None:
    """Signal a child and everything in its session's group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def stop(process: Child, *, steps: Sequence[tuple[signal.Signals, float]]) -> int:
    """Stop a child: each signal in turn with the seconds it is given, at last SIGKILL for its whole group.

    Returns
    -------
    int
        The exit code, negative for a signal.
    """
    for number, seconds in steps:
        if process.poll() is not None:
            break
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    signal_group(process, signal.SIGKILL)
    return process.wait()
