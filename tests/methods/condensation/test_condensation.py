"""`condensation` over HTTP: pseudo-records that hold the moments of groups of k, and nobody's values."""

import io
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import anonymization, released, run, succeed, upload
from tests.methods.densities import upload_frame
from tests.methods.in_process import Bench
from tests.methods.refusing import refused
from tests.methods.uncertain.test_uncertain import COLUMNS, names_and_numbers, people

SMALL = "größe,Wert,leer,text,fest\n" + "".join(
    f"{i},{i * i / 7},{'' if i % 4 == 0 else i},t{i % 3},5\n" for i in range(40)
)


@pytest.fixture(scope="module")
def small(client: httpx.Client) -> str:
    return str(upload(client, SMALL)["id"])


def ask(client: httpx.Client, frame: pl.DataFrame, **change: Any) -> dict[str, Any]:
    spec = {"method": "condensation", "dataset_id": upload_frame(client, frame), "quasi_identifiers": COLUMNS, "k": 10}
    return succeed(client, spec | change)


def test_every_group_has_k_records_and_the_release_its_moments(client: httpx.Client) -> None:
    frame = people(1_500)
    job = ask(client, frame)
    result, rows = job["result"], released(client, job)
    assert rows.columns == COLUMNS
    assert rows.height == result["records"] == result["released"] == 1_500
    assert 10 <= result["smallest_group"] <= result["largest_group"] < 20
    assert 1_500 / result["largest_group"] <= result["group_count"] <= 150
    x, z = frame.select(COLUMNS).to_numpy(), rows.to_numpy()
    spread = x.std(axis=0)
    assert np.abs(z.mean(axis=0) - x.mean(axis=0)).max() < 5 * (spread / np.sqrt(1_500)).max()
    assert z.std(axis=0) == pytest.approx(spread, rel=0.1)
    assert np.corrcoef(z.T)[0, 1] == pytest.approx(np.corrcoef(x.T)[0, 1], abs=0.05)
    assert len({tuple(row) for row in z.tolist()} & {tuple(row) for row in x[6:].tolist()}) == 0, "nobody's values"


def test_kept_values_stay_with_their_group_and_rows_are_in_no_order(client: httpx.Client) -> None:
    frame = people(600)
    rows = released(client, ask(client, frame, keep=["id"]))
    assert rows.columns == [*COLUMNS, "id"]
    assert sorted(rows["id"]) == sorted(frame["id"])
    place = {name: i for i, name in enumerate(frame["id"].to_list())}
    order = np.array([place[name] for name in rows["id"].to_list()])
    assert abs(np.corrcoef(order, np.arange(600))[0, 1]) < 0.2
    x = frame.select(COLUMNS).to_numpy()[order]
    apart = np.abs(rows.select(COLUMNS).to_numpy() - x) / x.std(axis=0)
    assert apart.mean() < 0.5, "a row is near the record whose kept values it has"


def test_nothing_public_tells_of_groups(client: httpx.Client) -> None:
    job = ask(client, people(), seed=3)
    for part in ("", "/statistics", "/provenance"):
        names, _ = names_and_numbers(client.get(f"/v1/releases/{job['release_id']}{part}").json())
        assert not {"group_count", "smallest_group", "largest_group", "records", "released", "suppressed"} & names
    assert client.get(f"/v1/releases/{job['release_id']}").json()["flags"] == ["types-from-data", "reproducible"]


def test_a_given_seed_makes_the_release_reproducible(client: httpx.Client) -> None:
    frame = people()
    dataset = upload_frame(client, frame)
    spec = {"method": "condensation", "dataset_id": dataset, "quasi_identifiers": COLUMNS, "k": 5}
    one, other, free = (succeed(client, spec | seed) for seed in ({"seed": 1}, {"seed": 1}, {}))
    sums = [client.get(f"/v1/releases/{job['release_id']}").json()["files"] for job in (one, other, free)]
    assert sums[0] == sums[1] != sums[2]


@pytest.mark.parametrize("k", [1, 40])
def test_one_group_and_groups_of_one(client: httpx.Client, small: str, k: int) -> None:
    spec = {"method": "condensation", "dataset_id": small, "quasi_identifiers": ["größe", "fest"], "k": k}
    job = succeed(client, spec)
    assert job["result"]["group_count"] == 40 // k
    rows = released(client, job)
    assert rows["fest"].to_list() == pytest.approx([5.0] * 40), "what is constant stays so"
    if k == 1:
        assert sorted(rows["größe"]) == pytest.approx(list(range(40))), "a group of one has no spread"


def test_records_with_missing_values_are_left_out_when_asked(client: httpx.Client, small: str) -> None:
    spec = {"method": "condensation", "dataset_id": small, "quasi_identifiers": ["größe", "leer"], "k": 3}
    job = succeed(client, spec | {"missing_policy": "drop", "keep": ["text"]})
    assert (job["result"]["records"], job["result"]["released"], job["result"]["suppressed"]["missing"]) == (40, 30, 10)
    wanted = pl.read_csv(io.StringIO(SMALL)).drop_nulls("leer")["text"]
    assert sorted(released(client, job)["text"]) == sorted(wanted)


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"quasi_identifiers": ["größe", "nein"]}, "/quasi_identifiers/1", "no column 'nein'"),
        ({"quasi_identifiers": ["text"]}, "/quasi_identifiers/0", "not numeric"),
        ({"quasi_identifiers": ["leer"]}, "/quasi_identifiers/0", "10 missing values"),
        ({"quasi_identifiers": ["größe", "größe"]}, "/quasi_identifiers/1", "twice"),
        ({"k": 41}, "/k", "the largest k is 40"),
        ({"k": 31, "quasi_identifiers": ["leer"], "missing_policy": "drop"}, "/k", "the largest k is 30"),
        ({"keep": ["größe"]}, "/keep/0", "cannot be kept"),
        ({"keep": ["nein"]}, "/keep/0", "no column"),
    ],
)
def test_what_cannot_be_done_is_refused_at_its_place(
    tmp_path: Path, change: dict[str, Any], pointer: str, says: str
) -> None:
    there = Bench(tmp_path)
    there.upload("small", pl.read_csv(io.StringIO(SMALL)))
    refused(
        there,
        {"method": "condensation", "dataset_id": "small", "quasi_identifiers": ["größe"], "k": 5} | change,
        pointer,
        says,
    )


def test_too_few_complete_records_are_told_with_the_largest_k(client: httpx.Client) -> None:
    """Each column has 20 values, but only 10 records have both: only computing can tell."""
    body = "a,b\n" + "".join(f"{i if i < 20 else ''},{i if i >= 10 else ''}\n" for i in range(30))
    dataset = upload(client, body)["id"]
    spec = anonymization("condensation", dataset, ["a", "b"], k=15, missing_policy="drop")
    job = run(client, spec)
    assert job["state"] == "failed"
    assert job["error"]["errors"][0]["pointer"] == "/k"
    assert "the largest k is 10" in job["error"]["detail"]
