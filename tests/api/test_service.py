"""Alive, ready, and the numbers: what is missing is named, what is counted is right and cheap."""

import base64
import hashlib
import re
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event, text

from app.db.repositories import workers
from app.db.session import Database
from app.main import create_app
from tests import patient
from tests.api.conftest import Api

JOB = text(
    "INSERT INTO job (id, owner, kind, method, queue, state, spec, started_at, finished_at)"
    " VALUES (:id, 'alice', 'audit', :method, :queue, :state, '{}',"
    " CASE WHEN CAST(:ran AS float) IS NULL THEN NULL ELSE now() - :ago * interval '1 s' - :ran * interval '1 s' END,"
    " CASE WHEN CAST(:ran AS float) IS NULL THEN NULL ELSE now() - :ago * interval '1 s' END)"
)


@pytest.fixture
def add_job(api: Api) -> Callable[..., None]:
    count = iter(range(1_000))

    def add(
        state: str, *, ran: float | None = None, ago: float = 0, method: str = "boxes", queue: str = "batch"
    ) -> None:
        with api.database.unit_of_work() as unit:
            values = {
                "id": f"job_{next(count)}",
                "method": method,
                "queue": queue,
                "state": state,
                "ran": ran,
                "ago": ago,
            }
            unit.connection.execute(JOB, values)

    return add


def see(database: Database, *queues: str) -> None:
    with database.unit_of_work() as unit:
        for queue in queues:
            sighting = workers.Sighting(
                id=f"w-{queue}", queue=queue, host="h", pid=7, rss_bytes=123_000_000, concurrency=1
            )
            workers.seen(unit.connection, sighting=sighting)


def numbers(url: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    answer = patient.get(f"{url}/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def labelled(**labels: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


def readiness(url: str, unavailable: list[str]) -> httpx.Response:
    """What /readyz answers once it names what is unavailable and nothing else.

    Its parts have a second or two each, which a machine that is busy with other tests may not keep: it is asked again.
    """
    deadline = time.monotonic() + patient.SECONDS
    answer = patient.get(f"{url}/readyz")
    while answer.json().get("unavailable", []) != unavailable and time.monotonic() < deadline:
        time.sleep(0.2)
        answer = patient.get(f"{url}/readyz")
    assert answer.json().get("unavailable", []) == unavailable
    return answer


def test_alive_asks_nobody(start: Any, own_postgres: Any) -> None:
    own_postgres.stop()
    with start(database_url=own_postgres.url("postgres")) as api:
        assert patient.get(f"{api.url}/healthz").json() == {"status": "ok"}


def test_ready_needs_a_worker_on_each_queue(start: Any) -> None:
    with start() as api:
        refused = readiness(api.url, ["worker on queue interactive", "worker on queue batch"])
        assert refused.status_code == 503
        assert refused.headers["content-type"] == "application/problem+json"
        see(api.database, "interactive")
    with start() as api:
        readiness(api.url, ["worker on queue batch"])
        see(api.database, "batch")
    with start() as api:
        assert readiness(api.url, []).json() == {"status": "ready"}
        with api.database.unit_of_work() as unit:
            unit.connection.execute(text("UPDATE worker SET seen_at = now() - interval '1 h' WHERE queue = 'batch'"))
    with start() as api:
        readiness(api.url, ["worker on queue batch"])
        with api.database.unit_of_work() as unit:
            assert workers.forget_silent(unit.connection, older_than_seconds=60) == 1
            workers.forget(unit.connection, worker_id="w-interactive")
            assert workers.recent(unit.connection, within_seconds=3600) == []


def test_ready_names_broker_and_database(start: Any, own_postgres: Any, own_broker: Any) -> None:
    from app.db.migrate import upgrade

    upgrade(own_postgres.url("postgres"))
    with start(database_url=own_postgres.url("postgres"), redis_url=own_broker.tcp_url()) as api:
        see(api.database, "interactive", "batch")
        assert readiness(api.url, []).status_code == 200
        own_broker.stop()
        own_postgres.stop()
        api.app.state.readiness._known = (float("-inf"), [])
        down = patient.get(f"{api.url}/readyz", timeout=10)
        assert down.status_code == 503
        assert down.json()["unavailable"] == ["database", "broker"]


def test_ready_names_the_storage(start: Any, tmp_path: Any) -> None:
    with start() as api:
        see(api.database, "interactive", "batch")
        folder = tmp_path / "storage"
        for left in sorted(folder.rglob("*"), reverse=True):
            left.rmdir()
        folder.rmdir()
        folder.write_text("a file where the folder was")
        readiness(api.url, ["storage"])


def test_requests_are_counted_by_template(api: Api) -> None:
    with api.client(api.make_key()) as client:
        for job in ("job_a", "job_b"):
            client.get(f"/v1/jobs/{job}?planted=4711")
        client.get("/v1/planted")
        client.request("PROPFIND", "/v1/planted")
    metrics = numbers(api.url)
    template = "/v1/jobs/{job_id}"
    assert metrics["surebox_requests_total", labelled(route=template, method="GET", status="404")] == 2
    assert metrics["surebox_request_seconds_count", labelled(route=template, method="GET")] == 2
    assert metrics["surebox_requests_total", labelled(route="unmatched", method="GET", status="404")] == 1
    assert metrics["surebox_requests_total", labelled(route="unmatched", method="other", status="404")] == 1
    assert metrics["process_resident_memory_bytes", ()] > 10_000_000
    assert "planted" not in str(metrics)


def test_jobs_queues_seconds_and_workers_are_read_from_the_database(api: Api, add_job: Callable[..., None]) -> None:
    add_job("queued")
    add_job("queued", queue="interactive", method="ingest")
    add_job("running")
    for ago in (0, 10, 100, 10_000):
        add_job("succeeded", ran=2.0, ago=ago)
    add_job("failed", ran=400.0, ago=50)
    add_job("cancelled", ran=0.0)
    see(api.database, "batch")
    for _ in range(3):  # ended jobs are folded into totals once
        metrics = numbers(api.url)
        assert metrics["surebox_jobs", labelled(method="boxes", state="queued")] == 1
        assert metrics["surebox_jobs", labelled(method="boxes", state="running")] == 1
        assert metrics["surebox_queue_depth", labelled(queue="interactive")] == 1
        assert metrics["surebox_queue_depth", labelled(queue="batch")] == 1
        succeeded = {"method": "boxes", "state": "succeeded"}
        assert metrics["surebox_jobs_finished_total", labelled(**succeeded)] == 4
        assert metrics["surebox_job_seconds_count", labelled(**succeeded)] == 4
        assert metrics["surebox_job_seconds_sum", labelled(**succeeded)] == pytest.approx(8.0)
        assert metrics["surebox_job_seconds_bucket", labelled(**succeeded, le="1.0")] == 0
        assert metrics["surebox_job_seconds_bucket", labelled(**succeeded, le="2.5")] == 4
        assert metrics["surebox_jobs_finished_total", labelled(method="boxes", state="failed")] == 1
        assert metrics["surebox_jobs_finished_total", labelled(method="boxes", state="cancelled")] == 1
        assert metrics["surebox_workers", labelled(queue="batch")] == 1
        assert metrics["surebox_workers", labelled(queue="interactive")] == 0
        memory = metrics["surebox_worker_resident_memory_bytes", labelled(queue="batch", worker="w-batch")]
        assert memory == 123_000_000
    add_job("succeeded", ran=2.0, ago=5)
    assert numbers(api.url)["surebox_jobs_finished_total", labelled(**succeeded)] == 5


def test_a_scrape_reads_history_once(api: Api, add_job: Callable[..., None]) -> None:
    spans: list[tuple[datetime, datetime]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "width_bucket" in statement:
            spans.append(tuple(value for value in parameters.values() if isinstance(value, datetime)))

    event.listen(api.app.state.resources.database.engine, "before_cursor_execute", note)
    add_job("succeeded", ran=1.0, ago=1_000)
    numbers(api.url)
    numbers(api.url)
    first, first_young, second, _ = spans
    assert len(first) == 1, "all history, up to half a minute ago"
    assert len(first_young) == 1
    assert second[0] == first[0], "goes on where the first stopped"
    assert second[1] - second[0] < timedelta(seconds=10)


def test_without_a_database_the_process_still_tells_its_numbers(start: Any, own_postgres: Any) -> None:
    own_postgres.stop()
    with start(database_url=own_postgres.url("postgres")) as api:
        metrics = numbers(api.url)
        assert metrics["surebox_database_up", ()] == 0
        assert ("surebox_queue_depth", labelled(queue="batch")) not in metrics


def test_two_apps_of_one_process_count_apart(start: Any, make_settings: Any) -> None:
    other = create_app(make_settings())
    with start() as api:
        patient.get(f"{api.url}/nope")
        assert api.app.state.metrics.registry is not other.state.metrics.registry


def test_the_start_has_a_door_each_for_people_and_for_clients(api: Api) -> None:
    browser = patient.get(f"{api.url}/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert browser.headers["content-type"] == "text/html; charset=utf-8"
    (policy,) = browser.headers.get_list("content-security-policy")
    (style,) = re.findall("<style>(.*?)</style>", browser.text)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    doors = re.findall('href="([^"]+)"', browser.text)
    body = patient.get(f"{api.url}/").json()
    assert [body["guide"], body["docs"], body["api"], body["health"]] == doors
    assert body["name"] == "Surebox"
    assert [patient.get(api.url + door).status_code for door in doors[1:]] == [200, 200, 503]
    assert patient.get(f"{api.url}/").headers["vary"] == browser.headers["vary"] == "Accept"
