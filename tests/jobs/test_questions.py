"""Questions to releases: unlisted jobs that are waited for, and whose outcome is the answer."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from app.contracts.jobs import JobState
from app.db.repositories import expiry
from app.db.tables.releases import release
from tests.jobs.many import SECONDS, published
from tests.jobs.service import Service
from tests.servers import wait_until

BODY = {"queries": [{"age": [30, 40]}]}
ASYNC = {"Prefer": "respond-async"}


@pytest.fixture
def release_id(service: Service) -> str:
    return published(service, service.dataset())[1]


def ask(service: Service, release_id: str, headers: dict[str, str] | None = None) -> httpx.Response:
    with service.client() as client:
        return client.post(f"/v1/releases/{release_id}/count", json=BODY, headers=headers)


def unfinished(service: Service) -> str | None:
    statement = "SELECT id FROM job WHERE kind = 'query' AND finished_at IS NULL"
    with service.database.read() as connection:
        return connection.exec_driver_sql(statement).scalar_one_or_none()


class Asking:
    """Somebody who waits for an answer, in a thread of their own."""

    def __init__(self, service: Service, release_id: str) -> None:
        self.answers: list[httpx.Response] = []
        self._thread = threading.Thread(target=lambda: self.answers.append(ask(service, release_id)))
        self._thread.start()
        wait_until(lambda: service.waiting == 1, seconds=SECONDS)
        job_id = unfinished(service)
        assert job_id is not None
        self.job_id = job_id

    def answer(self) -> httpx.Response:
        self._thread.join(SECONDS)
        return self.answers[0]


def test_what_was_computed_is_the_answer(service: Service, release_id: str) -> None:
    asking = Asking(service, release_id)
    row = service.row(asking.job_id)
    assert (row.kind, row.method, row.queue, row.listed) == ("query", "count", "interactive", False)
    assert row.spec["queries"] == [{"age": [30.0, 40.0]}]
    claimed = service.claim(asking.job_id)
    assert claimed.inputs.releases["release_id"].id == release_id
    service.finish(claimed, whole=b'{"counts":[{"estimate":3.0}]}')
    answer = asking.answer()
    assert (answer.status_code, answer.content) == (200, b'{"counts":[{"estimate":3.0}]}')


def test_a_job_that_fails_answers_its_problem_with_its_status(service: Service, release_id: str) -> None:
    asking = Asking(service, release_id)
    service.run(asking.job_id, JobState.FAILED)
    answer = asking.answer()
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["instance"] == f"/v1/releases/{release_id}/count"
    assert answer.json()["type"] == "/problems/x"


def test_a_question_that_is_cancelled_is_a_conflict(service: Service, release_id: str) -> None:
    asking = Asking(service, release_id)
    with service.client() as client:
        assert client.post(f"/v1/jobs/{asking.job_id}/cancel").status_code == 202
    assert asking.answer().status_code == 409


@pytest.mark.parametrize("headers", [ASYNC, {"Prefer": "wait=0"}, {"Prefer": "wait=1"}])
def test_past_the_wait_the_job_is_the_answer(service: Service, release_id: str, headers: dict[str, str]) -> None:
    answer = ask(service, release_id, headers)
    job: dict[str, Any] = answer.json()
    assert (answer.status_code, job["state"], job["kind"]) == (202, "queued", "query")
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    with service.client() as client:
        assert client.get(answer.headers["location"]).json() == job
        assert job["id"] not in [one["id"] for one in client.get("/v1/jobs").json()["items"]]
    assert answer.headers["preference-applied"] == headers["Prefer"]


def test_questions_are_forgotten_after_an_hour(service: Service, release_id: str) -> None:
    posted_at = datetime.now(UTC)
    old, young = (ask(service, release_id, ASYNC).json()["id"] for _ in range(2))
    assert abs(service.row(old).expires_at - posted_at - timedelta(hours=1)) < timedelta(minutes=1)
    service.alter(old, expires_at=posted_at)
    for job_id in (old, young):
        service.finish(service.claim(job_id), whole=b"{}")
    with service.database.unit_of_work() as unit:
        assert expiry.remove_expired_jobs(unit.connection) == 1
    with service.client() as client:
        assert client.get(f"/v1/jobs/{old}").status_code == 404
        assert client.get(f"/v1/jobs/{young}/result").json() == {}
        assert client.delete(f"/v1/releases/{release_id}").status_code == 204


def test_a_release_that_is_being_asked_is_deleted_a_moment_later(service: Service, release_id: str) -> None:
    job_id = ask(service, release_id, ASYNC).json()["id"]
    with service.client() as client:
        refused = client.delete(f"/v1/releases/{release_id}")
        assert (refused.status_code, refused.json()["type"]) == (409, "/problems/release-in-use")
        assert job_id not in refused.text, "who asks is not told"
        assert int(refused.headers["retry-after"]) >= 1
        service.run(job_id)
        assert client.delete(f"/v1/releases/{release_id}").status_code == 204
    assert ask(service, release_id).status_code == 404


def test_asking_takes_the_scope_of_reading_releases(service: Service, release_id: str) -> None:
    path = f"/v1/releases/{release_id}/count"
    with service.client("ada", "releases:read") as reader, service.client("ada", "jobs:write", "jobs:read") as other:
        assert reader.post(path, json=BODY, headers=ASYNC).status_code == 202
        assert other.post(path, json=BODY, headers=ASYNC).status_code == 403
    with service.client("bea") as bea:
        assert bea.post(path, json=BODY).status_code == 404


def test_whoever_reads_a_release_asks_it_in_a_job_of_their_own(service: Service, release_id: str) -> None:
    path = f"/v1/releases/{release_id}"
    with service.client() as keeper, service.client("bea", "releases:read") as bea:
        for readers in (["bea"], "public"):
            keeper.patch(path, json={"readers": readers})
            answer = bea.post(f"{path}/count", json=BODY, headers=ASYNC)
            assert answer.status_code == 202, answer.text
            assert service.row(answer.json()["id"]).owner == "bea", "it counts against the asker's rate and limit"
            service.finish(service.claim(answer.json()["id"]), whole=b'{"counts":[]}')
            assert bea.get(f"/v1/jobs/{answer.json()['id']}/result").json() == {"counts": []}
        audit = {"method": "linkage", "release_id": release_id}
        with service.client("bea") as admin:
            refused = admin.post("/v1/audits", json=audit)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/release_id")
        keeper.post(f"{path}/withdraw", json={"reason": "wrong unit"})
        assert bea.post(f"{path}/count", json=BODY, headers=ASYNC).status_code == 404


def test_whoever_asks_can_read_the_answer_and_no_other_job(service: Service, release_id: str) -> None:
    question = ask(service, release_id, ASYNC).json()["id"]
    service.run(question)
    with service.client() as keeper:
        audit = keeper.get(f"/v1/releases/{release_id}").json()["job_id"]
        answer = keeper.get(f"/v1/jobs/{question}/result").json()
    with service.client("ada", "releases:read") as reader:
        assert reader.get(f"/v1/jobs/{question}").json()["state"] == "succeeded"
        assert reader.get(f"/v1/jobs/{question}/result").json() == answer
        assert reader.get(f"/v1/jobs/{question}/events").status_code == 200
        for other in (audit, "job_absent"):
            for part in ("", "/result", "/events", "/provenance"):
                refused = reader.get(f"/v1/jobs/{other}{part}")
                assert (refused.status_code, refused.json()["type"]) == (403, "/problems/forbidden")
        assert reader.get("/v1/jobs").status_code == 403
    with service.client("bea", "releases:read") as bea:
        assert bea.get(f"/v1/jobs/{question}").status_code == 403
    with service.client("ada", "datasets:read") as other:
        assert other.get(f"/v1/jobs/{question}").status_code == 403


def enlarge(service: Service, release_id: str, *, rows: int) -> None:
    """The release has so many rows, as far as its own row says."""
    with service.database.unit_of_work() as unit:
        unit.connection.execute(update(release).where(release.c.id == release_id).values(rows=rows))


def regressions(many: int) -> dict[str, Any]:
    """Lines, each read at another place: what is asked twice is computed once."""
    return {"statistics": [{"kind": "prediction", "of": ["age", "hours"], "at": [at]} for at in range(many)]}


def test_a_long_question_is_a_job_of_its_owner_and_counts_as_one(serve: Callable[..., Service]) -> None:
    """Small ones, answered at once, are not counted among what may be taken in a day."""
    service = serve(max_owner_cpu_seconds=100.0)
    _, release_id = published(service, service.dataset())
    path = f"/v1/releases/{release_id}"
    with service.client() as client:
        small = [client.post(f"{path}/count", json=BODY, headers=ASYNC).json() for _ in range(3)]
        used = client.get("/v1/usage").json()["quotas"]
        enlarge(service, release_id, rows=1_000_000)
        long = client.post(f"{path}/statistics", json=regressions(2), headers=ASYNC)
        assert long.status_code == 202, long.text
        assert long.headers["location"] == f"/v1/jobs/{long.json()['id']}"
        assert all(0 < one["estimate"]["cpu_seconds"] < 1 for one in small)
        assert 5 < long.json()["estimate"]["cpu_seconds"] < 100
        assert {service.row(one["id"]).queue for one in small} == {"interactive"}
        assert service.row(long.json()["id"]).queue == "batch"
        more = client.get("/v1/usage").json()["quotas"]
        before, after = (next(one["used"] for one in each if one["resource"] == "cpu_seconds") for each in (used, more))
        assert after - before == pytest.approx(long.json()["estimate"]["cpu_seconds"])
        refused = client.post(f"{path}/statistics", json=regressions(2), headers=ASYNC)
        assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-much-work")
        assert client.post(f"{path}/count", json=BODY, headers=ASYNC).status_code == 202


@pytest.mark.parametrize("scopes", [("admin",), ("releases:read",)])
def test_what_even_a_job_could_not_do_is_refused_with_what_would_fit(
    service: Service, release_id: str, scopes: tuple[str, ...]
) -> None:
    enlarge(service, release_id, rows=10_000_000)
    path = f"/v1/releases/{release_id}/statistics"
    with service.client("ada", *scopes) as client:
        refused = client.post(path, json=regressions(100), headers=ASYNC)
        assert (refused.status_code, refused.json()["type"]) == (422, "/problems/job-too-large")
        detail = refused.json()["detail"]
        assert "question is expected to need" in detail
        assert "a job may take 3,600 s" in detail
        fitting = int(detail.split("What would fit: ")[1].split(" of its")[0])
        assert 0 < fitting < 100
        assert client.post(path, json=regressions(fitting), headers=ASYNC).status_code == 202
        assert client.post(path, json=regressions(fitting + 1), headers=ASYNC).status_code in (422, 429)


def test_a_page_of_a_public_release_takes_nothing_from_its_owners_day(serve: Callable[..., Service]) -> None:
    service = serve(max_owner_cpu_seconds=1.0)
    made_by, release_id = published(service, service.dataset())
    service.store_provenance(made_by, {})
    with service.client() as client:
        client.patch(f"/v1/releases/{release_id}", json={"readers": "public"})
        enlarge(service, release_id, rows=100_000_000)
        page = httpx.get(
            f"{service.url}/v1/releases/{release_id}/report", headers={"Prefer": "wait=0"}, timeout=SECONDS
        )
        assert page.status_code == 503
        job_id = unfinished(service)
        assert job_id is not None
        assert service.row(job_id).queue == "batch"
        assert next(
            one["used"] for one in client.get("/v1/usage").json()["quotas"] if one["resource"] == "cpu_seconds"
        ) < 1.0  # fmt: skip
