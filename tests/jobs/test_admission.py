"""What a job is expected to need decides whether it is accepted; figures of the data are for keepers."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import update

from app.db.repositories import workers
from app.db.tables.datasets import dataset
from tests.drawing import seeds
from tests.jobs.service import Service, body

GIGABYTE = 1_000_000_000


def wide(service: Service, *, columns: int, rows: int) -> tuple[str, list[str]]:
    """A dataset of so many numbers, as far as its profile says."""
    dataset_id, names = service.dataset(), [f"x{number}" for number in range(columns)]
    described = [{"name": name, "type": "number", "missing": 0, "distinct": rows} for name in names]
    numeric = {name: {"finite_minimum": 0.0, "finite_maximum": 9.0, "infinite": 0} for name in names}
    with service.database.unit_of_work() as unit:
        values: dict[str, Any] = {"columns": described, "numeric": numeric, "rows": rows}
        unit.connection.execute(update(dataset).where(dataset.c.id == dataset_id).values(**values))
    return dataset_id, names


def employ(service: Service, memory_bytes: int | None, scratch_bytes: int | None = None, *, name: str = "w") -> None:
    """A worker is seen that gives each job so much memory, and so much room for temporary files."""
    seen = workers.Sighting(
        id=name, queue="batch", host="h", pid=1, rss_bytes=1, concurrency=1, memory_bytes=memory_bytes,
        scratch_bytes=scratch_bytes,
    )  # fmt: skip
    with service.database.unit_of_work() as unit:
        workers.seen(unit.connection, sighting=seen)


def rotated(dataset_id: str, columns: list[str]) -> dict[str, Any]:
    shape = {"method": "uncertain", "scales": "per_record", "axes": "rotated", "k": 5.0}
    return shape | {"dataset_id": dataset_id, "quasi_identifiers": columns}


def test_a_small_body_cannot_take_all_memory_and_is_told_what_would_fit(service: Service) -> None:
    employ(service, 6 * GIGABYTE)
    dataset_id, columns = wide(service, columns=2_000, rows=300)
    with service.client() as client:
        refused = client.post("/v1/anonymizations", json=rotated(dataset_id, columns))
        assert refused.status_code == 422, refused.text
        problem = refused.json()
        assert problem["type"] == "/problems/job-too-large"
        assert "a worker has 6.0 GB for a job" in problem["detail"]
        fitting = int(problem["detail"].split("What would fit: ")[1].split(" of its")[0].replace(",", ""))
        assert 50 < fitting < 2_000
        taken = client.post("/v1/anonymizations", json=rotated(dataset_id, columns[:fitting]))
        assert taken.status_code == 202, taken.text
        assert taken.json()["estimate"]["memory_bytes"] <= 6 * GIGABYTE
        employ(service, 6 * GIGABYTE)  # seen again: who was not for a while counts as gone
        more = client.post("/v1/anonymizations", json=rotated(dataset_id, columns[: fitting + 1]))
        assert more.status_code == 422


@pytest.mark.parametrize("memory", [None, 10**15])
def test_workers_without_a_limit_refuse_nothing_for_its_memory(service: Service, memory: int | None) -> None:
    employ(service, memory)
    dataset_id, columns = wide(service, columns=300, rows=3_000)
    with service.client() as client:
        assert client.post("/v1/anonymizations", json=rotated(dataset_id, columns)).status_code == 202


@pytest.mark.parametrize("seed", seeds(2))
def test_what_is_written_and_laid_out_is_estimated_and_has_its_limits(serve: Callable[..., Service], seed: int) -> None:
    """Of a random table: either limit refuses what exceeds it, states the figure, and takes what it says would fit."""
    draw = np.random.default_rng([seed, 41])
    width, rows = int(draw.integers(3, 30)), int(draw.integers(200_000, 3_000_000))
    service = serve()
    dataset_id, columns = wide(service, columns=width, rows=rows)
    job = body(dataset_id, quasi_identifiers=columns, k=int(draw.integers(5, 100)), statistics=[])
    job |= {"statistics": [{"kind": "mean", "of": ["x0"]}]}
    with service.client() as client:
        employ(service, None)
        whole = client.post("/v1/anonymizations", json=job).json()["estimate"]
        assert whole["scratch_bytes"] > whole["release_bytes"] > rows * width  # a byte a cell is the least there is
        for limit in (draw.uniform(0.3, 0.9), draw.uniform(0.05, 0.3)):
            employ(service, None, int(limit * whole["scratch_bytes"]))
            fits(client, job, "of temporary files", "scratch_bytes", limit * whole["scratch_bytes"])


@pytest.mark.parametrize("seed", seeds(2))
def test_release_bytes_have_a_limit_that_the_estimate_states(serve: Callable[..., Service], seed: int) -> None:
    draw = np.random.default_rng([seed, 42])
    width, rows = int(draw.integers(3, 30)), int(draw.integers(200_000, 3_000_000))
    limit = float(rows * width * draw.uniform(5.0, 40.0))
    service = serve(max_job_release_bytes=limit)
    dataset_id, columns = wide(service, columns=width, rows=rows)
    with service.client() as client:
        job = body(dataset_id, quasi_identifiers=columns, statistics=[{"kind": "mean", "of": ["x0"]}])
        fits(client, job, "of files, and those of a release may have", "release_bytes", limit)


def fits(client: httpx.Client, job: dict[str, Any], named: str, figure: str, limit: float) -> None:
    """A job beyond a limit is refused with the figure; as many columns as it says would fit are taken, one more not."""
    refused = client.post("/v1/anonymizations", json=job)
    assert refused.status_code == 422, refused.text
    problem = refused.json()
    assert problem["type"] == "/problems/job-too-large"
    assert named in problem["detail"]
    fitting = re.search(r"([\d,]+) of its \d+ columns", problem["detail"])
    many = int(fitting[1].replace(",", "")) if fitting else 0
    columns = job["quasi_identifiers"]
    if many:
        taken = client.post("/v1/anonymizations", json=job | {"quasi_identifiers": columns[:many]})
        assert taken.status_code == 202, taken.text
        assert taken.json()["estimate"][figure] <= limit
    more = client.post("/v1/anonymizations", json=job | {"quasi_identifiers": columns[: many + 1]})
    assert more.status_code == 422, more.text


def test_the_worker_with_most_room_counts_and_one_that_states_none_refuses_nothing(service: Service) -> None:
    dataset_id, columns = wide(service, columns=8, rows=1_000_000)
    job = body(dataset_id, quasi_identifiers=columns, statistics=[{"kind": "mean", "of": ["x0"]}])
    with service.client() as client:
        employ(service, None, 1_000_000)
        assert client.post("/v1/anonymizations", json=job).status_code == 422
        employ(service, None, 10 * GIGABYTE, name="roomy")
        assert client.post("/v1/anonymizations", json=job).status_code == 202
        employ(service, None, 1_000_000, name="roomy")
        assert client.post("/v1/anonymizations", json=job).status_code == 422
        employ(service, None, None, name="older")
        assert client.post("/v1/anonymizations", json=job).status_code == 202


def test_products_of_search_sizes_are_bounded_not_only_factors(service: Service) -> None:
    """800 bytes asked for six weeks."""
    dataset_id, _ = wide(service, columns=2, rows=1_000)
    terms = [{"name": "low", "shape": "range", "points": [0.0, 4.0]}]
    spec = {
        "method": "swaps", "dataset_id": dataset_id, "region_columns": ["x1"],
        "rules_model": {
            "variables": [{"column": "x0", "range": [0.0, 9.0], "terms": terms}], "rules": [{"terms": [1]}],
        },
        "search": {"method": "memetic", "generations": 1_000_000, "pairs": 10_000},
    }  # fmt: skip
    with service.client() as client:
        refused = client.post("/v1/anonymizations", json=spec)
        assert refused.json()["type"] == "/problems/job-too-large", refused.text
        assert re.search(r"at most [\d,.]+ h of CPU, often about [\d,.]+ h,", refused.json()["detail"])
        assert "a job may take 3,600 s" in refused.json()["detail"]
        spec["search"] = {"method": "memetic", "generations": 100}
        assert client.post("/v1/anonymizations", json=spec).status_code == 202


def test_audits_that_run_jobs_again_are_bounded_by_what_all_runs_need(service: Service) -> None:
    """Boxes of each k: one fits, and twenty do not, though a body of any length is cheap to send."""
    dataset_id, columns = wide(service, columns=12, rows=6_000_000)
    frontier = {"method": "frontier", "dataset_id": dataset_id, "quasi_identifiers": columns}
    with service.client() as client:
        assert client.post("/v1/audits", json=frontier | {"k": [10]}).status_code == 202
        refused = client.post("/v1/audits", json=frontier | {"k": list(range(10, 30))})
        assert refused.status_code == 422, refused.text
        assert refused.json()["type"] == "/problems/job-too-large"


def test_figures_of_the_data_are_for_keepers(service: Service) -> None:
    employ(service, GIGABYTE)
    dataset_id, columns = wide(service, columns=900, rows=12_345)
    with service.client("ada", "jobs:write") as client:
        refused = client.post("/v1/anonymizations", json=rotated(dataset_id, columns))
        assert refused.json()["type"] == "/problems/job-too-large"
        assert not any(character.isdigit() for character in refused.json()["detail"])
        job = client.post("/v1/anonymizations", json=body(service.dataset())).json()
        assert job["estimate"] is None


def test_what_an_owner_may_take_in_a_day_is_bounded(serve: Callable[..., Service]) -> None:
    service = serve(max_owner_cpu_seconds=1.0)
    dataset_id = service.dataset()
    with service.client() as client:
        first = client.post("/v1/anonymizations", json=body(dataset_id))
        need = first.json()["estimate"]["cpu_seconds"]
        assert 0 < need <= 1.0
        statuses = [client.post("/v1/anonymizations", json=body(dataset_id)).status_code for _ in range(4)]
        assert statuses == [202] * int(1.0 / need - 1) + [429] * (5 - int(1.0 / need))
        refused = client.post("/v1/anonymizations", json=body(dataset_id))
        assert refused.json()["type"] == "/problems/too-much-work"
        assert int(refused.headers["retry-after"]) > 0
        assert client.post(f"/v1/jobs/{first.json()['id']}/cancel").json()["state"] == "cancelled"
        assert client.post("/v1/anonymizations", json=body(dataset_id)).status_code == 202
    with service.client("bea") as client:
        assert client.post("/v1/anonymizations", json=body(service.dataset("bea"))).status_code == 202
