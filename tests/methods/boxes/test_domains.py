"""Means within values that perhaps no record has, over HTTP: job, release, certificate, questions, pages."""

import base64
import json
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import released, succeed, upload

GRADES = ["low", "mid", "high", "none"]  # nobody has the last one


@pytest.fixture(scope="module")
def dataset_id(client: httpx.Client) -> str:
    draw = np.random.default_rng(2)
    grade = draw.choice(GRADES[:3], 90, p=[0.72, 0.25, 0.03])
    frame = pl.DataFrame({"age": draw.integers(18, 80, 90), "grade": grade})
    return str(upload(client, frame.write_csv())["id"])


@pytest.fixture(scope="module", params=["tight", "cells"])
def job(request: pytest.FixtureRequest, client: httpx.Client, dataset_id: str) -> dict[str, Any]:
    return succeed(client, {
        "method": "boxes", "dataset_id": dataset_id, "quasi_identifiers": ["age", "grade"], "k": 7,
        "bounds": request.param,
        "nominal": {"grade": {"values": GRADES}}, "accept_findings": ["composition"], "rare_records": "mark",
        "statistics": [{"kind": "mean", "of": ["age"]}, {"kind": "domain_mean", "of": ["age", "grade"]}],
    })  # fmt: skip


def expected(rows: pl.DataFrame, *, tight: bool) -> dict[str, bool]:
    """By the sets of the rows: a record has a value for certain where its set has no other, or where all occur."""
    sets = [set(each) for each in rows["grade_set"].to_list()]
    if tight:
        return {value: not any(value in each for each in sets) for value in GRADES}
    return {value: {value} not in sets for value in GRADES}


def may_be_empty(statistics: list[dict[str, Any]]) -> dict[str, bool]:
    return {one["values"][0]: one["domain_may_be_empty"] for one in statistics if one["kind"] == "domain_mean"}


def test_job_release_and_certificate_say_which_domains_may_be_empty(client: httpx.Client, job: dict[str, Any]) -> None:
    rows, tight = released(client, job), job["spec"]["bounds"] == "tight"
    right = expected(rows, tight=tight)
    assert right["none"]
    assert not (tight and right["low"])
    release = f"/v1/releases/{job['release_id']}"
    public = client.get(f"{release}/statistics").json()["statistics"]
    envelope = client.get(f"{release}/certificate").json()
    signed = json.loads(base64.b64decode(envelope["payload"]))["predicate"]["statistics"]
    for statistics in (job["result"]["statistics"], public, signed):
        assert may_be_empty(statistics) == right
        assert statistics[0]["kind"] == "mean"
        assert statistics[0]["domain_may_be_empty"] is None
        of_core = [one | one["core"] for one in statistics]
        assert may_be_empty(of_core) == expected(rows.filter(pl.col("core")), tight=tight)
    true = {one["values"][0]: one["true_value"] for one in job["result"]["statistics"] if one["kind"] == "domain_mean"}
    assert true["none"] is None
    if tight:
        (empty,) = (one for one in public if one["values"] == ["none"])
        assert empty["guaranteed"] is None
        assert not [one for one in job["warnings"] if one["code"] == "range-says-nothing"]


def test_whoever_asks_the_release_is_told_too(client: httpx.Client, job: dict[str, Any]) -> None:
    right = expected(released(client, job), tight=job["spec"]["bounds"] == "tight")
    statistics: list[dict[str, Any]] = [
        {"kind": "domain_mean", "of": ["age", "grade"], "values": ["low"]},
        {"kind": "domain_mean", "of": ["age", "grade"], "values": ["high"]},
        {"kind": "domain_mean", "of": ["age", "grade"]},
        {"kind": "mean", "of": ["age"]},
    ]
    answer = client.post(f"/v1/releases/{job['release_id']}/statistics", json={"statistics": statistics})
    assert answer.status_code == httpx.codes.OK, answer.text
    low, high, *each, mean = answer.json()["statistics"]
    assert (low["domain_may_be_empty"], high["domain_may_be_empty"]) == (right["low"], right["high"])
    assert {one["values"][0]: one["domain_may_be_empty"] for one in each}.items() <= right.items()
    assert len(each) > 1
    assert mean["domain_may_be_empty"] is None


def test_pages_say_what_a_mean_is_about(client: httpx.Client, job: dict[str, Any]) -> None:
    for path in (f"/v1/releases/{job['release_id']}/report", f"/v1/jobs/{job['id']}/report"):
        page = client.get(path).text
        for one in job["result"]["statistics"][1:]:
            name = f"mean of age where grade = {one['values'][0]}"
            about = "of no record" if one["guaranteed"] is None else "if there is one"
            assert (f"{name}, {about}<" in page) is one["domain_may_be_empty"]
            assert (f"{name}<" in page) is not one["domain_may_be_empty"]
        assert "that perhaps no record has" in page
