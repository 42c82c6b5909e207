"""Storage that is read-only, full or away for a while: accepted jobs wait for it and spend no attempt."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests import patient
from tests.faults.rig import Rig
from tests.servers import wait_until
from tests.tmpfs import small_file_system

CSV = {"Content-Type": "text/csv"}


def remount(folder: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True, capture_output=True, timeout=10)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_file_system(tmp_path / "disk", megabytes=4) as folder:
        yield folder
        with suppress(subprocess.CalledProcessError):
            remount(folder, "rw")


@pytest.fixture
def rig(rig_on: Callable[..., Rig], database_url: str, redis_url: str, disk: Path) -> Rig:
    """A rig whose storage is a small file system of its own."""
    return rig_on(database_url, redis_url, storage_folder=disk / "storage")


def held(rig: Rig, job_id: str, stage: str) -> bool:
    row = rig.row("SELECT stage FROM job_progress WHERE job_id = %s", job_id)
    return row is not None and row["stage"] == stage and rig.job(job_id)["state"] == "queued"


def spent(job: dict[str, Any]) -> int:
    return int(job["attempt"] - job["given_back"])


def test_jobs_wait_for_storage_that_is_read_only_and_spend_no_attempt(rig: Rig, disk: Path) -> None:
    rig.housekeeping()
    rig.worker(concurrency=2)
    remount(disk, "ro")
    ids = [rig.submit(release=True) for _ in range(6)]
    for job_id in ids:
        wait_until(lambda job_id=job_id: held(rig, job_id, "waiting: the storage cannot be used"))
        assert spent(rig.job(job_id)) == 0
    remount(disk, "rw")
    for job_id in ids:
        assert spent(rig.wait(job_id, "succeeded")) == 1
        *before, last = rig.outcomes(job_id)
        assert set(before) == {"held"}
        assert last == "succeeded"


def test_jobs_wait_for_room_and_can_be_cancelled_meanwhile(rig: Rig, disk: Path) -> None:
    rig.housekeeping()
    rig.worker()
    _, address = rig.api()
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(os.urandom(4096)):
            pass
    waits, cancelled = rig.submit(release=True), rig.submit(release=True)
    for job_id in (waits, cancelled):
        wait_until(lambda job_id=job_id: held(rig, job_id, "waiting: the storage is full"))
    with rig.client(address) as client:
        assert client.post(f"/v1/jobs/{cancelled}/cancel").json()["state"] == "cancelled"
        ready = patient.get(f"{address}/readyz")
        assert ready.status_code == httpx.codes.SERVICE_UNAVAILABLE
        assert ready.headers["content-type"] == "application/problem+json"
        assert "storage" in ready.json()["unavailable"]
        full = client.post("/v1/datasets", content=b"a\n1\n", headers=CSV)
        assert (full.status_code, full.json()["type"]) == (507, "/problems/storage-full")
        remount(disk, "ro")
        away = client.post("/v1/datasets", content=b"a\n1\n", headers=CSV)
        assert (away.status_code, away.json()["type"]) == (503, "/problems/storage-unavailable")
        assert int(away.headers["retry-after"]) > 0
        remount(disk, "rw")
    filler.unlink()
    assert spent(rig.wait(waits, "succeeded")) == 1


def test_a_job_that_has_waited_long_enough_fails_and_says_why(
    rig_on: Callable[..., Rig], database_url: str, redis_url: str, disk: Path
) -> None:
    rig = rig_on(database_url, redis_url, storage_folder=disk / "storage", storage_patience_seconds=1)
    rig.housekeeping()
    rig.worker()
    remount(disk, "ro")
    job = rig.wait(rig.submit(release=True), "failed")
    assert job["error"]["type"] == "/problems/storage-unavailable"
    assert rig.outcomes(job["id"]) == ["held", "failed"]


def test_a_worker_without_a_scratch_folder_puts_its_jobs_off(
    rig_on: Callable[..., Rig], database_url: str, redis_url: str, disk: Path
) -> None:
    rig = rig_on(database_url, redis_url, staging_dir=disk / "scratch")
    rig.housekeeping()
    rig.worker()
    remount(disk, "ro")
    job_id = rig.submit()
    wait_until(lambda: held(rig, job_id, "waiting: the storage cannot be used"))
    remount(disk, "rw")
    assert spent(rig.wait(job_id, "succeeded")) == 1
