"""The set-up compiles; a service on a fresh data folder then only loads."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from surebox_core.compiling import cache as kernels
from tests.methods.asking import upload
from tests.servers import wait_until
from tests.service import bare_environment, serving

ROWS = 20_000


def records() -> bytes:
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(ROWS, 3))
    return ("a,b,c\n" + "\n".join(",".join(f"{value:.4f}" for value in row) for row in columns) + "\n").encode()


def test_the_first_jobs_of_a_fresh_data_folder_compile_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app.cli", "kernels", "ingest", "boxes", "publication"]
    of_a_version_before = kernels.folder() / "workers.algorithms.gone-0123456789abcdef"
    of_a_version_before.mkdir(exist_ok=True)
    subprocess.run(command, env=bare_environment(), check=True, stdout=subprocess.DEVNULL)
    assert not of_a_version_before.exists()
    folder = tmp_path / "fresh"
    with (
        serving(folder) as service,
        service.client() as client,
    ):  # without warming: what is compiled, these jobs ask for
        dataset_id = upload(client, records().decode())["id"]
        for partition in ("optimal", "fast", "mondrian"):
            spec = {"method": "boxes", "dataset_id": dataset_id, "k": 10, "partition": partition}
            spec["quasi_identifiers"] = ["a", "b", "c"]
            job = client.post("/v1/anonymizations", json=spec).raise_for_status().json()
            while job["state"] in {"queued", "running"}:
                wait = client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"})
                job = wait.raise_for_status().json()
            assert job["state"] == "succeeded", job["error"]
    assert events(folder, "job.claimed")
    assert events(folder, "kernel.compiled") == []


@pytest.mark.parametrize("warm", [pytest.param(True, marks=pytest.mark.long), False])
def test_a_worker_loads_its_methods_before_jobs_need_them_unless_it_is_told_not_to(tmp_path: Path, warm: bool) -> None:
    folder = tmp_path / "fresh"
    with serving(folder, SUREBOX_WARM_KERNELS=str(warm).lower()) as service, service.client() as client:
        if warm:
            wait_until(lambda: events(folder, "warming.done"), seconds=300, what="a worker is ready")
        assert upload(client, records().decode())["rows"] == ROWS
    assert bool(events(folder, "warming.done")) is warm
    assert events(folder, "kernel.compiled") == []


def events(folder: Path, name: str) -> list[str]:
    lines = [line for path in (folder / "logs").glob("worker-*.log") for line in path.read_text().splitlines()]
    return [line for line in lines if name in line]
