import threading
from collections.abc import Callable
from typing import Any

import pytest
import redis

from tests.jobs.service import Service, body

API_FIELDS = [
    "id", "kind", "method", "state", "tags", "progress", "attempts", "created_at", "started_at", "finished_at",
    "spec", "result", "warnings", "release_id", "findings", "error", "estimate",
]  # fmt: skip


def test_a_job_is_accepted_with_the_envelope_of_the_contract(service: Service, redis_url: str) -> None:
    spec = body(service.dataset(), tags={"for": "test"}, seed=7)
    with service.client() as client:
        answer = client.post("/v1/anonymizations", json=spec)
        job = answer.json()
        assert answer.status_code == 202
        assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
        assert int(answer.headers["retry-after"]) >= 1
        assert list(job) == API_FIELDS
        assert job["kind"] == "anonymization"
        assert job["state"] == "queued"
        assert job["tags"] == {"for": "test"}
        assert job["progress"] == {"fraction": 0.0, "stage": "queued", "detail": None}
        assert (job["attempts"], job["result"], job["release_id"], job["error"]) == (0, None, None, None)
        assert job["created_at"].endswith("Z")
        assert job["spec"].items() >= (spec | {"seed": "given"}).items()
        assert job["spec"]["missing_policy"] == "refuse"
        assert client.get(answer.headers["location"]).json() == job
    row = service.row(job["id"])
    assert (row.seed, row.owner, row.queue, row.listed) == (7, "ada", "batch", True)
    assert row.requested_by.startswith("key_")
    with redis.Redis.from_url(redis_url) as broker:
        assert broker.llen("batch") == 1


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"method": "nonsense"}, "/method", "invalid"),
        ({"method": None}, "/method", "invalid"),
        ({"method": ["boxes"]}, "/method", "invalid"),
        ({"dataset_id": "ds_absent"}, "/dataset_id", "invalid"),
        ({"dataset_id": "ds_\x00"}, "/dataset_id", "invalid"),
        ({"dataset_id": 7}, "/dataset_id", "invalid"),
        ({"quasi_identifiers": ["age", "height"]}, "/quasi_identifiers/1", "invalid"),
        ({"k": 0}, "/k", "invalid"),
        ({"k": 101}, "/k", "invalid"),
        ({"surprise": 1}, "/surprise", "invalid"),
        ({"tags": {"a": 1}}, "/tags/a", "invalid"),
        ({"seed": -1}, "/seed", "invalid"),
    ],
)
def test_what_cannot_run_is_refused_at_its_pointer(
    shared: Service, change: dict[str, Any], pointer: str, code: str
) -> None:
    spec = body(shared.dataset()) | change
    with shared.client() as client:
        answer = client.post("/v1/anonymizations", json=spec)
        problem = answer.json()
        assert answer.status_code == 422, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert problem["type"] == f"/problems/{code}"
        assert pointer in [error["pointer"] for error in problem["errors"]]
        assert client.get("/v1/jobs").json()["items"] == []


def test_an_unknown_method_is_told_the_known_ones(service: Service) -> None:
    with service.client() as client:
        detail = client.post("/v1/anonymizations", json={"method": "nonsense"}).json()["errors"][0]["detail"]
    assert "boxes" in detail


@pytest.mark.parametrize("state", ["ingesting", "failed"])
def test_a_dataset_that_is_not_ready_is_refused(shared: Service, state: str) -> None:
    with shared.client() as client:
        answer = client.post("/v1/anonymizations", json=body(shared.dataset(state=state)))
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/dataset_id"]


def test_another_owners_dataset_is_as_absent_as_one_that_is_not_there(service: Service) -> None:
    with service.client("bea") as client:
        theirs = client.post("/v1/anonymizations", json=body(service.dataset("ada"))).json()
        absent = client.post("/v1/anonymizations", json=body("ds_absent")).json()
    assert theirs == absent
    assert theirs["errors"][0]["pointer"] == "/dataset_id"


@pytest.mark.parametrize("path", ["/v1/anonymizations", "/v1/audits"])
def test_asking_needs_the_scope(service: Service, path: str) -> None:
    with service.client("ada", "jobs:read") as client:
        assert client.post(path, json=body(service.dataset())).status_code == 403


@pytest.mark.parametrize(("sent", "status"), [(b"{", 400), (b"", 422), (b"[]", 422), (b"\xff", 400), (b"7", 422)])
def test_a_body_that_is_no_object_is_a_problem(shared: Service, sent: bytes, status: int) -> None:
    for path in ("/v1/anonymizations", "/v1/audits"):
        with shared.client() as client:
            answer = client.post(path, content=sent, headers={"content-type": "application/json"})
        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


def test_the_limit_of_unfinished_jobs_holds_under_concurrency(serve: Callable[..., Service]) -> None:
    first, second = serve(max_unfinished_jobs=5), serve(max_unfinished_jobs=5)
    dataset_id = first.dataset()
    answers = []

    def ask(service: Service) -> None:
        with service.client() as client:
            answers.append(client.post("/v1/anonymizations", json=body(dataset_id)))

    threads = [threading.Thread(target=ask, args=(service,)) for service in (first, second) * 8]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [202] * 5 + [429] * 11
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json()["type"] == "/problems/too-many-jobs"
    assert int(refused.headers["retry-after"]) >= 1
    with first.client("bea") as client:  # another owner has a limit of their own
        assert client.post("/v1/anonymizations", json=body(first.dataset("bea"))).status_code == 202
    accepted = next(answer.json()["id"] for answer in answers if answer.status_code == 202)
    first.run(accepted)
    with first.client() as client:  # an ended job makes room
        assert client.post("/v1/anonymizations", json=body(dataset_id)).status_code == 202


def test_an_idempotent_request_is_replayed_by_another_process(serve: Callable[..., Service]) -> None:
    first, second = serve(), serve()
    spec = body(first.dataset())
    headers = {"Idempotency-Key": "once"}
    with first.client() as one, second.client() as two:
        original = one.post("/v1/anonymizations", json=spec, headers=headers)
        replayed = two.post("/v1/anonymizations", json=spec, headers=headers)
        assert (original.status_code, replayed.status_code) == (202, 202)
        assert replayed.json() == original.json()
        assert replayed.headers["location"] == original.headers["location"]
        assert replayed.headers["idempotent-replayed"] == "true"
        assert "idempotent-replayed" not in original.headers
        other = two.post("/v1/anonymizations", json=spec | {"k": 6}, headers=headers)
        assert other.status_code == 422
        assert len(one.get("/v1/jobs").json()["items"]) == 1
    with second.client("bea") as stranger:  # keys belong to the owner
        theirs = stranger.post("/v1/anonymizations", json=body(second.dataset("bea")), headers=headers)
        assert "idempotent-replayed" not in theirs.headers


def test_many_idempotent_requests_at_once_make_one_job(serve: Callable[..., Service]) -> None:
    services = serve(), serve()
    spec = body(services[0].dataset())
    statuses = []

    def ask(service: Service) -> None:
        with service.client() as client:
            answer = client.post("/v1/anonymizations", json=spec, headers={"Idempotency-Key": "once"})
            statuses.append(answer.status_code)

    threads = [threading.Thread(target=ask, args=(service,)) for service in services * 6]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {202, 409}
    assert 202 in statuses
    with services[0].client() as client:
        assert len(client.get("/v1/jobs").json()["items"]) == 1


def test_a_refused_request_gives_its_idempotency_key_back(service: Service) -> None:
    headers = {"Idempotency-Key": "again"}
    with service.client() as client:
        dataset_id = service.dataset(state="ingesting")
        assert client.post("/v1/anonymizations", json=body(dataset_id), headers=headers).status_code == 422
        good = client.post("/v1/anonymizations", json=body(service.dataset()), headers=headers)
        assert good.status_code == 202


def test_the_status_of_a_waited_answer_is_the_one_that_is_replayed(service: Service) -> None:
    spec = body(service.dataset())
    headers = {"Idempotency-Key": "waited", "Prefer": "wait=20"}
    answers = []

    def ask() -> None:
        with service.client() as client:
            answers.append(client.post("/v1/anonymizations", json=spec, headers=headers))

    thread = threading.Thread(target=ask)
    thread.start()
    with service.client() as client:
        while not (items := client.get("/v1/jobs").json()["items"]):
            pass
        service.run(items[0]["id"])
        thread.join()
        replayed = client.post("/v1/anonymizations", json=spec, headers=headers)
    assert answers[0].status_code == 200
    assert answers[0].json()["state"] == "succeeded"
    assert answers[0].headers["preference-applied"] == "wait=20"
    assert (replayed.status_code, replayed.json()) == (200, answers[0].json())
    assert replayed.headers["location"] == answers[0].headers["location"]


def test_a_broker_that_is_down_costs_a_second_at_most(serve: Callable[..., Service], own_broker: Any) -> None:
    service = serve(redis_url=own_broker.tcp_url())
    dataset_id = service.dataset()
    with service.client() as client:
        answers = [client.post("/v1/anonymizations", json=body(dataset_id)) for _ in range(3)]
        with_it = max(answer.elapsed.total_seconds() for answer in answers)
        own_broker.stop()
        for _ in range(3):
            answer = client.post("/v1/anonymizations", json=body(dataset_id))
            assert answer.status_code == 202
            assert answer.elapsed.total_seconds() < with_it + 1.5
        own_broker.start()
        service.submit(client, dataset_id)
    with redis.Redis.from_url(own_broker.tcp_url()) as broker:
        assert broker.llen("batch") == 1
