"""Jobs that draw from the same data at once: what was published first counts, what waits or was cancelled does not."""

import httpx
import numpy as np
import polars as pl

from tests.faults.rig import Rig
from tests.faults.test_resumed import ask, real_worker, upload


def test_of_jobs_that_wait_at_once_the_first_publishes_and_the_others_say_what_would_work(rig: Rig) -> None:
    real_worker(rig, queue="interactive")
    _, address = rig.api()
    frame = pl.DataFrame({"x": np.random.default_rng(3).normal(size=60)})
    with rig.client(address) as client:
        dataset_id = upload(client, frame.write_csv())
        spec = {"method": "uncertain", "publish": "auto", "dataset_id": dataset_id, "quasi_identifiers": ["x"], "k": 4}
        cancelled, first, second, allowed = (
            ask(client, "anonymizations", spec | {"accept_findings": ["composition"] if again else []})
            for again in (False, False, False, True)
        )  # nobody works on them yet
        assert client.post(f"/v1/jobs/{cancelled}/cancel").json()["state"] == "cancelled"
        real_worker(rig)
        ended = {job_id: rig.wait(job_id, seconds=120) for job_id in (first, second, allowed)}
        assert sorted(ended[job_id]["state"] for job_id in (first, second)) == ["failed", "succeeded"]
        assert ended[allowed]["state"] == "succeeded"
        problem = next(job["error"] for job in ended.values() if job["state"] == "failed")
        assert [error["pointer"] for error in problem["errors"]] == ["/method"]
        assert problem["detail"].endswith("the one that is published answers counts and classes."), problem
        draws = [
            client.get(f"/v1/jobs/{job_id}/result").json()["release_number"]
            for job_id, job in ended.items()
            if job["state"] == "succeeded"
        ]
        assert sorted(draws) == [1, 2]
        refused = client.post("/v1/anonymizations", json=spec)
        assert refused.status_code == httpx.codes.UNPROCESSABLE_ENTITY
