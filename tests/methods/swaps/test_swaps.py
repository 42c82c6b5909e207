"""Masking places over HTTP: bases of a made-up country hidden, the file otherwise as it was, attacked again."""

from collections import Counter
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.methods.asking import released, run, succeed, upload
from tests.methods.bases import VARIABLES, counts, in_range, member, microfile

BASES = {4: 40, 11: 34, 23: 45}
ARMY = {"column": "job", "values": ["army"]}
#: What neither a release nor its provenance may name.
PRIVATE = (
    "R04", "job", "army", "household", "hidden_group", "swap_list", "swap_count", "masked_regions", "mask",
    "rules_model", "rules",
)  # fmt: skip
QUICK = {"method": "memetic", "generations": 60, "population": 30, "pairs": 12, "runs": 2}


@pytest.fixture(scope="module")
def country() -> pl.DataFrame:
    """To be published; with an index, to tell records apart, a household and a state."""
    frame = microfile(2, bases=BASES).with_row_index("person")
    return frame.with_columns(
        pl.when(pl.col("person") % 7 == 0).then(None).otherwise(pl.col("income") / 3).alias("odd"),
        (pl.col("region") + pl.lit("-") + (pl.col("person") % 40).cast(pl.String)).alias("household"),
        (pl.col("person") % 2 == 0).alias("even"),
    )


@pytest.fixture(scope="module")
def country_id(client: httpx.Client, country: pl.DataFrame) -> str:
    return str(upload(client, country.write_csv())["id"])


@pytest.fixture(scope="module")
def model_id(client: httpx.Client, country_id: str) -> str:
    """Rules learned from somebody else's data, applied to the country."""
    abroad = microfile(1, regions=20, bases={2: 50, 9: 60})
    auxiliary = upload(client, abroad.write_csv())["id"]
    spec = {
        "method": "group", "auxiliary_dataset_id": auxiliary, "target_dataset_id": country_id, "hidden_group": ARMY,
        "region_columns": ["region"], "variables": VARIABLES,
        "search": {"method": "evolution", "generations": 20, "runs": 2},
    }  # fmt: skip
    return str(succeed(client, spec, kind="audits")["id"])


@pytest.fixture(scope="module")
def spec(country_id: str, model_id: str) -> dict[str, Any]:
    return {
        "method": "swaps", "dataset_id": country_id, "region_columns": ["region"], "model_job_id": model_id,
        "search": QUICK, "drop": ["household", "state"], "protected_alphas": [0.5], "decoys": 0.0,
    }  # fmt: skip


def rules_of(client: httpx.Client, model_id: str) -> list[list[int]]:
    return [rule["terms"] for rule in client.get(f"/v1/jobs/{model_id}/result").json()["rules"]]


@pytest.mark.parametrize("search", [QUICK, {"method": "assignment"}], ids=["memetic", "assignment"])
def test_bases_are_hidden_and_nothing_but_their_regions_changes(
    client: httpx.Client, spec: dict[str, Any], country: pl.DataFrame, model_id: str, search: dict[str, Any]
) -> None:
    job = succeed(client, spec | {"search": search})
    result, rows = job["result"], released(client, job)

    assert rows.columns == [name for name in country.columns if name not in {"household", "state", "job"}]
    assert rows["person"].to_list() != sorted(rows["person"]), "rows stand in random order"
    after, before = rows.sort("person"), country.sort("person")
    untouched = [name for name in rows.columns if name != "region"]
    assert_frame_equal(after.select(untouched), before.select(untouched), check_dtypes=False)
    assert Counter(after["region"]) == Counter(before["region"]), "submicrofiles keep their sizes"

    moved = np.flatnonzero((after["region"] != before["region"]).to_numpy())
    assert len(moved) == 2 * result["swap_count"]
    assert sorted(row for pair in result["swap_list"] for row in pair) == sorted(_rows(country, before, moved))
    for source, partner in result["swap_list"]:
        assert country["region"][source] == _region(rows, country, partner)
        assert country["region"][partner] == _region(rows, country, source)

    signals, rules = [], rules_of(client, model_id)
    for frame in (before, after.with_columns(before["job"])):
        kept = in_range(frame)
        grades = [member(record, rules, VARIABLES) > 0 for record in kept.iter_rows(named=True)]
        signals.append(counts(kept.filter(pl.Series(grades)), ["region"], result["regions"]))
    assert [result["signal_before"], result["signal_after"]] == signals

    bases = {index for index, (region,) in enumerate(result["regions"]) if int(region[1:]) in BASES}
    assert bases <= set(result["outliers_before"]) == set(result["masked_regions"])
    usual = max(value for place, value in enumerate(signals[0]) if place not in result["outliers_before"])
    assert all(signals[1][place] <= usual for place in bases)
    assert result["bounds"] == [[None, usual]] * len(result["masked_regions"])
    assert result["valid"] == (not bases & set(result["outliers_after"])) is True
    assert result["distortion"] >= result["assignment_distortion"] - 1e-9 > 0
    for again in (result["attack_again"]["old_rules"], result["attack_again"]["new_rules"]):
        assert not bases & set(again["detected"])
        assert again["detected"] == [place for place in again["outliers"] if place in result["masked_regions"]]
    assert result["attack_again"]["old_rules"]["crisp_signal"] == signals[1]


def _rows(country: pl.DataFrame, ordered: pl.DataFrame, places: Any) -> list[int]:
    person = ordered["person"].to_numpy()[places]
    return np.flatnonzero(np.isin(country["person"].to_numpy(), person)).tolist()


def _region(rows: pl.DataFrame, country: pl.DataFrame, row: int) -> str:
    return str(rows.filter(person=country["person"][row])["region"][0])


def test_every_run_and_generation_is_told_and_the_bound_holds(client: httpx.Client, spec: dict[str, Any]) -> None:
    result = succeed(client, spec)["result"]
    assert len(result["runs"]) == len(result["fitness_by_generation"]) == QUICK["runs"]
    for run_, course in zip(result["runs"], result["fitness_by_generation"], strict=True):
        assert {len(course[name]) for name in ("best", "mean", "spread")} == {QUICK["generations"] + 1}
        assert course["best"] == sorted(course["best"]), "the best survive"
        assert all(best >= mean >= 0 for best, mean in zip(course["best"], course["mean"], strict=True))
        assert 0 <= run_["valid_share"] <= 1
    assert result["distortion"] in [run_["distortion"] for run_ in result["runs"]]
    cheapest = succeed(client, spec | {"search": {"method": "assignment"}})["result"]
    needed = sum(max(0, result["signal_before"][place] - bound[1]) for place, bound in zip(
        result["masked_regions"], result["bounds"], strict=True))  # fmt: skip
    assert cheapest["swap_count"] == needed <= result["swap_count"]
    assert cheapest["distortion"] == pytest.approx(cheapest["assignment_distortion"])


def test_public_parts_say_nothing_of_places_rules_or_people(client: httpx.Client, spec: dict[str, Any]) -> None:
    job = succeed(client, spec)
    release = client.get(f"/v1/releases/{job['release_id']}").json()
    assert set(release["flags"]) == {"regions-swapped", "records-not-anonymous", "types-from-data"}
    assert client.get(f"/v1/releases/{job['release_id']}/statistics").json() == {"method": "swaps", "statistics": []}
    for part in ("", "/provenance", "/statistics"):
        text = client.get(f"/v1/releases/{job['release_id']}{part}").text
        assert not [word for word in PRIVATE if f'"{word}"' in text]
    public = client.get(f"/v1/jobs/{job['id']}").json()["result"]
    assert "swap_list" not in public
    assert public["fitness_by_generation"] == job["result"]["fitness_by_generation"]


def test_a_seed_makes_the_release_reproducible_and_marks_it(client: httpx.Client, spec: dict[str, Any]) -> None:
    jobs = [succeed(client, spec | {"seed": seed, "learn_again": False}) for seed in (5, 5, 6)]
    one, same, other = (client.get(f"/v1/releases/{job['release_id']}").json() for job in jobs)
    assert one["files"] == same["files"] != other["files"]
    assert "reproducible" in one["flags"]
    assert jobs[0]["result"]["swap_list"] == jobs[1]["result"]["swap_list"] != jobs[2]["result"]["swap_list"]


def test_places_are_masked_as_asked_and_others_left_alone(client: httpx.Client, spec: dict[str, Any]) -> None:
    options = {
        "mask": [{"region": ["R04"], "at_most": 3, "zero_at": 12}],
        "targets": [["R00"], ["R01"], ["R02"]],
        "ceilings": [{"region": ["R00"], "at_most": 0}],
        "search": {"method": "assignment"},
        "learn_again": False,
    }
    result = succeed(client, spec | options)["result"]
    places = {region: index for index, (region,) in enumerate(result["regions"])}
    changed = {place for place in places.values() if result["signal_before"][place] != result["signal_after"][place]}
    assert changed <= {places[region] for region in ("R04", "R01", "R02")}
    assert result["signal_after"][places["R04"]] == 3
    assert result["swap_count"] == result["signal_before"][places["R04"]] - 3
    assert result["attack_again"]["new_rules"] is None
    assert result["attack_again"]["new_rules_source"] == "not requested"


@pytest.mark.parametrize("search", [QUICK, {"method": "assignment"}], ids=["memetic", "assignment"])
def test_a_place_can_be_raised(client: httpx.Client, spec: dict[str, Any], search: dict[str, Any]) -> None:
    options = {"mask": [{"region": "R07", "at_least": 25, "zero_below": 5}], "search": search, "learn_again": False}
    result = succeed(client, spec | options)["result"]
    place = result["regions"].index(["R07"])
    assert result["signal_before"][place] < 25 <= result["signal_after"][place]
    assert result["bounds"] == [[25, None]]
    assert sum(result["signal_after"]) == sum(result["signal_before"])


def test_columns_that_betray_swaps_are_named(client: httpx.Client, spec: dict[str, Any]) -> None:
    """A household lives in one region, a region in one state: swapped people contradict that, and the owner is told."""
    result = succeed(client, spec | {"drop": [], "search": {"method": "assignment"}, "learn_again": False})["result"]
    assert set(result["telltale_columns"]) == {"household", "state"}
    assert 0 < result["telltale_columns"]["household"] <= 2 * result["swap_count"]


def test_a_given_model_needs_no_job(client: httpx.Client, spec: dict[str, Any], model_id: str) -> None:
    learned = succeed(client, spec | {"search": {"method": "assignment"}})["result"]
    model = {"variables": VARIABLES, "rules": [{"terms": rule} for rule in rules_of(client, model_id)]}
    given = {name: value for name, value in spec.items() if name != "model_job_id"} | {"rules_model": model}
    result = succeed(client, given | {"search": {"method": "assignment"}, "drop": ["job"]})["result"]
    for name in ("signal_before", "outliers_before", "swap_count", "masked_regions", "region_sizes"):
        assert result[name] == learned[name]
    assert result["distortion"] == pytest.approx(learned["distortion"])
    assert result["attack_again"]["new_rules"] is None
    assert "not possible" in result["attack_again"]["new_rules_source"]


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"mask": [{"region": "R04", "at_most": 1000}]}, "/mask", "Nothing to mask"),
        ({"mask": [{"region": "R99", "at_most": 1}]}, "/mask/0/region", "No in-range record"),
        ({"mask": [{"region": "R07", "at_least": 1000}]}, "/mask/0", "as far as it can go"),
        ({"mask": [{"region": "R04", "at_most": 1}], "targets": ["R77"]}, "/targets/0", "No in-range record"),
        ({"sources": ["R05"]}, "/sources", "must be a source"),
        ({"outliers": {"ignore": [f"R{region:02}" for region in range(30)]}}, "/mask", "Nothing to mask"),
        ({"mask": [{"region": f"R{region:02}", "at_most": 0} for region in range(29)],
          "search": {"method": "assignment"}, "ceilings": [{"region": "R29", "at_most": 4}]},
         "/mask", "as far as it can go"),
        ({"metric": {"ordinal": {"odd": 1}}}, "/metric/ordinal/odd", "missing values"),
    ],
)  # fmt: skip
def test_what_only_the_records_tell_fails_the_job_with_its_reason(
    client: httpx.Client, spec: dict[str, Any], change: dict[str, Any], pointer: str, says: str
) -> None:
    job = run(client, spec | {"learn_again": False} | change)
    assert job["state"] == "failed"
    assert job["release_id"] is None
    assert pointer in {error["pointer"] for error in job["error"]["errors"]}, job["error"]
    assert says in " ".join(error["detail"] for error in job["error"]["errors"])


def test_a_group_larger_than_the_outside_of_all_targets_says_how_far_it_can_go(client: httpx.Client) -> None:
    """Everybody but two people is a member: two of them can be swapped."""
    rows = [(18, 60, 3, 100, "A")] * 30 + [(18, 60, 3, 100, "B")] * 8 + [(50, 20, 1, 100, "B")] * 2
    frame = pl.DataFrame(rows, schema=["age", "hours", "way", "income", "region"], orient="row")
    spec = {
        "method": "swaps", "dataset_id": upload(client, frame.write_csv())["id"], "region_columns": ["region"],
        "rules_model": {"variables": VARIABLES, "rules": [{"terms": [1, 3, 2]}]},
        "mask": [{"region": "A", "at_most": 5}],
    }  # fmt: skip
    job = run(client, spec)
    assert job["state"] == "failed"
    assert "25 requested, 2 is as far as it can go" in job["error"]["detail"]
    nobody = run(client, spec | {"targets": ["A"], "mask": [{"region": "B", "at_most": 1}]})
    assert "eligible partner" in nobody["error"]["detail"]
