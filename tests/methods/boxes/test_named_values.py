"""Shares, cells and means within values say of which values they are, whoever computes them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import run, succeed, upload

STATISTICS: list[dict[str, Any]] = [
    {"kind": "share", "of": ["town"]},
    {"kind": "crosstab", "of": ["town", "sex"]},
    {"kind": "domain_mean", "of": ["age", "town"]},
    {"kind": "mean", "of": ["age"]},
    {"kind": "share", "of": ["sex"], "values": ["f"]},
]


@pytest.fixture(scope="module")
def job(client: httpx.Client) -> dict[str, Any]:
    rng = np.random.default_rng(24)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 80, 160),
            "town": rng.choice(["Bern", "Genf", "Zug"], 160, p=[0.6, 0.3, 0.1]),
            "sex": rng.choice(["f", "m"], 160),
        }
    )
    spec = {"method": "boxes", "dataset_id": upload(client, frame.write_csv())["id"], "k": 4, "statistics": STATISTICS}
    return succeed(client, spec | {"quasi_identifiers": ["age", "town", "sex"]})


def about(statistics: list[dict[str, Any]]) -> dict[tuple[Any, ...], Any]:
    """The certain range of each number, by what it is of."""
    ranges = {(one["kind"], *one["of"], *(one["values"] or ())): one["guaranteed"] for one in statistics}
    assert len(ranges) == len(statistics), "two numbers have the same name"
    return ranges


def expected() -> set[tuple[Any, ...]]:
    towns = ["Bern", "Genf", "Zug"]
    cells = {("crosstab", "town", "sex", town, sex) for town in towns for sex in "fm"}
    each = {("share", "town", town) for town in towns} | {("domain_mean", "age", "town", town) for town in towns}
    return each | cells | {("mean", "age"), ("share", "sex", "f")}


def test_whoever_asks_a_release_is_told_of_which_values_each_number_is(
    client: httpx.Client, job: dict[str, Any]
) -> None:
    published = about(client.get(f"/v1/releases/{job['release_id']}/statistics").json()["statistics"])
    answer = client.post(f"/v1/releases/{job['release_id']}/statistics", json={"statistics": STATISTICS})
    ranges = about(answer.json()["statistics"])
    assert set(ranges) == set(published) == expected()
    assert ranges == published, "the same numbers under other values"


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_surebox_certify_says_it_too(client: httpx.Client, job: dict[str, Any], tmp_path: Path, form: str) -> None:
    """Sets are lists in one format, and JSON within cells in the other."""
    path = tmp_path / f"release.{form}"
    path.write_bytes(client.get(f"/v1/releases/{job['release_id']}/data", params={"format": form}).content)
    command = [str(Path(sys.executable).parent / "surebox-certify"), str(path), "--json"]
    for one in STATISTICS:
        command += ["--statistic", json.dumps(one)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(about(json.loads(done.stdout)["statistics"])) == expected()


def test_a_frontier_and_its_page_say_it_too(client: httpx.Client, job: dict[str, Any]) -> None:
    spec = {
        "method": "frontier",
        "dataset_id": job["spec"]["dataset_id"],
        "quasi_identifiers": job["spec"]["quasi_identifiers"],
    }
    audit = succeed(client, spec | {"k": [3, 9], "statistics": STATISTICS}, kind="audits")
    for point in audit["result"]["points"]:
        assert set(about([one | {"guaranteed": one["width"]} for one in point["statistics"]])) == expected()
    page = client.get(f"/v1/jobs/{audit['id']}/report").text
    assert "share of town = Genf" in page
    assert page.count("<figure>") == 2, "what each k costs, and widths of ranges"
    assert "None" not in page


def test_single_records_of_a_frontier_are_read_with_an_entry_in_the_log(
    client: httpx.Client, job: dict[str, Any]
) -> None:
    """The job, wherever it is shown, says how many were measured; the whole result and the page have them."""
    spec = {
        "method": "frontier", "dataset_id": job["spec"]["dataset_id"], "quasi_identifiers": ["age", "town"], "k": [4],
        "statistics": [{"kind": "mean", "of": ["age"], "weight": 1.0}], "records": "all",
    }  # fmt: skip
    audit = run(client, spec, kind="audits")
    assert audit["state"] == "succeeded", audit["error"]
    (listed,) = (one for one in client.get("/v1/jobs").json()["items"] if one["id"] == audit["id"])
    events = client.get(f"/v1/jobs/{audit['id']}/events").text
    assert "half_widths" not in json.dumps([audit["result"], listed.get("result")]) + events
    assert audit["result"]["records"] == {"k": 4, "measured": 160}
    where = {"subject": audit["id"], "action": "read"}
    assert client.get("/v1/log", params=where).json()["items"] == []
    whole = client.get(f"/v1/jobs/{audit['id']}/result").json()
    assert len(whole["records"]["listed"]) == 160
    assert len(client.get("/v1/log", params=where).json()["items"]) == 1
    assert "Why records are rare" in client.get(f"/v1/jobs/{audit['id']}/report").text
    assert len(client.get("/v1/log", params=where).json()["items"]) == 2
