"""Keeping processes running, and ending them with everything they started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from app.embedded.child import BARE_ENVIRONMENT
from app.embedded.supervisor import MAX_DEATHS, Command, Supervisor
from app.errors import CannotStartError
from tests.servers import still_alive, wait_until

ROOT = Path(__file__).parents[2]
#: A process with a child of its own; neither listens to SIGTERM.
STUBBORN = "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 1; done' & echo started; while :; do sleep 1; done"


def command(log: Path, script: str, patience: float = 5.0) -> Command:
    return Command(["/bin/sh", "-c", script], environment=BARE_ENVIRONMENT, log=log, patience=patience)


def whole_group(pid: int) -> list[psutil.Process]:
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


@pytest.fixture
def messages() -> list[str]:
    return []


@pytest.fixture
def supervisor(messages: list[str]) -> Iterator[Supervisor]:
    made = Supervisor(messages.append)
    yield made
    made.stop_all()


def test_a_part_that_dies_is_started_again_after_a_pause(
    supervisor: Supervisor, messages: list[str], tmp_path: Path
) -> None:
    part = command(tmp_path / "log", "sleep 600")
    supervisor.add("Sleeper", part, stage=1)
    first = part.process
    assert first is not None
    first.kill()
    first.wait()
    now = time.monotonic()
    supervisor.look(now)
    assert part.process is first
    assert messages == ["Sleeper ended (signal SIGKILL); it starts again in 0.25 s."]
    supervisor.look(now + 0.25)
    assert part.process is not first
    assert part.process.poll() is None


def test_what_a_dead_part_left_behind_is_killed(supervisor: Supervisor, tmp_path: Path) -> None:
    part = command(tmp_path / "log", STUBBORN)
    supervisor.add("Parent", part, stage=1)
    wait_until(lambda: (tmp_path / "log").read_text() == "started\n", seconds=60)
    assert part.process is not None
    orphans = psutil.Process(part.process.pid).children(recursive=True)
    assert orphans
    part.process.kill()
    part.process.wait()
    supervisor.look()
    assert still_alive(orphans, within=30) == []


def test_a_part_that_dies_again_and_again_is_given_up(supervisor: Supervisor, tmp_path: Path) -> None:
    part = command(tmp_path / "log", "exit 3")
    supervisor.add("Doomed", part, stage=1)
    now, starts = time.monotonic(), 0

    def live_and_die() -> None:
        nonlocal now, starts
        while True:
            assert part.process is not None
            part.process.wait()
            starts += 1
            supervisor.look(now)
            now += 8
            supervisor.look(now)

    with pytest.raises(CannotStartError, match=rf"Doomed ended {MAX_DEATHS + 1} times in a row; see .*log"):
        live_and_die()
    assert starts == MAX_DEATHS + 1


def test_stages_stop_from_the_last_to_the_first(supervisor: Supervisor, tmp_path: Path) -> None:
    order = tmp_path / "order"
    for name, stage in (("first", 0), ("second", 1), ("third", 2)):
        script = f"trap 'echo {name} >> {order}; exit 0' TERM; echo up; while :; do sleep 0.05; done"
        supervisor.add(name, command(tmp_path / name, script), stage=stage)
    for name in ("first", "second", "third"):
        wait_until(lambda log=tmp_path / name: log.read_text() == "up\n", seconds=60)
    supervisor.stop_all()
    assert order.read_text().split() == ["third", "second", "first"]


def test_stop_ends_processes_that_do_not_listen_together_and_with_their_children(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    parts = [command(tmp_path / name, STUBBORN, patience=4.0) for name in "abc"]
    for part in parts:
        supervisor.add("Stubborn", part, stage=1)
    for name in "abc":
        wait_until(lambda log=tmp_path / name: log.read_text() == "started\n", seconds=60)
    processes = [process for part in parts if part.process for process in whole_group(part.process.pid)]
    assert len(processes) >= 6
    started = time.monotonic()
    supervisor.stop_all()
    assert time.monotonic() - started < 10  # one patience, not three
    assert still_alive(processes, within=30) == []


KILLED_BEFORE = """
import os, signal, sys
from pathlib import Path
from app.embedded.child import spawn

def announce(process):
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

spawn(["/bin/sh", "-c", f"echo started > {sys.argv[1]}"], announce=announce)
"""


def test_a_program_runs_only_once_it_is_known_who_must_end_it(tmp_path: Path) -> None:
    """A launcher killed between starting a child and telling of it leaves nothing that nobody would end."""
    log = tmp_path / "log"
    parent = subprocess.Popen([sys.executable, "-c", KILLED_BEFORE, str(log)], cwd=ROOT, stdout=subprocess.PIPE)
    said, _ = parent.communicate(timeout=60)
    with suppress(psutil.NoSuchProcess):
        assert still_alive([psutil.Process(int(said))], within=60) == []
    assert not log.exists()


PARENT = """
import sys, time
from pathlib import Path
from app.embedded.child import BARE_ENVIRONMENT
from app.embedded.supervisor import Command, Supervisor
supervisor = Supervisor(print)
log = Path(sys.argv[1])
supervisor.add("x", Command(["/bin/sh", "-c", sys.argv[2]], environment=BARE_ENVIRONMENT, log=log, patience=1), stage=1)
while True:
    supervisor.look()
    time.sleep(0.05)
"""


def orphan_reapers(parent: int) -> list[psutil.Process]:
    reapers = []
    for child in psutil.Process(parent).children():
        with suppress(psutil.Error):
            if any("orphan_reaper" in word for word in child.cmdline()):
                reapers.append(child)
    return reapers


@pytest.mark.parametrize("orphan_reaper_was_killed_before", [False, True])
def test_a_killed_launcher_leaves_not_even_grandchildren(
    tmp_path: Path, *, orphan_reaper_was_killed_before: bool
) -> None:
    log = tmp_path / "log"
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(log), STUBBORN], cwd=ROOT)
    try:
        wait_until(lambda: log.exists() and log.read_text() == "started\n", seconds=60)
        wait_until(lambda: len(orphan_reapers(parent.pid)) == 1, seconds=60)
        if orphan_reaper_was_killed_before:
            (old,) = orphan_reapers(parent.pid)
            old.kill()
            wait_until(lambda: [p.pid for p in orphan_reapers(parent.pid)] not in ([], [old.pid]), seconds=60)
        everyone = psutil.Process(parent.pid).children(recursive=True)
        assert len(everyone) >= 3
        os.kill(parent.pid, signal.SIGKILL)
        assert still_alive(everyone, within=60) == []
    finally:
        parent.kill()
        parent.wait()


def test_a_part_shows_nothing_of_its_environment(tmp_path: Path) -> None:
    part = Command(["/bin/true"], environment={"SUREBOX_SERVER_SECRET": "hidden"}, log=tmp_path / "log", patience=1.0)
    assert "hidden" not in repr(part)
