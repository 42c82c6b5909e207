"""Broker and Postgres lost under running and queued jobs; the API killed while it accepts."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest
import redis

from app.embedded.broker import BrokerServer
from app.embedded.postgres import PostgresServer
from tests.faults.rig import Process, Rig, steps
from tests.servers import Databases, wait_until

#: Five, and what a busy machine adds.
STILL_SECONDS = 8.0
BOXES = {"method": "boxes", "quasi_identifiers": ["age", "hours"], "k": 5, "partition": "fast"}


@pytest.fixture
def rig(rig_on: Callable[..., Rig], database_url: str, own_broker: BrokerServer) -> Rig:
    """A rig whose broker is its own."""
    return rig_on(database_url, own_broker.tcp_url())


def all_succeed_once(rig: Rig, ids: list[str]) -> None:
    for job_id in ids:
        rig.wait(job_id, "succeeded")
        assert rig.events(job_id).count("succeeded") == 1
        assert rig.outcomes(job_id) == ["succeeded"]


def flush(broker: BrokerServer) -> None:
    with redis.Redis.from_url(broker.tcp_url()) as client:
        client.flushall()


def restart(broker: BrokerServer) -> None:
    broker.kill()
    broker.start()


@pytest.mark.parametrize("lose", [flush, restart])
def test_no_job_is_lost_with_what_the_broker_held(
    rig: Rig, own_broker: BrokerServer, lose: Callable[[BrokerServer], None]
) -> None:
    worker = rig.worker()
    rig.housekeeping()
    journal = rig.journal()
    running = rig.submit(steps=20, step_seconds=0.05, journal=str(journal))
    queued = [rig.submit() for _ in range(5)]
    wait_until(lambda: len(steps(journal)) >= 3)
    lose(own_broker)
    all_succeed_once(rig, [running, *queued])
    assert worker.process.poll() is None


def test_a_broker_that_is_down_takes_no_job_with_it(rig: Rig, own_broker: BrokerServer) -> None:
    rig.housekeeping()
    _, address = rig.api()
    own_broker.kill()
    with rig.client(address) as client:
        began = time.monotonic()
        answer = client.post("/v1/anonymizations", json=BOXES | {"dataset_id": rig.dataset()})
        assert time.monotonic() - began < 20
    assert answer.status_code == httpx.codes.ACCEPTED, answer.text
    assert answer.json()["state"] == "queued"
    own_broker.start()
    rig.worker()
    all_succeed_once(rig, [answer.json()["id"]])


def test_an_api_killed_while_it_accepts_jobs_loses_none_of_them(rig: Rig) -> None:
    api, address = rig.api()
    dataset_id = rig.dataset()
    accepted: list[str] = []

    def submit_until_killed() -> None:
        with rig.client(address) as client:
            while True:
                try:
                    answer = client.post("/v1/anonymizations", json=BOXES | {"dataset_id": dataset_id})
                except httpx.TransportError:
                    return
                assert answer.status_code == httpx.codes.ACCEPTED, answer.text
                accepted.append(answer.json()["id"])

    threads = [threading.Thread(target=submit_until_killed) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(accepted) >= 40)
    api.process.kill()
    for thread in threads:
        thread.join(20)
    rows = [row["id"] for row in rig.rows("SELECT id FROM job")]
    assert set(accepted) <= set(rows)
    with redis.Redis.from_url(rig.redis_url) as client:
        client.rpop("batch")  # whatever the kill did: at least one committed job was never sent
    rig.housekeeping()
    rig.worker(concurrency=2)
    all_succeed_once(rig, rows)


def test_postgres_killed_and_started_again_costs_a_running_job_nothing(
    rig_on: Callable[..., Rig], own_postgres: PostgresServer, redis_url: str
) -> None:
    rig = rig_on(Databases(own_postgres).fresh(), redis_url)
    rig.housekeeping()
    worker = rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=20, step_seconds=0.05, release=True, journal=str(journal))
    waiting = [rig.submit() for _ in range(3)]
    wait_until(lambda: len(steps(journal)) >= 5)
    own_postgres.kill()
    wait_until(lambda: "finished" in journal.read_text(), what="computing goes on without the database")
    own_postgres.start()
    all_succeed_once(rig, [job_id, *waiting])
    assert steps(journal) == list(range(1, 21))
    assert len(rig.rows("SELECT id FROM release")) == 1
    assert all_alive(rig.started)
    assert worker.process.poll() is None


def test_a_result_that_waits_for_the_database_is_not_too_late(
    rig_on: Callable[..., Rig], own_postgres: PostgresServer, redis_url: str
) -> None:
    limit = 20.0
    rig = rig_on(Databases(own_postgres).fresh(), redis_url, job_time_limit_seconds=limit, heartbeat_timeout_seconds=90)
    rig.housekeeping()
    rig.worker()
    journal = rig.journal()
    job_id = rig.submit(steps=20, step_seconds=0.05, release=True, journal=str(journal))
    wait_until(lambda: len(steps(journal)) >= 5)
    began = time.monotonic()
    own_postgres.kill()
    wait_until(lambda: "finished" in journal.read_text(), what="computing goes on without the database")
    time.sleep(max(0.0, began + limit + 2.0 - time.monotonic()))
    own_postgres.start()
    assert rig.wait(job_id)["state"] == "succeeded"
    assert rig.outcomes(job_id) == ["succeeded"]


def test_while_postgres_stands_still_every_request_is_503_within_seconds_and_all_goes_on_after_it(
    rig_on: Callable[..., Rig], own_postgres: PostgresServer, redis_url: str
) -> None:
    rig = rig_on(Databases(own_postgres).fresh(), redis_url)
    _, address = rig.api()
    job_id, spec = rig.submit(), BOXES | {"dataset_id": rig.dataset()}
    assert own_postgres.process is not None
    server = psutil.Process(own_postgres.process.pid)
    took: list[float] = []

    def request(client: httpx.Client, *, submit: bool) -> int:
        began = time.monotonic()
        path = "/v1/anonymizations" if submit else f"/v1/jobs/{job_id}"
        answer = client.request("POST" if submit else "GET", path, json=spec if submit else None)
        took.append(time.monotonic() - began)
        return answer.status_code

    with rig.client(address) as client:
        assert request(client, submit=False) == httpx.codes.OK
        stopped = [server, *server.children(recursive=True)]
        for process in stopped:
            process.suspend()
        try:
            took.clear()
            with ThreadPoolExecutor(60) as pool:  # more than the API has threads
                answers = list(pool.map(lambda number: request(client, submit=number % 2 == 0), range(60)))
            answers += [request(client, submit=True), request(client, submit=False)]
            assert set(answers) == {httpx.codes.SERVICE_UNAVAILABLE}
            assert max(took) < STILL_SECONDS, sorted(took)[-5:]
        finally:
            for process in reversed(stopped):
                process.resume()
        wait_until(lambda: request(client, submit=False) == httpx.codes.OK)
        assert request(client, submit=True) == httpx.codes.ACCEPTED


def all_alive(processes: list[Process]) -> bool:
    return all(process.process.poll() is None for process in processes)
