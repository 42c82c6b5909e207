"""A service that commands have started ends once nobody uses it, never under somebody's hands."""

import fcntl
import os
import time
from pathlib import Path

from app.embedded.folder import DataFolder
from app.embedded.idle import IdleWatch


def long_ago(path: Path) -> None:
    path.touch()
    os.utime(path, (0, 0))


def watch(uses: Path, *, busy: bool = False) -> IdleWatch:
    made = IdleWatch(uses, seconds=0.01, busy=lambda: busy)
    time.sleep(0.02)  # what is measured is time
    return made


def test_an_unused_service_ends_and_keeps_commands_out_until_it_has(tmp_path: Path) -> None:
    uses = tmp_path / "uses.lock"
    long_ago(uses)
    idle = watch(uses)
    assert idle.is_over()
    with uses.open("rb") as command:
        try:
            fcntl.flock(command, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            kept_out = True
        else:
            kept_out = False
        assert kept_out
        idle.release()
        fcntl.flock(command, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_a_command_at_work_keeps_the_service(tmp_path: Path) -> None:
    uses = tmp_path / "uses.lock"
    long_ago(uses)
    with uses.open("rb") as command:
        fcntl.flock(command, fcntl.LOCK_SH)
        idle = watch(uses)
        assert not idle.is_over()
    assert idle.is_over(), "it has ended"


def test_a_use_that_has_ended_counts_from_its_end(tmp_path: Path) -> None:
    uses = tmp_path / "uses.lock"
    idle = IdleWatch(uses, seconds=60, busy=lambda: False)
    uses.touch()
    assert not idle.is_over()


def test_a_job_at_work_keeps_the_service(tmp_path: Path) -> None:
    uses = tmp_path / "uses.lock"
    long_ago(uses)
    assert not watch(uses, busy=True).is_over()
    with uses.open("rb") as command:
        fcntl.flock(command, fcntl.LOCK_SH | fcntl.LOCK_NB)


def test_a_folder_is_ignored_by_git_and_its_owner_may_say_otherwise(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.take()
    ignored = folder.path / ".gitignore"
    assert ignored.read_text() == "*\n"
    ignored.write_text("scratch\n")
    folder.leave()
    folder.take()
    assert ignored.read_text() == "scratch\n"
    folder.leave()
