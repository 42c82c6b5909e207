"""New versions of data in the boxes of a release: what readers of both are told of those who came, left or changed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from app.errors import InfeasibleError
from app.methods.rules import RULES
from tests.methods.boxes.versioned import SPEC, K, Versions, boxes, differences, people


def far(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.vstack(pl.DataFrame({"age": [119], "wage": [999.0], "town": ["d"], "job": ["x"]}))


def gone(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.slice(1)


def changed(frame: pl.DataFrame) -> pl.DataFrame:
    one = frame.head(1).with_columns(pl.lit(119, pl.Int64).alias("age"), pl.lit("y").alias("job"))
    return one.vstack(frame.slice(1))


@pytest.fixture(scope="module")
def one_changed(tmp_path_factory: pytest.TempPathFactory) -> Versions:
    return Versions(tmp_path_factory.mktemp("one"), people(1))


@pytest.mark.parametrize("act", [far, gone, changed])
def test_nothing_that_is_published_tells_of_one_person(
    one_changed: Versions, act: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    """All that readers get, but for the order of rows, is as if nothing had happened."""
    same, other = one_changed.add(people(1)), one_changed.add(act(people(1)))
    order = ["box", "job"]
    first, second = (table.sort(order) for table in one_changed.tables[-2:])
    assert first.equals(second)
    assert same.release is not None
    assert other.release is not None
    for name in ("rows", "columns", "flags", "warnings", "statistics"):
        assert getattr(same.release, name) == getattr(other.release, name)
    assert "new-version" in same.release.flags
    assert [one.result["pending"]["boxes"] > 0 for one in (same, other)] == [False, True]
    hidden = {"previous_release_id", "dataset_id"}
    public = [{k: v for k, v in one.release.parameters.items() if k not in hidden} for one in (same, other)]  # type: ignore[union-attr]
    assert public[0] == public[1]


def test_any_number_of_versions_shows_what_at_least_k_rows_did_and_keeps_the_numbers_of_boxes(tmp_path: Path) -> None:
    """The adversary has all tables: none has a box below k, no two in a row differ in a box by fewer than k."""
    draw = np.random.default_rng(8)
    frame = people(4)
    made = Versions(tmp_path, frame)
    for step in range(1, 7):
        if step in {2, 4}:  # many leave at one place
            frame = frame.filter((pl.col("town") != "a") | (pl.col("age") > 30 + 8 * step))
        elif step > 4:  # some leave anywhere
            frame = frame.filter(pl.Series(draw.random(frame.height) > 0.1))
        frame = frame.vstack(people(10 + step, {1: 600, 3: 2, 5: 300}.get(step, 0)))
        made.add(frame)
    new: list[int] = []
    for earlier, later in zip(made.tables, made.tables[1:], strict=False):
        assert boxes(later)["len"].min() >= K  # type: ignore[operator]
        assert all(one == 0 or one >= K for one in differences(earlier, later))
        kept = (
            earlier.group_by("box", "job")
            .len()
            .join(later.group_by("box", "job").len(), on=["box", "job"], how="full", coalesce=True, suffix="_later")
            .filter(pl.col("box").is_in(earlier["box"].to_list()) & pl.col("box").is_in(later["box"].to_list()))
        )
        change = (
            kept.with_columns(
                (pl.col("len_later").fill_null(0).cast(int) - pl.col("len").fill_null(0).cast(int)).alias("d")
            )
            .group_by("box")
            .agg(
                pl.col("d").clip(0).sum().alias("came"),
                pl.col("d").clip(None, 0).sum().alias("left"),
                pl.min_horizontal(pl.col("len", "len_later").fill_null(0)).sum().alias("stayed"),
            )
        )
        seen = ("came", "left", "stayed")
        assert all(one == 0 or one >= K for column in seen for one in change[column].cast(int).abs())
        new += sorted(set(later["box"]) - set(earlier["box"]))
    assert any(differences(*made.tables[:2])), "changes were shown"
    assert new, "boxes went up"
    assert len(set(new)) == len(new)
    assert min(new) > made.tables[0]["box"].max()  # type: ignore[operator]
    outer = boxes(made.tables[-1]).join(boxes(made.tables[-1]), how="cross", suffix="_other")
    apart = pl.col("town_set").str.split(",").list.set_intersection(pl.col("town_set_other").str.split(",")).list.len()
    meets = (pl.col("age_lo") <= pl.col("age_hi_other")) & (pl.col("age_lo_other") <= pl.col("age_hi"))
    meets &= (pl.col("wage_lo") < pl.col("wage_hi_other")) & (pl.col("wage_lo_other") < pl.col("wage_hi"))
    assert outer.filter(meets & (apart > 0))["box"].len() == made.tables[-1]["box"].n_unique(), "boxes stay disjoint"


def test_what_enough_rows_did_is_shown_and_ranges_are_about_the_rows_as_published(tmp_path: Path) -> None:
    frame = people(5)
    made = Versions(tmp_path, frame)
    crowd = pl.concat([frame.head(1)] * (K + 1))
    outcome = made.add(frame.vstack(crowd), statistics=[{"kind": "mean", "of": ["age"]}])
    assert sorted(differences(*made.tables))[-2:] == [0, K + 1]
    assert outcome.result["released"] == 406
    assert outcome.result["pending"] == {"boxes": 0, "records_in_no_box": 0}
    assert outcome.release is not None
    (mean,) = outcome.release.statistics
    lo, hi = mean["guaranteed"]
    assert lo <= frame.vstack(crowd)["age"].mean() <= hi  # type: ignore[operator]


def test_records_beyond_the_boxes_wait_until_they_are_k_and_then_a_new_base_is_needed(tmp_path: Path) -> None:
    frame = people(6)
    made = Versions(tmp_path, frame, domains={"age": [0, 120]})  # the wages' bounds are the data's
    rich = far(frame).tail(1)
    assert made.add(frame.vstack(rich)).result["pending"]["records_in_no_box"] == 1
    with pytest.raises(InfeasibleError, match="5 records are in no box"):
        made.add(frame.vstack(pl.concat([rich] * K)))


def test_a_version_is_continued_unasked_where_it_is_asked_alike(tmp_path: Path) -> None:
    made = Versions(tmp_path, people(7))
    made.add(people(7))
    rules, bench = RULES["boxes"], made.bench
    for more, previous in (
        ({}, "r0"), ({"k": 6}, None), ({"bounds": "grid"}, None), ({"previous_release_id": None}, None)
    ):  # fmt: skip
        spec = bench.spec(made.spec | {"dataset_id": "v1"} | more)
        assert rules.fill(spec, bench._given(spec)).previous_release_id == previous


def test_what_no_version_can_be_made_of_is_refused_by_name(tmp_path: Path) -> None:
    made = Versions(tmp_path, people(8))
    made.add(people(8))
    bench = made.bench
    text = people(8).with_columns(pl.col("wage").cast(pl.Int64), pl.lit(1, pl.Int64).alias("job"))
    bench.dataset("typed", text)
    bench.datasets["typed"] = replace(bench.datasets["typed"], earlier=(bench.releases["r0"],))
    drawn = SPEC | {
        "dataset_id": "v0",
        "bounds": "grid",
        "missing_policy": "pattern",
        "t": 0.9,
        "sensitive": ["job"],
        "keep": [],
    }
    bench.release("grid", drawn, seed=1)
    bench.datasets["v1"] = replace(bench.datasets["v1"], earlier=tuple(bench.releases.values()))
    body = made.spec | {"dataset_id": "v1", "previous_release_id": "r0"}
    for change, place, detail in (
        ({"k": 6}, "/k", "that of r0"), ({"keep": []}, "/keep", "those of r0"), ({"bounds": "tight"}, "/bounds", "r0"),
        ({"quasi_identifiers": ["age", "wage"]}, "/quasi_identifiers", "those of r0"),
        ({"dataset_id": "v0"}, "/previous_release_id", "version_of_dataset_id=v0"),
        ({"dataset_id": "typed"}, "/quasi_identifiers/1", "wage"), ({"dataset_id": "typed"}, "/keep/0", "was string"),
        ({"previous_release_id": "grid"}, "/previous_release_id", "use `cells`); `missing_policy` ("),
    ):  # fmt: skip
        spec = bench.spec(body | change)
        filled = RULES["boxes"].fill(spec, bench._given(spec))
        errors = RULES["boxes"].check(filled, bench._given(filled))
        assert [one.detail for one in errors if one.pointer == place and detail in one.detail], (change, errors)


def test_where_most_changes_wait_the_keeper_is_told_how_many_rows_and_boxes(tmp_path: Path) -> None:
    """A few who come wait, and are counted; where a table comes again as large, most are seen and nothing is said."""
    first = people(41)
    for name in ("few", "many"):
        (tmp_path / name).mkdir()
    few = Versions(tmp_path / "few", first, keep=[]).add(first.vstack(people(42, 12)))
    (warning,) = few.outcome.warnings
    assert warning.code == "most_changes_wait"
    assert (
        f"12 of the 12 rows that came or left since the version before wait, in {few.result['pending']['boxes']}"
        in warning.detail
    )
    many = Versions(tmp_path / "many", first, keep=[]).add(first.vstack(people(43, 4000)))
    assert "most_changes_wait" not in {one.code for one in many.outcome.warnings}
