"""An audit of one's own release looks at the columns that it was made by, and finds the k that it promises."""

import httpx
import numpy as np
import polars as pl
import pytest

from tests.drawing import seeds
from tests.methods.asking import released, succeed, upload


def people(draw: np.random.Generator) -> pl.DataFrame:
    rows = int(draw.integers(60, 300))
    return pl.DataFrame({
        "age": draw.integers(18, 80, rows), "wage": draw.lognormal(3, 1, rows).round(2),
        "town": draw.choice(["a", "b", "c,d"], rows), "ill": draw.choice(["flu", "cold", "none"], rows),
    })  # fmt: skip


@pytest.mark.parametrize("seed", seeds(6))
def test_the_k_of_a_release_is_found_in_the_columns_that_it_protects(client: httpx.Client, seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = [str(name) for name in draw.permutation(["age", "wage", "town"])[: draw.integers(1, 4)]]
    k, keep = int(draw.integers(2, 9)), ["ill"] if draw.random() < 0.7 else []
    dataset = upload(client, people(draw).write_csv(), new_family=True)["id"]
    spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": names, "k": k, "keep": keep}
    if keep and draw.random() < 0.5:
        spec |= {"sensitive": keep, "l": 2}
    release = succeed(client, spec)["release_id"]
    audit = {"method": "table", "release_id": release, "require": {"k": k}}
    result = succeed(client, audit, kind="audits")["result"]
    assert result["passed"] is True
    assert result["demands"]["k"]["measured"] >= k
    assert sorted(result["quasi_identifiers"]) == sorted(names)
    assert result["proposal"] is None


def test_demands_on_a_release_without_quasi_identifiers_are_refused_with_the_place(client: httpx.Client) -> None:
    dataset = upload(client, people(np.random.default_rng(1)).write_csv(), new_family=True)["id"]
    answer = client.post("/v1/audits", json={"method": "table", "dataset_id": dataset, "require": {"k": 5}})
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert [one["pointer"] for one in answer.json()["errors"]] == ["/require"]


@pytest.mark.parametrize("seed", seeds(4))
def test_kept_columns_that_single_people_out_are_found_though_k_holds_without_them(
    client: httpx.Client, seed: int
) -> None:
    draw = np.random.default_rng([11, seed])
    frame = people(draw)
    frame = frame.with_columns(job=pl.Series([f"job {at}" for at in draw.integers(0, 40, frame.height)]))
    dataset = upload(client, frame.write_csv(), new_family=True)["id"]
    spec = {"method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age"], "k": 3, "keep": ["ill", "job"]}
    job = succeed(client, spec | {"publish": "draft"})
    rows = released(client, job)
    alone = rows.filter(pl.struct("age_lo", "age_hi", "ill", "job").is_unique()).height / rows.height
    audit = {"method": "table", "release_id": job["release_id"]}
    findings = succeed(client, audit, kind="audits")["result"]["findings"]
    (finding,) = [one for one in findings if "kept" in one["detail"]]
    assert finding["measured"] == pytest.approx(alone)
    assert f"'ill' and 'job' of a person too can single out {alone:.1%} of the records" in finding["detail"]
    unknown = succeed(client, audit | {"sensitive": ["ill", "job"]}, kind="audits")["result"]["findings"]
    assert not [one for one in unknown if "kept" in one["detail"]]
