"""Quasi-identifiers proposed for a table of which none were named, against counting by hand."""

from collections import Counter
from itertools import combinations
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import succeed, upload

COLUMNS = ["age", "town", "sex"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(25)
    return pl.DataFrame({
        "ahv": [f"756.{number:05d}" for number in rng.permutation(150)],
        "age": rng.integers(20, 70, 150), "town": rng.choice(list("abcdefgh"), 150), "sex": rng.choice(["f", "m"], 150),
        "country": ["CH"] * 150,
    })  # fmt: skip


@pytest.fixture(scope="module")
def job(client: httpx.Client, people: pl.DataFrame) -> dict[str, Any]:
    dataset_id = upload(client, people.write_csv())["id"]
    return succeed(client, {"method": "table", "dataset_id": dataset_id}, kind="audits")


def unique(people: pl.DataFrame, *names: str) -> int:
    return sum(many == 1 for many in Counter(people.select(names).iter_rows()).values()) if names else 0


def test_each_column_and_pair_is_told_with_what_it_singles_out(people: pl.DataFrame, job: dict[str, Any]) -> None:
    proposal = job["result"]["proposal"]
    assert proposal["direct_identifiers"] == ["ahv"]
    assert set(proposal["quasi_identifiers"]) == set(COLUMNS), "neither the identifier nor what all have in common"
    first, *others = proposal["columns"]
    assert (first["column"], first["direct_identifier"], first["unique_alone"]) == ("ahv", True, 150)
    assert [one["contribution"] for one in others] == sorted((one["contribution"] for one in others), reverse=True)
    every = ["age", "town", "sex", "country"]
    for one in others:
        rest = [name for name in every if name != one["column"]]
        assert (one["unique_alone"], one["unique_without"]) == (
            unique(people, one["column"]),
            unique(people, *rest),
        )
        lost = unique(people, *every) - unique(people, *rest)
        assert f"{one['unique_alone']} of 150 records" in one["detail"]
        assert f"without it {lost} of the {unique(people, *every)}" in one["detail"]
    by_pair = {frozenset(one["columns"]): one["unique"] for one in proposal["pairs"]}
    assert by_pair == {frozenset(pair): unique(people, *pair) for pair in combinations(every, 2)}
    assert [one["unique"] for one in proposal["pairs"]] == sorted(by_pair.values(), reverse=True)


def test_it_is_a_proposal_and_no_demand_is_checked_on_it(client: httpx.Client, job: dict[str, Any]) -> None:
    assert (job["result"]["passed"], job["result"]["demands"], job["release_id"]) == (None, {}, None)
    assert job["result"]["verdict"].startswith("This proposes quasi-identifiers and checks no demand.")
    page = client.get(f"/v1/jobs/{job['id']}/report").text
    assert "A proposal: nothing is anonymized, and no demand was checked on it." in page
    assert "Direct identifiers, to leave out of any release: ahv." in page
    body = {"method": "table", "dataset_id": job["spec"]["dataset_id"], "require": {"k": 2}}
    answer = client.post("/v1/audits", json=body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/require")
    named = succeed(client, body | {"quasi_identifiers": COLUMNS}, kind="audits")
    assert named["result"]["proposal"] is None


def test_a_table_of_identifiers_alone_proposes_what_there_is(client: httpx.Client, people: pl.DataFrame) -> None:
    dataset_id = upload(client, people.select("ahv").write_csv())["id"]
    result = succeed(client, {"method": "table", "dataset_id": dataset_id}, kind="audits")["result"]
    assert result["unique"] == 150
    assert result["proposal"]["columns"][0]["unique_alone"] == 150


def test_a_quantity_that_is_nearly_unique_is_no_direct_identifier(client: httpx.Client) -> None:
    rng = np.random.default_rng(8)
    many = 400
    assigned = rng.permutation(many)
    frame = pl.DataFrame({
        "income": rng.choice(np.arange(9_000, 250_000), many, replace=False),
        "weight_kg": np.round(rng.normal(70, 15, many), 6), "born": [f"19{n // 28:02d}-02-{n % 28 + 1:02d}" for n in
                                                                    assigned * 6 % 2_700],
        "run": assigned + 17, "card": 10_000_000 + assigned * 977, "patient_id": assigned * 1_313 + 5,
        "name": [f"n{n}" for n in assigned], "sex": rng.choice(["f", "m"], many), "zone": rng.integers(0, 9, many),
    })  # fmt: skip
    dataset_id = upload(client, frame.write_csv())["id"]
    proposal = succeed(client, {"method": "table", "dataset_id": dataset_id}, kind="audits")["result"]["proposal"]
    assert set(proposal["direct_identifiers"]) == {"run", "card", "patient_id", "name"}
    assert set(proposal["quasi_identifiers"]) >= {"income", "weight_kg", "sex", "zone"}
    assert "income" in proposal["quasi_identifiers"][:3], "most first"
    income = next(one for one in proposal["columns"] if one["column"] == "income")
    assert (income["direct_identifier"], income["unique_alone"]) == (False, many)
    assert "quasi-identifier that only ranges hide" in income["detail"]


def test_of_a_wide_table_the_columns_with_most_values_are_looked_at_and_the_rest_is_counted(
    client: httpx.Client,
) -> None:
    rng = np.random.default_rng(9)
    frame = pl.DataFrame({f"c{j}": rng.integers(0, 2 if j < 80 else 50, 300) for j in range(100)})
    dataset_id = upload(client, frame.write_csv())["id"]
    result = succeed(client, {"method": "table", "dataset_id": dataset_id}, kind="audits")["result"]
    assert len(result["quasi_identifiers"]) == 60
    assert {f"c{j}" for j in range(80, 100)} <= set(result["quasi_identifiers"])
    assert "40 more columns, with fewer different values than these, were not looked at." in result["verdict"]
