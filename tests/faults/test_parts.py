"""Jobs that are split: parts run anywhere, are lost and run again, and their whole goes on when the last has ended."""

import json
import os
import signal
from pathlib import Path
from typing import Any

from sqlalchemy import text

from app.db.repositories import jobs, parts
from app.jobs.envelope import job_json
from app.queue import JobQueue
from tests.faults.rig import OWNER, Rig
from tests.servers import wait_until
from workers.engine.randomness import new_generator

SEED = 23


def parts_of(rig: Rig, job_id: str) -> list[dict[str, Any]]:
    return rig.rows("SELECT * FROM job WHERE whole_id = %s ORDER BY part", job_id)


def done_by(journal: Path, part: int) -> list[int]:
    lines = [line for line in journal.read_text().splitlines() if f"part {part} of" in line]
    return [int(line.rsplit(" ", 1)[1]) for line in lines]


def shown(rig: Rig, job_id: str) -> dict[str, Any]:
    with rig.database.read() as connection:
        record = jobs.get(connection, owner=OWNER, job_id=job_id)
    assert record is not None
    return json.loads(job_json(record))


def cancel(rig: Rig, job_id: str) -> bool:
    with rig.database.unit_of_work() as unit:
        return jobs.request_cancel(unit.connection, owner=OWNER, job_id=job_id)


def test_parts_run_on_all_workers_and_their_whole_joins_what_they_found(rig: Rig) -> None:
    for _ in range(2):
        rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=6, step_seconds=0.2, parts=3, seed=SEED, journal=str(journal), release=True)
    wait_until(lambda: shown(rig, job_id)["progress"]["fraction"] > 0)
    seen = shown(rig, job_id)
    assert (seen["state"], seen["progress"]["stage"]) == ("running", "parts")
    job = rig.wait(job_id, "succeeded")

    body = json.loads(rig.row("SELECT body FROM job_result WHERE job_id = %s", job_id)["body"])
    assert body["drawn"] == 3 * new_generator(SEED).random(6).tolist()
    assert rig.events(job_id) == ["queued", "running", "queued", "running", "succeeded"]
    assert rig.outcomes(job_id) == ["split", "succeeded"]
    assert job["attempt"] - job["given_back"] == 1, "a split costs no attempt"
    rows = parts_of(rig, job_id)
    assert [part["state"] for part in rows] == ["succeeded"] * 3
    assert not any(part["listed"] for part in rows)
    assert journal.read_text().count("join") == 1
    workers = {
        row["worker"]
        for row in rig.rows("SELECT worker FROM job_attempt JOIN job ON job.id = job_id WHERE part IS NOT NULL")
    }
    assert len(workers) == 2
    assert rig.rows("SELECT job_id FROM release") == [{"job_id": job_id}]


def test_one_process_alone_splits_nothing(rig: Rig) -> None:
    rig.worker()
    job_id = rig.submit(steps=2, parts=3)
    rig.wait(job_id, "succeeded")
    assert parts_of(rig, job_id) == []


def test_a_part_whose_worker_dies_goes_on_elsewhere_from_its_checkpoint(rig: Rig) -> None:
    rig.housekeeping()
    workers = {worker.pid: worker for worker in (rig.worker(), rig.worker())}
    journal = rig.journal()
    job_id = rig.submit(steps=30, step_seconds=0.05, parts=2, seed=SEED, journal=str(journal))
    wait_until(lambda: min(len(done_by(journal, part)) for part in range(2)) >= 8)
    os.kill(next(iter(workers)), signal.SIGKILL)
    job = rig.wait(job_id, "succeeded", seconds=60)

    assert job["attempt"] - job["given_back"] == 1
    rows = parts_of(rig, job_id)
    assert sorted(part["attempt"] for part in rows) == [1, 2]
    for part in range(2):
        assert sorted(set(done_by(journal, part))) == list(range(1, 31))
    lost = next(part for part in rows if part["attempt"] == 2)
    assert len(done_by(journal, lost["part"])) < 30 + 8, "the part began anew"
    body = json.loads(rig.row("SELECT body FROM job_result WHERE job_id = %s", job_id)["body"])
    assert body["drawn"] == 2 * new_generator(SEED).random(30).tolist()


def test_a_part_that_fails_fails_its_whole_with_the_same_problem(rig: Rig) -> None:
    rig.housekeeping()
    for _ in range(3):  # one each: the part that fails never waits for another one's end
        rig.worker()
    job_id = rig.submit(steps=2_000, step_seconds=0.02, parts=3, fail_part=1)
    job = rig.wait(job_id, "failed")
    assert job["error"]["detail"] == "A part cannot be done."
    wait_until(lambda: all(part["finished_at"] for part in parts_of(rig, job_id)), what="the others stop")
    assert sorted(part["state"] for part in parts_of(rig, job_id)) == ["cancelled", "cancelled", "failed"]


def test_cancelling_the_whole_ends_it_at_once_and_its_parts_soon(rig: Rig) -> None:
    rig.housekeeping()
    for _ in range(2):
        rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=2_000, step_seconds=0.02, parts=4, journal=str(journal))
    wait_until(lambda: "step" in journal.read_text())
    assert cancel(rig, job_id)
    assert rig.job(job_id)["state"] == "cancelled"
    assert not cancel(rig, job_id)
    wait_until(lambda: all(part["finished_at"] for part in parts_of(rig, job_id)), what="running and queued parts end")
    assert {part["state"] for part in parts_of(rig, job_id)} == {"cancelled"}
    assert rig.events(job_id) == ["queued", "running", "cancelled"]

    with rig.database.unit_of_work() as unit:
        assert parts.remove_old(unit.connection) == 0
        unit.connection.execute(text("ALTER TABLE job DISABLE TRIGGER USER"))
        unit.connection.execute(
            text("UPDATE job SET finished_at = finished_at - interval '61 min' WHERE whole_id IS NULL")
        )
        assert parts.remove_old(unit.connection) == 4
    assert rig.job(job_id)["state"] == "cancelled"


def test_parts_and_their_whole_outlive_a_broker_that_forgets_them(rig: Rig) -> None:
    rig.housekeeping()
    for _ in range(2):
        rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=10, step_seconds=0.05, parts=6, journal=str(journal))
    wait_until(lambda: "step" in journal.read_text())
    with JobQueue(rig.settings).celery.connection_for_write() as connection:
        connection.default_channel.client.delete("batch")
    rig.wait(job_id, "succeeded", seconds=60)
    assert [part["state"] for part in parts_of(rig, job_id)] == ["succeeded"] * 6


def test_parts_do_not_count_against_their_owner(rig: Rig) -> None:
    for _ in range(2):
        rig.worker()
    job_id = rig.submit(steps=500, step_seconds=0.02, parts=8)
    wait_until(lambda: len(parts_of(rig, job_id)) == 8)
    with rig.database.read() as connection:
        assert jobs.count_unfinished(connection, owner=OWNER, at_most=100) == 1
    cancel(rig, job_id)
