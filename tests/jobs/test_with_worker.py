"""The API and a real worker process on one database and broker."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.faults.rig import OWNER, SERVER_SECRET, Rig
from tests.jobs.service import EventReader, Service, body


@pytest.fixture
def working(
    serve: Callable[..., Service], database_url: str, redis_url: str, tmp_path: Path
) -> Iterator[tuple[Service, Rig]]:
    rig = Rig(database_url, redis_url, tmp_path)
    service = serve(server_secret=SERVER_SECRET)
    service.owner = OWNER
    rig.worker()
    yield service, rig
    rig.stop()


def test_a_job_is_waited_for_followed_and_cancelled(working: tuple[Service, Rig]) -> None:
    service, rig = working
    with service.client() as client:
        headers = {"Prefer": "wait=30"}
        answer = client.post("/v1/anonymizations", json=body(rig.dataset()), headers=headers)
        assert (answer.status_code, answer.json()["state"]) == (200, "succeeded"), answer.text
        assert client.get(f"/v1/jobs/{answer.json()['id']}/result").status_code == 200
        assert client.get(f"/v1/jobs/{answer.json()['id']}/provenance").json()

        job_id = rig.submit(steps=4, step_seconds=0.4)
        with client.stream("GET", f"/v1/jobs/{job_id}/events") as stream:
            events = [(name, number, job["state"]) for name, number, job in EventReader(stream)]
        assert [state for name, _, state in events if name == "state"] == ["queued", "running", "succeeded"]
        assert any(name == "progress" for name, *_ in events)
        numbers = [number for _, number, _ in events]
        assert numbers == sorted(set(numbers))

        job_id = rig.submit(steps=1_000, step_seconds=0.1)
        rig.wait(job_id, "running")
        cancelled_at = time.monotonic()
        assert client.post(f"/v1/jobs/{job_id}/cancel").status_code == 202
        ended = client.get(f"/v1/jobs/{job_id}", headers=headers).json()
        assert ended["state"] == "cancelled"
        assert time.monotonic() - cancelled_at < 20


def test_warnings_stand_in_the_job_and_in_the_release_read_or_listed(working: tuple[Service, Rig]) -> None:
    service, rig = working
    quiet, job_id = rig.submit(release=True), rig.submit(release=True, warn=True)
    rig.wait(quiet)
    release_id = rig.wait(job_id)["release_id"]
    on_job = [{"code": "one_column", "pointer": "/spec/steps", "detail": "The job says."}]
    on_release = [{"code": "one_column", "pointer": None, "detail": "The release says."}]
    with service.client() as client:
        assert client.get(f"/v1/jobs/{job_id}").json()["warnings"] == on_job
        assert {job["id"]: job["warnings"] for job in client.get("/v1/jobs").json()["items"]} == {
            quiet: [],
            job_id: on_job,
        }
        assert client.get(f"/v1/releases/{release_id}").json()["warnings"] == on_release
        assert [release["warnings"] for release in client.get("/v1/releases").json()["items"]] == [on_release, []]
