"""Rare records suppressed or weighed over HTTP, on real data, checked by other means than ours."""

import json
import math
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.methods.asking import anonymization, released, succeed, upload

COLUMNS = ["age", "education-num", "hours-per-week"]
#: Names that a release must not have, at any depth.
RESTRICTED = {"true_value", "shift", "delta_at_records", "weight_cutoff", "uncertainty", "asymptotic"}
RESTRICTED |= {"records", "released", "suppressed", "rare"}
STATISTICS = [
    *({"kind": kind, "of": [name]} for kind in ("mean", "variance", "standard_deviation") for name in COLUMNS),
    {"kind": "covariance", "of": ["age", "hours-per-week"]},
    {"kind": "correlation", "of": ["age", "hours-per-week"]},
    {"kind": "correlation", "of": ["education-num", "hours-per-week"]},
]


def ask(client: httpx.Client, dataset_id: str, **change: Any) -> dict[str, Any]:
    spec = anonymization("boxes", dataset_id, COLUMNS, k=10, statistics=STATISTICS)
    return succeed(client, spec | {"partition": "fast"} | change)


def members(frame: pl.DataFrame, rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """The original's records that lie in released boxes, and the weight of each (no cut is anybody's value)."""
    x = frame.select(COLUMNS).to_numpy().astype(float)
    weight = np.zeros(len(x))
    rows = rows if "weight" in rows.columns else rows.with_columns(pl.lit(1.0 / rows.height).alias("weight"))
    bounds = [f"{c}_{end}" for c in COLUMNS for end in ("lo", "hi")]
    for box in rows.select("box", *bounds, "weight").unique().iter_rows(named=True):
        lo, hi = (np.array([box[f"{c}_{end}"] for c in COLUMNS]) for end in ("lo", "hi"))
        weight[((lo <= x) & (x <= hi)).all(axis=1)] += box["weight"]
    return x[weight > 0], weight[weight > 0]


def value_of(statistic: dict[str, Any], x: np.ndarray, weight: np.ndarray) -> float:
    part = x[:, [COLUMNS.index(name) for name in statistic["of"]]]
    covariance = np.atleast_2d(np.cov(part.T, aweights=weight, ddof=0))
    match statistic["kind"]:
        case "mean":
            return float(np.average(part[:, 0], weights=weight))
        case "variance":
            return float(covariance[0, 0])
        case "standard_deviation":
            return float(np.sqrt(covariance[0, 0]))
        case "covariance":
            return float(covariance[0, 1])
        case _:
            return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


@pytest.mark.parametrize("rare", ["suppress", "weigh"])
def test_ranges_hold_what_is_kept(client: httpx.Client, adult: tuple[str, pl.DataFrame], rare: str) -> None:
    dataset_id, frame = adult
    job = ask(client, dataset_id, rare_records=rare, keep=["sex"])
    result, rows = job["result"], released(client, job)
    assert result["released"] + result["suppressed"]["rare"] == result["records"] == frame.height
    assert rows.height == result["released"] < frame.height
    assert rows.group_by("box").len()["len"].min() == result["smallest_box"] >= 10
    assert sorted(rows["box"].unique()) == list(range(1, result["box_count"] + 1)), (
        "no number shows that a box is missing"
    )
    assert result["k_with_kept"] == rows.group_by("box", "sex").len()["len"].min()

    x, weight = members(frame, rows)
    assert len(x) == rows.height, "boxes go as a whole, with all their records"
    assert weight.sum() == pytest.approx(1.0, rel=1e-9)
    original = frame.select(COLUMNS).to_numpy().astype(float)
    for statistic in result["statistics"]:
        value = value_of(statistic, x, weight)
        lo, hi = statistic["guaranteed"]
        slack = 1e-12 * abs(value)
        assert lo - slack <= value <= hi + slack
        assert lo <= statistic["estimate"] <= hi
        assert statistic["true_value"] == pytest.approx(value, rel=1e-9)
        before = value_of(statistic, original, np.ones(len(original)))
        assert statistic["shift"] == pytest.approx(before - value, rel=1e-6, abs=1e-9 * abs(before))
    expected = ["box", *(f"{c}_{end}" for c in COLUMNS for end in ("lo", "hi"))]
    assert rows.columns == [*expected, *(["weight"] if rare == "weigh" else []), "sex"]
    assert [
        column["name"] for column in client.get(f"/v1/releases/{job['release_id']}").json()["columns"]
    ] == rows.columns


def test_weighing_and_suppressing_narrow_what_keeping_leaves_wide(
    client: httpx.Client, adult: tuple[str, pl.DataFrame]
) -> None:
    kept, suppressed, weighed = (
        ask(client, adult[0], rare_records=rare)["result"] for rare in ("keep", "suppress", "weigh")
    )
    total = {
        name: one["uncertainty"]["privacy"] + one["uncertainty"]["statistical"]
        for name, one in (("kept", kept), ("suppressed", suppressed), ("weighed", weighed))
    }
    assert total["suppressed"] < total["kept"]
    assert total["weighed"] < total["kept"]
    assert (kept["suppressed"]["rare"], kept["weight_cutoff"], suppressed["weight_cutoff"]) == (0, None, None)
    assert weighed["weight_cutoff"] > 0
    assert kept["uncertainty"]["statistical"] < suppressed["uncertainty"]["statistical"]


def test_bias_aware_weights_keep_nearly_all_and_the_means_of_all(
    client: httpx.Client, adult: tuple[str, pl.DataFrame]
) -> None:
    dataset_id, frame = adult
    means = [{"kind": "mean", "of": [name]} for name in COLUMNS]
    jobs = {
        objective: ask(client, dataset_id, rare_records="weigh", objective=objective, statistics=means)
        for objective in ("paper", "bias_aware")
    }
    kept = {objective: job["result"]["released"] / frame.height for objective, job in jobs.items()}
    assert kept["paper"] < 0.7
    assert 0.95 <= kept["bias_aware"] < 1.0, "`max_suppressed`"
    shift = {
        objective: sum(one["weight"] * abs(one["shift"]) for one in job["result"]["statistics"])
        for objective, job in jobs.items()
    }
    assert shift["bias_aware"] < 0.25 * shift["paper"]
    for objective, job in jobs.items():
        provenance = client.get(f"/v1/releases/{job['release_id']}/provenance").json()
        assert ("prices" in _names(provenance)) == (objective == "bias_aware")


def test_the_weight_is_one_number_per_box(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> None:
    rows = released(client, ask(client, adult[0], rare_records="weigh"))
    per_box = rows.group_by("box").agg(pl.col("weight").n_unique().alias("weights"), pl.col("weight").first())
    assert per_box["weights"].max() == 1
    assert rows["weight"].sum() == pytest.approx(1.0, rel=1e-9)
    assert rows["weight"].min() > 0
    assert per_box["weight"].n_unique() > per_box.height / 10, "narrow boxes count for more than wide ones"


@pytest.mark.parametrize("rare", ["suppress", "weigh"])
def test_the_release_tells_neither_what_is_missing_nor_what_it_changed(
    client: httpx.Client, adult: tuple[str, pl.DataFrame], rare: str
) -> None:
    job = ask(client, adult[0], rare_records=rare)
    result = job["result"]
    # where a range is a point the boxes themselves leave one value of each row
    unknown = [one for one in result["statistics"] if not math.isclose(*one["guaranteed"], rel_tol=1e-9)]
    assert len(unknown) >= len(result["statistics"]) / 2
    said = {result["records"], result["suppressed"]["rare"]}
    for part in ("", "/statistics", "/provenance"):
        answer = client.get(f"/v1/releases/{job['release_id']}{part}")
        assert answer.status_code == httpx.codes.OK
        assert not RESTRICTED & _names(answer.json())
        assert not said & _numbers(answer.json())
        for statistic in unknown:
            assert not {statistic["true_value"], statistic["shift"]} & _numbers(answer.json())
    provenance = client.get(f"/v1/releases/{job['release_id']}/provenance").json()
    assert ("weighed_by" in _names(provenance)) == (rare == "weigh"), "weights can be computed again by anyone"
    flags = client.get(f"/v1/releases/{job['release_id']}").json()["flags"]
    assert {"suppress": "rare-records-suppressed", "weigh": "weighed"}[rare] in flags


def test_flags_say_the_method_also_where_nothing_was_rare(client: httpx.Client) -> None:
    """A release of which all was kept looks like one of which some was not."""
    dataset = upload(client, "x\n" + "\n".join(map(str, range(40))))
    spec = anonymization("boxes", dataset["id"], ["x"], k=40, rare_records="suppress")
    job = succeed(client, spec)
    assert (job["result"]["released"], job["result"]["suppressed"]["rare"]) == (40, 0)
    assert "rare-records-suppressed" in client.get(f"/v1/releases/{job['release_id']}").json()["flags"]


def test_demands_hold_where_records_are_suppressed(client: httpx.Client, adult: tuple[str, pl.DataFrame]) -> None:
    """Whole boxes go, so those that stay are as k-anonymous and diverse as before."""
    demands = {"keep": ["sex"], "l": 3, "sensitive": ["sex"]}
    small = {"l": 2, "quasi_identifiers": ["age", "hours-per-week"], "statistics": STATISTICS[:1]}
    job = ask(client, adult[0], rare_records="weigh", **(demands | small))
    rows = released(client, job)
    assert job["result"]["suppressed"]["rare"] > 0
    assert rows.group_by("box").len()["len"].min() == job["result"]["smallest_box"] >= 10
    assert rows.group_by("box").agg(pl.col("sex").n_unique())["sex"].min() == 2


def _names(value: Any) -> set[str]:
    """Every name in a document, those inside texts that are JSON too."""
    match _opened(value):
        case dict() as parts:
            return set(parts) | {name for inner in parts.values() for name in _names(inner)}
        case list() as parts:
            return {name for inner in parts for name in _names(inner)}
        case _:
            return set()


def _numbers(value: Any) -> set[float]:
    """Every number in a document, those inside texts that are JSON too."""
    match _opened(value):
        case dict() as parts:
            return {number for inner in parts.values() for number in _numbers(inner)}
        case list() as parts:
            return {number for inner in parts for number in _numbers(inner)}
        case bool():
            return set()
        case int() | float() as number:
            return {number}
        case _:
            return set()


def _opened(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value.startswith(("{", "[")) else value


def test_marked_boxes_are_all_published_with_ranges_about_all_and_about_the_core(
    client: httpx.Client, adult: tuple[str, pl.DataFrame]
) -> None:
    dataset_id, frame = adult
    job = ask(client, dataset_id, rare_records="mark")
    rows = released(client, job)
    assert rows.height == job["result"]["released"] == frame.height
    outside = rows.filter(~pl.col("core")).height
    assert 0 < outside <= 0.05 * rows.height, "`max_suppressed`"
    assert rows.group_by("box").agg(pl.col("core").n_unique())["core"].to_list() == [1] * job["result"]["box_count"]
    x, weight = members(frame, rows.filter(pl.col("core")))
    for statistic in job["result"]["statistics"]:
        assert statistic["guaranteed"][0] <= statistic["true_value"] <= statistic["guaranteed"][1]
        lo, hi = statistic["core"]["guaranteed"]
        value = value_of(statistic, x, weight)
        assert lo - 1e-12 * abs(value) <= value <= hi + 1e-12 * abs(value)
