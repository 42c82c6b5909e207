"""Long jobs survive kill -9: the next worker goes on from the checkpoint, to the same end."""

import os
import signal
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.embedded.worker import celery_arguments
from tests.faults.rig import Process, Rig
from tests.methods.bases import VARIABLES, microfile
from tests.servers import wait_until

WORKER = "import sys; from workers.celery_app import app; app.worker_main(sys.argv[1:])"


def real_worker(rig: Rig, *, queue: str = "batch") -> Process:
    """A worker with the product's methods; the rig's own has the probe only."""
    worker = rig.start("-c", WORKER, *celery_arguments(queue=queue, concurrency=1, log_level="INFO"), name="worker")
    wait_until(lambda: rig.row("SELECT 1 FROM worker WHERE pid = %s", worker.pid), what=worker.text())
    return worker


def upload(client: httpx.Client, body: str) -> str:
    answer = client.post("/v1/datasets", content=body, headers={"Content-Type": "text/csv"})
    assert answer.status_code == httpx.codes.CREATED, answer.text
    return str(answer.json()["id"])


def ask(client: httpx.Client, kind: str, spec: dict[str, Any]) -> str:
    answer = client.post(f"/v1/{kind}", json=spec)
    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    return str(answer.json()["id"])


def killed(rig: Rig, worker: Process, job_id: str, *, steps: int) -> Process:
    """Kill the worker once its job has a checkpoint of so many steps; the next worker."""

    def late() -> bool:
        row = rig.row("SELECT steps FROM job_checkpoint WHERE job_id = %s", job_id)
        return row is not None and row["steps"] >= steps

    wait_until(late, what="a checkpoint")
    assert rig.job(job_id)["state"] == "running"
    os.kill(worker.pid, signal.SIGKILL)
    return real_worker(rig)


def whole(client: httpx.Client, job_id: str) -> dict[str, Any]:
    return dict(client.get(f"/v1/jobs/{job_id}/result").raise_for_status().json())


def files(client: httpx.Client, job_id: str) -> dict[str, str]:
    """Checksums of the files of a job's release."""
    release_id = client.get(f"/v1/jobs/{job_id}").raise_for_status().json()["release_id"]
    release = client.get(f"/v1/releases/{release_id}").raise_for_status().json()
    return {name: file["sha256"] for name, file in release["files"].items()}


@pytest.mark.long
def test_killed_searches_go_on_to_the_very_result_of_undisturbed_ones(rig: Rig) -> None:
    rig.housekeeping()
    worker = real_worker(rig)
    real_worker(rig, queue="interactive")
    _, address = rig.api()
    with rig.client(address) as client:
        auxiliary = upload(client, microfile(1, regions=20, bases={2: 50, 9: 60}).write_csv())
        target = upload(client, microfile(2, bases={4: 40, 11: 34}).write_csv())
        attack = {
            "method": "group", "auxiliary_dataset_id": auxiliary, "target_dataset_id": target, "seed": 7,
            "hidden_group": {"column": "job", "values": ["army"]}, "region_columns": ["region"], "variables": VARIABLES,
            "search": {"method": "evolution", "generations": 300, "runs": 10, "diversity": False},
        }  # fmt: skip
        undisturbed = rig.wait(ask(client, "audits", attack), "succeeded", seconds=120)
        disturbed = ask(client, "audits", attack)
        worker = killed(rig, worker, disturbed, steps=8)
        assert rig.wait(disturbed, "succeeded", seconds=120)["attempt"] == 2
        assert whole(client, disturbed) == whole(client, undisturbed["id"])

        mask = {
            "method": "swaps", "dataset_id": target, "region_columns": ["region"],
            "model_job_id": undisturbed["id"], "seed": 8,
            "search": {"method": "memetic", "generations": 300, "runs": 2},
        }  # fmt: skip
        undisturbed = rig.wait(ask(client, "anonymizations", mask), "succeeded", seconds=120)
        disturbed = ask(client, "anonymizations", mask)
        killed(rig, worker, disturbed, steps=8)
        assert rig.wait(disturbed, "succeeded", seconds=120)["attempt"] == 2
        assert whole(client, disturbed) == whole(client, undisturbed["id"])
        assert files(client, disturbed) == files(client, undisturbed["id"])
    assert rig.rows("SELECT * FROM job_checkpoint") == []


def test_a_killed_calibration_goes_on_to_the_very_release_of_an_undisturbed_one(rig: Rig) -> None:
    rig.housekeeping()
    worker = real_worker(rig)
    real_worker(rig, queue="interactive")
    _, address = rig.api()
    rng = np.random.default_rng(5)
    x = rng.normal(size=(10_000, 3)) * np.exp(rng.normal(size=10_000))[:, None]
    with rig.client(address) as client:
        jobs = []
        for note in ("undisturbed", "disturbed"):  # other bytes: the second is no second draw of the same data
            frame = pl.DataFrame(x, schema=["a", "b", "c"]).with_columns(pl.lit(note).alias("note"))
            dataset_id = upload(client, frame.write_csv())
            spec = {"method": "uncertain", "dataset_id": dataset_id, "quasi_identifiers": ["a", "b", "c"], "k": 10}
            jobs.append(ask(client, "anonymizations", spec | {"scales": "levels", "suppress_share": 0, "seed": 9}))
            if note == "disturbed":
                killed(rig, worker, jobs[-1], steps=3)
            ended = rig.wait(jobs[-1], "succeeded", seconds=120)
        assert ended["attempt"] == 2
        assert whole(client, jobs[0]) == whole(client, jobs[1])
        assert files(client, jobs[0]) == files(client, jobs[1])
    assert rig.rows("SELECT * FROM job_checkpoint") == []


def test_runs_that_are_shared_among_workers_find_what_they_find_together(
    rig_on: Any, database_url: str, redis_url: str
) -> None:
    rig = rig_on(database_url, redis_url, split_seconds=0)
    rig.housekeeping()
    worker = real_worker(rig)
    real_worker(rig, queue="interactive")
    _, address = rig.api()
    with rig.client(address) as client:
        auxiliary = upload(client, microfile(1, regions=20, bases={2: 50, 9: 60}).write_csv())
        attack = {
            "method": "group", "auxiliary_dataset_id": auxiliary, "seed": 7,
            "hidden_group": {"column": "job", "values": ["army"]}, "region_columns": ["region"], "variables": VARIABLES,
            "search": {"method": "evolution", "generations": 20, "runs": 5},
        }  # fmt: skip
        alone = ask(client, "audits", attack)
        rig.wait(alone, "succeeded", seconds=120)
        second = real_worker(rig)
        shared = ask(client, "audits", attack)
        rig.wait(shared, "succeeded", seconds=120)
        assert rig.rows("SELECT part FROM job WHERE whole_id = %s ORDER BY part", alone) == []
        ran = rig.rows(
            "SELECT part, state, worker FROM job JOIN job_attempt ON job.id = job_id WHERE whole_id = %s", shared
        )
        assert sorted((row["part"], row["state"]) for row in ran) == [(0, "succeeded"), (1, "succeeded")]
        assert whole(client, shared) == whole(client, alone)
        listed = {job["id"] for job in client.get("/v1/jobs").json()["items"]}
        assert listed == {alone, shared}
    assert worker.process.poll() is None
    assert second.process.poll() is None
