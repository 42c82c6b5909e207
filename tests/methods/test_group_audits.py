"""What rules and classifiers see of a file, before and after its bases are masked, run without a service."""

import json
from typing import Any

import polars as pl
import pytest

from tests.methods.bases import VARIABLES, in_range, member, microfile
from tests.methods.in_process import Bench

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
            "vital": {"column": "job", "values": ["army"]}, "parameter": ["region"], "variables": VARIABLES,
            "search": {"method": "exhaustive"},
        })  # fmt: skip
    return made


def swaps(name: str, **asked: Any) -> dict[str, Any]:
    return {
        "method": "swaps", "dataset_id": name, "parameter": ["region"], "model_job_id": f"model {name}",
        "search": {"method": "assignment"}, "drop": ["state"],
    } | asked  # fmt: skip


@pytest.fixture(scope="module")
def masked(bench: Bench) -> dict[str, Any]:
    bench.release("masked", swaps("home"))
    return dict(bench.run(swaps("home")).result)


def test_masked_places_stand_out_nowhere_in_the_profile(bench: Bench, masked: dict[str, Any]) -> None:
    assert masked["valid"]
    assert masked["decoys"] == -(-masked["swaps"] // 10)
    assert masked["distortion"] == pytest.approx(masked["assignment_distortion"])
    assert 0 < masked["letter_distortion"] <= masked["distortion"]
    assert not [one for one in masked["attack_again"]["profile"] if one["found"]]
    spec = {"method": "group_profile", "model_job_id": "model home", "places": PLACES}
    whole = bench.run(spec | {"dataset_ids": ["home"], "release_ids": ["masked"]}).result
    after, before = whole["files"]
    assert not [one for one in after["signals"] if one["found"]]
    crisp = next(one for one in before["signals"] if (one["name"], one["alpha"]) == ("members", 0.5))
    assert set(crisp["found"]) == set(before["places"])
    assert crisp["precision"] == 1.0
    assert whole["passed"] is False, "the dataset is among the files"
    assert bench.run(spec | {"release_ids": ["masked"]}).result["passed"] is True


def test_the_profile_of_a_file_is_what_the_rules_say_record_by_record(bench: Bench) -> None:
    whole = bench.run({"method": "group_profile", "model_job_id": "model home", "dataset_ids": ["home"]}).result
    assert whole["passed"] is None
    rules = [rule["terms"] for rule in json.loads((bench.folder / "model home.json").read_text())["rules"]]
    inside = in_range(pl.read_parquet(bench.folder / "home.parquet"))
    fits = [member(record, rules, VARIABLES) for record in inside.iter_rows(named=True)]
    (file,) = whole["files"]
    place = file["parameter_values"].index(["R11"])
    here = [grade for grade, region in zip(fits, inside["region"], strict=True) if region == "R11"]
    found = {(one["name"], one["alpha"]): one["values"][place] for one in file["signals"]}
    assert found["members", 0.5] == sum(grade >= 0.5 for grade in here)
    assert found["sum", 0.7] == pytest.approx(sum(grade for grade in here if grade >= 0.7))


def test_the_same_rows_in_another_order_swap_the_same_people(bench: Bench, masked: dict[str, Any]) -> None:
    again = bench.run(swaps("home", learn_again=False), seed=0).result
    other = bench.run(swaps("shuffled", learn_again=False), seed=0).result
    assert again["swap_list"] == masked["swap_list"]
    home, shuffled = (pl.read_parquet(bench.folder / f"{name}.parquet") for name in ("home", "shuffled"))
    people = [
        sorted((str(frame.row(a)), str(frame.row(b))) for a, b in found["swap_list"])
        for frame, found in ((home, again), (shuffled, other))
    ]
    assert people[0] == people[1]
    assert bench.run(swaps("home", learn_again=False), seed=1).result["swap_list"] != masked["swap_list"]


def test_the_letter_moves_members_only_and_comes_down_to_the_ceiling(bench: Bench, masked: dict[str, Any]) -> None:
    letter = bench.run(swaps("home", profile=[0.5], decoys=0.0, learn_again=False)).result
    assert letter["profile"] == [0.5]
    assert letter["decoys"] == 0
    assert letter["distortion"] == pytest.approx(letter["letter_distortion"]) == masked["letter_distortion"]
    usual = max(v for p, v in enumerate(letter["signal_before"]) if p not in letter["outliers_before"])
    assert {letter["signal_after"][place] for place in letter["masked"]} == {usual}


def test_classifiers_are_reported_on_all_and_on_out_of_range_records(bench: Bench, masked: dict[str, Any]) -> None:
    spec = {"method": "swap_detection", "model_job_id": "model home", "places": PLACES, "sample": 2_000}
    whole = bench.run(spec | {"dataset_ids": ["home"], "release_ids": ["masked"]}).result
    for file in whole["files"]:
        assert [one["name"] for one in file["classifiers"]] == ["naive_bayes", "gradient_boosting"]
        for one in file["classifiers"]:
            assert set(one["columns"]) == {"age", "hours", "way", "income", "sex"} | ({"state"} & {*one["columns"]})
            assert one["auc"] > 0.9
            assert one["driving_columns"][0]["column"] in {"age", "hours", "way"}
            assert one["all_records"]["records"] == file["records"]
            assert one["out_of_range"]["records"] == file["records"] - file["in_range"]
    before = whole["files"][1]["classifiers"][1]["all_records"]
    assert sorted(before["ranks"]) == [1, 2, 3]
    assert before["precision"] == 1.0
    assert whole["passed"] is False
    again = masked["attack_again"]["classifiers"]
    assert [one["moved"]["moved"] for one in again] == [again[0]["moved"]["moved"]] * 2
    assert 0 < again[0]["moved"]["moved"] <= masked["swaps"]
