"""The audit `frontier` with rounded means: the ranges of such a release, and what these leave to an insider."""

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.in_process import Bench, Done
from workers.methods.boxes.runner import BoxesRunner
from workers.methods.context import InputFile
from workers.methods.protocol import run_through
from workers.methods.report.audits import sections

COLUMNS = ["age", "hours"]
BODY: dict[str, Any] = {"dataset_id": "people", "quasi_identifiers": COLUMNS}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("bench"))
    rng = np.random.default_rng(12)
    ages = rng.integers(18, 70, 300)
    town, weight = rng.choice(["a", "b"], 300), rng.uniform(1.0, 2.0, 300)
    frame = pl.DataFrame({"age": ages, "hours": rng.integers(5, 60, 300), "town": town, "weight": weight})
    bench.dataset("people", frame.with_columns(pl.col("town").alias("age_mean_lo")))
    return bench


def points_of(bench: Bench, *ks: int, **change: object) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = bench.run(BODY | {"method": "frontier", "k": list(ks)} | change).result["points"]
    return points


def released(bench: Bench, k: int) -> Done:
    """The job of these boxes, with the secrets that runs inside an audit have."""
    spec, _ = bench.accepted(BODY | {"method": "boxes", "k": k, "box_means": "rounded"})
    secrets = {name: hashlib.sha256(name.encode()).digest() for name in COLUMNS}
    return Done(spec, run_through(BoxesRunner(), replace(bench.context(spec, 1), secrets=secrets)), 0)


def left_by_trial(x: pl.DataFrame, rows: pl.DataFrame, column: str) -> float:
    """Put every value of its box in the place of each record; boxes of whole numbers are disjoint, ends included."""
    shares = []
    for one in rows.unique("box").iter_rows(named=True):
        inside = pl.all_horizontal(pl.col(name).is_between(one[f"{name}_lo"], one[f"{name}_hi"]) for name in COLUMNS)
        values = x.filter(inside)[column].to_list()
        possible = range(one[f"{column}_lo"], one[f"{column}_hi"] + 1)
        least, most = one[f"{column}_mean_lo"], one[f"{column}_mean_hi"]
        for value in values if len(possible) > 1 else []:
            means = [(sum(values) - value + other) / len(values) for other in possible]
            fits = [least is None or least - 1e-9 <= mean <= most + 1e-9 for mean in means]
            shares.append(sum(fits) / len(possible))
    return float(np.mean(shares))


def test_ranges_and_the_insiders_share_are_those_of_the_release_with_means(bench: Bench) -> None:
    few, many = points_of(bench, 5, 20)
    for point in (few, many):
        made = released(bench, point["k"])
        widths = [one["guaranteed"][1] - one["guaranteed"][0] for one in made.result["statistics"]]
        assert [one["width_with_means"] for one in point["statistics"]] == pytest.approx(widths)
        assert all(one["width_with_means"] < one["width"] for one in point["statistics"])
        assert point["with_means"]["value_disclosure"] == made.result["value_disclosure"]
        x, rows = pl.read_parquet(bench.files[InputFile.DATASET, "people"]), made.rows()
        left = {column: left_by_trial(x, rows, column) for column in COLUMNS}
        assert point["with_means"]["left_to_insider"] == pytest.approx(left)
        assert all(0.5 <= share < 1.0 for share in left.values())


def test_the_page_shows_both_lines_and_the_least_that_an_insider_is_left_with(bench: Bench) -> None:
    result = bench.run(BODY | {"method": "frontier", "k": [3, 5, 20]}).result
    shown = sections("frontier", result)[0]
    table = next(one for one in shown.tables if one.caption.startswith("What rounded means"))
    wanted = []
    for point in result["points"][1:]:
        exact = [
            max(one["exact"] for one in side["value_disclosure"].values()) for side in (point, point["with_means"])
        ]
        left, column = min((share, name) for name, share in point["with_means"]["left_to_insider"].items())
        wanted.append((point["k"], *exact, left, column))
    assert table.rows == tuple(wanted)
    picture = shown.figures[-1]
    assert picture.title == "Certain ranges with rounded means"
    age = {one["k"]: one for one in result["points"][1:]}
    ratio = age[5]["statistics"][0]["width_with_means"] / age[5]["statistics"][0]["width"]
    assert f"{ratio:.3g} times as wide" in picture.description
    assert len(sections("frontier", bench.run(BODY | {"method": "frontier", "k": [2, 3]}).result)[0].figures) == 2


def test_means_that_are_requested_are_tried_once_and_exact_ones_beside_rounded_ones(bench: Bench) -> None:
    (without,), (rounded,), (exact,) = (points_of(bench, 6, box_means=means) for means in ("none", "rounded", "exact"))
    of_rounded = [one["width_with_means"] for one in without["statistics"]]
    assert [one["width"] for one in rounded["statistics"]] == of_rounded
    assert [one["width_with_means"] for one in rounded["statistics"]] == of_rounded
    assert [one["width_with_means"] for one in exact["statistics"]] == of_rounded
    assert exact["with_means"] == rounded["with_means"] == without["with_means"] is not None


@pytest.mark.parametrize(
    "change",
    [
        {"compare_means": False},
        {"k": [3]},  # who knows two has nearly the third
        {"survey_weight_column": "weight"},
        {"rare_records": "suppress"},
        {"quasi_identifiers": ["town"]},
        {"keep": ["age_mean_lo"]},  # the release would have two columns of this name
    ],
)
def test_without_a_comparison_a_point_has_its_own_figures_alone(bench: Bench, change: dict[str, object]) -> None:
    (point,) = points_of(bench, 5, **change)
    assert point["reason"] is None
    assert point["with_means"] is None
    assert {one["width_with_means"] for one in point["statistics"]} == {None}
