"""Warnings of box jobs and their releases, and the weight that keeps unlisted columns from being left whole."""

from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import anonymization, released, succeed, upload

WAGE = [{"kind": "mean", "of": ["wage"]}]


TYPES = ["wage:number", "age:integer", "rich:boolean", "town:integer"]


def people(rows: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    wage = np.round(rng.lognormal(2, 0.6, rows), 2)
    return pl.DataFrame(
        {"wage": wage, "age": rng.integers(18, 70, rows), "rich": wage > 9, "town": rng.integers(0, 60, rows)}
    )


@pytest.fixture(scope="module")
def dataset_id(client: httpx.Client) -> str:
    return str(upload(client, people().write_csv(), type=TYPES)["id"])


def ask(client: httpx.Client, dataset_id: str, **change: Any) -> dict[str, Any]:
    spec = anonymization("boxes", dataset_id, ["wage", "age"], k=5, partition="fast", least_widths="none")
    return succeed(client, spec | change)


def codes(client: httpx.Client, job: dict[str, Any]) -> tuple[dict[str, str | None], set[str]]:
    """Pointers by code of the job's warnings, and the codes of its release's."""
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    assert all(one["pointer"] is None for one in release["warnings"])
    of_job = {one["code"]: one["pointer"] for one in job["warnings"]}
    return of_job, {one["code"] for one in release["warnings"]}


@pytest.mark.parametrize("partition", ["optimal", "fast"])
def test_a_column_that_no_statistic_names_is_cut_too(client: httpx.Client, dataset_id: str, partition: str) -> None:
    job = ask(client, dataset_id, statistics=WAGE, partition=partition)
    assert job["spec"]["unlisted_column_weight"] == 0.03
    rows = released(client, job)
    assert rows["age_lo"].n_unique() > 1
    whole = ask(client, dataset_id, statistics=WAGE, partition=partition, unlisted_column_weight=0)
    narrow, wide = (each["result"]["statistics"][0]["guaranteed"] for each in (whole, job))
    assert narrow[1] - narrow[0] <= wide[1] - wide[0] < 2 * (narrow[1] - narrow[0]), "at a small price for the mean"
    assert released(client, whole)["age_lo"].n_unique() == 1
    assert codes(client, whole) == ({"column_never_cut": "/spec/quasi_identifiers/1"}, {"column_never_cut"})
    assert "column_never_cut" not in codes(client, job)[0]


def test_more_weight_of_unlisted_columns_cuts_more(client: httpx.Client, dataset_id: str) -> None:
    widths = []
    for weight in (0.03, 0.3, 1.0):
        rows = released(client, ask(client, dataset_id, statistics=WAGE, unlisted_column_weight=weight))
        widths.append(float((rows["age_hi"] - rows["age_lo"]).mean()))  # type: ignore[arg-type, operator]
    assert widths[0] > widths[1] > widths[2]


def test_one_box_for_everybody_is_said_once(client: httpx.Client, dataset_id: str) -> None:
    assert codes(client, ask(client, dataset_id, k=400)) == ({"one_box": "/spec/k"}, {"one_box"})


def test_a_range_that_says_nothing_is_named(client: httpx.Client) -> None:
    rng = np.random.default_rng(0)
    body = "x,y\n" + "".join(f"{a},{b}\n" for a, b in rng.normal(size=(40, 2)))
    dataset = upload(client, body)["id"]
    statistics = [{"kind": "mean", "of": ["x"]}, {"kind": "correlation", "of": ["x", "y"]}]
    job = ask(
        client,
        str(dataset),
        quasi_identifiers=["x", "y"],
        k=15,
        statistics=statistics,
        domains={"x": [-9, 9], "y": [-9, 9]},
    )
    assert job["result"]["statistics"][1]["guaranteed"] == [-1, 1]
    of_job, of_release = codes(client, job)
    assert of_job["range_says_nothing"] == "/spec/statistics/1"
    assert "range_says_nothing" in of_release
    (detail,) = (one["detail"] for one in job["warnings"] if one["code"] == "range_says_nothing")
    assert "correlation of 'x', 'y'" in detail
    assert "mean" not in detail


def test_kept_columns_below_k_and_values_that_boxes_give_away(client: httpx.Client, dataset_id: str) -> None:
    job = ask(client, dataset_id, keep=["town", "rich"])
    rows = released(client, job)
    warnings, of_release = codes(client, job)
    assert warnings["kept_below_k"] == "/spec/keep"
    assert warnings["values_certain"] == "/spec/keep/1"
    assert of_release == {"kept_below_k", "values_certain"}
    agreed = rows.group_by("box").agg(pl.len(), pl.col("rich").n_unique() == 1).filter(pl.col("rich"))["len"].sum()
    (detail,) = (one["detail"] for one in job["warnings"] if one["code"] == "values_certain")
    assert f"{agreed / rows.height:.2g} of the rows" in detail
    counted = ask(client, dataset_id, keep=["rich"], k_counts_kept=True, l=2, sensitive=["rich"])
    assert "kept_below_k" not in codes(client, counted)[0]


def test_what_is_not_published_is_said_to_the_job_alone(client: httpx.Client, dataset_id: str) -> None:
    job = ask(client, dataset_id, l=1, sensitive=["rich"], withheld=["rich"])
    assert codes(client, job) == ({"values_certain": "/spec/sensitive/0"}, set())
    half = people().with_columns(pl.when(pl.col("age") > 50).then(pl.col("wage")))
    job = ask(client, str(upload(client, half.write_csv(), type=TYPES)["id"]), missing_policy="drop", k=3)
    assert job["result"]["suppressed"]["missing"] > 200
    assert codes(client, job) == ({"most_records_left_out": "/spec/missing_policy"}, set())


def test_k_of_one_is_said(client: httpx.Client, dataset_id: str) -> None:
    assert codes(client, ask(client, dataset_id, k=1)) == ({"k_of_one": "/spec/k"}, {"k_of_one"})
