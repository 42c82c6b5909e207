"""Many small jobs while workers are killed: all end, none twice, no release is ever half visible."""

import os
import signal
import threading
from itertools import cycle
from pathlib import Path

import psutil
import pytest

from tests.drawing import LONG
from tests.faults.rig import Process, Rig
from tests.servers import wait_until

KILLS = 12 if LONG else 6
JOBS = 17 * KILLS
#: Where a job is when it is killed: computing, computed, and within the transaction that publishes its release.
PLACES = ("step", "finish", "record")

#: A release is whole or not there: its job has succeeded and names it, both files, the result and provenance exist.
HALF_VISIBLE = """
SELECT release.id FROM release JOIN job ON job.id = release.job_id
WHERE job.state <> 'succeeded' OR job.release_id IS DISTINCT FROM release.id
   OR (SELECT count(*) FROM release_file WHERE release_file.release_id = release.id) <> 2
   OR NOT EXISTS (SELECT 1 FROM job_result WHERE job_result.job_id = job.id)
   OR NOT EXISTS (SELECT 1 FROM provenance WHERE provenance.job_id = job.id)
UNION ALL
SELECT job.id FROM job
WHERE job.state = 'succeeded' AND NOT EXISTS (SELECT 1 FROM release WHERE release.job_id = job.id)
"""


def finished(rig: Rig) -> int:
    return rig.row("SELECT count(*) AS n FROM job WHERE finished_at IS NOT NULL")["n"]


def caught(traps: Path, place: str) -> int:
    """The process that went into a trap, where it waits."""
    path = wait_until(lambda: list(traps.glob(f"{place}.*")), what=f"a job at its {place}")[0]
    path.unlink()
    return int(path.suffix[1:])


def attempt_of(rig: Rig, pid: int) -> tuple[str, int]:
    statement = "SELECT job_id, attempt FROM job_attempt WHERE ended_at IS NULL AND worker LIKE '%%:' || %s::text"
    (row,) = rig.rows(statement, pid)
    return row["job_id"], row["attempt"]


def kill(rig: Rig, workers: list[Process], pid: int, *, with_its_worker: bool) -> None:
    if not with_its_worker:
        os.kill(pid, signal.SIGKILL)
        return
    parent = psutil.Process(pid).ppid()
    (worker,) = (each for each in workers if each.pid == parent)
    worker.group(signal.SIGKILL)
    workers.remove(worker)
    workers.append(rig.worker(concurrency=2, ready=False))


@pytest.fixture
def traps(tmp_path: Path) -> Path:
    folder = tmp_path / "traps"
    folder.mkdir()
    return folder


def test_many_jobs_while_workers_are_killed(rig: Rig, traps: Path) -> None:
    rig.settings_more["max_attempts"] = 50
    rig.housekeeping()
    workers = [rig.worker(concurrency=2, ready=False), rig.worker(concurrency=2, ready=False)]
    half_visible: list[str] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.02):
            half_visible.extend(row["id"] for row in rig.rows(HALF_VISIBLE))

    watcher = threading.Thread(target=watch)
    watcher.start()
    ids: list[str] = []
    killed: list[tuple[str, int]] = []
    try:
        for number, place in zip(range(KILLS), cycle(PLACES), strict=False):
            (traps / place).touch()
            wave = range(JOBS // KILLS)
            ids += [rig.submit(steps=2, step_seconds=0.02, release=True, traps=str(traps)) for _ in wave]
            pid = caught(traps, place)
            killed.append(attempt_of(rig, pid))
            kill(rig, workers, pid, with_its_worker=number == KILLS // 2)
        wait_until(lambda: finished(rig) == JOBS, seconds=300)
    finally:
        over.set()
        watcher.join()

    assert half_visible == []
    ends = rig.rows("SELECT job_id, count(*) AS n FROM job_event WHERE state = 'succeeded' GROUP BY job_id")
    assert {end["job_id"]: end["n"] for end in ends} == dict.fromkeys(ids, 1)
    assert rig.row("SELECT count(*) AS n FROM release")["n"] == JOBS
    lost = {(row["job_id"], row["attempt"]) for row in rig.rows("SELECT * FROM job_attempt WHERE outcome = 'lost'")}
    assert set(killed) <= lost
    for file in rig.rows("SELECT key, bytes FROM release_file"):
        assert (rig.folder / "storage" / file["key"]).stat().st_size == file["bytes"]
