"""Lists, other owners, scopes, and deletion that really removes."""

from collections.abc import Callable
from typing import Any

import pytest

from app.contracts.datasets import FileFormat, ReadOptions
from app.jobs.submit import Submission, submit
from app.methods.ingest.spec import IngestSpec
from app.queue import JobQueue
from app.settings import Settings
from tests.datasets.conftest import Uploads

BODY = b"a,b\n1,2\n3,4\n"


def test_lists_are_newest_first_in_pages_and_can_be_narrowed(uploads: Uploads) -> None:
    made = [uploads.post(BODY, f"n{i}", params={"tag": [f"even:{i % 2 == 0}", f"i:{i}"]}).json() for i in range(5)]
    ids = [each["id"] for each in reversed(made)]
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = uploads.client.get("/v1/datasets", params={"limit": "2"} | cursor).json()
        seen += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == ids

    def listed(**params: Any) -> list[str]:
        return [item["name"] for item in uploads.client.get("/v1/datasets", params=params).json()["items"]]

    assert listed(tag="even:True") == ["n4", "n2", "n0"]
    assert listed(tag=["even:True", "i:2"]) == ["n2"]
    assert listed(created_after=made[2]["created_at"]) == ["n4", "n3"]
    assert listed(state="failed") == []
    assert len(listed(state=["failed", "ready"])) == 5


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "cursor=x", "state=odd", "created_after=yesterday", "tag=x"])
def test_lists_refuse_what_they_do_not_know(uploads: Uploads, query: str) -> None:
    answer = uploads.client.get(f"/v1/datasets?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "?" + query.partition("=")[0]


def test_another_owner_sees_nothing(uploads: Uploads, make_uploads: Callable[..., Uploads]) -> None:
    location = uploads.post(BODY).headers["location"]
    other = make_uploads()
    assert other.client.get(location).status_code == 404
    assert other.client.delete(location).status_code == 404
    assert other.client.get("/v1/datasets").json()["items"] == []
    assert uploads.client.get(location).status_code == 200


def test_scopes(make_uploads: Callable[..., Uploads]) -> None:
    reader = make_uploads(owner="scoped", scopes=("datasets:read",))
    writer = make_uploads(owner="scoped", scopes=("datasets:write",))
    assert reader.post(BODY).status_code == 403
    location = writer.post(BODY).headers["location"]
    assert writer.client.get(location).status_code == 403
    assert reader.client.get(location).status_code == 200
    assert reader.client.delete(location).status_code == 403
    assert writer.client.delete(location).status_code == 204
    reader.processes.wait(lambda: reader.staged() == [])


def test_deleted_is_gone_for_real(uploads: Uploads) -> None:
    answer = uploads.post(b"planted_column\n1\n", "planted name", params={"tag": "planted:tag"})
    location = answer.headers["location"]
    assert uploads.stored(answer.json()["id"])
    assert uploads.client.delete(location).status_code == 204
    assert uploads.stored(answer.json()["id"]) == []
    assert uploads.client.get(location).status_code == 404
    assert uploads.client.delete(location).status_code == 404
    assert uploads.client.get("/v1/datasets").json()["items"] == []
    with uploads.processes.database.read() as connection:
        row = connection.exec_driver_sql(
            "SELECT to_jsonb(dataset) #>> '{}' FROM dataset WHERE id = %s", (answer.json()["id"],)
        ).scalar_one()
    assert "planted" not in row


@pytest.mark.parametrize("dataset_id", ["ds_absent", "%00", "ds_%F0%9F%92%A9", "x" * 3000])
def test_ids_that_name_nothing_are_404(uploads: Uploads, dataset_id: str) -> None:
    assert uploads.client.get(f"/v1/datasets/{dataset_id}").status_code == 404
    assert uploads.client.delete(f"/v1/datasets/{dataset_id}").status_code == 404


def test_a_dataset_in_use_is_not_deleted(uploads: Uploads) -> None:
    answer = uploads.post(BODY)
    dataset_id = answer.json()["id"]
    database = uploads.processes.database
    with database.read() as connection:
        owner = connection.exec_driver_sql("SELECT owner FROM dataset WHERE id = %s", (dataset_id,)).scalar_one()
    spec = IngestSpec(
        dataset_id=dataset_id, options=ReadOptions(format=FileFormat.CSV), staged_key="staging/x", bytes=1
    )
    settings = Settings(redis_url=uploads.processes.settings["REDIS_URL"])
    with database.unit_of_work() as unit:
        submission = Submission(
            owner=owner, key_id=None, spec=spec, kind="anonymization", queue=spec.queue,
        )  # fmt: skip
        job_id = submit(unit, submission=submission, broker=JobQueue(settings), max_unfinished=10)
        unknown = "UPDATE job SET spec_version = 99 WHERE id = %s"  # to every worker: it stays queued
        unit.connection.exec_driver_sql(unknown, (job_id,))
    refused = uploads.client.delete(answer.headers["location"])
    assert refused.status_code == 409
    assert refused.json()["type"] == "/problems/dataset-in-use"
    assert job_id in refused.json()["detail"]
    assert uploads.client.post(f"/v1/jobs/{job_id}/cancel").status_code == 202
    assert uploads.client.delete(answer.headers["location"]).status_code == 204


def test_a_dataset_being_read_is_not_deleted(uploads: Uploads) -> None:
    answer = uploads.post(BODY * 200_000, headers={"Prefer": "respond-async"})
    refused = uploads.client.delete(answer.headers["location"])
    assert refused.status_code == 409
    assert "being read" in refused.json()["detail"]
    uploads.processes.wait(lambda: uploads.client.delete(answer.headers["location"]).status_code == 204)


def test_too_many_jobs_refuse_an_upload_and_keep_nothing(service: Any, make_uploads: Callable[..., Uploads]) -> None:
    running, _ = service
    crowded = make_uploads(running.api(SUREBOX_MAX_UNFINISHED_JOBS="1")[0])
    first = crowded.post(BODY * 300_000, headers={"Prefer": "respond-async"})
    second = crowded.post(BODY)
    assert first.status_code == 202
    assert second.status_code == 429, second.text
    assert second.json()["type"] == "/problems/too-many-jobs"
    running.wait(lambda: crowded.client.get(first.headers["location"]).json()["state"] == "ready")
    running.wait(lambda: crowded.staged() == [])
