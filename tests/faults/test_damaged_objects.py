"""A stored object that changed at rest is used by no job and in no answer, and a backup of it is not called whole."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from app.housekeeping.loop import _SLOW_ROUND
from tests import patient
from tests.drawing import seeds
from tests.embedded.test_cli import surebox
from tests.methods.asking import ended, run, upload
from tests.servers import short_folder, wait_until
from tests.service import Service, serving
from tests.stored import stored

#: Housekeeping compares every object within seconds.
EAGER = {"SUREBOX_HOUSEKEEPING_SECONDS": str(3 / _SLOW_ROUND), "SUREBOX_SCRUB_SHARE": "86400"}


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    with short_folder() as folder, serving(folder / "data", **EAGER) as running:
        yield running


def table(draw: np.random.Generator) -> str:
    rows = zip(draw.integers(18, 80, 400), draw.integers(5, 60, 400), draw.integers(1000, 90_000, 400), strict=True)
    return "age,hours,income\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows)


def boxes(dataset_id: str, **more: Any) -> dict[str, Any]:
    names = ["age", "hours"]
    return {"method": "boxes", "dataset_id": dataset_id, "k": 5, "quasi_identifiers": names, "publish": "draft"} | more


def damage(folder: Path, part: str, draw: np.random.Generator) -> list[Path]:
    """Flip a bit of each object below a key, in another place of each; files that are linked elsewhere stay."""
    paths = [path for path in stored(folder / "storage") if part in path.as_posix()]
    assert paths
    for path in paths:
        content = bytearray(path.read_bytes())
        content[int(draw.integers(len(content)))] ^= 1 << int(draw.integers(8))
        path.unlink()
        path.write_bytes(content)
    return paths


def answers(client: httpx.Client, release_id: str, ages: list[int]) -> dict[str, bytes | int]:
    """Bytes that each route answers about a release, or the status of its refusal."""
    said: dict[str, bytes | int] = {}
    questions: list[tuple[str, str, dict[str, Any]]] = [
        *(("GET", f"data?format={name}", {}) for name in ("csv", "parquet", "ndjson")),
        ("POST", "count", {"json": {"queries": [{"age": ages}]}}),
        ("GET", "bundle.zip", {}),
        ("GET", "report", {}),
    ]
    for method, path, more in questions:
        try:
            answer = client.request(method, f"/v1/releases/{release_id}/{path}", **more)
        except httpx.RemoteProtocolError:
            said[path] = 0
        else:
            said[path] = answer.content if answer.status_code == httpx.codes.OK else answer.status_code
    return said


def test_housekeeping_finds_what_nobody_asks_for_and_what_came_back(service: Service, tmp_path: Path) -> None:
    draw = np.random.default_rng(434)
    with service.client(owner="housekeeping") as client:
        dataset, before = upload(client, table(draw)), damaged(service)
        (path,) = stored(service.folder / "storage" / "datasets" / dataset["id"])
        whole, key = path.read_bytes(), path.relative_to(service.folder / "storage").as_posix()
        damage(service.folder, f"datasets/{dataset['id']}/", draw)
        wait_until(lambda: damaged(service) == before + 1)
        assert_a_backup_is_not_whole(service, tmp_path / "backup", key)
        assert key in compared(service)
        path.write_bytes(whole)
        assert key not in compared(service)
        assert damaged(service) == before
        assert ended(client, run(client, boxes(dataset["id"])))["state"] == "succeeded"
        path.unlink()
        wait_until(lambda: damaged(service) == before + 1)


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[httpx.Client]:
    with service.client(owner="damaged") as made:
        yield made


@pytest.fixture(scope="module")
def dataset(client: httpx.Client) -> str:
    """A dataset that no job has read."""
    return str(upload(client, table(np.random.default_rng(432)))["id"])


@pytest.fixture(scope="module")
def release(client: httpx.Client) -> tuple[str, dict[str, bytes | int]]:
    """A release, and what is answered about it while it is whole."""
    made = run(client, boxes(upload(client, table(np.random.default_rng(433)))["id"], seed=1))
    before = answers(client, made["release_id"], [30, 40])
    assert all(isinstance(one, bytes) for one in before.values()), before
    return made["release_id"], before


@contextmanager
def damaged_below(folder: Path, part: str, seed: int) -> Iterator[list[Path]]:
    """Objects are damaged, and then as they were."""
    whole = {path: path.read_bytes() for path in stored(folder / "storage") if part in path.as_posix()}
    try:
        yield damage(folder, part, np.random.default_rng([432, seed]))
    finally:
        for path, content in whole.items():
            path.write_bytes(content)


@pytest.mark.parametrize("seed", seeds(6))
def test_no_job_uses_a_dataset_that_changed(service: Service, client: httpx.Client, dataset: str, seed: int) -> None:
    with damaged_below(service.folder, f"datasets/{dataset}/", seed):
        job = run(client, boxes(dataset))
    assert (job["state"], (job["error"] or {}).get("type")) == ("failed", "/problems/storage-damaged")


@pytest.mark.parametrize("seed", seeds(6))
def test_no_answer_is_of_a_release_that_changed(
    service: Service, client: httpx.Client, release: tuple[str, dict[str, bytes | int]], seed: int
) -> None:
    release_id, before = release
    with damaged_below(service.folder, f"releases/{release_id}/", seed) as paths:
        after = answers(client, release_id, [30, 40])
        assert {name for name, said in after.items() if isinstance(said, bytes) and said != before[name]} == set()
        assert not any(isinstance(after[name], bytes) for name in after if name.startswith(("data", "bundle"))), after
        wait_until(lambda: damaged(service) >= len(paths))
    assert answers(client, release_id, [30, 40])["data?format=csv"] == before["data?format=csv"]


def damaged(service: Service) -> float:
    lines = patient.get(f"{service.address}/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith("surebox_storage_damaged_objects ")).split()[1])


def assert_a_backup_is_not_whole(service: Service, backup: Path, key: str) -> None:
    made = surebox("backup", str(backup), "--data-dir", str(service.folder))
    assert made.returncode == 0
    assert "files are damaged in storage" in made.stderr
    assert key in json.loads((backup / "manifest.json").read_text())["damaged"]
    refused = surebox("restore", "--check", str(backup))
    assert refused.returncode != 0
    assert "damaged in storage when it was made" in refused.stderr


def compared(service: Service) -> list[str]:
    """Keys of the objects that `surebox storage check` names as damaged."""
    done = surebox("storage", "check", "--data-dir", str(service.folder))
    *keys, last = done.stdout.splitlines()
    assert done.returncode == bool(keys)
    assert last.startswith(f"{len(keys)} of ")
    return keys
