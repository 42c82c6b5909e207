from datetime import UTC, datetime, timedelta

import pytest

from app.contracts.jobs import JobState
from tests.jobs.service import Service

PATHS = ["", "/result", "/provenance", "/events"]


@pytest.mark.parametrize("job_id", ["job_absent", "job_%00", "%F0%9F%90%B1", "x" * 5000])
def test_an_unknown_job_is_not_found(shared: Service, job_id: str) -> None:
    with shared.client() as client:
        answers = [client.get(f"/v1/jobs/{job_id}{path}") for path in PATHS]
        answers.append(client.post(f"/v1/jobs/{job_id}/cancel"))
    assert {answer.status_code for answer in answers} == {404}
    assert {answer.headers["content-type"] for answer in answers} == {"application/problem+json"}


def test_another_owners_job_is_as_absent_as_one_that_is_not_there(service: Service) -> None:
    with service.client("ada") as ada, service.client("bea") as bea:
        job_id = service.submit(ada, service.dataset("ada"))
        for path in PATHS:
            theirs, absent = bea.get(f"/v1/jobs/{job_id}{path}"), bea.get(f"/v1/jobs/job_absent{path}")
            assert theirs.status_code == 404
            assert theirs.text.replace(job_id, "job_absent") == absent.text
        assert bea.post(f"/v1/jobs/{job_id}/cancel").status_code == 404
        assert bea.get("/v1/jobs").json()["items"] == []
        assert ada.get(f"/v1/jobs/{job_id}").json()["state"] == "queued"


def test_reading_needs_the_scope(service: Service) -> None:
    with service.client() as ada, service.client("ada", "jobs:write") as writer:
        job_id = service.submit(ada, service.dataset())
        for path in PATHS:
            assert writer.get(f"/v1/jobs/{job_id}{path}").status_code == 403
        assert writer.get("/v1/jobs").status_code == 403
    with service.client("ada", "jobs:read") as reader:
        assert reader.post(f"/v1/jobs/{job_id}/cancel").status_code == 403


def test_a_job_is_told_as_it_goes(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        claimed = service.claim(job_id)
        service.progress(claimed, 0.25)
        running = client.get(f"/v1/jobs/{job_id}").json()
        assert (running["state"], running["attempts"]) == ("running", 1)
        assert running["progress"] == {"fraction": 0.25, "stage": "partition", "detail": None}
        assert running["started_at"] >= running["created_at"]
        service.release_claim(claimed)
        queued = client.get(f"/v1/jobs/{job_id}").json()
        assert (queued["state"], queued["attempts"]) == ("queued", 0)
        assert queued["progress"] == {"fraction": 0.0, "stage": "queued", "detail": None}
        service.run(job_id)
        ended = client.get(f"/v1/jobs/{job_id}").json()
        assert (ended["state"], ended["attempts"], ended["result"]) == ("succeeded", 1, {"box_count": 3})
        assert ended["progress"] == {"fraction": 1.0, "stage": "done", "detail": None}
        assert ended["finished_at"] >= ended["started_at"]


def test_a_failed_job_tells_its_problem(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        service.run(job_id, JobState.FAILED)
        ended = client.get(f"/v1/jobs/{job_id}").json()
        assert ended["state"] == "failed"
        assert ended["error"] == {"type": "/problems/x", "title": "x", "status": 422}
        assert ended["result"] is None
        for path in ("result", "provenance"):
            answer = client.get(f"/v1/jobs/{job_id}/{path}")
            assert (answer.status_code, answer.json()["type"]) == (409, "/problems/job-without-result")


def test_a_result_is_served_as_the_bytes_that_were_stored(service: Service) -> None:
    whole = b'{"box_count":  3, "statistics": []}'
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        claimed = service.claim(job_id)
        for path in ("result", "provenance"):
            early = client.get(f"/v1/jobs/{job_id}/{path}")
            assert (early.status_code, early.json()["type"]) == (409, "/problems/job-unfinished")
        service.finish(claimed, whole=whole)
        answer = client.get(f"/v1/jobs/{job_id}/result")
        assert (answer.status_code, answer.content) == (200, whole)
        assert answer.headers["content-type"] == "application/json"
        tag = answer.headers["etag"]
        assert tag == f'"{"ab" * 32}"'
        for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = client.get(f"/v1/jobs/{job_id}/result", headers={"If-None-Match": known})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        other = client.get(f"/v1/jobs/{job_id}/result", headers={"If-None-Match": '"other"'})
        assert other.status_code == 200


def test_a_large_result_is_served_from_storage(service: Service) -> None:
    whole = b'{"x": "' + b"y" * 3_000_000 + b'"}'
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        with service.app.state.resources.storage.writer("jobs/x/result.json") as writer:
            writer.write(whole)
        service.finish(service.claim(job_id), whole=b"{}")
        service.store_result(job_id, key="jobs/x/result.json", size=len(whole))
        answer = client.get(f"/v1/jobs/{job_id}/result")
        assert answer.content == whole
        assert answer.headers["content-length"] == str(len(whole))


def test_whole_provenance_is_there_once_the_job_has_succeeded(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        service.run(job_id)
        service.store_provenance(job_id, {"entity": {"x": {"secret": 1}}})
        answer = client.get(f"/v1/jobs/{job_id}/provenance")
        assert answer.json() == {"entity": {"x": {"secret": 1}}}
        known = {"If-None-Match": answer.headers["etag"]}
        assert client.get(f"/v1/jobs/{job_id}/provenance", headers=known).status_code == 304


def test_an_unlisted_job_is_read_and_cancelled_by_id_but_in_no_list(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        service.alter(job_id, listed=False)
        assert client.get("/v1/jobs").json()["items"] == []
        assert client.get("/v1/jobs", params={"state": "queued"}).json()["items"] == []
        assert client.get(f"/v1/jobs/{job_id}").status_code == 200
        assert client.post(f"/v1/jobs/{job_id}/cancel").json()["state"] == "cancelled"


def test_the_job_that_reads_an_upload_is_nobodys_to_see(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        service.alter(job_id, kind="ingest", listed=False)
        assert client.get(f"/v1/jobs/{job_id}").status_code == 404
        assert client.post(f"/v1/jobs/{job_id}/cancel").status_code == 404


def test_cancelling_a_queued_job_ends_it_at_once(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        answer = client.post(f"/v1/jobs/{job_id}/cancel")
        assert answer.status_code == 202
        ended = answer.json()
        assert ended["state"] == "cancelled"
        assert ended["finished_at"] is not None
        assert client.post(f"/v1/jobs/{job_id}/cancel").status_code == 200
        assert client.get(f"/v1/jobs/{job_id}/result").status_code == 409
    with pytest.raises(AssertionError):
        service.claim(job_id)


def test_cancelling_a_running_job_asks_its_worker_to_stop(service: Service) -> None:
    with service.client() as client:
        job_id = service.submit(client, service.dataset())
        claimed = service.claim(job_id)
        answers = [client.post(f"/v1/jobs/{job_id}/cancel") for _ in range(2)]
        assert [(answer.status_code, answer.json()["state"]) for answer in answers] == [(202, "running")] * 2
        assert service.row(job_id).cancel_requested_at is not None
        service.finish(claimed, JobState.CANCELLED)
        assert client.get(f"/v1/jobs/{job_id}").json()["state"] == "cancelled"


@pytest.mark.parametrize("state", [JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED])
def test_a_finished_job_is_returned_unchanged_when_cancelled(shared: Service, state: JobState) -> None:
    with shared.client() as client:
        job_id = shared.submit(client, shared.dataset())
        shared.run(job_id, state)
        before = client.get(f"/v1/jobs/{job_id}").json()
        answer = client.post(f"/v1/jobs/{job_id}/cancel")
        assert (answer.status_code, answer.json()) == (200, before)


def test_lists_are_filtered(service: Service) -> None:
    with service.client() as client:
        one, other = service.dataset(), service.dataset()
        first = service.submit(client, one, tags={"for": "a:b", "on": "x"})
        second = service.submit(client, other, tags={"for": "c"})
        third = service.submit(client, one)
        service.run(second)
        service.claim(third)
        service.alter(first, created_at=datetime.now(UTC) - timedelta(days=2))
        cases: list[tuple[object, list[str]]] = [
            ({}, [third, second, first]),
            ({"state": "queued"}, [first]),
            ({"state": ["queued", "succeeded"]}, [second, first]),
            ({"state": "failed"}, []),
            ({"method": "boxes"}, [third, second, first]),
            ({"method": "swaps"}, []),
            ({"kind": "anonymization"}, [third, second, first]),
            ({"kind": "audit"}, []),
            ({"dataset_id": one}, [third, first]),
            ({"dataset_id": "ds_absent"}, []),
            ({"created_after": (datetime.now(UTC) - timedelta(days=1)).isoformat()}, [third, second]),
            ({"tag": "for:a:b"}, [first]),
            ({"tag": ["for:a:b", "on:x"]}, [first]),
            ({"tag": ["for:c", "on:x"]}, []),
            ({"tag": "for:"}, []),
            ({"state": "succeeded", "dataset_id": other, "tag": "for:c"}, [second]),
        ]
        for params, wanted in cases:
            answer = client.get("/v1/jobs", params=params)  # type: ignore[arg-type]
            assert [item["id"] for item in answer.json()["items"]] == wanted, params
            assert answer.json()["next_cursor"] is None
        items = client.get("/v1/jobs").json()["items"]
        assert items == [client.get(f"/v1/jobs/{item['id']}").json() for item in items]


@pytest.mark.parametrize(
    "query",
    ["state=done", "kind=ingest", "created_after=yesterday", "created_after=2026-01-01T00:00:00", "tag=x", "limit=0",
     "limit=201", "cursor=x", "method=%00", "dataset_id=%00", "label=%00:x"],
)  # fmt: skip
def test_a_filter_that_cannot_be_understood_is_a_problem(shared: Service, query: str) -> None:
    with shared.client() as client:
        answer = client.get(f"/v1/jobs?{query}")
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"]


def test_pages_hold_every_job_once_although_times_are_equal_and_jobs_arrive(service: Service) -> None:
    with service.client() as client:
        dataset_id = service.dataset()
        made = {service.submit(client, dataset_id) for _ in range(7)}
        moment = datetime(2026, 1, 1, tzinfo=UTC)
        for job_id in made:
            service.alter(job_id, created_at=moment)
        seen: list[str] = []
        cursor = None
        while True:
            params = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
            page = client.get("/v1/jobs", params=params).json()
            seen += [item["id"] for item in page["items"]]
            assert len(page["items"]) <= 2
            cursor = page["next_cursor"]
            if cursor is None:
                break
            service.submit(client, dataset_id)
        assert len(seen) == len(made) == len(set(seen))
        assert set(seen) == made
