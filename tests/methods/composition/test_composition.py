"""The audits `composition` and `determination`, against joining releases row by row."""

import json
from collections import Counter
from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.errors import InvalidError
from tests.methods.in_process import Bench
from tests.methods.refusing import refused
from workers.methods.context import InputFile

COLUMNS = ["x", "y"]


def people(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(6)
    return pl.DataFrame(
        {
            "x": rng.integers(0, 60, n).astype(np.float64),  # numbers: bounds of whole ones are closed
            "y": rng.normal(size=n).round(2),
            "home": np.arange(n) // 2,
            "ill": rng.choice(["no", "yes"], n, p=[0.8, 0.2]),
        }
    )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    frame = people()
    bench.dataset("people", frame)
    boxes = {"method": "boxes", "dataset_id": "people", "keep": ["ill"]}
    bench.release("five", boxes | {"quasi_identifiers": COLUMNS, "k": 5})
    bench.release("six", boxes | {"quasi_identifiers": COLUMNS, "k": 6}, seed=1)
    bench.release("noise", {"method": "uncertain", "dataset_id": "people", "quasi_identifiers": COLUMNS, "k": 5})
    decade = (frame["x"] // 20 * 20).alias("x_lo")
    named = (
        pl.when(frame["ill"] == "yes").then(pl.lit(json.dumps(["yes"]))).otherwise(pl.lit(json.dumps(["no", "may"])))
    )
    others = frame.select(decade, (decade + 19).alias("x_hi"), named.alias("ill_set"), pl.col("y"))
    bench.dataset("others", others.drop("y").sample(fraction=1, shuffle=True, seed=1))
    return bench


def rows_of(bench: Bench, name: str) -> pl.DataFrame:
    outcome = bench.releases[name]
    assert outcome.method == "boxes"
    return pl.read_parquet(bench.files[InputFile.RELEASE, name])


def place(frame: pl.DataFrame, rows: pl.DataFrame) -> list[int]:
    """The box of every record, by looking at all of them: half-open, but for what no later box begins with."""
    boxes = rows.unique("box").sort("box")
    box_numbers = []
    for record in frame.select(COLUMNS).iter_rows():
        inside = [
            box["box"]
            for box in boxes.iter_rows(named=True)
            if all(box[f"{c}_lo"] <= v <= box[f"{c}_hi"] for c, v in zip(COLUMNS, record, strict=True))
        ]
        strictly = [
            box
            for box in inside
            if all(
                v < boxes.filter(pl.col("box") == box)[f"{c}_hi"][0] or v == boxes[f"{c}_hi"].max()
                for c, v in zip(COLUMNS, record, strict=True)
            )
        ]
        (only,) = strictly
        box_numbers.append(only)
    return box_numbers


def test_two_releases_are_joined_as_by_hand(bench: Bench) -> None:
    frame = people()
    result = bench.run(
        {
            "method": "composition",
            "release_ids": ["five", "six"],
            "k_required": 5,
            "sensitive": ["ill"],
            "person_column": "home",
        }
    ).result
    rows = {name: rows_of(bench, name) for name in ("five", "six")}
    places = {name: place(frame, one) for name, one in rows.items()}
    groups: dict[Any, list[int]] = {}
    for at, key in enumerate(zip(places["five"], places["six"], strict=True)):
        groups.setdefault(key, []).append(at)
    homes = [len({at // 2 for at in group}) for group in groups.values()]
    assert (result["group_count"], result["overlay"], result["composed_k"]) == (len(groups), min(homes), min(homes))
    assert result["overlay_below"] == pytest.approx(sum(n for n in homes if n < 5) / sum(homes))
    shown = {name: Counter(one.select("box", "ill").iter_rows()) for name, one in rows.items()}
    joint = [
        sum(min(shown["five"][places["five"][at], v], shown["six"][places["six"][at], v]) for v in ("no", "yes"))
        for at in range(len(frame))
    ]
    assert result["candidates"] == min(joint)
    values = [frame["ill"].gather(group) for group in groups.values()]
    assert result["sensitive"][0]["l_diversity"] == min(one.n_unique() for one in values)
    alone = sum(len(one) for one in values if one.n_unique() == 1)
    assert result["sensitive"][0]["homogeneous"] == pytest.approx(alone / len(frame))
    assert result["passed"] == (min(homes) >= 5)
    assert [one["required"] for one in result["findings"]] == ([] if result["passed"] else [5.0])


def test_one_release_keeps_what_it_promised_and_noise_beside_it_does_not(bench: Bench) -> None:
    alone = bench.run({"method": "composition", "release_ids": ["five"]}).result
    assert (alone["k_required"], alone["overlay"], alone["passed"]) == (5, 5, True)
    both = bench.run({"method": "composition", "release_ids": ["five", "noise"]}).result
    assert both["overlay"] == 5
    assert both["expected"] < 5
    assert not both["passed"]


def test_a_table_that_others_released_is_joined_by_its_bounds_and_sets(bench: Bench) -> None:
    spec = {
        "method": "composition",
        "dataset_ids": ["others"],
        "dataset_id": "people",
        "join_columns": ["x", "ill"],
    }
    result = bench.run(spec).result
    frame = people()
    sizes = frame.group_by(frame["x"] // 20, "ill").len()["len"]
    assert (result["overlay"], result["group_count"]) == (sizes.min(), len(sizes))
    assert result["k_required"] == 5
    refused(bench, spec | {"join_columns": ["y"]}, "/dataset_ids/0", "none of `join_columns`")
    both = bench.run(spec | {"release_ids": ["five"], "require": {"share_below": 0.0}}).result
    pairs = Counter(zip(place(frame, rows_of(bench, "five")), frame["x"] // 20, frame["ill"], strict=True))
    assert both["overlay"] == min(pairs.values())
    assert both["findings"][0]["measured"] == pytest.approx(sum(n for n in pairs.values() if n < 5) / len(frame))


ORDER = ["none", "school", "college", "doctorate"]


def test_bounds_of_texts_are_joined_by_the_order_that_is_declared(bench: Bench) -> None:
    """Not by the alphabet, in which college comes first and each of two columns has its own places."""
    degrees = people().with_columns(degree=np.random.default_rng(9).choice(ORDER, 300, p=[0.4, 0.3, 0.2, 0.1]))
    bench.dataset("degrees", degrees)
    upper = pl.col("degree").is_in(ORDER[2:])
    ends = {"lo": (ORDER[2], ORDER[0]), "hi": (ORDER[3], ORDER[1])}
    table = degrees.select(
        pl.when(upper).then(pl.lit(a)).otherwise(pl.lit(b)).alias(f"edu_{e}") for e, (a, b) in ends.items()
    )
    bench.dataset("halves", table.sample(fraction=1, shuffle=True, seed=2))
    spec = {
        "method": "composition",
        "dataset_ids": ["halves"],
        "dataset_id": "degrees",
        "join_columns": {"edu": "degree"},
    }
    refused(bench, spec, "/ordinal/degree", "which are string: list its values in their order")
    refused(bench, spec | {"ordinal": {"edu": ORDER}}, "/ordinal/edu", "no column 'edu'")
    refused(bench, spec | {"ordinal": {"degree": [*ORDER[:3], 4]}}, "/ordinal/degree/3", "which is string")
    refused(bench, spec | {"ordinal": {"degree": ORDER[:3]}}, "/ordinal/degree", "its order lists 3: list all of them")
    with pytest.raises(InvalidError) as strange:
        bench.run(spec | {"ordinal": {"degree": [*ORDER[:3], "other"]}})
    assert {error.pointer for error in strange.value.errors} == {"/ordinal/degree"}
    assert "doctorate" not in str([error.detail for error in strange.value.errors])
    result = bench.run(spec | {"ordinal": {"degree": ORDER}}).result
    sizes = degrees.group_by(pl.col("degree").is_in(ORDER[2:])).len()["len"]
    assert (result["overlay"], result["group_count"]) == (sizes.min(), 2)


def test_bounds_of_another_type_are_no_bounds_of_the_column(bench: Bench) -> None:
    days = pl.Series([date(2020, 1, 1 + at % 28) for at in range(300)])
    bench.dataset("days", pl.DataFrame({"x_lo": days, "x_hi": days}))
    spec = {"method": "composition", "dataset_ids": ["days"], "dataset_id": "people", "join_columns": ["x"]}
    refused(bench, spec, "/dataset_ids/0", "column 'x' is number in the original, its bounds are date")


def test_values_that_boxes_give_away_are_counted(bench: Bench) -> None:
    spec = {"method": "determination", "release_ids": ["five"], "value_step": {"x": 1.0, "y": 0.01}}
    result = bench.run(spec | {"require": {"share_certain": 0.5}}).result
    rows = rows_of(bench, "five")
    by_column = {one["column"]: one for one in result["releases"][0]["columns"]}
    top = rows["x_hi"].max()
    left = [
        sum(lo <= v < hi or v == hi == top for v in range(-1, 62)) for lo, hi in rows.select("x_lo", "x_hi").iter_rows()
    ]
    assert by_column["x"]["mean_values"] == pytest.approx(np.mean(left))
    assert by_column["x"]["share_single_value"] == pytest.approx(np.mean([one <= 1 for one in left]))
    (ill,) = result["releases"][0]["kept_columns"]
    alone = rows.filter(pl.col("ill").n_unique().over("box") == 1)
    assert ill["share_certain"] == pytest.approx(len(alone) / len(rows))
    assert result["passed"] == (ill["share_certain"] <= 0.5)
    assert result["demands"]["share_certain"]["measured"] == ill["share_certain"]
    unasked = bench.run(spec).result
    assert (unasked["passed"], unasked["demands"]) == (None, {})
    assert unasked["findings"], "what is given away is found all the same"
