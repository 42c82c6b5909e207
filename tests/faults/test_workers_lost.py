"""Workers that are killed, frozen, or told to stop in the middle of a job."""

import json
import os
import signal
from itertools import pairwise

import psutil

from tests.faults.rig import Rig, steps
from tests.servers import wait_until
from tests.stored import stored
from workers.engine.randomness import new_generator

SEED = 11


def drawn(rig: Rig, job_id: str) -> list[float]:
    return json.loads(rig.row("SELECT body FROM job_result WHERE job_id = %s", job_id)["body"])["drawn"]


def uninterrupted(count: int) -> list[float]:
    return new_generator(SEED).random(count).tolist()


def test_a_worker_killed_in_the_middle_of_a_job_costs_an_attempt_and_no_checkpointed_step(rig: Rig) -> None:
    rig.housekeeping()
    first = rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=40, step_seconds=0.05, seed=SEED, release=True, journal=str(journal))
    wait_until(lambda: len(steps(journal)) >= 15)
    os.kill(first.pid, signal.SIGKILL)
    child = int(journal.read_text().split()[0])
    wait_until(lambda: not psutil.pid_exists(child), what="the children leave with their parent")
    done = len(steps(journal))
    rig.worker()
    job = rig.wait(job_id, "succeeded")

    assert (job["attempt"], job["given_back"]) == (2, 0)
    assert rig.outcomes(job_id) == ["lost", "succeeded"]
    assert rig.events(job_id) == ["queued", "running", "queued", "running", "succeeded"]
    assert len(steps(journal)) < 40 + done, "the second attempt began anew"
    assert sorted(set(steps(journal))) == list(range(1, 41))
    assert drawn(rig, job_id) == uninterrupted(40), "the generator did not go on where it was"
    assert journal.read_text().count("finished") == 1
    assert rig.rows("SELECT * FROM job_checkpoint") == []
    wait_until(
        lambda: not [path for path in stored(rig.folder / "storage" / "jobs") if path.name.startswith("checkpoint-")],
        what="the files go once the job's end is in the database",
    )
    assert len(rig.rows("SELECT id FROM release WHERE job_id = %s", job_id)) == 1


def test_a_child_killed_alone_is_replaced_and_its_job_runs_again_on_the_same_worker(rig: Rig) -> None:
    rig.housekeeping()
    worker = rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=30, step_seconds=0.05, journal=str(journal))
    wait_until(lambda: len(steps(journal)) >= 5)
    os.kill(int(journal.read_text().split()[0]), signal.SIGKILL)
    assert rig.wait(job_id, "succeeded")["attempt"] == 2
    assert worker.process.poll() is None


def test_a_job_that_loses_every_worker_fails_in_the_end(rig: Rig) -> None:
    rig.settings_more["max_attempts"] = 2
    rig.housekeeping()
    rig.worker()
    journal = rig.journal()
    job_id = rig.submit(kernel_seconds=30, journal=str(journal))
    for attempt in (1, 2):
        wait_until(lambda: journal.read_text().count("kernel") == attempt)  # noqa: B023
        os.kill(int(journal.read_text().splitlines()[-1].split()[0]), signal.SIGKILL)
    job = rig.wait(job_id)
    assert (job["state"], job["error"]["type"]) == ("failed", "/problems/attempts-exhausted")
    assert rig.outcomes(job_id) == ["lost", "lost"]


def test_a_worker_that_was_declared_dead_and_comes_back_ends_nothing(rig: Rig) -> None:
    rig.housekeeping()
    frozen = rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=5, step_seconds=0.05, finish_seconds=1.0, release=True, journal=str(journal))
    wait_until(lambda: " finish\n" in journal.read_text())
    frozen.group(signal.SIGSTOP)
    rig.worker()
    job = rig.wait(job_id, "succeeded")
    ending = (job["finished_at"], job["release_id"], rig.events(job_id))
    frozen.group(signal.SIGCONT)
    wait_until(lambda: "fenced" in frozen.text().lower())
    job = rig.job(job_id)
    assert (job["finished_at"], job["release_id"], rig.events(job_id)) == ending
    assert rig.events(job_id).count("succeeded") == 1
    assert rig.outcomes(job_id) == ["lost", "succeeded"]
    assert len(rig.rows("SELECT id FROM release")) == 1


def test_a_worker_told_to_stop_gives_its_job_back_without_spending_an_attempt(rig: Rig) -> None:
    rig.settings_more["max_attempts"] = 1
    journal = rig.journal()
    first = rig.worker()
    job_id = rig.submit(steps=60, step_seconds=0.05, seed=SEED, journal=str(journal))
    wait_until(lambda: len(steps(journal)) >= 10)
    first.process.terminate()
    assert first.process.wait(60) == 0
    assert rig.job(job_id)["state"] == "queued"
    before = steps(journal)
    rig.worker()
    job = rig.wait(job_id, "succeeded")
    assert (job["attempt"], job["given_back"]) == (2, 1)
    assert rig.outcomes(job_id) == ["given back", "succeeded"]
    assert steps(journal) == list(range(1, 61)), f"{len(before)} steps were done when it stopped"
    assert drawn(rig, job_id) == uninterrupted(60)


def test_a_worker_told_to_stop_inside_a_kernel_stops_in_seconds_and_its_job_is_queued(rig: Rig) -> None:
    worker = rig.worker()
    journal = rig.journal()
    job_id = rig.submit(kernel_seconds=120, journal=str(journal))
    wait_until(lambda: "kernel" in journal.read_text())
    worker.process.terminate()
    worker.process.wait(40)
    job = rig.job(job_id)
    assert (job["state"], job["given_back"]) == ("queued", 1)
    assert rig.outcomes(job_id) == ["given back"]


def test_events_are_numbered_in_the_order_they_happened(rig: Rig) -> None:
    rig.housekeeping()
    rig.worker()
    job_id = rig.submit(steps=2)
    rig.wait(job_id, "succeeded")
    numbered = rig.rows("SELECT id, at FROM job_event WHERE job_id = %s ORDER BY id", job_id)
    assert all(first["at"] <= second["at"] for first, second in pairwise(numbered))
