"""Logs are kept for a time, and rotated without losing a line."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.embedded.logs import LogFiles

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
WRITERS, LINES = 3, 2_000
WRITER = """
import sys, threading
from pathlib import Path
from app.observability.logs import configure_logging
from app.settings import Settings
import logging, structlog
configure_logging(Settings(log_json=True, log_file=Path(sys.argv[1])))
log = structlog.get_logger("writer")
def write(thread):
    for number in range(int(sys.argv[3])):
        log.info("line", writer=int(sys.argv[2]), thread=thread, number=number, filling="x" * (number % 9) * 2_000)
threads = [threading.Thread(target=write, args=(each,)) for each in range(2)]
[each.start() for each in threads]
[each.join() for each in threads]
logging.getLogger("uvicorn.error").info("last of the library")
sys.stderr.write("last of the process\\n")  # one write; `print` makes two where Python is unbuffered
"""


def files(folder: Path, **more: int) -> LogFiles:
    return LogFiles(folder, days=30.0, total_bytes=10**12, **more)


def test_every_line_is_there_although_files_are_renamed_while_they_are_written(tmp_path: Path) -> None:
    log = tmp_path / "worker-batch.log"
    log.touch(mode=0o600)
    rotating = files(tmp_path, max_bytes=200_000)
    started = []
    for writer in range(WRITERS):
        command = [sys.executable, "-c", WRITER, str(log), str(writer), str(LINES)]
        with log.open("ab") as output:
            started.append(subprocess.Popen(command, stdout=output, stderr=output))
    rotating.rotate(NOW)
    while any(each.poll() is None for each in started):
        rotating.rotate(NOW)
    assert [each.returncode for each in started] == [0] * WRITERS
    logs = sorted(tmp_path.glob("*.log"))
    assert len(logs) > 20, "it was rotated"
    texts = [path.read_text() for path in logs]
    assert sum(text.count("last of the process\n") for text in texts) == WRITERS
    assert sum(text.count("last of the library") for text in texts) == WRITERS
    lines = [json.loads(line) for text in texts for line in text.splitlines() if line.startswith("{")]
    kept = sorted((each["writer"], each["thread"], each["number"]) for each in lines if each["event"] == "line")
    expected = [(writer, thread, number) for writer in range(WRITERS) for thread in range(2) for number in range(LINES)]
    assert kept == expected
    assert all(path.stat().st_mode & 0o077 == 0 for path in logs)


def test_a_day_has_a_file_and_old_files_go(tmp_path: Path) -> None:
    log, held = tmp_path / "api.log", tmp_path / "postgres.log"
    log.write_text("before the start\n")
    held.write_text("before the start\n")
    rotating = files(tmp_path)
    rotating.rotate(NOW)
    assert (log.exists(), held.exists()) == (False, False), "no one has them open yet"
    for path in (log, held):
        path.write_text("today\n")
    rotating.rotate(NOW + timedelta(hours=1))
    assert log.read_text() == "today\n"
    rotating.rotate(NOW + timedelta(days=1))
    assert (log.exists(), held.exists()) == (False, True), "Postgres writes to the file that it has opened"
    renamed = sorted(path.name for path in tmp_path.glob("api.*.log"))
    assert renamed == ["api.20260131T120000000000.log", "api.20260201T120000000000.log"]
    os.utime(tmp_path / renamed[0], (NOW.timestamp() - 31 * 86_400,) * 2)
    os.utime(tmp_path / renamed[1], (NOW.timestamp() - 29 * 86_400,) * 2)
    files(tmp_path).rotate(NOW)
    assert not (tmp_path / renamed[0]).exists()
    assert (tmp_path / renamed[1]).exists()


def test_files_that_postgres_makes_itself_are_kept_as_long_but_for_the_one_it_writes(tmp_path: Path) -> None:
    collected = tmp_path / "postgres" / "log"
    collected.mkdir(parents=True)
    days = [collected / f"postgres.2026010{day}T000000000000.log" for day in (1, 2, 3)]
    for path in days:
        path.write_text("a line\n")
        os.utime(path, (NOW.timestamp() - 31 * 86_400,) * 2)
    os.utime(days[1], (NOW.timestamp() - 29 * 86_400,) * 2)
    logs = tmp_path / "logs"
    logs.mkdir()
    LogFiles(logs, days=30.0, total_bytes=10**12, collected=collected).rotate(NOW)
    assert sorted(collected.iterdir()) == days[1:], "silent for a month, and still open"
    LogFiles(logs, days=30.0, total_bytes=0, collected=collected).rotate(NOW)
    assert sorted(collected.iterdir()) == days[2:]


def test_what_is_kept_in_all_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / f"api.2026013{number}T120000000000.log"
        path.write_bytes(b"x" * 100)
        os.utime(path, (NOW.timestamp() + number,) * 2)
    LogFiles(tmp_path, days=30.0, total_bytes=250).rotate(NOW)
    assert sorted(path.name[11:12] for path in tmp_path.glob("*.log")) == ["3", "4"]
