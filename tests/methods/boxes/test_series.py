"""Later releases of a series: functions of what their base publishes, by a runner that has no dataset."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from app.contracts.releases import ReleaseFormat
from app.errors import InfeasibleError
from tests.methods.in_process import Bench, Done
from workers.methods.context import InputFile

ORDER = ["none", "school", "college"]
TOWNS = {"a": "north", "b": "north", "c": "south", "d": "south"}
COLUMNS = ["age", "wage", "day", "study", "town"]
HIERARCHY = {"town": {"hierarchy": {"rows": [[town, part, "*"] for town, part in TOWNS.items()]}}}


def people(rows: int = 700) -> pl.DataFrame:
    draw = np.random.default_rng(88)
    age = draw.integers(18, 90, rows)
    return pl.DataFrame({
        "age": age, "wage": draw.lognormal(3, 1, rows) + age / 10,
        "day": [date(2020, 1, 1) + timedelta(int(one)) for one in draw.integers(0, 400, rows)],
        "study": draw.choice(ORDER, rows), "town": draw.choice(list(TOWNS), rows), "job": draw.choice(["x", "y"], rows),
    })  # fmt: skip


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("series"))
    made.dataset("people", people())
    spec = {"method": "boxes", "quasi_identifiers": COLUMNS, "k": 5, "keep": ["job"], "ordinal": {"study": ORDER}}
    made.release("base", spec | {"dataset_id": "people", "nominal": HIERARCHY})
    return made


def later(bench: Bench, columns: list[str], k: int = 5, **more: Any) -> Done:
    return bench.run({"method": "boxes", "base_release_id": "base", "quasi_identifiers": columns, "k": k} | more)


def rows(outcome: Done) -> pl.DataFrame:
    assert outcome.release is not None
    return pl.read_parquet(outcome.release.files[ReleaseFormat.PARQUET].path)


def base_rows(bench: Bench) -> pl.DataFrame:
    return pl.read_parquet(bench.files[InputFile.RELEASE, "base"])


def covers(box: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether a box of a later release holds one of the base."""
    sides = all(
        box[f"{name}_lo"] <= other[f"{name}_lo"] and other[f"{name}_hi"] <= box[f"{name}_hi"] for name in ("age", "day")
    )
    ranks = [ORDER.index(one[f"study_{end}"]) for end, one in (("lo", box), ("lo", other), ("hi", other), ("hi", box))]
    return sides and ranks == sorted(ranks) and set(other["town_set"]) <= set(box["town_set"])


def test_with_the_same_k_it_is_the_base_with_fewer_columns(bench: Bench) -> None:
    made = rows(later(bench, ["wage", "town", "study"], keep=["job"]))
    base = base_rows(bench)
    assert made.columns == [
        "box", "wage_lo", "wage_hi", "town", "town_set", "study_lo", "study_hi", "job",
    ]  # fmt: skip
    assert made.sort(pl.all().exclude("town_set")).equals(
        base.select(made.columns).sort(pl.all().exclude("town_set")), null_equal=True
    )
    assert not made["box"].equals(base["box"]), "rows are in another order"


def test_a_larger_k_unites_boxes_and_types_stay(bench: Bench) -> None:
    made, base = rows(later(bench, ["age", "day", "study", "town"], k=40)), base_rows(bench)
    assert made.height == base.height
    assert made["box"].value_counts()["count"].min() >= 40
    assert made["box"].n_unique() > 5
    assert (made["age_lo"].dtype, made["day_hi"].dtype, made["town_set"].dtype) == (
        pl.Int64,
        pl.Date,
        pl.List(pl.String),
    )
    boxes = base.unique("box").rows(named=True)
    counts = dict(base["box"].value_counts().iter_rows())
    for box in made.unique("box").rows(named=True):
        inside = [one for one in boxes if covers(box, one)]
        assert sum(counts[one["box"]] for one in inside) >= made.filter(pl.col("box") == box["box"]).height
        assert min(one["age_lo"] for one in inside) == box["age_lo"], "a hull is attained"
        parts = {TOWNS[town] for town in box["town_set"]}
        alone = box["town_set"][0] if len(box["town_set"]) == 1 else None
        assert box["town"] == (alone or (parts.pop() if len(parts) == 1 else "*"))


def test_ranges_hold_and_nothing_true_is_known(bench: Bench) -> None:
    frame = people()
    statistics = [
        {"kind": "mean", "of": ["age"]}, {"kind": "variance", "of": ["wage"]},
        {"kind": "correlation", "of": ["wage", "age"]}, {"kind": "share", "of": ["town"]},
        {"kind": "regression", "of": ["wage", "age"]},
    ]  # fmt: skip
    outcome = later(bench, ["age", "wage", "town"], k=15, statistics=statistics, ddof=1)
    by_kind = {(one["kind"], *(one["values"] or ())): one for one in outcome.result["statistics"]}
    age, wage = frame["age"].to_numpy().astype(float), frame["wage"].to_numpy()
    slope, intercept = np.polyfit(age, wage, 1)
    truth = {
        ("mean",): age.mean(), ("variance",): wage.var(ddof=1), ("correlation",): np.corrcoef(age, wage)[0, 1],
    } | {("share", town): (frame["town"] == town).mean() for town in TOWNS}  # fmt: skip
    for about, value in truth.items():
        low, high = by_kind[about]["guaranteed"]
        assert low - 1e-9 <= value <= high + 1e-9, about
    for (low, high), value in zip(by_kind["regression",]["guaranteed"], (intercept, slope), strict=True):
        assert low <= value <= high
    assert all(one["true_value"] in (None, [None, None]) for one in outcome.result["statistics"])
    assert outcome.release is not None
    assert outcome.release.parameters["base_release_id"] == "base"
    assert (outcome.release.parameters["bounds"], outcome.release.parameters["k"]) == ("cells", 15)


def test_statistics_by_default_and_of_what_no_box_has(bench: Bench) -> None:
    kinds = [one["kind"] for one in later(bench, ["age", "wage", "town"]).result["statistics"]]
    assert kinds == ["mean", "mean", "variance", "variance", "correlation", *["share"] * 4]


def test_a_larger_k_counts_kept_values_where_the_base_does(tmp_path: Path) -> None:
    """Every class of a union with its kept value has the larger k; the base's classes are only united."""
    bench = Bench(tmp_path)
    bench.dataset("people", people())
    spec = {"method": "boxes", "quasi_identifiers": ["age", "wage"], "k": 5, "keep": ["job"], "k_counts_kept": True}
    bench.release("base", spec | {"dataset_id": "people"})
    made = later(bench, ["age", "wage"], 12, keep=["job"])
    assert made.result["k_with_kept"] == rows(made).group_by("box", "job").len()["len"].min()
    assert made.result["k_with_kept"] >= 12
    assert 1 < rows(made)["box"].n_unique() < base_rows(bench)["box"].n_unique()
    with pytest.raises(InfeasibleError, match="rarest class of `keep`"):
        later(bench, ["age", "wage"], 500, keep=["job"])
