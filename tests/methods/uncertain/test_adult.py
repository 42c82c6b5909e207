"""`uncertain`, `condensation` and `linkage` over HTTP on real, tied and skewed data."""

from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import anonymization, released, succeed
from tests.methods.boxes.test_boxes import NUMBERS, true_value
from tests.methods.densities import expected_anonymity, statistics, true_records, units, upload_frame


@pytest.fixture(scope="module")
def named(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> tuple[str, pl.DataFrame]:
    """Adult's numbers with a name for every record, as a dataset of its own."""
    frame = adult[1].select(*NUMBERS, "income").with_columns(pl.format("p{}", pl.int_range(pl.len())).alias("id"))
    return upload_frame(client, frame), frame


@pytest.mark.parametrize(("scales", "axes"), [("common", "global"), ("levels", "global"), ("shared", "local")])
def test_every_promise_of_a_release_of_adult_holds(
    client: httpx.Client, named: tuple[str, pl.DataFrame], scales: str, axes: str
) -> None:
    dataset, frame = named
    if scales != "common":  # they are attacked too, which takes a minute of all records
        frame = frame.head(4_000)
        dataset = upload_frame(client, frame)
    spec = anonymization("uncertain", dataset, NUMBERS, k=10, keep=["id", "income"])
    job = succeed(client, spec | {"scales": scales, "axes": axes, "accept_findings": ["composition"]})
    result = job["result"]
    rows, truth = true_records(client, job, frame, NUMBERS)
    assert result["records"] == frame.height == rows.height + result["suppressed"]["rare"]
    assert result["suppressed"]["rare"] <= 0.011 * frame.height
    sample = np.random.default_rng(0).choice(rows.height, 60, replace=False)
    anonymity = expected_anonymity(
        rows,
        truth,
        NUMBERS,
        density="gaussian",
        unit=units(client, job, NUMBERS),
        by_cell=scales != "common",
        subset=sample,
    )
    assert 10 <= result["expected_anonymity"]["min"] <= anonymity.min() * (1 + 1e-9)
    chosen = frame.join(rows.select("id"), on="id", how="semi")
    assert rows["income"].value_counts().sort("income").rows() == chosen["income"].value_counts().sort("income").rows()
    estimates = statistics(client, job)
    for (kind, *of), one in estimates.items():
        if kind in {"mean", "variance", "covariance", "correlation"} and one["estimate"] is not None:
            wanted: dict[str, Any] = {"kind": kind, "of": of}
            assert abs(one["estimate"] - true_value(chosen, wanted)) < 5 * one["standard_error"], (kind, of)

    if scales == "common":
        return
    audit = succeed(client, {"method": "linkage", "release_id": job["release_id"]}, kind="audits")["result"]
    assert audit["sampled"] == rows.height
    for attack in (
        audit,
        audit["adversary_knows_90_percent"],
        audit["after_scale_matching"],
        audit["after_scale_matching"]["adversary_knows_90_percent"],
    ):
        assert attack["mean_rank"] >= 9
        assert attack["share_rank_1"] < 0.2


def test_condensed_adult_keeps_its_moments(client: httpx.Client, named: tuple[str, pl.DataFrame]) -> None:
    dataset, frame = named
    job = succeed(client, {"method": "condensation", "dataset_id": dataset, "quasi_identifiers": NUMBERS, "k": 10})
    rows = released(client, job)
    assert rows.height == frame.height
    assert 10 <= job["result"]["smallest_group"] <= job["result"]["largest_group"] < 20
    x, z = frame.select(NUMBERS).to_numpy(), rows.to_numpy()
    assert np.corrcoef(z.T) == pytest.approx(np.corrcoef(x.T), abs=0.05)
