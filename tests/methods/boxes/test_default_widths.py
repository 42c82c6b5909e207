"""Least widths that a request leaves to the job: boxes have them, they refuse nothing, and the family inherits them."""

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest

from app.errors import SureboxError
from tests.drawing import seeds
from tests.methods.asking import anonymization, released, succeed, upload
from tests.methods.in_process import Bench, Done
from tests.verify.test_releases import verified
from workers.methods.context import InputFile

ROWS = pl.DataFrame({"x": np.arange(200.0) ** 1.5, "y": np.tile(np.arange(20.0), 10)})


def table(draw: np.random.Generator) -> pl.DataFrame:
    """Columns of the kinds that people have, few and many rows, ties, constants, missing values."""
    rows = int(draw.choice([2, 5, 12, 60, 400]))
    some = {
        "wage": np.round(np.exp(draw.normal(7.0, 0.8, rows)), 2),
        "hours": np.where(draw.random(rows) < 0.6, 40, draw.integers(1, 80, rows)),
        "gain": np.where(draw.random(rows) < 0.92, 0, draw.integers(100, 9000, rows)),
        "age": draw.integers(18, 90, rows),
        "rooms": draw.integers(1, 6, rows),
        "one": np.full(rows, 7),
        "two": draw.integers(0, 2, rows) * 1000,
        "tied": draw.choice([1.0, 1.5, 1000.0], rows),
    }
    chosen = draw.choice(sorted(some), int(draw.integers(1, 5)), replace=False)
    frame = pl.DataFrame({name: some[name] for name in chosen})
    if draw.random() < 0.3:
        frame = frame.with_columns(pl.Series("town", draw.choice(["Ulm", "Bonn", "Trier"], rows)))
    if draw.random() < 0.3:  # whoever lacks a value of a column has nearly the same value of the others
        lacks = pl.Series(draw.random(rows) < 0.2)
        frame = frame.with_columns(pl.when(~lacks).then(pl.col(name)).alias(name) for name in frame.columns[:1])
        frame = frame.with_columns(
            pl.when(~lacks).then(pl.col(name)).otherwise(1).alias(name) for name in frame.columns[1:2] if name != "town"
        )
    return frame


def request(draw: np.random.Generator, frame: pl.DataFrame) -> dict[str, Any]:
    """A request that needs nothing but the columns."""
    k = int(draw.choice([1, 2, max(len(frame) // 2, 1), min(5, len(frame))]))
    body = {"method": "boxes", "dataset_id": "table", "quasi_identifiers": frame.columns, "keep": ["id"], "k": k}
    body |= {"partition": str(draw.choice(["optimal", "fast", "mondrian"]))}
    bounds = str(draw.choice(["cells", "cells", "tight"]))
    means = str(draw.choice(["none", "none", "rounded"])) if k >= 4 else "none"
    body |= {"missing_policy": "pattern"} if frame.null_count().sum_horizontal().item() else {}
    return body | {"bounds": bounds, "box_means": means}


def outcome(bench: Bench, body: dict[str, Any]) -> Done | str:
    """Run a request: the job, or the refusal."""
    if wrong := bench.accepted(body)[1]:
        return str(wrong)
    try:
        return bench.run(body, seed=3)
    except SureboxError as error:
        return str(error)


@pytest.mark.parametrize("seed", seeds(10))
def test_default_widths_refuse_nothing_and_never_leave_one_box_of_several(seed: int, tmp_path: Path) -> None:
    """Every box has its width in every column, or its records all have the spike; the parameters have the numbers."""
    draw, done = np.random.default_rng([81, seed]), 0
    for number in range(12):
        folder = tmp_path / str(number)
        folder.mkdir()
        bench, frame = Bench(folder), table(draw)
        bench.dataset("table", frame.with_row_index("id").cast({"id": pl.Int64}))
        body = request(draw, frame)
        without = outcome(bench, body | {"least_widths": "none"})
        made = outcome(bench, body | {"least_widths": "auto"})
        if isinstance(without, str):
            assert made == without
            continue
        assert isinstance(made, Done), made
        assert (made.result["box_count"] > 1) == (without.result["box_count"] > 1)
        check(made, frame)
        done += 1
    assert done >= 6


def check(made: Done, frame: pl.DataFrame) -> None:
    assert made.release is not None
    said, rows = made.release.parameters, made.rows()
    origin = frame[rows["id"]]
    widths = made.result["least_widths"]
    assert said["min_width"] == {name: one["width"] for name, one in widths.items() if one["width"] > 0.0}
    assert said["spikes"] == {name: one["spike"] for name, one in widths.items() if one["spike"] is not None}
    assert "least_widths" not in said
    for name, one in widths.items():
        of_box = rows.with_columns(value=origin[name]).group_by("box").agg(
            pl.col("value").min().alias("least"), pl.col("value").max().alias("most"),
            (pl.col(f"{name}_hi") - pl.col(f"{name}_lo")).first().alias("side"), pl.len().alias("rows"),
        )  # fmt: skip
        spike = np.nan if one["spike"] is None else one["spike"]
        alone = (of_box["least"] == of_box["most"]) & (of_box["least"].cast(pl.Float64) == spike)
        assert (of_box.filter(~alone)["side"] >= one["width"] * (1.0 - 1e-9)).all()
        if one["spike"] is not None:
            assert one["spike_share"] == pytest.approx(of_box.filter(alone)["rows"].sum() / len(rows))
            assert (frame[name] == one["spike"]).sum() * 2 > 0.9 * frame[name].count()
        exact = made.result["value_disclosure"][name]["exact"]
        if one["width"] > 0.0 and one["spike"] is None:
            assert exact == 0.0
        elif one["width"] > 0.0:
            assert exact <= one["spike_share"] + 1e-12


def test_an_earlier_release_decides_for_its_columns(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.dataset("table", ROWS)
    before = tmp_path / "widths.json"
    before.write_text(json.dumps({"x": 300.0, "y": 0.0}))
    bench.files[InputFile.WIDTHS, "table"] = before
    body = {"method": "boxes", "dataset_id": "table", "quasi_identifiers": ["x", "y"], "k": 5}
    widths = bench.run(body | {"least_widths": "auto"}).result["least_widths"]
    assert widths["x"] | {"width": 300.0, "demanded": 300.0, "source": "family"} == widths["x"]
    assert widths["y"] | {"width": 0.0, "source": "family", "exempt": "family"} == widths["y"]
    named = bench.run(body | {"least_widths": "auto", "min_width": {"y": 2.0}}).result["least_widths"]
    assert (named["x"]["width"], named["y"]["width"], named["y"]["source"]) == (300.0, 2.0, "named")


def test_an_inherited_width_that_leaves_one_box_is_lowered_as_far_as_needed(tmp_path: Path) -> None:
    """Of all widths 1500, 750, 375, 187.5 of x none but the last two leaves two boxes: half of the range is 1403."""
    bench = Bench(tmp_path)
    bench.dataset("table", ROWS.select("x"))
    before = tmp_path / "widths.json"
    before.write_text(json.dumps({"x": 1500.0}))
    bench.files[InputFile.WIDTHS, "table"] = before
    body = {"method": "boxes", "dataset_id": "table", "quasi_identifiers": ["x"], "k": 5}
    made = bench.run(body | {"least_widths": "auto"})
    assert made.result["box_count"] > 1
    width = made.result["least_widths"]["x"]
    assert (width["demanded"], width["width"]) == (1500.0, 750.0)
    codes = [one.code for one in made.outcome.warnings]
    assert "least_width_lowered" in codes


def test_the_same_request_after_a_release_without_widths_inherits_that(client: httpx.Client) -> None:
    dataset = upload(client, ROWS.write_csv(), new_family=True)
    body = anonymization("boxes", dataset["id"], ["x", "y"], k=5, publish="auto")
    first = succeed(client, body | {"least_widths": "none"})
    again = succeed(client, body)
    assert {one["exempt"] for one in again["result"]["least_widths"].values()} == {"family"}
    assert again["result"]["box_count"] == first["result"]["box_count"]
    assert released(client, again).sort(pl.all()).equals(released(client, first).sort(pl.all()))


def test_later_releases_have_the_widths_of_the_first(client: httpx.Client) -> None:
    dataset = upload(client, ROWS.write_csv(), new_family=True)
    body = anonymization("boxes", dataset["id"], ["x", "y"], k=5, publish="auto")
    first = succeed(client, body)
    widths = {name: one["width"] for name, one in first["result"]["least_widths"].items()}
    assert min(widths.values()) > 0.0
    series = {"method": "boxes", "base_release_id": first["release_id"], "quasi_identifiers": ["x"], "k": 10}
    later = succeed(client, series | {"publish": "auto"})
    assert {name: one["width"] for name, one in later["result"]["least_widths"].items()} == {"x": widths["x"]}
    again = succeed(client, body | {"k": 8})
    assert {name: one["width"] for name, one in again["result"]["least_widths"].items()} == widths
    assert {one["source"] for one in again["result"]["least_widths"].values()} == {"family"}
    release = client.get(f"/v1/releases/{again['release_id']}").json()
    assert "auto" not in json.dumps(release)


def test_widths_outlive_the_release_that_had_them_first(client: httpx.Client) -> None:
    """A family of its own would have other widths of these rows: those published once count for all later releases."""
    dataset = upload(client, ROWS.write_csv(), new_family=True)
    body = anonymization("boxes", dataset["id"], ["x", "y"], k=5, publish="auto", min_width={"x": 300.0})
    first = succeed(client, body)
    client.delete(f"/v1/releases/{first['release_id']}").raise_for_status()
    del body["min_width"]
    again = succeed(client, body)
    assert again["result"]["least_widths"]["x"]["width"] == 300.0
    assert again["result"]["least_widths"]["x"]["source"] == "family"


def test_a_reader_finds_false_widths_and_spikes(tmp_path: Path) -> None:
    """Of numbers, days and an order; a spike is in the boxes of half of the rows, and only widths have one."""
    draw = np.random.default_rng(5)
    days = [dt.date(2020, 1, 1)] * 200 + [dt.date(2021, 3, int(day)) for day in draw.integers(1, 29, 100)]
    frame = pl.DataFrame({"gain": np.where(draw.random(300) < 0.7, 0, draw.integers(100, 9000, 300)), "day": days})
    bench = Bench(tmp_path)
    bench.dataset("table", frame)
    body = {"method": "boxes", "dataset_id": "table", "quasi_identifiers": frame.columns, "k": 5}
    release = bench.run(body | {"bounds": "tight"}).release
    assert release is not None
    assert release.parameters["spikes"] == {"gain": 0, "day": "2020-01-01"}
    assert verified(release, "parquet").problems == []
    width = release.parameters["min_width"]
    for false in (
        {"spikes": {}},
        {"spikes": {"gain": 9000, "day": "2020-01-01"}},
        {"spikes": {"gain": 0, "day": "no day"}},
        {"spikes": {"gain": 0, "day": "2021-03-05"}},
        {"min_width": width | {"gain": 9000.0}},
        {"min_width": {"day": width["day"]}},
    ):
        lying = replace(release, parameters={**release.parameters, **false})
        assert [one for one in verified(lying, "parquet").problems if one.startswith(("spikes", "min_width"))], false
