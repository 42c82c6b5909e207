"""The attack on a group's anonymity over HTTP: a made-up country whose bases are known, and slow oracles."""

from itertools import product
from typing import Any

import httpx
import polars as pl
import pytest

from tests.methods.asking import run, succeed, upload
from tests.methods.bases import VARIABLES, counts, grade, in_range, member, microfile

ARMY = {"column": "job", "values": ["army"]}
BASES = {4: 40, 11: 34, 23: 45}
SPEC: dict[str, Any] = {"method": "group", "hidden_group": ARMY, "region_columns": ["region"], "variables": VARIABLES}
EVOLUTION = {"method": "evolution", "generations": 30, "runs": 2}


def stored(client: httpx.Client, frame: pl.DataFrame) -> str:
    return str(upload(client, frame.write_csv())["id"])


def audit(client: httpx.Client, **spec: Any) -> dict[str, Any]:
    return dict(succeed(client, SPEC | spec, kind="audits")["result"])


def indexes(result: dict[str, Any], regions: Any) -> set[int]:
    return {index for index, (region,) in enumerate(result["regions"]) if region in regions}


@pytest.fixture(scope="module")
def abroad() -> pl.DataFrame:
    """Somebody else's data, with the group named; its regions are others."""
    return microfile(1, regions=20, bases={2: 50, 9: 60})


@pytest.fixture(scope="module")
def home() -> pl.DataFrame:
    """The data to be attacked, with the group named; published without."""
    return microfile(2, bases=BASES)


@pytest.fixture(scope="module")
def abroad_id(client: httpx.Client, abroad: pl.DataFrame) -> str:
    return stored(client, abroad)


@pytest.fixture(scope="module")
def published_id(client: httpx.Client, home: pl.DataFrame) -> str:
    return stored(client, home.drop("job"))


@pytest.fixture(scope="module")
def home_id(client: httpx.Client, home: pl.DataFrame) -> str:
    return stored(client, home)


@pytest.mark.parametrize("search", [EVOLUTION, {"method": "exhaustive"}], ids=lambda search: search["method"])
def test_bases_are_found_although_the_column_that_names_the_group_is_gone(
    client: httpx.Client, abroad_id: str, published_id: str, search: dict[str, Any]
) -> None:
    result = audit(client, auxiliary_dataset_id=abroad_id, target_dataset_id=published_id, search=search)
    assert (result["signal"], result["outliers"], result["adequacy"]) == (None, None, None)
    bases = {f"R{region:02}" for region in BASES}
    highest = sorted(range(len(result["auxiliary_signal"])), key=result["auxiliary_signal"].__getitem__)[-3:]
    assert set(highest) == indexes(result, bases) <= set(result["auxiliary_outliers"])


def test_the_result_says_what_the_rules_have_in_common(client: httpx.Client) -> None:
    people = [(18, 60, 3, "army"), *[(50, 20, 3, "other"), (18, 20, 1, "other"), (50, 60, 2, "other")] * 2]
    people += [(18, 60, 1, "other")] * 2
    rows = [(age, hours, way, 100, job, region) for region in "ABC" for age, hours, way, job in people] * 9
    frame = pl.DataFrame(rows, schema=["age", "hours", "way", "income", "job", "region"], orient="row")
    result = audit(client, auxiliary_dataset_id=stored(client, frame), search={"method": "exhaustive"})
    assert {rule["text"] for rule in result["rules"]} == {
        "age is young and way is walks", "hours is long and way is walks",
    }  # fmt: skip
    assert result["common"] == ["all 2 rules state that way is walks"]


def test_signals_records_and_left_out_are_those_of_slow_oracles(
    client: httpx.Client, abroad_id: str, abroad: pl.DataFrame, home_id: str, home: pl.DataFrame
) -> None:
    result = audit(client, auxiliary_dataset_id=abroad_id, target_dataset_id=home_id, search={"method": "exhaustive"})
    there, kept = in_range(abroad), in_range(home)
    assert result["regions"] == [[region] for region in sorted(kept["region"].unique())]
    values = result["regions"]
    assert result["region_sizes"] == counts(kept, ["region"], values)
    assert result["signal"] == counts(kept.filter(job="army"), ["region"], values)
    records = result["record_counts"]
    assert (records["auxiliary"], records["members"]) == (there.height, there.filter(job="army").height)
    assert records["target"] == kept.height
    excluded = records["excluded"]["target"]
    assert excluded["records"] == home.height - kept.height
    assert excluded["missing"] == {"hours": home["hours"].null_count()}
    assert excluded["out_of_range"] == {"age": home.filter(~pl.col("age").is_between(18, 60)).height}

    rules = [rule["terms"] for rule in result["rules"]]
    grades = [member(record, rules, VARIABLES) for record in kept.iter_rows(named=True)]
    scored = kept.with_columns(grade=pl.Series(grades))
    sums = dict(scored.group_by("region").agg(pl.col("grade").sum()).rows())
    assert result["auxiliary_signal"] == pytest.approx([sums[region] for (region,) in values], rel=1e-9)
    assert result["crisp_auxiliary_signal"] == counts(scored.filter(pl.col("grade") > 0), ["region"], values)
    assert result["adequacy"]["hits"] == len(set(result["outliers"]) & set(result["auxiliary_outliers"]))


def test_exhaustive_rules_are_those_of_brute_force(client: httpx.Client, abroad_id: str, abroad: pl.DataFrame) -> None:
    """Every rule of the space judged in plain Python; the default target is the auxiliary dataset itself."""
    result = audit(client, auxiliary_dataset_id=abroad_id, search={"method": "exhaustive"}, min_support=0.02)
    kept = in_range(abroad)
    named = [variable for variable in VARIABLES if variable.get("terms")]
    # per record and variable: grades of "any" and of every term
    graded = [
        [[1.0, *(grade(term, record[one["column"]]) for term in one["terms"])] for one in named]
        for record in kept.iter_rows(named=True)
    ]
    army = (kept["job"] == "army").to_list()
    by_rule: dict[tuple[int, ...], tuple[float, float]] = {}
    for rule in product(*(range(len(one["terms"]) + 1) for one in named)):
        inside = outside = 0.0
        for record, is_army in zip(graded, army, strict=True):
            value = 1.0
            for place, term in enumerate(rule):
                value *= record[place][term]
            if value >= 0.5:
                inside, outside = (inside + value, outside) if is_army else (inside, outside + value)
        support = inside / sum(army)
        difference = support - (inside + outside) / kept.height
        if difference > 0 and inside >= 0.75 * outside and support > 0.02:
            by_rule[rule] = (difference, support)
    general = [
        rule for rule in by_rule
        if not any(other != rule and all(t in (0, r) for t, r in zip(other, rule, strict=True)) for other in by_rule)
    ]  # fmt: skip
    assert result["rules_over_thresholds"] == len(by_rule) > 0
    assert {tuple(rule["terms"]) for rule in result["rules"]} == set(general)
    for rule in result["rules"]:
        difference, support = by_rule[tuple(rule["terms"])]
        assert rule["discriminative_factor"] == pytest.approx(difference, rel=1e-9)
        assert rule["support"] == pytest.approx(support, rel=1e-9)


def test_rules_that_no_outsider_fits_are_reported_as_infinite(client: httpx.Client) -> None:
    rows = [(18, 60, 3, 100, "army", "A")] * 20 + [(50, 20, 1, 100, "other", region) for region in "ABCDE"] * 20
    frame = pl.DataFrame(rows, schema=["age", "hours", "way", "income", "job", "region"], orient="row")
    result = audit(client, auxiliary_dataset_id=stored(client, frame), search={"method": "exhaustive"})
    assert {rule["text"] for rule in result["rules"]} == {"age is young", "hours is long", "way is walks"}
    for rule in result["rules"]:
        assert (rule["relative_confidence_factor"], rule["infinite"], rule["support"]) == (None, True, 1.0)
    assert result["signal"] == result["crisp_auxiliary_signal"] == [20, 0, 0, 0, 0]
    assert result["outliers"] == result["auxiliary_outliers"] == [0]
    assert result["degenerate"], "the middle half of the signal is equal: whatever differs is an outlier by the letter"
    assert {(one["column"], one["term"]) for one in result["unreached_terms"]} == {
        ("age", "middle"), ("hours", "usual"),
    }  # fmt: skip


def test_the_same_seed_finds_the_same_rules_another_one_its_own(
    client: httpx.Client, abroad_id: str, published_id: str
) -> None:
    spec = {"auxiliary_dataset_id": abroad_id, "target_dataset_id": published_id}
    few = {"method": "evolution", "generations": 3, "runs": 2, "population": 10, "replaced": 4, "diversity": False}
    one, again, other = (
        audit(client, **spec, search=few, seed=seed, min_relative_confidence=0.0) for seed in (1, 1, 2)
    )
    assert one["rules"] == again["rules"]
    assert one["rules"] != other["rules"]
    assert one["evaluation_count"] <= 2 * (10 + 3 * 4)


def test_concentration_divides_by_the_size_of_the_submicrofile(
    client: httpx.Client, abroad_id: str, home_id: str
) -> None:
    spec = {"auxiliary_dataset_id": abroad_id, "target_dataset_id": home_id, "search": {"method": "exhaustive"}}
    quantity, concentration = (audit(client, **spec, signal=kind) for kind in ("quantity", "concentration"))
    for name in ("signal", "auxiliary_signal", "crisp_auxiliary_signal"):
        shares = [value / size for value, size in zip(quantity[name], quantity["region_sizes"], strict=True)]
        assert concentration[name] == pytest.approx(shares, rel=1e-12)


@pytest.mark.parametrize(
    "region_columns", [["state", "region"], ["region"]], ids=["own column", "column of the target"]
)
def test_split_shows_each_state_and_totals(
    client: httpx.Client, abroad_id: str, home_id: str, home: pl.DataFrame, region_columns: list[str]
) -> None:
    spec = {"auxiliary_dataset_id": abroad_id, "target_dataset_id": home_id, "search": {"method": "exhaustive"}}
    result = audit(client, **spec, region_columns=region_columns, split_column="state", min_split_share=0.01)
    split = result["split"]
    army = in_range(home).filter(job="army")
    shares = {state: count / army.height for state, count in army.group_by("state").len().rows()}
    assert {part["value"]: part["group_share"] for part in split["parts"]} == pytest.approx(
        {state: share for state, share in shares.items() if share > 0.01}
    )
    for part in split["parts"]:
        inside = [f"R{10 * int(part['value'][1]) + place:02}" for place in range(10)]
        places = {index for index, value in enumerate(result["regions"]) if value[-1] in inside}
        assert set(part["outliers"]) | set(part["auxiliary_outliers"]) <= places
        assert set(part["misses"]) == set(part["outliers"]) - set(part["auxiliary_outliers"])
        assert set(part["false_alarms"]) == set(part["auxiliary_outliers"]) - set(part["outliers"])
    total, adequacy = split["total"], split["adequacy"]
    assert total["outliers"] == adequacy["hits"] + adequacy["misses"]
    assert total["auxiliary_outliers"] == adequacy["hits"] + adequacy["false_alarms"]
    cells = ("hits", "misses", "false_alarms", "correct_rejections")
    assert sum(adequacy[name] for name in cells) == total["regions"] == 30


def test_ignored_regions_are_no_outliers(client: httpx.Client, abroad_id: str, published_id: str) -> None:
    spec = {"auxiliary_dataset_id": abroad_id, "target_dataset_id": published_id, "search": {"method": "exhaustive"}}
    result = audit(client, **spec, outliers={"ignore": [["R04"], "R23"]})
    assert indexes(result, {"R11"}) <= set(result["auxiliary_outliers"])
    assert not indexes(result, {"R04", "R23"}) & set(result["auxiliary_outliers"])


def test_harmonised_datasets_give_what_equal_ones_give(
    client: httpx.Client, abroad_id: str, home: pl.DataFrame, home_id: str
) -> None:
    """Values renamed, two columns made from one: recoding undoes both, and nothing else changes."""
    words = {1: "Auto", 2: "Bus", 3: "zu Fuß"}
    other = home.with_columns(
        pl.col("way").replace_strict(words, return_dtype=pl.String),
        pl.when(pl.col("job") == "army").then(7).otherwise(pl.col("sex")).alias("occupation"),
        (pl.col("hours") // 10).alias("tens"),
        (pl.col("hours") % 10).alias("units"),
    ).drop("job", "hours")
    cases = [{"when": {"tens": [t], "units": [u]}, "to": 10 * t + u} for t in range(8) for u in range(10)]
    recode = {
        "way": {word: number for number, word in words.items()},
        "hours": {"columns": ["tens", "units"], "cases": cases},
        "job": {
            "columns": ["occupation"],
            "cases": [{"when": {"occupation": ["7"]}, "to": "army"}],
            "otherwise": "x",
        },
    }
    spec = {"auxiliary_dataset_id": abroad_id, "search": {"method": "exhaustive"}}
    plain = audit(client, **spec, target_dataset_id=home_id)
    recoded = audit(client, **spec, target_dataset_id=stored(client, other), recode={"target": recode})
    same = set(plain) - {"record_counts"}
    assert {name: recoded[name] for name in same} == {name: plain[name] for name in same}


def test_a_group_that_nothing_tells_apart_leaves_no_rules_and_says_so(client: httpx.Client) -> None:
    rows = [(30, 40, 1, 100, job, region) for region in "ABC" for job in ("army", *["other"] * 9)] * 5
    frame = pl.DataFrame(rows, schema=["age", "hours", "way", "income", "job", "region"], orient="row")
    result = audit(client, auxiliary_dataset_id=stored(client, frame), search={"method": "exhaustive"})
    assert (result["rules"], result["rules_over_thresholds"], result["auxiliary_outliers"]) == ([], 0, [])
    assert result["auxiliary_signal"] == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "pointer", "says"),
    [
        ({"hidden_group": {"column": "job", "values": ["navy"]}}, "/hidden_group", "None of the"),
        ({"hidden_group": [ARMY, {"column": "region", "values": ["R01"]}]}, "/hidden_group", "None of the"),
    ],
)
def test_what_only_the_records_tell_fails_the_job_with_its_reason(
    client: httpx.Client, abroad: pl.DataFrame, change: dict[str, Any], pointer: str, says: str
) -> None:
    nowhere = stored(client, abroad.filter(~((pl.col("region") == "R01") & (pl.col("job") == "army"))))
    spec = SPEC | {"auxiliary_dataset_id": nowhere, "region_columns": ["state"]} | change
    job = run(client, spec, kind="audits")
    assert job["state"] == "failed"
    assert pointer in {error["pointer"] for error in job["error"]["errors"]}
    assert says in job["error"]["detail"]
