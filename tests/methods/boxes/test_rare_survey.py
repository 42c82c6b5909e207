"""Rare records marked or suppressed over HTTP, of records that weigh unequally and of such that lack values.

Cores are found again from published rows alone, by the oracle of tests.algorithms.boxes; ranges are compared with what
the original's records have, each found in its box by where it lies.
"""

from collections.abc import Mapping
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from tests.algorithms.boxes.core_oracle import Box, Number, Oracle, every_value
from tests.methods.asking import released, succeed, upload

REGIONS = ["east", "north", "west"]
STATISTICS: list[dict[str, Any]] = [
    {"kind": "mean", "of": ["income"], "weight": 0.02},
    {"kind": "mean", "of": ["age"], "weight": 0.05},
    {"kind": "variance", "of": ["income"], "weight": 0.0001},
    {"kind": "correlation", "of": ["income", "age"], "weight": 0.5},
    {"kind": "share", "of": ["region"], "weight": 1.0},
    {"kind": "domain_mean", "of": ["income", "region"], "weight": 0.01},
    {"kind": "crosstab", "of": ["region", "sex"], "weight": 0.001},
]
BOOKS = {"region": REGIONS, "sex": ["f", "m"]}
SPEC: dict[str, Any] = {
    "method": "boxes", "quasi_identifiers": ["income", "age", "region", "sex"], "partition": "fast",
    "statistics": STATISTICS,
    "domains": {"income": [0, 2000], "age": [0, 120]}, "nominal": {name: {"values": BOOKS[name]} for name in BOOKS},
}  # fmt: skip
UNEQUAL: dict[str, dict[str, Any]] = {
    "weights of boxes": {"survey_weight_column": "design", "missing_policy": "drop"},
    "weights of rows": {"survey_weight_column": "wave", "released_weights": "row", "missing_policy": "drop"},
    "patterns": {"missing_policy": "pattern"},
    "weights and patterns": {"survey_weight_column": "design", "missing_policy": "pattern"},
}


def weighs(row: Mapping[str, Any]) -> float:
    """What a row counts for as published: the middle of its box's interval, or its own weight."""
    if "weight_mean_lo" in row:
        return 0.5 * float(row["weight_mean_lo"]) + 0.5 * float(row["weight_mean_hi"])
    return float(row.get("weight", 1.0))


def people(rows: int) -> pl.DataFrame:
    """Of each record at most one value is missing. Twenty weights and more are the least, and the greatest."""
    draw = np.random.default_rng(11)
    income, lacks = np.minimum(np.round(draw.lognormal(3, 1, rows), 3), 1900), draw.random(rows)
    design = np.round(draw.gamma(2, 20, rows) + income / 4 + 1, 2)
    design = np.clip(design, *np.sort(design)[[19, -20]])  # what decides sees these as they are published
    frame = pl.DataFrame({
        "income": income, "age": draw.integers(18, 90, rows), "region": draw.choice(REGIONS, rows, p=[0.5, 0.3, 0.2]),
        "sex": draw.choice(["f", "m"], rows), "design": design,
        "wave": draw.choice([1.5, 4.0], rows),
    })  # fmt: skip
    return frame.with_columns(
        pl.when(pl.Series(lacks > 0.2)).then(pl.col("income")).alias("income"),
        pl.when(pl.Series(lacks < 0.85)).then(pl.col("region")).alias("region"),
    )


@pytest.fixture(scope="module")
def tables(client: httpx.Client) -> dict[int, tuple[str, pl.DataFrame]]:
    """A few records and many, uploaded."""
    frames = {rows: people(rows) for rows in (220, 1200)}
    return {rows: (upload(client, frame.write_csv())["id"], frame) for rows, frame in frames.items()}


def boxes_of(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Published boxes as the oracle has them, in the order of their numbers."""
    boxes = []
    for (_,), part in sorted(rows.group_by("box")):
        one = part.row(0, named=True)
        box = {"c": part.height, "v": weighs(one), "core": one.get("core", True)}
        box |= {n: (one[f"{n}_lo"], one[f"{n}_hi"]) for n in ("income", "age") if one[f"{n}_lo"] is not None}
        boxes.append(box | {n: frozenset(one[f"{n}_set"]) for n in BOOKS if one[f"{n}_set"] is not None})
    return boxes


def numbers(boxes: list[Box]) -> list[Number]:
    """What STATISTICS asks, number by number."""
    values = []
    for one in STATISTICS:
        mass = sum(box["c"] * box["v"] for box in boxes if set(one["of"]) <= set(box))
        omega = one["weight"] * (mass if one["kind"] == "crosstab" else 1.0)
        values += every_value(one["kind"], [(name, BOOKS.get(name)) for name in one["of"]], omega)
    return values


def oracle_of(rows: pl.DataFrame) -> tuple[Oracle, list[int]]:
    """The oracle of a marked release, and the core that it marks."""
    boxes = boxes_of(rows)
    core = [number for number, box in enumerate(boxes) if box["core"]]
    return Oracle(numbers(boxes), boxes, SPEC["quasi_identifiers"]), core


@pytest.mark.parametrize("name", UNEQUAL)
def test_the_core_follows_from_the_release_alone(
    client: httpx.Client, tables: dict[int, tuple[str, pl.DataFrame]], name: str
) -> None:
    """Of all sets of boxes that leave no more aside than is allowed the core has the least J."""
    spec = SPEC | {"dataset_id": tables[220][0], "k": 14, "max_suppressed": 0.4, "rare_records": "mark"}
    rows = released(client, succeed(client, spec | UNEQUAL[name]))
    oracle, core = oracle_of(rows)
    assert 6 <= len(oracle.boxes) <= 13
    assert tuple(core) in set(oracle.subsets(0.4))
    assert len(core) < len(oracle.boxes)
    assert oracle.objective(core) == pytest.approx(oracle.least(0.4), rel=1e-9)


@pytest.mark.parametrize("name", UNEQUAL)
def test_no_step_from_the_core_of_many_boxes_lowers_the_objective(
    client: httpx.Client, tables: dict[int, tuple[str, pl.DataFrame]], name: str
) -> None:
    """And what suppression publishes is the core: the same boxes, rows and weights."""
    spec = SPEC | {"dataset_id": tables[1200][0], "k": 5, "max_suppressed": 0.1} | UNEQUAL[name]
    marked = succeed(client, spec | {"rare_records": "mark"})
    rows = released(client, marked)
    oracle, core = oracle_of(rows)
    assert len(core) < len(oracle.boxes)
    least, size, every = oracle.objective(core), sum(box["c"] for box in oracle.boxes), set(range(len(oracle.boxes)))
    assert least < oracle.objective(sorted(every))
    for changed in sorted(every):
        other = sorted(set(core) ^ {changed})
        if sum(oracle.boxes[b]["c"] for b in every - set(other)) <= 0.1 * size:
            assert oracle.objective(other) >= least * (1.0 - 1e-9)
    kept = succeed(client, spec | {"rare_records": "suppress"})
    left = released(client, kept)
    assert kept["result"]["suppressed"]["rare"] == marked["result"]["released"] - left.height > 0
    same = [column for column in left.columns if column != "box"]
    inside = rows.filter("core").select(same)
    assert sorted(left.select(same).iter_rows(), key=repr) == sorted(inside.iter_rows(), key=repr)
    assert sorted(left["box"].unique()) == list(range(1, left["box"].n_unique() + 1))
    for one, of_core in zip(kept["result"]["statistics"], marked["result"]["statistics"], strict=True):
        if one["guaranteed"] is not None:
            assert one["guaranteed"] == pytest.approx(of_core["core"]["guaranteed"], rel=0.02, abs=0.02)


@pytest.mark.parametrize("name", UNEQUAL)
@pytest.mark.parametrize("rare", ["mark", "suppress"])
def test_ranges_hold_what_the_records_have(
    client: httpx.Client, tables: dict[int, tuple[str, pl.DataFrame]], name: str, rare: str
) -> None:
    dataset_id, frame = tables[1200]
    spec = SPEC | {"dataset_id": dataset_id, "k": 5, "max_suppressed": 0.1, "rare_records": rare}
    job = succeed(client, spec | UNEQUAL[name])
    rows = released(client, job)
    if "drop" in UNEQUAL[name].values():
        frame = frame.drop_nulls()
    boxes = rows.unique("box")
    members = [_box_of(record, boxes, rows.columns) for record in frame.iter_rows(named=True)]
    assert sum(one is not None for one in members) == rows.height, "boxes go as a whole, with all their records"
    records = frame.with_columns(
        pl.Series("v", [0.0 if one is None else weighs(one) for one in members]),
        pl.Series("core", [one is not None and one.get("core", True) for one in members]),
        pl.Series("there", [one is not None for one in members]),
    )
    for one in job["result"]["statistics"]:
        assert _holds(one["guaranteed"], value_of(one, records.filter("there"))), one
        if rare == "mark":
            assert _holds(one["core"]["guaranteed"], value_of(one, records.filter("core"))), one
        own = {"design": "design", "wave": "wave"}.get(UNEQUAL[name].get("survey_weight_column", ""))
        true = value_of(one, records.filter("there").with_columns(v=pl.col(own) if own else pl.lit(1.0)))
        assert one["true_value"] == pytest.approx(true, rel=1e-9), "by the records' own weights"


def _holds(ends: list[float] | None, value: float) -> bool:
    return ends is None or ends[0] - 1e-9 * abs(value) <= value <= ends[1] + 1e-9 * abs(value)


def _box_of(record: dict[str, Any], boxes: pl.DataFrame, columns: list[str]) -> dict[str, Any] | None:
    """The published box that a record lies in; None where it was left out."""
    candidates = boxes if "wave" not in columns else boxes.filter(pl.col("wave") == record["wave"])
    for name in ("income", "age"):
        value = record[name]
        there = pl.col(f"{name}_lo").is_null() if value is None else pl.lit(value).is_between(
            pl.col(f"{name}_lo"), pl.col(f"{name}_hi")
        )  # fmt: skip
        candidates = candidates.filter(there)
    for name in BOOKS:
        held = pl.col(f"{name}_set")
        candidates = candidates.filter(held.is_null() if record[name] is None else held.list.contains(record[name]))
    assert candidates.height <= 1
    return candidates.row(0, named=True) if candidates.height else None


def value_of(one: dict[str, Any], records: pl.DataFrame) -> float:
    """A statistic of the records that have its columns, weighted by `v`."""
    records = records.drop_nulls(one["of"])
    v, of = records["v"].to_numpy(), one["of"]
    if one["kind"] == "share":
        return float(v[records[of[0]].is_in(one["values"]).to_numpy()].sum() / v.sum())
    if one["kind"] == "crosstab":
        both = [records[name] == value for name, value in zip(of, one["values"], strict=True)]
        return float(v[(both[0] & both[1]).to_numpy()].sum())
    if one["kind"] == "domain_mean":
        inside = records[of[1]].is_in(one["values"]).to_numpy()
        return float(np.average(records[of[0]].to_numpy()[inside], weights=v[inside]))
    x = records.select(of).to_numpy().astype(float).T
    if one["kind"] == "mean":
        return float(np.average(x[0], weights=v))
    covariance = np.atleast_2d(np.cov(x, aweights=v, ddof=0))
    if one["kind"] == "variance":
        return float(covariance[0, 0])
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
