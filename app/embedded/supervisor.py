"""Keeps the parts of the service running: starts them again with growing pauses, gives up when that does not help."""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM, Signals
from typing import Protocol

from app.embedded.child import Announce, Child, private, signal_group, spawn, stop
from app.embedded.forked import fork
from app.errors import CannotStartError

#: A part that has run for so long is sound: its earlier deaths are forgotten.
SOUND_SECONDS = 60.0
#: Deaths in a row after which it is hopeless.
MAX_DEATHS = 5
FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0


class SupervisedProcess(Protocol):
    """A server or a process of the service."""

    log: Path

    @property
    def process(self) -> Child | None:
        """The one that was started last."""

    def start(self, *, announce: Announce | None = None) -> None:
        """Start it, and wait until it can be used where others need it; `announce` learns of it before it runs."""

    def stop(self) -> None:
        """Stop it and everything it started."""


@dataclass(kw_only=True, eq=False, repr=False)  # its environment has secrets
class Part:
    """A process of our own code, with all its children.

    Parameters
    ----------
    environment
        The whole environment.
    log
        File of its output.
    patience
        Seconds between SIGTERM and SIGKILL.
    keep_fds
        Descriptors it inherits.
    """

    environment: Mapping[str, str]
    log: Path
    patience: float
    keep_fds: Sequence[int] = ()
    process: Child | None = field(default=None, init=False)
    _stop_requested_at: float | None = field(default=None, init=False)

    def start(self, *, announce: Announce | None = None) -> None:
        """Start it; what an earlier one left behind is killed first."""
        if self.process is not None:
            signal_group(self.process, SIGKILL)
        self._stop_requested_at = None
        self.process = self._begin(announce)

    def _begin(self, announce: Announce | None) -> Child:
        raise NotImplementedError

    def ask_to_stop(self) -> None:
        """Send SIGTERM, once (a second one would make a worker drop what it does), and return."""
        if self.process is not None and self._stop_requested_at is None:
            self._stop_requested_at = time.monotonic()
            self.process.send_signal(SIGTERM)

    def stop(self) -> None:
        """Ask to stop; when the patience since then is over, SIGKILL to its whole group."""
        self.ask_to_stop()
        if self.process is not None and self._stop_requested_at is not None:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(max(0.0, self._stop_requested_at + self.patience - time.monotonic()))
            stop(self.process, steps=[])


@dataclass(eq=False, repr=False)
class Command(Part):
    """A part that is a program of its own: `arguments` are the program and its arguments, all else is `Part`'s."""

    arguments: Sequence[str]

    def _begin(self, announce: Announce | None) -> Child:
        return spawn(
            self.arguments,
            log=self.log,
            environment=self.environment,
            death_signal=SIGKILL,
            keep_fds=self.keep_fds,
            announce=announce,
        )


@dataclass(eq=False, repr=False)
class Fork(Part):
    """A part that is a fork of this process, which calls `enter`; it is listed by its `name`, all else is `Part`'s."""

    enter: Callable[[], object]
    name: str

    def _begin(self, announce: Announce | None) -> Child:
        self.log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.log, "ab", opener=private) as log:
            return fork(
                self.enter,
                name=self.name,
                outputs=(log.fileno(), log.fileno()),
                environment=self.environment,
                keep_fds=self.keep_fds,
                announce=announce,
            )


class OrphanReaper:
    """The process that ends our children when we were killed; see `app.embedded.orphan_reaper`."""

    def __init__(self) -> None:
        self._groups: dict[int, Signals] = {}
        self._process: subprocess.Popen[bytes] | None = None

    def add(self, process: Child, number: Signals) -> None:
        """Have the group of a child signalled when we die."""
        self._groups[process.pid] = number
        if self._process is None or not self._tell(f"+ {process.pid} {int(number)}"):
            self.ensure()

    def remove(self, process: Child) -> None:
        """Forget a child that has ended."""
        if self._groups.pop(process.pid, None) is not None:
            self._tell(f"- {process.pid}")

    def ensure(self) -> None:
        """Start it where it does not run, with the list as it is."""
        if self._process is not None and self._process.poll() is None:
            return
        known = [f"{group}:{int(number)}" for group, number in self._groups.items()]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(__file__).with_name("orphan_reaper.py")), *known],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def dismiss(self) -> None:
        """End it; the children have been stopped."""
        if self._process is not None and self._process.stdin is not None:
            for group in list(self._groups):
                self._tell(f"- {group}")
            self._process.stdin.close()
            self._process.wait(5)
            self._process = None

    def _tell(self, line: str) -> bool:
        if self._process is None or self._process.stdin is None:
            return False
        try:
            self._process.stdin.write(line.encode("ascii") + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return False
        return True


@dataclass(slots=True)
class Watched:
    """A part with its record."""

    name: str
    part: SupervisedProcess
    stage: int
    death_signal: Signals
    deaths: int = 0
    started: float = 0.0
    start_at: float | None = None


@dataclass(slots=True)
class Supervisor:
    """Starts parts and keeps them running.

    Parameters
    ----------
    say
        Receives in one line what happened.
    """

    say: Callable[[str], None]
    orphan_reaper: OrphanReaper = field(default_factory=OrphanReaper)
    watched: list[Watched] = field(default_factory=list)

    def add(self, name: str, part: SupervisedProcess, *, stage: int, death_signal: Signals = SIGKILL) -> None:
        """Start a part and watch it from now on; higher stages are stopped earlier.

        `death_signal` is what it gets when this process is killed.
        """
        entry = Watched(name, part, stage, death_signal)
        self.watched.append(entry)
        self._start(entry)

    def look(self, now: float | None = None) -> None:
        """Look after every part once; call it a few times a second.

        Raises
        ------
        CannotStartError
            A part died again and again.
        """
        now = time.monotonic() if now is None else now
        self.orphan_reaper.ensure()
        for entry in self.watched:
            if entry.start_at is not None:
                if now >= entry.start_at:
                    self._start_again(entry)
            elif entry.part.process is not None and entry.part.process.poll() is not None:
                self._on_exit(entry, entry.part.process, now)

    def has_lost_a_part(self) -> bool:
        """Whether a part has ended and has not been sound since."""
        return any(entry.deaths for entry in self.watched)

    def _start(self, entry: Watched) -> None:
        entry.start_at = None
        entry.started = time.monotonic()
        try:
            entry.part.start(announce=lambda process: self.orphan_reaper.add(process, entry.death_signal))
        finally:
            if entry.part.process is not None and entry.part.process.poll() is not None:
                self.orphan_reaper.remove(entry.part.process)

    def _start_again(self, entry: Watched) -> None:
        try:
            self._start(entry)
        except CannotStartError as error:
            # The next look finds it dead and counts.
            self.say(f"{entry.name} did not start again: {error.detail}")

    def _on_exit(self, entry: Watched, process: Child, now: float) -> None:
        self.orphan_reaper.remove(process)
        signal_group(process, SIGKILL)
        entry.deaths = 1 if now - entry.started > SOUND_SECONDS else entry.deaths + 1
        if entry.deaths > MAX_DEATHS:
            raise CannotStartError(f"{entry.name} ended {entry.deaths} times in a row; see {entry.part.log}.")
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (entry.deaths - 1), LONGEST_PAUSE_SECONDS)
        entry.start_at = now + pause
        self.say(f"{entry.name} ended ({ending(process.wait())}); it starts again in {pause:g} s.")

    def stop_all(self) -> None:
        """Stop stage after stage, the last one first; the processes of a stage end at the same time."""
        for stage in sorted({entry.stage for entry in self.watched}, reverse=True):
            entries = [entry for entry in self.watched if entry.stage == stage]
            for entry in entries:
                if isinstance(entry.part, Part):
                    entry.part.ask_to_stop()
            for entry in entries:
                entry.part.stop()
                if entry.part.process is not None:
                    self.orphan_reaper.remove(entry.part.process)
        self.watched.clear()
        self.orphan_reaper.dismiss()


def ending(code: int) -> str:
    """State how a process ended."""
    return f"signal {Signals(-code).name}" if code < 0 else f"exit code {code}"
