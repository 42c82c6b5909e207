"""What rules and classifiers see of a file, before and after its bases are masked, run without a service."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.methods.bases import VARIABLES, in_range, member, microfile
from tests.methods.in_process import Bench
from workers.algorithms.groups.signals.criteria import Judge
from workers.algorithms.groups.signals.profile import ProfileSignal
from workers.methods.microfile.standings import findings

BASES = {4: 40, 11: 34, 23: 45}
PLACES = [[f"R{region:02}"] for region in BASES]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    made = Bench(tmp_path_factory.mktemp("bench"))
    abroad = microfile(1, regions=20, bases={2: 50, 9: 60})
    made.dataset("abroad", abroad)
    home = microfile(2, bases=BASES)
    made.dataset("home", home)
    made.dataset("shuffled", home.sample(fraction=1.0, shuffle=True, seed=9))
    for name in ("home", "shuffled"):
        made.job(f"model {name}", {
            "method": "group", "auxiliary_dataset_id": "abroad", "target_dataset_id": name,
            "hidden_group": {"column": "job", "values": ["army"]}, "region_columns": ["region"], "variables": VARIABLES,
            "search": {"method": "exhaustive"},
        })  # fmt: skip
    return made


def swaps(name: str, **more: Any) -> dict[str, Any]:
    return {
        "method": "swaps", "dataset_id": name, "region_columns": ["region"], "model_job_id": f"model {name}",
        "search": {"method": "assignment"}, "drop": ["state"],
    } | more  # fmt: skip


@pytest.fixture(scope="module")
def masked(bench: Bench) -> dict[str, Any]:
    bench.release("masked", swaps("home"))
    return dict(bench.run(swaps("home")).result)


def test_masked_places_stand_out_nowhere_in_the_profile(bench: Bench, masked: dict[str, Any]) -> None:
    assert masked["valid"]
    assert masked["decoys"] == -(-masked["swap_count"] // 10)
    assert not masked["findings"]
    assert 0 < masked["assignment_distortion"] <= masked["distortion"] + 1e-9
    assert 0 < masked["members_distortion"] <= masked["distortion"]
    assert masked["distortion_ratio"] == pytest.approx(masked["distortion"] / masked["members_distortion"])
    assert not [one for one in masked["attack_again"]["profile"] if one["exposed"]]
    spec = {"method": "group_profile", "model_job_id": "model home", "masked_regions": PLACES}
    whole = bench.run(spec | {"dataset_ids": ["home"], "release_ids": ["masked"]}).result
    after, before = whole["inputs"]
    assert not [one for one in after["signals"] if one["exposed"]]
    for one in after["signals"]:
        if one["name"] not in {"sum", "near", "near_ratio"}:
            assert abs(one["auc_deviation"]) <= 2.5
    named = {(one["name"], one["rules"]) for one in after["signals"]}
    assert {("rules", m) for m in (1, 2, 3, 5, 10, 20)} <= named
    assert {("confident_share", -(-whole["rule_count"] // t)) for t in (1, 2, 4, 8)} <= named
    crisp = next(one for one in before["signals"] if (one["name"], one["alpha"]) == ("members", 0.5))
    assert set(crisp["detected"]) == set(before["masked_regions"])
    assert crisp["precision"] == 1.0
    assert whole["passed"] is False, "the dataset is among the files"
    assert bench.run(spec | {"release_ids": ["masked"]}).result["passed"] is True


def test_the_profile_of_a_file_is_what_the_rules_say_record_by_record(bench: Bench) -> None:
    whole = bench.run({"method": "group_profile", "model_job_id": "model home", "dataset_ids": ["home"]}).result
    assert whole["passed"] is None
    rules = [rule["terms"] for rule in json.loads((bench.folder / "model home.json").read_text())["rules"]]
    inside = in_range(pl.read_parquet(bench.folder / "home.parquet"))
    fits = [member(record, rules, VARIABLES) for record in inside.iter_rows(named=True)]
    (file,) = whole["inputs"]
    place = file["regions"].index(["R11"])
    here = [grade for grade, region in zip(fits, inside["region"], strict=True) if region == "R11"]
    signals = {(one["name"], one["alpha"]): one["values"][place] for one in file["signals"] if one["rules"] is None}
    assert signals["members", 0.5] == sum(grade >= 0.5 for grade in here)
    assert signals["members_share", 0.5] == pytest.approx(sum(grade >= 0.5 for grade in here) / len(here))
    assert signals["sum", 0.7] == pytest.approx(sum(grade for grade in here if grade >= 0.7))


def test_the_same_rows_in_another_order_swap_the_same_people(bench: Bench, masked: dict[str, Any]) -> None:
    again = bench.run(swaps("home", learn_again=False), seed=0).result
    other = bench.run(swaps("shuffled", learn_again=False), seed=0).result
    assert again["swap_list"] == masked["swap_list"]
    home, shuffled = (pl.read_parquet(bench.folder / f"{name}.parquet") for name in ("home", "shuffled"))
    people = [
        sorted((str(frame.row(a)), str(frame.row(b))) for a, b in result["swap_list"])
        for frame, result in ((home, again), (shuffled, other))
    ]
    assert people[0] == people[1]
    assert bench.run(swaps("home", learn_again=False), seed=1).result["swap_list"] != masked["swap_list"]


def test_the_letter_moves_members_only_and_comes_down_to_the_ceiling(bench: Bench, masked: dict[str, Any]) -> None:
    letter = bench.run(swaps("home", protected_alphas=[0.5], decoys=0.0, learn_again=False)).result
    assert letter["protected_alphas"] == [0.5]
    assert letter["decoys"] == 0
    assert letter["distortion"] == pytest.approx(letter["members_distortion"]) == masked["members_distortion"]
    usual = max(v for p, v in enumerate(letter["signal_before"]) if p not in letter["outliers_before"])
    assert {letter["signal_after"][place] for place in letter["masked_regions"]} == {usual}


def test_the_memetic_search_pairs_those_who_are_to_leave(bench: Bench, masked: dict[str, Any]) -> None:
    quick = {"method": "memetic", "generations": 30, "population": 20, "pairs": 8}
    evolved = bench.run(swaps("home", search=quick, learn_again=False)).result
    assert evolved["valid"]
    assert sorted(a for a, _ in evolved["swap_list"][: evolved["swap_count"]]) == sorted(
        a for a, _ in masked["swap_list"][: masked["swap_count"]]
    )
    assert evolved["distortion"] >= masked["distortion"] - 1e-9, "the flow pairs them at least cost"


def test_a_bound_that_sets_a_place_low_is_met_and_told(bench: Bench) -> None:
    listed = [{"region": place, "at_most": 1} for place in PLACES]
    low = bench.run(swaps("home", mask=listed, learn_again=False)).result
    assert all(low["signal_after"][place] <= 1 for place in low["masked_regions"])
    assert min(v for p, v in enumerate(low["signal_after"]) if p not in low["masked_regions"]) > 1
    assert [one["severity"] for one in low["findings"]] == ["low"]
    assert low["valid"], "it was asked for"
    assert max(one["lowest_deviation"] for one in low["attack_again"]["profile"]) > 2.5


def test_findings_say_which_signal_tells_and_which_place() -> None:
    values = np.array([*range(30), 400.0])
    judge = Judge((3, 30), (), 0.01, True)
    standings = judge.standings(
        [ProfileSignal("members_share", 0.5, values, direct=True), ProfileSignal("near", 0.2, values[::-1])]
    )
    first, *_ = reported = list(findings("swaps", "", standings, (3, 30)))
    assert "`members_share` (from grade 0.5 on): places that must not stand out do: 30" in first.detail
    assert {one.severity for one in reported} == {"high"}
    together = Judge((0, 1, 2, 3), (), 0.01, True).standings([ProfileSignal("members", 0.5, np.arange(30.0))])
    one = next(findings("swaps", "", together, (0, 1, 2, 3)))
    assert "are together as by chance they would not, low; farthest out is 0" in one.detail
    assert one.measured is not None
    assert one.measured > 2.5


def test_classifiers_are_reported_on_all_and_on_out_of_range_records(bench: Bench, masked: dict[str, Any]) -> None:
    spec = {"method": "swap_detection", "model_job_id": "model home", "masked_regions": PLACES, "sample": 2_000}
    whole = bench.run(spec | {"dataset_ids": ["home"], "release_ids": ["masked"]}).result
    for file in whole["inputs"]:
        assert [one["name"] for one in file["classifiers"]] == ["naive_bayes", "gradient_boosting"]
        for one in file["classifiers"]:
            assert set(one["columns"]) == {"age", "hours", "way", "income", "sex"} | ({"state"} & {*one["columns"]})
            assert one["auc"] > 0.9
            assert one["driving_columns"][0]["column"] in {"age", "hours", "way"}
            assert one["all_records"]["records"] == file["records"]
            assert one["out_of_range"]["records"] == file["records"] - file["in_range"]
    before = whole["inputs"][1]["classifiers"][1]["all_records"]
    assert sorted(before["ranks"]) == [1, 2, 3]
    assert before["precision"] == 1.0
    assert whole["passed"] is False
    again = masked["attack_again"]["classifiers"]
    assert [one["moved"]["moved"] for one in again] == [again[0]["moved"]["moved"]] * 2
    assert 0 < again[0]["moved"]["moved"] <= masked["swap_count"]


def test_the_likeness_of_both_files_is_that_of_a_slow_count(bench: Bench) -> None:
    whole = json.loads((bench.folder / "model home.json").read_text())
    there, here = in_range(microfile(1, regions=20, bases={2: 50, 9: 60})), in_range(microfile(2, bases=BASES))

    def slow(column: str, ours: pl.DataFrame, theirs: pl.DataFrame) -> float:
        x, y = ours[column].to_list(), theirs[column].to_list()
        return max(abs(sum(one <= at for one in x) / len(x) - sum(one <= at for one in y) / len(y)) for at in {*x, *y})

    columns = whole["likeness"]["columns"]
    assert {one["column"] for one in columns} == {"age", "hours", "way"}
    assert [one["distance"] for one in columns] == sorted((one["distance"] for one in columns), reverse=True)
    for one in columns:
        assert one["distance"] == pytest.approx(slow(one["column"], there, here), abs=1e-12)
        armies = (there.filter(job="army"), here.filter(job="army"))
        assert one["members_distance"] == pytest.approx(slow(one["column"], *armies), abs=1e-12)
        n, m = (len(army) for army in armies)
        assert one["members_by_chance"] == pytest.approx(1.6276 * ((n + m) / (n * m)) ** 0.5, abs=1e-4)  # tables of 1 %
    assert whole["likeness"]["unlike_columns"] == sum(one["distance"] > one["by_chance"] for one in columns)


def test_a_miss_with_data_unlike_the_target_says_so_in_its_verdict(bench: Bench) -> None:
    old = microfile(5, regions=6, bases={}).with_columns(age=pl.lit(59, pl.Int64), way=pl.lit(1, pl.Int64))
    bench.dataset("old", old.drop("job"))
    spec = {
        "method": "group", "auxiliary_dataset_id": "abroad", "target_dataset_id": "old",
        "hidden_group": {"column": "job", "values": ["army"]}, "region_columns": ["region"], "variables": VARIABLES,
        "search": {"method": "exhaustive"},
    }  # fmt: skip
    result = bench.run(spec).result
    assert result["auxiliary_outliers"] == []
    assert "differ by more than chance" in result["verdict"]
    first = result["likeness"]["columns"][0]
    assert (first["members_distance"], first["members_by_chance"]) == (None, None)
