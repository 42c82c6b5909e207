"""Shares, cells and means within values of an ordinal column over HTTP, and asked again of the release."""

from typing import Any

import httpx
import polars as pl
import pytest

from tests.methods.asking import succeed

SIZES = ["Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
         "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate"]  # fmt: skip
HIGH = SIZES[12:]
STATISTICS: list[dict[str, Any]] = [
    {"kind": "mean", "of": ["age"]},
    {"kind": "share", "of": ["education"], "values": HIGH},
    {"kind": "crosstab", "of": ["sex", "education"]},
    {"kind": "domain_mean", "of": ["age", "education"], "values": HIGH},
]


def spec(dataset: str, **change: Any) -> dict[str, Any]:
    return {
        "method": "boxes", "dataset_id": dataset, "quasi_identifiers": ["age", "education", "sex"], "k": 5,
        "bounds": "tight",
        "ordinal": {"education": SIZES}, "statistics": STATISTICS,
    } | change  # fmt: skip


@pytest.fixture(scope="module")
def published(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> dict[str, Any]:
    return succeed(client, spec(adult[0]))


def truth(one: dict[str, Any], frame: pl.DataFrame) -> float:
    """By the definitions."""
    if one["kind"] == "crosstab":
        sex, education = one["values"]
        return float(((frame["sex"] == sex) & (frame["education"] == education)).sum())
    inside = frame["education"].is_in(HIGH)
    return float(inside.mean() if one["kind"] == "share" else frame.filter(inside)["age"].mean())  # type: ignore[arg-type]


def test_ranges_hold_what_the_records_have(published: dict[str, Any], adult: tuple[str, pl.DataFrame]) -> None:
    statistics = [one for one in published["result"]["statistics"] if one["kind"] != "mean"]
    assert [one["values"] for one in statistics if one["kind"] == "crosstab"] == [
        [sex, education] for sex in ("Female", "Male") for education in SIZES
    ]
    for one in statistics:
        true = truth(one, adult[1])
        assert one["true_value"] == pytest.approx(true)
        assert one["guaranteed"][0] - 1e-9 <= true <= one["guaranteed"][1] + 1e-9
        assert one["sharp"]


def test_readers_ask_the_same_of_the_release(client: httpx.Client, published: dict[str, Any]) -> None:
    answer = client.post(
        f"/v1/releases/{published['release_id']}/statistics",
        json={"statistics": [STATISTICS[1], STATISTICS[3]]},
    )
    assert answer.status_code == httpx.codes.OK, answer.text
    by_kind = {one["kind"]: one for one in published["result"]["statistics"]}
    for one in answer.json()["statistics"]:
        assert one["guaranteed"] == pytest.approx(by_kind[one["kind"]]["guaranteed"])
        assert one["values"] == HIGH


def test_a_value_beyond_the_order_is_refused_where_it_stands(
    client: httpx.Client, adult: tuple[str, pl.DataFrame]
) -> None:
    statistic = {"kind": "share", "of": ["education"], "values": ["Masters", "Habilitation"]}
    answer = client.post("/v1/anonymizations", json=spec(adult[0], statistics=[statistic]))
    assert answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/statistics/0/values/1"]
