"""Answers show a job as it stands when they are sent: replays, and waits that run out."""

import threading

import httpx
from sqlalchemy import null

from app.contracts.jobs import JobState
from app.db.repositories import claims
from app.methods.boxes.spec import BoxesSpec
from tests.jobs.many import SECONDS
from tests.jobs.service import Service, body
from tests.servers import wait_until


def test_a_replay_shows_the_job_as_it_stands_by_then(service: Service) -> None:
    spec = body(service.dataset())
    headers = {"Idempotency-Key": "once"}
    with service.client() as client:
        first = client.post("/v1/anonymizations", json=spec, headers=headers)
        service.run(first.json()["id"])
        replayed = client.post("/v1/anonymizations", json=spec, headers=headers)
        assert (first.json()["state"], replayed.json()["state"]) == ("queued", "succeeded")
        assert replayed.status_code == first.status_code == 202, "the status is the first one"
        assert replayed.json() == client.get(first.headers["location"]).json()
        assert replayed.headers["location"] == first.headers["location"]
        assert "retry-after" not in replayed.headers, "there is nothing to wait for"


def test_a_wait_that_runs_out_shows_the_job_as_it_stands_now(service: Service) -> None:
    spec = body(service.dataset())
    answers: list[httpx.Response] = []

    def ask() -> None:
        with service.client() as client:
            answers.append(client.post("/v1/anonymizations", json=spec, headers={"Prefer": "wait=3"}))

    thread = threading.Thread(target=ask)
    thread.start()
    wait_until(lambda: service.waiting == 1, seconds=SECONDS)
    with service.client() as client:
        service.progress(service.claim(client.get("/v1/jobs").json()["items"][0]["id"]), 0.25)
    thread.join()
    job = answers[0].json()
    assert (answers[0].status_code, job["state"], job["progress"]["fraction"]) == (202, "running", 0.25)
    assert answers[0].headers["preference-applied"] == "wait=3"


def test_keys_of_specification_and_result_stand_in_the_order_of_the_contract(service: Service) -> None:
    summary = {"records": 9, "box_count": 3, "a_last_one": 1, "released": 9}
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        ending = claims.AttemptOutcome(state=JobState.SUCCEEDED, outcome="succeeded", result=summary)
        with service.database.unit_of_work() as unit:
            claims.finish(unit.connection, claimed=service.claim(job_id), ending=ending)
        shown = [client.get(f"/v1/jobs/{job_id}").json(), client.get("/v1/jobs").json()["items"][0]]
    for job in shown:
        assert list(job["result"]) == list(summary)
        assert list(job["spec"]) == list(BoxesSpec.model_fields)


def test_a_job_that_a_process_of_the_version_before_wrote_is_shown(service: Service) -> None:
    """It knows `spec` and `result` only, whose keys have the order of `jsonb`."""
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        service.alter(job_id, spec_shown=null())
        claimed = service.claim(job_id)
        assert claimed.spec["k"] == 5
        old = "UPDATE job SET state = 'succeeded', finished_at = now(), result = '{\"box_count\": 3}' WHERE id = %s"
        with service.database.unit_of_work() as unit:
            unit.connection.exec_driver_sql(old, (job_id,))
        job = client.get(f"/v1/jobs/{job_id}").json()
    assert (job["spec"]["k"], job["result"]) == (5, {"box_count": 3})
