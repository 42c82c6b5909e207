"""Draws of the same data: what was published counts, and nothing else."""

from typing import Any

import httpx
import numpy as np
import polars as pl

from tests.methods.asking import run, succeed
from tests.methods.densities import upload_frame


def spec_for(client: httpx.Client, seed: int) -> dict[str, Any]:
    frame = pl.DataFrame({"x": np.random.default_rng([3, seed]).normal(size=60)})
    return {"method": "uncertain", "dataset_id": upload_frame(client, frame), "quasi_identifiers": ["x"], "k": 4}


def refused(client: httpx.Client, spec: dict[str, Any]) -> bool:
    answer = client.post("/v1/anonymizations", json=spec)
    if answer.status_code != httpx.codes.UNPROCESSABLE_ENTITY:
        return False
    return [error["pointer"] for error in answer.json()["errors"]] == ["/method"]


def test_a_job_that_failed_told_nobody_anything(client: httpx.Client) -> None:
    spec = spec_for(client, 1)
    failed = run(client, spec | {"k": 59})
    assert (failed["state"], failed["error"]["errors"][0]["pointer"]) == ("failed", "/k")
    assert succeed(client, spec)["result"]["release_number"] == 1
    assert refused(client, spec)


def test_a_release_that_was_deleted_has_been_read(client: httpx.Client) -> None:
    spec = spec_for(client, 2)
    first = succeed(client, spec)
    assert client.delete(f"/v1/releases/{first['release_id']}").status_code == httpx.codes.NO_CONTENT
    assert refused(client, spec)
    assert succeed(client, spec | {"accept_findings": ["composition"]})["result"]["release_number"] == 2


def test_the_job_says_how_often_an_adversary_finds_the_record_and_the_release_does_not(client: httpx.Client) -> None:
    frame = pl.DataFrame({"x": np.random.default_rng(5).normal(size=400)})
    spec = {"method": "uncertain", "dataset_id": upload_frame(client, frame), "quasi_identifiers": ["x"], "k": 4}
    job = succeed(client, spec | {"scales": "per_record"})
    warning = next(one for one in job["warnings"] if one["code"] == "linkage")
    assert warning["pointer"] == "/spec/scales"
    assert "100.0%" in warning["detail"], "scales of their own name records"
    level = succeed(client, spec | {"accept_findings": ["composition"]})
    assert level["spec"]["scales"] == "levels"
    warning = next(one for one in level["warnings"] if one["code"] == "linkage")
    assert "100.0%" not in warning["detail"]
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    assert "linkage" not in {one["code"] for one in release["warnings"]}
