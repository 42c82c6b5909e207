"""Jobs and releases that an owner may keep, and CPU seconds of a day: exact when jobs come at once."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import insert, select

from app.contracts.base import new_id
from app.contracts.jobs import JobState
from app.contracts.owners import LimitedResource
from app.db.tables.jobs import job
from app.db.tables.releases import release, release_file
from app.jobs.quotas import change_limit
from tests.jobs.service import Service, body


def allow(service: Service, resource: str, maximum: float | None) -> None:
    change_limit(database=service.database, owner=service.owner, resource=LimitedResource(resource), maximum=maximum)


def used(client: httpx.Client, resource: str) -> float:
    quotas = client.get("/v1/usage").json()["quotas"]
    return float(next(each["used"] for each in quotas if each["resource"] == resource))


def keep_release(service: Service, job_id: str, *, size: int, result: int = 0) -> str:
    """The job has ended and its release is there."""
    service.alter(job_id, state=JobState.RUNNING, attempt=1)
    service.alter(job_id, state=JobState.SUCCEEDED, finished_at=job.c.created_at, result_bytes=result)
    release_id = new_id("rel")
    with service.database.unit_of_work() as unit:
        made_from = unit.connection.execute(select(job.c.spec).where(job.c.id == job_id)).scalar_one()["dataset_id"]
        values: dict[str, Any] = {
            "id": release_id, "owner": service.owner, "job_id": job_id, "dataset_id": made_from, "method": "boxes",
            "rows": 1, "columns": [], "flags": [], "statistics": [],
        }  # fmt: skip
        unit.connection.execute(insert(release).values(**values))
        file = {"release_id": release_id, "format": "csv", "key": f"releases/{release_id}/x.csv", "sha256": "0" * 64}
        unit.connection.execute(insert(release_file).values(**file, bytes=size))
    return release_id


@pytest.mark.parametrize("resource", ["jobs", "releases"])
def test_of_jobs_at_once_no_more_pass_than_fit(shared: Service, resource: str) -> None:
    dataset_id = shared.dataset()
    allow(shared, resource, 3)
    with shared.client() as client, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/anonymizations", json=body(dataset_id)), range(8)))
        assert sorted(each.status_code for each in answers) == [202] * 3 + [403] * 5
        refused = next(each for each in answers if each.status_code == 403).json()
        assert refused["type"] == "/problems/quota-exceeded"
        assert refused["quota"] == {
            "resource": resource, "used": 3, "limit": 3, "requested": 1, "counts": refused["quota"]["counts"],
            "freed_by": refused["quota"]["freed_by"],
        }  # fmt: skip
        assert used(client, resource) == 3


def test_deleting_jobs_and_releases_makes_room_and_audits_make_no_release(shared: Service) -> None:
    dataset_id = shared.dataset()
    allow(shared, "releases", 1)
    with shared.client() as client:
        job_id = shared.submit(client, dataset_id)
        assert client.post("/v1/anonymizations", json=body(dataset_id)).status_code == 403, "one is on its way"
        release_id = keep_release(shared, job_id, size=10)
        assert client.post("/v1/anonymizations", json=body(dataset_id)).status_code == 403
        audit = {"method": "table", "dataset_id": dataset_id, "quasi_identifiers": ["age"]}
        assert client.post("/v1/audits", json=audit).status_code == 202
        assert client.delete(f"/v1/releases/{release_id}").status_code == 204
        second = shared.submit(client, dataset_id)
        client.post(f"/v1/jobs/{second}/cancel")
        third = shared.submit(client, dataset_id)
        allow(shared, "jobs", 3)
        assert client.post("/v1/audits", json=audit).json()["quota"]["resource"] == "jobs"
        assert client.delete(f"/v1/jobs/{second}").status_code == 204
        assert client.post("/v1/audits", json=audit).status_code == 403, "three are left: one of each and an audit"
        allow(shared, "jobs", 4)
        assert client.post("/v1/audits", json=audit).status_code == 202
        assert client.get(f"/v1/jobs/{third}").json()["state"] == "queued", "what was accepted stays"


def test_bytes_are_those_of_uploads_releases_and_results(shared: Service) -> None:
    dataset_id = shared.dataset()  # of one byte
    with shared.client() as client:
        job_id = shared.submit(client, dataset_id)
        keep_release(shared, job_id, size=500, result=40)
        assert used(client, "bytes") == 541
        allow(shared, "bytes", 541)
        refused = client.post("/v1/anonymizations", json=body(dataset_id))
        assert (refused.status_code, refused.json()["quota"]["resource"]) == (403, "bytes")
        assert client.delete(f"/v1/jobs/{job_id}").status_code == 204
        assert used(client, "bytes") == 501
        refused = client.post("/v1/anonymizations", json=body(dataset_id))
        quota = refused.json()["quota"]
        assert (refused.status_code, quota["used"]) == (403, 501), "its files are not expected to fit"
        assert 100 * 2 * 3 < quota["requested"] < 100_000, "100 rows of 2 columns in three formats"
        with shared.client(None, "jobs:write") as lesser:
            assert lesser.post("/v1/anonymizations", json=body(dataset_id)).json()["quota"].get("requested") is None
        allow(shared, "bytes", 501 + quota["requested"])
        assert client.post("/v1/anonymizations", json=body(dataset_id)).status_code == 202


def test_cpu_seconds_are_one_of_the_limits_and_time_frees_them(shared: Service) -> None:
    dataset_id = shared.dataset()
    with shared.client() as client:
        first = client.post("/v1/anonymizations", json=body(dataset_id)).json()
        need = first["estimate"]["cpu_seconds"]
        assert used(client, "cpu_seconds") == pytest.approx(need)
        allow(shared, "cpu_seconds", 1.5 * need)
        refused = client.post("/v1/anonymizations", json=body(dataset_id))
        assert (refused.status_code, refused.json()["type"]) == (429, "/problems/too-much-work")
        assert refused.json()["quota"]["limit"] == pytest.approx(1.5 * need)
        assert int(refused.headers["retry-after"]) > 0
        with shared.client(None, "jobs:write") as lesser:
            assert lesser.post("/v1/anonymizations", json=body(dataset_id)).json()["quota"]["used"] is None
        allow(shared, "cpu_seconds", None)
        assert client.post("/v1/anonymizations", json=body(dataset_id)).status_code == 202


def test_a_submission_is_logged_with_its_key_and_other_owners_are_not_limited(shared: Service) -> None:
    allow(shared, "jobs", 0)
    dataset_id = shared.dataset()
    with shared.client() as client:
        assert client.post("/v1/anonymizations", json=body(dataset_id)).status_code == 403
        allow(shared, "jobs", 1)
        job_id = shared.submit(client, dataset_id)
        entry = client.get("/v1/log", params={"subject": job_id}).json()["items"]
        assert [(each["action"], each["facts"]) for each in entry] == [("submitted", {"method": "boxes"})]
        assert entry[0]["key_id"].startswith("key_")
    other = new_id("owner")
    with shared.client(other) as client:
        assert client.post("/v1/anonymizations", json=body(shared.dataset(other))).status_code == 202
