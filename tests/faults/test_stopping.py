"""Jobs that are to stop: by their user, by the time limit; soon, also inside a native kernel.

An idle machine takes less than two seconds. A busy one may take some more, but never as long as the work itself would.
"""

import time
from pathlib import Path

import redis

from app.db.repositories import jobs
from tests.faults.rig import OWNER, Process, Rig
from tests.servers import wait_until


def cancel(rig: Rig, job_id: str) -> float:
    with rig.database.unit_of_work() as unit:
        assert jobs.request_cancel(unit.connection, owner=OWNER, job_id=job_id)
    return time.monotonic()


def works_on(rig: Rig, worker: Process) -> None:
    """The worker takes another job, and the broker holds nothing any more."""
    assert rig.wait(rig.submit(), "succeeded")["attempt"] == 1
    assert worker.process.poll() is None
    with redis.Redis.from_url(rig.redis_url) as client:
        wait_until(lambda: client.llen("batch") == 0 and client.zcard("unacked_index") == 0)


def test_a_running_job_is_cancelled_long_before_its_work_would_end(rig: Rig) -> None:
    worker = rig.worker()
    in_a_kernel = {"kernel_seconds": 120}
    between_steps = {"steps": 6_000, "step_seconds": 0.02}
    while_finishing = {"finish_seconds": 120.0}
    for number, spec in enumerate((in_a_kernel, between_steps, while_finishing)):
        journal = rig.journal(f"journal-{number}")
        job_id = rig.submit(**spec, release=True, journal=str(journal))
        wait_until(lambda: any(word in journal.read_text() for word in ("kernel", "step")))  # noqa: B023
        cancelled_at = cancel(rig, job_id)
        job = rig.wait(job_id, "cancelled")
        assert time.monotonic() - cancelled_at < 30
        assert rig.events(job_id) == ["queued", "running", "cancelled"]
        assert rig.outcomes(job_id) == ["cancelled"]
        assert job["release_id"] is None
        works_on(rig, worker)
        assert rig.job(job_id)["state"] == "cancelled"
        assert rig.job(job_id)["attempt"] == 1, "the message was delivered again and claimed"
    wait_until(lambda: scratch_is_empty(rig))


def test_nothing_is_published_after_a_cancel_that_came_before_the_end(rig: Rig) -> None:
    rig.settings_more |= {"cancel_poll_seconds": 30, "heartbeat_seconds": 30, "heartbeat_timeout_seconds": 60}
    rig.worker()
    job_id = rig.submit(steps=0, fail="cancel", release=True)
    assert rig.wait(job_id)["state"] == "cancelled"
    assert rig.events(job_id) == ["queued", "running", "cancelled"]
    assert rig.rows("SELECT * FROM release") == []
    assert rig.rows("SELECT * FROM job_result") == []


def test_a_queued_job_that_was_cancelled_is_not_run(rig: Rig) -> None:
    journal = rig.journal()
    job_id = rig.submit(journal=str(journal))
    cancel(rig, job_id)
    works_on(rig, rig.worker())
    assert rig.events(job_id) == ["queued", "cancelled"]
    assert journal.read_text() == ""


def test_a_job_over_its_time_limit_fails_and_says_so(rig: Rig) -> None:
    rig.settings_more["job_time_limit_seconds"] = 1.0
    worker = rig.worker()
    for spec in ({"kernel_seconds": 120}, {"steps": 6_000, "step_seconds": 0.02}):
        began = time.monotonic()
        job = rig.wait(rig.submit(**spec))
        assert time.monotonic() - began < 40
        assert (job["state"], job["error"]["type"]) == ("failed", "/problems/time-limit")
        assert "within 1 s" in job["error"]["detail"]
        assert rig.outcomes(job["id"]) == ["time limit"]
        works_on(rig, worker)


def scratch_is_empty(rig: Rig) -> bool:
    return list(Path(rig.folder / "scratch").glob("surebox-scratch-*")) == []
