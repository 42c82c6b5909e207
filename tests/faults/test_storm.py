"""Many small jobs while workers are killed: all end, none twice, no release is ever half visible."""

import os
import signal
import threading

from tests.faults.rig import Rig, wait_until

JOBS = 200
KILLS = 12

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


def kill_one_at_work(rig: Rig) -> bool:
    running = rig.row("SELECT worker FROM job_attempt WHERE ended_at IS NULL ORDER BY random() LIMIT 1")
    if running is None:
        return False
    try:
        os.kill(int(running["worker"].rpartition(":")[2]), signal.SIGKILL)
    except ProcessLookupError:  # killed before, and not yet reaped
        return False
    return True


def test_two_hundred_jobs_while_workers_are_killed(rig: Rig) -> None:
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
    try:
        ids = [rig.submit(steps=2, step_seconds=0.02, release=True) for _ in range(JOBS)]
        for kill in range(1, KILLS + 1):
            wait_until(lambda: finished(rig) >= kill * JOBS // (KILLS + 2), seconds=60)  # noqa: B023
            if kill == KILLS // 2:
                workers[0].group(signal.SIGKILL)
                rig.worker(concurrency=2, ready=False)
            else:
                wait_until(lambda: kill_one_at_work(rig))
        wait_until(lambda: finished(rig) == JOBS, seconds=60)
    finally:
        over.set()
        watcher.join()

    assert half_visible == []
    ends = rig.rows("SELECT job_id, count(*) AS n FROM job_event WHERE state = 'succeeded' GROUP BY job_id")
    assert {end["job_id"]: end["n"] for end in ends} == dict.fromkeys(ids, 1)
    assert rig.row("SELECT count(*) AS n FROM release")["n"] == JOBS
    lost = rig.row("SELECT count(*) AS n FROM job_attempt WHERE outcome = 'lost'")["n"]
    assert lost >= KILLS // 2, "the kills did not meet jobs"
    for file in rig.rows("SELECT key, bytes FROM release_file"):
        assert (rig.folder / "storage" / file["key"]).stat().st_size == file["bytes"]
