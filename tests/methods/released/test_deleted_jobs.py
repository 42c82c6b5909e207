"""A release outlives its job: it is downloaded and asked as before, and attacked where no link is needed for that."""

import itertools
from typing import Any

import httpx
import pytest

from tests.methods.asking import succeed, upload
from tests.methods.questions import COLUMNS, people

DOMAINS = {"age": [18.0, 69.0], "hours": [0.0, 100.0]}
METHODS: list[dict[str, Any]] = [
    {"method": "boxes", "domains": DOMAINS},
    {"method": "uncertain", "domains": DOMAINS},
    {"method": "uncertain", "density": "uniform", "axes": "rotated", "scales": "per_record"},
    {"method": "condensation"},
]


#: Each release is of people of its own: draws from the same data add up.
SEEDS = itertools.count(100)


def published(client: httpx.Client, spec: dict[str, Any]) -> dict[str, Any]:
    dataset_id = upload(client, people(seed=next(SEEDS)).write_csv())["id"]
    job: dict[str, Any] = succeed(
        client, {"dataset_id": dataset_id, "quasi_identifiers": COLUMNS, "k": 5, "keep": ["town"]} | spec
    )
    return job


@pytest.mark.parametrize("spec", METHODS)
def test_a_release_answers_after_its_job_was_deleted(client: httpx.Client, spec: dict[str, Any]) -> None:
    job = published(client, spec)
    url = f"/v1/releases/{job['release_id']}"
    before = {path: client.get(url + path).content for path in ("", "/data", "/statistics", "/provenance")}
    assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    assert {path: client.get(url + path).content for path in before} == before
    queries = [{}] + ([DOMAINS] if "domains" in spec else [])  # all of a density is within the domains
    counted = client.post(f"{url}/count", json={"queries": queries})
    assert counted.status_code == 200, counted.text
    rows = client.get(url).json()["rows"]
    assert [count["estimate"] for count in counted.json()["counts"]] == pytest.approx([rows] * len(queries))
    classified = client.post(
        f"{url}/classify",
        json={"target": "town", "neighbours": 9, "points": [{"age": 25, "hours": 38}, {"age": 65, "hours": 38}]},
    )
    assert (classified.status_code, classified.json()["classes"]) == (200, ["Ålesund", "Bergen"])


@pytest.mark.parametrize("spec", [METHODS[1], METHODS[3]])
def test_who_stands_behind_a_row_is_forgotten_with_the_job(client: httpx.Client, spec: dict[str, Any]) -> None:
    job = published(client, spec)
    attack = {"method": "linkage", "release_id": job["release_id"]}
    succeed(client, attack, kind="audits")
    assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    refused = client.post("/v1/audits", json=attack)
    assert refused.status_code == 422, refused.text
    assert [error["pointer"] for error in refused.json()["errors"]] == ["/release_id"]
    assert "deleted" in refused.json()["detail"]


def test_boxes_are_attacked_without_their_job(client: httpx.Client) -> None:
    job = published(client, METHODS[0])
    attack = {"method": "linkage", "release_id": job["release_id"]}
    before = succeed(client, attack, kind="audits")["result"]
    assert client.delete(f"/v1/jobs/{job['id']}").status_code == 204
    after = succeed(client, attack, kind="audits")["result"]
    assert after["mean_rank"] == before["mean_rank"]
