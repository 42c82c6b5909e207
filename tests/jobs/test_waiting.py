import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import psycopg
import pytest

from app.db.notifications import APPLICATION_NAME, SAFETY_SECONDS
from tests import patient
from tests.jobs.service import Service, body
from tests.servers import wait_until

MANY = 200
#: Seconds that an answer takes at most, on a machine with much else to do, where the shortest wait would be 20.
AT_ONCE = 8


def kill_listener(service: Service) -> None:
    with psycopg.connect(service.settings.database_url, autocommit=True) as connection:
        terminated = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = %s AND datname = current_database()",
            [APPLICATION_NAME],
        ).fetchall()
    assert terminated == [(True,)]


def test_a_wait_ends_with_the_job(service: Service) -> None:
    answers = []
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        claimed = service.claim(job_id)

        def wait() -> None:
            answers.append(client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=25"}))

        thread = threading.Thread(target=wait)
        thread.start()
        wait_until(lambda: service.waiting == 1, seconds=60)
        service.progress(claimed, 0.5)  # wakes, but does not end the wait
        assert thread.is_alive()
        service.finish(claimed)
        ended = time.monotonic()
        thread.join()
        assert time.monotonic() - ended < 12
    assert (answers[0].status_code, answers[0].json()["state"]) == (200, "succeeded")
    assert answers[0].headers["preference-applied"] == "wait=25"
    wait_until(lambda: service.waiting == 0, seconds=60)


def test_a_wait_that_is_too_short_ends_in_time(service: Service) -> None:
    with service.client() as client:
        answer = client.post("/v1/anonymizations", json=body(service.dataset()), headers={"Prefer": "wait=1"})
        assert answer.status_code == 202
        assert 0.9 < answer.elapsed.total_seconds() < SAFETY_SECONDS
        assert answer.json()["state"] == "queued"
        assert answer.headers["retry-after"]
        read = client.get(answer.headers["location"], headers={"Prefer": "wait=1"})
        assert (read.status_code, read.json()["state"]) == (200, "queued")
        assert 0.9 < read.elapsed.total_seconds() < SAFETY_SECONDS


@pytest.mark.parametrize("prefer", ["wait=soon", "wait", "wait=-1", "respond-async", ";;;", "wait=0"])
def test_what_is_no_wait_does_not_wait(shared: Service, prefer: str) -> None:
    with shared.client() as client:
        answer = client.post("/v1/anonymizations", json=body(shared.dataset()), headers={"Prefer": prefer})
        assert answer.status_code == 202
        assert answer.elapsed.total_seconds() < AT_ONCE
        assert ("preference-applied" in answer.headers) == (prefer == "wait=0")


def test_a_finished_job_is_not_waited_for(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        service.run(job_id)
        answer = client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=30"})
    assert answer.json()["state"] == "succeeded"
    assert answer.elapsed.total_seconds() < AT_ONCE


def test_a_client_that_leaves_frees_its_waiter(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        for method, path, sent in (
            ("GET", f"/v1/jobs/{job_id}", None),
            ("POST", "/v1/anonymizations", body(service.dataset())),
        ):
            with pytest.raises(httpx.ReadTimeout):
                client.request(method, path, json=sent, headers={"Prefer": "wait=30"}, timeout=1.0)
            wait_until(lambda: service.waiting == 0, seconds=60)


def test_waiting_beyond_what_a_process_allows_is_answered_at_once(serve: Callable[..., Service]) -> None:
    service = serve(max_waiters=1)
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            assert stream.status_code == 200
            answer = client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=20"})
            assert (answer.status_code, answer.json()["state"]) == (200, "queued")
            assert answer.elapsed.total_seconds() < AT_ONCE
            assert client.get(f"/v1/jobs/{job_id}/events").status_code == 429


def test_what_happens_while_nobody_listens_is_told_on_reconnection(service: Service) -> None:
    answers = []
    with service.client() as client:
        job_id = service.submit(client, service.dataset())

        def wait() -> None:
            answers.append(client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=25"}))

        thread = threading.Thread(target=wait)
        thread.start()
        wait_until(lambda: service.waiting == 1, seconds=60)
        kill_listener(service)
        service.run(job_id)  # its notifications reach nobody, or somebody who has just come back
        ended = time.monotonic()
        thread.join()
    assert time.monotonic() - ended < SAFETY_SECONDS - 1
    assert answers[0].json()["state"] == "succeeded"


@pytest.mark.parametrize("jobs", [1, 20])
def test_many_waiters_cost_no_queries_while_they_wait(service: Service, jobs: int) -> None:
    with service.client() as client:
        dataset_id = service.dataset()
        job_ids = [service.submit(client, dataset_id) for _ in range(jobs)]
        header = client.headers["Authorization"]

    async def wait(client: httpx.AsyncClient, job_id: str) -> dict[str, Any]:
        answer = await client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=30"})
        job: dict[str, Any] = answer.json()
        return job

    async def scene() -> tuple[list[dict[str, Any]], int, int]:
        limits = httpx.Limits(max_connections=MANY)
        async with patient.AsyncClient(
            base_url=service.url, headers={"Authorization": header}, limits=limits, timeout=60
        ) as client:
            waiters = [asyncio.create_task(wait(client, job_ids[at % jobs])) for at in range(MANY)]
            await asyncio.to_thread(wait_until, lambda: service.waiting == MANY, seconds=30)
            await asyncio.sleep(1)
            before = len(service.statements)
            seconds = 2 * SAFETY_SECONDS + 1
            await asyncio.sleep(seconds)
            idle = len(service.statements) - before
            before = len(service.statements)
            for job_id in job_ids:
                await asyncio.to_thread(service.run, job_id)
            answers = await asyncio.gather(*waiters)
            return answers, idle, len(service.statements) - before

    answers, idle, at_the_end = asyncio.run(scene())
    assert {answer["state"] for answer in answers} == {"succeeded"}
    assert 1 <= idle <= 3  # the safety reading: one statement for all, every five seconds
    assert at_the_end <= 2 * jobs + 3  # a change is read once, however many wait for it
